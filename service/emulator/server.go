// Package emulator is the embedded local service: the HTTP API, the proxy for
// native access, the account settings and a small web site to fetch, as
// docs/service.md describes them, on loopback sockets.
//
// It serves people without an account, `zonedeck emulate`, and the tests. Only the
// wiring in ui/cli and tests import it, and it imports nothing of zonedeck: client and server
// share nothing but the protocol. What the contract calls "not shown" follows the public
// documentation of a service of this kind, or is an assumption; each answer's
// x-emulator-basis header tells which.
//
// A [Server] is safe for concurrent use; every goroutine it starts has ended when
// [Server.Shutdown] returns.
//
// docs/emulator.md lists what works, what differs and why, and what is missing. TestConformance
// compares that page with the tests and the route tables.
package emulator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/agent"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/ca"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/fetch"
	"zonedeck/service/emulator/guard"
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
	// defaultProxyPort is the port of native access (service.md 4.3).
	defaultProxyPort = 33335
	// defaultSOCKSPort is the port of SOCKS5 (public documentation).
	defaultSOCKSPort = 22228
	// defaultCDPPort is the port of the remote browser (public documentation).
	defaultCDPPort = 9222

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

// ClearState removes the state of an emulator that does not run; [ErrStateInUse] if one does.
func ClearState(dir string) error { return state.Clear(dir) }

// StateInUse reports whether a process owns the state folder.
func StateInUse(dir string) bool { return state.InUse(dir) }

// StateRefused is the error of a state that another build wrote and this one must not pass over; nil for any other.
func StateRefused(dir string) error { return state.Refused(dir) }

// Options configure an emulator. The zero value plays the demo account in a temporary folder,
// on free ports (the proxy on 33335 if that is free).
type Options struct {
	// StateDir is made with 0700 and used by one process at a time. Empty is a temporary
	// folder, which Shutdown removes.
	StateDir string
	// Addresses to listen on, only on loopback unless AllowRemote is set. Empty is
	// 127.0.0.1 with any free port; for the proxy 33335 or the next free one, for SOCKS5
	// 22228 or any free one, for the remote browser 9222 or any free one.
	APIAddr, ProxyAddr, SOCKSAddr, CDPAddr, LabAddr, ControlAddr string
	// AllowRemote permits other addresses for API, proxy, SOCKS5 and the remote browser.
	// Ready's notes warn of it. Lab and control stay on loopback.
	AllowRemote bool
	// AllowPrivate opens targets that are not public: hosts, addresses or ranges, each with
	// an optional port ([guard.Parse]). Ready's notes warn of it.
	AllowPrivate []string
	// LoopbackWebhooks lets webhooks go to loopback addresses: to a receiver of whoever runs
	// the emulator. Other targets there stay closed.
	LoopbackWebhooks bool
	// Now is the clock of keys, sessions and jobs; nil is time.Now.
	Now func() time.Time
	// Scenario is the account to play; nil is [scenario.Demo].
	Scenario *scenario.Scenario
	// Chromium is the program of the remote browser and of rendered pages; empty searches
	// PATH. It starts when it is first needed.
	Chromium string
	// Loose ignores unknown fields, with a note, instead of refusing them.
	Loose bool
	// Log receives internal errors, without secrets; nil discards them.
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
	loose    bool // ignores unknown fields
	remote   bool // permits addresses other than loopback
	dialer   *exits.Dialer
	way      route.Router
	webhooks route.Router // of webhooks
	browsers *browser.Browsers
	fetch    *fetch.Fetcher
	proxy    *native.Proxy
	jobs     *jobs.Engine
	deliver  *deliver.Engine
	index    *index.Service
	agents   *agent.Agent

	rehearsal rehearsal

	ready Ready // the part that does not change after the start

	ctx       context.Context // ends with the server
	cancel    context.CancelFunc
	listeners []net.Listener
	http      []*http.Server
	wg        sync.WaitGroup

	once  sync.Once
	ended error
}

