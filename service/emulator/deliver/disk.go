package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

const (
	extension  = ".json"
	tempPrefix = ".new-"
)

// idForm is what ids look like; files of any other name are not deliveries.
func idForm() *regexp.Regexp { return regexp.MustCompile(`^` + idPrefix + `[a-z2-7]{16}$`) }

func (e *Engine) path(id string) string { return filepath.Join(e.conf.Dir, id+extension) }

// load reads the folder. A file that cannot be read is kept aside under a new name.
func (e *Engine) load() error {
	if err := os.MkdirAll(e.conf.Dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of deliveries: %w", err)
	}
	entries, err := os.ReadDir(e.conf.Dir)
	if err != nil {
		return fmt.Errorf("reading the deliveries: %w", err)
	}
	isID := idForm()
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), tempPrefix) {
			// Half a write; the whole one before it is there.
			if err := os.Remove(filepath.Join(e.conf.Dir, entry.Name())); err != nil {
				return fmt.Errorf("reading the deliveries: %w", err)
			}
			continue
		}
		id, ok := strings.CutSuffix(entry.Name(), extension)
		if !ok || !isID.MatchString(id) {
			continue
		}
		d, err := e.read(id)
		if err != nil {
			aside := fmt.Sprintf("%s.corrupt-%s", entry.Name(), e.conf.Now().UTC().Format("20060102T150405.000000000"))
			if err := os.Rename(e.path(id), filepath.Join(e.conf.Dir, aside)); err != nil {
				return fmt.Errorf("putting a delivery aside: %w", err)
			}
			e.notes = append(e.notes, fmt.Sprintf("delivery %s could not be read (%v); it is kept as %s", id, err, aside))
			continue
		}
		e.all[id] = d
	}
	return nil
}

func (e *Engine) read(id string) (*Delivery, error) {
	b, err := os.ReadFile(e.path(id))
	if err != nil {
		return nil, err
	}
	d := &Delivery{}
	if err := json.Unmarshal(b, d); err != nil {
		return nil, err
	}
	if d.ID != id || d.Message.Parts < 1 {
		return nil, errors.New("it is not the delivery it is named after")
	}
	switch d.Status {
	case Waiting, Done, Failed, Canceled:
		return d, nil
	default:
		return nil, fmt.Errorf("status %q", d.Status)
	}
}

// keep writes a delivery as one step that survives a crash; called under mu.
func (e *Engine) keep(d *Delivery) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping a delivery: %w", err)
	}
	f, err := os.CreateTemp(e.conf.Dir, tempPrefix+"*") // 0600
	if err != nil {
		return fmt.Errorf("keeping a delivery: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), e.path(d.ID))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that counts is already on its way
		return fmt.Errorf("keeping a delivery: %w", err)
	}
	return syncDir(e.conf.Dir)
}

// syncDir makes a rename durable. Windows has no such call and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// clean forgets deliveries that ended long ago.
func (e *Engine) clean() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, d := range e.all {
		if d.Status == Waiting || e.conf.Now().Sub(d.Ended) <= Retention {
			continue
		}
		if err := os.Remove(e.path(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
			e.log(err, id)
			continue
		}
		delete(e.all, id)
	}
}
