package emulator

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/ca"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fetch"
	"zonedeck/service/emulator/index"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/native"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
)

const (
	// DefaultProxyPort is the port of native access (service.md 4.3).
	DefaultProxyPort = 33335

	maxConns          = 4096 // per listener
	maxHeaderBytes    = 64 << 10
	headerTimeout     = 10 * time.Second
	keepAliveTimeout  = 2 * time.Minute
	portTries         = 64
	samePortTries     = 4
	shutdownGrace     = 250 * time.Millisecond
	samePortTryPeriod = 5 * time.Millisecond
)

// ErrStateInUse means that another process owns the state folder.
var ErrStateInUse = state.ErrInUse

// Options say how to start. The zero value is an emulator of the demo account, in a
// temporary folder, on free ports (the proxy on 33335 where that is free).
type Options struct {
	// StateDir is made with 0700 and owned by one process; empty keeps the state in a
	// temporary folder that is removed by Shutdown.
	StateDir string
	// Addresses to listen on. Empty is 127.0.0.1 with any free port, for the proxy
	// 33335 or the next one that is free. Only loopback addresses are taken.
	APIAddr, ProxyAddr, LabAddr, ControlAddr string
	// Now is the clock of keys, sessions and jobs; nil is time.Now.
	Now func() time.Time
	// Scenario is the account to play; nil is [scenario.Demo].
	Scenario *scenario.Scenario
	// Log receives what went wrong inside; nil discards. Secrets never reach it.
	Log *slog.Logger
}

// Server is a running emulator.
type Server struct {
	scenario *scenario.Scenario
	log      *slog.Logger
	now      func() time.Time
	state    *state.Dir
	account  *account.Account
	meter    *meter.Meter
	ca       *ca.Authority
	dialer   *exits.Dialer
	way      route.Router
	fetch    *fetch.Fetcher
	proxy    *native.Proxy
	jobs     *jobs.Engine
	deliver  *deliver.Engine
	index    *index.Service

	controlToken string
	ready        Ready // what does not change after the start

	ctx       context.Context // ends with the server
	cancel    context.CancelFunc
	listeners []net.Listener
	http      []*http.Server
	wg        sync.WaitGroup

	once  sync.Once
	ended error
}

// Start opens the state, listens on all ports and returns once they accept. Errors:
// [ErrStateInUse] when another process owns the folder, and what the state or the
// listeners gave. Cancelling ctx stops the work; Shutdown still has to be called.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{scenario: o.Scenario, log: o.Log, now: o.Now}
	if s.scenario == nil {
		s.scenario = scenario.Demo()
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			// The start's own error is the one to report.
			_ = s.Shutdown(context.WithoutCancel(ctx))
		}
	}()
	if err := s.openAll(o); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) openAll(o Options) (err error) {
	if s.state, err = state.Open(o.StateDir, s.now); err != nil {
		return err
	}
	if s.account, err = account.Open(s.scenario, s.state, s.now); err != nil {
		return err
	}
	if s.meter, err = meter.Open(meter.Config{State: s.state, Now: s.now, Log: s.log}); err != nil {
		return err
	}
	if s.ca, err = ca.Open(s.state); err != nil {
		return err
	}
	s.controlToken = newToken()
	labLn, err := s.listen("lab", o.LabAddr)
	if err != nil {
		return err
	}
	apiLn, err := s.listen("API", o.APIAddr)
	if err != nil {
		return err
	}
	controlLn, err := s.listen("control", o.ControlAddr)
	if err != nil {
		return err
	}
	proxyLn, err := s.listenProxy(o.ProxyAddr)
	if err != nil {
		return err
	}
	labAddr := labLn.Addr().(*net.TCPAddr).AddrPort()
	s.dialer = exits.NewDialer(netip.AddrPortFrom(labAddr.Addr().Unmap(), labAddr.Port()), &tls.Config{RootCAs: s.ca.Pool()})
	s.way = route.Router{Pool: exits.NewPool(s.now), Dialer: s.dialer}
	s.fetch = fetch.New(fetch.Config{Account: s.account, Meter: s.meter, Route: s.way, Log: s.log})
	s.proxy = native.New(s.ctx, native.Config{Account: s.account, Meter: s.meter, Route: s.way, CA: s.ca, Log: s.log, NewServer: s.newHTTP})
	s.serveLab(labLn)
	if err := s.openJobs(); err != nil {
		return err
	}
	s.openIndex()
	s.fillReady(apiLn, proxyLn, labLn, controlLn)
	s.wg.Go(func() { s.served(s.proxy.Run()) })
	s.serve(apiLn, forLoopback(s.apiHandler()))
	s.serve(controlLn, forLoopback(s.controlHandler()))
	s.serve(proxyLn, s.proxy)
	return nil
}