// Start opens the state, listens on all ports and returns once they accept. It returns
// [ErrStateInUse] if another process uses the folder, or an error of the state or the
// listeners. Cancelling ctx stops the work; the caller still has to call Shutdown.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{
		scenario: cmp.Or(o.Scenario, scenario.Demo()), log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		now: o.Now, remote: o.AllowRemote, loose: o.Loose,
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			// The error of the start is the one to report.
			_ = s.Shutdown(context.WithoutCancel(ctx))
		}
	}()
	if err := s.openAll(o); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) openAll(o Options) (err error) {
	rules, err := guard.Parse(slices.Concat(o.AllowPrivate, s.scenario.AllowPrivate))
	if err != nil {
		return err
	}
	for _, n := range rules.Notes() {
		s.note("%s", n)
	}
	if s.state, err = state.Open(o.StateDir, s.now); err != nil {
		return err
	}
	if err := s.openRehearsal(); err != nil {
		return err
	}
	if s.ready.FirstStart, err = s.firstStarted(); err != nil {
		return err
	}
	if s.account, err = account.Open(s.scenario, s.state, s.now, s.ready.FirstStart); err != nil {
		return err
	}
	if s.meter, err = meter.Open(meter.Config{State: s.state, Now: s.now, Rate: s.rate, Log: s.log}); err != nil {
		return err
	}
	s.account.ChargeBy(func(zone string, from, to time.Time) float64 { return s.meter.Zone(zone, from, to).Dollars() })
	if s.ca, err = ca.Open(s.state); err != nil {
		return err
	}
	s.ready.ControlToken = rand.Text()
	ln, err := s.listenAll(o)
	if err != nil {
		return err
	}
	s.dialer = exits.NewDialer(addrPort(ln.lab), &tls.Config{RootCAs: s.ca.Pool()}, rules.Never(addrPort(ln.control)))
	s.dialer.UseLabFor(s.scenario.Hosts())
	s.way = route.Router{Pool: exits.NewPool(s.now), Dialer: s.dialer}
	if s.webhooks, err = s.webhookRouter(o, rules, addrPort(ln.lab), addrPort(ln.control)); err != nil {
		return err
	}
	s.openFetch(o.Chromium)
	s.proxy = native.New(s.ctx, native.Config{
		Account: s.account, Meter: s.meter, Route: s.way, CA: s.ca, Log: s.log, NewServer: s.newHTTP,
		Stages: []native.Stage{
			native.Admission{Account: s.account},
			native.Faults{Engine: s.rehearsal.faults},
			fetch.Unlocker{Fetcher: s.fetch},
			native.Recording{Journal: s.rehearsal.requests},
		},
	})
	if err = s.serveLab(ln.lab); err != nil {
		return err
	}
	// Unfinished fetches and jobs continue at once, and need the lab.
	if err = s.fetch.OpenLater(s.ctx, s.state); err != nil {
		return err
	}
	if err := s.openJobs(); err != nil {
		return err
	}
	if err := s.openIndex(); err != nil {
		return err
	}
	s.openAgents()
	s.fillReady(ln)
	s.wg.Go(func() { s.served(s.proxy.Run()) })
	api := s.apiHandler()
	if !s.remote {
		api = forLoopback(api)
	}
	s.serve(ln.api, s.rehearsed(api))
	s.serve(ln.control, forLoopback(s.controlHandler()))
	// Faults of the proxy apply after the login (native.Faults), when the zone is known.
	s.serve(ln.proxy, s.rehearsal.requests.Handler("proxy", s.proxy))
	s.wg.Go(func() { s.served(s.proxy.ServeSOCKS(newLimitListener(ln.socks))) })
	s.serveCDP(ln.cdp)
	return nil
}

// rate returns a zone's rate in the scenario, or its product's.
func (s *Server) rate(zone, product string) meter.Rate {
	for _, z := range s.scenario.Zones {
		if z.Name == zone && z.Rate != nil {
			return meter.Rate(*z.Rate)
		}
	}
	return meter.DefaultRate(product)
}

func (s *Server) note(format string, args ...any) {
	s.ready.Notes = append(s.ready.Notes, fmt.Sprintf(format, args...))
}

func (s *Server) newHTTP(h http.Handler) *http.Server {
	srv := &http.Server{
		Handler:           s.dated(answer.BoundBodies(h)),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       keepAliveTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         noteState,
		// "OPTIONS *" needs a login like other requests.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return s.ctx },
		ErrorLog:                     log.New(mishaps{s.log}, "", 0),
	}
	s.http = append(s.http, srv)
	return srv
}

