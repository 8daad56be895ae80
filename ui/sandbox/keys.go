package sandbox

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// intent is what a key of the tab does.
type intent interface{ do(m *Model) tea.Cmd }

// act is an intent without data.
type act func(m *Model) tea.Cmd

func (a act) do(m *Model) tea.Cmd { return a(m) }

// runStep carries out a next step; sure is set after the question.
type runStep struct {
	step model.Step
	sure bool
}

func (msg runStep) do(m *Model) tea.Cmd { return m.runStep(msg) }

func sendNow(m *Model) tea.Cmd  { return m.trySend(false, 0) }
func nextPage(m *Model) tea.Cmd { return m.turnPage(1) }
func prevPage(m *Model) tea.Cmd { return m.turnPage(-1) }

// jump goes to a field and edits it.
func jump(to field) act {
	return func(m *Model) tea.Cmd {
		m.focus(paneForm)
		return m.form.form.Replace(string(to))
	}
}

func toResponse(m *Model) tea.Cmd {
	m.focus(paneResult)
	return nil
}

// sendOther sends the form by the access method that the result on screen did not use; sure is set after the question.
func sendOther(sure bool) act { return func(m *Model) tea.Cmd { return m.sendOther(sure) } }

func undoForm(m *Model) tea.Cmd {
	m.undo()
	return nil
}

func cancelSend(m *Model) tea.Cmd {
	if f := m.result.flight; f != nil {
		f.slot.Cancel()
	}
	return nil
}

func cancelPicked(m *Model) tea.Cmd {
	if f := m.pickedFlight(); f != nil {
		f.slot.Cancel()
	}
	return nil
}

func goBack(m *Model) tea.Cmd {
	if m.panes.Zoomed {
		m.panes.Zoomed = false
	} else {
		m.panes.At = paneForm
	}
	return nil
}

func openFetch(m *Model) tea.Cmd {
	if f := m.pickedFlight(); f != nil {
		return m.openFlight(f)
	}
	if a, ok := m.history.picked(); ok {
		return m.reopen(a.Ref, a.Profile)
	}
	return nil
}

func showWire(m *Model) tea.Cmd {
	if m.panes.At == paneWire {
		m.focus(paneForm)
	} else {
		m.focus(paneWire)
	}
	return nil
}

// searchBody goes to the body with an intent of its view.
func searchBody(by tea.Msg) act {
	return func(m *Model) tea.Cmd {
		m.focus(paneResult)
		return m.scroll(paneResult, by)
	}
}

// turnPage shows the next page of the result, or the one before.
func (m *Model) turnPage(by int) tea.Cmd {
	m.focus(paneResult)
	return m.result.turn(by)
}

// Bindings are the tab's keys, those of the focused pane first.
func (m *Model) Bindings() []kit.Binding {
	if m.compare.Open() {
		return append(m.compare.Bindings(), refuserBinding("esc closes the comparison: then ask this of a refused fetch"))
	}
	out, send := []kit.Binding{}, m.sendBindings()
	if m.result.flight != nil { // esc cancels first, wherever it is pressed
		out = append(out, kit.Binding{Name: "sandbox.cancel", Keys: []string{"esc"}, Label: "cancel", Help: "Cancel the request that the response pane shows.", Group: "Request", Intent: act(cancelSend), WhileTyping: true, Stops: true})
	}
	v := m.viewer()
	page := m.panes.At == paneResult && v == nil && m.result.hasResult() && m.result.flight == nil // of a result, and none of its body
	switch {
	case m.panes.At == paneForm:
		out, send = slices.Concat(send[:1], out, send[1:], m.form.form.Bindings()), nil
	case m.panes.At == paneResult && v != nil:
		out = append(out, v.Bindings()...)
	case page:
		out = append(append(out, m.resultBindings()...), widget.MotionBindings()...)
	case m.panes.At == paneHistory:
		b := kit.Binding{Name: "sandbox.open-fetch", Keys: []string{"enter"}, Label: "open", Help: "Show this fetch again. Nothing is sent.", Group: "History", Intent: act(openFetch)}
		if f := m.pickedFlight(); f != nil {
			out = append(out, kit.Binding{Name: "sandbox.cancel-fetch", Keys: []string{"c"}, Label: "cancel", Help: "Cancel the request under the cursor; the others go on.", Group: "History", Intent: act(cancelPicked), Disabled: f.whyNotCancel()})
		} else if a, ok := m.history.picked(); !ok {
			b.Disabled = "no fetch is selected"
		} else if a.Ref == "" {
			b.Disabled = "it ended without a result"
		}
		out = append(append(out, b), widget.MotionBindings()...)
	default:
		out = append(out, widget.MotionBindings()...)
	}
	out = append(out, send...)
	if !page {
		out = append(out, m.resultBindings()...)
	}
	out = slices.Concat(out, m.fileBindings(), m.searchBindings())
	if m.panes.Zoomed || m.panes.At != paneForm {
		out = append(out, kit.Binding{Name: "sandbox.back", Keys: []string{"esc"}, Label: "back", Help: "Leave the zoom, or go back to the form.", Group: "Panes", Intent: act(goBack)})
	}
	return out
}

