package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/pace"
)

// The bounds of a probe, where its draft says no other cap.
const (
	probeDollars = 0.25
	probeFetches = 200
	mostProbed   = 2000
	leastTried   = 20 // fetches at a level, or twice the level
	probeRefused = 5  // answers of 429 by the service that end it
)

// ProbePlan is a probe of a page: how many fetches of it may be in flight at once. Nothing was sent.
type ProbePlan struct {
	Request model.FetchRequest
	Fetches int     // at most
	Cost    float64 // dollars, at most; 0 where it is not known
	price   float64 // what one fetch costs at most
	limit   float64 // its cap in dollars
	Limit   int     // the product's
}

// Probed is what a probe found.
type Probed struct {
	Plan   ProbePlan
	Levels []ProbedLevel
	Safe   int // at once; 0 where none is
	// Wall is the least that is too many, and WallBy what happens there; 0 where it was not reached.
	Wall    int
	WallBy  string
	Sent    int
	Cost    float64
	Priced  bool
	Stopped string  // why it ended before it had found the wall; empty otherwise
	capped  bool    // that was its cap
	dearest float64 // what a fetch has cost at most
}

// ProbedLevel is what came of one level.
type ProbedLevel struct {
	pace.Trial

	Elapsed, P95 time.Duration // P95 is -1 without a good answer
	Cost         float64       // dollars
}

// PerSecond is how many good answers came in a second.
func (l ProbedLevel) PerSecond() float64 { return float64(l.Good) / max(l.Elapsed.Seconds(), 1e-9) }

// SafeLevel is the level that is safe.
func (p Probed) SafeLevel() (l ProbedLevel, ok bool) {
	i := slices.IndexFunc(p.Levels, func(l ProbedLevel) bool { return l.AtOnce == p.Safe })
	if i < 0 {
		return l, false
	}
	return p.Levels[i], true
}

// Words are what it found, in a line.
func (p Probed) Words() string {
	l, ok := p.SafeLevel()
	if !ok {
		if p.Wall > 0 {
			return fmt.Sprintf("no pace is safe: one at a time %s", p.WallBy)
		}
		return "no pace was found"
	}
	reason := "no wall was found"
	switch {
	case p.Wall > 0:
		reason = fmt.Sprintf("%d %s", p.Wall, p.WallBy)
	case p.Safe == p.Plan.Limit:
		reason = "the product's limit"
	}
	safe := "safe"
	if p.floor() {
		safe = "safe at least"
	}
	out := fmt.Sprintf("%s %d (%s), %.1f/s, p95 %.1f s", safe, l.AtOnce, reason, l.PerSecond(), l.P95.Seconds())
	if p.Priced && l.Good > 0 {
		out += ", " + model.SmallDollars(1000*l.Cost/float64(l.Good)) + " per 1,000"
	}
	return out
}

// floor reports whether the cap ended the probe before anything was too many: more may be safe.
func (p Probed) floor() bool { return p.capped && p.Wall == 0 }

// PlanProbe checks a probe. most is its cap in dollars, 0 for the usual one. Errors are a *model.RequestError.
func PlanProbe(k fetch.Known, d fetch.Draft, most float64) (p ProbePlan, err error) {
	if p.Request, err = d.Template(k); err != nil {
		return p, err
	}
	if names := p.Request.Variables(); len(names) > len(p.Request.Secrets) {
		return p, model.BadField("url", "a probe fetches one page: give a value for each {{name}}")
	}
	if p.Request.Retries = 0; p.Request.BodyLimit == 0 {
		p.Request.BodyLimit = fetch.UsualBody
	}
	plan := Plan{Request: p.Request}
	price, priced := fetch.UpperBound(p.Request)
	if priced {
		plan.Price = billionths(price)
	}
	if err := errors.Join(plan.problem(), plan.checkCap(billionths(most))); err != nil {
		return p, err
	}
	p.Limit, p.Fetches = int(exchange.LimitOf(p.Request.Zone.Product).Concurrency), probeFetches
	if most > 0 {
		p.Fetches = mostProbed
	} else {
		most = probeDollars
	}
	if priced && price > 0 {
		if each, _ := p.Request.Zone.Rate.Cost(1, 0); each > 0 {
			p.Fetches = min(p.Fetches, int(most/each))
		}
		p.Cost, p.price, p.limit = min(most, float64(p.Fetches)*price), price, most
	}
	return p, nil
}

