package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// recent is how far back the same inputs ask before they are launched again.
const recent = time.Hour

// maxListed is how many jobs the list holds, the newest.
const maxListed = 1000

// previewRecords is how many records a preview reads.
const previewRecords = 100

// What commands come back with. An empty err is success.
type (
	jobsLoaded struct {
		jobs  []model.Job
		total int // jobs in the ledger
		err   string
	}
	triggered struct {
		dataset string
		job     model.Job // set even with an error; zero if nothing was sent
		err     string
	}
	cancelled struct {
		job model.Job
		err string
	}
	downloadProgress struct{ done int64 }
	downloaded       struct {
		name string
		job  model.Job
		err  string
	}
	recordsLoaded struct {
		table model.RecordTable
		err   string
	}

	// doCancel is the answer to a question, doDownload a choice from a menu.
	doCancel   struct{ job model.Job }
	doDownload struct {
		job    model.Job
		format string
	}
)

func (m *Model) load() tea.Cmd {
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &m.ledger.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		jobs, total, err := l.Jobs(ctx, maxListed)
		if err != nil {
			return jobsLoaded{err: err.Error()}
		}
		return jobsLoaded{jobs: jobs, total: total}
	})
}

// follow hands the watcher the jobs that still change, newest first.
func (m *Model) follow() tea.Cmd {
	var ids []string
	for _, j := range m.ledger.jobs {
		if watchable(j) && m.whyNotAsk(j) == "" {
			ids = append(ids, j.ID)
		}
	}
	m.work.watcher.Follow(ids)
	if len(ids) == 0 {
		return nil
	}
	return m.runWatcher()
}

// followNow follows a job at once, also one whose watch ended with an error.
func (m *Model) followNow(id string) tea.Cmd {
	m.work.watcher.FollowNow(id)
	return m.runWatcher()
}

// runWatcher keeps the watcher running until the profile changes or the program
// ends.
func (m *Model) runWatcher() tea.Cmd {
	if m.work.watching.Running() {
		return nil
	}
	w := m.work.watcher
	return kit.Stream(kit.Jobs, &m.work.watching, m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		w.Run(ctx, func(e service.WatchEvent) { emit(e) })
		return nil
	})
}

// resetWatches ends all watches, and begins with none.
func (m *Model) resetWatches() {
	m.work.watching.Drop()
	m.work.watcher = service.NewWatcher(m.deps.Ledger.Watch)
	m.work.watches = map[string]watch{}
}

// watchEvent takes what the watcher reports of one job.
func (m *Model) watchEvent(e service.WatchEvent) tea.Cmd {
	switch {
	case e.Phase == service.WatchBegan:
		m.work.watches[e.JobID] = watch{on: true}
	case e.Phase == service.WatchChanged:
		m.put(e.Job)
	case e.Err != nil:
		m.work.watches[e.JobID] = watch{err: e.Err.Error()}
		return kit.Warn("following " + m.nameOf(e.JobID) + " ended: " + e.Err.Error() + " (f follows it again)")
	default:
		m.work.watches[e.JobID] = watch{}
		m.put(e.Job)
		return m.announce(e.Job)
	}
	return nil
}

func (m *Model) announce(j model.Job) tea.Cmd {
	switch j.State {
	case model.JobReady:
		return kit.Info("job " + jobName(j) + " is ready: d downloads, p shows its first records")
	case model.JobFailed:
		return kit.Fail("job " + jobName(j) + " failed: " + orWord(j.Detail, "the service gave no reason"))
	default:
		return kit.Info("job " + jobName(j) + ": " + j.State.Label())
	}
}

func (m *Model) nameOf(id string) string {
	for _, j := range m.ledger.jobs {
		if j.ID == id {
			return jobName(j)
		}
	}
	return id
}

func (m *Model) trigger(r model.TriggerRequest) tea.Cmd {
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &m.work.trigger, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		job, err := l.Trigger(ctx, r)
		out := triggered{dataset: r.Dataset, job: job}
		if err != nil {
			out.err = err.Error()
		}
		return out
	})
}

func (m *Model) askCancel(j model.Job) tea.Cmd {
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Cancel the job?",
		Body: fmt.Sprintf("%s on %s, %s, %s.\nThe service is asked to stop it. What it has already collected may be billed, and a cancelled job cannot be resumed.",
			jobName(j), datasetWords(j.Dataset), inputsWord(j.Inputs), j.State.Label()),
		Yes: "cancel the job", View: kit.Jobs, Intent: doCancel{job: j},
	})
}

func (m *Model) cancelJob(j model.Job) tea.Cmd {
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &m.work.cancel, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		job, err := l.CancelJob(ctx, j.ID)
		if err != nil {
			return cancelled{job: j, err: err.Error()}
		}
		return cancelled{job: job}
	})
}

func (m *Model) askFormat(j model.Job) tea.Cmd {
	item := func(key, format, note string) widget.MenuItem {
		return widget.MenuItem{Key: key, Label: format, Note: note, Intent: doDownload{job: j, format: strings.ToLower(format)}}
	}
	return widget.OpenMenu(m.deps.Theme, "Download "+jobName(j)+" as", kit.Jobs, []widget.MenuItem{
		item("j", "JSON", "one array"),
		item("n", "NDJSON", "one record a line"),
		item("c", "CSV", "flat, for a sheet"),
	})
}

func (m *Model) download(d doDownload) tea.Cmd {
	l := m.deps.Ledger
	m.work.downloading, m.work.received = d.job.ID, 0
	return kit.Stream(kit.Jobs, &m.work.download, m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		job, err := l.Download(ctx, d.job.ID, d.format, "", func(done int64) { emit(downloadProgress{done: done}) })
		out := downloaded{name: jobName(d.job), job: job}
		if err != nil {
			out.err = err.Error()
		}
		return out
	})
}

func (m *Model) openPreview(j model.Job) tea.Cmd {
	m.preview.open, m.preview.job, m.preview.err = true, j, ""
	m.preview.records, m.preview.column = model.RecordTable{}, 0
	m.layPreview()
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &m.preview.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		table, err := l.Records(ctx, j.ID, previewRecords)
		out := recordsLoaded{table: table} // with an error: the records before it
		if err != nil {
			out.err = err.Error()
		}
		return out
	})
}

func (m *Model) copyMenu(j model.Job) tea.Cmd {
	copyItem := func(key, what, words string) widget.MenuItem {
		it := widget.MenuItem{Key: key, Label: what, Note: text.Clean(text.Cut(words, 40)), Intent: kit.Copy{What: what, Text: words}}
		if words == "" {
			it.Disabled = "not known"
		}
		return it
	}
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Jobs, []widget.MenuItem{
		copyItem("s", "snapshot", j.Snapshot),
		copyItem("i", "ledger id", j.ID),
		copyItem("f", "file", j.File),
		copyItem("w", "watch command", "zonedeck jobs watch "+j.ID),
	})
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}