func (m *Model) sendBindings() []kit.Binding {
	send := kit.Binding{Name: "sandbox.send", Keys: []string{"ctrl+j", "f5"}, Label: "send", Synonyms: "resend retry repeat", Help: "Send the request as \"Will be sent\" shows it.", Group: "Request", Intent: act(sendNow), WhileTyping: true}
	out := []kit.Binding{send}
	if m.form.request.Via == model.ViaAgent {
		list := kit.Binding{Name: "sandbox.list-tools", Keys: []string{"ctrl+r"}, Label: "list tools", Help: "Ask the MCP endpoint for its tools again.", Group: "Request", Intent: act((*Model).listTools), Hidden: true}
		switch {
		case m.deps.Tools == nil || m.deps.Profile.CurrentProfile().AgentURL == "":
			list.Disabled = "the profile has no agent_url"
		case !m.session.Ready:
			list.Disabled = m.session.NotReady()
		case m.work.tools.Running():
			list.Disabled = "the tools are being listed"
		}
		out = append(out, list)
	}
	const group = "Panes"
	zone := []string{"alt+z"}
	if m.viewer() == nil { // there is no body to search
		zone = append(zone, "/")
	}
	out = append(out,
		kit.Binding{Name: "sandbox.url", Keys: []string{"alt+u", "ctrl+l"}, Label: "URL", Help: "Type another URL in place of the old one, from anywhere; an arrow keeps and edits it.", Group: group, Intent: jump(fieldURL), WhileTyping: true, Hidden: true},
		kit.Binding{Name: "sandbox.zone", Keys: zone, Label: "zone", Help: "Filter the zones and choose one, from anywhere.", Group: group, Intent: jump(fieldZone), WhileTyping: true, Hidden: true},
		kit.Binding{Name: "sandbox.response", Keys: []string{"alt+r", "ctrl+g"}, Label: "response", Help: "Go to the response, from anywhere.", Group: group, Intent: act(toResponse), WhileTyping: true, Hidden: true},
		kit.Binding{Name: "sandbox.wire", Keys: []string{"alt+w"}, Label: "what is sent", Help: "Show what will be sent, or go back to the form.", Group: group, Intent: act(showWire), WhileTyping: true, Hidden: true})
	pane := m.panes.Bindings(true)
	pane[0].Hidden = m.CapturingText() // the footer has room for where the letters go
	return append(out, pane...)
}

// resultBindings are the keys of the result on screen.
func (m *Model) resultBindings() []kit.Binding {
	none := ""
	switch {
	case m.result.flight != nil:
		none = "this request is in progress"
	case !m.result.hasResult():
		none = "no result yet"
	}
	var out []kit.Binding
	used := map[string]bool{}
	for _, s := range m.result.res.Diagnosis.Steps {
		key := kit.StepKey(s.Action)
		hasOne := s.Action == model.ActionRetry || s.Action == model.ActionOtherWay || s.Action == model.ActionSaveSample // a key at any result
		if used[key] || none != "" || hasOne {
			continue
		}
		used[key] = true
		b := kit.Binding{
			Name: kit.StepName(s.Action), Keys: []string{key}, Label: m.stepLabel(s), Help: kit.StepHelp(s), Group: "Next steps",
			Intent: runStep{step: s}, Disabled: m.stepDisabled(s),
		}
		b.Dangerous = kit.StepSends(s.Action)
		if s.Action == model.ActionWhatRefuses {
			b.Command = refuserCommand
		}
		out = append(out, b)
	}
	other := kit.Binding{Name: kit.StepName(model.ActionOtherWay), Keys: []string{kit.StepKey(model.ActionOtherWay)}, Label: m.result.otherLabel(), Help: "Send the request the other way: by Native instead of API, or back.", Group: "Result", Intent: sendOther(false), Disabled: none, Dangerous: true, Hidden: true}
	if none == "" {
		other.Disabled = m.whyNotOther()
	}
	page := kit.Binding{Name: "sandbox.next-page", Keys: []string{"]"}, Label: "page", Help: "Show the next page of the result: the body as it came, as text, as a tree, as a picture or as bytes; Headers, Timing, Attempts, Fields, TLS.", Group: "Result", Intent: act(nextPage), Disabled: none, Hidden: none != "" || m.panes.At != paneResult}
	mark := kit.Binding{Name: "sandbox.evidence", Keys: []string{"v"}, Label: "evidence", Help: "Show the next evidence in the body.", Group: "Result", Intent: act((*Model).nextMark), Disabled: none, Hidden: none != ""}
	if none == "" && len(m.result.marks()) == 0 {
		mark.Disabled, mark.Hidden = "there is no evidence in the body", true
	}
	out = append(out, page, other,
		kit.Binding{Name: "sandbox.compare", Keys: []string{"ctrl+w"}, Label: "compare", Command: "compare zones", Synonyms: "twin", Help: "Choose zones and methods, send by all of them at once, and name the winner.", Group: "Request", Intent: act((*Model).compareForm), WhileTyping: true},
		kit.Binding{Name: "sandbox.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy body, address, headers or the request as shown.", Group: "Result", Intent: act((*Model).openCopyMenu)},
		kit.Binding{Name: "sandbox.code", Keys: []string{"x", "ctrl+x"}, Label: "code", Synonyms: "export snippet", Help: "Show the form's request as code for curl, Python, Go, Node, Scrapy, Playwright, Puppeteer or a shell.", Group: "Request", Intent: m.form.code(), Disabled: m.form.unvalued(), WhileTyping: true},
		kit.Binding{Name: "sandbox.previous-page", Keys: []string{"["}, Label: "previous page", Help: "Show the previous page.", Group: "Result", Intent: act(prevPage), Disabled: none, Hidden: true},
		mark,
		kit.Binding{Name: "sandbox.to-form", Keys: []string{"o"}, Label: "to form", Help: "Fill the form with the request of this result.", Group: "Result", Intent: act((*Model).toForm), Disabled: none, Hidden: true},
	)
	if !used[kit.StepKey(model.ActionWhatRefuses)] {
		out = append(out, refuserBinding(cmp.Or(none, "the fetch on screen was not refused")))
	}
	return out
}