// dated dates answers by the emulator's clock; net/http would do so by the machine's. What passes on a target's
// answer replaces the date by the target's.
func (s *Server) dated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.date(w)
		next.ServeHTTP(w, r)
	})
}

func (s *Server) date(w http.ResponseWriter) {
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
}

func (s *Server) serve(ln net.Listener, h http.Handler) {
	srv := s.newHTTP(h)
	s.wg.Go(func() { s.served(srv.Serve(newLimitListener(ln))) })
}

func (s *Server) served(err error) {
	if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		s.log.Error("a listener ended", "error", err)
	}
}

// Shutdown stops accepting, ends all work, waits for every goroutine and releases the state
// folder. Unfinished jobs continue at the next start. It cuts connections that are still
// open when ctx ends, or after a short grace.
func (s *Server) Shutdown(ctx context.Context) error {
	s.once.Do(func() { s.ended = s.shutdown(ctx) })
	return s.ended
}

func (s *Server) shutdown(ctx context.Context) error {
	s.cancel()
	if s.rehearsal.requests != nil {
		defer s.rehearsal.requests.Close() // after the last request has ended
	}
	if s.proxy != nil {
		s.proxy.CloseTunnels()
	}
	if s.agents != nil {
		s.agents.Close() // ends streams whose clients still listen
	}
	var errs []error
	s.closeDialers() // the lab would wait for their idle connections
	// Handlers end with s.ctx. After the grace only silent connections remain.
	ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
	defer cancel()
	for _, srv := range s.http {
		if srv.Shutdown(ctx) != nil {
			errs = append(errs, srv.Close())
		}
	}
	for _, ln := range s.listeners {
		ln.Close() // for listeners that were never served; the others are closed
	}
	s.wg.Wait()
	if s.index != nil {
		s.index.Close()
	}
	if s.fetch != nil { // and browsers
		s.fetch.Close()
		errs = append(errs, s.browsers.Close())
	}
	if s.jobs != nil {
		errs = append(errs, s.jobs.Close())
	}
	if s.deliver != nil {
		errs = append(errs, s.deliver.Close())
	}
	s.closeDialers()
	errs = append(errs, s.meter.Close())
	if s.state != nil {
		errs = append(errs, s.state.Close())
	}
	return errors.Join(errs...)
}

func (s *Server) fillReady(ln listeners) {
	s.ready.SchemaVersion = 1
	s.ready.API = "http://" + reached(ln.api)
	s.ready.Proxy = reached(ln.proxy)
	s.ready.SOCKS = reached(ln.socks)
	s.ready.CDP = "ws://" + reached(ln.cdp)
	s.ready.Lab = "http://" + exits.LabHost
	s.ready.LabDirect = "http://" + reached(ln.lab)
	s.ready.Control = "http://" + reached(ln.control)
	s.ready.CA = absolute(s.state.Path(ca.CertFile))
	s.ready.CAPEM = string(s.ca.PEM)
	s.ready.Account = s.account.ID
	s.ready.UsernamePrefix = s.account.Prefix
	s.ready.PID = os.Getpid()
	s.ready.Notes = append(s.ready.Notes, s.state.Notes()...)
}

// absolute makes a path independent of the working folder, for other processes.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// mishaps logs the messages of net/http: a panic of a handler as an error, and failed
// handshakes and lost clients for debugging.
type mishaps struct{ log *slog.Logger }

func (m mishaps) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	if bytes.Contains(b, []byte("panic serving")) {
		m.log.Error("a handler panicked", "error", text)
	} else {
		m.log.Debug(text)
	}
	return len(b), nil
}

