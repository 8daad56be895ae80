package native

import (
	"net/netip"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/username"
)

// Entry says how a visit entered.
type Entry string

// The entries of native access.
const (
	EntryProxy Entry = "proxy" // a plain request, or the CONNECT of a tunnel
	EntryInner Entry = "inner" // a request inside a re-signed connection
	EntrySOCKS Entry = "socks" // a SOCKS5 connection
	EntryGuest Entry = "guest" // a request of a page in the emulator's browser
)

// Visit is one request, tunnel or SOCKS5 connection whose login was accepted. Stages do not
// change it, but for Record.
type Visit struct {
	Entry Entry
	// ID is the req_id of x-brd-debug.
	ID string
	// User is the login name as sent; it contains no secret.
	User  string
	Zone  account.Zone
	Flags username.Flags
	Exit  exits.Exit
	// Client is the client's address.
	Client netip.AddrPort
	// Method is the request's, "CONNECT" for tunnels and SOCKS5.
	Method string
	// Host is the target without its port, Target the URL, or host:port of a tunnel.
	Host, Target string
	// Began is the start by the machine's clock, for durations.
	Began time.Time

	// Record is the journal's exchange, once [Recording] has seen the visit.
	Record *record.Exchange

	guest Guest // nil for clients of the proxy
}

// Outcome is how a visit ended.
type Outcome struct {
	// Status is the answer's; 200 for a tunnel that was opened. Code is the code of a refusal.
	Status int
	Code   string
	// Up and Down count the bytes of bodies, or of a tunnel, towards and from the target.
	Up, Down int64
	// Cut means that the answer or the tunnel broke off.
	Cut bool
}

// addrPortOf parses the address of a client. It returns the zero value for an invalid one.
func addrPortOf(s string) netip.AddrPort {
	ap, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// bill counts what one visit uses while it lasts. The zero value counts nothing. It is safe
// for concurrent use by both directions of a tunnel.
type bill struct {
	m    *meter.Meter
	call meter.Call
}

func (p *Proxy) bill(v *Visit, secure bool) bill {
	return bill{p.conf.Meter, meter.Call{Zone: v.Zone.Name, Product: v.Zone.Product, Host: v.Host, Secure: secure}}
}

// request counts the request itself, and the first bytes of its answer.
func (b *bill) request(billable bool, down int) {
	c := b.call
	c.Requests, c.Billable, c.Down = 1, billable, int64(down)
	b.m.Record(c)
}

func (b *bill) up(n int) {
	c := b.call
	c.Up = int64(n)
	b.m.Record(c)
}

func (b *bill) down(n int) {
	c := b.call
	c.Down = int64(n)
	b.m.Record(c)
}
