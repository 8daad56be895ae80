package keys

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Render draws the panes; see areas.
func (m *Model) Render(w, h int) string {
	if m.page.Open() {
		return m.page.Render(w, h)
	}
	return m.panes.Draw(w, h, m.areas, func(a kit.Area) string {
		switch {
		case a.Pane == paneList:
			return m.renderList(a.W, a.H)
		case a.Pane == paneStrip:
			return m.renderStrip(a.W, a.H)
		case m.panes.Zoomed:
			return m.renderSide(m.side, true, a.W, a.H)
		default:
			return m.renderLower(a.W, a.H)
		}
	})
}

func (m *Model) renderLower(w, h int) string {
	focused := m.panes.At == paneSide
	if w < kit.StackBelow {
		return m.renderSide(m.side, focused, w, h)
	}
	right := m.side
	if right == sideDetail {
		right = sideLint
	}
	onDetail, onRight := focused && m.side == sideDetail, focused && m.side == right
	lw, rw := widget.SideBySide(w, onDetail, onRight)
	return widget.Row(m.renderSide(sideDetail, onDetail, lw, h), m.renderSide(right, onRight, rw, h))
}

func (m *Model) renderList(w, h int) string {
	focused := m.panes.At == paneList
	iw, ih := widget.Inner(w, h)
	title := "Keys"
	if n, shown := len(m.list.keys), len(m.list.page.Visible()); shown < n {
		title = fmt.Sprintf("Keys (%s of %s)", text.Count(shown), text.Count(n))
	} else if n > 0 {
		title = fmt.Sprintf("Keys (%s)", text.Count(n))
	}
	if s := m.session; !m.reading() && (s.Ready || s.Problem != "") { // all keys are seen: the cursor stays on its own
		m.list.page.Move(0)
	}
	head := m.withDue(title)
	return widget.PaneOf(m.deps.Theme, head, &m.list.page, focused, w, h, m.list.page.Render(m.deps.Theme, focused, iw, ih))
}

// columns are those of the list, each with its cell for a key.
func (m *Model) columns(k model.Key) (columns []widget.Column, cells []widget.Cell) {
	now := m.now(k)
	glyph, ink := m.stateMark(k, now)
	for _, c := range []struct {
		widget.Column
		widget.Cell
	}{
		{widget.Column{Title: "STATE", Width: 13}, widget.Cell{Text: glyph + " " + m.stateWord(k, now), Ink: ink}},
		{widget.Column{Title: "KEY", Width: m.list.nameWidth}, widget.C(k.Name)},
		{widget.Column{Title: "LEVEL", Width: 7, Priority: 1}, widget.C(k.Level.String())},
		{widget.Column{Title: "DUTY", Width: 9, Priority: 4}, widget.C(dutyCell(k.Duty))},
		{widget.Column{Title: "EXPIRES", Width: m.list.clockWidth[0]}, widget.Cell{Text: expiresCell(k, now), Ink: m.expiryInk(k)}},
		{widget.Column{Title: "ROTATED", Width: 15, Priority: 3}, widget.C(widget.RotatedCell(k, now))},
		{widget.Column{Title: m.list.clockTitle, Width: m.list.clockWidth[1]}, widget.Cell{Text: widget.RotationCell(k, now), Ink: m.rotationInk(k)}},
		{widget.Column{Title: "USED BY", Width: 9, Flex: true, Priority: 2}, m.usedByCell(k)},
	} {
		columns, cells = append(columns, c.Column), append(cells, c.Cell)
	}
	return columns, cells
}

// stateWord is the word of a key's state; where its clocks ask for nothing, that of a rotation which did
// not come to its end.
func (m *Model) stateWord(k model.Key, now time.Time) string {
	if p, left := m.unfinished(k); left && !k.Due(now) {
		return p.UnfinishedWord()
	}
	return k.StateWord(now, soon)
}

// stateMark is the glyph and the ink of stateWord.
func (m *Model) stateMark(k model.Key, now time.Time) (glyph string, ink kit.Ink) {
	state := k.State(now, soon)
	if _, left := m.unfinished(k); left {
		state = max(state, model.KeySoon)
	}
	return m.deps.Theme.KeyMark(state)
}

func (m *Model) expiryInk(k model.Key) kit.Ink {
	t := m.deps.Theme
	switch k.Expires.State(m.now(k), soon) {
	case model.ExpiryStateExpired:
		return t.Bad
	case model.ExpiryStateSoon, model.ExpiryStateUnlimited:
		return t.Warn
	case model.ExpiryStateUnknown:
		return t.Note
	}
	return t.Text
}

func (m *Model) rotationInk(k model.Key) kit.Ink {
	t := m.deps.Theme
	switch k.Rotation.State(m.now(k), soon) {
	case model.RotationOverdue:
		return t.Bad
	case model.RotationSoon, model.RotationDue:
		return t.Warn
	case model.RotationUnknown:
		return t.Note
	}
	return t.Text
}

