package browser

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gobwas/ws"

	"zonedeck/service/emulator/answer"
)

// Login checks the login of a CDP connection; user is a login name of service.md 5.2, and from
// the client's address. A refusal is answered before the WebSocket begins.
type Login func(ctx context.Context, user, password string, from netip.Addr) (Grant, *answer.Refusal)

// Grant is the access of a login.
type Grant struct {
	// Zone is shown in the list of sessions.
	Zone string
	// Dial reaches the session's targets.
	Dial Dial
	// Count receives the session's bytes; nil counts nothing.
	Count Count
	// Done is called once with the record of the ended session, unless nil.
	Done func(Session)
}

// Limits bound a CDP session. The defaults are those of public documentation.
type Limits struct {
	// Session bounds the whole session; 0 is 60 minutes.
	Session time.Duration
	// Inactivity bounds the time without a message or a byte from a target; 0 is 5 minutes.
	Inactivity time.Duration
	// Domains is how many domains a session may navigate to; 0 is 1, negative is unlimited.
	Domains int
}

func (l Limits) filled() Limits {
	return Limits{cmp.Or(l.Session, time.Hour), cmp.Or(l.Inactivity, 5*time.Minute), cmp.Or(l.Domains, 1)}
}

const (
	basisEntry    = "public documentation; which requests are answered: assumption"
	basisRefused  = "contract 5.2; status and code: public documentation"
	basisNoWorker = "public documentation; status: assumption"

	// ticketLife is how long an address of /json/version is valid, for one use.
	ticketLife = time.Minute
	// maxTickets bounds the unused ones; the oldest go first.
	maxTickets = 256
	// upgradeWait bounds writing the answer of the handshake.
	upgradeWait = 10 * time.Second
)

// tickets are the unguessable addresses of /json/version, the oldest first. A ticket stands for
// the login of the request that it answered, because clients that use such an address send no
// login.
type tickets struct {
	mu   sync.Mutex
	open []ticket
}

type ticket struct {
	name, user, password string
	until                time.Time
}

func (t *tickets) issue(k ticket) (name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k.name = rand.Text()
	t.open = append(t.open[max(0, len(t.open)-maxTickets+1):], k)
	return k.name
}

func (t *tickets) use(name string, now time.Time) (ticket, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.open, func(k ticket) bool { return k.name == name })
	if i < 0 {
		return ticket{}, false
	}
	k := t.open[i]
	t.open = slices.Delete(t.open, i, i+1)
	return k, now.Before(k.until)
}

// Entry serves the browser's port: /json/version, and a WebSocket at / and at
// /devtools/browser/…. Each connection is a session with a separate Chromium.
func (b *Browsers) Entry() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /json/version", b.version)
	mux.HandleFunc("GET /json/version/", b.version)
	list := func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := b.login(w, r); ok {
			// Each connection starts its browser: there are no pages before.
			answer.JSON(w, http.StatusOK, basisEntry, []struct{}{})
		}
	}
	mux.HandleFunc("GET /json", list)
	mux.HandleFunc("GET /json/list", list)
	mux.HandleFunc("GET /{$}", b.connect)
	mux.HandleFunc("GET /devtools/browser/{name}", b.connect)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer.Text(w, http.StatusNotFound, basisEntry, "not found: connect a CDP client to ws://USER:PASS@this address/\n")
	})
	return mux
}

// login reads and checks a Basic login. It answers a refused one.
func (b *Browsers) login(w http.ResponseWriter, r *http.Request) (ticket, Grant, bool) {
	user, password, ok := r.BasicAuth()
	if !ok {
		user, password, ok = proxyLogin(r.Header.Get("Proxy-Authorization"))
	}
	k := ticket{user: user, password: password}
	if !ok {
		name := r.PathValue("name")
		if k, ok = b.tickets.use(name, b.cfg.Now()); !ok {
			refuseLogin(w, answer.NewRefusal(http.StatusProxyAuthRequired, "missing_credentials", "connect with the zone's login: ws://USER:PASS@host", basisRefused))
			return k, Grant{}, false
		}
	}
	grant, refusal := b.cfg.Login(r.Context(), k.user, k.password, answer.Caller(r))
	if refusal != nil {
		refuseLogin(w, *refusal)
		return k, Grant{}, false
	}
	return k, grant, true
}

