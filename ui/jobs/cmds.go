package jobs

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/config"
	service "zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/service/snippet"
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
		said    []string  // what was written down before it
		err     error
	}
	cancelled struct {
		name string
		job  model.Job
		err  error
	}
	recordsLoaded struct {
		table model.RecordTable // with an error: the records before it
		err   error
	}

	// followEnded says why jobs are no longer followed, asked what came of asking for a job at once.
	followEnded struct{ err error }
	asked       struct {
		id  string
		job model.Job
		err error
	}

	// doCancel confirms cancelling a job.
	doCancel struct{ job model.Job }
)

func (m *Model) load() tea.Cmd {
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &m.ledger.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		jobs, total, err := l.Jobs(ctx, maxListed)
		return jobsLoaded{jobs, total, err}
	})
}

// follow listens to what happens to the jobs in flight, those of other profiles too, until the profile
// changes or the program ends. The service is asked by the service layer, whatever is on the screen.
func (m *Model) follow() tea.Cmd {
	if m.work.following.Running() || !m.session.Ready {
		return nil
	}
	l := m.deps.Ledger
	return kit.Stream(kit.Jobs, &m.work.following, m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		return followEnded{l.Follow(ctx, func(f service.Followed) { emit(f) })}
	})
}

// askNow has a job asked for at once, even if nobody follows it any more.
func (m *Model) askNow(id string) tea.Cmd {
	l := m.deps.Ledger
	ask := kit.Do(kit.Jobs, &m.work.ask, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		job, err := l.AskNow(ctx, id)
		return asked{id, job, err}
	})
	return tea.Batch(ask, m.follow())
}

// asked handles what came of asking for a job at once. The stream tells of a job that is asked for from
// now on; a forgotten one has been asked for.
func (m *Model) asked(msg asked) tea.Cmd {
	switch {
	case msg.err != nil:
		return kit.Fail("ask for " + msg.id + ": " + msg.err.Error())
	case msg.job.Forgotten():
		return kit.Warn(msg.id + ": the service still does not know it")
	case msg.job.State.Final():
		m.put(msg.job)
		return m.announce(msg.job)
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
	m.alerts.progress.Seen(f.Job, f.On)
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

// kept is what is saved before a launch.
type kept struct {
	reason string      // why it is an ADMIN key
	in     rows.Inputs // whose bad rows are kept
	list   string      // the name of a list that the good rows are saved as
}

// kept is what the form asks to save.
func (l *launch) kept() kept {
	return kept{l.reason(), l.checked.in, strings.TrimSpace(l.form.Value(fieldSaveList))}
}

func (m *Model) trigger(r model.TriggerRequest, k kept) tea.Cmd {
	l, d := m.deps.Ledger, m.deps
	return kit.Do(kit.Jobs, &m.work.trigger, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		out := triggered{dataset: r.Dataset}
		out.said, r.Rejected, out.err = d.keep(ctx, r.Key, k)
		if out.err == nil {
			out.job, out.err = l.Trigger(ctx, r)
		}
		return out
	})
}

// keep saves what must be saved before anything is sent, and says what is where.
func (d Deps) keep(ctx context.Context, key string, k kept) (said []string, bad model.JobRejected, err error) {
	if k.reason != "" && d.Admit != nil {
		if err := d.Admit(ctx, key, k.reason); err != nil {
			return nil, bad, err
		}
	}
	if k.list != "" {
		if err := d.SaveList(k.list, k.in.Rows); err != nil {
			return nil, bad, fmt.Errorf("the list could not be saved, so nothing was sent: %w", err)
		}
		said = append(said, text.Counted(len(k.in.Rows), "input")+" saved as list:"+k.list)
	}
	if k.in.Bad > 0 {
		path, err := d.KeepRejects("", k.in)
		if err != nil {
			return said, bad, fmt.Errorf("the bad rows could not be kept, so nothing was sent: %w", err)
		}
		bad = model.JobRejected{Rows: k.in.Bad, File: path}
		said = append(said, "bad rows are kept in "+path)
	}
	return said, bad, nil
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

// command is a command of 'zonedeck jobs' about a job, for a shell with any default profile.
func command(j model.Job, name string) string {
	of := j.Profile
	if of == config.FlagsName {
		of = ""
	}
	return snippet.With(of) + " jobs " + name + " " + j.ID
}

func (m *Model) copyMenu(j model.Job) tea.Cmd {
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Jobs, []widget.MenuItem{
		widget.CopyItem("s", "snapshot", j.Snapshot),
		widget.CopyItem("i", "job", j.ID),
		widget.CopyItem("f", "file", j.File),
		widget.CopyItem("w", "watch command", command(j, "watch")),
	})
}