func (m *Model) renderStrip(w, h int) string {
	if h == 0 {
		return ""
	}
	t := m.deps.Theme
	iw, _ := widget.Inner(w, h)
	if m.list.stripW != iw {
		m.list.strip, m.list.stripW = calendar(m.list.days, m.deps.Now(), iw-2), iw
	}
	s := m.list.strip
	title := ""
	if s.next != "" {
		title += " · next: " + s.next
	}
	head := m.withDue("Next 90 days")
	if scale := fmt.Sprintf(" · %d days per mark", s.perCell); s.perCell > 1 && cellsWidth(head)+text.Width(title+scale) <= w-5 {
		title += scale // the axis tells it, too
	}
	legend := t.Muted.Render("E expires · R rotation due" + kit.Reason(strings.ContainsAny(s.marks, "23456789+"), " · a digit: so many"))
	if m.list.unread == nil {
		if long := m.reached() + t.Muted.Render(" · ") + legend; text.Width(s.axis)+text.Width(long)+4 <= iw {
			legend = long
		}
	}
	axis := " " + t.Muted.Render(s.axis)
	if room := iw - text.Width(s.axis) - 2; room > text.Width(legend)+2 {
		axis = text.Edge(axis, legend+" ", iw)
	}
	return widget.PaneOf(t, append(head, widget.C(title)), nil, false, w, h, " "+m.inkStrip(s)+"\n"+axis)
}

func cellsWidth(cells []widget.Cell) (width int) {
	for _, c := range cells {
		width += text.Width(c.Text)
	}
	return width
}

// reached says how many keys have reached each threshold; those that are due have the colour of it.
func (m *Model) reached() string {
	t := m.deps.Theme
	out := t.Muted.Render("keys within ")
	for i, days := range model.Thresholds() {
		if i > 0 {
			out += t.Muted.Render(" · ")
		}
		ink := t.Muted
		if days == model.SoonDays && m.list.due > 0 {
			ink = m.dueInk()
		}
		out += ink.Render(fmt.Sprintf("%d d: %d", days, m.list.within[i]))
	}
	return out
}

// inkStrip colours the marks; their letters say the same without colour.
func (m *Model) inkStrip(s strip) string {
	t := m.deps.Theme
	_, due := t.KeyMark(model.KeySoon)
	var b strings.Builder
	for i, r := range []rune(s.marks) {
		switch {
		case r == markNone:
			b.WriteString(t.Muted.Render(string(r)))
		case i*s.perCell <= model.SoonDays:
			b.WriteString(due.Render(string(r)))
		default:
			b.WriteString(t.Text.Render(string(r)))
		}
	}
	return b.String()
}

func (m *Model) renderSide(s side, focused bool, w, h int) string {
	var title string
	var lines []string
	switch s {
	case sideLint:
		title, lines = "Lint ("+m.findingCount()+")", m.lintLines(w-4)
	case sideRadius:
		title, lines = "Blast radius", m.radiusLines(w-4)
	case sideLevels:
		title, lines = "Levels · contract 5.3", m.levelLines(w-4)
	default:
		title, lines = "Details", m.detailLines(w-4)
	}
	at := &widget.Scroll{}
	if s == m.side {
		at = &m.text
	}
	return at.Pane(m.deps.Theme, title, focused, w, h, lines)
}

