package agent

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/service/emulator/answer"
)

// sessionHeader names the session of a streamable request.
const sessionHeader = "Mcp-Session-Id"

// use is when a streamable session was used last, and how many requests of it run; a
// listening GET is one.
type use struct {
	running int
	last    time.Time
}

// ServeStreamable is /mcp.
func (a *Agent) ServeStreamable(w http.ResponseWriter, r *http.Request) {
	a.admit(w, r, Key(r), func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(sessionHeader)
		if id != "" {
			defer a.using(id)()
		} else if r.Method == http.MethodPost {
			release, ok := a.reserve(w)
			if !ok {
				return
			}
			defer release()
			defer func() { a.using(w.Header().Get(sessionHeader))() }()
			w = &opener{w, release}
		}
		a.streamable().ServeHTTP(w, r)
	})
}

// opener is the answer to a request that opens a session: from its first byte the session
// is there, and needs no reservation. Its client may open another at once.
type opener struct {
	http.ResponseWriter
	release func()
}

func (o *opener) WriteHeader(status int) {
	o.release()
	o.ResponseWriter.WriteHeader(status)
}

func (o *opener) Write(b []byte) (int, error) {
	o.release()
	return o.ResponseWriter.Write(b)
}

func (o *opener) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// using records that a request of a session runs, until the returned function is called. It
// ignores unknown sessions.
func (a *Agent) using(id string) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.uses[id]
	if u == nil {
		if !a.isOpen(id) {
			return func() {}
		}
		u = &use{}
		a.uses[id] = u
	}
	u.running++
	u.last = time.Now()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		u.running--
		u.last = time.Now()
	}
}

func (a *Agent) isOpen(id string) bool {
	for ss := range a.server().Sessions() {
		if id != "" && ss.ID() == id {
			return true
		}
	}
	return false
}

// reserve makes room for a new session, or refuses it. Clients often leave without closing
// their session, so it closes the streamable session that has been silent the longest, unless
// a request of it runs.
func (a *Agent) reserve(w http.ResponseWriter) (release func(), ok bool) {
	a.mu.Lock()
	a.used = true
	open := 0
	known := map[string]*mcp.ServerSession{}
	for ss := range a.server().Sessions() {
		if id := ss.ID(); id != "" { // without one it is of a stream, which is in sse
			open++
			known[id] = ss
		}
	}
	var silent string
	for id, u := range a.uses {
		switch {
		case u.running > 0:
		case known[id] == nil:
			delete(a.uses, id)
		case silent == "" || u.last.Before(a.uses[silent].last):
			silent = id
		}
	}
	full := open+len(a.sse)+a.opening >= a.cfg.MaxSessions
	ok = !full || silent != ""
	if ok {
		a.opening++
	}
	if full && silent != "" {
		delete(a.uses, silent)
	}
	a.mu.Unlock()
	if !ok {
		w.Header().Set("Retry-After", "10")
		answer.Text(w, http.StatusServiceUnavailable, basisLocal, "Too many sessions are open")
		return nil, false
	}
	if full {
		_ = known[silent].Close() // its client has left, or will open another
	}
	return sync.OnceFunc(func() {
		a.mu.Lock()
		a.opening--
		a.mu.Unlock()
	}), true
}

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
	release()
	ss, err := a.server().Connect(ctx, s.transport, nil)
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
