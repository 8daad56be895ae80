package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
)

// place is where an item is: its slice, and its number there.
type place struct{ slice, at int }

// trip is an item on its way to a result.
type trip struct {
	files.Item
	place
	line   files.Line // its result, as far as it is known
	host   string     // "" without rules
	way    int        // of the runner's ways
	before int        // tries by earlier ways
	failed map[int]int
	paid   int64 // reserved for the try in flight
}

// item sends one item, and again where that makes sense, until its verdict stands. ctx ends what was not sent yet, and
// sending what is in flight. It holds a slot of the runner, which it leaves while it waits. It reports whether the item
// was cut off: sent, and not answered.
func (r *runner) item(ctx, sending context.Context, at place, it files.Item) (cut bool) {
	row, err := rowOf(it.Line)
	if err != nil {
		r.fault(fmt.Errorf("item %d: %w", it.N+1, err))
		return false
	}
	t := &trip{Item: it, place: at, line: files.Line{N: it.N}, failed: map[int]int{}}
	if len(r.plan.Rules) > 0 {
		t.host = fetch.HostOf(model.ExpandVariables(r.plan.Request.URL, func(name string) string { v, _ := row(name); return v }))
	}
	for {
		if err := r.wait(ctx); err != nil {
			return false
		}
		if t.paid, err = r.pay(ctx); err != nil {
			return false
		}
		t.goBy(max(t.way, r.detours.wayOf(t.host)))
		result, sent, err := r.send(sending, t, row)
		if err != nil {
			return r.unsent(ctx, t, err, sent)
		}
		wait, committed, again := r.again(result, t)
		if !again {
			return !r.finish(result, t)
		}
		if err := r.rest(ctx, wait, committed); err != nil {
			return false
		}
	}
}

// goBy has the next try go by a way.
func (t *trip) goBy(way int) {
	if way != t.way {
		t.way, t.before, t.line.ByRule = way, t.line.Attempts, way
	}
}

// wait waits for the turn of the next try by the rates.
func (r *runner) wait(ctx context.Context) error {
	err := r.rate.Wait(ctx)
	if err == nil && r.keyRate != nil {
		err = r.keyRate.Wait(ctx)
	}
	return err
}

// send sends an item, which is marked once it has its slots. With an error, sent says that it may have been sent even so.
func (r *runner) send(sending context.Context, t *trip, row func(name string) (string, bool)) (result model.FetchResult, sent bool, err error) {
	result, err = r.ways[t.way].SendIn(sending, row, entrance{r, t}, func(e fetch.Event) { sent = sent || e.Phase == fetch.PhaseSending })
	return result, sent, err
}

// rest waits without a slot, and until what the last try cost is committed: the mark is the next one's.
func (r *runner) rest(ctx context.Context, wait time.Duration, committed <-chan struct{}) error {
	r.slots.leave()
	err := exchange.Pause(ctx, wait)
	select {
	case <-committed:
	case <-ctx.Done():
	}
	if err == nil {
		err = r.slots.take(ctx)
	}
	if err != nil { // whoever calls leaves one
		r.slots.enter()
	}
	return err
}

