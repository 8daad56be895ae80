package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/pace"
)

// UsualRetries is the number of retries unless a request says otherwise: one per
// back-off of service.md 8.
const UsualRetries = 3

// backoff is the wait before attempt n+1: exactly the documented delays of service.md
// 8, and the last of them after the third. asked is the wait that the answer asked
// for; it takes precedence.
func backoff(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	delays := [...]time.Duration{1000 * time.Millisecond, 3000 * time.Millisecond, 5000 * time.Millisecond}
	return delays[min(max(n, 1), len(delays))-1]
}

// Again reports whether try n of a fetch, of which so many may be repeated, is followed by another one, and after which
// wait: see backoff. A wait that is longer than what is waited for ends the tries.
func Again(d model.Diagnosis, n, retries int) (wait time.Duration, again bool) {
	if !d.Retry || n > retries || d.RetryAfter > dialect.MaxWait {
		return 0, false
	}
	return backoff(n, d.RetryAfter), true
}

// Unsent reports whether nothing of a fetch was sent, because the pace or the breaker held it back.
func Unsent(r model.FetchResult) bool {
	return r.Diagnosis.Class == model.ClassTooFast && len(r.Attempts) == 1 && r.Attempts[0].Sent == 0
}

// The phases of a fetch, as events name them.
const (
	PhaseQueued    = "queued"    // waiting for a place among the product's fetches
	PhaseSending   = "sending"   // connecting, writing, waiting for the answer
	PhaseReceiving = "receiving" // the body arrives
	PhaseWaiting   = "waiting"   // backing off before the next attempt
	PhaseDone      = "done"
)

// Event reports the progress of a fetch.
type Event struct {
	Phase string
	// Attempt is the attempt in flight; in PhaseWaiting and PhaseDone it is the one
	// that ended, with its class.
	Attempt model.Attempt
	// Waiting is the back-off about to be taken, in PhaseWaiting.
	Waiting time.Duration
	// Reason is what it waits for in PhaseQueued, where that is the pace of its zone or host.
	Reason string
	// Bytes is how much of the body has arrived, in PhaseReceiving.
	Bytes int64
}

// flight is one fetch under way.
type flight struct {
	*setup
	r       model.FetchRequest
	id      string
	login   exchange.Login // by Native
	mask    exchange.Mask
	timeout time.Duration
	on      func(Event)
	// bodyCap lowers the client's cap on the body; 0 leaves it.
	bodyCap  int64
	attempts []model.Attempt // that ended
	begun    int             // attempts, the one under way included
	pace     string          // FetchResult.Pace
	inARow   int             // answers before that said too fast
	batch    bool            // others like it follow
	unpaced  bool
	slots    Slots
}

// Fetch sends one fetch and returns its result: class, evidence, body. It retries
// only where the diagnosis says that this makes sense, after the documented back-off
// or the wait that the answer asked for. on receives the progress on the calling
// goroutine; it may be nil.
//
// An error means that there is no result: the caller's context ended (its cause is
// returned), the request cannot be sent as it stands (RequestError), or the
// profile is not usable. Everything else is a result. The outcome is journalled.
func (ft *Fetcher) Fetch(ctx context.Context, r model.FetchRequest, on func(Event)) (model.FetchResult, error) {
	return ft.repeated(r).fetch(ctx, on)
}

