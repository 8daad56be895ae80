package emulator

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"zonedeck/service/emulator/answer"
	emutime "zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/state"
)

// clockOffset stores the offset of the clock under clockName, like "36h0m0s"; firstStart the
// moment of the folder's first start, by the emulator's clock, under firstStartName.
const (
	clockOffset    = state.Table[string]("settings")
	clockName      = "clock"
	firstStart     = state.Table[time.Time]("settings")
	firstStartName = "first start"
)

// maxPeek bounds how much of a body is read to find the zone of a call.
const maxPeek = 64 << 10

// rehearsal is what clients rehearse with: a movable clock, faults, and the request journal.
type rehearsal struct {
	clock    *emutime.Clock
	moving   sync.Mutex // held until a move is on disk
	faults   *fault.Engine
	requests *record.Journal
}

// openRehearsal replaces the machine's clock with the movable one.
func (s *Server) openRehearsal() (err error) {
	r := &s.rehearsal
	if r.clock, err = emutime.New(s.now, s.scenario.ClockStart); err != nil {
		return fmt.Errorf("starting the clock: %w", err)
	}
	if err := s.restoreClock(); err != nil {
		return err
	}
	s.now = r.clock.Now
	r.faults = fault.New(fault.Config{Seed: s.scenario.Seed, Now: s.now})
	if _, err := r.faults.Add(s.scenario.Faults...); err != nil {
		return fmt.Errorf("taking the scenario's faults: %w", err)
	}
	r.requests = record.New(record.Config{Now: s.now, Secrets: func() []string { return s.account.Secrets() }})
	return nil
}

// restoreClock continues with the offset of the last run. A scenario's start time counts at
// its first start only, because the clock would go back otherwise.
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

// firstStarted is the moment of the folder's first start; this one, if it keeps none.
func (s *Server) firstStarted() (time.Time, error) {
	first, kept, err := firstStart.Get(s.state, firstStartName)
	if err != nil || kept {
		return first, err
	}
	first = s.now().UTC()
	return first, s.state.Update(func(tx *state.Tx) error { return firstStart.Put(tx, firstStartName, first) })
}

// moveClock moves the clock and stores the offset.
func (s *Server) moveClock(move func() (time.Time, error)) (time.Time, error) {
	s.rehearsal.moving.Lock() // stores moves in their order
	defer s.rehearsal.moving.Unlock()
	now, err := move()
	if err != nil {
		return time.Time{}, err
	}
	if err := s.keepClock(); err != nil {
		return time.Time{}, fmt.Errorf("keeping the clock: %w", err)
	}
	// Waiters with a timer of the machine's clock check again.
	s.jobs.Wake()
	s.deliver.Wake()
	return now, nil
}

// Follow calls each for every request that has ended, from the oldest in the journal, until
// ctx or the server ends. Secrets are masked. It returns each's error, or that of the end.
func (s *Server) Follow(ctx context.Context, each func(e *record.Entry, lost uint64) error) error {
	return s.rehearsal.requests.Follow(ctx, record.Query{}, each)
}

// Ahead returns the offset of the emulator's clock.
func (s *Server) Ahead() time.Duration { return s.rehearsal.clock.Offset() }

// rehearsed puts the journal and faults in front of the API.
func (s *Server) rehearsed(next http.Handler) http.Handler {
	return s.rehearsal.requests.Handler("api", fault.Web{
		Engine: s.rehearsal.faults, Point: fault.API, Call: s.apiCall,
		Refuse: func(w http.ResponseWriter, r *http.Request, refused answer.Refusal) {
			if fetches(r.URL.Path) {
				answer.RefuseInside(w, refused)
				return
			}
			answer.Refuse(w, refused)
		},
	}.Handler(next))
}

// fetches reports whether the answers of a path have an inner status.
func fetches(path string) bool {
	return slices.Contains([]string{"/request", "/unblocker/req", "/serp/req"}, path)
}

// apiCall describes a request to the API for the rules. It finds zone and target host in the
// query or in the body's first bytes.
func (s *Server) apiCall(r *http.Request) fault.Call {
	c := fault.Call{Path: r.URL.Path, Method: r.Method}
	q := r.URL.Query()
	c.Zone, c.Dataset = q.Get("zone"), q.Get("dataset_id")
	target := q.Get("url")
	if fetches(r.URL.Path) && r.Method == http.MethodPost && r.Body != nil {
		// The text may be cut, and the handler refuses what is not JSON.
		body := gjson.ParseBytes(peek(r))
		c.Zone, target = cmp.Or(body.Get("zone").Str, c.Zone), body.Get("url").Str
	}
	c.Host = callTo(fault.API, target).Host
	if z, err := s.account.Zone(c.Zone); err == nil {
		c.Product = z.Product
	}
	return c
}

// peek reads the beginning of a body and puts it back, under the same deadline as the
// handler.
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

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// textSuspended is the progress of a job whose account is suspended (public documentation).
const textSuspended = "Account is suspended"

// jobFault is called before every input of a job. Jobs of a suspended account fetch nothing.
func (s *Server) jobFault(ctx context.Context, dataset, target string) error {
	if s.account.Suspended() {
		return &jobs.FailedError{Message: textSuspended}
	}
	e := s.rehearsal.faults
	if !e.Active(fault.Job) {
		return nil
	}
	c := callTo(fault.Job, target)
	c.Dataset = dataset
	v := e.Decide(c)
	if err := emutime.Pause(ctx, v.Delay); err != nil {
		return err
	}
	switch v.Do.Kind {
	case fault.Code:
		refused := v.Do.Refusal()
		return &jobs.FetchError{Code: refused.Code, Reason: refused.Msg}
	case fault.Fail:
		return &jobs.FailedError{Message: cmp.Or(v.Do.Message, "Something went wrong. Our team is looking into it.")}
	default: // a latency was already waited for
		return nil
	}
}

// webhookFault is called before every attempt at a webhook.
func (s *Server) webhookFault(d deliver.Delivery) deliver.Fault {
	e := s.rehearsal.faults
	if !e.Active(fault.Webhook) {
		return deliver.Fault{}
	}
	v := e.Decide(callTo(fault.Webhook, d.Message.URL))
	return deliver.Fault{Delay: v.Delay, Copies: int(v.Do.Copies), Never: v.Do.Kind == fault.Never, Status: v.Do.Status}
}

// callTo describes a call to an address.
func callTo(p fault.Point, address string) fault.Call {
	u, err := url.Parse(address)
	if err != nil {
		u = &url.URL{}
	}
	return fault.Call{Point: p, Host: strings.ToLower(u.Hostname()), Path: u.Path}
}
