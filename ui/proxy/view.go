package proxy

import (
	"fmt"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Render draws the panes; see areas.
func (m *Model) Render(w, h int) string {
	switch {
	case m.comparison() != nil:
		return m.comparison().Render(w, h)
	case m.page == pageTrust:
		return m.renderTrust(w, h)
	}
	return m.panes.Draw(w, h, m.areas, func(a kit.Area) string {
		switch a.Pane {
		case paneName:
			return m.name.Pane(m.deps.Theme, "Username", m.panes.At == paneName, a.W, a.H, m.usernameLines(a.W-4))
		case paneTest:
			return m.test.text.Pane(m.deps.Theme, "Test", m.panes.At == paneTest, a.W, a.H, m.testLines(a.W-4))
		case paneUse:
			return m.renderUses(a.W, a.H)
		default:
			return m.renderForm(a.W, a.H)
		}
	})
}

func (m *Model) renderForm(w, h int) string {
	focused := m.panes.At == paneForm
	if h < 3 {
		gist := []string{string(m.cred.Zone)}
		for _, p := range m.cred.Params {
			gist = append(gist, p.Name+" "+p.Value)
		}
		return widget.Folded(m.deps.Theme, "Credential", strings.Join(gist, " · "), w)
	}
	iw, ih := widget.Inner(w, h)
	return widget.ScrollPane(m.deps.Theme, "Credential", m.form, focused, w, h, m.form.Render(focused, iw, ih))
}

// usernameLines are the username with its explanation, the notes, and the settings.
func (m *Model) usernameLines(w int) []string {
	t := m.deps.Theme
	if m.profile.ProxyHost == "" && !m.session.Ready {
		if m.session.Problem != "" {
			return widget.Wrapped(t.Bad, "✗ "+m.session.Problem, w)
		}
		return []string{t.Muted.Render("starting the local emulator…")}
	}
	var out []string
	for _, e := range explain(m.cred.Parts(), w) {
		out = append(out, m.inkName(e), t.Muted.Render(e.brackets))
		for _, l := range e.labels {
			out = append(out, t.Muted.Render(l))
		}
	}
	if _, err := m.cred.Username(); err != nil {
		out = append(out, widget.Wrapped(t.Bad, "✗ "+err.Error(), w)...)
	}
	out = append(out, m.noteLines(w)...)
	if m.refusedParams() {
		out = append(out, widget.Wrapped(t.Warn, fmt.Sprintf("! the contract shows no parameter after the zone, and the dialect %q adds none: a test refuses them", m.profile.DialectName()), w)...)
	}
	out = append(out, widget.Fact(t, "password", m.passwordText(), w)...)
	proxy := m.profile.ProxyAddr()
	if proxy == "" {
		proxy = noProxyHost
	}
	for _, note := range m.session.Notes {
		proxy += " · " + note
	}
	out = append(out, widget.Fact(t, "proxy", proxy, w)...)
	if len(m.trust.outer) > 0 {
		out = append(out, m.outerLines(w)...)
	}
	v := trustOf(m.zone(), m.profile.CA, m.profile.Verify)
	ink := t.Text
	switch v.state {
	case caMissing, caSkipped:
		ink = t.Warn
	case caUnknown:
		ink = t.Note
	}
	if m.trust.known {
		v.text = strings.TrimSuffix(v.text, notChecked)
	}
	lines := widget.Fact(t, "CA trust", v.text, w)
	for i := range lines {
		lines[i] = ink.Render(lines[i])
	}
	out = append(out, lines...)
	if m.trust.known {
		return append(out, m.measuredTrust(w)...)
	}
	if v.next != "" {
		out = append(out, widget.Fact(t, "", v.next, w)...)
	}
	return out
}

// measuredTrust is who trusts the chain of the last test.
func (m *Model) measuredTrust(w int) []string {
	t, r := m.deps.Theme, m.trust.report
	say := func(name string, v model.TrustVerdict) string {
		mark, _ := verdictMark(t, v)
		return mark + " " + name
	}
	parts := []string{say("system store", r.System.Verdict)}
	if r.File != nil {
		parts = append(parts, say("CA file", r.File.Verdict))
	}
	for _, c := range r.Clients {
		parts = append(parts, say(string(c.Client), c.Verdict))
	}
	out := flowed(append(parts, t.Key("proxy.trust")+" shows why"), w-10)
	for i, l := range out {
		name := ""
		if i == 0 {
			name = "checked"
		}
		out[i] = t.Muted.Render(text.Fit(name, 10)) + strings.TrimSpace(l)
	}
	return out
}

// noteLines are the notes on the credential. Other readings are a warning only if the
// profile's zones do not rule them out.
func (m *Model) noteLines(w int) []string {
	t := m.deps.Theme
	var out []string
	zones := m.profile.ZoneNames()
	for _, n := range m.cred.Notes(zones) {
		out = append(out, widget.Wrapped(t.Warn, "! "+n, w)...)
	}
	switch others := len(m.cred.OtherReadings(nil)); {
	case others > 0 && len(m.cred.OtherReadings(zones)) == 0:
		out = append(out, widget.Wrapped(t.Muted, "other readings: "+text.Count(others)+", none with a zone of this profile", w)...)
	case others == 0 && !m.zone().Ambiguous() && m.cred.Zone != "":
		out = append(out, widget.Wrapped(t.Muted, "zone name contains no \"-\": one reading", w)...)
	}
	return out
}

// refusedParams reports whether the profile's dialect does not send the login's
// parameters.
func (m *Model) refusedParams() bool {
	return m.profile.Can.RefuseParams(m.cred.Params) != nil
}

// passwordText is the reference to the password, or its value while it is revealed.
func (m *Model) passwordText() string {
	z := m.zone()
	switch {
	case !m.reveal.secret.Empty() && m.reveal.zone == z.Name:
		return m.reveal.secret.Reveal() + " · hidden again in a moment"
	case z.Password == "":
		return "no reference in the profile"
	default:
		return "•••••••• · " + kit.RefLabel(z.Password) + " · " + m.deps.Theme.Key("proxy.password") + " shows it for 5 s"
	}
}

// inkName colours the parts; the brackets show the same without colour.
func (m *Model) inkName(e explained) string {
	t := m.deps.Theme
	var b strings.Builder
	runes := []rune(e.name)
	at, cell := 0, 0
	take := func(to int) string {
		from := at
		for at < len(runes) && cell < to {
			cell += text.Width(string(runes[at]))
			at++
		}
		return string(runes[from:at])
	}
	for _, s := range e.spans {
		b.WriteString(t.Muted.Render(take(s.from)))
		ink := t.Accent
		switch {
		case s.bad:
			ink = t.Bad
		case s.kind == model.PartWord:
			ink = t.Muted
		case s.kind == model.PartParam || s.kind == model.PartValue:
			ink = t.Note
		case s.kind == model.PartZone:
			ink = t.Strong
		}
		b.WriteString(ink.Render(take(s.to)))
	}
	b.WriteString(t.Muted.Render(string(runes[at:])))
	return b.String()
}

func (m *Model) renderUses(w, h int) string {
	t, focused := m.deps.Theme, m.panes.At == paneUse
	iw, ih := widget.Inner(w, h)
	if !m.pasted.open {
		return m.example.Pane(t, "Use it in curl · "+t.Key("proxy.code")+" shows Python, Go, Node and more", focused, w, h, widget.Code(t, m.curl(), iw-1))
	}
	var notes []string
	for _, n := range m.pasted.notes {
		notes = append(notes, widget.Wrapped(t.Muted, n, iw-2)...)
	}
	for _, r := range m.current() {
		notes = append(notes, widget.Wrapped(t.Note, r, iw-2)...)
	}
	rows := min(len(m.pasted.readings)+1, max(ih-len(notes), 2))
	title := "Pasted: one reading"
	if n := len(m.pasted.readings); n > 1 {
		title = fmt.Sprintf("Pasted: %d readings, likeliest first", n)
	}
	return widget.ScrollPane(t, title, &m.readings, focused, w, h, widget.Stack(m.readings.Render(t, focused, iw, rows), strings.Join(widget.Indent(notes), "\n")))
}

// current are the notes of the reading under the cursor.
func (m *Model) current() []string {
	if at := m.readings.Cursor(); at < len(m.pasted.readings) {
		return m.pasted.readings[at].Notes
	}
	return nil
}
