package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"zonedeck/service/emulator/state"
)

const extension = ".json"

// idForm is what ids look like; files of any other name are not deliveries.
func idForm() *regexp.Regexp { return regexp.MustCompile(`^` + idPrefix + `[a-z2-7]{16}$`) }

func (e *Engine) path(id string) string { return filepath.Join(e.conf.Dir, id+extension) }

// load reads the folder. A file that cannot be read is kept aside under a new name.
func (e *Engine) load() error {
	if err := os.MkdirAll(e.conf.Dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of deliveries: %w", err)
	}
	if err := state.RemoveHalfWritten(e.conf.Dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(e.conf.Dir)
	if err != nil {
		return fmt.Errorf("reading the deliveries: %w", err)
	}
	isID := idForm()
	for _, entry := range entries {
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
		if d.Status == Waiting {
			e.waiting[id] = d
		}
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
	case Waiting, Done, Failed:
		return d, nil
	default:
		return nil, fmt.Errorf("status %q", d.Status)
	}
}

// keep writes a delivery as one step that survives a crash; called under mu.
func (e *Engine) keep(d *Delivery) error {
	if err := state.WriteJSON(e.path(d.ID), d); err != nil {
		return fmt.Errorf("keeping a delivery: %w", err)
	}
	return nil
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