// fetch sends the request of p as it stands, with its lines in the history.
func (p *Prepared) fetch(ctx context.Context, on func(Event)) (model.FetchResult, error) {
	ft := p.ft
	defer ft.cfg.Wire.Begin()()
	s, err := p.current(ctx)
	if err != nil {
		return model.FetchResult{}, err
	}
	f, err := s.flight(s.template, on)
	if err != nil {
		return model.FetchResult{}, err
	}
	if f.r.BodyFile != "" {
		if err := textfile.SweepFor(f.r.BodyFile); err != nil {
			ft.cfg.Log.Warn("a temporary file of a killed download stays", "error", err)
		}
	}
	started, began := ft.cfg.Now(), ft.cfg.Timer()
	landed := ft.depart(f, started)
	res, page, err := f.result(ctx, started)
	if err != nil {
		ft.keepCancelled(ctx, f, started, ft.cfg.Timer().Sub(began), err)
		landed()
		return model.FetchResult{}, err
	}
	if err := ft.cfg.Journal.PutFetch(context.WithoutCancel(ctx), f.p.Name, res); err != nil {
		ft.cfg.Log.Warn("a fetch was not kept", "id", res.ID, "error", err)
	}
	landed()
	if ft.cfg.Drift != nil && len(f.r.Required) > 0 {
		if err := ft.cfg.Drift.Fetched(context.WithoutCancel(ctx), f.p.Name, res, page); err != nil {
			ft.cfg.Log.Warn("what the required fields of a fetch show was not kept", "id", res.ID, "error", err)
		}
	}
	return res, nil
}

// result makes the attempts and counts what they cost. page is in which required fields were looked for.
func (f *flight) result(ctx context.Context, started time.Time) (res model.FetchResult, page []byte, err error) {
	t, d, err := f.run(ctx)
	if err != nil {
		return model.FetchResult{}, nil, err
	}
	if err := t.body.Keep(d.OK() && !t.body.Ref.Cut); err != nil {
		d.Evidence = append(d.Evidence, model.Evidence{Kind: "error", Text: fmt.Sprintf("the body stays in %s: %v", t.body.Ref.File, err)})
	}
	res = model.FetchResult{
		ID: f.id, Request: f.r, KeyName: f.key.Name, Started: started, Proves: f.ft.cfg.proves,
		Status: t.outcome.TargetStatus, ServiceStatus: t.outcome.ServiceStatus,
		Header: t.header, ProxyHeader: t.proxyHeader, ContentType: cmp.Or(t.kind, t.outcome.ContentType),
		Body: t.body.Ref, Fields: t.fields, Exit: t.exit, Timing: t.timing, Phases: t.phases, Chain: t.chain,
		Attempts: f.attempts, Diagnosis: d, Pace: f.pace,
	}
	f.scrub(&res)
	f.ft.cfg.Wire.Spend(res.Cost())
	return res, t.page, nil
}

// scrub masks a result once more, now that everything in it is decoded. The body was
// masked where it was kept.
func (f *flight) scrub(res *model.FetchResult) {
	f.mask.Header(res.Header)
	f.mask.Header(res.ProxyHeader)
	res.ContentType, res.Exit = f.mask.Text(res.ContentType), f.mask.Text(res.Exit)
	for i := range res.Fields {
		res.Fields[i].Value = f.mask.Text(res.Fields[i].Value)
	}
	res.Diagnosis = f.mask.Diagnosis(res.Diagnosis)
}

// run makes attempts until a diagnosis is final, or the next one is held back.
func (f *flight) run(ctx context.Context) (try, model.Diagnosis, error) {
	retries := f.r.Retries
	if retries < 0 {
		retries = UsualRetries
	}
	var wait time.Duration
	var before try // of which nothing is kept if another is sent
	var verdict model.Diagnosis
	for n := 1; ; n++ {
		t, d, err := f.attempt(ctx, wait)
		if err != nil {
			before.body.Discard()
			return try{}, model.Diagnosis{}, err
		}
		if n > 1 && t.held != nil {
			f.attempts = f.attempts[:len(f.attempts)-1]
			f.on(Event{Phase: PhaseDone, Attempt: f.attempts[len(f.attempts)-1]})
			return before, t.held.After(verdict), nil //nolint:nilerr // it is the verdict
		}
		before.body.Discard()
		last := f.attempts[len(f.attempts)-1]
		if d.Retry && n <= retries && d.RetryAfter > dialect.MaxWait {
			d.Evidence = append(d.Evidence, model.Evidence{Kind: "timing", Text: fmt.Sprintf("it was not tried again: the wait that the answer asks for is longer than %v; come back at %s",
				dialect.MaxWait, f.ft.cfg.Now().Add(d.RetryAfter).UTC().Format("2006-01-02 15:04 MST"))})
		}
		again := false
		if wait, again = Again(d, n, retries); !again {
			f.on(Event{Phase: PhaseDone, Attempt: last})
			return t, d, nil
		}
		before, verdict = t, d
		f.on(Event{Phase: PhaseWaiting, Attempt: last, Waiting: wait})
		if err := exchange.Pause(ctx, wait); err != nil {
			before.body.Discard()
			return try{}, model.Diagnosis{}, err
		}
	}
}

