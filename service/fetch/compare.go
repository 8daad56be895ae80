package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// The bounds of looking into a refusal, beside the number of its fetches: how long one of them may take
// and, with the waiting for places among the product's fetches, all.
const (
	refusalFetchTime = time.Minute
	refusalTime      = 5 * time.Minute
)

// failuresInARow ends the calls that look for exits: what is refused again and again shows none.
const failuresInARow = 3

// errStopped is why a cell ends that StopCell has stopped.
var errStopped = errors.New("the cell was stopped")

// Compare makes the runs that the cells of a comparison lack, and returns it with what came of them. Each
// fetch has its own line in the history, and so has the comparison, but for that of a refusal.
//
//   - Cells of zones and of logins run side by side within the limits of products and keys. Their runs
//     follow each other, or overlap as the cell says. The error of one ends all unless g.KeepGoing.
//   - Those of a refusal follow each other, as Grid.Next says: each is billed.
//   - Calls through the proxy end early where the next one would only repeat a failure.
//
// on receives a cell whenever it changes, on the calling goroutine; it may be nil. A cell that cannot be
// sent as it stands has a Problem. An error is what ends a Fetch otherwise: the caller's context, a key
// that may not be used, a profile that is not usable. What came before it is returned with it.
func (ft *Fetcher) Compare(ctx context.Context, g model.Grid, on func(i int, c model.Cell)) (model.Grid, error) {
	defer ft.cfg.Wire.Begin()()
	g.Cells = slices.Clone(g.Cells)
	if g.ID == "" {
		g.ID = ft.newID("t")
	}
	if g.Kind != model.CompareZones {
		g.Started = ft.cfg.Now()
	}
	set := func(i int, c model.Cell) {
		g.Cells[i] = c
		if on != nil {
			on(i, c)
		}
	}
	var err error
	if g.Kind == model.CompareRefusal {
		err = ft.inOrder(ctx, &g, set)
	} else {
		err = ft.sideBySide(ctx, g, set)
	}
	return ft.keep(ctx, g, err), err
}

// StopCell stops the runs of one cell of a comparison that is under way. The others go on.
func (ft *Fetcher) StopCell(id string, cell int) { ft.stops.stop(id, cell) }

// sideBySide fills all cells at once.
func (ft *Fetcher) sideBySide(ctx context.Context, g model.Grid, on func(int, model.Cell)) error {
	fill := ft.fetchRuns
	if !g.OfZones() {
		fill = ft.callRuns
	}
	err := parallel(ctx, len(g.Cells), func(whole context.Context, i int, report func(model.Cell)) error {
		c := g.Cells[i]
		if c.Problem != "" && !g.OfZones() {
			return nil
		}
		ctx, done := ft.stops.begin(whole, g.ID, i)
		defer done()
		c.Problem, c.Cause, c.Active = "", nil, true
		report(c)
		c, err := fill(ctx, g, c, report)
		switch {
		case err == nil:
		case errors.Is(err, errStopped):
			c.Problem, err = cancelled(c), nil
		case !g.OfZones():
		case whole.Err() != nil:
			c.Problem = cancelled(c)
		default:
			if c.Problem, c.Cause = oneLine(err), err; g.KeepGoing || !endsAll(err) {
				err = nil
			}
		}
		c.Active = false
		report(c)
		return err
	}, on)
	for _, c := range g.Cells {
		if err == nil && c.Cause != nil && endsAll(c.Cause) {
			err = fmt.Errorf("%s was not sent: %w", c.Place(), c.Cause)
		}
	}
	return err
}

// endsAll reports whether what ended a cell is more than a request that cannot be sent as it stands.
func endsAll(err error) bool {
	return !errors.Is(err, model.ErrRequest) || errors.Is(err, model.ErrReadOnly)
}

// cancelled says that a cell was cancelled.
func cancelled(c model.Cell) string {
	if c.CutOff > 0 {
		return "cancelled: what was sent may have been billed"
	}
	return "cancelled"
}

