package emulator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/answer"
	emutime "zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/state"
)

// clockOffset keeps how far the clock was moved, as text like 36h0m0s, under clockName.
const (
	clockOffset = state.Table[string]("settings")
	clockName   = "clock"
)

// maxPeek bounds how much of a body is looked at to find out which zone a fault is about.
const maxPeek = 64 << 10

// rehearsal is what lets a client rehearse: time that moves, faults, and the journal of
// what it sent.
type rehearsal struct {
	clock    *emutime.Clock
	moving   sync.Mutex // one move at a time, through disk
	faults   *fault.Engine
	requests *record.Journal
	tunnels  sync.Map // *native.Visit -> *record.Exchange, while it is open
}

// openRehearsal puts the movable clock in the place of the machine's.
func (s *Server) openRehearsal() (err error) {
	r := &s.rehearsal
	if r.clock, err = emutime.New(s.now, s.scenario.ClockStart); err != nil {
		return fmt.Errorf("starting the clock: %w", err)
	}
	if err := s.restoreClock(); err != nil {
		return err
	}
	s.now = r.clock.Now
	r.faults = fault.New(fault.Config{
		Seed: s.scenario.Seed, Now: s.now,
		Hit: func(ctx context.Context, rules []string) { record.Of(ctx).Hit(rules...) },
	})
	if _, err := r.faults.Add(s.scenario.Faults...); err != nil {
		return fmt.Errorf("taking the scenario's faults: %w", err)
	}
	r.requests = record.New(record.Config{Now: s.now, Secrets: func() []string { return s.account.Secrets() }})
	return nil
}

// restoreClock goes on from where the last run's clock was. What a scenario begins with is
// kept at its first start: to begin anew with the next would turn the clock back.
func (s *Server) restoreClock() error {
	text, kept, err := clockOffset.Get(s.state, clockName)
	if err != nil {
		return err
	}
	if !kept {
		if s.rehearsal.clock.Offset() == 0 {
			return nil
		}
		if err := s.keepClock(); err != nil {
			s.state.Note(fmt.Sprintf("the clock begins anew at every start: %v", err))
		}
		return nil
	}
	offset, err := time.ParseDuration(text)
	if err == nil {
		err = s.rehearsal.clock.Restore(offset)
	}
	if err != nil {
		s.state.Note(fmt.Sprintf("the clock begins anew: its offset %q cannot be read: %v", text, err))
	}
	return nil
}

func (s *Server) keepClock() error {
	return s.state.Update(func(tx *state.Tx) error {
		return clockOffset.Put(tx, clockName, s.rehearsal.clock.Offset().String())
	})
}

// moveClock keeps every move before it is answered.
func (s *Server) moveClock(move func() (time.Time, error)) (time.Time, error) {
	s.rehearsal.moving.Lock() // or an earlier move could be kept last
	defer s.rehearsal.moving.Unlock()
	now, err := move()
	if err != nil {
		return time.Time{}, err
	}
	if err := s.keepClock(); err != nil {
		return time.Time{}, fmt.Errorf("keeping the clock: %w", err)
	}
	// Who waits for a moment with a timer of the machine's looks again.
	s.jobs.Wake()
	s.deliver.Wake()
	return now, nil
}

// Follow calls each for every request that ended, from the oldest that is known, until
// ctx or the server ends. Secrets are masked. The error is each's own, or says what
// ended.
func (s *Server) Follow(ctx context.Context, each func(e *record.Entry, lost uint64) error) error {
	return s.rehearsal.requests.Follow(ctx, record.Query{}, each)
}

// Ahead is how far the emulator's clock is ahead of the machine's.
func (s *Server) Ahead() time.Duration { return s.rehearsal.clock.Offset() }

// recordedProxy puts the journal in front of native access. Its faults come after the
// login (aroundVisit), when the zone is known.
func (s *Server) recordedProxy() http.Handler {
	return s.rehearsal.requests.Handler("proxy", s.proxy)
}

// rehearsed puts journal and faults in front of the API.
func (s *Server) rehearsed(next http.Handler) http.Handler {
	return s.rehearsal.requests.Handler("api", fault.Web{
		Engine: s.rehearsal.faults, Point: fault.API, Call: s.apiCall,
		Refuse: func(w http.ResponseWriter, r *http.Request, err *fault.RefusedError) {
			if fetches(r.URL.Path) {
				answer.RefuseInside(w, refusalOfFault(err))
				return
			}
			answer.Refuse(w, refusalOfFault(err))
		},
	}.Handler(next))
}