// attempt makes one attempt, and gives its verdict.
func (f *flight) attempt(ctx context.Context, wait time.Duration) (try, model.Diagnosis, error) {
	now := model.Attempt{N: len(f.attempts) + 1, Wait: wait}
	f.on(Event{Phase: PhaseQueued, Attempt: now})
	t, d, err := f.send(ctx, now)
	if err != nil {
		return try{}, model.Diagnosis{}, err
	}
	for range t.resent { // each broke off without an answer, and may have been billed
		lost := model.Diagnose(model.Outcome{Via: f.r.Via, Zone: f.r.Zone, Broke: model.BreakReset, Peer: exchange.PeerService})
		f.attempts = append(f.attempts, model.Attempt{N: now.N, Wait: now.Wait, Class: lost.Class, Cause: lost.Cause, Total: -1})
		now.N, now.Wait = now.N+1, 0
	}
	if t.timing.Total >= 0 {
		now.Sent = f.ft.cfg.Timer().Add(-t.timing.Total).UnixMicro()
	}
	now.Class, now.Cause, now.Status, now.Bytes, now.Total = d.Class, d.Cause, t.outcome.TargetStatus, t.body.Ref.Size, t.timing.Total
	now.Unanswered = t.outcome.Unanswered
	f.attempts = append(f.attempts, now)
	return t, d, nil
}

// send makes one try as soon as the product and the pace of zone and host have a place for it, and gives its verdict:
// also on one that is held back.
func (f *flight) send(ctx context.Context, now model.Attempt) (t try, d model.Diagnosis, err error) {
	var held *pace.TooFastError
	limiter := f.ft.cfg.Pace
	if f.unpaced {
		limiter = nil
	}
	lasting := ctx
	slot := func() (func(), error) { return f.ft.cfg.Wire.Enter(ctx, f.r.Zone.Product) }
	if product := slot; f.slots != nil {
		slot = func() (leave func(), err error) {
			lasting, leave, err = f.slots.Enter(ctx, product)
			return leave, err
		}
	}
	turn, leave, err := limiter.Enter(ctx, f.call(), slot,
		func(reason string) { f.on(Event{Phase: PhaseQueued, Attempt: now, Reason: reason}) })
	if errors.As(err, &held) {
		f.pace = held.Reason
		return try{timing: exchange.NoTiming(), held: held}, held.Diagnosis(), nil
	}
	if err != nil {
		return t, d, err
	}
	defer leave()
	var answer pace.Answer
	defer func() {
		if f.pace = turn.End(ctx, answer); f.pace == "" {
			return
		}
		at, kind := 0, "note"
		if !answer.TooFast && !d.OK() { // what failed comes first
			at, kind = len(d.Evidence), "timing"
		}
		d.Evidence = slices.Insert(d.Evidence, at, model.Evidence{Kind: kind, Text: f.pace})
	}()
	f.begun, f.inARow = now.N, turn.InARow
	f.on(Event{Phase: PhaseSending, Attempt: now})
	actx, cancel := context.WithTimeoutCause(lasting, f.timeout, exchange.ErrTimeout)
	defer cancel()
	switch f.r.Via {
	case model.ViaNative:
		t, err = f.tryNative(actx, now)
	case model.ViaAgent:
		t, err = f.tryAgent(actx, now)
	case model.ViaBrowser:
		t, err = f.tryBrowser(actx, now)
	default:
		t, err = f.tryAPI(actx, now)
	}
	switch {
	case errors.As(err, &held):
		t.held, d, err = held, held.Diagnosis(), nil
		return t, d, err
	case err == nil && lasting.Err() != nil: // the caller left while the body arrived
		t.body.Discard()
		err = context.Cause(lasting)
	}
	if err == nil {
		d = f.verdict(&t)
		answer = answerOf(d, t.outcome)
	}
	return t, d, err
}

