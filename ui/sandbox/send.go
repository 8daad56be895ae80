package sandbox

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// trySend sends the form's request after a pause, or says at the field why not. With
// sure it skips the question about a predictable failure.
func (m *Model) trySend(sure bool, pause time.Duration) tea.Cmd {
	m.endEditing()
	m.form.refused = nil
	m.form.tried = true
	m.refresh()
	if !m.session.Ready {
		return kit.Warn(m.notReady())
	}
	if p, bad := first(m.form.problems, stop); bad {
		m.result.trouble = "Not sent: " + strings.TrimPrefix(string(p.Field), argField) + ": " + p.Text
		m.focus(paneForm)
		return m.toField(p.Field)
	}
	sendSure := act(func(m *Model) tea.Cmd { return m.trySend(true, pause) })
	again := act(sendNow)
	if sure {
		again = sendSure
	}
	if ask := m.askVariables(again); ask != nil {
		return ask
	}
	if m.form.wire.Problem != "" {
		m.result.trouble = "Not sent: " + m.form.wire.Problem
		m.focus(paneForm)
		return nil
	}
	if spec, doubt := m.doubts(); doubt && !sure {
		spec.Yes, spec.View, spec.Intent = "send it", kit.Sandbox, sendSure
		return widget.Confirm(m.deps.Theme, spec)
	}
	if m.flights.repeated(m.form.request, m.deps.Profile.Now()) {
		return kit.Warn("This request was sent a moment ago and is in flight; send it again in a second.")
	}
	if sure {
		m.confirmKey(m.form.request.Key)
	}
	m.form.profile = ""
	return m.send(m.form.request, pause)
}

// billed reports whether what is sent now costs something: the emulator charges nothing.
func (m *Model) billed() bool { return m.session.Ready && !m.session.Local }

// price is what a zone costs, or how its profile learns it. By agent access there is none to set.
func (m *Model) price(z model.Zone) string {
	if z.Name != "" && !z.Rate.Priced() {
		return "unpriced: " + m.deps.Theme.Key("console.palette") + " rates"
	}
	return z.Rate.String()
}

// askToSend asks before a letter sends a request: one that was meant for a field costs nothing.
func (m *Model) askToSend(r model.FetchRequest, yes tea.Msg) tea.Cmd {
	by := r.Via.String()
	if r.Zone.Name != "" {
		by = fmt.Sprintf("zone %s, %s", r.Zone.Name, by)
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Send a request?", Yes: "send it", View: kit.Sandbox, Intent: yes,
		Body: fmt.Sprintf("One request to profile %s by %s, billed like any other: %s. %s sends the form without this question.", m.session.ProfileName, by, m.price(r.Zone), m.deps.Theme.Key("sandbox.send")),
	})
}

// doubts is what the operator is asked before the form is sent, if there is something
// to ask: whether a request of another profile is meant for this one, and whether it is
// to be sent although it will fail.
func (m *Model) doubts() (widget.ConfirmSpec, bool) {
	spec := widget.ConfirmSpec{Title: "Send it anyway?"}
	var body []string
	if from := m.form.profile; from != "" {
		spec.Title = "Send it with another profile?"
		body = append(body, fmt.Sprintf("This request was sent with profile %s.\nWith profile %s it uses %s", from, m.session.ProfileName, m.credentialText()))
	}
	if p, is := first(m.form.problems, doubt); is {
		body = append(body, p.Text)
	}
	if len(body) == 0 {
		return spec, false
	}
	spec.Body = strings.Join(append(body, "The request is sent unchanged and counts like any other."), "\n\n")
	return spec, true
}

// credentialText says which credential the form's request uses, and where.
func (m *Model) credentialText() string {
	p, r := m.deps.Profile.CurrentProfile(), m.form.request
	switch r.Via {
	case model.ViaBrowser:
		return fmt.Sprintf("the password of zone %s.\nIt is sent to %s", r.Zone.Name, p.BrowserURL)
	case model.ViaAgent:
		key, _ := pickKey(m.session, r.Key)
		return fmt.Sprintf("key %s.\nIt is sent to %s", key.Name, p.AgentURL)
	case model.ViaNative:
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
		return "The keys are still being read; try again in a moment."
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

// refusedField is the form's field for a refusal. A zone's password belongs to the zone;
// other refusals without a field are shown at the URL.
func refusedField(name string) field {
	f := field(name)
	if slices.Contains(allFields(), f) {
		return f
	}
	switch name {
	case "password", "profile":
		return fieldZone
	default:
		return fieldURL
	}
}
