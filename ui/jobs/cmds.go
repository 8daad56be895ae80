package jobs

import (
	"cmp"
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

// recent is how far back the ledger is searched for the same inputs before a launch.
const recent = time.Hour

// maxListed is how many jobs the list holds, the newest.
const maxListed = 1000

// previewRecords is how many records a preview reads.
const previewRecords = 100

// Results of commands. A nil err is success.
type (
	jobsLoaded struct {
		jobs  []model.Job
		total int // jobs in the ledger
		err   error
	}
	triggered struct {
		dataset string
		job     model.Job // set even with an error; zero if nothing was sent
		err     error
	}
	cancelled struct {
		name string
		job  model.Job
		err  error
	}
	downloadProgress struct{ done int64 }
	downloaded       struct {
		name string
		job  model.Job
		err  error
	}
	recordsLoaded struct {
		table model.RecordTable // with an error: the records before it
		err   error
	}

	// doCancel confirms cancelling a job; doDownload is a choice from a menu.
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
		return jobsLoaded{jobs, total, err}
	})
}

// follow tells the watcher which jobs to follow: those that still change, newest first.
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

// followNow follows a job at once, even if its watch ended with an error.
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

// resetWatches ends all watches.
func (m *Model) resetWatches() {
	m.work.watching.Drop()
	m.work.watcher = service.NewWatcher(m.deps.Ledger.Watch)
	m.work.watches = map[string]watch{}
}

// watchEvent handles what the watcher reports about one job.
func (m *Model) watchEvent(e service.WatchEvent) tea.Cmd {
	switch {
	case e.Phase == service.WatchBegan:
		m.work.watches[e.JobID] = watch{on: true}
	case e.Phase == service.WatchChanged:
		m.put(e.Job)
	case e.Err != nil:
		m.work.watches[e.JobID] = watch{err: e.Err.Error()}
		return kit.Warn("following " + e.JobID + " ended: " + e.Err.Error() + " (f follows it again)")
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
		return kit.Info(j.ID + " is ready: d downloads, p shows its first records")
	case model.JobFailed:
		return kit.Fail(j.ID + " failed: " + cmp.Or(j.Detail, "the service gave no reason"))
	default:
		return kit.Info(j.ID + ": " + j.State.Label())
	}
}

func (m *Model) trigger(r model.TriggerRequest, reason string) tea.Cmd {
	l, admit := m.deps.Ledger, m.deps.Admit
	return kit.Do(kit.Jobs, &m.work.trigger, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		if reason != "" && admit != nil {
			if err := admit(ctx, r.Key, reason); err != nil {
				return triggered{r.Dataset, model.Job{}, err}
			}
		}
		job, err := l.Trigger(ctx, r)
		return triggered{r.Dataset, job, err}
	})
}

func (m *Model) askCancel(j model.Job) tea.Cmd {
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Cancel the job?",
		Body: fmt.Sprintf("%s on %s, %s, %s.\nThe service is asked to stop it. What it has already collected may be billed, and a cancelled job cannot be resumed.",
			j.ID, datasetWords(j.Dataset), text.Counted(j.Inputs, "input"), j.State.Label()),
		Yes: "cancel the job", View: kit.Jobs, Intent: doCancel{job: j},
	})
}

func (m *Model) cancelJob(j model.Job) tea.Cmd {
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &m.work.cancel, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		job, err := l.CancelJob(ctx, j.ID)
		return cancelled{j.ID, job, err}
	})
}

func (m *Model) askFormat(j model.Job) tea.Cmd {
	item := func(key, format, note string) widget.MenuItem {
		return widget.MenuItem{Key: key, Label: format, Note: note, Intent: doDownload{job: j, format: strings.ToLower(format)}}
	}
	return widget.OpenMenu(m.deps.Theme, "Download "+j.ID+" as", kit.Jobs, []widget.MenuItem{
		item("J", "JSON", "one array"),
		item("n", "NDJSON", "one record a line"),
		item("c", "CSV", "flat, for a sheet"),
	})
}

func (m *Model) download(d doDownload) tea.Cmd {
	l := m.deps.Ledger
	m.work.downloading, m.work.received = d.job.ID, 0
	return kit.Stream(kit.Jobs, &m.work.download, m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		job, err := l.Download(ctx, d.job.ID, d.format, "", func(done int64) { emit(downloadProgress{done: done}) })
		return downloaded{d.job.ID, job, err}
	})
}

func (m *Model) openPreview(j model.Job) tea.Cmd {
	m.preview.open, m.preview.job, m.preview.err = true, j, nil
	m.preview.records, m.preview.column = model.RecordTable{}, 0
	m.layPreview()
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &m.preview.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		table, err := l.Records(ctx, j.ID, previewRecords)
		return recordsLoaded{table, err}
	})
}

func (m *Model) copyMenu(j model.Job) tea.Cmd {
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Jobs, []widget.MenuItem{
		widget.CopyItem("s", "snapshot", j.Snapshot),
		widget.CopyItem("i", "job", j.ID),
		widget.CopyItem("f", "file", j.File),
		widget.CopyItem("w", "watch command", "zonedeck jobs watch "+j.ID),
	})
}
