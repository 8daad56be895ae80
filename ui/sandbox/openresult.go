package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/inspect"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// opened is a body that was opened to be shown.
type opened struct{ body.Source }

// Close releases a body that is not shown, because another result came meanwhile.
func (o opened) Close() error {
	if o.Source.Close == nil {
		return nil
	}
	return o.Source.Close()
}

// show shows a result. A body in memory is shown at once; one in a file, or of another character set, is opened by a
// command, and the slot drops it if another result is shown meanwhile.
func (m *Model) show(res model.FetchResult, from origin) tea.Cmd {
	p := &m.result
	p.flight = nil
	p.res, p.origin, p.profile, p.trouble, p.mark, p.page = res, from, "", "", -1, widget.Scroll{}
	page := p.tab
	if page == tabAttempts || from == fromSending {
		page = resultTab(inspect.Body)
	}
	b := res.Body
	m.work.body.Drop()
	if b.File == "" && b.Charset == "" {
		head := b.Bytes[:min(len(b.Bytes), body.HeadBytes)]
		src := body.Source{Reader: bytes.NewReader(b.Bytes), Size: int64(len(b.Bytes)), Type: res.ContentType, Head: head}
		return tea.Batch(p.body.Open(src, res.Request.URL), m.result.firstPage(page))
	}
	closed := p.body.Close()
	p.tab = page
	bodies := m.deps.Bodies
	return tea.Batch(closed, kit.Load(kit.Sandbox, &m.work.body, m.deps.Ctx, func(ctx context.Context) (opened, error) {
		src, err := bodies.Open(ctx, b)
		return opened{src}, err
	}, func(o opened, err error) tea.Cmd { return m.bodyOpened(res.ID, o.Source, err) }))
}

// firstPage opens a page of a result whose body is open: page if there is one. The body
// means its first page, or the attempts if there is no body.
func (p *resultPane) firstPage(page resultTab) tea.Cmd {
	switch {
	case page != resultTab(inspect.Body):
	case p.res.Body.Size == 0 && len(p.res.Attempts) > 1:
		page = tabAttempts
	default:
		page = resultTab(p.body.Pages()[0])
	}
	return p.open(page)
}

func (m *Model) bodyOpened(id string, src body.Source, err error) tea.Cmd {
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return kit.Fail("The body of " + id + " could not be opened: " + err.Error())
	}
	src.Type = m.result.res.ContentType
	return tea.Batch(m.result.body.Open(src, m.result.res.Request.URL), m.result.firstPage(m.result.tab))
}

// reopen loads a fetch, which was sent with a profile, from the journal. Nothing is sent.
func (m *Model) reopen(id, profile string) tea.Cmd {
	history := m.deps.History
	return kit.Load(kit.Sandbox, &m.work.load, m.deps.Ctx, func(ctx context.Context) (model.FetchResult, error) {
		return history.LoadFetch(ctx, id)
	}, func(res model.FetchResult, err error) tea.Cmd { return m.fetchLoaded(id, profile, res, err) })
}

func (m *Model) fetchLoaded(id, profile string, res model.FetchResult, err error) tea.Cmd {
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return kit.Fail("Fetch " + id + " could not be opened: " + err.Error())
	}
	var notice tea.Cmd
	show := m.show(res, fromHistory)
	m.history.want = id
	m.history.toWanted()
	if m.foreign(profile) {
		m.result.profile = profile
	}
	if m.setForm(m.draftOfShown()) {
		notice = m.form.notify("The form holds this request now; " + m.deps.Theme.Key("sandbox.undo") + " undoes this.")
	}
	m.result.draft = m.form.draft()
	m.focus(paneResult)
	return tea.Batch(notice, show)
}

// toForm fills the form with the request of the result on screen.
func (m *Model) toForm() tea.Cmd {
	m.setForm(m.draftOfShown())
	return m.form.notify("The form holds this request again. Nothing was sent.")
}

// setForm replaces the content of the form and focuses it; undo restores the old
// content. It reports whether the form has changed.
func (m *Model) setForm(d draft) bool {
	m.endEditing()
	before := m.form.draft()
	m.form.refused = nil
	m.form.fill(d)
	m.form.opened = ""
	changed := m.form.draft() != before
	if changed {
		m.form.before = append(m.form.before, before)
		if len(m.form.before) > maxUndo {
			m.form.before = m.form.before[1:]
		}
	}
	m.focus(paneForm)
	return changed
}

// newRequest empties the form, but for what says how to fetch. U brings back what it held.
func (m *Model) newRequest() tea.Cmd {
	d := firstDraft()
	d.Zone, d.Via, d.Key, d.URL = m.form.draft().Zone, m.form.draft().Via, m.form.draft().Key, ""
	var told tea.Cmd
	if m.setForm(d) {
		told = m.form.notify("The form is empty; " + m.deps.Theme.Key("sandbox.undo") + " brings back what it held.")
	}
	m.form.tried, m.form.emptied = false, true
	return tea.Batch(told, m.form.form.FocusOn(string(fieldURL), true))
}

// undo restores the form as it was before a step filled it.
func (m *Model) undo() {
	n := len(m.form.before)
	if n == 0 {
		return
	}
	d := m.form.before[n-1]
	m.form.before = m.form.before[:n-1]
	m.form.refused = nil
	m.form.fill(d)
	m.focus(paneForm)
}