// searchBindings are the keys of the body that take words, from the other panes.
func (m *Model) searchBindings() []kit.Binding {
	v := m.viewer()
	if v == nil || m.panes.At == paneResult {
		return nil
	}
	var out []kit.Binding
	for _, b := range v.Bindings() {
		if b.Matches("/") || b.Matches("|") {
			b.Intent, b.Hidden = searchBody(b.Intent), true
			out = append(out, b)
		}
	}
	return out
}

func (m *Model) fileBindings() []kit.Binding {
	edit := kit.Binding{Name: "sandbox.editor", Keys: []string{"e"}, Label: "editor", Help: "Open the body in $EDITOR.", Group: "Result", Intent: act(editBody), Hidden: true, Disabled: cmp.Or(kit.Reason(!m.deps.Bodies.HasEditor(), "no editor is set; set $EDITOR"), m.result.whyNotEdit())}
	undo := kit.Binding{Name: "sandbox.undo", Keys: []string{"U"}, Label: "undo", Help: "Restore the form as it was before a step filled it.", Group: "Request", Intent: act(undoForm), Hidden: true, Disabled: kit.Reason(len(m.form.before) == 0, "no step has filled the form")}
	return []kit.Binding{
		{Name: "sandbox.new-request", Keys: []string{"ctrl+n"}, Label: "new request", Help: "Clear the form except zone, access method and key, and edit the URL. " + m.deps.Theme.Key("sandbox.undo") + " brings back what it held.", Group: "Request", Intent: act((*Model).newRequest), Hidden: true},
		{Name: "sandbox.save", Keys: []string{"ctrl+s"}, Label: "save", Help: "Save the request under a name; one that was opened keeps its own.", Group: "Request", Intent: act((*Model).askName), WhileTyping: true, Hidden: true},
		{Name: "sandbox.saved-requests", Keys: []string{"ctrl+o"}, Label: "saved requests", Synonyms: "remove delete rename", Help: "The saved requests: open, rename, remove. Nothing is sent.", Group: "Request", Intent: act(openSaved), WhileTyping: true, Hidden: true},
		m.valuesBinding(),
		{Name: "sandbox.batch", Keys: []string{"B"}, Label: "batch", Command: "batch of this request", Help: "Send the request for each row of a file: it opens the form of a batch, which checks the rows first.", Group: "Request", Intent: kit.BatchTemplate{}, Hidden: true},
		edit,
		{Name: kit.StepName(model.ActionSaveSample), Keys: []string{kit.StepKey(model.ActionSaveSample)}, Label: "keep", Help: "Copy the body to a file that stays.", Group: "Result", Intent: act(keepBody), Disabled: m.whyNotKeep(), Hidden: true},
		{Name: "sandbox.har", Keys: []string{"E"}, Label: "HAR", Synonyms: "export", Help: "Write the fetch on screen as a HAR file, credentials redacted.", Group: "Result", Intent: act(writeHAR), Disabled: m.whyNotHAR(), Hidden: true},
		undo,
		{Name: "sandbox.bring-back", Keys: []string{"O"}, Label: "bring back", Command: "bring back a removed request", Synonyms: "restore delete deleted", Help: "Bring back the saved request that was removed last.", Group: "Request", Intent: act(restoreSaved), Hidden: true},
	}
}

