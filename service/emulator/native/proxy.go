// Package native is native access (service.md 4.3, 5.2): the proxy with its login, plain
// requests, tunnels, connections re-signed by the emulator's authority, and SOCKS5. The
// server gives it its listeners; the emulator's browser also reaches its targets through it
// ([Guests]). A [Proxy] is safe for concurrent use. All its goroutines have ended once its
// servers are shut down and [Proxy.CloseTunnels] has returned.
package native

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/ca"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

// CAPath is the path of the root certificate on the proxy's port. It needs no login: the
// certificate is public, and clients need it before they can log in over TLS.
const CAPath = "/ca.pem"

// Config configures a Proxy.
type Config struct {
	Account *account.Account
	// Meter counts what visits use; nil counts nothing.
	Meter *meter.Meter
	Route route.Router
	CA    *ca.Authority
	Log   *slog.Logger
	// NewServer makes the HTTP server that runs inside re-signed connections.
	NewServer func(http.Handler) *http.Server
	// Stages see and change the traffic, in this order: each wraps what the ones before it have
	// wrapped.
	Stages []Stage
	// TunnelIdle is how long a tunnel may carry nothing; 0 is DefaultTunnelIdle.
	TunnelIdle time.Duration
	// Handshake is how long a client may take for its first byte after a CONNECT, and for
	// the handshake of SOCKS5; 0 is DefaultHandshake.
	Handshake time.Duration
}

// Proxy is native access.
type Proxy struct {
	conf     Config
	stages   stages
	ctx      context.Context // ends with the server
	ids      *route.IDs
	logins   logins
	tunnels  tunnels
	resigned *handover
	inner    *http.Server
}

// New makes a proxy whose work ends with ctx. The caller has to call [Proxy.Run] and to serve
// [Proxy.ServeHTTP].
func New(ctx context.Context, conf Config) *Proxy {
	p := &Proxy{conf: conf, stages: conf.Stages, ctx: ctx, ids: route.NewIDs(), resigned: &handover{conns: make(chan net.Conn), done: make(chan struct{})}}
	p.conf.Handshake = cmp.Or(conf.Handshake, defaultHandshake)
	p.tunnels.idle = conf.TunnelIdle
	p.inner = p.newInner()
	return p
}

// CloseTunnels cuts every tunnel and waits for its goroutines.
func (p *Proxy) CloseTunnels() { p.tunnels.closeAll() }

// ServeHTTP serves CONNECT, and plain requests in absolute form.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == CAPath && r.URL.Host == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		p.ServeCA(w, r)
		return
	}
	l, refused := p.accept(r)
	if refused != nil {
		answer.Refuse(w, *refused)
		return
	}
	if r.Method == http.MethodConnect {
		p.serveConnect(w, r, l)
		return
	}
	if r.URL.Scheme != "http" {
		answer.Refuse(w, *protocolRefused(r.URL.Scheme))
		return
	}
	v, refused := p.visit(entryProxy, l, r.RemoteAddr, r.URL.Hostname(), r.URL.Port())
	if refused != nil {
		answer.Refuse(w, *refused)
		return
	}
	v.Method, v.Target = r.Method, r.URL.String()
	p.around(w, r, v, p.forward)
}

// ServeCA hands out the root certificate (service.md 5.2 rule 3).
func (p *Proxy) ServeCA(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/x-pem-file")
	h.Set("Content-Disposition", `attachment; filename="zonedeck-emulator-ca.pem"`)
	h.Set(answer.BasisHeader, answer.BasisCA)
	_, _ = w.Write(p.conf.CA.PEM) // fails only if the client has left
}

// BundlePath is the path of the archive with the root certificate on the API, as the public service
// has one on its site.
const BundlePath = "/static/brightdata_proxy_ca.zip"

// bundled is the name of the certificate in the archive.
const bundled = "brightdata_root_ca_44445.crt"

// ServeBundle hands out the root certificate as the public service does: in a ZIP archive.
func (p *Proxy) ServeBundle(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create(bundled)
	if err == nil {
		_, err = f.Write(p.conf.CA.PEM)
	}
	if err := errors.Join(err, z.Close()); err != nil { // a buffer takes everything
		answer.Text(w, http.StatusInternalServerError, answer.BasisCA, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set(answer.BasisHeader, answer.BasisCA)
	_, _ = w.Write(b.Bytes()) // fails only if the client has left
}

// visit admits one use of a login and picks its exit.
func (p *Proxy) visit(entry Entry, l *login, client, host, port string) (*Visit, *answer.Refusal) {
	v := &Visit{
		Entry: entry, ID: p.ids.Next(), User: l.user, Zone: l.zone, Flags: l.flags, Client: addrPortOf(client), Host: host, Began: time.Now(),
	}
	if refused := p.barred(l.zone, host, port); refused != nil {
		return nil, refused
	}
	if refused := p.stages.Admit(v); refused != nil {
		return nil, refused
	}
	e, err := p.conf.Route.Pick(l.zone, l.flags)
	if err != nil {
		refused := route.RefusalOf(err)
		return nil, &refused
	}
	v.Exit = e
	return v, nil
}

func (p *Proxy) around(w http.ResponseWriter, r *http.Request, v *Visit, next func(http.ResponseWriter, *http.Request, *Visit)) {
	p.stages.Handler(v, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next(w, r, v) })).ServeHTTP(w, r)
}

