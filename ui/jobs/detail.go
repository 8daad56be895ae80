package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// detail shows one job: how it stands, what became of its calls, and what to do next.
type detail struct {
	m      *Model
	scroll widget.Scroll
}

func (d *detail) render(w, h int) string {
	title, lines := "Job", d.intro(w-4)
	if j, ok := d.m.list.selected(); ok {
		title, lines = jobTitle(j), d.lines(j, w-4)
	}
	return d.scroll.Pane(d.m.deps.Theme, title, d.m.panes.At == paneDetail, w, h, lines)
}

// intro say what the tab does while there is no job to show.
func (d *detail) intro(w int) []string {
	t := d.m.deps.Theme
	if len(d.m.list.jobs) > 0 {
		return []string{"", t.Muted.Render("the selected job's history appears here")}
	}
	out := widget.Wrapped(t.Muted, "A job makes the service collect many pages for one data set. It is written down before it is sent, and is sent only once. The console "+
		"follows it to its end and saves the result as a file.", w)
	return append(append(out, ""), widget.Offers(t, d.m.Bindings(), "Job", w)...)
}

func (d *detail) lines(j model.Job, w int) []string {
	t, now := d.m.deps.Theme, d.m.deps.Clock.Now()
	glyph, ink := t.JobMark(j)
	out := widget.Wrapped(ink, glyph+" "+cmp.Or(doubtWords(t, j), j.Label()), w)
	switch says := saysOf(j, now); {
	case says != "" && j.Doubt() == "":
		out = widget.Hung(out[0]+" ", t.Muted, "("+says+")", w)
	case says != "":
		out = append(out, widget.Wrapped(t.Muted, "("+says+")", w)...)
	}
	if j.GivenUp() && !d.m.follow.jobs[j.ID].On {
		out = append(out, widget.Wrapped(t.Warn, "The console has stopped asking for it: "+t.Key("jobs.follow")+" asks again.", w)...)
	}
	if hasProgress(j) {
		out = append(out, progressLine(j, w))
	}
	out = append(out, d.m.downloads.lines(j, w)...)
	if j.Detail != "" {
		out = append(out, widget.Wrapped(kit.Ink{}, j.Detail, w)...)
	}
	if !j.WebhookDue.IsZero() && !j.State.Final() {
		out = append(out, widget.Fact(t, "webhook", webhookWords(j, now), w)...)
	}
	for _, a := range advice(t, j) {
		out = append(out, widget.Wrapped(t.Warn, a, w)...)
	}
	out = append(out, d.faultLines(j, w)...)
	out = append(out, d.notes(j, w)...)
	out = append(out, d.rowLines(j.Rows, w)...)
	if words := j.LackingWords(); words != "" {
		out = append(out, widget.Wrapped(t.Warn, "! "+words+"; "+t.Key("jobs.download")+" downloads it again", w)...)
	}
	if bad := j.Rejected(); bad.Rows > 0 {
		out = append(out, widget.Fact(t, "bad rows", fmt.Sprintf("%d, kept in %s", bad.Rows, bad.File), w)...)
	}
	if j.File != "" {
		out = append(out, widget.Fact(t, "file", model.FileOn(j.File, j.Rows.Machine), w)...)
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
		said := s.Text
		if said == s.State.Label() {
			said = ""
		}
		out = append(out, widget.Hung(head, kit.Ink{}, said, max(w, text.Width(head)+12))...)
	}
	return append(out, d.facts(j, w)...)
}

// faultLines are the verdict on the last call that failed: its class, what it is based
// on, and what to do next.
func (d *detail) faultLines(j model.Job, w int) []string {
	f := j.Fault
	if !f.Any() {
		return nil
	}
	t, out := d.m.deps.Theme, d.verdictLines(f, w)
	for _, s := range d.steps(j) {
		switch {
		case s.disabled != "":
			out = append(out, widget.Hung("do next   ·   ", t.Muted, s.help+" · "+s.disabled, w)...)
			continue
		case s.name == "":
			out = append(out, widget.Hung("do next   ·   ", kit.Ink{}, s.help, w)...)
			continue
		}
		out = append(out, widget.Hung("do next   "+t.KeyHint.Render("["+t.Key(s.name)+"]")+" ", kit.Ink{}, s.help, w)...)
	}
	return out
}

// rowLines account for the rows of a downloaded result.
func (d *detail) rowLines(r model.JobRows, w int) []string {
	t := d.m.deps.Theme
	if !r.Counted {
		if r.Problem != "" {
			return widget.Wrapped(t.Warn, "! the rows were not counted: "+text.Clean(r.Problem), w)
		}
		return nil
	}
	out := widget.Wrapped(kit.Ink{}, strings.Join(r.Account(), " · "), w)
	for _, e := range r.Errors {
		_, ink := t.ClassMark(e.Class)
		head := ink.Render(fmt.Sprintf("%d × %s", e.Rows, cmp.Or(text.Clean(e.Code), "no code"))) + "  "
		out = append(out, widget.Hung(head, kit.Ink{}, model.ClassWord(e.Class, e.Cause)+": "+text.Clean(e.Text), max(w, text.Width(head)+12))...)
	}
	return out
}

