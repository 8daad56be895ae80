package jobs

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/service/query"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// jobList is the list of jobs and the state of its loading.
type jobList struct {
	m      *Model
	jobs   []model.Job // see model.CompareJobs; at most maxListed
	total  int         // jobs in the ledger when they were read
	page   widget.ListPage[model.Job]
	loaded bool
	late   []model.Job // put while the list is being read
	files  bool        // one of them was downloaded
	want   string      // the job to select once the ledger has it
	err    error
	slot   kit.Slot
	newest struct { // looks at the newest job alone
		slot kit.Slot
		at   time.Time
	}
}

func (l *jobList) render(w, h int) string {
	t, focused := l.m.deps.Theme, l.m.panes.At == paneList
	iw, ih := widget.Inner(w, h)
	if l.unreadable() {
		lines := widget.Wrapped(kit.Ink{}, "The ledger cannot be read: "+l.err.Error()+". "+t.Key("jobs.reload")+" reads it again.", iw-2)
		return widget.Pane(t, "Jobs", true, w, h, strings.Join(lines, "\n"))
	}
	title := "Jobs"
	n := len(l.jobs)
	if n > 0 {
		title = fmt.Sprintf("Jobs (%d)", n)
	}
	if shown := len(l.page.Visible()); shown < n {
		title = fmt.Sprintf("Jobs (%d of %d)", shown, n)
	}
	if older := l.total - maxListed; older > 0 {
		title = fmt.Sprintf("Jobs (the %d newest; 'zonedeck jobs list' shows %d older)", n, older)
	}
	title += l.page.News()
	if n > 0 && l.m.launches.slot.Running() {
		title += " · " + sending
	}
	return widget.ScrollPane(t, title, &l.page, focused, w, h, l.page.Render(t, focused, iw, ih))
}

// Empty says why no job is listed; see widget.Rows.
func (l *jobList) Empty(filtered bool) string {
	switch {
	case filtered && len(l.jobs) > 0:
		return "nothing matches: esc shows all jobs"
	case l.m.launches.slot.Running():
		return sending
	case !l.loaded:
		return "reading the ledger…"
	default:
		return "no jobs yet: " + l.m.deps.Theme.Key("jobs.new") + " launches one"
	}
}

// Key is a job's identifier.
func (l *jobList) Key(j model.Job) string { return j.ID }

// Fields is what jobs can be asked.
func (l *jobList) Fields() query.Fields[model.Job] { return service.Fields(l.nowOf) }

// Cells are a job's cells.
func (l *jobList) Cells(j model.Job) []widget.Cell {
	t := l.m.deps.Theme
	glyph, ink := t.JobMark(j)
	out := []widget.Cell{
		{Text: glyph + " " + j.Label(), Ink: ink},
		widget.C(j.ID), widget.C(cmp.Or(j.Snapshot, "-")), widget.C(j.Dataset), widget.C(strconv.Itoa(j.Inputs)), widget.C(count(j.ResultRecords())),
		{Text: widget.Age(l.m.session, j.Profile, j.Created, l.m.deps.Clock.Now()), Ink: t.Muted},
		widget.C(j.KeyName),
	}
	if l.files {
		name := ""
		if j.File != "" {
			name = filepath.Base(j.File)
		}
		out = append(out, widget.C(name))
	}
	return append(out, widget.C(j.Profile))
}

// filterMsg handles what is the filter's.
func (l *jobList) filterMsg(msg tea.Msg) tea.Cmd {
	before, _ := l.page.CursorKey()
	cmd, event := l.page.UpdateFilter(l.m.deps.Theme, msg)
	if event == widget.FilterOpened {
		l.m.panes.At = paneList
	}
	if after, _ := l.page.CursorKey(); before != after {
		l.m.detail.scroll = widget.Scroll{}
	}
	return cmd
}

// filterBindings are the filter's keys.
func (l *jobList) filterBindings() []kit.Binding {
	return l.page.FilterBindings(l.m.panes.At == paneList && !l.m.panes.Zoomed)
}

// nowOf is the time by which the jobs of a profile are dated.
func (l *jobList) nowOf(profile string) time.Time {
	if s := l.m.session; s.Local && profile != "" && profile != s.ProfileName {
		return l.m.deps.Clock.Now().Add(-s.Ahead)
	}
	return l.m.deps.Clock.Now()
}

// selected returns the job under the cursor.
func (l *jobList) selected() (model.Job, bool) { return l.page.Selected() }

