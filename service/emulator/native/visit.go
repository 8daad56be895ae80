package native

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/username"
)

// Entry is the way by which a visit came in.
type Entry string

// The entries of native access.
const (
	// EntryProxy is a plain request, or the CONNECT of a tunnel.
	EntryProxy Entry = "proxy"
	// EntryInner is a request out of a re-signed connection.
	EntryInner Entry = "inner"
	// EntrySOCKS is a SOCKS5 connection.
	EntrySOCKS Entry = "socks"
	// EntryGuest is what a page of the emulator's own browser asks for.
	EntryGuest Entry = "guest"
)

// Visit is one request, tunnel or SOCKS5 connection whose login was accepted, as the
// hooks see it. Hooks must not change it.
type Visit struct {
	Entry Entry
	// ID is the req_id of x-brd-debug.
	ID string
	// User is the login name as it was sent; it holds no secret.
	User  string
	Zone  account.Zone
	Flags username.Flags
	Exit  exits.Exit
	// Client is who connected.
	Client netip.AddrPort
	// Method is the request's, "CONNECT" for tunnels of both kinds.
	Method string
	// Host is the target without port, Target its address (or host:port of a tunnel).
	Host, Target string
	// Began is on the machine's clock, for durations.
	Began time.Time

	guest Guest // nil for those who logged in
}

// Outcome is how a visit ended.
type Outcome struct {
	// Status is what the client was answered; 200 for a tunnel that was opened. Code is
	// the code of a refusal.
	Status int
	Code   string
	// Up and Down count the bytes of bodies, or of a tunnel, towards and from the target.
	Up, Down int64
	// Cut means that what was begun did not reach its end.
	Cut bool
}

// Hooks let other parts of the emulator see and change what passes. A nil hook does
// nothing. They are called from many goroutines at once.
type Hooks struct {
	// Admit has the last word on a login: lists of addresses and domains, limits. It is
	// asked for every request and every CONNECT, before anything is dialled.
	Admit func(*Visit) *answer.Refusal
	// Around stands before the handler of a request or CONNECT; what it does to the
	// response's writer reaches the client. It is not asked for SOCKS5.
	Around func(*Visit, http.Handler) http.Handler
	// Target stands before the way to the target of a request.
	Target func(*Visit, http.RoundTripper) http.RoundTripper
	// Unlock stands before that for zones of the unlocker, where the service sees what
	// it carries: plain requests and re-signed ones. An error that is an [answer.Refusal]
	// becomes the answer.
	Unlock func(*Visit, http.RoundTripper) http.RoundTripper
	// Conn stands before the target's connection of a tunnel.
	Conn func(*Visit, net.Conn) net.Conn
	// Done is told of every visit's end, once.
	Done func(*Visit, Outcome)
}

func (h *Hooks) admit(v *Visit) *answer.Refusal {
	if h.Admit == nil {
		return nil
	}
	return h.Admit(v)
}

func (h *Hooks) conn(v *Visit, c net.Conn) net.Conn {
	if h.Conn == nil {
		return c
	}
	return h.Conn(v, c)
}

func (h *Hooks) done(v *Visit, o Outcome) {
	if h.Done != nil {
		h.Done(v, o)
	}
}

// transport is the way of a request to its target.
func (h *Hooks) transport(v *Visit, rt http.RoundTripper) http.RoundTripper {
	if h.Target != nil {
		rt = h.Target(v, rt)
	}
	if h.Unlock != nil && v.Zone.Product == "unlocker" {
		rt = h.Unlock(v, rt)
	}
	return rt
}

// addrPortOf reads the address of a client, as net/http gives it or as a connection has it.
func addrPortOf(s string) netip.AddrPort {
	ap, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
