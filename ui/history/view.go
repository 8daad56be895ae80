package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Render draws the tab; see kit.View.
func (m *Model) Render(w, h int) string {
	if m.log.on {
		return m.renderLog(w, h)
	}
	th := m.deps.Theme
	iw, ih := widget.Inner(w, h)
	var lines []string
	if m.filter.Typing() {
		lines = append(lines, m.filter.Line(th, 0, -1, iw))
	}
	lines = append(lines, m.stripLines(iw)...)
	detail := m.detail(iw)
	m.drawn = nil
	if m.loaded && !m.filter.Typing() {
		m.drawn = kit.Regions{{Y: 1 + len(lines), W: w, H: ih - len(lines) - len(detail), Bare: true}}
	}
	body := strings.Join(lines, "\n") + "\n" + m.renderList(iw, ih-len(lines)-len(detail)) + "\n" + strings.Join(detail, "\n")
	return widget.ScrollPane(th, m.heading(), &m.table, true, w, h, body)
}

func (m *Model) heading() string {
	head := "History"
	if m.filter.Text() != "" {
		head += " / " + m.filter.Text()
	}
	if m.filter.every {
		head += " · all profiles"
	}
	switch {
	case !m.loaded || m.win.n == 0:
	case m.win.end:
		head += fmt.Sprintf("  %s of %s", text.Count(m.table.Cursor()+1), text.Count(m.win.n))
	default:
		head += fmt.Sprintf("  %s of %s or more", text.Count(m.table.Cursor()+1), text.Count(m.win.n))
	}
	if m.table.Cursor() > 0 {
		head += m.news.label(m.deps.Theme.Key("history.reload"))
	}
	if m.walk.Running() {
		head += "  going to the oldest…"
	}
	return head
}

func (m *Model) renderList(w, h int) string {
	th := m.deps.Theme
	switch {
	case h <= 0:
		return ""
	case !m.loaded && m.problem != "":
		return widget.Trouble(th, m.problem, th.Key("history.reload")+" tries again.", w, h)
	case !m.loaded:
		return widget.Block("\n "+th.Muted.Render("reading the journal…"), w, h)
	}
	return m.table.Render(th, !m.filter.Typing(), w, h)
}

// stripLines are the share of each class among the entries in memory, and what they cost:
// in one line, if need be without the percentages, else in two.
func (m *Model) stripLines(w int) []string {
	th := m.deps.Theme
	if m.strip.total == 0 {
		return []string{th.Muted.Render(text.Fit(" no outcomes in view", w))}
	}
	var sums []string
	for _, name := range slices.Sorted(maps.Keys(m.strip.spend)) {
		sums = append(sums, m.strip.spend[name].String())
		if m.everyProfile() {
			sums[len(sums)-1] = text.Cut(text.Clean(name), 24) + " " + sums[len(sums)-1]
		}
	}
	head, n := "  "+th.Muted.Render("cost")+" ", len(sums)
	cost := head + cmp.Or(strings.Join(sums, " · "), "$0")
	for _, line := range []string{m.rates(true) + cost, m.rates(false) + cost} {
		if text.Width(line) <= w {
			return []string{text.Fit(line, w)}
		}
	}
	for ; n > 1 && text.Width(cost) > w; n-- {
		cost = head + strings.Join(sums[:n-1], " · ") + fmt.Sprintf(" · … %d more", len(sums)-n+1)
	}
	return []string{text.Fit(m.rates(false), w), text.Fit(cost, w)}
}

// rates lists the classes with their counts, and with shares also as percentages.
func (m *Model) rates(shares bool) string {
	th := m.deps.Theme
	var b strings.Builder
	if shares {
		b.WriteString(th.Muted.Render(" last " + text.Count(m.strip.total) + ":"))
	}
	for _, c := range model.Classes() {
		n := m.strip.counts[c]
		if n == 0 {
			continue
		}
		glyph, ink := th.ClassMark(c)
		word := model.ClassWord(c, "")
		if c == model.ClassOutside {
			word = "other failures"
		}
		b.WriteString("  " + ink.Render(glyph+" "+word) + " " + text.Count(n))
		if shares {
			fmt.Fprintf(&b, " (%d %%)", (n*100+m.strip.total/2)/m.strip.total)
		}
	}
	return b.String()
}

