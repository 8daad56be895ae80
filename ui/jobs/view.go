package jobs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Render draws the panes; see areas.
func (m *Model) Render(w, h int) string {
	if m.records.Open() {
		return m.records.Render(w, h)
	}
	if m.drift.Open() {
		return m.drift.Render(w, h)
	}
	return m.panes.Draw(w, h, m.areas, func(a kit.Area) string {
		switch {
		case m.preview.open:
			return m.renderPreview(a.W, a.H)
		case a.Pane == paneDetail && !m.unreadable():
			return m.renderDetail(a.W, a.H)
		default:
			return m.renderList(a.W, a.H)
		}
	})
}

// sending is shown in the list until the job that is being sent is in it.
const sending = "a job is being sent"

func (m *Model) renderList(w, h int) string {
	t, focused := m.deps.Theme, m.panes.At == paneList
	iw, ih := widget.Inner(w, h)
	if m.unreadable() {
		lines := widget.Wrapped(kit.Ink{}, "The ledger cannot be read: "+m.ledger.err.Error()+". r reads it again.", iw-2)
		return widget.Pane(t, "Jobs", true, w, h, strings.Join(lines, "\n"))
	}
	title := "Jobs"
	n := len(m.ledger.jobs)
	if n > 0 {
		title = fmt.Sprintf("Jobs (%d)", n)
	}
	if shown := len(m.ledger.visible); shown < n {
		title = fmt.Sprintf("Jobs (%d of %d)", shown, n)
	}
	if older := m.ledger.total - maxListed; older > 0 {
		title = fmt.Sprintf("Jobs (the %d newest; 'zonedeck jobs list' shows %d older)", n, older)
	}
	title += m.ledger.table.News()
	if n > 0 && m.work.trigger.Running() {
		title += " · " + sending
	}
	switch {
	case m.work.trigger.Running():
		m.ledger.table.Empty = sending
	case !m.ledger.loaded:
		m.ledger.table.Empty = "reading the ledger…"
	default:
		m.ledger.table.Empty = "no jobs yet: n launches one"
	}
	if m.ledger.filter.Text() != "" && len(m.ledger.jobs) > 0 {
		m.ledger.table.Empty = "nothing matches: esc shows all jobs"
	}
	if line := m.ledger.filter.Line(t, len(m.ledger.visible), len(m.ledger.jobs), iw); line != "" {
		return widget.Pane(t, title, focused, w, h, widget.Stack(m.ledger.table.Render(t, focused, iw, ih-1), line))
	}
	return widget.Pane(t, title, focused, w, h, m.ledger.table.Render(t, focused, iw, ih))
}

func (m *Model) row(i int) []widget.Cell {
	j, t := m.ledger.visible[i], m.deps.Theme
	glyph, ink := t.JobMark(j)
	out := []widget.Cell{
		{Text: glyph + " " + j.Label(), Ink: ink},
		widget.C(j.ID), widget.C(cmp.Or(j.Snapshot, "-")), widget.C(j.Dataset), widget.C(strconv.Itoa(j.Inputs)), widget.C(count(j.ResultRecords())),
		{Text: widget.Age(m.session, j.Profile, j.Created, m.deps.Clock.Now()), Ink: t.Muted},
		widget.C(j.KeyName),
	}
	if m.ledger.files {
		name := ""
		if j.File != "" {
			name = filepath.Base(j.File)
		}
		out = append(out, widget.C(name))
	}
	return append(out, widget.C(j.Profile))
}

func (m *Model) renderDetail(w, h int) string {
	title, lines := "Job", m.introLines(w-4)
	if j, ok := m.selected(); ok {
		title, lines = jobTitle(j), m.detailLines(j, w-4)
	}
	return m.detail.Pane(m.deps.Theme, title, m.panes.At == paneDetail, w, h, lines)
}

// introLines say what the tab does while there is no job to show.
func (m *Model) introLines(w int) []string {
	t := m.deps.Theme
	if len(m.ledger.jobs) > 0 {
		return []string{"", t.Muted.Render("the selected job's history appears here")}
	}
	out := widget.Wrapped(t.Muted, "A job has the service collect many inputs of a data set. It is in the ledger before it is sent, and sent once; the console watches it "+
		"until it is final, and keeps its result as a file.", w)
	return append(append(out, ""), widget.Offers(t, m.Bindings(), "Job", w)...)
}