func (m *Model) detailLines(w int) []string {
	t := m.deps.Theme
	k, ok := m.selected()
	now := m.now(k)
	if !ok && m.list.unread != nil {
		return widget.Hung("! ", t.Warn, m.list.unread.Error(), w)
	}
	if !ok && len(m.list.keys) > 0 {
		return []string{t.Muted.Render("no key matches the filter")}
	}
	if !ok {
		return []string{t.Muted.Render(t.Key("keys.add") + " records a key: its dates and where its value is, never the value")}
	}
	glyph, ink := m.stateMark(k, now)
	out := []string{ink.Render(glyph+" "+m.stateWord(k, now)) + "  " + t.Strong.Render(text.Clean(k.Name)) + t.Muted.Render("  "+k.Level.String()+" · "+text.Clean(dutyCell(k.Duty)))}
	for _, c := range clocks(k, now) {
		out = append(out, widget.Hung(c.name, kit.Ink{}, c.text, w)...)
	}
	if line := m.skewLine(); line != "" {
		out = append(out, widget.Hung(t.Muted.Render("Clock     "), kit.Ink{}, line, w)...)
	}
	if p, running := m.running(k.Name); running {
		out = append(out, widget.Hung(t.Warn.Render("Rotating  "), t.Warn, planProgress(p)+" · "+t.Key("keys.rotate")+" continues"+datesOf(p), w)...)
	} else if p, left := m.unfinished(k); left {
		out = append(out, widget.Hung(t.Warn.Render("Rotation  "), t.Warn, p.UnfinishedState()+" · "+t.Key("keys.lint")+" says what to do"+datesOf(p), w)...)
	}
	if p, ended := m.ended(k); ended {
		words := "the last rotation ended "
		if p.Abandoned {
			words = "the last rotation was given up "
		}
		out = append(out, widget.Hung(t.Muted.Render("Rotated   "), kit.Ink{}, words+widget.Moment(p.Ended, now)+" · "+t.Key("keys.last-rotation")+" opens it", w)...)
	}
	add := func(name, value string) {
		out = append(out, widget.Fact(t, name, cmp.Or(value, "not recorded"), w)...)
	}
	out = append(out, widget.Fact(t, "Seen", m.seenLine(k, now), w)...)
	add("Used by", strings.Join(k.UsedBy, ", "))
	value := kit.RefLabel(k.Secret)
	if k.Last4 != "" {
		value += " · ••••" + k.Last4
	}
	add("Value", strings.TrimPrefix(value, " · "))
	if k.Fingerprint != "" {
		add("Print", k.Fingerprint)
	}
	if k.Note != "" {
		add("Note", k.Note)
	}
	for _, f := range m.list.ofKey[k.Name] {
		out = append(out, m.findingLines(f, w)...)
	}
	return out
}

// findingCount is how many findings there are; while the keys are not known, that there may be more.
func (m *Model) findingCount() string {
	n := text.Count(len(m.list.findings))
	if m.list.unread != nil {
		n += "…"
	}
	return n
}

// maxFindings bounds the findings that the pane shows: 'zonedeck keys lint' prints all.
const maxFindings = 200

func (m *Model) lintLines(w int) []string {
	if len(m.list.findings) == 0 && m.list.unread == nil {
		return []string{m.deps.Theme.Good.Render("✓ the rules find nothing wrong with these keys")}
	}
	var out []string
	if m.list.unread != nil {
		out = widget.Hung("! ", m.deps.Theme.Warn, m.list.unread.Error(), w)
	}
	key := ""
	for i, f := range m.list.findings {
		if i == maxFindings {
			return append(out, widget.Wrapped(m.deps.Theme.Muted, fmt.Sprintf("and %s more: 'zonedeck keys lint' prints all", text.Count(len(m.list.findings)-i)), w)...)
		}
		if f.Key != key {
			key = f.Key
			out = append(out, m.deps.Theme.Strong.Render(text.Clean(key)))
		}
		out = append(out, m.findingLines(f, w)...)
	}
	return out
}

// findingLines are a finding's text, rule and fix.
func (m *Model) findingLines(f keystore.Finding, w int) []string {
	t := m.deps.Theme
	ink := t.Muted
	switch f.Severity {
	case keystore.SeverityError:
		ink = t.Bad
	case keystore.SeverityWarn:
		ink = t.Warn
	}
	out := widget.Hung(ink.Render(severityMark(f.Severity)+" "), ink, f.Text+" ("+f.Rule+")", w)
	out = append(out, widget.Hung("  ", t.Muted, "seen: "+f.Evidence, w)...)
	return append(out, widget.Hung("  ", t.Muted, "fix: "+f.Fix+" · "+f.Source, w)...)
}

func severityMark(s string) string {
	switch s {
	case keystore.SeverityError:
		return "✗"
	case keystore.SeverityWarn:
		return "!"
	default:
		return "·"
	}
}

// levelLines is the permission matrix, with the selected key's level marked.
func (m *Model) levelLines(w int) []string {
	t := m.deps.Theme
	selected := model.LevelUnknown
	if k, ok := m.selected(); ok {
		selected = k.Level
	}
	head := text.Fit("  LEVEL", 11) + text.Fit("BILLING", 9) + text.Fit("SETTINGS", 10) + text.Fit("USE", 5) + "INTENDED FOR"
	out := []string{t.Muted.Render(text.Cut(head, w))}
	for _, l := range model.Levels() {
		mark, ink := "  ", t.Text
		if l == selected {
			mark, ink = "› ", t.Strong
		}
		line := text.Fit(mark+l.String(), 11)
		for i, c := range model.Capabilities() {
			line += text.Fit(l.Permission(c).String(), [...]int{9, 10, 5}[i])
		}
		for i, use := range text.Wrap(l.IntendedUse(), max(w-text.Width(line), 12)) {
			if i > 0 {
				line = strings.Repeat(" ", 35)
			}
			out = append(out, ink.Render(text.Cut(line+use, w)))
		}
	}
	return append(out, widget.Wrapped(t.Muted, "Automated jobs use USER or OPS, never ADMIN (contract 5.4). partial: proxy passwords and IP allow/deny lists.", w)...)
}