// refuse answers a visit with a refusal, and ends it.
func (p *Proxy) refuse(w http.ResponseWriter, v *Visit, r answer.Refusal) {
	if v.guest != nil && v.Method != http.MethodConnect {
		panic(http.ErrAbortHandler) // see Guests.Serve
	}
	answer.Refuse(w, r)
	p.stages.Done(v, Outcome{Status: r.Status, Code: r.Code})
}

// dial opens a visit's connection to its target.
func (p *Proxy) dial(ctx context.Context, v *Visit, address string) (net.Conn, error) {
	if v.guest != nil {
		return v.guest.DialContext(ctx, "tcp", address)
	}
	c, err := p.conf.Route.Dialer.Dial(ctx, address, v.Exit)
	if err != nil {
		return nil, err
	}
	return p.stages.Conn(v, c), nil
}

type credential struct{ user, password string }

// login is an accepted proxy login. It does not change.
type login struct {
	credential
	zone   account.Zone
	flags  username.Flags
	moment any // the account's moment when it was accepted
}

const maxLogins = 1024

// logins remembers accepted logins by their header until the account changes: parsing a name
// and hashing a password costs more than the rest of a request's admission.
type logins struct {
	mu       sync.RWMutex
	moment   any
	byHeader map[string]*login
}

func (l *logins) get(at any, header string) *login {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.moment != at {
		return nil
	}
	return l.byHeader[header]
}

func (l *logins) put(accepted *login, header string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.moment != accepted.moment || len(l.byHeader) >= maxLogins {
		l.moment, l.byHeader = accepted.moment, map[string]*login{}
	}
	l.byHeader[header] = accepted
}

func (p *Proxy) accept(r *http.Request) (*login, *answer.Refusal) {
	h := r.Header.Get("Proxy-Authorization")
	if l := p.logins.get(p.conf.Account.Moment(), h); l != nil {
		return l, nil
	}
	c, ok := proxyAuth(h)
	if !ok {
		return nil, authRefused("client_10010", "no proxy credentials were sent")
	}
	l, refused := p.login(c)
	if refused == nil {
		p.logins.put(l, h)
	}
	return l, refused
}

// recheck checks a connection's login again if the account has changed.
func (p *Proxy) recheck(l *login) (*login, *answer.Refusal) {
	if l.moment == p.conf.Account.Moment() {
		return l, nil
	}
	return p.login(l.credential)
}

// login checks a credential (service.md 5.2) against the account.
func (p *Proxy) login(c credential) (*login, *answer.Refusal) {
	acc := p.conf.Account
	at := acc.Moment() // read first: if the account changes meanwhile, the login is checked again
	z, flags, err := route.Login(acc, c.user, c.password)
	switch {
	case errors.Is(err, route.ErrZone):
		return nil, authRefused("client_10002", err.Error())
	case errors.Is(err, username.ErrForm), errors.Is(err, route.ErrAccount), errors.Is(err, route.ErrPassword):
		return nil, authRefused("client_10000", "authentication failed: "+err.Error())
	case err != nil:
		return nil, new(route.RefusalOf(err))
	}
	if !z.Native() {
		return nil, new(answer.NewRefusal(http.StatusForbidden, "client_10090",
			fmt.Sprintf("zone %q is of product %s: it has no native access, use the API", z.Name, z.Product), answer.BasisProxyProduct))
	}
	return &login{c, z, flags, at}, nil
}

// proxyAuth reads Basic credentials; the password may contain colons, the user may not.
func proxyAuth(h string) (credential, bool) {
	scheme, enc, found := strings.Cut(h, " ")
	if !found || !strings.EqualFold(scheme, "Basic") {
		return credential{}, false
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(enc))
	if err != nil {
		return credential{}, false
	}
	user, password, ok := strings.Cut(string(b), ":")
	return credential{user, password}, ok
}

func authRefused(code, msg string) *answer.Refusal {
	return new(answer.NewRefusal(http.StatusProxyAuthRequired, code, msg, answer.BasisProxyRefused))
}

// barred returns the reason why a zone may not go to a target, nil if it may.
func (p *Proxy) barred(z account.Zone, host, port string) *answer.Refusal {
	if host == "" {
		return new(answer.NewRefusal(http.StatusForbidden, "client_10080", "the request names no host", answer.BasisProxyRefused))
	}
	if r := p.conf.Route.PortRefused(host, port); r != nil {
		return r
	}
	return route.Policy(z, host)
}

// protocolRefused refuses a request whose address is not an absolute http one.
func protocolRefused(scheme string) *answer.Refusal {
	if scheme == "" {
		return new(answer.NewRefusal(http.StatusForbidden, "client_10070", "this is a proxy: the request needs an absolute address", answer.BasisProxyRefused))
	}
	return new(answer.NewRefusal(http.StatusForbidden, "policy_20010", "protocol "+strconv.QuoteToASCII(scheme)+" is not allowed: use http, or CONNECT for https", answer.BasisProxyRefused))
}
