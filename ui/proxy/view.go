package proxy

import (
	"fmt"
	"strings"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Render draws the panes; see areas.
func (m *Model) Render(w, h int) string {
	var frame string
	frame, m.drawn = widget.Tile(m.areas(w, h), func(a kit.Area) string {
		switch a.Pane {
		case paneName:
			return m.renderUsername(a.W, a.H)
		case paneTest:
			return m.renderTest(a.W, a.H)
		case paneUse:
			return m.renderUses(a.W, a.H)
		default:
			return m.renderForm(a.W, a.H)
		}
	})
	return frame
}

func (m *Model) renderForm(w, h int) string {
	focused := m.ring.At == paneForm
	iw, ih := widget.Inner(w, h)
	return widget.Pane(m.deps.Theme, "Credential", focused, w, h, m.form.Render(focused, iw, ih))
}

func (m *Model) renderUsername(w, h int) string {
	iw, ih := widget.Inner(w, h)
	lines := m.usernameLines(iw - 2)
	top := max(0, min(m.nameTop, len(lines)-ih))
	m.nameTop = top
	title := "Username"
	if more := len(lines) - top - ih; more > 0 {
		title += fmt.Sprintf(" · %d more below", more)
	}
	return widget.Pane(m.deps.Theme, title, m.ring.At == paneName, w, h, indent(lines[top:min(top+ih, len(lines))]))
}

// usernameLines are the username with its explanation, the notes, and the settings.
func (m *Model) usernameLines(w int) []string {
	t := m.deps.Theme
	if m.profile.ProxyHost == "" && !m.session.Ready {
		if m.session.Problem != "" {
			return m.inked(t.Bad, "✗ "+m.session.Problem, w)
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
		out = append(out, m.inked(t.Bad, "✗ "+err.Error(), w)...)
	}
	out = append(out, m.noteLines(w)...)
	if m.refusedParams() {
		out = append(out, m.inked(t.Warn, fmt.Sprintf("! the contract shows no parameter after the zone, and the dialect %q adds none: a test refuses them", m.profile.Dialect), w)...)
	}
	out = append(out, m.fact("password", m.passwordText(), w)...)
	proxy := m.profile.ProxyAddr()
	if proxy == "" {
		proxy = "the profile names no proxy_host"
	}
	for _, note := range m.session.Notes {
		proxy += " · " + note
	}
	if m.deps.ProxyEnv {
		proxy += " · HTTPS_PROXY is set, not used"
	}
	out = append(out, m.fact("proxy", proxy, w)...)
	v := trustOf(m.zone(), m.profile.CA, m.profile.Verify)
	ink := t.Text
	switch v.state {
	case caMissing, caSkipped:
		ink = t.Warn
	case caUnknown:
		ink = t.Note
	}
	lines := m.fact("CA trust", v.text, w)
	for i := range lines {
		lines[i] = ink.Render(lines[i])
	}
	out = append(out, lines...)
	if v.next != "" {
		out = append(out, m.fact("", v.next, w)...)
	}
	return out
}

// ambiguous is the prefix of the model's notes about other readings.
const ambiguous = "ambiguous:"

// noteLines are the notes on the credential. Other readings are a warning only if the
// profile's zones do not rule them out.
func (m *Model) noteLines(w int) []string {
	t := m.deps.Theme
	var out []string
	others := 0
	for _, n := range m.cred.Notes() {
		if strings.HasPrefix(n, ambiguous) {
			if others++; m.decided() {
				continue
			}
		}
		out = append(out, m.inked(t.Warn, "! "+n, w)...)
	}
	switch {
	case others > 0 && m.decided():
		out = append(out, m.inked(t.Muted, "other readings: "+text.Count(others)+", none with a zone of this profile", w)...)
	case others == 0 && !m.zone().Ambiguous() && m.cred.Zone != "":
		out = append(out, m.inked(t.Muted, "zone name contains no \"-\": one reading", w)...)
	}
	return out
}

// decided reports whether no other reading of the username names one of the profile's
// zones.
func (m *Model) decided() bool {
	username, err := m.cred.Username()
	if err != nil {
		return false
	}
	readings, err := model.ReadUsername(username, m.profile.ZoneNames())
	if err != nil {
		return false
	}
	known := 0
	for _, r := range readings {
		if _, ok := m.profile.Zone(string(r.Credential.Zone)); ok {
			known++
		}
	}
	return known == 1 && readings[0].Credential.Equal(m.cred)
}

// refusedParams reports whether the profile's dialect does not send the login's
// parameters.
func (m *Model) refusedParams() bool {
	d, err := dialect.Find(m.profile.Dialect)
	return err == nil && d.RefuseParams(m.cred.Params) != nil
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
		return "•••••••• · " + refLabel(z.Password) + " · v shows it for 5 s"
	}
}

func (m *Model) fact(name, value string, w int) []string {
	var out []string
	for i, l := range text.Wrap(text.Clean(value), w-10) {
		head := strings.Repeat(" ", 10)
		if i == 0 {
			head = m.deps.Theme.Muted.Render(text.Fit(name, 10))
		}
		out = append(out, head+l)
	}
	return out
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
	t, focused := m.deps.Theme, m.ring.At == paneUse
	iw, ih := widget.Inner(w, h)
	if !m.pasted.open {
		return widget.Pane(t, "Use it in", focused, w, h, m.uses.Render(t, focused, iw, ih))
	}
	var notes []string
	for _, n := range m.pasted.notes {
		notes = append(notes, m.inked(t.Muted, n, iw-2)...)
	}
	for _, r := range m.current() {
		notes = append(notes, m.inked(t.Note, r, iw-2)...)
	}
	rows := min(len(m.pasted.readings)+1, max(ih-len(notes), 2))
	title := "Pasted: one reading"
	if n := len(m.pasted.readings); n > 1 {
		title = fmt.Sprintf("Pasted: %d readings, likeliest first", n)
	}
	return widget.Pane(t, title, focused, w, h, widget.Stack(m.uses.Render(t, focused, iw, rows), indent(notes)))
}

// current are the notes of the reading under the cursor.
func (m *Model) current() []string {
	if at := m.uses.Cursor(); at < len(m.pasted.readings) {
		return m.pasted.readings[at].Notes
	}
	return nil
}

func (m *Model) inked(ink kit.Ink, words string, w int) []string {
	out := text.Wrap(text.CleanLines(words), max(w, 8))
	for i := range out {
		out[i] = ink.Render(out[i])
	}
	return out
}

func indent(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(" " + l + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