func (m *Model) detailLines(j model.Job, w int) []string {
	t, now := m.deps.Theme, m.deps.Clock.Now()
	glyph, ink := t.JobMark(j)
	out := []string{ink.Render(glyph + " " + j.Label())}
	if says := saysOf(j, now); says != "" {
		out = widget.Hung(out[0]+" ", t.Muted, "("+says+")", w)
	}
	if j.GivenUp() && !m.work.followed[j.ID].On {
		out = append(out, widget.Wrapped(t.Warn, "It is not asked for any more: f asks again.", w)...)
	}
	if hasProgress(j) {
		out = append(out, progressLine(j, w))
	}
	out = append(out, m.downloadLines(j, w)...)
	if j.Detail != "" {
		out = append(out, widget.Wrapped(kit.Ink{}, j.Detail, w)...)
	}
	if !j.HookDue.IsZero() && !j.State.Final() {
		out = append(out, widget.Fact(t, "webhook", hookWords(j, now), w)...)
	}
	for _, a := range advice(j) {
		out = append(out, widget.Wrapped(t.Warn, a, w)...)
	}
	out = append(out, m.faultLines(j, w)...)
	out = append(out, m.notes(j, w)...)
	out = append(out, m.rowLines(j.Rows, w)...)
	if words := j.LackingWords(); words != "" {
		out = append(out, widget.Wrapped(t.Warn, "! "+words+"; d downloads it again", w)...)
	}
	if bad := j.Rejected(); bad.Rows > 0 {
		out = append(out, widget.Fact(t, "bad rows", fmt.Sprintf("%d, kept in %s", bad.Rows, bad.File), w)...)
	}
	if j.File != "" {
		out = append(out, widget.Fact(t, "file", j.File, w)...)
		out = append(out, widget.Fact(t, "size", text.Bytes(j.Bytes), w)...)
	}
	out = append(out, "")
	label := 9
	for _, s := range j.Steps {
		label = max(label, text.Width(s.State.Label()))
	}
	for _, s := range slices.Backward(j.Steps) {
		_, ink := t.StateMark(s.State)
		head := t.Muted.Render(text.Clock(s.At, now)) + "  " + ink.Render(text.Fit(s.State.Label(), label)) + "  "
		out = append(out, widget.Hung(head, kit.Ink{}, s.Text, max(w, text.Width(head)+12))...)
	}
	return append(out, m.facts(j, w)...)
}

// saysOf is the service's word for a job if it differs from the state. For a job that is not asked for any more,
// or was forgotten, it says when the job was last seen.
func saysOf(j model.Job, now time.Time) string {
	at, wire := text.Clock(j.Fault.Seen, now), j.Wire
	known := !j.Fault.Seen.IsZero()
	switch {
	case known && j.GivenUp():
		return "last seen at " + at
	case known && j.Forgotten() && wire == "":
		return "accepted at " + at + ", never seen since"
	case known && j.Forgotten():
		return "last seen " + wire + " at " + at
	case wire == "" || wire == string(j.State):
		return ""
	case j.State.Final():
		return "the service last said " + wire
	default:
		return "the service says " + wire
	}
}

// hookWords say until when a job's webhook is waited for.
func hookWords(j model.Job, now time.Time) string {
	if j.State == model.JobMayHave && now.After(j.HookDue) {
		return "was due by " + text.Clock(j.HookDue, now) + " and has not come"
	}
	if j.State == model.JobMayHave {
		return "due by " + text.Clock(j.HookDue, now) + ": if one comes, it has started"
	}
	return "due by " + text.Clock(j.HookDue, now) + ", then polled"
}

// faultLines are the verdict on the last call that failed: its class, what it is based
// on, and what to do next.
func (m *Model) faultLines(j model.Job, w int) []string {
	f := j.Fault
	if !f.Any() {
		return nil
	}
	t, out := m.deps.Theme, m.verdictLines(f, w)
	for _, s := range m.steps(j) {
		switch {
		case s.disabled != "":
			out = append(out, widget.Hung("do next   ·   ", t.Muted, s.help+" · "+s.disabled, w)...)
			continue
		case s.key == "":
			out = append(out, widget.Hung("do next   ·   ", kit.Ink{}, s.help, w)...)
			continue
		}
		out = append(out, widget.Hung("do next   "+t.KeyHint.Render("["+s.key+"]")+" ", kit.Ink{}, s.help, w)...)
	}
	return out
}