// Ready is the object that `zonedeck emulate --json` prints: the emulator's addresses and the
// logins of the demo account.
type Ready struct {
	SchemaVersion int `json:"schema_version"`
	// API and Control are base URLs, Proxy and SOCKS host:port, for clients on this machine.
	API   string `json:"api" pattern:"^http://"`
	Proxy string `json:"proxy" pattern:":[0-9]+$"`
	SOCKS string `json:"socks" pattern:":[0-9]+$" jsonschema:"SOCKS5, host:port"`
	// CDP is the address for clients of the Chrome DevTools Protocol, ws://host:port. The
	// same port accepts wss.
	CDP string `json:"cdp" pattern:"^ws://.*:[0-9]+$" jsonschema:"where clients of the Chrome DevTools Protocol connect with a browser zone's login; the port takes wss too"`
	// Lab is the site's address through the emulator, LabDirect its loopback address.
	Lab       string `json:"lab"`
	LabDirect string `json:"lab_direct"`
	// CA is the absolute path of the certificate authority's PEM, CAPEM its content.
	CA             string         `json:"ca" jsonschema:"absolute path of the certificate authority's PEM file"`
	CAPEM          string         `json:"ca_pem"`
	Control        string         `json:"control" jsonschema:"address of the account-settings actions"`
	ControlToken   string         `json:"control_token"`
	Account        string         `json:"account" pattern:"^hl_"`
	UsernamePrefix string         `json:"username_prefix"`
	Keys           []account.Key  `json:"keys"`
	Zones          []account.Zone `json:"zones"`
	// FirstStart is when the state folder was first used, by the emulator's clock: the dates of
	// the scenario's keys count from it.
	FirstStart time.Time `json:"first_start" jsonschema:"when the state folder was first used, by the emulator's clock: the dates of the scenario's keys count from it"`
	Notes      []string  `json:"notes"`
	PID        int       `json:"pid"`
}

// Ready returns the emulator's addresses and its current keys and zones. Keys that were created
// or refreshed at run time have no value here, because a value is shown once. The default key
// of an account that begins without keys is shown the first time only.
func (s *Server) Ready() Ready {
	r := s.ready
	r.Notes = append([]string{}, slices.Clone(s.ready.Notes)...)
	r.Keys = s.account.HandOut()
	r.Zones = s.account.Zones()
	for i, z := range r.Zones {
		rate := s.rate(z.Name, z.Product)
		r.Zones[i].RatePer1000, r.Zones[i].RatePerGB = rate.Thousand, rate.GB
	}
	return r
}

const (
	// siteSecrets stores the lab's signing secret under siteName.
	siteSecrets = state.Table[[]byte]("settings")
	siteName    = "lab"
	// siteSecretBytes is the length of that secret.
	siteSecretBytes = 32
)

func (s *Server) serveLab(ln net.Listener) error {
	secret, err := s.siteSecret()
	if err != nil {
		return err
	}
	h := s.scenario.Site(lab.New(lab.Options{Now: s.now, Secret: secret, Origin: origin, Drifted: s.drifted}))
	s.serveBoth(ln, h, &tls.Config{NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if s.dialer.Serves(hello.ServerName) {
			return s.ca.Leaf(hello.ServerName)
		}
		return s.ca.Leaf(exits.LabHost)
	}})
	return nil
}

// serveBoth serves http and https on one port.
func (s *Server) serveBoth(ln net.Listener, h http.Handler, config *tls.Config) {
	srv, both := s.newHTTP(h), lab.Split(newLimitListener(ln), config)
	s.wg.Go(func() { s.served(srv.Serve(both)) })
}

// siteSecret returns the secret that the lab signs its challenges with. It is stored, so that a
// client's clearance survives a restart.
func (s *Server) siteSecret() ([]byte, error) {
	secret, _, err := siteSecrets.Get(s.state, siteName)
	if err != nil || len(secret) == siteSecretBytes {
		return secret, err
	}
	secret = make([]byte, siteSecretBytes)
	rand.Read(secret) // never fails (crypto/rand)
	return secret, s.state.Update(func(tx *state.Tx) error { return siteSecrets.Put(tx, siteName, secret) })
}

// origin returns what the lab knows about a visitor: the network and country of an exit.
func origin(a netip.Addr) lab.Origin {
	product, country, ok := exits.Where(a)
	if !ok {
		return lab.Origin{}
	}
	return lab.Origin{Country: country, Network: product}
}

// drifted reports whether the shop shows its changed markup. A fault sets the moment of the
// change, for requests of any kind, also through tunnels and the browser.
func (s *Server) drifted(r *http.Request) bool {
	e := s.rehearsal.faults
	if !e.Active(fault.Target) {
		return false
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	return e.Drifts(fault.Call{Host: host, Path: r.URL.Path, Method: r.Method})
}