// Probe makes the fetches of a plan: 1, 2, 4, 8, … at once until a level is too high by the rules of a pace, and then
// between the two until the number below is known. It keeps what it found: batches of the zone to that host begin there.
// on gets each level that ended; it may be nil. What was found before an error is returned with it.
func (b *Batches) Probe(ctx context.Context, p ProbePlan, on func(ProbedLevel)) (out Probed, err error) {
	out.Plan = p
	_, out.Priced = fetch.UpperBound(p.Request)
	prepared, err := b.Fetch.Prepare(ctx, p.Request)
	if err != nil {
		return out, err
	}
	defer prepared.Close()
	prepared.Unpaced = true
	byService := 0
	for level := 1; level > 0; level = out.next(level) {
		n := max(leastTried, 2*level)
		if out.Stopped = out.overCap(level, n); out.Stopped != "" {
			break
		}
		l, rest, err := out.try(ctx, prepared, level, n)
		out.Levels = append(out.Levels, l)
		if err != nil {
			return out, err
		}
		if on != nil {
			on(l)
		}
		byService += l.ByService
		switch wall := l.Wall(out.trials()); {
		case wall != "":
			out.Wall, out.WallBy = level, wall
		case out.capped:
			out.Stopped = out.capWords(n, level)
		case l.Good == 0:
			out.Stopped = fmt.Sprintf("none of %d fetches at %d at once was answered by the page", n, level)
		default:
			out.Safe = level
		}
		if byService >= probeRefused {
			out.Stopped = fmt.Sprintf("the service answered 429 %d times: 25 within five minutes are said to block an address", byService)
		}
		if out.Stopped != "" {
			break
		}
		if err := exchange.Pause(ctx, rest); err != nil {
			return out, err
		}
	}
	if out.Safe == 0 || out.floor() {
		return out, nil
	}
	return out, prepared.KeepSafe(ctx, pace.Safe{AtOnce: out.Safe, Words: out.Words(), At: b.Clock.Now()})
}

// cannotPay reports whether an amount passes the cap, but for rounding.
func (p ProbePlan) cannotPay(dollars float64) bool { return p.price > 0 && dollars > p.limit+1e-9 }

// overCap says that a level would likely pass the cap, by the dearest fetch until now, or is empty.
func (p *Probed) overCap(level, n int) string {
	least, _ := p.Plan.Request.Zone.Rate.Cost(1, 0)
	if p.Plan.cannotPay(p.Cost + float64(n)*max(least, p.dearest)) {
		p.capped = true
		return p.capWords(n, level)
	}
	if p.Sent+n > p.Plan.Fetches {
		p.capped = true
		return fmt.Sprintf("%d more fetches at %d at once would be more than %d", n, level, p.Plan.Fetches)
	}
	return ""
}

func (p *Probed) capWords(n, level int) string {
	words := fmt.Sprintf("%d more fetches at %d at once could pass the cap of %s, of which %s is spent", n, level, model.SmallDollars(p.Plan.limit), model.SmallDollars(p.Cost))
	if p.Plan.Request.Zone.Rate.PerGB > 0 {
		words += fmt.Sprintf(": one may cost %s, for a body of %d MB; a lower --max-body makes that less", model.SmallDollars(p.Plan.price), p.Plan.Request.BodyLimit/1_000_000)
	}
	return words
}

// next is the level to try after one; 0 when the wall is known.
func (p *Probed) next(level int) int {
	switch {
	case p.Wall == 0 && level == p.Plan.Limit, p.Wall > 0 && p.Wall-p.Safe <= 1:
		return 0
	case p.Wall == 0:
		return min(2*level, p.Plan.Limit)
	}
	return (p.Safe + p.Wall) / 2
}

func (p *Probed) trials() (trials []pace.Trial) {
	for _, l := range p.Levels {
		trials = append(trials, l.Trial)
	}
	return trials
}

// try makes the fetches of one level, fewer once it is known to be too high. rest is what a refusal asks to wait.
func (p *Probed) try(ctx context.Context, prepared *fetch.Prepared, level, n int) (l ProbedLevel, rest time.Duration, err error) {
	var mu sync.Mutex
	var times []time.Duration
	l.AtOnce, l.P95 = level, -1
	trials, flying := p.trials(), 0
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(level)
	for range n {
		g.Go(func() error {
			mu.Lock()
			p.capped = p.capped || p.Plan.cannotPay(p.Cost+float64(flying+1)*p.Plan.price)
			over := p.capped || l.Wall(trials) != ""
			if !over {
				flying++
			}
			mu.Unlock()
			if over || ctx.Err() != nil {
				return context.Cause(ctx)
			}
			result, err := prepared.Send(ctx, func(string) (string, bool) { return "", false }, nil)
			if err != nil {
				return err
			}
			if result.Body.File != "" {
				_, err = takeBody(result.Body)
			}
			mu.Lock()
			defer mu.Unlock()
			a := fetch.AnswerOf(result)
			l.Count(a)
			p.Sent++
			flying--
			dollars, _ := result.Cost()
			p.dearest = max(p.dearest, dollars)
			l.Cost, p.Cost = l.Cost+dollars, p.Cost+dollars
			if rest = max(rest, min(a.RetryAfter, pace.Window)); a.Good {
				times = append(times, result.Timing.Total)
			}
			return err
		})
	}
	err = g.Wait()
	l.Elapsed = time.Since(began)
	if slices.Sort(times); len(times) > 0 {
		l.P95 = times[(len(times)*95+99)/100-1]
	}
	return l, rest, err
}
