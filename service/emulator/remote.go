package emulator

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

const (
	basisCDPLogin   = "contract 5.2; status and code: public documentation"
	basisCDPProduct = "contract 5.2; status and code: assumption"
)

// serveCDP serves the remote browser's port, with and without TLS: clients of the real service
// use wss.
func (s *Server) serveCDP(ln net.Listener) {
	entry := s.faultyCDP(s.browsers.Entry())
	if !s.remote {
		entry = forLoopback(entry)
	}
	s.serveBoth(ln, s.rehearsal.requests.Handler("cdp", entry), &tls.Config{
		// WebSockets need HTTP/1.1.
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.ca.Leaf(cmp.Or(hello.ServerName, addrPort(ln).Addr().String()))
		},
	})
}

// faultyCDP puts the proxy's faults in front of a session with a valid login.
func (s *Server) faultyCDP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, ok := r.BasicAuth()
		if !ok || !s.rehearsal.faults.Active(fault.Proxy) {
			next.ServeHTTP(w, r)
			return
		}
		z, _, refused := s.zoneOfCDP(name, password)
		if refused != nil {
			next.ServeHTTP(w, r) // refuses the login
			return
		}
		record.FromContext(r.Context()).Set(func(e *record.Entry) { e.User, e.Zone = name, z.Name })
		s.rehearsal.faults.Proxy(fault.Call{Zone: z.Name, Product: z.Product}, next).ServeHTTP(w, r)
	})
}

// loginCDP checks the login of a remote browser's client (service.md 5.2), and picks the exit
// for the whole session.
func (s *Server) loginCDP(ctx context.Context, user, password string, from netip.Addr) (browser.Grant, *answer.Refusal) {
	x := record.FromContext(ctx)
	x.Set(func(e *record.Entry) { e.User = user })
	z, flags, refused := s.zoneOfCDP(user, password)
	if refused != nil {
		return browser.Grant{}, refused
	}
	x.Set(func(e *record.Entry) { e.Zone = z.Name })
	v := &remoteSession{s: s, x: x, zone: z, client: from}
	if refused := s.account.Admit(z.Name, v.client, ""); refused != nil {
		return browser.Grant{}, refused
	}
	var err error
	if v.exit, err = s.way.Pick(z, flags); err != nil {
		return browser.Grant{}, new(route.RefusalOf(err))
	}
	return browser.Grant{Zone: z.Name, Dial: v.dial, Count: v.count, Done: v.done}, nil
}

func (s *Server) zoneOfCDP(user, password string) (account.Zone, username.Flags, *answer.Refusal) {
	z, flags, err := route.Login(s.account, user, password)
	var refused answer.Refusal
	switch {
	case errors.Is(err, username.ErrForm), errors.Is(err, route.ErrAccount):
		refused = answer.NewRefusal(http.StatusProxyAuthRequired, "wrong_customer_name", err.Error(), basisCDPLogin)
	case errors.Is(err, route.ErrZone):
		refused = answer.NewRefusal(http.StatusProxyAuthRequired, "zone_not_found", err.Error(), basisCDPLogin)
	case errors.Is(err, route.ErrPassword):
		refused = answer.NewRefusal(http.StatusProxyAuthRequired, "wrong_password", err.Error(), basisCDPLogin)
	case err != nil:
		refused = route.RefusalOf(err)
	case z.Product != "browser":
		refused = answer.NewRefusal(http.StatusProxyAuthRequired, "zone_not_found",
			fmt.Sprintf("zone %q is of product %s: the remote browser needs a browser zone", z.Name, z.Product), basisCDPProduct)
	default:
		return z, flags, nil
	}
	return account.Zone{}, username.Flags{}, &refused
}

// remoteSession connects one CDP session to its targets.
type remoteSession struct {
	s      *Server
	x      *record.Exchange
	zone   account.Zone
	exit   exits.Exit
	client netip.Addr

	up, down atomic.Int64
}

// dial connects to a target through the session's exit. It checks the zone and the guard every
// time.
func (v *remoteSession) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if refused := v.s.way.PortRefused(host, port); refused != nil {
		return nil, *refused
	}
	if refused := v.s.account.Admit(v.zone.Name, v.client, host); refused != nil {
		return nil, *refused
	}
	c, err := v.s.way.Dialer.Dial(ctx, address, v.exit)
	if err != nil {
		return nil, err
	}
	first := v.call(address)
	first.Requests, first.Billable = 1, true
	v.s.meter.Record(first)
	return v.s.rehearsal.faults.Conn(fault.Call{Zone: v.zone.Name, Product: v.zone.Product, Host: host}, c), nil
}

func (v *remoteSession) call(address string) meter.Call {
	host, port, _ := net.SplitHostPort(address) // valid, because it was dialled
	return meter.Call{Zone: v.zone.Name, Product: v.zone.Product, Host: host, Secure: port == "443"}
}

func (v *remoteSession) count(address string, up, down int) {
	v.up.Add(int64(up))
	v.down.Add(int64(down))
	call := v.call(address)
	call.Up, call.Down = int64(up), int64(down)
	v.s.meter.Record(call)
}

// done completes a session's entry in the journal. A session that began was answered with 101
// on a hijacked connection, which the journal does not see.
func (v *remoteSession) done(rec browser.Session) {
	v.x.Set(func(e *record.Entry) {
		e.Status, e.Target = http.StatusSwitchingProtocols, rec.TargetURL
		e.BytesIn += v.up.Load()
		e.BytesOut += v.down.Load()
		if rec.Error != nil {
			e.Code, e.Cut = rec.Error.Code, true
		}
	})
}