// rowLines account for the rows of a downloaded result.
func (m *Model) rowLines(r model.JobRows, w int) []string {
	t := m.deps.Theme
	if !r.Counted {
		if r.Problem != "" {
			return widget.Wrapped(t.Warn, "! the rows were not counted: "+text.Clean(r.Problem), w)
		}
		return nil
	}
	line := fmt.Sprintf("%s · %d useful", text.Counted(r.Returned, "row"), r.Useful)
	if n := r.Failed(); n > 0 {
		line += " · " + text.Counted(n, "error")
	}
	if r.Empty > 0 {
		line += fmt.Sprintf(" · %d empty", r.Empty)
	}
	if r.Billed >= 0 {
		line += fmt.Sprintf(" · %d billed (%s)", r.Billed, model.CostWords(r.Cost, r.Priced))
	}
	out := widget.Wrapped(kit.Ink{}, line, w)
	for _, e := range r.Errors {
		_, ink := t.ClassMark(e.Class)
		head := ink.Render(fmt.Sprintf("%d × %s", e.Rows, cmp.Or(text.Clean(e.Code), "no code"))) + "  "
		out = append(out, widget.Hung(head, kit.Ink{}, model.ClassWord(e.Class, e.Cause)+": "+text.Clean(e.Text), max(w, text.Width(head)+12))...)
	}
	return out
}

// notes say whether the console follows the job, or why not.
func (m *Model) notes(j model.Job, w int) []string {
	t := m.deps.Theme
	followed, known := m.work.followed[j.ID]
	switch why := m.whyNotAsk(j); {
	case j.State == model.JobReady && j.Records >= 0 && j.Records < j.Inputs:
		said := fmt.Sprintf("! %s from %s", text.Counted(j.Records, "record"), text.Counted(j.Inputs, "input"))
		if j.Inputs > 1 {
			said += ": some inputs returned none"
		}
		return widget.Wrapped(t.Warn, said, w)
	case j.State.Final() || j.State == model.JobMayHave || j.GivenUp() && !followed.On:
		return nil
	case followed.On && j.Unknown():
		return widget.Wrapped(t.Muted, "followed: the service is asked for some minutes before that counts", w)
	case followed.On:
		return widget.Wrapped(t.Muted, "followed: the service is asked now and then until the state is final", w)
	case followed.Err != nil:
		return widget.Wrapped(t.Muted, "not followed: "+followed.Err.Error()+" · f follows it again", w)
	case known:
		return widget.Wrapped(t.Muted, "not followed any more · f follows it again", w)
	case why != "":
		return widget.Wrapped(t.Muted, "not followed: "+why, w)
	case watchable(j):
		return widget.Wrapped(t.Muted, "waiting to be followed · f follows it now", w)
	default:
		return nil
	}
}

// hasProgress reports whether a job has a line of progress, which names its inputs.
func hasProgress(j model.Job) bool {
	return !j.State.Final() && j.State != model.JobMayHave || j.State.HasResult()
}

// noCostWords say why it is not known what a job has cost, where rowLines do not say what it has.
func noCostWords(j model.Job) string {
	switch {
	case j.Rows.Counted && j.Rows.Billed >= 0:
		return ""
	case j.Lacking() > 0:
		return "not known: records that did not come may be billed"
	case j.Rows.Counted:
		return "not known: the dialect does not show which rows are billed"
	case j.State.HasResult():
		return "not counted yet: a download counts the rows"
	default:
		return j.EndedWords()
	}
}

// facts are what does not change, one per line.
func (m *Model) facts(j model.Job, w int) []string {
	out := []string{""}
	add := func(name, value string) {
		if value != "" {
			out = append(out, widget.Fact(m.deps.Theme, name, value, w)...)
		}
	}
	if !hasProgress(j) {
		add("inputs", strconv.Itoa(j.Inputs))
	}
	add("snapshot", j.Snapshot)
	add("repeats", j.Repeats)
	add("profile", j.Profile)
	add("key", j.KeyName)
	add("created", widget.DateAndAge(m.session, j.Profile, j.Created, m.deps.Clock.Now()))
	add("cost", noCostWords(j))
	return out
}
