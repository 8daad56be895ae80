package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// tickEvery is how often the clock of a request in flight is redrawn.
const tickEvery = 100 * time.Millisecond

// Messages of a request in flight.
type (
	// waiting says that nothing is sent before until, after "slow down".
	waiting struct{ until time.Time }
	// progressed is an event of the service.
	progressed struct{ event fetch.Event }
	// fetched is the result of a request.
	fetched struct {
		res model.FetchResult
		err error
	}
	// ticked redraws the clock.
	ticked struct{ started time.Time }
)

// trySend sends the form's request after a pause, or says at the field why not. With
// sure it skips the question about a predictable failure.
func (m *Model) trySend(sure bool, pause time.Duration) tea.Cmd {
	if m.work.send.Running() {
		return kit.Warn("A request is in progress: esc cancels it.")
	}
	m.endEditing()
	m.form.refused = nil
	m.form.tried = true
	m.refresh()
	if !m.session.Ready {
		return kit.Warn(m.notReady())
	}
	if p, bad := first(m.form.problems, stop); bad {
		m.result.trouble = "Not sent: " + string(p.Field) + ": " + p.Text
		m.focus(paneForm)
		return m.toField(p.Field)
	}
	if m.form.wire.Problem != "" {
		m.result.trouble = "Not sent: " + m.form.wire.Problem
		m.focus(paneForm)
		return nil
	}
	if spec, doubt := m.doubts(); doubt && !sure {
		spec.Yes, spec.View, spec.Intent = "send it", kit.Sandbox, sendSure{pause: pause}
		return widget.Confirm(m.deps.Theme, spec)
	}
	m.form.profile = ""
	return m.send(m.form.request, pause)
}

// doubts is what the operator is asked before the form is sent, if there is something
// to ask: whether a request of another profile is meant for this one, and whether it is
// to be sent although it will fail.
func (m *Model) doubts() (widget.ConfirmSpec, bool) {
	spec := widget.ConfirmSpec{Title: "Send it anyway?"}
	var body []string
	if from := m.form.profile; from != "" {
		spec.Title = "Send it with another profile?"
		body = append(body, fmt.Sprintf("This request was sent with profile %s.\nWith profile %s it uses %s", from, m.session.ProfileName, m.way()))
	}
	if p, doubt := first(m.form.problems, ask); doubt {
		body = append(body, p.Text)
	}
	if len(body) == 0 {
		return spec, false
	}
	spec.Body = strings.Join(append(body, "The request is sent unchanged and counts like any other."), "\n\n")
	return spec, true
}

// way says which credential the form's request uses, and where.
func (m *Model) way() string {
	p, r := m.deps.Profile(), m.form.request
	if r.Via == model.ViaNative {
		return fmt.Sprintf("the password of zone %s.\nIt is sent to %s", r.Zone.Name, net.JoinHostPort(p.ProxyHost, strconv.Itoa(p.ProxyPort)))
	}
	key, _ := pickKey(m.session, r.Key)
	return fmt.Sprintf("key %s.\nIt is sent to %s", key.Name, p.BaseURL)
}

// notReady says why nothing can be sent yet.
func (m *Model) notReady() string {
	switch {
	case m.session.Problem != "":
		return "Nothing can be sent: " + m.session.Problem
	case m.session.Local:
		return "The local emulator is still starting; try again in a moment."
	default:
		return "The profile is still being read; try again in a moment."
	}
}

// toField focuses a field and unfolds it if necessary.
func (m *Model) toField(f field) tea.Cmd {
	if slices.Contains(folded(), f) {
		m.form.unfold()
	}
	m.form.form.FocusOn(string(f), false)
	return nil
}

// send starts a request after a pause.
func (m *Model) send(r model.FetchRequest, pause time.Duration) tea.Cmd {
	now := m.deps.Now()
	m.result.trouble, m.history.want = "", ""
	m.result.flight = flight{request: r, draft: m.form.draft(), started: now, n: 1}
	if m.width < kit.StackBelow {
		m.focus(paneResult)
	}
	send := m.deps.Fetcher.Fetch
	clock := m.deps.Now
	return tea.Batch(m.tick(), kit.Stream(kit.Sandbox, &m.work.send, m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		if pause > 0 {
			emit(waiting{until: clock().Add(pause)})
			timer := time.NewTimer(pause)
			defer timer.Stop()
			select {
			case <-timer.C:
				emit(waiting{})
			case <-ctx.Done():
				return fetched{err: context.Cause(ctx)}
			}
		}
		res, err := send(ctx, r, func(e fetch.Event) { emit(progressed{event: e}) })
		return fetched{res: res, err: err}
	}))
}

func (m *Model) tick() tea.Cmd {
	started := m.result.flight.started
	return kit.After(m.deps.Ctx, tickEvery, kit.Addressed{View: kit.Sandbox, Msg: ticked{started: started}})
}

// updateFlight handles the messages of a request in flight.
func (m *Model) updateFlight(msg tea.Msg) tea.Cmd {
	f := &m.result.flight
	switch msg := msg.(type) {
	case ticked:
		if m.work.send.Running() && msg.started.Equal(f.started) {
			return m.tick()
		}
	case waiting:
		f.until = msg.until
		f.phase = ""
	case progressed:
		m.progress(msg.event)
	case fetched:
		return m.fetched(msg)
	}
	return nil
}

// progress handles one event: the end of an attempt, a wait before the next one, or
// the progress of the current one.
func (m *Model) progress(e fetch.Event) {
	f := &m.result.flight
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
		f.until = m.deps.Now().Add(e.Waiting)
	}
	f.phase = e.Phase
	if e.Bytes > 0 {
		f.bytes = e.Bytes
	}
}

func (m *Model) fetched(msg fetched) tea.Cmd {
	var refused *model.RequestError
	elapsed := text.Took(m.deps.Now().Sub(m.result.flight.started))
	switch {
	case msg.err == nil:
		show := m.show(msg.res, fromSending)
		m.result.draft = m.result.flight.draft
		return tea.Batch(show, m.loadHistory())
	case errors.Is(msg.err, context.Canceled):
		m.result.trouble = "Cancelled after " + elapsed + ". The service may still count what was already sent."
		return m.loadHistory()
	case errors.As(msg.err, &refused):
		m.result.trouble = "Not sent: " + strings.ReplaceAll(refused.Error(), "\n", "; ")
		m.form.refused = nil
		for _, p := range refused.Problems {
			m.form.refused = append(m.form.refused, problem{Field: refusedField(p.Field), Severity: note, Text: p.Err.Error()})
		}
		return nil
	default:
		m.result.trouble = "Not sent: " + msg.err.Error()
		return kit.Fail(fmt.Sprintf("The request to %s was not sent: %v", m.result.flight.request.URL, msg.err))
	}
}

// refusedField is the form's field for a refusal. A zone's password belongs to the zone;
// other refusals without a field are shown at the URL.
func refusedField(name string) field {
	switch f := field(name); f {
	case fieldZone, fieldURL, fieldVia, fieldKey, fieldFormat, fieldMethod, fieldHeaders, fieldBody, fieldRequired, fieldCountry, fieldSession:
		return f
	case "password", "profile":
		return fieldZone
	default:
		return fieldURL
	}
}
