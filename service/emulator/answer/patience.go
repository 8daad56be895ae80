package answer

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

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
		defer b.leave()
		r.Body = b // the server keeps the original body, and reads its rest
		next.ServeHTTP(w, r)
	})
}

// boundBody removes the deadline at its end.
type boundBody struct {
	io.ReadCloser
	rc *http.ResponseController

	mu   sync.Mutex
	left bool // the handler has returned, although a transport may still read
}

func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.left {
			_ = b.rc.SetReadDeadline(time.Time{}) // fails on a dead connection only
		}
	}
	return n, err
}

func (b *boundBody) leave() {
	b.mu.Lock()
	b.left = true
	b.mu.Unlock()
}