// inOrder fills one cell after the other, as far as they can change the verdict.
func (ft *Fetcher) inOrder(ctx context.Context, g *model.Grid, on func(int, model.Cell)) error {
	whole, stop := context.WithTimeoutCause(ctx, refusalTime, exchange.ErrTimeout)
	defer stop()
	for i, ok := g.Next(); ok; i, ok = g.Next() {
		c := g.Cells[i]
		c.Active = true
		on(i, c)
		c, err := ft.fetchRuns(whole, *g, c, func(model.Cell) {})
		c.Active = false
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, model.ErrRequest):
			c.Problem = "cannot be sent: " + oneLine(err)
		case errors.Is(err, exchange.ErrTimeout):
			c.Problem = "the time for all of them is over"
		default:
			return err
		}
		on(i, c)
	}
	for i, c := range g.Cells {
		if len(c.Runs) == 0 && c.Problem == "" {
			c.Problem = "not needed: what was sent decides it"
			on(i, c)
		}
	}
	return nil
}

// fetchRuns makes the runs that a cell lacks, each by a fetch. It fails as Fetch does, with the cell as it
// is then.
func (ft *Fetcher) fetchRuns(ctx context.Context, g model.Grid, c model.Cell, on func(model.Cell)) (model.Cell, error) {
	r := g.Request(c)
	if g.Kind == model.CompareRefusal {
		p, err := ft.cfg.Source.Profile(ctx)
		if err != nil {
			return c, err
		}
		r.Timeout = min(exchange.Timeout(p, r.Zone.Product), refusalFetchTime)
	}
	places := make(chan int, max(g.Repeat, 1))
	for n := len(c.Runs); n < cap(places); n++ {
		places <- n
	}
	close(places)
	same := ft.repeated(r)
	atOnce := max(c.AtOnce, 1)
	fetch := func(ctx context.Context, _ int, on func(Event)) (model.FetchResult, error) {
		return same.fetch(ctx, on)
	}
	if g.Kind == model.CompareList {
		prepared, err := ft.Prepare(ctx, r)
		if err != nil {
			return c, err
		}
		defer prepared.Close()
		fetch = func(ctx context.Context, n int, on func(Event)) (model.FetchResult, error) {
			result, err := prepared.Send(ctx, Column(g.List.Sample[n]), on)
			if result.Body.File != "" {
				err = errors.Join(err, os.Remove(result.Body.File))
			}
			return result, err
		}
		atOnce = cmp.Or(c.AtOnce, int(exchange.LimitOf(r.Zone.Product).Concurrency))
	}
	err := parallel(ctx, min(atOnce, len(places)), func(ctx context.Context, _ int, report func(*model.Run)) error {
		for n := range places {
			sent := false
			result, err := fetch(ctx, n, func(e Event) { sent = sent || e.Phase == PhaseSending })
			if err != nil {
				if sent {
					report(nil)
				}
				return err
			}
			run := model.NewRun(result)
			if g.Kind == model.CompareList {
				run.Page = result.Request.URL
			}
			report(&run)
		}
		return nil
	}, func(_ int, run *model.Run) {
		if run == nil {
			c.CutOff++
		} else {
			c.Runs = append(slices.Clip(c.Runs), *run)
		}
		on(c)
	})
	return c, err
}

// callRuns makes the runs that a cell lacks, each by a call through the proxy on its own connection.
func (ft *Fetcher) callRuns(ctx context.Context, g model.Grid, c model.Cell, on func(model.Cell)) (model.Cell, error) {
	p, d, err := exchange.Current(ctx, ft.cfg.Source)
	if err != nil {
		return c, err
	}
	var login exchange.Login
	pr, err := ft.prepareProbe(p, d, ProbeRequest{Zone: c.Zone, Params: g.Params, Target: g.Base.URL, Session: c.Session})
	if err == nil {
		login, err = exchange.LoginFor(ctx, ft.cfg.Source, p, pr.q.Zone, pr.params())
	}
	if errors.Is(err, model.ErrRequest) && g.Kind == model.CompareLogins {
		c.Problem = oneLine(err)
		return c, nil
	}
	if err != nil {
		return c, err
	}
	failed := 0
	for c.Ended == "" && len(c.Runs) < g.Repeat {
		call, err := pr.call(ctx, login)
		if err != nil {
			c.Ended = "stopped"
			return c, err
		}
		c.Runs = append(slices.Clip(c.Runs), call.run)
		if failed++; call.diagnosis.OK() {
			failed = 0
		}
		switch {
		case failed > 0 && lasting(call.diagnosis):
			c.Ended = call.diagnosis.Summary
		case failed == failuresInARow && g.Kind == model.CompareExits:
			c.Ended = fmt.Sprintf("%d calls in a row failed: %s", failed, call.diagnosis.Summary)
		}
		on(c)
	}
	return c, nil
}

