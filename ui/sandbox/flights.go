package sandbox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// tickEvery is how often the clocks of requests in flight are redrawn.
const tickEvery = 100 * time.Millisecond

// maxLanded is how many results wait in memory until the history lists them.
const maxLanded = 20

// flight is a request in flight, or one that has ended and that the history does not list
// yet.
type flight struct {
	id       int
	slot     kit.Slot
	request  model.FetchRequest
	draft    draft  // the form at the time
	profile  string // the one in use then
	started  time.Time
	attempts []model.Attempt
	n        int // the attempt that runs or is waited for
	phase    string
	reason   string // that it waits for
	bytes    int64
	// until is the end of a wait, or zero.
	until time.Time
	// res is the result once it has come.
	res *model.FetchResult
}

// flights are the requests in flight, the newest first.
type flights struct {
	list    []*flight
	count   int // that were ever sent
	ticking bool
}

func (l *flights) remove(f *flight) {
	l.list = slices.DeleteFunc(l.list, func(o *flight) bool { return o == f })
}

// running counts the requests that have no result yet.
func (l *flights) running() int {
	n := 0
	for _, f := range l.list {
		n += kit.Running(&f.slot)
	}
	return n
}

// listed forgets the results that the history lists, and those of other profiles.
func (l *flights) listed(history []model.HistoryEntry, profile string) {
	l.list = slices.DeleteFunc(l.list, func(f *flight) bool {
		return f.res != nil && (f.profile != profile || slices.ContainsFunc(history, func(a model.HistoryEntry) bool { return a.Ref == f.res.ID }))
	})
}

// key is the flight's row in the list of the history.
func (f *flight) key() string { return fmt.Sprintf("flight %d", f.id) }

// repeated reports whether the same request is in flight and was sent just now: a key that
// repeats must not send it again and again.
func (l *flights) repeated(r model.FetchRequest, now time.Time) bool {
	return slices.ContainsFunc(l.list, func(f *flight) bool {
		return f.slot.Running() && now.Sub(f.started) < time.Second && reflect.DeepEqual(f.request, r)
	})
}

// send starts a request after a pause, beside those in flight. The response pane shows it.
func (m *Model) send(r model.FetchRequest, pause time.Duration) tea.Cmd {
	l := &m.flights
	l.count++
	f := &flight{id: l.count, request: r, draft: m.form.draft(), profile: m.session.ProfileName, started: m.deps.Profile.Now(), n: 1}
	l.list = slices.Insert(l.list, 0, f)
	m.result.trouble, m.history.want = "", ""
	m.result.flight = f
	if !m.wide() {
		m.focus(paneResult)
	}
	m.listHistory()
	fetcher, clock := m.deps.Fetcher, m.deps.Profile.Now
	run := kit.Follow(kit.Sandbox, &f.slot, m.deps.Ctx, func(ctx context.Context, emit func(fetch.Event)) (model.FetchResult, error) {
		if pause > 0 {
			emit(fetch.Event{Waiting: pause}) // after "slow down"
			timer := time.NewTimer(pause)
			defer timer.Stop()
			select {
			case <-timer.C:
				emit(fetch.Event{})
			case <-ctx.Done():
				return model.FetchResult{}, context.Cause(ctx)
			}
		}
		return fetcher.Fetch(ctx, r, emit)
	}, func(e fetch.Event) tea.Cmd {
		f.progress(e, clock())
		return nil
	}, func(res model.FetchResult, err error) tea.Cmd { return m.fetched(f, res, err) })
	return tea.Batch(run, m.tick())
}

// tick redraws the clocks as long as a request is in flight.
func (m *Model) tick() tea.Cmd {
	if m.flights.ticking || m.flights.running() == 0 {
		return nil
	}
	m.flights.ticking = true
	return kit.After(m.deps.Ctx, tickEvery, kit.Call(kit.Sandbox, func() tea.Cmd {
		m.flights.ticking = false
		return m.tick()
	}))
}

