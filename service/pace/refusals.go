package pace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"zonedeck/model"
)

// The breaker: public documentation of a service of this kind says that 25
// answers of HTTP 429 within five minutes block the caller's address on every
// API until a person lifts it. The console stops short of that.
const (
	MaxRefused = 20
	Window     = 5 * time.Minute
)

// blockWords say what many answers of HTTP 429 lead to, and who says so.
const blockWords = "25 answers of HTTP 429 within 5 minutes block the caller's address on every API until a person lifts it: " +
	"public documentation of a service of this kind says so; the contract asks to back off and shows no limit (contract 7, 8)"

// TooFastError says that a call was held back, and was not sent.
type TooFastError struct {
	Rule   string // which rule held it back, as a diagnosis names it
	Reason string
	Wait   time.Duration // until the next call may go; 0 when that is not known
	notes  []model.Evidence
}

func (e *TooFastError) Error() string { return "held back: " + e.Reason + "; " + e.next() }

func (e *TooFastError) next() string {
	if e.Wait <= 0 {
		return "the next call may go when one of those under way has ended"
	}
	return "the next call may go in " + max(e.Wait.Round(time.Second), time.Second).String()
}

// Diagnosis is the verdict on a call that was held back.
func (e *TooFastError) Diagnosis() model.Diagnosis {
	return model.Diagnosis{
		Class: model.ClassTooFast, Rule: e.Rule,
		Summary:    "The console sent nothing: " + e.Reason + "; " + e.next() + ".",
		Evidence:   append([]model.Evidence{{Kind: "error", Text: e.Error()}}, e.notes...),
		Steps:      []model.Step{{Action: model.ActionSlowDown, Text: "lower the concurrency and back off", Documented: true}},
		RetryAfter: e.Wait,
	}
}

// After is the verdict on a try that was sent, whose next one was held back.
func (e *TooFastError) After(d model.Diagnosis) model.Diagnosis {
	d.Summary += " It was not sent again: " + e.Reason + "; " + e.next() + "."
	d.Evidence = slices.Concat(d.Evidence, e.Diagnosis().Evidence)
	d.RetryAfter = e.Wait
	return d
}

// Refusals counts the service's own 429 answers per address, for one process.
type Refusals struct {
	now func() time.Time
	mu  sync.Mutex
	at  map[string]*answers
}

// answers are those of one address.
type answers struct {
	refused []time.Time // within the window, oldest first, at most MaxRefused
	other   time.Time   // the last answer of another kind
	flying  int
	ended   chan struct{} // closed when a call ends
}

// NewRefusals counts by a clock.
func NewRefusals(now func() time.Time) *Refusals {
	return &Refusals{now: now, at: map[string]*answers{}}
}

func (r *Refusals) answers(addr string) *answers {
	a := r.at[addr]
	if a == nil {
		a = &answers{ended: make(chan struct{})}
		r.at[addr] = a
	}
	a.refused = recent(a.refused, r.now())
	return a
}

// recent are the moments within the window, of which the last MaxRefused count.
func recent(refused []time.Time, now time.Time) []time.Time {
	for len(refused) > 0 && !refused[0].After(now.Add(-Window)) {
		refused = refused[1:]
	}
	return refused[max(0, len(refused)-MaxRefused):]
}

// Enter lets a call to an address go. It waits as long as the calls in flight might use up what may be
// refused, and refuses with a *TooFastError once that is used up, or if the time of ctx ends meanwhile. end
// takes the status of the service's answer, 0 without one.
func (r *Refusals) Enter(ctx context.Context, addr string) (end func(status int), err error) {
	for {
		r.mu.Lock()
		a, now := r.answers(addr), r.now()
		ended, blocked := a.ended, usedUp(a.refused, a.other, a.flying, now)
		if blocked == nil {
			a.flying++
			r.mu.Unlock()
			return func(status int) { r.end(a, status) }, nil
		}
		r.mu.Unlock()
		if blocked.Wait > 0 {
			return nil, blocked
		}
		select {
		case <-ended:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, blocked
			}
			return nil, context.Cause(ctx)
		}
	}
}

// usedUp says that no more calls may go, because as many were refused as may be. Those in flight count, too, where
// many were, and as long as no other answer shows that the service has room.
func usedUp(refused []time.Time, other time.Time, flying int, now time.Time) *TooFastError {
	n := len(refused)
	room := n < refusedOften && now.Sub(other) < Window && (n == 0 || other.After(refused[n-1]))
	e := &TooFastError{Rule: "breaker", notes: []model.Evidence{{Kind: "note", Text: blockWords}}, Reason: fmt.Sprintf("the service answered HTTP 429 %d times within %d minutes, ", n, int(Window.Minutes()))}
	switch {
	case n >= MaxRefused:
		e.Reason += "and is said to block an address at 25"
		e.Wait = refused[n-MaxRefused].Add(Window).Sub(now)
	case n+flying >= MaxRefused && !room:
		e.Reason += fmt.Sprintf("and may answer so to %d calls under way", flying)
	default:
		return nil
	}
	return e
}

func (r *Refusals) end(a *answers, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.flying--
	close(a.ended)
	a.ended = make(chan struct{})
	switch status {
	case 0:
	case http.StatusTooManyRequests:
		a.refused = append(recent(a.refused, r.now()), r.now())
	default:
		a.other = r.now()
	}
}

// Notes are the notes on an answer of HTTP 429 from the service at addr: how many there were, and what many of them
// lead to.
func (r *Refusals) Notes(addr string) []model.Evidence {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.answers(addr).refused)
	return []model.Evidence{
		{Kind: "note", Text: fmt.Sprintf("answer %d of HTTP 429 from it to this run of zonedeck within %d minutes; at %d nothing more is sent for a while", n, int(Window.Minutes()), MaxRefused)},
		{Kind: "note", Text: blockWords},
	}
}