// lasting reports whether the next call would fail the same way.
func lasting(d model.Diagnosis) bool {
	switch d.Cause {
	case model.CauseLoginRejected, model.CauseTLSTrust, model.CauseNetwork, model.CausePolicy, model.CauseRequestRefused:
		return true
	default:
		return d.Class == model.ClassTooFast
	}
}

// keep writes a comparison into the history: one of zones as a whole, with the time if it has none yet, in
// place of one of the same identifier; one of logins, unless err ended it, and one of exits as a line.
func (ft *Fetcher) keep(ctx context.Context, g model.Grid, err error) model.Grid {
	switch {
	case g.Kind == model.CompareZones:
		if g.Started.IsZero() {
			g.Started = ft.cfg.Now()
		}
		if err := ft.cfg.Journal.PutComparison(context.WithoutCancel(ctx), g); err != nil {
			ft.cfg.Log.Warn("a comparison was not kept", "id", g.ID, "error", err)
		}
	case g.Kind == model.CompareList:
		text := fmt.Sprintf("comparison by %d of %d rows of %s: %s", g.Repeat, g.List.Rows, model.Line(g.List.Name, 100), g.Verdict().Text)
		ft.keepLine(ctx, g, model.HistoryEntry{URL: g.Base.Summary(), Via: g.Cells[0].Via, Total: ft.cfg.Now().Sub(g.Started), Text: text})
	case g.Kind == model.CompareLogins && err == nil:
		spent, v := g.Spend(), g.Verdict()
		words := "matrix: " + v.Text
		if spent.Priced > 0 && spent.Unpriced > 0 {
			words += fmt.Sprintf("; %d of %d calls are unpriced", spent.Unpriced, spent.Priced+spent.Unpriced)
		}
		ft.keepLine(ctx, g, model.HistoryEntry{URL: g.Base.URL, Class: v.Class, Total: -1, Text: words})
	case g.Kind == model.CompareExits && len(g.Cells[0].Runs) > 0:
		c := g.Cells[0]
		last := c.Runs[len(c.Runs)-1]
		words := fmt.Sprintf("rotation over %d of %d calls: %s", len(c.Runs), g.Repeat, g.Verdict().Text)
		if c.Ended != "" {
			words += "; ended: " + c.Ended
		}
		var bytes int64
		for _, r := range c.Runs {
			bytes += r.Bytes
		}
		ft.keepLine(ctx, g, model.HistoryEntry{Zone: string(c.Zone.Name), Class: last.Class, Cause: last.Cause, Total: c.MedianOK(), Bytes: bytes, Text: words})
	}
	return g
}

// keepLine puts a line about tests of logins, or of zones by a list, into the timeline.
func (ft *Fetcher) keepLine(ctx context.Context, g model.Grid, a model.HistoryEntry) {
	spent := g.Spend()
	a.At, a.Profile, a.Kind, a.Via, a.Cost, a.Priced = g.Started, g.Profile, model.HistoryProbe, cmp.Or(a.Via, model.ViaNative), spent.Dollars, spent.Priced > 0
	if err := ft.cfg.Journal.PutEntry(context.WithoutCancel(ctx), a); err != nil {
		ft.cfg.Log.Warn("a measurement was not kept", "error", err)
	}
}

// oneLine is an error with its problems on one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// stops ends single cells of comparisons that are under way.
type stops struct {
	mu     sync.Mutex
	cancel map[string]context.CancelCauseFunc // by comparison and cell
}

func cellName(id string, cell int) string { return id + " " + strconv.Itoa(cell) }

// begin gives the context of a cell, and what to call when the cell has ended.
func (s *stops) begin(ctx context.Context, id string, cell int) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel == nil {
		s.cancel = map[string]context.CancelCauseFunc{}
	}
	name := cellName(id, cell)
	s.cancel[name] = cancel
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cancel, name)
		cancel(nil)
	}
}

func (s *stops) stop(id string, cell int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancel[cellName(id, cell)]; cancel != nil {
		cancel(errStopped)
	}
}
