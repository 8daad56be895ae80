package async

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"zonedeck/service/emulator/state"
)

// The files of one response's folder. A folder with an answer is done, one with an ask
// alone has still to be fetched; the fields of the call go with the ask.
const (
	askName    = "ask.json"
	answerName = "answer.json"
	bodyName   = "body"
)

type askFile struct {
	Ask
	Created time.Time `json:"created"`
}

type answerFile struct {
	Zone    string      `json:"zone"`
	Created time.Time   `json:"created"`
	URL     string      `json:"url"`
	Hook    Hook        `json:"hook"`
	Told    bool        `json:"told"` // the notice has been sent, or given up
	Status  int         `json:"status"`
	Header  http.Header `json:"header"`
}

// idForm is what newID makes; folders of any other name are none of ours.
func idForm() *regexp.Regexp { return regexp.MustCompile(`^` + idPrefix + `[a-z2-7]{24}$`) }

func (s *Store) folder(id string) string     { return filepath.Join(s.conf.Dir, id) }
func (s *Store) path(id, name string) string { return filepath.Join(s.conf.Dir, id, name) }

func (s *Store) load() error {
	if err := os.MkdirAll(s.conf.Dir, 0o700); err != nil {
		return err
	}
	found, err := os.ReadDir(s.conf.Dir)
	if err != nil {
		return err
	}
	isID := idForm()
	s.mu.Lock() // fetches and notices that go on would come in between
	defer s.mu.Unlock()
	for _, f := range found {
		if !f.IsDir() || !isID.MatchString(f.Name()) {
			continue
		}
		err := s.loadOne(f.Name())
		if errors.Is(err, errUnasked) {
			if err := os.RemoveAll(s.folder(f.Name())); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			s.notes = append(s.notes, fmt.Sprintf("response %s could not be read (%v) and is removed", f.Name(), err))
			if err := os.RemoveAll(s.folder(f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// errUnasked is a response of which nobody was told: the process was killed before its ask
// was on disk.
var errUnasked = errors.New("there is neither an ask nor an answer")

// loadOne is called under mu.
func (s *Store) loadOne(id string) error {
	if err := state.RemoveHalfWritten(s.folder(id)); err != nil {
		return err
	}
	done, err := s.readAnswer(id)
	if errors.Is(err, fs.ErrNotExist) {
		a, err := s.readAsk(id)
		if errors.Is(err, fs.ErrNotExist) {
			return errUnasked
		}
		if err != nil {
			return err
		}
		s.entries[id] = &entry{zone: a.Zone, created: a.Created}
		s.start(id)
		return nil
	}
	if err != nil {
		return err
	}
	body, err := os.Stat(s.path(id, bodyName))
	if err != nil {
		return err
	}
	s.entries[id] = &entry{zone: done.Zone, created: done.Created, done: true, size: body.Size()}
	s.bytes += body.Size()
	if !done.Told {
		s.wg.Go(func() { s.tell(id, done) })
	}
	return nil
}

func (s *Store) writeAsk(id string, a askFile) error {
	if err := os.Mkdir(s.folder(id), 0o700); err != nil {
		return err
	}
	return state.WriteJSON(s.path(id, askName), a)
}

func (s *Store) readAsk(id string) (askFile, error) {
	var a askFile
	return a, readJSON(s.path(id, askName), &a)
}

// writeAnswer makes a response done; the ask, with its secrets, goes.
func (s *Store) writeAnswer(id string, a answerFile) error {
	if err := state.WriteJSON(s.path(id, answerName), a); err != nil {
		return err
	}
	err := os.Remove(s.path(id, askName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Store) readAnswer(id string) (answerFile, error) {
	var a answerFile
	return a, readJSON(s.path(id, answerName), &a)
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// Recorder is an answer that goes to disk instead of to a client.
type Recorder struct {
	store  *Store
	file   *os.File
	header http.Header
	status int
	size   int64 // counted in the store's bytes
}

func (s *Store) newRecorder(path string) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &Recorder{store: s, file: f, header: http.Header{}}, nil
}

// Header is the answer's; it is kept as it is at the end.
func (r *Recorder) Header() http.Header { return r.header }

// WriteHeader takes the first status.
func (r *Recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write appends to the body; the error is [ErrTooLarge], [ErrFull], or the disk's.
func (r *Recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.size+int64(len(b)) > MaxBody {
		return 0, ErrTooLarge
	}
	if err := r.store.take(int64(len(b))); err != nil {
		return 0, err
	}
	r.size += int64(len(b))
	return r.file.Write(b)
}

// SetWriteDeadline and Flush are what a streaming answer expects; a disk needs neither.
func (r *Recorder) SetWriteDeadline(time.Time) error { return nil }

// Flush does nothing.
func (r *Recorder) Flush() {}

// Reset forgets everything that was written, for another answer instead.
func (r *Recorder) Reset() error {
	r.release()
	r.header, r.status = http.Header{}, 0
	if _, err := r.file.Seek(0, 0); err != nil {
		return err
	}
	return r.file.Truncate(0)
}

// release gives back what the body was counted with.
func (r *Recorder) release() {
	r.store.give(r.size)
	r.size = 0
}

func (r *Recorder) close() error {
	r.WriteHeader(http.StatusOK)
	return errors.Join(r.file.Sync(), r.file.Close())
}
