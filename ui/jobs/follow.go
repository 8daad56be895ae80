package jobs

import (
	"cmp"
	"context"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
)

// following is the stream of what happens to the jobs in flight.
type following struct {
	m      *Model
	slot   kit.Slot
	jobs   map[string]service.Followed // what the stream said last, by the job
	asking kit.Slot                    // asks for one job at once
	alerts alerts
}

// toggleAlerts switches them on or off for this run.
func (w *following) toggleAlerts() tea.Cmd {
	w.alerts.on = !w.alerts.on
	said := "job notifications are off"
	if w.alerts.on {
		said = "job notifications are on until the console ends; 'notify' in config.toml keeps them on"
	}
	return tea.Batch(kit.Info(said), w.showProgress())
}

// showProgress writes how far the jobs in flight are, if that has changed.
func (w *following) showProgress() tea.Cmd {
	want := cmp.Or(w.progressNow(), w.m.deps.Terminal.Clear())
	a := &w.alerts
	if a.writing || want == a.written || a.written == "" && want == w.m.deps.Terminal.Clear() {
		return nil
	}
	a.written, a.writing = want, true
	return tea.Sequence(tea.Raw(want), kit.Send(kit.Call(kit.Jobs, func() tea.Cmd {
		a.writing = false
		return w.showProgress()
	})))
}

func (w *following) progressNow() string {
	if !w.alerts.on || !w.alerts.progress.Any() {
		return ""
	}
	return w.m.deps.Terminal.Progress(w.alerts.progress.Percent())
}

// notifyEnd notifies of the end of a job.
func (w *following) notifyEnd(j model.Job) tea.Cmd {
	if !w.alerts.on {
		return nil
	}
	return tea.Raw(w.m.deps.Terminal.JobEnded(j, w.m.session.ProfileName))
}

// begin listens to what happens to the jobs in flight, those of other profiles too, until the profile
// changes or the program ends. The service is asked by the service layer, whatever is on the screen; nobody is asked for a passphrase.
func (w *following) begin() tea.Cmd {
	if w.slot.Running() || !w.m.session.Ready {
		return nil
	}
	jobs := w.m.deps.Jobs
	return kit.Follow(kit.Jobs, &w.slot, w.m.deps.Ctx, func(ctx context.Context, emit func(service.Followed)) (struct{}, error) {
		jobs.KeepFollowing(ask.By(ctx, ask.Nobody), emit, func(err error) { emit(service.Followed{Err: err}) })
		return struct{}{}, nil
	}, w.event, func(struct{}, error) tea.Cmd { return nil })
}

// askNow has a job asked for at once, even if nobody follows it any more.
func (w *following) askNow(id string) tea.Cmd {
	jobs := w.m.deps.Jobs
	asking := kit.Load(kit.Jobs, &w.asking, w.m.deps.Ctx, func(ctx context.Context) (model.Job, error) {
		return jobs.AskNow(ctx, id)
	}, func(j model.Job, err error) tea.Cmd { return w.askedAtOnce(id, j, err) })
	return tea.Batch(asking, w.begin())
}

// askedAtOnce handles what came of asking for a job at once. The stream tells of a job that is asked for from
// now on; a forgotten one has been asked for.
func (w *following) askedAtOnce(id string, j model.Job, err error) tea.Cmd {
	switch {
	case err != nil:
		return kit.Fail("asking for " + id + ": " + err.Error())
	case j.Forgotten():
		return kit.Warn(id + ": the service still does not know it")
	case j.State.Final():
		w.m.list.put(j)
		return w.announce(j)
	default:
		return nil
	}
}

// drop ends the stream: the jobs are of another profile.
func (w *following) drop() {
	w.slot.Drop()
	w.jobs, w.alerts.progress = map[string]service.Followed{}, model.JobsProgress{}
}

// event handles what happened to a job in flight.
func (w *following) event(f service.Followed) tea.Cmd {
	id := f.Job.ID
	if id == "" && f.Err != nil {
		w.jobs, w.alerts.progress = map[string]service.Followed{}, model.JobsProgress{}
		return tea.Batch(w.showProgress(), kit.Warn("no job is followed, trying again every 10 seconds: "+f.Err.Error()))
	}
	if id == "" {
		return nil // nothing is in flight
	}
	before := w.jobs[id]
	w.jobs[id] = f
	w.alerts.progress.Update(f.Job, f.On)
	w.m.list.put(f.Job)
	switch {
	case f.Job.State.Final():
		delete(w.jobs, id)
		return tea.Batch(w.announce(f.Job), w.notifyEnd(f.Job), w.showProgress())
	case f.Job.State == model.JobMayHave: // nobody asks about it
		delete(w.jobs, id)
		return tea.Batch(w.showProgress(), kit.Warn(w.naming(f.Job)+" may have started: no webhook came in time"+w.keysHint(f.Job, " ("+w.m.deps.Theme.Key("jobs.settle")+" looks for it in the service's list)")))
	case !f.On && before.On && f.Err != nil:
		return tea.Batch(kit.Warn("stopped following "+w.naming(f.Job)+": "+f.Err.Error()+" ("+w.m.deps.Theme.Key("jobs.follow")+" follows it again)"), w.showProgress())
	}
	return w.showProgress()
}

func (w *following) announce(j model.Job) tea.Cmd {
	switch {
	case j.Doubt() != "":
		return kit.Warn(w.naming(j) + ": " + j.Doubt() + w.keysHint(j, ": "+w.m.deps.Theme.Key("jobs.download")+" downloads what there is, "+w.m.deps.Theme.Key("jobs.again")+" launches it again"))
	case j.State == model.JobReady:
		return kit.Info(w.naming(j) + " is ready" + w.keysHint(j, ": "+w.m.deps.Theme.Key("jobs.download")+" downloads, "+w.m.deps.Theme.Key("jobs.preview")+" shows its first records"))
	case j.State == model.JobFailed:
		return kit.FailIn(kit.Jobs, w.naming(j)+" failed: "+cmp.Or(j.Detail, "the service gave no reason"))
	case j.State == model.JobExpired:
		return kit.Warn(w.naming(j) + " has expired: " + j.Detail)
	default:
		return kit.Info(w.naming(j) + ": " + j.State.Label())
	}
}

// naming names a job, with its profile where that is another one.
func (w *following) naming(j model.Job) string {
	if w.m.foreign(j) {
		return j.ID + " of profile " + j.Profile
	}
	return j.ID
}

// foreignKey names the key that leads to the profile of a job.
func (m *Model) foreignKey() string {
	return " (" + m.deps.Theme.Key("console.profile") + " switches to its profile)"
}

// keysHint is what the keys do with a job, unless it belongs to another profile.
func (w *following) keysHint(j model.Job, keys string) string {
	if w.m.foreign(j) {
		return w.m.foreignKey()
	}
	return keys
}

// alerts tell the terminal of jobs while the operator looks elsewhere.
type alerts struct {
	on bool
	// written is the progress that was written last; writing says that it is on its way: commands
	// run at once, and the last one has to be the one that stays.
	written string
	writing bool
	// progress is how far the jobs in flight are.
	progress model.JobsProgress
}
