package jobs

import (
	"cmp"
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// maxListed is how many jobs the list holds, the newest.
const maxListed = 1000

// previewRecords is how many records a preview reads.
const previewRecords = 100

func (m *Model) load() tea.Cmd {
	type listed struct {
		jobs  []model.Job
		total int // jobs in the ledger
	}
	jobs := m.deps.Jobs
	return kit.Load(kit.Jobs, &m.ledger.slot, m.deps.Ctx, func(ctx context.Context) (out listed, err error) {
		out.jobs, out.total, err = jobs.Jobs(ctx, maxListed)
		return out, err
	}, func(out listed, err error) tea.Cmd { return m.setJobs(out.jobs, out.total, err) })
}

// follow listens to what happens to the jobs in flight, those of other profiles too, until the profile
// changes or the program ends. The service is asked by the service layer, whatever is on the screen.
func (m *Model) follow() tea.Cmd {
	if m.work.following.Running() || !m.session.Ready {
		return nil
	}
	jobs := m.deps.Jobs
	return kit.Follow(kit.Jobs, &m.work.following, m.deps.Ctx, func(ctx context.Context, emit func(service.Followed)) (struct{}, error) {
		return struct{}{}, jobs.Follow(ctx, emit)
	}, m.followed, func(_ struct{}, err error) tea.Cmd { return m.followEnded(err) })
}

// askNow has a job asked for at once, even if nobody follows it any more.
func (m *Model) askNow(id string) tea.Cmd {
	jobs := m.deps.Jobs
	asking := kit.Load(kit.Jobs, &m.work.ask, m.deps.Ctx, func(ctx context.Context) (model.Job, error) {
		return jobs.AskNow(ctx, id)
	}, func(j model.Job, err error) tea.Cmd { return m.askResult(id, j, err) })
	return tea.Batch(asking, m.follow())
}

// askResult handles what came of asking for a job at once. The stream tells of a job that is asked for from
// now on; a forgotten one has been asked for.
func (m *Model) askResult(id string, j model.Job, err error) tea.Cmd {
	switch {
	case err != nil:
		return kit.Fail("ask for " + id + ": " + err.Error())
	case j.Forgotten():
		return kit.Warn(id + ": the service still does not know it")
	case j.State.Final():
		m.put(j)
		return m.announce(j)
	default:
		return nil
	}
}

// unfollow ends the stream: the jobs are of another profile.
func (m *Model) unfollow() {
	m.work.following.Drop()
	m.work.followed, m.alerts.progress = map[string]service.Followed{}, model.JobsProgress{}
}

// followed handles what happened to a job in flight.
func (m *Model) followed(f service.Followed) tea.Cmd {
	id := f.Job.ID
	if id == "" {
		return nil // nothing is in flight
	}
	before := m.work.followed[id]
	m.work.followed[id] = f
	m.alerts.progress.Update(f.Job, f.On)
	m.put(f.Job)
	switch {
	case f.Job.State.Final():
		delete(m.work.followed, id)
		return tea.Batch(m.announce(f.Job), m.tellEnd(f.Job), m.showProgress())
	case f.Job.State == model.JobMayHave: // nobody asks about it
		delete(m.work.followed, id)
		return tea.Batch(m.showProgress(), kit.Warn(m.naming(f.Job)+" may have started: no webhook came in time"+m.here(f.Job, " (s looks for it in the service's list)")))
	case !f.On && before.On && f.Err != nil:
		return tea.Batch(kit.Warn("following "+m.naming(f.Job)+" ended: "+f.Err.Error()+" (f follows it again)"), m.showProgress())
	}
	return m.showProgress()
}

func (m *Model) followEnded(err error) tea.Cmd {
	if err == nil {
		return nil
	}
	m.work.followed, m.alerts.progress = map[string]service.Followed{}, model.JobsProgress{}
	return tea.Batch(m.showProgress(), kit.Fail("no job is followed: "+err.Error()+" (f tries again)"))
}

func (m *Model) announce(j model.Job) tea.Cmd {
	switch j.State {
	case model.JobReady:
		return kit.Info(m.naming(j) + " is ready" + m.here(j, ": d downloads, p shows its first records"))
	case model.JobFailed:
		return kit.Fail(m.naming(j) + " failed: " + cmp.Or(j.Detail, "the service gave no reason"))
	case model.JobExpired:
		return kit.Warn(m.naming(j) + " has expired: " + j.Detail)
	default:
		return kit.Info(m.naming(j) + ": " + j.State.Label())
	}
}

// naming names a job, with its profile where that is another one.
func (m *Model) naming(j model.Job) string {
	if m.foreign(j) {
		return j.ID + " of profile " + j.Profile
	}
	return j.ID
}

// here is what the keys do with a job, unless it belongs to another profile.
func (m *Model) here(j model.Job, keys string) string {
	if m.foreign(j) {
		return " (@ switches to its profile)"
	}
	return keys
}

func (m *Model) askCancel(j model.Job) tea.Cmd {
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Cancel the job?",
		Body: fmt.Sprintf("%s on %s, %s, %s.\nThe service is asked to stop it. What it has already collected may be billed, and a cancelled job cannot be resumed.",
			j.ID, datasetWords(j.Dataset), text.Counted(j.Inputs, "input"), j.State.Label()),
		Yes: "cancel the job", Intent: kit.Call(kit.Jobs, func() tea.Cmd { return m.cancelJob(j) }),
	})
}

func (m *Model) cancelJob(j model.Job) tea.Cmd {
	jobs := m.deps.Jobs
	return kit.Load(kit.Jobs, &m.work.cancel, m.deps.Ctx, func(ctx context.Context) (model.Job, error) {
		return jobs.CancelJob(ctx, j.ID)
	}, func(job model.Job, err error) tea.Cmd {
		if job.ID != "" { // it has the verdict
			m.put(job)
		}
		if err != nil {
			return kit.Fail("cancel " + j.ID + ": " + err.Error())
		}
		return tea.Batch(m.follow(), kit.Info(job.ID+": "+job.State.Label()))
	})
}

func (m *Model) openPreview(j model.Job) tea.Cmd {
	m.preview.open, m.preview.job, m.preview.err = true, j, nil
	m.preview.records, m.preview.column = model.RecordTable{}, 0
	m.layPreview()
	jobs := m.deps.Jobs
	return kit.Load(kit.Jobs, &m.preview.slot, m.deps.Ctx, func(ctx context.Context) (model.RecordTable, error) {
		return jobs.Records(ctx, j.ID, previewRecords)
	}, func(t model.RecordTable, err error) tea.Cmd { // with an error: the records before it
		m.preview.records, m.preview.err = t, err
		m.layPreview()
		return nil
	})
}

func (m *Model) copyMenu(j model.Job) tea.Cmd {
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Jobs, []widget.MenuItem{
		widget.CopyItem("s", "snapshot", j.Snapshot),
		widget.CopyItem("i", "job", j.ID),
		widget.CopyItem("f", "file", j.File),
		widget.CopyItem("w", "watch command", service.CommandAbout(j, "watch")),
	})
}
