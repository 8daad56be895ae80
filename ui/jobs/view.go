package jobs

import (
	"fmt"
	"strconv"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Render draws the panes; see areas.
func (m *Model) Render(w, h int) string {
	var frame string
	frame, m.drawn = widget.Tile(m.areas(w, h), func(a kit.Area) string {
		switch a.Pane {
		case panePreview:
			return m.renderPreview(a.W, a.H)
		case paneDetail:
			return m.renderDetail(a.W, a.H)
		default:
			return m.renderList(a.W, a.H)
		}
	})
	return frame
}

func (m *Model) renderList(w, h int) string {
	if m.ledger.err != "" && len(m.ledger.jobs) == 0 {
		return widget.Pane(m.deps.Theme, "Jobs", true, w, h, strings.Join(m.wrapped("The ledger cannot be read: "+m.ledger.err+". r reads it again.", w-4), "\n"))
	}
	focused := m.ring.At == paneList
	iw, ih := widget.Inner(w, h)
	title := "Jobs"
	if n := len(m.ledger.jobs); n > 0 {
		title = fmt.Sprintf("Jobs (%d)", n)
	}
	if older := m.ledger.total - maxListed; older > 0 {
		title = fmt.Sprintf("Jobs (the %d newest; 'zonedeck jobs list' shows %d older)", len(m.ledger.jobs), older)
	}
	return widget.Pane(m.deps.Theme, title, focused, w, h, m.ledger.find.Render(&m.ledger.table, focused, iw, ih))
}

func (m *Model) row(i int) []widget.Cell {
	j, t := m.ledger.jobs[i], m.deps.Theme
	glyph, ink := t.JobMark(j.State)
	return []widget.Cell{
		{Text: glyph + " " + j.State.Label(), Ink: ink},
		widget.C(jobName(j)), widget.C(j.Dataset), widget.C(strconv.Itoa(j.Inputs)), widget.C(count(j.Records)),
		{Text: text.Ago(j.Created, m.deps.Now()), Ink: t.Muted},
		widget.C(j.KeyName),
	}
}

func (m *Model) renderDetail(w, h int) string {
	t, focused := m.deps.Theme, m.ring.At == paneDetail
	iw, ih := widget.Inner(w, h)
	j, ok := m.selected()
	if !ok {
		return widget.Pane(t, "Job", focused, w, h, "\n "+t.Muted.Render("the selected job's history appears here"))
	}
	lines := m.detail(j, iw-2)
	top := max(0, min(m.detailTop, len(lines)-ih))
	m.detailTop = top
	var b strings.Builder
	for _, l := range lines[top:min(top+ih, len(lines))] {
		b.WriteString(" " + l + "\n")
	}
	title := jobTitle(j)
	if more := len(lines) - top - ih; more > 0 {
		title += fmt.Sprintf(" · %d lines more", more)
	}
	return widget.Pane(t, title, focused, w, h, b.String())
}

// detail is the text of the detail pane, without a frame.
func (m *Model) detail(j model.Job, w int) []string {
	t, now := m.deps.Theme, m.deps.Now()
	glyph, ink := t.JobMark(j.State)
	head := ink.Render(glyph + " " + j.State.Label())
	if j.Wire != "" && j.Wire != string(j.State) {
		says := " (the service says "
		if j.State.Final() {
			says = " (the service last said "
		}
		head += t.Muted.Render(says + text.Clean(j.Wire) + ")")
	}
	out := []string{head}
	if !j.State.Final() && j.State != model.JobMayHave || j.State == model.JobReady {
		out = append(out, progressLine(j, w))
	}
	if j.ID == m.work.downloading {
		out = append(out, "downloading · "+text.Bytes(m.work.received))
	}
	if j.Detail != "" {
		out = append(out, m.wrapped(j.Detail, w)...)
	}
	for _, a := range advice(j) {
		for _, l := range m.wrapped(a, w) {
			out = append(out, t.Warn.Render(l))
		}
	}
	out = append(out, m.notes(j, w)...)
	out = append(out, "")
	for _, s := range j.Steps {
		_, ink := t.JobMark(s.State)
		line := t.Muted.Render(text.Clock(s.At, now)) + "  " + ink.Render(text.Fit(s.State.Label(), 9)) + "  "
		indent := strings.Repeat(" ", text.Width(line))
		for i, l := range m.wrapped(s.Text, max(w-text.Width(line), 12)) {
			if i == 0 {
				out = append(out, line+l)
			} else {
				out = append(out, indent+l)
			}
		}
	}
	return append(out, m.facts(j, w)...)
}

// notes say whether the console follows the job, and why not.
func (m *Model) notes(j model.Job, w int) []string {
	t := m.deps.Theme
	var text string
	watched := m.work.watches[j.ID]
	switch why := m.whyNotAsk(j); {
	case j.State == model.JobReady && j.Records >= 0 && j.Records < j.Inputs:
		var out []string
		for _, l := range m.wrapped(fmt.Sprintf("! %d records from %d inputs: some inputs returned none", j.Records, j.Inputs), w) {
			out = append(out, t.Warn.Render(l))
		}
		return out
	case j.State.Final() || j.State == model.JobMayHave:
		return nil
	case watched.on:
		text = "followed: the service is asked now and then until the state is final"
	case watched.err != "":
		text = "not followed any more: " + watched.err + " · f follows it again"
	case why != "":
		text = "not followed: " + why
	case watchable(j):
		text = "waiting to be followed · f follows it now"
	default:
		return nil
	}
	out := m.wrapped(text, w)
	for i := range out {
		out[i] = t.Muted.Render(out[i])
	}
	return out
}

// facts are the identifiers and files, one per line.
func (m *Model) facts(j model.Job, w int) []string {
	t := m.deps.Theme
	out := []string{""}
	add := func(name, value string) {
		for i, l := range text.Wrap(text.Clean(value), max(w-10, 8)) {
			if i > 0 {
				name = ""
			}
			if value != "" {
				out = append(out, t.Muted.Render(text.Fit(name, 10))+l)
			}
		}
	}
	add("snapshot", j.Snapshot)
	add("ledger id", j.ID)
	add("profile", j.Profile)
	add("key", j.KeyName)
	add("created", text.When(j.Created, m.deps.Now()))
	if j.File != "" {
		add("size", text.Bytes(j.Bytes))
		add("file", j.File)
	}
	add("cost", cost)
	return out
}

func (m *Model) wrapped(s string, w int) []string {
	return text.Wrap(text.CleanLines(s), max(w, 8))
}
