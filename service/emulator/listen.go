package emulator

import (
	"cmp"
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
	if ln.socks, err = s.listenNear("SOCKS5 proxy", o.SOCKSAddr, DefaultSOCKSPort, 1); err != nil {
		return ln, err
	}
	// A browser of the user's often occupies this port.
	ln.cdp, err = s.listenNear("remote browser", o.CDPAddr, DefaultCDPPort, 1)
	return ln, err
}

func addrPort(ln net.Listener) netip.AddrPort {
	ap := ln.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// listener6 is one that IPv4 does not reach. The address of one on every address of both does not tell.
type listener6 struct{ net.Listener }

// reached returns an address of a listener for clients on this machine, also for a listener
// on all addresses.
func reached(ln net.Listener) string {
	ap := addrPort(ln)
	if !ap.Addr().IsUnspecified() {
		return ap.String()
	}
	if _, ok := ln.(listener6); ok {
		return netip.AddrPortFrom(netip.IPv6Loopback(), ap.Port()).String()
	}
	return localPort(int(ap.Port()))
}

func (s *Server) listen(what, addr string, remote bool) (net.Listener, error) {
	addr = cmp.Or(addr, "127.0.0.1:0")
	note, err := guard.Listen(addr, remote)
	if err != nil {
		return nil, fmt.Errorf("listening for the %s: %w", what, err)
	}
	if note != "" {
		s.note("%s (the %s)", note, what)
	}
	var lc net.ListenConfig
	network := guard.Network(addr)
	ln, err := lc.Listen(s.ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("listening for the %s: %w", what, err)
	}
	if network == "tcp6" {
		ln = listener6{ln}
	}
	s.listeners = append(s.listeners, ln)
	return ln, nil
}

// listenProxy is listenNear with patience: an outgoing connection may hold the documented port
// for a moment.
func (s *Server) listenProxy(addr string) (net.Listener, error) {
	for range samePortTries - 1 {
		if addr != "" {
			break
		}
		if ln, err := s.listen("proxy", localPort(DefaultProxyPort), false); err == nil {
			return ln, nil
		}
		if emutime.Pause(s.ctx, samePortTryPeriod) != nil {
			return nil, context.Cause(s.ctx)
		}
	}
	return s.listenNear("proxy", addr, DefaultProxyPort, portTries)
}

// listenNear listens on addr or, without one, on a port, the next ones up to a number of tries,
// or any free port. A note says where, except for SOCKS5: the contract names no port for it.
func (s *Server) listenNear(what, addr string, port, tries int) (ln net.Listener, err error) {
	if addr != "" {
		return s.listen(what, addr, s.remote)
	}
	for i := range tries {
		if ln, err = s.listen(what, localPort(port+i), false); err == nil {
			break
		}
	}
	if err != nil {
		ln, err = s.listen(what, "", false)
	}
	if err == nil && int(addrPort(ln).Port()) != port && port != DefaultSOCKSPort {
		s.note("port %d is taken; the %s listens on %d", port, what, addrPort(ln).Port())
	}
	return ln, err
}

func localPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// forLoopback answers only requests to names of this machine, and from its pages. A hostile
// page in a browser on this machine could make its name resolve to 127.0.0.1, or open a
// WebSocket to it, and use the demo keys, which are not secret, to fetch and read pages.
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

// ownOrigin reports whether an Origin belongs to this machine. Parts of the browser, such as
// its developer tools, have other schemes than web pages.
func ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme != "" && (guard.Own(u.Host) || u.Scheme != "http" && u.Scheme != "https")
}
