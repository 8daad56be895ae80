package jobs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"zonedeck/service/emulator/state"
)

const (
	metaName    = "job.json"
	inputName   = "input.ndjson"
	recordsName = "records.ndjson"
)

// idForm is what newID makes; folders of any other name are not jobs.
func idForm() *regexp.Regexp {
	return regexp.MustCompile(`^(` + idPrefix + `|` + keptPrefix + `)[a-z2-7]{16}$`)
}

func (e *Engine) folder(id string) string { return filepath.Join(e.conf.Dir, id) }

// load reads the folder. A job that cannot be read is kept aside under a new name.
func (e *Engine) load() error {
	if err := os.MkdirAll(e.conf.Dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(e.conf.Dir)
	if err != nil {
		return err
	}
	isID := idForm()
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, state.HalfWritten) {
			// A trigger that was never answered: nobody knows the job.
			if err := os.RemoveAll(e.folder(name)); err != nil {
				return err
			}
			continue
		}
		if !entry.IsDir() || !isID.MatchString(name) {
			continue
		}
		j := &job{engine: e, id: name, dir: e.folder(name), over: make(chan struct{})}
		if err := j.load(); err != nil {
			aside := fmt.Sprintf("%s.corrupt-%s", name, e.conf.Now().UTC().Format("20060102T150405.000000000"))
			if err := os.Rename(e.folder(name), e.folder(aside)); err != nil {
				return err
			}
			e.notes = append(e.notes, fmt.Sprintf("job %s could not be read (%v); it is kept as jobs/%s", name, err, aside))
			continue
		}
		e.jobs[name] = j
	}
	return nil
}

func (j *job) load() error {
	b, err := os.ReadFile(filepath.Join(j.dir, metaName))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &j.meta); err != nil {
		return err
	}
	// Records that were kept were neither collected nor discovered by this job.
	if _, err := InputFields(j.meta.Dataset, j.meta.Discover); err != nil && (errors.Is(err, ErrNoDataset) || !j.kept()) {
		return fmt.Errorf("dataset %q: %w", j.meta.Dataset, err)
	}
	if j.meta.Inputs < 0 || j.meta.Inputs > MaxInputs {
		return fmt.Errorf("%d inputs", j.meta.Inputs)
	}
	j.shape = j.meta.shape()
	if j.meta.Status.Ended() {
		close(j.over)
		if len(j.meta.Hooks) == 0 {
			return nil // nothing was written to it since
		}
	}
	return state.RemoveHalfWritten(j.dir)
}

// create writes a job's folder under a temporary name, syncs it and renames it, so
// that it is there as a whole or not at all.
func (e *Engine) create(j *job, inputs []json.RawMessage, done *line) (err error) {
	tmp := e.folder(state.HalfWritten + j.id)
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(tmp) // the error that counts is already on its way
		}
	}()
	if err := writeInputs(filepath.Join(tmp, inputName), inputs); err != nil {
		return err
	}
	if done != nil {
		b, err := encodeValue(done)
		if err == nil {
			err = os.WriteFile(filepath.Join(tmp, recordsName), append(b, '\n'), 0o600)
		}
		if err == nil {
			err = syncFile(filepath.Join(tmp, recordsName))
		}
		if err != nil {
			return err
		}
	}
	if err := writeMeta(tmp, j.meta); err != nil { // syncs the folder, too
		return err
	}
	if err := os.Rename(tmp, j.dir); err != nil {
		return err
	}
	return state.SyncDir(e.conf.Dir)
}

func writeInputs(path string, inputs []json.RawMessage) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	var one bytes.Buffer
	for _, in := range inputs {
		one.Reset()
		if err := json.Compact(&one, in); err != nil { // one line each
			return err
		}
		one.WriteByte('\n')
		if _, err := w.Write(one.Bytes()); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

func writeMeta(dir string, m meta) error {
	return state.WriteJSON(filepath.Join(dir, metaName), m)
}

// syncFile makes what was written durable; a file nobody made has nothing to lose.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// scanLines calls fn for each whole line of f with its offset, and gives the offset
// behind the last one. fn may keep the bytes.
func scanLines(f io.Reader, fn func(at int64, b []byte) error) (end int64, err error) {
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		b, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		if err := fn(end, bytes.TrimSuffix(b, []byte("\n"))); err != nil {
			return end, err
		}
		end += int64(len(b))
	}
}

// Inputs reads the inputs of a job. Errors: [ErrNoSnapshot], [ErrNoInput] when they
// are gone, or the disk's.
func (e *Engine) Inputs(id string) ([]json.RawMessage, error) {
	j, err := e.job(id)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(j.dir, inputName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoInput
	}
	if err != nil {
		return nil, fmt.Errorf("reading the inputs: %w", err)
	}
	defer f.Close()
	var out []json.RawMessage
	_, err = scanLines(f, func(_ int64, b []byte) error {
		out = append(out, b)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the inputs: %w", err)
	}
	return out, nil
}
