package native

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

type credential struct{ user, password string }

// login is an accepted proxy login. It does not change.
type login struct {
	credential
	zone  account.Zone
	flags username.Flags
	at    any // the account's moment when it was accepted
}

const maxLogins = 1024

// logins remembers accepted logins by their header until the account changes: parsing a name
// and hashing a password costs more than the rest of a request's admission.
type logins struct {
	mu    sync.RWMutex
	at    any
	known map[string]*login
}

func (l *logins) get(at any, header string) *login {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.at != at {
		return nil
	}
	return l.known[header]
}

func (l *logins) put(accepted *login, header string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at != accepted.at || len(l.known) >= maxLogins {
		l.at, l.known = accepted.at, map[string]*login{}
	}
	l.known[header] = accepted
}

func (p *Proxy) enter(r *http.Request) (*login, *answer.Refusal) {
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
	if l.at == p.conf.Account.Moment() {
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