// again takes what came of a try, and says whether another one follows after a wait, and once this one is committed: by
// the same way, or at once by that of a rule.
func (r *runner) again(result model.FetchResult, t *trip) (wait time.Duration, committed <-chan struct{}, again bool) {
	d, line, fired := result.Diagnosis, &t.line, false
	if fetch.Unsent(result) {
		wait, again = max(d.RetryAfter, time.Second), true
	} else {
		line.Attempts++
		var way int
		if way, fired = r.detours.next(t.host, t.way, Failure{d.Class, d.Cause}, t.failed); way > t.way {
			t.goBy(way)
			again = true
		} else {
			wait, again = fetch.Again(d, line.Attempts-t.before, r.plan.Retries)
		}
		if again && line.Attempts == 1 {
			line.FirstClass = string(d.Class)
		}
		if dollars, priced := result.Cost(); priced {
			if line.Cost != nil {
				dollars += *line.Cost
			}
			line.Cost = &dollars
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fired {
		r.next.Tally.Add(store.Tally{Fired: map[int]int64{t.way: 1}})
	}
	if again {
		r.charge(result, t)
		r.next.repeated = append(r.next.repeated, t.place)
	}
	return wait, r.next.committed, again
}

// charge counts what a try cost. r.mu is held.
func (r *runner) charge(result model.FetchResult, t *trip) {
	dollars, priced := result.Cost()
	r.purse.settle(t.paid)
	r.next.Spent += billionths(dollars)
	if !priced && !fetch.Unsent(result) {
		r.next.Tally.Unpriced++
	}
}

// finish keeps the result of an item, and reports whether it could.
func (r *runner) finish(result model.FetchResult, t *trip) (kept bool) {
	d, body, line, at := result.Diagnosis, result.Body, t.line, t.place
	line.URL, line.Zone, line.Status, line.Bytes, line.MS = result.Request.URL, string(result.Request.Zone.Name), result.Status, body.Size, result.Timing.Total.Milliseconds()
	line.Class, line.Cause, line.Rule, line.Missing = string(d.Class), string(d.Cause), d.Rule, model.MissingFields(result.Fields)
	if !d.OK() {
		line.Summary = d.Summary
	}
	if line.FirstClass == line.Class {
		line.FirstClass = ""
	}
	if body.Cut {
		line.Error = fmt.Sprintf("the body was cut after %d bytes", body.Size)
	}
	bytes, err := takeBody(body)
	if err != nil {
		line.Error = "the body is lost: " + err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	line.Round = r.round
	if err = r.log.Append(&line, bytes); err != nil {
		r.unanswered(t)
		r.breakBy(err)
		return false
	}
	r.charge(result, t)            // with its line, so that no commit has one of the two
	if r.slices[at.slice] != nil { // or another worker has taken it over, and counts its own
		r.slices[at.slice][at.at] = store.Answered
		r.touch(at.slice)
		tally := &r.next.Tally
		if c := r.claims[at.slice]; c != nil {
			tally, c.Lines = &c.Tally, files.AppendLine(c.Lines, line)
		}
		tally.Count(resultOf(line))
	} else if r.store.Server != nil {
		r.next.Late = files.AppendLine(r.next.Late, line)
	}
	return true
}

// unanswered ends a try that was sent and has no answer that is kept: it may have cost all that it reserved. On one
// machine, whoever finds its mark counts that. r.mu is held.
func (r *runner) unanswered(t *trip) {
	r.purse.settle(t.paid)
	if r.store.Server != nil {
		r.next.Spent += t.paid
		r.next.Tally.Unconfirmed += t.paid
	}
}

// resultOf is what the tally counts of a line.
func resultOf(line files.Line) store.Result {
	return store.Result{
		Verdict: store.Verdict{Class: model.Class(line.Class), Cause: model.Cause(line.Cause)}, OK: model.Class(line.Class) == model.ClassOK,
		Total: time.Duration(line.MS) * time.Millisecond, Bytes: line.Bytes, Tries: line.Attempts, Host: fetch.HostOf(line.URL), Zone: line.Zone,
	}
}

// takeBody reads a body, and removes it from where a large one is kept; one that stays there is swept later.
func takeBody(b model.BodyRef) ([]byte, error) {
	if b.File == "" {
		return b.Bytes, nil
	}
	src, err := exchange.OpenBody(b)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	bytes, err := io.ReadAll(src)
	_ = os.Remove(b.File)
	return bytes, err
}

// unsent takes an item for which there is no result, and reports whether it may have been sent: then it stays marked.
func (r *runner) unsent(ctx context.Context, t *trip, err error, sent bool) (cut bool) {
	r.mu.Lock()
	if sent {
		defer r.mu.Unlock()
		r.unanswered(t)
		return true
	}
	r.purse.settle(t.paid)
	r.mu.Unlock()
	if errors.Is(err, store.ErrTaken) { // another worker has the slice
		return false
	}
	if err = errors.Join(err, r.stock.mark(ctx, t.place, 0)); ctx.Err() == nil {
		r.fault(err)
	}
	return false
}

// repeatable reports whether an item that may have been sent may be sent again without asking.
func (p Plan) repeatable() bool {
	switch strings.ToUpper(p.Request.Method) {
	case "", http.MethodGet, http.MethodHead:
		return true
	default:
		return false
	}
}

// purse is the money that a worker has reserved, so that the cap is never passed.
type purse struct {
	free    int64 // for tries to come
	paid    int64 // for tries in flight
	settled int64 // for tries that ended since the last commit, with which their cost counts
	flying  int   // tries in flight
}

// take pays for a try, if there is enough.
func (p *purse) take(price int64) bool {
	if p.free < price {
		return false
	}
	p.free -= price
	p.paid += price
	p.flying++
	return true
}

// settle ends a try.
func (p *purse) settle(paid int64) {
	p.flying--
	p.paid -= paid
	p.settled += paid
}

// reserved is what the worker holds of the cap.
func (p *purse) reserved() int64 { return p.free + p.paid + p.settled }

// pay takes the price of one try from the purse. It waits while other tries may leave some of the cap, also those of other
// workers, and ends the run where nothing is left.
func (r *runner) pay(ctx context.Context) (paid int64, err error) {
	r.paying.Lock() // one at a time: what one reserves, the others find
	defer r.paying.Unlock()
	for ctx.Err() == nil {
		price, committed, pays := r.payReserved()
		if pays {
			return price, nil
		}
		got, waits, err := r.reserve(context.WithoutCancel(ctx), price)
		switch {
		case err != nil:
			r.fault(err)
			return 0, err
		case got:
		case waits:
			select {
			case <-committed:
			case <-ctx.Done():
			}
		default:
			r.capped(ctx, price)
			return 0, errLeft
		}
	}
	return 0, context.Cause(ctx)
}

// payReserved takes the price of one try from the purse if it is there.
func (r *runner) payReserved() (price int64, committed <-chan struct{}, pays bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loseReserved()
	return r.price, r.next.committed, r.purse.take(r.price)
}

// reserve reserves for some tries. Where the cap leaves none, waits says that others may give some back.
func (r *runner) reserve(ctx context.Context, price int64) (got, waits bool, err error) {
	if r.store.Server != nil {
		if err := r.bury(ctx); err != nil {
			return false, false, err
		}
	}
	r.reserving.Lock()
	defer r.reserving.Unlock()
	more, before, err := r.store.Reserve(ctx, r.id, r.name, reserveTries*price, price)
	r.mu.Lock()
	defer r.mu.Unlock()
	waits = r.purse.reserved() > r.purse.free || before > r.purse.free
	r.purse.free += more
	return more > 0, waits, err
}

// bury settles what dead workers of a server have left, and gives the rest of what they reserved back.
func (r *runner) bury(ctx context.Context) error {
	return r.store.Bury(ctx, r.id, lane(r.id), r.plan.repeatable(), r.priceNow())
}

func (r *runner) priceNow() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.price
}

// reserveTries is for how many tries a worker reserves at once.
const reserveTries = 32

// capped ends the run because the next try could pass the cap.
func (r *runner) capped(ctx context.Context, price int64) {
	_, err := r.b.change(context.WithoutCancel(ctx), r.id, func(of *store.Batch) error {
		if of.State == store.Running {
			of.State, of.Reason = store.Capped, r.plan.capWords(*of, price)
		}
		return nil
	})
	r.fault(cmp.Or(err, errLeft))
}
