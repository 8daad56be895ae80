package jobs

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// maxSharedSaid is how many jobs with some of the inputs are named.
const maxSharedSaid = 3

// sameFound launches the job, or asks first if the same inputs were sent recently.
func (m *Model) sameFound(l *launch, msg sameFound) tea.Cmd {
	switch {
	case msg.err != nil:
		l.failed("the ledger cannot be searched for the same inputs: " + msg.err.Error())
		return nil
	case len(msg.jobs)+len(msg.shared.Overlaps)+len(msg.shared.Unknown) == 0 && (l.partly || m.profile.Local && l.checked.estimate.Dollars >= 0):
		msg.request.Guard = guardOf(nil)
		return m.trigger(msg.request, l.kept())
	}
	l.dialog.Busy = false
	l.same = msg.jobs
	inputs := text.Counted(len(msg.request.Inputs), "input")
	spec := widget.ConfirmSpec{
		Title: "Launch " + inputs + "?", Yes: "launch " + inputs, View: kit.Jobs, Intent: launchNow{},
		Body: fmt.Sprintf("%s for %s, with key %s: %s.", inputs, datasetWords(msg.request.Dataset), m.keyNamed(msg.request.Key).Name, estimateLine(l.checked.estimate)),
	}
	if len(msg.jobs) > 0 {
		spec.Title, spec.Yes = "Launch the same inputs again?", "launch again"
		spec.Body = m.sameWords(msg.jobs[0], fmt.Sprintf("The same %s went to %s", inputs, datasetWords(msg.request.Dataset))) + "\n" + spec.Body
	}
	spec.Body = strings.Join(append(m.sharedWords(msg.shared, len(msg.request.Inputs)), spec.Body), "\n")
	return widget.Confirm(m.deps.Theme, spec)
}

// sharedWords say, the newest first, what jobs have some of the inputs or may have them.
func (m *Model) sharedWords(shared service.EarlierJobs, inputs int) (lines []string) {
	for i, s := range shared.Overlaps {
		if i == maxSharedSaid {
			lines = append(lines, "Some were launched by "+text.Counted(len(shared.Overlaps)-i, "more job")+" before.")
			break
		}
		billed := "What it has, too, is billed a second time."
		if !s.Job.State.Started() {
			billed = "If that one started, what it has, too, is billed a second time."
		}
		lines = append(lines, fmt.Sprintf("%s launched at %s (%s, %s). %s", s.Words(inputs),
			widget.When(m.session, s.Job.Profile, s.Job.Created, m.deps.Now()), s.Job.ID, s.Job.State.Label(), billed))
	}
	if names := shared.UnknownNames(); names != "" {
		lines = append(lines, "The inputs of "+names+" are not known: any of these among them is billed a second time.")
	}
	return lines
}

// sameWords say what was launched before.
func (m *Model) sameWords(last model.Job, launched string) string {
	billed := "A second job is billed a second time."
	if !last.State.Started() {
		billed = "If that one started, a second job is billed a second time."
	}
	return fmt.Sprintf("%s at %s (%s, %s). %s", launched, widget.When(m.session, last.Profile, last.Created, m.deps.Now()), last.ID, last.State.Label(), billed)
}

// guardOf refuses a launch if the same was launched beside the jobs that are named to the operator.
func guardOf(same []model.Job) *model.LaunchGuard {
	g := &model.LaunchGuard{Within: recent}
	for _, j := range same {
		g.Known = append(g.Known, j.ID)
	}
	return g
}
