package native

import (
	"net"
	"net/http"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/record"
)

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
		v.Record = record.Of(r.Context())
		v.Record.Set(func(e *record.Entry) {
			e.Zone, e.User = v.Zone.Name, v.User
			if v.Entry == EntryInner {
				e.Target = v.Target
			}
		})
		next.ServeHTTP(w, r)
	})
	if v.Entry == EntryInner {
		return s.Journal.Handler("inner", described)
	}
	return described
}

// Done records SOCKS5 connections, and what the journal does not see of a tunnel on a hijacked
// connection: its 200 and its bytes.
func (s Recording) Done(v *Visit, o Outcome) {
	switch {
	case v.Entry == EntrySOCKS:
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
