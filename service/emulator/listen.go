package emulator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"zonedeck/service/emulator/answer"
	emutime "zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/guard"
)

// listeners are the emulator's ports.
type listeners struct{ lab, api, control, proxy, socks, cdp net.Listener }

func (s *Server) listenAll(o Options) (ln listeners, err error) {
	for _, l := range []struct {
		what, addr string
		remote     bool
		to         *net.Listener
	}{
		{"lab", o.LabAddr, false, &ln.lab},
		{"control", o.ControlAddr, false, &ln.control},
		{"API", o.APIAddr, s.remote, &ln.api},
	} {
		if *l.to, err = s.listen(l.what, l.addr, l.remote); err != nil {
			return ln, err
		}
	}
	if ln.proxy, err = s.listenProxy(o.ProxyAddr); err != nil {
		return ln, err
	}
	if ln.socks, err = s.listenSOCKS(o.SOCKSAddr); err != nil {
		return ln, err
	}
	ln.cdp, err = s.listenCDP(o.CDPAddr)
	return ln, err
}

func addrPort(ln net.Listener) netip.AddrPort {
	ap := ln.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// reached is an address at which a listener can be reached: one on all addresses is
// named by this machine's own.
func reached(ln net.Listener) string {
	ap := addrPort(ln)
	if ap.Addr().IsUnspecified() {
		return localPort(int(ap.Port()))
	}
	return ap.String()
}

func (s *Server) listen(what, addr string, remote bool) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	note, err := guard.Listen(addr, remote)
	if err != nil {
		return nil, fmt.Errorf("listening for the %s: %w", what, err)
	}
	if note != "" {
		s.note("%s (the %s)", note, what)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(s.ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for the %s: %w", what, err)
	}
	s.listeners = append(s.listeners, ln)
	return ln, nil
}

// listenProxy takes the documented port or, when no address was asked for, the next
// free one, with a note. The port lies in the range of outgoing connections and may
// be held for a moment, so it is tried again first.
func (s *Server) listenProxy(addr string) (net.Listener, error) {
	if addr != "" {
		return s.listen("proxy", addr, s.remote)
	}
	for i := range samePortTries {
		ln, err := s.listen("proxy", localPort(DefaultProxyPort), false)
		if err == nil {
			return ln, nil
		}
		if i < samePortTries-1 && emutime.Pause(s.ctx, samePortTryPeriod) != nil {
			return nil, context.Cause(s.ctx)
		}
	}
	for port := DefaultProxyPort + 1; port < DefaultProxyPort+portTries; port++ {
		ln, err := s.listen("proxy", localPort(port), false)
		if err == nil {
			s.note("port %d is taken; the proxy listens on %d", DefaultProxyPort, port)
			return ln, nil
		}
	}
	ln, err := s.listen("proxy", "", false)
	if err == nil {
		s.note("port %d is taken; the proxy listens on %d", DefaultProxyPort, ln.Addr().(*net.TCPAddr).Port)
	}
	return ln, err
}

func localPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// listenSOCKS takes the public documentation's port, or any free one. It is not a port of
// the contract, so Ready alone says which.
func (s *Server) listenSOCKS(addr string) (net.Listener, error) {
	if addr != "" {
		return s.listen("SOCKS5 proxy", addr, s.remote)
	}
	if ln, err := s.listen("SOCKS5 proxy", localPort(DefaultSOCKSPort), false); err == nil {
		return ln, nil
	}
	return s.listen("SOCKS5 proxy", "", false)
}

// listenCDP takes the public documentation's port, or any free one with a note: clients
// have the port in their configuration, and a browser of one's own likes to be there.
func (s *Server) listenCDP(addr string) (net.Listener, error) {
	const what = "remote browser"
	if addr != "" {
		return s.listen(what, addr, s.remote)
	}
	if ln, err := s.listen(what, localPort(DefaultCDPPort), false); err == nil {
		return ln, nil
	}
	ln, err := s.listen(what, "", false)
	if err == nil {
		s.note("port %d is taken; the remote browser listens on %d", DefaultCDPPort, ln.Addr().(*net.TCPAddr).Port)
	}
	return ln, err
}

// forLoopback answers only to names of this machine, and to pages of it. A web page in a
// browser on it can make its own name resolve to 127.0.0.1, or open a WebSocket to there,
// and the demo keys are not secret: that page could have this machine fetch for it and
// read the answers.
func forLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "" && !guard.Own(r.Host) {
			answer.Text(w, http.StatusMisdirectedRequest, answer.BasisLoopback, "the local emulator answers to localhost and loopback addresses only")
			return
		}
		for _, origin := range r.Header["Origin"] {
			if !ownOrigin(origin) {
				answer.Text(w, http.StatusForbidden, answer.BasisLoopback, "the local emulator does not answer pages of other sites")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// ownOrigin reports whether a page, or what else sends an Origin, is of this machine. What
// is installed in the browser itself (its developer tools) has a scheme of its own.
func ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme != "" && (guard.Own(u.Host) || u.Scheme != "http" && u.Scheme != "https")
}
