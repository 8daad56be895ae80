package jobs

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	service "zonedeck/service/jobs"
	result "zonedeck/service/records"
	"zonedeck/service/rows"
	"zonedeck/ui/jobs/drift"
	"zonedeck/ui/jobs/records"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/alert"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Ledger is the part of the service the tab uses. Every call may block and is made in
// a command.
type Ledger interface {
	// Jobs are the newest jobs and how many there are.
	Jobs(ctx context.Context, limit int) (list []model.Job, total int, err error)
	// SameInputs returns the jobs launched with the same inputs within the given time.
	SameInputs(ctx context.Context, r model.TriggerRequest, within time.Duration) ([]model.Job, error)
	// SharedInputs returns those with some of the inputs, or that may have some.
	SharedInputs(ctx context.Context, r model.TriggerRequest, within time.Duration) (service.EarlierJobs, error)
	Trigger(ctx context.Context, r model.TriggerRequest) (model.Job, error)
	// Collectors lists the data sets that jobs can be started for, and Collector is one of them,
	// by the key of a name.
	Collectors(ctx context.Context, key string, anew bool) (catalogue.Listing, error)
	Collector(ctx context.Context, key, name string) (model.Collector, catalogue.Listing, error)
	// Estimate says what a job is expected to cost, and why it would be refused.
	Estimate(ctx context.Context, r model.TriggerRequest) (service.Estimate, error)
	// PreviewJob shows what a job would give, and launches none.
	PreviewJob(ctx context.Context, r model.TriggerRequest) (dialect.LookupPreview, error)
	// Follow has the jobs in flight asked for, until ctx ends; see service/jobs.
	Follow(ctx context.Context, on func(service.Followed)) error
	AskNow(ctx context.Context, jobID string) (model.Job, error)
	CancelJob(ctx context.Context, jobID string) (model.Job, error)
	// Request and Missing are what a job asked for, and what of it gave no data.
	Request(ctx context.Context, jobID string) (model.TriggerRequest, error)
	Missing(ctx context.Context, jobID string) (service.Missing, error)
	// Candidates, Claim and NotStarted settle a job that may have started, and AwaitHook waits for
	// its webhook to do so.
	Candidates(ctx context.Context, jobID string) ([]service.Candidate, error)
	Claim(ctx context.Context, jobID, snapshot string, sure bool) (model.Job, error)
	NotStarted(ctx context.Context, jobID string) (model.Job, error)
	AwaitHook(ctx context.Context, jobID string) (model.Job, error)
	Download(ctx context.Context, jobID string, to service.Destination, on func(service.Progress)) (model.Job, error)
	Records(ctx context.Context, jobID string, n int) (model.RecordTable, error)
}

// Deps are the parts the tab works with; all are required.
type Deps struct {
	// Ctx ends the tab's work when the program ends.
	Ctx   context.Context //nolint:containedctx // the tab lives as long as the program
	Now   func() time.Time
	Theme *kit.Theme
	// Profile is the profile in use. It does no I/O; it is called when the session
	// changes.
	Profile func() config.Profile
	// Ledger is the service.
	Ledger Ledger
	// Read reads and checks rows: rows.Read.
	Read func(r io.Reader, kind string, shape rows.Shape) (rows.Inputs, error)
	// KeepRejects keeps bad rows in a new file, for an empty path one of its choice, and names
	// it. It is called in a command.
	KeepRejects func(path string, in rows.Inputs) (string, error)
	// SaveList keeps inputs as a list of a name that is not there yet. It is called in a command.
	SaveList func(name string, inputs []model.JobInput) error
	// Admit writes down why an ADMIN key launches a job; its error ends the launch before
	// anything is sent. It is called in a command.
	Admit func(ctx context.Context, key, reason string) error
	// Drift is what the fields of runs show, and EditFile prepares the operator's editor for a file; nil
	// where none is set.
	Drift    drift.Monitor
	EditFile func(file string) tea.ExecCommand
	// Inbox is the overlay with the webhooks that came.
	Inbox func() kit.Overlay
	// FillHooks puts addresses of the inbox where model.HookInbox stands for one, and warns
	// where the service may not reach them. It is called in a command.
	FillHooks func(ctx context.Context, s *model.JobSettings) (warning string, err error)
	// HookAuth is the reference of what the inbox checks the Authorization header by, "" for nothing;
	// nil for no inbox.
	HookAuth func() string
	// Terminal is what the terminal understands, and Notify whether it is told of jobs from the
	// beginning.
	Terminal alert.Terminal
	Notify   bool
	// OpenFile opens a file of inputs: os.Open. It is called in a command.
	OpenFile func(path string) (io.ReadCloser, error)
	// OpenResult opens a downloaded result by its path, or that of a job by its identifier, and SaveRows
	// writes a new file, which it names; it replaces none. Both are called in commands.
	OpenResult func(ctx context.Context, name string) (*result.File, error)
	SaveRows   func(path string, fill func(io.Writer) error) (string, error)
	// Expand puts the home folder into a path that is typed; nil leaves paths as they are. It is
	// called in a command.
	Expand func(path string) (string, error)
}

