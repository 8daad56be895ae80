// Package agent is the agent access of the service: an endpoint of the Model Context
// Protocol with the basic tools (search, scrape as Markdown, both in batches, discover)
// under the names that public clients know. /mcp speaks streamable HTTP, /sse the older
// transport with a hanging GET.
//
// It knows the protocol, keys and bounds; what the tools do comes from its caller as
// functions in [Config]. The emulator's root wires it, on the listener of the API.
//
// The results of tools are untrusted text of web pages. They are passed on unchanged in one
// block, because clients expect that; the server's instructions, the tools' descriptions and
// the "untrusted" mark in each result's _meta say that they are data.
//
// An [Agent] is safe for concurrent use. Nothing of the protocol's library is set up
// before the first request; every goroutine and session has ended when [Agent.Close]
// returns.
package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/guard"
)

// What the answers rest on.
const (
	basisMCP   = "contract 1: agent access; protocol: modelcontextprotocol.io; tools: public clients"
	basisLocal = "assumption: the emulator's bounds"
)

// The bounds that a Config may change.
const (
	// maxSessions are open at a time, of both transports.
	maxSessions = 200
	// idleTimeout ends a session that has sent nothing for so long.
	idleTimeout = 10 * time.Minute
)

const (
	// maxBodyBytes bounds one message of a client.
	maxBodyBytes = 1 << 20
	// maxCalls tools run at a time; the next ones wait for callWait and then fail.
	maxCalls = 32
	callWait = 10 * time.Second
	// callTimeout ends one call of a tool. Public documentation tells clients to wait
	// 180 s for an unlocker.
	callTimeout = 180 * time.Second
)

// Query is a search.
type Query struct {
	Text string
	// Engine is google, bing or yandex.
	Engine string
	// Page counts from 0.
	Page int
	// Country is a two-letter code, or empty.
	Country string
}

// Discovery is a discover request; encoded, it is the body of POST /discover.
type Discovery struct {
	Query            string   `json:"query"`
	Intent           string   `json:"intent,omitempty"`
	Country          string   `json:"country,omitempty"`
	City             string   `json:"city,omitempty"`
	Language         string   `json:"language,omitempty"`
	Results          int      `json:"num_results,omitempty"`
	FilterKeywords   []string `json:"filter_keywords,omitempty"`
	RemoveDuplicates *bool    `json:"remove_duplicates,omitempty"`
	StartDate        string   `json:"start_date,omitempty"`
	EndDate          string   `json:"end_date,omitempty"`
}

// Config is what an [Agent] needs from its surroundings. The functions are called
// concurrently, with a context that ends with the call and holds the [Caller]. Their errors
// become tool errors: clients see the text.
type Config struct {
	// Authorize returns the unique name of a key, or why it is refused. It compares in
	// constant time. key is empty if none was sent. A session belongs to the name that
	// opened it.
	Authorize func(ctx context.Context, key string) (caller string, refused *answer.TextError)
	// Search gives the results as the JSON of the light format, or as Markdown.
	Search func(context.Context, Query) (string, error)
	// Scrape gives a page as Markdown.
	Scrape func(ctx context.Context, url string) (string, error)
	// Discover gives the results as a JSON array.
	Discover func(context.Context, Discovery) (string, error)

	// AnyHost accepts every host name, for an emulator that listens to other machines. Web
	// pages must still come from the same name.
	AnyHost bool
	// MaxSessions and IdleTimeout default to the constants of these names.
	MaxSessions int
	IdleTimeout time.Duration
}

// Agent serves the protocol.
type Agent struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	calls  chan struct{}
	// server and streamable are made by the first request.
	server     func() *mcp.Server
	streamable func() http.Handler

	mu      sync.Mutex
	closed  bool
	opening int // sessions that are being opened
	sse     map[string]*sseSession
	uses    map[string]*use // of streamable sessions, by their id
	used    bool            // the library is set up
	wg      sync.WaitGroup  // requests
}