func (s *Server) listen(what, addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	if err := loopbackOnly(addr); err != nil {
		return nil, fmt.Errorf("listening for the %s: %w", what, err)
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
		return s.listen("proxy", addr)
	}
	for i := range samePortTries {
		ln, err := s.listen("proxy", localPort(DefaultProxyPort))
		if err == nil {
			return ln, nil
		}
		if i < samePortTries-1 && !wait(s.ctx, samePortTryPeriod) {
			return nil, context.Cause(s.ctx)
		}
	}
	for port := DefaultProxyPort + 1; port < DefaultProxyPort+portTries; port++ {
		ln, err := s.listen("proxy", localPort(port))
		if err == nil {
			s.note("port %d is taken; the proxy listens on %d", DefaultProxyPort, port)
			return ln, nil
		}
	}
	ln, err := s.listen("proxy", "")
	if err == nil {
		s.note("port %d is taken; the proxy listens on %d", DefaultProxyPort, ln.Addr().(*net.TCPAddr).Port)
	}
	return ln, err
}

func (s *Server) note(format string, args ...any) {
	s.ready.Notes = append(s.ready.Notes, fmt.Sprintf(format, args...))
}

func localPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func loopbackOnly(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return fmt.Errorf("%q is not a loopback address", addr)
	}
	return nil
}

// forLoopback answers only to names of this machine. A web page in a browser on it
// can make its own name resolve to 127.0.0.1, and the demo keys are no secret: such
// a page could have this machine fetch for it and read the answers.
func forLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		ip, err := netip.ParseAddr(host)
		if host != "" && host != "localhost" && (err != nil || !ip.IsLoopback()) {
			answer.Text(w, http.StatusMisdirectedRequest, answer.BasisControl, "the local emulator answers to localhost and loopback addresses only")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Server) newHTTP(h http.Handler) *http.Server {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       keepAliveTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// "OPTIONS *" goes through the handler and its login like everything else.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return s.ctx },
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.http = append(s.http, srv)
	return srv
}

func (s *Server) serve(ln net.Listener, h http.Handler) {
	srv := s.newHTTP(h)
	s.wg.Go(func() { s.served(srv.Serve(newLimitListener(ln, maxConns))) })
}

// serveLab serves http and https on the one port of the lab.
func (s *Server) serveLab(ln net.Listener) {
	plain, secure, waitSplit := lab.Split(newLimitListener(ln, maxConns))
	h := lab.Handler()
	http1, https := s.newHTTP(h), s.newHTTP(h)
	https.TLSConfig = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return s.ca.Leaf(exits.LabHost)
	}}
	s.wg.Go(func() { s.served(http1.Serve(plain)) })
	s.wg.Go(func() { s.served(https.ServeTLS(secure, "", "")) })
	s.wg.Go(waitSplit)
}

func (s *Server) served(err error) {
	if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		s.log.Error("a listener ended", "error", err)
	}
}

// Shutdown stops accepting, ends what runs, waits for every goroutine and gives the
// state folder back. Unfinished jobs go on at the next start. Connections that are
// still open when ctx ends, or after a short grace, are cut.
func (s *Server) Shutdown(ctx context.Context) error {
	s.once.Do(func() { s.ended = s.shutdown(ctx) })
	return s.ended
}

func (s *Server) shutdown(ctx context.Context) error {
	s.cancel()
	if s.proxy != nil {
		s.proxy.CloseTunnels()
	}
	var errs []error
	if s.dialer != nil {
		s.dialer.Close() // or the lab would wait for these connections
	}
	// Handlers end with s.ctx; what is left after the grace are silent connections.
	ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
	defer cancel()
	for _, srv := range s.http {
		if srv.Shutdown(ctx) != nil {
			errs = append(errs, srv.Close())
		}
	}
	for _, ln := range s.listeners {
		ln.Close() // those that were never served; the others are closed already
	}
	s.wg.Wait()
	if s.index != nil {
		s.index.Close()
	}
	if s.jobs != nil {
		errs = append(errs, s.jobs.Close())
	}
	if s.deliver != nil {
		errs = append(errs, s.deliver.Close())
	}
	if s.dialer != nil {
		s.dialer.Close()
	}
	errs = append(errs, s.meter.Close())
	if s.state != nil {
		errs = append(errs, s.state.Close())
	}
	return errors.Join(errs...)
}

func (s *Server) fillReady(api, proxy, labLn, control net.Listener) {
	s.ready.SchemaVersion = 1
	s.ready.API = "http://" + api.Addr().String()
	s.ready.Proxy = proxy.Addr().String()
	s.ready.Lab = "http://" + exits.LabHost
	s.ready.LabDirect = "http://" + labLn.Addr().String()
	s.ready.Control = "http://" + control.Addr().String()
	s.ready.ControlToken = s.controlToken
	s.ready.CA = s.state.Path(ca.CertFile)
	s.ready.CAPEM = string(s.ca.PEM)
	s.ready.Account = s.account.ID
	s.ready.UsernamePrefix = s.account.Prefix
	s.ready.PID = os.Getpid()
	s.ready.Notes = append(s.ready.Notes, s.state.Notes()...)
	s.ready.Notes = append(s.ready.Notes, s.jobs.Notes()...)
	s.ready.Notes = append(s.ready.Notes, s.deliver.Notes()...)
}

func newToken() string {
	b := make([]byte, 24)
	rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}
