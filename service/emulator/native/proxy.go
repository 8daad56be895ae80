// Package native is native access (service.md 4.3, 5.2): the proxy with its login, plain
// requests, tunnels, and connections that are re-signed by the emulator's own authority.
// A [Proxy] is safe for concurrent use.
package native

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/ca"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

// Config is what a Proxy stands on.
type Config struct {
	Account *account.Account
	// Meter counts what fetches use; nil counts nothing.
	Meter *meter.Meter
	Route route.Router
	CA    *ca.Authority
	Log   *slog.Logger
	// NewServer makes the HTTP server that runs inside re-signed connections.
	NewServer func(http.Handler) *http.Server
}

// Proxy is native access.
type Proxy struct {
	conf      Config
	ctx       context.Context // ends with the server
	tunnels   tunnels
	forwarder *httputil.ReverseProxy
	resigned  *handover
	inner     *http.Server
}

// New makes a proxy whose work ends with ctx. [Proxy.Run] has to be called, and
// [Proxy.ServeHTTP] served.
func New(ctx context.Context, conf Config) *Proxy {
	p := &Proxy{conf: conf, ctx: ctx, resigned: newHandover()}
	p.forwarder = p.newForwarder()
	p.inner = p.newInner()
	return p
}

// CloseTunnels cuts every connection that was taken over, and waits for its goroutines.
func (p *Proxy) CloseTunnels() { p.tunnels.closeAll() }

// login is one accepted proxy login and the exit it got for this request.
type login struct {
	zone  account.Zone
	flags username.Flags
	exit  exits.Exit
}

// ServeHTTP takes CONNECT, and plain requests in
// absolute form.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l, refused := p.login(r)
	if refused != nil {
		answer.Refuse(w, *refused)
		return
	}
	if r.Method == http.MethodConnect {
		p.connect(w, r, l)
		return
	}
	switch {
	case r.URL.Host == "":
		answer.Refuse(w, answer.NewRefusal(http.StatusBadRequest, "client_10080", "this is a proxy: the request needs an absolute address", answer.BasisProxyRefused))
	case r.URL.Scheme != "http":
		answer.Refuse(w, answer.NewRefusal(http.StatusBadRequest, "client_10070", "use CONNECT for "+strconv.QuoteToASCII(r.URL.Scheme), answer.BasisProxyRefused))
	default:
		if refused := route.PortRefused(r.URL.Hostname(), r.URL.Port()); refused != nil {
			answer.Refuse(w, *refused)
			return
		}
		p.forward(w, r, l)
	}
}

// login checks the credential of service.md 5.2 and picks the exit.
func (p *Proxy) login(r *http.Request) (login, *answer.Refusal) {
	user, password, ok := proxyAuth(r.Header.Get("Proxy-Authorization"))
	if !ok {
		return login{}, authRefused("client_10010", "no proxy credentials were sent")
	}
	n, err := username.Parse(user)
	if errors.Is(err, username.ErrForm) {
		return login{}, authRefused("client_10000", "authentication failed: "+username.ErrForm.Error())
	}
	if n.Prefix != p.conf.Account.Prefix || n.Account != p.conf.Account.ID {
		return login{}, authRefused("client_10000", "authentication failed: unknown account")
	}
	z, zerr := p.conf.Account.Zone(n.Zone)
	if zerr != nil {
		if flag := p.misspelt(n); flag != "" {
			return login{}, authRefused("client_10001", fmt.Sprintf("invalid username: unknown flag %q", flag))
		}
		return login{}, authRefused("client_10002", fmt.Sprintf("zone %q not found", n.Zone))
	}
	if subtle.ConstantTimeCompare([]byte(password), []byte(z.Password)) != 1 {
		return login{}, authRefused("client_10000", "authentication failed: wrong password")
	}
	if err != nil {
		return login{}, authRefused("client_10001", "invalid username: "+err.Error())
	}
	if !z.Native() {
		return login{}, new(answer.NewRefusal(http.StatusForbidden, "client_10090",
			fmt.Sprintf("zone %q is a %s zone: it has no native access, use the API", z.Name, z.Product), answer.BasisProxyProduct))
	}
	e, err := p.conf.Route.Pick(z, n.Flags)
	if err != nil {
		ref := route.RefusalOf(err)
		return login{}, &ref
	}
	return login{z, n.Flags, e}, nil
}

// misspelt finds the word after the zone that is no flag: the zone of the name is
// unknown, but a shorter one is known.
func (p *Proxy) misspelt(n username.Name) string {
	for i := len(n.ZoneParts) - 1; i > 0; i-- {
		if _, err := p.conf.Account.Zone(strings.Join(n.ZoneParts[:i], "-")); err == nil {
			return n.ZoneParts[i]
		}
	}
	return ""
}

// proxyAuth reads Basic credentials; the password may hold colons, the user may not.
func proxyAuth(h string) (user, password string, ok bool) {
	scheme, enc, found := strings.Cut(h, " ")
	if !found || !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(enc))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(b), ":")
}

func authRefused(code, msg string) *answer.Refusal {
	return new(answer.NewRefusal(http.StatusProxyAuthRequired, code, msg, answer.BasisProxyRefused))
}

// connect opens a tunnel, or re-signs where service.md 5.2 rule 3 says so.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, l login) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" || port == "" {
		answer.Refuse(w, answer.NewRefusal(http.StatusBadRequest, "client_10080", "CONNECT needs host:port", answer.BasisProxyRefused))
		return
	}
	if refused := route.PortRefused(host, port); refused != nil {
		answer.Refuse(w, *refused)
		return
	}
	var target net.Conn
	if !l.zone.Resigned() {
		if target, err = p.conf.Route.Dialer.Dial(r.Context(), r.Host, l.exit); err != nil {
			answer.Refuse(w, route.RefusalOf(err))
			return
		}
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		if target != nil {
			target.Close()
		}
		p.conf.Log.Error("a connection could not be taken over", "error", err)
		answer.Refuse(w, answer.NewRefusal(http.StatusInternalServerError, "proxy_error", "internal error", answer.BasisTarget))
		return
	}
	h := http.Header{}
	p.conf.Route.Headers(h, host, l.exit, l.flags)
	h.Set(answer.BasisHeader, answer.BasisProxy)
	c := &tunnelled{Conn: conn, r: buffered.Reader, login: l, authority: r.Host, host: host}
	if !p.tunnels.add(c, target) {
		return // the server is going down; add closed both
	}
	// What the client already sent, its ClientHello perhaps, lies in buffered.
	if err := writeEstablished(conn, h); err != nil {
		p.tunnels.drop(c, target)
		return
	}
	if target == nil {
		p.resign(c)
		return
	}
	p.tunnels.pipe(c, target, p.conf.Meter)
}
