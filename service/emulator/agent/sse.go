package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/service/emulator/answer"
)

// sseSession is one hanging GET. Its messages come in POSTs to an address that only its
// client was told, and are checked with the key of the GET each time: clients that put
// the key into the query do not send it again.
type sseSession struct {
	transport *mcp.SSEServerTransport
	key       string
	idle      *time.Timer
}

// ServeSSE is GET and POST /sse.
func (a *Agent) ServeSSE(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		a.mu.Lock()
		s := a.sse[r.URL.Query().Get("sessionid")]
		a.mu.Unlock()
		key := Key(r)
		if key == "" && s != nil {
			key = s.key
		}
		a.admit(w, r, key, func(w http.ResponseWriter, r *http.Request) { a.message(w, r, s) })
		return
	}
	key := Key(r)
	a.admit(w, r, key, func(w http.ResponseWriter, r *http.Request) { a.stream(w, r, key) })
}

func (a *Agent) message(w http.ResponseWriter, r *http.Request, s *sseSession) {
	if s == nil {
		answer.Text(w, http.StatusNotFound, basisMCP, "session not found")
		return
	}
	if owner, refused := a.cfg.Authorize(r.Context(), s.key); refused != nil || owner != Caller(r.Context()).Name {
		answer.Text(w, http.StatusForbidden, basisMCP, "session user mismatch")
		return
	}
	s.idle.Reset(a.cfg.IdleTimeout)
	s.transport.ServeHTTP(w, r)
}

// stream serves a session for as long as its client listens and says something now and
// then.
func (a *Agent) stream(w http.ResponseWriter, r *http.Request, key string) {
	release, ok := a.reserve(w)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	id := rand.Text()
	s := &sseSession{
		transport: &mcp.SSEServerTransport{Endpoint: r.URL.Path + "?sessionid=" + id, Response: w, MaxRequestBodyBytes: maxBodyBytes},
		key:       key, idle: time.AfterFunc(a.cfg.IdleTimeout, cancel),
	}
	defer s.idle.Stop()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	// Told to the client by Connect, so it has to be known before.
	a.mu.Lock()
	a.sse[id] = s
	a.mu.Unlock()
	ss, err := a.server().Connect(ctx, s.transport, nil)
	release()
	if err == nil {
		ended := make(chan struct{})
		a.wg.Go(func() {
			_ = ss.Wait() // how a client goes away is its own affair
			close(ended)
		})
		select {
		case <-ctx.Done():
		case <-ended:
		}
		_ = ss.Close() // as above
		<-ended
	}
	a.mu.Lock()
	delete(a.sse, id)
	a.mu.Unlock()
}

func readAgain(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