// progress handles one event: the end of an attempt, a wait before the next one, or
// the progress of the current one.
func (f *flight) progress(e fetch.Event, now time.Time) {
	if e.Attempt.N > 0 {
		f.n = e.Attempt.N
		if e.Attempt.Class != "" {
			f.attempts = append(f.attempts, e.Attempt)
			f.n++
			f.bytes = 0
		}
	}
	f.until = time.Time{}
	if e.Waiting > 0 {
		f.until = now.Add(e.Waiting)
	}
	f.phase, f.reason = e.Phase, e.Reason
	if e.Bytes > 0 {
		f.bytes = e.Bytes
	}
}

// fetched takes the end of a flight. The response pane shows its result if it showed the
// flight; otherwise the result waits at its line.
func (m *Model) fetched(f *flight, res model.FetchResult, err error) tea.Cmd {
	shown := m.result.flight == f
	if err != nil {
		m.flights.remove(f)
		if shown {
			m.result.flight = nil
		}
		return m.notFetched(f, err, shown)
	}
	if key, _ := m.history.table.CursorKey(); key == f.key() && m.history.table.Cursor() > 0 { // at the top it stays there
		m.history.want = res.ID
	}
	if shown {
		m.flights.remove(f)
		return tea.Batch(m.land(f, res), m.loadHistory())
	}
	f.res = &res
	landed := 0
	m.flights.list = slices.DeleteFunc(m.flights.list, func(f *flight) bool {
		if f.res != nil {
			landed++
		}
		return landed > maxLanded
	})
	return m.loadHistory()
}

// land shows the result of a flight.
func (m *Model) land(f *flight, res model.FetchResult) tea.Cmd {
	m.result.flight = nil
	show := m.show(res, fromSending)
	m.result.draft = f.draft
	return show
}

// notFetched says why a request has no result.
func (m *Model) notFetched(f *flight, err error, shown bool) tea.Cmd {
	var refused *model.RequestError
	say := func(words string) tea.Cmd {
		if shown {
			m.result.trouble = words
			return nil
		}
		return kit.Warn(target(f.request) + ": " + words)
	}
	m.listHistory()
	switch {
	case errors.Is(err, context.Canceled):
		elapsed := text.Duration(m.deps.Profile.Now().Sub(f.started))
		return tea.Batch(say("Cancelled after "+elapsed+". The service may still count what was already sent."), m.loadHistory())
	case errors.As(err, &refused):
		if shown {
			m.form.refused = nil
			for _, p := range refused.Problems {
				m.form.refused = append(m.form.refused, problem{Field: refusedField(p.Field), Severity: note, Text: p.Err.Error()})
			}
		}
		return say("Not sent: " + strings.ReplaceAll(refused.Error(), "\n", "; "))
	default:
		if shown {
			m.result.trouble = "Not sent: " + err.Error()
		}
		return kit.Fail(fmt.Sprintf("The request to %s was not sent: %v", f.request.URL, err))
	}
}

// openFlight shows the flight of a row of the history: as it runs, or its result.
func (m *Model) openFlight(f *flight) tea.Cmd {
	m.focus(paneResult)
	if f.res == nil {
		m.result.flight = f
		return nil
	}
	return m.land(f, *f.res)
}

// whyNotCancel returns the reason why there is nothing to cancel, or "".
func (f *flight) whyNotCancel() string {
	return kit.Reason(!f.slot.Running(), "it has ended")
}

// flightRow is a flight as a row of the history.
func (m *Model) flightRow(f *flight) []widget.Cell {
	th := m.deps.Theme
	state := widget.Cell{Text: "● " + phaseWord(*f), Ink: th.Accent}
	took := max(m.deps.Profile.Now().Sub(f.started), 0)
	if f.res != nil {
		glyph, ink := th.ClassMark(f.res.Diagnosis.Class)
		state = widget.Cell{Text: glyph + " " + model.ClassWord(f.res.Diagnosis.Class, f.res.Diagnosis.Cause), Ink: ink}
		took = f.res.Timing.Total
	}
	return []widget.Cell{
		{Text: text.ShortClock(f.started, m.deps.Profile.Now()), Ink: th.Muted},
		state,
		widget.C(string(f.request.Zone.Name)), widget.C(f.request.Via.String()), widget.C(text.Duration(took)), widget.C(f.request.URL),
	}
}