// Open makes an agent. Its calls and streams end with ctx; [Agent.Close] waits for them
// and ends the sessions.
func Open(ctx context.Context, cfg Config) *Agent {
	cfg.MaxSessions, cfg.IdleTimeout = cmp.Or(cfg.MaxSessions, maxSessions), cmp.Or(cfg.IdleTimeout, idleTimeout)
	a := &Agent{cfg: cfg, calls: make(chan struct{}, maxCalls), sse: map[string]*sseSession{}, uses: map[string]*use{}}
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.server = sync.OnceValue(a.newServer)
	a.streamable = sync.OnceValue(func() http.Handler {
		h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return a.server() }, &mcp.StreamableHTTPOptions{
			SessionTimeout: cfg.IdleTimeout, MaxRequestBodyBytes: maxBodyBytes,
			DisableLocalhostProtection: true, // admit has a stricter one
		})
		// The library binds a session to the user that this puts into the context.
		return auth.RequireBearerToken(tokenOf, nil)(h)
	})
	return a
}

// Close ends all calls and sessions and waits for them. Later requests get 503.
func (a *Agent) Close() {
	a.mu.Lock()
	a.closed = true
	used := a.used
	a.mu.Unlock()
	a.cancel()
	a.wg.Wait()
	if !used {
		return
	}
	for ss := range a.server().Sessions() {
		_ = ss.Close() // its connection may be closed already
	}
}

// Mount hands out the endpoints as patterns of [http.ServeMux]. They check keys
// themselves.
func (a *Agent) Mount(handle func(pattern string, h http.HandlerFunc)) {
	handle("/mcp", a.ServeStreamable)
	handle("GET /sse", a.ServeSSE)
	handle("POST /sse", a.ServeSSE)
}

type callerKey struct{}

// Identity says who called.
type Identity struct {
	// Name is what [Config.Authorize] called them.
	Name string
	// Addr is where they called from when they opened the session, as in
	// [http.Request.RemoteAddr].
	Addr string
}

// Caller is the caller of a tool. The library calls a tool with the context that opened the
// session, and a session accepts requests only from its caller.
func Caller(ctx context.Context) Identity {
	id, _ := ctx.Value(callerKey{}).(Identity)
	return id
}

// tokenOf gives the library the caller that admit accepted.
func tokenOf(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	name := Caller(ctx).Name
	if name == "" {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: name, Expiration: time.Now().Add(time.Hour)}, nil
}

// Key is the key of a request: the Bearer token, or the token of the query, as public
// clients send it (service.md 5.1; query: public clients).
func Key(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.URL.Query().Get("token")
}

// admit passes a request to serve if it comes from a program of this machine and its key may
// use the agent access. It removes the key from the address first.
func (a *Agent) admit(w http.ResponseWriter, r *http.Request, key string, serve func(http.ResponseWriter, *http.Request)) {
	a.mu.Lock()
	closed := a.closed
	if !closed {
		a.wg.Add(1)
	}
	a.mu.Unlock()
	if closed {
		answer.Text(w, http.StatusServiceUnavailable, basisLocal, "The agent access is closed")
		return
	}
	defer a.wg.Done()
	if reason := a.foreign(r); reason != "" {
		answer.Text(w, http.StatusForbidden, basisLocal, reason)
		return
	}
	caller, refused := a.cfg.Authorize(r.Context(), key)
	if refused != nil {
		refused.Write(w)
		return
	}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), callerKey{}, Identity{caller, r.RemoteAddr}))
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	r = r.Clone(ctx)
	q := r.URL.Query()
	q.Del("token")
	r.URL.RawQuery, r.RequestURI = q.Encode(), ""
	r.Header.Set("Authorization", "Bearer -") // the library wants one; who it is, is in ctx
	if r.Method == http.MethodPost {
		b, err := answer.ReadBody(w, r, maxBodyBytes)
		if err != nil {
			status := http.StatusBadRequest
			if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
				status = http.StatusRequestEntityTooLarge
			}
			answer.Text(w, status, basisLocal, "The body could not be read")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	out := answer.NewPatient(w)
	defer out.Done()
	w.Header().Set(answer.BasisHeader, basisMCP)
	serve(out, r)
}

// foreign says why a request is refused as foreign, or "": a web page can make its name
// resolve to this machine, and demo keys are public.
func (a *Agent) foreign(r *http.Request) string {
	if !a.cfg.AnyHost && !guard.ThisMachine(r.Host) {
		return "The Host is not a name of this machine"
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || !guard.ThisMachine(u.Host) && (!a.cfg.AnyHost || u.Host == "" || !strings.EqualFold(u.Host, r.Host)) {
			return "The Origin is not a page of this machine"
		}
	}
	return ""
}
