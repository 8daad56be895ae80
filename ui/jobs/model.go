package jobs

import (
	"context"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/jobs/batches"
	"zonedeck/ui/jobs/drift"
	"zonedeck/ui/jobs/records"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/alert"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Jobs is the part of the use case that the tab uses. Every call may block and is made in
// a command. See service/jobs.
type Jobs interface {
	// Jobs are the newest jobs and how many there are.
	Jobs(ctx context.Context, limit int) (list []model.Job, total int, err error)
	// Datasets lists the data sets that jobs can be started for, by the key of a name.
	Datasets(ctx context.Context, key string, anew bool) (service.Listing, error)
	Check(ctx context.Context, d service.Draft) (service.Report, error)
	Launch(ctx context.Context, r service.Report, a ask.Answers) (service.Launched, error)
	Settle(ctx context.Context, jobID string) (service.Settlement, error)
	Decide(ctx context.Context, s service.Settlement, fate service.Fate, a ask.Answers) (model.Job, error)
	// PreviewJob shows what a job would give, and launches none.
	PreviewJob(ctx context.Context, r model.TriggerRequest) (service.LookupPreview, error)
	// KeepFollowing has the jobs in flight asked for, until ctx ends, and says why that fails meanwhile.
	KeepFollowing(ctx context.Context, on func(service.Followed), say func(error))
	AskNow(ctx context.Context, jobID string) (model.Job, error)
	CancelJob(ctx context.Context, jobID string) (model.Job, error)
	// Request is what a job asked for.
	Request(ctx context.Context, jobID string) (model.TriggerRequest, error)
	Download(ctx context.Context, jobID string, to service.Destination, on func(service.Progress)) (model.Job, error)
	SeeFields(ctx context.Context, jobID string, on func(service.Progress)) (model.Job, error)
	Records(ctx context.Context, jobID string, n int) (model.RecordTable, error)
}

// Console is what the program around the tab does for it. What opens and writes files is called in commands.
type Console interface {
	// OpenInputs opens a file of inputs by a path that was typed, and Expand puts the home folder into such a path.
	OpenInputs(path string) (io.ReadCloser, error)
	Expand(path string) (string, error)
	// OpenResult opens a downloaded result by its path, or that of a job by its identifier, and SaveRows
	// writes a new file, which it names; it replaces none.
	OpenResult(ctx context.Context, name string) (*service.ResultFile, error)
	SaveRows(path string, fill func(io.Writer) error) (string, error)
	// Editor prepares the operator's editor for a file; nil where none is set.
	Editor() func(file string) tea.ExecCommand
	// Inbox is the overlay with the webhooks that came.
	Inbox() kit.Overlay
	batches.Planner
}

// Deps are the parts the tab works with; all are required but Inbox.
type Deps struct {
	// Ctx ends the tab's work when the program ends.
	Ctx     context.Context //nolint:containedctx // the tab lives as long as the program
	Clock   service.Clock
	Theme   *kit.Theme
	Jobs    Jobs
	Console Console
	// Inbox gives addresses of the inbox; nil for no inbox.
	Inbox service.Inbox
	// Drift is what the fields of runs show.
	Drift   drift.Monitor
	Batches batches.Batches
	// Terminal is what the terminal understands, and Notify whether it is told of jobs from the
	// beginning.
	Terminal alert.Terminal
	Notify   bool
}

// Panes of the tab, in the order of tab.
const (
	paneList = iota
	paneDetail
)

// Model is the tab: its panes, and which subject a key or a message is for. Use New.
type Model struct {
	deps    Deps
	session kit.Session
	panes   widget.Panes
	list    jobList
	detail  detail
	preview preview
	records *records.Page
	drift   *drift.Page
	batches *batches.Page
	// launches, repeats, dataSets and settling lead to calls that may be billed; the rest is about jobs in flight.
	launches  launches
	repeats   repeats
	dataSets  dataSets
	settling  settling
	follow    following
	downloads downloads
	cancel    kit.Slot
}

// New makes the tab.
func New(d Deps) *Model {
	m := &Model{deps: d, panes: widget.Panes{N: 2}}
	m.list, m.detail, m.preview = jobList{m: m}, detail{m: m}, preview{m: m}
	m.launches, m.repeats, m.dataSets, m.settling = launches{m: m}, repeats{m: m}, dataSets{m: m}, settling{m: m}
	m.follow = following{m: m, jobs: map[string]service.Followed{}, alerts: alerts{on: d.Notify}}
	m.downloads = downloads{m: m, ended: map[string]cutDownload{}}
	m.drift = drift.New(drift.Deps{Ctx: d.Ctx, Now: d.Clock.Now, Theme: d.Theme, Monitor: d.Drift, Edit: d.Console.Editor()})
	m.batches = batches.New(batches.Deps{Ctx: d.Ctx, Clock: d.Clock, Theme: d.Theme, Batches: d.Batches, Planner: d.Console})
	m.preview.table.Empty = "the result holds no records"
	m.records = records.New(records.Deps{Ctx: d.Ctx, Theme: d.Theme, Open: d.Console.OpenResult, Save: d.Console.SaveRows})
	m.list.page.Rows, m.list.page.Plural = &m.list, "jobs"
	m.list.fill()
	return m
}

// columns are the list's. With jobs of another profile each is named, and their ages may
// lie ahead: an emulator's clock can be moved. Files are those of downloaded results. The longest state is so wide.
func columns(others, files bool, state int) []widget.Column {
	out := []widget.Column{
		{Title: "STATE", Width: max(12, min(state, 40))},
		{Title: "JOB", Width: 8},
		{Title: "SNAPSHOT", Width: 12, Flex: true, Priority: 4},
		{Title: "DATASET", Width: 12, Flex: true, Priority: 2},
		{Title: "INPUTS", Width: 6, Right: true, Priority: 3},
		{Title: "RECORDS", Width: 7, Right: true, Priority: 1},
		{Title: "AGE", Width: 4, Right: true},
		{Title: "KEY", Width: 10, Priority: 5},
	}
	if files {
		out = append(out, widget.Column{Title: "FILE", Width: 12, Flex: true, Priority: 6})
	}
	if others {
		out[6].Width = 6
		out = append(out, widget.Column{Title: "PROFILE", Width: 8})
	}
	return out
}

// Init loads the ledger: it is on disk and needs no session.
func (m *Model) Init() tea.Cmd { return m.list.load() }

// Title is the tab's name.
func (m *Model) Title() string { return "Jobs" }

// CapturingText reports whether the filter is being typed.
func (m *Model) CapturingText() bool {
	if m.records.Open() {
		return m.records.CapturingText()
	}
	return !m.preview.open && !m.drift.Open() && !m.batches.Open() && m.list.page.Filter.Typing()
}

// Focus reloads the ledger, because another process may have written to it.
func (m *Model) Focus() tea.Cmd { return tea.Batch(m.list.load(), m.drift.Refresh()) }

// Running counts the work that quitting would interrupt. Watches do not count: the
// service continues the job, and the ledger still has it.
func (m *Model) Running() int {
	return kit.Running(&m.launches.slot, &m.cancel, &m.downloads.slot) + m.records.Running() + m.drift.Running() + m.batches.Running()
}

// Resumable says what becomes of the batches that this process works on.
func (m *Model) Resumable() string {
	if m.deps.Batches.Attended() == 0 {
		return ""
	}
	return "The batch stops within seconds and keeps what has come until then. " + m.deps.Theme.Key("batches.resume") + " in Batches or 'zonedeck batch resume' resumes it, and asks again for what had not come."
}

// Badges are how many of the listed jobs may have started, not known while the ledger cannot be read, and the batches
// that wait.
func (m *Model) Badges() ([]kit.Badge, kit.Ink) {
	_, ink := m.deps.Theme.JobMark(model.Job{State: model.JobMayHave})
	open := kit.Badge{Word: "may have started"}
	for _, j := range m.list.jobs {
		if j.State == model.JobMayHave {
			open.N++
		}
	}
	if m.list.unreadable() {
		open.N = -1
	}
	return []kit.Badge{open, {N: m.batches.Waiting(), Word: "waiting"}}, ink
}

// Status shows the progress of a download, or how many jobs are followed.
func (m *Model) Status() string {
	if d := &m.downloads; d.slot.Running() {
		return "download " + d.speed(m.deps.Clock.Now())
	}
	n := 0
	for _, f := range m.follow.jobs {
		if f.On {
			n++
		}
	}
	var out []string
	if batches := m.batches.AtWork(); batches != "" {
		out = append(out, batches)
	}
	if n > 0 {
		out = append(out, text.Counted(n, "job")+" followed")
	}
	return strings.Join(out, " · ")
}