// admit is login, and adds the call to b.work.
func (b *Browsers) admit(w http.ResponseWriter, r *http.Request) (k ticket, grant Grant, ok bool) {
	if k, grant, ok = b.login(w, r); !ok {
		return k, grant, false
	}
	err := b.begin()
	if err != nil {
		b.refuseStart(w, err)
	}
	return k, grant, err == nil
}

// refuseLogin answers a refusal, with the header that asks HTTP clients for a login.
func refuseLogin(w http.ResponseWriter, r answer.Refusal) {
	w.Header().Set("WWW-Authenticate", `Basic realm="browser"`)
	answer.Refuse(w, r)
}

func (b *Browsers) version(w http.ResponseWriter, r *http.Request) {
	k, _, ok := b.admit(w, r)
	if !ok {
		return
	}
	defer b.work.Done()
	product, err := b.product(r.Context())
	if err != nil {
		b.refuseStart(w, err)
		return
	}
	k.until = b.cfg.Now().Add(ticketLife)
	scheme := "ws"
	if r.TLS != nil {
		scheme = "wss"
	}
	answer.JSON(w, http.StatusOK, basisEntry, map[string]string{
		"Browser": "Chrome/" + product, "Protocol-Version": "1.3", "User-Agent": userAgent(product),
		"webSocketDebuggerUrl": scheme + "://" + r.Host + "/devtools/browser/" + b.tickets.issue(k),
	})
}

// refuseStart answers that no session can begin, with the reason.
func (b *Browsers) refuseStart(w http.ResponseWriter, err error) {
	code, text := "no_free_workers", "all browsers are in use; try again when a session has ended"
	switch {
	case errors.Is(err, errNoFree):
	case errors.Is(err, ErrNoChromium):
		code, text = "feature_not_active", err.Error()
	default:
		// Only logged, because Chromium's output may contain paths.
		b.cfg.Log.Warn("a browser did not start", "error", err)
		code, text = "cdp_error", "the browser did not start"
	}
	answer.Refuse(w, answer.NewRefusal(http.StatusServiceUnavailable, code, text, basisNoWorker))
}

var errNoFree = errors.New("no free browser")

// connect upgrades a request to a session and serves it until its end.
func (b *Browsers) connect(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		answer.Text(w, http.StatusBadRequest, basisEntry, "this address is for CDP clients (a WebSocket)\n")
		return
	}
	_, grant, ok := b.admit(w, r)
	if !ok {
		return
	}
	defer b.work.Done()
	select {
	case b.sessions <- struct{}{}:
		defer func() { <-b.sessions }()
	default:
		b.refuseStart(w, errNoFree)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	s, err := b.session(ctx, grant)
	if err != nil {
		b.refuseStart(w, err)
		return
	}
	defer s.end()
	defer context.AfterFunc(b.ctx, func() { s.finish(&SessionError{"worker_disconnect", "the service is shutting down"}) })()
	up := ws.HTTPUpgrader{Timeout: upgradeWait, Header: http.Header{answer.BasisHeader: {basisEntry}}}
	conn, rw, _, err := up.Upgrade(r, w)
	if err != nil {
		s.finish(nil)
		return // the upgrader has answered
	}
	// A session has no deadlines of the HTTP server.
	if err := conn.SetDeadline(time.Time{}); err != nil {
		conn.Close()
		s.finish(nil)
		return
	}
	s.serve(conn, rw.Reader) // it may hold what the client sent with its handshake
}
