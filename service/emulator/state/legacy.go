package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
)

// HalfWritten is what the name of a file begins with until it is whole.
const HalfWritten = halfWritten

// RemoveHalfWritten takes the files from a folder that a killed process had half written.
func RemoveHalfWritten(dir string) error { return removeHalfWritten(dir) }

// SyncDir makes a rename durable.
func SyncDir(dir string) error { return syncDir(dir) }

// Read decodes a JSON file of the folder into what v points to. A missing file leaves it
// alone; one that does not decode is put aside, and nothing of it is left in v.
func (d *Dir) Read(name string, v any) error {
	b, err := os.ReadFile(d.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		if _, own := v.(json.Unmarshaler); !own {
			reflect.ValueOf(v).Elem().SetZero()
		}
		return d.PutAside(name, err)
	}
	return nil
}

// PutAside keeps a file that could not be read under a new name, and notes why.
func (d *Dir) PutAside(name string, why error) error {
	aside := d.aside(name, "corrupt")
	if err := os.Rename(d.Path(name), d.Path(aside)); err != nil {
		return fmt.Errorf("putting %s aside: %w", name, err)
	}
	d.Note(fmt.Sprintf("%s could not be read (%v); it is kept as %s and a new one begins", name, why, aside))
	return nil
}

// WriteJSON replaces a file of the folder by v, encoded.
func WriteJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", filepath.Base(path), err)
	}
	return WriteFile(path, append(b, '\n'))
}