// notes say whether the console follows the job, or why not.
func (d *detail) notes(j model.Job, w int) []string {
	t := d.m.deps.Theme
	followed, known := d.m.follow.jobs[j.ID]
	few := text.FewRecords(j)
	switch why := d.m.whyNotAsk(j); {
	case few != "":
		return widget.Wrapped(t.Warn, "! "+few, w)
	case j.State.Final() || j.State == model.JobMayHave || j.GivenUp() && !followed.On:
		return nil
	case followed.On && j.Unknown():
		return widget.Wrapped(t.Muted, "followed: the service is asked again for some minutes before this counts", w)
	case followed.On:
		return widget.Wrapped(t.Muted, "followed: the service is asked regularly until the state is final", w)
	case followed.Err != nil:
		return widget.Wrapped(t.Muted, "not followed: "+followed.Err.Error()+" · "+t.Key("jobs.follow")+" follows it again", w)
	case known:
		return widget.Wrapped(t.Muted, "not followed any more · "+t.Key("jobs.follow")+" follows it again", w)
	case why != "":
		return widget.Wrapped(t.Muted, "not followed: "+why, w)
	case watchable(j):
		return widget.Wrapped(t.Muted, "waiting to be followed · "+t.Key("jobs.follow")+" follows it now", w)
	default:
		return nil
	}
}

// facts are what does not change, one per line.
func (d *detail) facts(j model.Job, w int) []string {
	out := []string{""}
	add := func(name, value string) {
		if value != "" {
			out = append(out, widget.Fact(d.m.deps.Theme, name, value, w)...)
		}
	}
	if !hasProgress(j) {
		add("inputs", strconv.Itoa(j.Inputs))
	}
	for _, name := range j.Names().Labelled() {
		add(name[0], name[1])
	}
	add("repeats", j.Repeats)
	add("profile", j.Profile)
	add("key", j.KeyName)
	add("created", widget.DateAndAge(d.m.session, j.Profile, j.Created, d.m.deps.Clock.Now()))
	add("cost", noCostWords(j))
	return out
}

// steps are the next steps after a job's last failed call. Two may share a key.
func (d *detail) steps(j model.Job) []step {
	var out []step
	for _, s := range j.Fault.Diagnosis.Steps {
		next := step{help: kit.StepHelp(s)}
		switch s.Action {
		case model.ActionCheckKey:
			next.name, next.key, next.label, next.do = kit.StepName(s.Action), kit.StepKey(s.Action), "check the key", intentKey
		case model.ActionSlowDown: // no key sets how much is sent at once
		case model.ActionFixRequest:
			if j.State != model.JobRefused { // what would be corrected is a request that has been accepted
				break
			}
			next.name, next.do, next.help = "jobs.again", intentAgain, next.help+": "+d.m.deps.Theme.Key("jobs.again")+", then e"
			next.disabled = d.m.whyNot(next.do)
		case model.ActionCheckNetwork, model.ActionTrustCA, model.ActionDialect:
			next.name, next.key, next.label, next.do = kit.StepName(model.ActionCheckNetwork), kit.StepKey(model.ActionCheckNetwork), "see the profile", intentProfile
		case model.ActionLaunch:
			next.name, next.do = "jobs.again", intentAgain
			next.disabled = d.m.whyNot(next.do)
		default: // make the call again
			if j.Fault.Call == model.CallNone { // the job failed, not a call: what is next is done in the Sandbox
				next.name = "console.sandbox"
				break
			}
			next.name, next.do = callName(j)
			next.disabled = d.m.whyNot(next.do)
		}
		out = append(out, next)
	}
	return out
}

// stepBindings are the keys of the selected job's next steps, except the tab's own. The
// detail shows them, so the footer does not.
func (d *detail) stepBindings() []kit.Binding {
	j, ok := d.m.list.selected()
	if !ok {
		return nil
	}
	var out []kit.Binding
	for _, s := range d.steps(j) {
		if _, have := kit.Find(out, s.key, false); s.label != "" && !have {
			out = append(out, kit.Binding{Name: s.name, Keys: []string{s.key}, Label: s.label, Help: s.help, Group: "Next steps", Intent: s.do, Hidden: true})
		}
	}
	return out
}