// refuserCommand is the palette's name for the step that tells what refuses.
const refuserCommand = "what refuses? (split)"

// refuserBinding is that step where there is nothing to find out, so that it can be found.
func refuserBinding(why string) kit.Binding {
	return kit.Binding{
		Name: kit.StepName(model.ActionWhatRefuses), Keys: []string{kit.StepKey(model.ActionWhatRefuses)}, Label: "what refuses?", Command: refuserCommand, Group: "Next steps", Hidden: true, Disabled: why,
		Help: "find out what refuses: the key's level, the zone or the site", // as the step says it
	}
}

// stepLabel is a step's short label.
func (m *Model) stepLabel(s model.Step) string {
	send := "send again"
	if m.edited() {
		send = "send as edited"
	}
	switch s.Action {
	case model.ActionRetry:
		return send
	case model.ActionSlowDown:
		return "wait " + text.Duration(m.result.res.Diagnosis.Pause()) + m.result.res.Diagnosis.Repeated() + ", " + send
	case model.ActionTryUnlocker, model.ActionTryBrowser:
		p := kit.StepProduct(s.Action)
		if z, ok := kit.ZoneOf(m.session.Zones, p); ok {
			return "try zone " + string(z.Name)
		}
		return "try the " + p.Label()
	case model.ActionOtherWay:
		return m.result.otherLabel()
	case model.ActionWhatRefuses:
		return "what refuses?"
	case model.ActionCheckKey:
		return "check the key"
	case model.ActionCheckLogin:
		return "check the login"
	case model.ActionTrustCA:
		return "CA trust"
	case model.ActionRaiseTimeout:
		return "longer timeout"
	case model.ActionCheckZone:
		if m.result.urlFailed() {
			return "check the URL"
		}
		return "check zone and URL"
	case model.ActionFixRequest:
		return "fix the request"
	case model.ActionMakeJob:
		return "make it a job"
	case model.ActionShowFields:
		return "see the fields"
	case model.ActionSaveSample:
		return "keep the page"
	case model.ActionCheckNetwork, model.ActionDialect:
		return "see the profile"
	default:
		return s.Text
	}
}

// urlFailed reports whether the failure on screen is the target's or of the way to it: then the
// URL is to be checked, and not the zone.
func (p *resultPane) urlFailed() bool {
	cause := p.res.Diagnosis.Cause
	return cause == model.CauseTargetError || cause == model.CauseNetwork
}

// stepDisabled returns the reason why a step is disabled, or "".
func (m *Model) stepDisabled(s model.Step) string {
	switch s.Action {
	case model.ActionTryUnlocker, model.ActionTryBrowser:
		p := kit.StepProduct(s.Action)
		if _, ok := kit.ZoneOf(m.session.Zones, p); !ok {
			return "the profile has no zone of product " + p.String()
		}
	case model.ActionOtherWay:
		return m.whyNotOther()
	case model.ActionWhatRefuses, model.ActionRaiseTimeout:
		if m.result.profile != "" && (s.Action == model.ActionWhatRefuses || s.Timeout > 0) {
			return "it was sent with profile " + m.result.profile + " (" + m.deps.Theme.Key("console.profile") + " switches to it)"
		}
	case model.ActionShowFields:
		if len(m.result.res.Fields) == 0 {
			return "the history does not hold the fields"
		}
	case model.ActionSaveSample:
		return m.whyNotKeep()
	}
	return ""
}

// whyNotEdit returns the reason why there is no body to edit, or "".
func (p *resultPane) whyNotEdit() string {
	return kit.Reason(!p.hasResult() || p.res.Body.Size == 0, "there is no body")
}

// whyNotHAR returns the reason why there is no fetch to write, or "".
func (m *Model) whyNotHAR() string {
	if !m.result.hasResult() || m.result.res.ID == "" {
		return "no result yet"
	}
	return kit.Reason(m.work.har.Running(), "a HAR file is being written")
}

// whyNotKeep returns the reason why the body cannot be kept now, or "".
func (m *Model) whyNotKeep() string {
	return cmp.Or(kit.Reason(m.work.sample.Running(), "a body is being copied to its file"), m.result.whyNotEdit())
}

// otherLabel names the access method that the result on screen did not use.
func (p *resultPane) otherLabel() string { return "send by " + otherWay(p.res.Request.Via).String() }

// whyNotOther returns the reason why the request cannot be sent the other way, or "".
func (m *Model) whyNotOther() string {
	p := m.form.request.Zone.Product
	return kit.Reason(m.result.res.Request.Via != model.ViaNative && !p.NativeAccess(), p.Label()+" has no native access (contract 5.2)")
}