// watchNewest looks whether another process has begun a job, which may have ended before anybody
// here could follow it.
func (l *jobList) watchNewest() tea.Cmd {
	type read struct {
		jobs  []model.Job // at most one
		total int
	}
	now, h := l.m.deps.Clock.Now(), &l.newest
	if !l.loaded || l.slot.Running() || h.slot.Running() || now.Sub(h.at).Abs() < newestEvery {
		return nil
	}
	h.at = now
	jobs := l.m.deps.Jobs
	return kit.Load(kit.Jobs, &h.slot, l.m.deps.Ctx, func(ctx context.Context) (out read, err error) {
		out.jobs, out.total, err = jobs.Jobs(ctx, 1)
		return out, err
	}, func(out read, err error) tea.Cmd {
		if err != nil || len(out.jobs) == 0 { // what reads the ledger next says that it cannot be read
			return nil
		}
		return l.newestRead(out.jobs[0], out.total)
	})
}

// newestRead reads the list again where the ledger has another newest job.
func (l *jobList) newestRead(newest model.Job, total int) tea.Cmd {
	for _, j := range l.jobs {
		if j.ID == newest.ID && total == l.total && !newest.Updated.After(j.Updated) {
			return nil
		}
	}
	return tea.Batch(l.load(), l.m.drift.Refresh())
}

func (l *jobList) load() tea.Cmd {
	type listed struct {
		jobs  []model.Job
		total int // jobs in the ledger
	}
	jobs := l.m.deps.Jobs
	return kit.Load(kit.Jobs, &l.slot, l.m.deps.Ctx, func(ctx context.Context) (out listed, err error) {
		out.jobs, out.total, err = jobs.Jobs(ctx, maxListed)
		return out, err
	}, func(out listed, err error) tea.Cmd { return l.set(out.jobs, out.total, err) })
}

// unreadable reports whether there is no list because the ledger cannot be read.
func (l *jobList) unreadable() bool { return l.err != nil && len(l.jobs) == 0 }

func (l *jobList) set(jobs []model.Job, total int, err error) tea.Cmd {
	late := l.late
	l.err, l.loaded, l.late = err, true, nil
	switch {
	case err != nil && len(l.jobs) > 0: // keep showing the old list
		return kit.Fail("reading the ledger: " + err.Error())
	case err != nil:
		return nil
	}
	l.jobs, l.total = slices.Clone(jobs), total
	for _, j := range late {
		l.add(j)
	}
	l.fill()
	l.toWanted()
	if l.want != "" {
		text := "job " + l.want + " is not in the ledger"
		l.want = ""
		return tea.Batch(l.m.follow.begin(), kit.Warn(text))
	}
	return l.m.follow.begin()
}

// put updates a job in the list, or adds it.
func (l *jobList) put(j model.Job) {
	if l.slot.Running() { // the list that is being read may not have it
		l.late = append(l.late, j)
	}
	l.add(j)
	l.fill()
	l.toWanted()
}

// add is put for the list alone. What is older than what it has changes nothing, and neither
// does a job that is older than all of a full list.
func (l *jobList) add(j model.Job) {
	listed := l.jobs
	i := slices.IndexFunc(listed, func(o model.Job) bool { return o.ID == j.ID })
	switch {
	case i >= 0 && listed[i].Updated.After(j.Updated):
	case i >= 0:
		listed[i] = j
	case len(listed) < maxListed || slices.ContainsFunc(listed, func(o model.Job) bool { return o.Created.Before(j.Created) }):
		l.jobs = append(listed, j)
		l.total++
	}
}

// fill sorts the jobs and passes them to the table.
func (l *jobList) fill() {
	slices.SortStableFunc(l.jobs, model.CompareJobs)
	l.jobs = l.jobs[:min(len(l.jobs), maxListed)]
	l.files = slices.ContainsFunc(l.jobs, func(j model.Job) bool { return j.File != "" })
	state := 0
	for _, j := range l.jobs {
		state = max(state, text.Width(j.Label())+2)
	}
	l.page.Columns = columns(slices.ContainsFunc(l.jobs, l.m.foreign), l.files, state)
	l.page.Set(slices.Clone(l.jobs)) // they are sorted in place
}

// toWanted puts the cursor on the wanted job, if the list has it, and ends a filter that
// hides it.
func (l *jobList) toWanted() {
	if l.want != "" && l.page.Go(l.want) {
		l.want = ""
	}
}

// newestEvery is how often the newest job of the ledger is compared with the one that is listed.
const newestEvery = 5 * time.Second