// verdictLines say of a call that failed its class, what that rests on, and when it may be made again.
func (d *detail) verdictLines(f model.JobFault, w int) []string {
	t, v := d.m.deps.Theme, f.Diagnosis
	glyph, ink := t.ClassMark(v.Class)
	of := ""
	if f.Any() {
		of = fmt.Sprintf(" (%s)", f.Call)
	}
	out := widget.Wrapped(ink, fmt.Sprintf("%s %s%s: %s", glyph, model.ClassWord(v.Class, v.Cause), of, v.Summary), w)
	for _, e := range v.Evidence {
		out = append(out, widget.Hung("evidence  ", t.Muted, text.Clean(e.Text), w)...)
	}
	if at, ok := f.RetryAt(); ok && at.After(d.m.deps.Clock.Now()) {
		out = append(out, widget.Hung("try again ", t.Muted, "at "+text.Clock(at, d.m.deps.Clock.Now()), w)...)
	}
	return out
}

// errorLines are the verdict on a call that failed, seen at a time or, for its zero value, at none that is known, and what
// to do next; nil for another error.
func (d *detail) errorLines(err error, at time.Time, w int) []string {
	v, ok := service.Verdict(err)
	if !ok {
		return nil
	}
	out := d.verdictLines(model.JobFault{Diagnosis: v, At: at}, w)
	for _, s := range v.Steps {
		out = append(out, widget.Hung("do next   ", kit.Ink{}, kit.StepHelp(s), w)...)
	}
	return out
}

// showVerdict opens a page with the verdict on a call that failed and left no job to show it; nil for another error. said
// stands above it.
func (d *detail) showVerdict(heading, said string, err error) tea.Cmd {
	if _, ok := service.Verdict(err); !ok {
		return nil
	}
	at := d.m.deps.Clock.Now()
	return kit.OpenOverlay(&widget.Page{
		Heading: heading, Width: 90, Lines: func(w int) []string {
			out := widget.Wrapped(kit.Ink{}, err.Error(), w-2)
			if said != "" {
				out = append(out, widget.Wrapped(kit.Ink{}, said, w-2)...)
			}
			return widget.Indent(append(append(out, ""), d.errorLines(err, at, w-2)...))
		},
		Closing: kit.Binding{Name: "page.close", Keys: []string{"esc", "enter", "q"}, Label: "close", Help: "Go back.", Intent: kit.Close{}},
	})
}

// Render draws the panes; see areas.
func (m *Model) Render(w, h int) string {
	if m.records.Open() {
		return m.records.Render(w, h)
	}
	if m.drift.Open() {
		return m.drift.Render(w, h)
	}
	if m.batches.Open() {
		return m.batches.Render(w, h)
	}
	return m.panes.Draw(w, h, m.areas, func(a kit.Area) string {
		switch {
		case m.preview.open:
			return m.preview.render(a.W, a.H)
		case a.Pane == paneDetail && !m.list.unreadable():
			return m.detail.render(a.W, a.H)
		default:
			return m.list.render(a.W, a.H)
		}
	})
}

// sending is shown in the list until the job that is being sent is in it.
const sending = "a job is being sent"

// saysOf is the service's word for a job if it differs from the state. For a job that is not asked for any more,
// or was forgotten, it says when the job was last seen.
func saysOf(j model.Job, now time.Time) string {
	at, wire := text.Clock(j.Fault.LastAnswer, now), j.Wire
	known := !j.Fault.LastAnswer.IsZero()
	switch {
	case known && j.GivenUp():
		return "last seen at " + at
	case known && j.Forgotten() && wire == "":
		return "accepted at " + at + ", never seen since"
	case known && j.Forgotten():
		return "last seen " + wire + " at " + at
	case wire == "" || wire == string(j.State) || j.State == model.JobDownloaded && wire == string(model.JobReady):
		return ""
	case j.State.Final():
		return "the service last said " + wire
	default:
		return "the service says " + wire
	}
}

// webhookWords say until when a job's webhook is waited for.
func webhookWords(j model.Job, now time.Time) string {
	if j.State == model.JobMayHave && now.After(j.WebhookDue) {
		return "was due by " + text.Clock(j.WebhookDue, now) + " and has not come"
	}
	if j.State == model.JobMayHave {
		return "due by " + text.Clock(j.WebhookDue, now) + ": if one comes, it has started"
	}
	return "due by " + text.Clock(j.WebhookDue, now) + ", then polled"
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

// step is a next step of a job's last failed call. It has a key if one takes it, and a label if that key is not one of
// the tab's own.
type step struct {
	name, key, help, label string // the name of its binding, and the key if it is no action of the tab
	disabled               string // the reason why it cannot be taken now, or ""
	do                     intent
}

// callName is the tab's action that makes the call again which failed; where it is not known whether a trigger
// has started a job, the one that finds out.
func callName(j model.Job) (string, intent) {
	switch j.Fault.Call {
	case model.CallTrigger:
		if j.State == model.JobMayHave {
			return "jobs.settle", intentSettle
		}
		return "jobs.again", intentAgain
	case model.CallDownload:
		if j.State == model.JobExpired || j.State == model.JobCanceled { // there is no result any more
			return "jobs.again", intentAgain
		}
		return "jobs.download", intentDownload
	case model.CallCancel:
		return "jobs.cancel", intentCancel
	default:
		return "jobs.follow", intentFollow
	}
}
