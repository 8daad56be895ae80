package jobs

import (
	"cmp"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

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

// toggleAlerts switches them on or off for this run.
func (m *Model) toggleAlerts() tea.Cmd {
	m.alerts.on = !m.alerts.on
	said := "the terminal is no longer told of jobs"
	if m.alerts.on {
		said = "the terminal is told how jobs go and when they end; 'notify' of config.toml makes it so from the start"
	}
	return tea.Batch(kit.Info(said), m.showProgress())
}

// showProgress writes how far the jobs in flight are, if that has changed.
func (m *Model) showProgress() tea.Cmd {
	want := cmp.Or(m.progressNow(), m.deps.Terminal.Clear())
	a := &m.alerts
	if a.writing || want == a.written || a.written == "" && want == m.deps.Terminal.Clear() {
		return nil
	}
	a.written, a.writing = want, true
	return tea.Sequence(tea.Raw(want), kit.Send(kit.Call(kit.Jobs, func() tea.Cmd {
		a.writing = false
		return m.showProgress()
	})))
}

func (m *Model) progressNow() string {
	if !m.alerts.on || !m.alerts.progress.Any() {
		return ""
	}
	return m.deps.Terminal.Progress(m.alerts.progress.Percent())
}

// tellEnd notifies of the end of a job.
func (m *Model) tellEnd(j model.Job) tea.Cmd {
	if !m.alerts.on {
		return nil
	}
	return tea.Raw(m.deps.Terminal.JobEnded(j, m.session.ProfileName))
}
