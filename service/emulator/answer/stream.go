package answer

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// WriteTimeout is how long a client may take to read one chunk of an answer.
const WriteTimeout = time.Minute

// The buffer of a body begins small, for the many small pages, and grows with it.
const (
	firstBuffer = 16 << 10
	largeBuffer = 32 << 10
)

// CopyBody streams a body and flushes after short reads, so that it does not delay a slow
// target's bytes.
func CopyBody(out *Patient, dst io.Writer, src io.Reader) error {
	defer out.Done()
	buf := make([]byte, firstBuffer)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
			if err == nil && n < len(buf) {
				if err := out.rc.Flush(); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == len(buf) && n < largeBuffer {
			buf = make([]byte, largeBuffer)
		}
	}
}

// Patient is a response that gives its client WriteTimeout for each chunk. Done removes the
// deadline for the next request on the connection.
type Patient struct {
	http.ResponseWriter
	rc    *http.ResponseController
	until time.Time
}

// NewPatient wraps a response. The caller has to call Done.
func NewPatient(w http.ResponseWriter) *Patient {
	return &Patient{ResponseWriter: w, rc: http.NewResponseController(w)}
}

func (p *Patient) Write(b []byte) (int, error) {
	// The deadline moves once half of it has passed, not for every chunk.
	if now := time.Now(); p.until.Sub(now) < WriteTimeout/2 {
		p.until = now.Add(WriteTimeout)
		if err := p.rc.SetWriteDeadline(p.until); err != nil {
			return 0, err
		}
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController use the response below.
func (p *Patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Done removes the deadline for the next request on the connection.
func (p *Patient) Done() {
	if !p.until.IsZero() {
		_ = p.rc.SetWriteDeadline(time.Time{}) // fails on a dead connection only
	}
}

// Flush sends buffered bytes, within the deadline of the last Write.
func (p *Patient) Flush() error { return p.rc.Flush() }

// BoundBodies gives clients BodyTimeout to send a body, even if the handler does not read it:
// net/http reads the rest before it answers, and would wait forever. A handler for long
// bodies moves the deadline while it reads. The deadline ends with the body, so that it does
// not cut a handler that still works.
func BoundBodies(next http.Handler) http.Handler { return boundBodies(next, BodyTimeout) }

func boundBodies(next http.Handler, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &boundBody{ReadCloser: r.Body, rc: http.NewResponseController(w)}
		if err := b.rc.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			panic(http.ErrAbortHandler) // the connection is dead
		}
		defer b.handlerReturned()
		r.Body = b // the server keeps the original body, and reads its rest
		next.ServeHTTP(w, r)
	})
}

// boundBody removes the deadline at its end.
type boundBody struct {
	io.ReadCloser
	rc *http.ResponseController

	mu       sync.Mutex
	returned bool // the handler has returned, although a transport may still read
}

func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.returned {
			_ = b.rc.SetReadDeadline(time.Time{}) // fails on a dead connection only
		}
	}
	return n, err
}

func (b *boundBody) handlerReturned() {
	b.mu.Lock()
	b.returned = true
	b.mu.Unlock()
}
