package emulator

import (
	"net"
	"net/http"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/native"
	"zonedeck/service/emulator/record"
)

// nativeHooks connects native access to the account, the faults and the journal.
func (s *Server) nativeHooks() native.Hooks {
	return native.Hooks{
		Admit:  func(v *native.Visit) *answer.Refusal { return s.account.Admit(v.Zone.Name, v.Client.Addr(), v.Host) },
		Around: s.aroundVisit,
		Target: func(v *native.Visit, rt http.RoundTripper) http.RoundTripper { return s.targetFaults(v.Zone, rt) },
		Unlock: func(v *native.Visit, rt http.RoundTripper) http.RoundTripper {
			return s.fetch.Unlocker(v.Zone, v.Exit, v.Flags.Render, rt)
		},
		Conn: func(v *native.Visit, c net.Conn) net.Conn { return s.connFaults(v.Zone, v.Host, v.Method, c) },
		Done: s.visitDone,
	}
}

// aroundVisit records a visit and puts the proxy's faults in front of it.
func (s *Server) aroundVisit(v *native.Visit, next http.Handler) http.Handler {
	next = s.recordTunnel(v, next)
	next = s.proxyFaults(v.Zone, v.Host, next)
	recorded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record.Of(r.Context()).Set(func(e *record.Entry) {
			e.Zone, e.User = v.Zone.Name, v.User
			if v.Entry == native.EntryInner {
				e.Target = v.Target
			}
		})
		next.ServeHTTP(w, r)
	})
	if v.Entry == native.EntryInner {
		return s.rehearsal.requests.Handler("inner", recorded)
	}
	return recorded
}

// proxyFaults puts the faults at the proxy in front of a zone's call.
func (s *Server) proxyFaults(z account.Zone, host string, next http.Handler) http.Handler {
	return fault.Web{Engine: s.rehearsal.faults, Point: fault.Proxy, Call: func(r *http.Request) fault.Call {
		return fault.Call{Zone: z.Name, Product: z.Product, Host: strings.ToLower(host), Path: r.URL.Path, Method: r.Method}
	}}.Handler(next)
}

// recordTunnel records the 200 of a CONNECT, which is written to a hijacked connection that the
// journal does not see.
func (s *Server) recordTunnel(v *native.Visit, next http.Handler) http.Handler {
	if v.Method != http.MethodConnect {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := record.Of(r.Context())
		x.Set(func(e *record.Entry) { e.Status = http.StatusOK })
		s.rehearsal.tunnels.Store(v, x)
		defer s.rehearsal.tunnels.Delete(v)
		next.ServeHTTP(w, r)
	})
}

// visitDone records a tunnel's bytes, and SOCKS5 connections.
func (s *Server) visitDone(v *native.Visit, o native.Outcome) {
	if v.Entry == native.EntrySOCKS {
		x := s.rehearsal.requests.Begin(v.Began, "socks", v.Method, v.Target)
		x.Set(func(e *record.Entry) {
			e.Zone, e.User, e.Status, e.Code = v.Zone.Name, v.User, o.Status, o.Code
			e.BytesIn, e.BytesOut, e.Cut = o.Up, o.Down, o.Cut
		})
		x.End()
		return
	}
	if kept, ok := s.rehearsal.tunnels.LoadAndDelete(v); ok {
		kept.(*record.Exchange).Set(func(e *record.Entry) {
			e.BytesIn += o.Up
			e.BytesOut += o.Down
			e.Cut = e.Cut || o.Cut
		})
	}
}

// targetFaults wraps a transport in the faults between a zone and its targets.
func (s *Server) targetFaults(z account.Zone, rt http.RoundTripper) http.RoundTripper {
	return s.rehearsal.faults.Transport(fault.Call{Zone: z.Name, Product: z.Product}, rt)
}

// connFaults wraps a connection in the faults of its target. Faults that need to see the request
// (a status, a CAPTCHA) do nothing here.
func (s *Server) connFaults(z account.Zone, host, method string, c net.Conn) net.Conn {
	e := s.rehearsal.faults
	if !e.Active(fault.Target) {
		return c
	}
	return e.Decide(fault.Call{
		Point: fault.Target, Zone: z.Name, Product: z.Product, Host: strings.ToLower(host), Method: method,
	}).Conn(c)
}
