package async

import (
	"net/http"
	"os"
	"path/filepath"
	"time"

	"zonedeck/service/emulator/state"
)

const (
	keptResponses = state.Table[response]("responses")
	// bodies is the folder of the bodies, one file for each finished response. They are
	// streams of up to MaxBody, which a database would hold in memory.
	bodies = "responses"
)

// response is the stored form of a response; its body is a file.
type response struct {
	Zone    string    `json:"zone"`
	Created time.Time `json:"created"`
	URL     string    `json:"url"`
	Hook    Hook      `json:"hook"`
	// Ask is the fetch to make; nil once it is done.
	Ask    *Ask        `json:"ask,omitempty"`
	Told   bool        `json:"told"` // the notice was sent or given up
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Size   int64       `json:"size,omitempty"`
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id) }

// load reads the responses, resumes the fetches without an answer, and removes bodies
// without a response.
func (s *Store) load() (err error) {
	if s.dir, err = s.conf.State.Folder(bodies); err != nil {
		return err
	}
	var goOn []func() // called once everything is read and the folder clean
	err = keptResponses.Each(s.conf.State, func(id string, r response) error {
		done := r.Ask == nil
		if done {
			if _, err := os.Stat(s.path(id)); err != nil {
				return err
			}
		}
		s.entries[id] = &entry{zone: r.Zone, created: r.Created, done: done, size: r.Size}
		s.bytes += r.Size
		if !done {
			goOn = append(goOn, func() { s.start(id) })
		} else if !r.Told {
			goOn = append(goOn, func() { s.wg.Go(func() { s.tell(id, r) }) })
		}
		return nil
	})
	if err != nil {
		return err
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if e := s.entries[f.Name()]; e == nil || !e.done {
			if err := os.Remove(s.path(f.Name())); err != nil {
				return err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, do := range goOn {
		do()
	}
	return nil
}

func (s *Store) put(write func(func(*state.Tx) error) error, id string, r response) error {
	return write(func(tx *state.Tx) error { return keptResponses.Put(tx, id, r) })
}

// Recorder writes an answer to disk instead of to a client.
type Recorder struct {
	store  *Store
	file   *state.File
	header http.Header
	status int
	size   int64 // counted in the store's bytes
}

// Header is the header of the answer, kept as it is at the end.
func (r *Recorder) Header() http.Header { return r.header }

// WriteHeader keeps the first status.
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

// SetWriteDeadline does nothing; streaming answers call it.
func (r *Recorder) SetWriteDeadline(time.Time) error { return nil }

// Flush does nothing.
func (r *Recorder) Flush() {}

// Reset discards everything that was written, for another answer.
func (r *Recorder) Reset() error {
	r.release()
	r.header, r.status = http.Header{}, 0
	if _, err := r.file.Seek(0, 0); err != nil {
		return err
	}
	return r.file.Truncate(0)
}

// release subtracts the body from the bytes of the store.
func (r *Recorder) release() {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.store.bytes -= r.size
	r.size = 0
}