func (m *Model) row(i int) []widget.Cell {
	a, ok := m.win.at(i)
	if !ok {
		return []widget.Cell{{Text: "…", Ink: m.deps.Theme.Muted}}
	}
	th := m.deps.Theme
	class := widget.Cell{Text: "-", Ink: th.Muted}
	if word := a.Outcome(); word != "" {
		glyph, ink := th.OutcomeMark(a.Class, a.Cause)
		class = widget.Cell{Text: glyph + " " + word, Ink: ink}
	}
	status, duration, via := "-", "-", ""
	if a.Status > 0 {
		status = strconv.Itoa(a.Status)
	}
	if a.Total > 0 {
		duration = text.Duration(a.Total)
	}
	if a.Via != "" {
		via = a.Via.String()
	}
	zone := widget.C(a.Zone)
	if a.Kind == model.HistoryKey {
		zone = widget.Cell{Text: a.Key, Ink: th.Muted}
	}
	cells := []widget.Cell{
		{Text: a.Profile, Ink: th.Muted},
		{Text: text.ShortClock(a.At, m.deps.Now()), Ink: th.Muted},
		widget.C(a.Kind.Word()), class, zone, widget.C(via),
		{Text: a.Key, Ink: th.Muted},
		widget.C(status), widget.C(duration),
		{Text: a.CostWords(), Ink: th.Muted},
		{Text: describe(a), Short: briefly(a)},
	}
	if !m.everyProfile() {
		return cells[1:]
	}
	return cells
}

// describe describes an entry in one line.
func describe(a model.HistoryEntry) string {
	if a.Source == "" || a.Kind == model.HistoryAgent {
		return happened(a)
	}
	return "[" + a.Source + "] " + happened(a)
}

// briefly is what matters of an entry where there is no room for all: of one with a class what it was
// about, of another what happened. The line below the list has the whole of the selected one.
func briefly(a model.HistoryEntry) string {
	switch {
	case a.Text == "" || a.URL == "":
		return ""
	case a.Class != "":
		a.Text = ""
	default:
		a.URL = ""
	}
	return describe(a)
}

func happened(a model.HistoryEntry) string {
	switch {
	case a.Text != "" && a.URL != "" && !strings.Contains(a.Text, a.URL):
		return a.URL + "  " + a.Text
	case a.Text != "":
		return a.Text
	default:
		return a.URL
	}
}

// whatLines bounds the lines of a description below the list.
const whatLines = 3

// detail shows the selected entry below the list: its facts in one line, and its
// description.
func (m *Model) detail(w int) []string {
	a, ok := m.current()
	if !ok {
		return nil
	}
	words := text.Wrap(text.Clean(describe(a)), max(w-2, 8))
	if len(words) > whatLines {
		words = append(words[:whatLines-1], strings.Join(words[whatLines-1:], " "))
	}
	return widget.Foot(m.deps.Theme, w, append(text.Wrap(text.Clean(m.facts(a)), max(w-2, 8)), words...)...)
}

// lineText is an entry in one line.
func (m *Model) lineText(a model.HistoryEntry) string { return m.facts(a) + " · " + describe(a) }

// by says who did an entry that was not the operator.
func by(source string) string {
	if source == model.SourceAgent {
		return "by an agent"
	}
	return "by a " + source
}

// facts is everything known about an entry except its description.
func (m *Model) facts(a model.HistoryEntry) string {
	now := m.deps.Now()
	parts := []string{widget.DateAndAge(m.session, a.Profile, a.At, now), a.Kind.Word()}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(a.Outcome())
	if a.Cause != "" && a.Class != "" && a.Class != model.ClassOutside {
		add(strings.ReplaceAll(string(a.Cause), "_", " "))
	}
	if a.Status > 0 {
		add(strconv.Itoa(a.Status))
	}
	if a.Source != "" {
		add(by(a.Source))
	}
	add(a.Profile)
	add(a.Zone)
	if a.Via != "" {
		add(a.Via.String())
	}
	add(a.Key)
	if a.Total > 0 {
		add(text.Duration(a.Total))
	}
	if a.Kind == model.HistoryFetch && a.Status > 0 {
		add(text.Bytes(a.Bytes))
	}
	switch c := a.CostWords(); c {
	case "":
	case model.NoZone:
		add("no zone: only zones are billed (contract 1)")
	default:
		add(c)
	}
	return strings.Join(parts, " · ")
}