// runStep carries out a next step. It sends the form, or changes one field of it: what
// the operator has edited since the result came stays.
func (m *Model) runStep(msg runStep) tea.Cmd {
	s, res := msg.step, m.result.res
	if s.Action == model.ActionSlowDown && !msg.sure && m.billed() {
		return m.askToSend(m.form.request, runStep{step: s, sure: true})
	}
	d := m.form.draft()
	switch s.Action {
	case model.ActionSlowDown:
		return m.trySend(false, res.Diagnosis.Pause())
	case model.ActionTryUnlocker, model.ActionTryBrowser:
		return m.tryProduct(kit.StepProduct(s.Action))
	case model.ActionWhatRefuses:
		return m.compare.Refusal(res)
	case model.ActionCheckKey:
		return kit.GotoTab(kit.Keys, kit.OpenKey{Name: res.KeyName})
	case model.ActionCheckLogin, model.ActionTrustCA:
		return kit.GotoTab(kit.Proxy, kit.OpenLogin{Zone: string(res.Request.Zone.Name), Country: res.Request.Country, Session: res.Request.Session})
	case model.ActionMakeJob:
		return kit.GotoTab(kit.Jobs, kit.NewJob{URLs: []string{res.Request.URL}})
	case model.ActionRaiseTimeout:
		if s.Timeout > 0 && m.deps.Timeouts != nil {
			return m.raiseTimeout(msg)
		}
		longer := max(2*max(res.Request.Timeout, res.Timing.Total.Round(time.Second), 30*time.Second), m.form.request.Timeout)
		d.Timeout = longer.String()
		m.setForm(d)
		return tea.Batch(m.toField(fieldTimeout), m.form.notify("The timeout is "+longer.String()+" now. "+m.deps.Theme.Key("sandbox.send")+" sends."))
	case model.ActionCheckZone:
		m.focus(paneForm)
		if m.result.urlFailed() {
			return m.toField(fieldURL)
		}
		return m.toField(fieldZone)
	case model.ActionFixRequest:
		m.focus(paneForm)
		return m.toField(fieldURL)
	case model.ActionShowFields:
		m.focus(paneResult)
		return m.result.open(tabFields)
	case model.ActionCheckNetwork, model.ActionDialect:
		return kit.Send(kit.ShowProfile{})
	}
	return nil
}

// sendOther sends the form by the access method that the result on screen did not use.
func (m *Model) sendOther(sure bool) tea.Cmd {
	pane, d, via := m.panes.At, m.form.draft(), otherWay(m.result.res.Request.Via)
	if !sure && m.billed() {
		r := m.form.request
		r.Via = via
		return m.askToSend(r, sendOther(true))
	}
	d.Via = string(via)
	m.setForm(d)
	m.focus(pane)
	return m.trySend(false, 0)
}

// otherWay is the other access method.
func otherWay(v model.Via) model.Via {
	if v == model.ViaNative {
		return model.ViaAPI
	}
	return model.ViaNative
}

// tryProduct sets the form to a zone of a product.
func (m *Model) tryProduct(p model.Product) tea.Cmd {
	z, ok := kit.ZoneOf(m.session.Zones, p)
	if !ok {
		return kit.Warn("The profile has no " + p.Label() + " zone.")
	}
	d := m.form.draft()
	d.Zone = string(z.Name)
	m.setForm(d)
	return m.form.notify("The form now has zone " + d.Zone + ". " + m.deps.Theme.Key("sandbox.send") + " sends.")
}

// nextMark shows the next evidence in the body.
func (m *Model) nextMark() tea.Cmd {
	marks := m.result.marks()
	if len(marks) == 0 {
		return nil
	}
	m.result.mark = (m.result.mark + 1) % len(marks)
	m.focus(paneResult)
	e := marks[m.result.mark]
	jump := m.result.body.JumpTo(e.Offset, e.Length)
	m.result.tab = resultTab(m.result.body.At())
	return jump
}

// headerPage is the page of headers: those of the answer and, with Native, those of the
// proxy. It is remote text; the caller sanitises it.
func headerPage(res model.FetchResult) string {
	var b strings.Builder
	section := func(title string, h map[string][]string) {
		if len(h) == 0 {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", title)
		for _, l := range text.HeaderLines(h) {
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	if res.Request.Via == model.ViaNative {
		section(fmt.Sprintf("The proxy's answer to CONNECT (%s)", statusText(res.ServiceStatus)), res.ProxyHeader)
		section(fmt.Sprintf("The answer (%s)", statusText(res.Status)), res.Header)
	} else {
		section(fmt.Sprintf("The service's answer (%s; target %s)", statusText(res.ServiceStatus), statusText(res.Status)), res.Header)
	}
	if b.Len() == 0 {
		return "No answer with headers arrived."
	}
	return b.String()
}

func statusText(status int) string {
	if status == 0 {
		return "no status"
	}
	return fmt.Sprintf("status %d", status)
}

// raiseTimeout gives the product a timeout in the profile, after a question.
func (m *Model) raiseTimeout(msg runStep) tea.Cmd {
	ctx, timeouts, profile := m.deps.Ctx, m.deps.Timeouts, m.session.ProfileName
	product, d := m.result.res.Request.Zone.Product, msg.step.Timeout
	if !msg.sure {
		return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
			Title: "Set a longer timeout?", Yes: "set it", View: kit.Sandbox, Intent: runStep{step: msg.step, sure: true},
			Body: fmt.Sprintf("Profile %s then gives one attempt %v (%s), unless the request says otherwise.\nThis sends nothing.", profile, d, product.Label()),
		})
	}
	return func() tea.Msg {
		if err := timeouts.SetTimeout(ctx, product, d); err != nil {
			return kit.Toast{Kind: kit.ToastError, Text: "the timeout was not set: " + err.Error()}
		}
		return kit.Toast{Text: fmt.Sprintf("set the timeout of %s in profile %s to %v", product, profile, d)}
	}
}