// fetches reports whether a path's answers have an inner status.
func fetches(path string) bool {
	return slices.Contains([]string{"/request", "/unblocker/req", "/serp/req"}, path)
}

func refusalOfFault(err *fault.RefusedError) answer.Refusal {
	return answer.NewRefusal(err.Status, err.Code, err.Msg, "assumption: a fault of the scenario")
}

// apiCall describes a request to the API for the rules: zone and target host lie in the
// query or in the body's first bytes, which are put back.
func (s *Server) apiCall(r *http.Request) fault.Call {
	c := fault.Call{Path: r.URL.Path, Method: r.Method}
	q := r.URL.Query()
	c.Zone, c.Dataset = q.Get("zone"), q.Get("dataset_id")
	target := q.Get("url")
	if fetches(r.URL.Path) && r.Method == http.MethodPost && r.Body != nil {
		body := texts(peek(r))
		if body["zone"] != "" {
			c.Zone = body["zone"]
		}
		target = body["url"]
	}
	if u, err := url.Parse(target); err == nil {
		c.Host = strings.ToLower(u.Hostname())
	}
	if z, err := s.account.Zone(c.Zone); err == nil {
		c.Product = z.Product
	}
	return c
}

// texts are the fields of a JSON object that are text, as far as it was read: a body may
// be cut. The handler refuses what is not JSON.
func texts(b []byte) map[string]string {
	out := map[string]string{}
	dec := json.NewDecoder(bytes.NewReader(b))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			break
		}
		var v any
		if dec.Decode(&v) != nil {
			break
		}
		if key, ok := name.(string); ok {
			out[key], _ = v.(string)
		}
	}
	return out
}

// peek reads the beginning of a body and puts it back. A client that stops sending gets
// no further than with the handler, which reads under a deadline of its own.
func peek(r *http.Request) []byte {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxPeek))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failing{err}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(b), rest), r.Body}
	return b
}

// failing gives the error that a body ended with.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// textSuspended is what progress says of a job of an account that was suspended (public
// documentation).
const textSuspended = "Account is suspended"

// jobFault is asked before every input of a job. A suspended account fetches nothing, by
// jobs either.
func (s *Server) jobFault(ctx context.Context, dataset, target string) error {
	if s.account.Suspended() {
		return &jobs.FailedError{Message: textSuspended}
	}
	e := s.rehearsal.faults
	if !e.Active(fault.Job) {
		return nil
	}
	c := fault.Call{Point: fault.Job, Dataset: dataset}
	if u, err := url.Parse(target); err == nil {
		c.Host, c.Path = strings.ToLower(u.Hostname()), u.Path
	}
	v := e.Decide(c)
	if err := emutime.Pause(ctx, v.Delay); err != nil {
		return err
	}
	if refused := v.Refused(); refused != nil {
		return &jobs.FetchError{Code: refused.Code, Reason: refused.Msg}
	}
	if v.Do.Kind == fault.Fail {
		return &jobs.FailedError{Message: cmp.Or(v.Do.Message, "Something went wrong. Our team is looking into it.")}
	}
	return nil
}

// webhookFault is asked before every attempt at a webhook.
func (s *Server) webhookFault(_ int, d deliver.Delivery) deliver.Fault {
	e := s.rehearsal.faults
	if !e.Active(fault.Webhook) {
		return deliver.Fault{}
	}
	c := fault.Call{Point: fault.Webhook}
	if u, err := url.Parse(d.Message.URL); err == nil {
		c.Host, c.Path = strings.ToLower(u.Hostname()), u.Path
	}
	v := e.Decide(c)
	f := deliver.Fault{Late: v.Delay}
	switch v.Do.Kind {
	case fault.Twice:
		f.Copies = int(v.Do.Copies)
	case fault.Never:
		f.Never = true
	case fault.Status:
		f.Status = v.Do.Status
	default: // late alone
	}
	return f
}

// ownHost is the host of a request or hello that the lab's listener serves: the lab, or
// a target of the scenario.
func (s *Server) ownHost(name string) string {
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if slices.Contains(s.scenario.Hosts(), name) {
		return name
	}
	return ""
}
