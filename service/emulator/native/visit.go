package native

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/username"
)

// Entry says how a visit entered.
type Entry string

// The entries of native access.
const (
	entryProxy Entry = "proxy" // a plain request, or the CONNECT of a tunnel
	entryInner Entry = "inner" // a request inside a re-signed connection
	entrySOCKS Entry = "socks" // a SOCKS5 connection
	entryGuest Entry = "guest" // a request of a page in the emulator's browser
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

func (b *bill) countUp(n int) {
	c := b.call
	c.Up = int64(n)
	b.m.Record(c)
}

func (b *bill) countDown(n int) {
	c := b.call
	c.Down = int64(n)
	b.m.Record(c)
}

// Stage is a part of the emulator that sees and changes the traffic of native access. Its
// methods are called from many goroutines at once. [Pass] does nothing in each of them.
type Stage interface {
	// Admit may refuse an accepted login. It is called for every request and every CONNECT,
	// before anything is dialled.
	Admit(v *Visit) *answer.Refusal
	// Handler wraps the handler of a request or CONNECT, whose response goes to the client.
	// It is not called for SOCKS5.
	Handler(v *Visit, next http.Handler) http.Handler
	// Transport wraps the transport to the target of a request. An error that is an
	// [answer.Refusal] becomes the answer.
	Transport(v *Visit, next http.RoundTripper) http.RoundTripper
	// Conn wraps the target's connection of a tunnel.
	Conn(v *Visit, c net.Conn) net.Conn
	// Done is called once, at the end of every visit.
	Done(v *Visit, o Outcome)
}

// Pass is a stage that does nothing. Stages embed it for what they do not do.
type Pass struct{}

// Admit refuses nothing.
func (Pass) Admit(*Visit) *answer.Refusal { return nil }

// Handler returns next.
func (Pass) Handler(_ *Visit, next http.Handler) http.Handler { return next }

// Transport returns next.
func (Pass) Transport(_ *Visit, next http.RoundTripper) http.RoundTripper { return next }

// Conn returns c.
func (Pass) Conn(_ *Visit, c net.Conn) net.Conn { return c }

// Done does nothing.
func (Pass) Done(*Visit, Outcome) {}

// stages is the chain of a proxy: each wraps what the ones before it have wrapped.
type stages []Stage

// Admit returns the first refusal.
func (s stages) Admit(v *Visit) *answer.Refusal {
	for _, stage := range s {
		if refused := stage.Admit(v); refused != nil {
			return refused
		}
	}
	return nil
}

func (s stages) Handler(v *Visit, next http.Handler) http.Handler {
	for _, stage := range s {
		next = stage.Handler(v, next)
	}
	return next
}

func (s stages) Transport(v *Visit, next http.RoundTripper) http.RoundTripper {
	for _, stage := range s {
		next = stage.Transport(v, next)
	}
	return next
}

func (s stages) Conn(v *Visit, c net.Conn) net.Conn {
	for _, stage := range s {
		c = stage.Conn(v, c)
	}
	return c
}

func (s stages) Done(v *Visit, o Outcome) {
	for _, stage := range s {
		stage.Done(v, o)
	}
}

// Admission is the stage of an account: its suspension, and the lists and limits of its zones.
type Admission struct {
	Pass
	Account *account.Account
}

// Admit asks the account.
func (s Admission) Admit(v *Visit) *answer.Refusal {
	return s.Account.Admit(v.Zone.Name, v.Client.Addr(), v.Host)
}

// Faults is the stage of the faults at the proxy and at its targets.
type Faults struct {
	Pass
	Engine *fault.Engine
}

// Handler puts the faults at the proxy in front of next.
func (s Faults) Handler(v *Visit, next http.Handler) http.Handler {
	return s.Engine.Proxy(v.faultCall(), next)
}

// Transport puts the faults at the target in front of next.
func (s Faults) Transport(v *Visit, next http.RoundTripper) http.RoundTripper {
	return s.Engine.Transport(v.faultCall(), next)
}

// Conn puts the faults at the target on a connection.
func (s Faults) Conn(v *Visit, c net.Conn) net.Conn { return s.Engine.Conn(v.faultCall(), c) }

func (v *Visit) faultCall() fault.Call {
	return fault.Call{Zone: v.Zone.Name, Product: v.Zone.Product, Host: v.Host, Method: v.Method}
}

// Recording is the stage of the journal. The journal itself stands in front of the proxy; the
// stage adds what the visit knows, and begins an exchange for what does not come through there.
type Recording struct {
	Pass
	Journal *record.Journal
}

// Handler sets the visit's exchange before the connection is hijacked.
func (s Recording) Handler(v *Visit, next http.Handler) http.Handler {
	described := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.Record = record.FromContext(r.Context())
		v.Record.Set(func(e *record.Entry) {
			e.Zone, e.User = v.Zone.Name, v.User
			if v.Entry == entryInner {
				e.Target = v.Target
			}
		})
		next.ServeHTTP(w, r)
	})
	if v.Entry == entryInner {
		return s.Journal.Handler("inner", described)
	}
	return described
}

// Done records SOCKS5 connections, and what the journal does not see of a tunnel on a hijacked
// connection: its 200 and its bytes.
func (s Recording) Done(v *Visit, o Outcome) {
	switch {
	case v.Entry == entrySOCKS:
		x := s.Journal.Begin(v.Began, "socks", v.Method, v.Target)
		x.Set(func(e *record.Entry) {
			e.Zone, e.User, e.Status, e.Code = v.Zone.Name, v.User, o.Status, o.Code
			e.BytesIn, e.BytesOut, e.Cut = o.Up, o.Down, o.Cut
		})
		x.End()
	case v.Method == http.MethodConnect:
		v.Record.Set(func(e *record.Entry) {
			e.Status = http.StatusOK
			e.BytesIn += o.Up
			e.BytesOut += o.Down
			e.Cut = e.Cut || o.Cut
		})
	}
}