// Panes of the tab, in the order of tab.
const (
	paneList = iota
	paneDetail
)

// ledger is the list of jobs and the state of its loading.
type ledger struct {
	jobs   []model.Job // newest first, at most maxListed
	total  int         // jobs in the ledger when they were read
	table  widget.Table
	shown  []model.Job // those that the filter lets through
	filter widget.ListFilter
	loaded bool
	late   []model.Job // put while the list is being read
	files  bool        // one of them was downloaded
	err    error
	slot   kit.Slot
	head   struct { // looks at the newest job alone
		slot kit.Slot
		at   time.Time
	}
}

// work is the work in flight.
type work struct {
	// following is the stream of what happens to jobs in flight, followed what it said last.
	following kit.Slot
	followed  map[string]service.Followed
	ask       kit.Slot
	again     kit.Slot // reads what a job asked for
	settle    kit.Slot
	trigger   kit.Slot
	cancel    kit.Slot
	download  download
}

// preview is the table of a job's first records.
type preview struct {
	open    bool
	job     model.Job
	records model.RecordTable
	table   widget.Table
	column  int // first column drawn, for tables wider than the screen
	err     error
	slot    kit.Slot
}

// Model is the tab. Use New.
type Model struct {
	deps    Deps
	session kit.Session
	profile config.Profile
	ledger  ledger
	work    work
	preview preview
	records *records.Page
	drift   *drift.Page
	panes   widget.Panes
	detail  widget.Scroll
	dialog  *launch // nil while no dialog is open
	alerts  alerts
	// dataSets are those that jobs can be launched for.
	dataSets dataSets
	// want is the job to select once the ledger has it.
	want string
}

// New makes the tab.
func New(d Deps) *Model {
	m := &Model{deps: d, panes: widget.Panes{N: 2}, alerts: alerts{on: d.Notify}}
	m.work.followed, m.work.download.ended = map[string]service.Followed{}, map[string]cutDownload{}
	m.drift = drift.New(drift.Deps{Ctx: d.Ctx, Now: d.Now, Theme: d.Theme, Monitor: d.Drift, Edit: d.EditFile})
	m.preview.table.Empty = "the result holds no records"
	m.records = records.New(records.Deps{Ctx: d.Ctx, Theme: d.Theme, Open: d.OpenResult, Save: d.SaveRows})
	m.fill()
	return m
}

// columns are the list's. With jobs of another profile each is named, and their ages may
// lie ahead: an emulator's clock can be moved. Files are those of downloaded results.
func columns(others, files bool) []widget.Column {
	out := []widget.Column{
		{Title: "STATE", Width: 18},
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
func (m *Model) Init() tea.Cmd { return m.load() }

// Title is the tab's name.
func (m *Model) Title() string { return "Jobs" }

// CapturingText reports whether the filter is being typed.
func (m *Model) CapturingText() bool {
	if m.records.Open() {
		return m.records.CapturingText()
	}
	return !m.preview.open && !m.drift.Open() && m.ledger.filter.Typing()
}

// Focus reloads the ledger, because another process may have written to it.
func (m *Model) Focus() tea.Cmd { return tea.Batch(m.load(), m.drift.Refresh()) }

// Running counts the work that quitting would interrupt. Watches do not count: the
// service continues the job, and the ledger still has it.
func (m *Model) Running() int {
	return kit.Running(&m.work.trigger, &m.work.cancel, &m.work.download.slot) + m.records.Running() + m.drift.Running()
}

// Count is how many of the listed jobs may have started, in their ink; -1 while the ledger cannot be read.
func (m *Model) Count() (n int, ink kit.Ink) {
	_, ink = m.deps.Theme.JobMark(model.Job{State: model.JobMayHave})
	if m.unreadable() {
		return -1, ink
	}
	for _, j := range m.ledger.jobs {
		if j.State == model.JobMayHave {
			n++
		}
	}
	return n, ink
}

// Status shows the progress of a download, or how many jobs are followed.
func (m *Model) Status() string {
	if d := &m.work.download; d.slot.Running() {
		return "download " + d.speed(m.deps.Now())
	}
	n := 0
	for _, f := range m.work.followed {
		if f.On {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return text.Counted(n, "job") + " followed"
}

// selected returns the job under the cursor.
func (m *Model) selected() (model.Job, bool) {
	if i := m.ledger.table.Cursor(); i < len(m.ledger.shown) {
		return m.ledger.shown[i], true
	}
	return model.Job{}, false
}