// call is what the pace of zone and host counts.
func (f *flight) call() pace.Call {
	return pace.Call{Profile: f.p.Name, Zone: string(f.r.Zone.Name), Host: HostOf(f.r.URL), Timeout: f.timeout, Cap: int(exchange.LimitOf(f.r.Zone.Product).Concurrency), Batch: f.batch}
}

// HostOf is the host of a target's address, with its port; "" where it is none.
func HostOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(u.Host, "\ufffd") // a database takes no other text
}

// SafePace is how many of a request may be in flight at once, as the last probe of its zone and host found, and what it
// measured and when; 0 where there was none.
func (ft *Fetcher) SafePace(ctx context.Context, profile string, r model.FetchRequest) (atOnce int, probed string) {
	found, ok := ft.cfg.Pace.Safe(ctx, pace.Call{Profile: profile, Zone: string(r.Zone.Name), Host: HostOf(r.URL)})
	if !ok {
		return 0, ""
	}
	return found.AtOnce, found.Words + ", probed " + found.At.Local().Format("2006-01-02 15:04")
}

// answerOf is what a verdict means for the pace.
func answerOf(d model.Diagnosis, o model.Outcome) pace.Answer {
	a := pace.Answer{TooFast: d.Class == model.ClassTooFast, ByService: d.ByService, RetryAfter: o.RetryAfter}
	a.Fruitless = d.Class == model.ClassCaptcha || d.Class == model.ClassTimeout
	a.Good = !a.TooFast && !a.Fruitless && (d.OK() || o.TargetStatus != 0)
	return a
}

// AnswerOf is what a result means for a pace.
func AnswerOf(r model.FetchResult) pace.Answer {
	a := answerOf(r.Diagnosis, model.Outcome{TargetStatus: r.Status, RetryAfter: r.Diagnosis.RetryAfter})
	a.TooFast = a.TooFast && !Unsent(r)
	return a
}

// depart writes down that a fetch is about to be sent: if this process is killed meanwhile, the next
// one says so. landed is called when the history has what came of it.
func (ft *Fetcher) depart(f *flight, started time.Time) (landed func()) {
	landed, err := ft.cfg.Journal.Depart(f.id, ft.line(f, started))
	if err != nil {
		ft.cfg.Log.Warn("a fetch was not written down before it was sent", "id", f.id, "error", err)
	}
	return landed
}

// line is what a line of the timeline says of a fetch without a result.
func (ft *Fetcher) line(f *flight, started time.Time) model.HistoryEntry {
	a := model.HistoryEntry{
		At: started, Kind: model.HistoryFetch, Profile: f.p.Name, Zone: string(f.r.Zone.Name), URL: f.r.Summary(), Via: f.r.Via, Key: f.key.Name,
	}
	if ft.cfg.proves != "" {
		a.Source, a.Text = model.SourceRotation, "Proof for "+ft.cfg.proves+". "
	}
	return a
}

// keepCancelled writes a line into the timeline for a fetch without a result: what was
// sent before the cancellation may still be billed.
func (ft *Fetcher) keepCancelled(ctx context.Context, f *flight, started time.Time, elapsed time.Duration, cause error) {
	attempts := fmt.Sprintf("%d attempts", f.begun)
	if f.begun == 1 {
		attempts = "1 attempt"
	}
	a := ft.line(f, started)
	a.Total = elapsed
	a.Text += fmt.Sprintf("ended without a result after %s: %v", attempts, cause)
	if err := ft.cfg.Journal.PutEntry(context.WithoutCancel(ctx), a); err != nil {
		ft.cfg.Log.Warn("a cancelled fetch was not kept", "error", err)
	}
}
