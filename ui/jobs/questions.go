package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// maxOverlapLines is how many jobs with some of the inputs are named.
const maxOverlapLines = 3

// askLaunch launches a job, or first asks what has no answer yet. valid says whether the report still stands after the yes.
func (m *Model) askLaunch(r service.Report, questions []ask.Question, given ask.Answers, valid func() bool) tea.Cmd {
	open, ok := errors.AsType[*ask.Unanswered](given.Open(questions))
	if !ok {
		return m.launch(r, given, valid)
	}
	if m.dialog != nil {
		m.dialog.dialog.Busy = false
	}
	return widget.Confirm(m.deps.Theme, m.launchQuestion(r, open.Questions, func() tea.Cmd {
		if !valid() {
			return m.submit()
		}
		for _, q := range open.Questions {
			given = given.With(q, ask.Agreed)
		}
		return m.launch(r, given, valid)
	}))
}

// launchQuestion is the question before a launch: what was found, and the price.
func (m *Model) launchQuestion(r service.Report, questions []ask.Question, yes func() tea.Cmd) widget.ConfirmSpec {
	inputs := text.Counted(len(r.Request.Inputs), "input")
	spec := widget.ConfirmSpec{Title: "Launch " + inputs + "?", Yes: "launch " + inputs, Intent: kit.Call(kit.Jobs, yes)}
	var lines []string
	for _, q := range questions {
		switch q.Kind {
		case ask.BadRows:
			good := text.Counted(len(r.Request.Inputs), "good row")
			spec.Title, spec.Yes = "Launch the "+good+"?", "launch the "+good
			lines = append(lines, sentence(q.Text)+" Bad rows are kept as they stand in a file of the downloads folder, to be mended and launched later.")
		case ask.SameInputs:
			spec.Title, spec.Yes = "Launch the same inputs again?", "launch again"
			lines = append(lines, m.factLines(q.Facts[:1])...)
		case ask.SharedInputs, ask.UnknownInputs:
			lines = append(lines, m.factLines(q.Facts)...)
		case ask.Cost: // it is in the last line
		case ask.Lacking:
			lines = append(lines, sentence(q.Text)+" Download the result again first (d).")
		case ask.Unsettled:
			line := sentence(q.Text)
			if r.Repeated.State == model.JobMayHave {
				line += " s looks for it in the service's list."
			}
			lines = append(lines, line)
		default:
			lines = append(lines, sentence(q.Text))
		}
	}
	of := ""
	if r.Repeated.ID != "" {
		spec.Title, spec.Yes = "Launch it again?", "launch "+inputs
		of = " of " + r.Repeated.ID
		lines = append(m.againLines(r), lines...)
	}
	price := fmt.Sprintf("%s%s for %s, with key %s: %s.", inputs, of, datasetWords(r.Request.Dataset), m.keyNamed(r.Request.Key).Name, estimateLine(r.Estimate))
	spec.Body = strings.Join(append(lines, price), "\n")
	return spec
}

// againLines say what was noticed about a job that is launched again.
func (m *Model) againLines(r service.Report) (lines []string) {
	if n := r.Missing; n.Inputs > 0 {
		lines = append(lines, fmt.Sprintf("Of %s, %d gave nothing and %d an error.", text.Counted(n.Inputs, "input"), n.Nothing, n.Failed))
	}
	for _, n := range r.Notes {
		lines = append(lines, sentence(n.Text))
	}
	now := m.deps.Clock.Now()
	if at, ok := r.Repeated.Fault.RetryAt(); ok && at.After(now) {
		lines = append(lines, "The service asked to wait until "+text.Clock(at, now)+": before that it may refuse this one, too.")
	}
	return lines
}

// factLines say what jobs have, each with the time when it was begun, and what follows.
func (m *Model) factLines(facts []ask.Fact) (lines []string) {
	jobs := 0
	for _, f := range facts {
		line := f.Text
		if j := f.Job; j.ID != "" {
			if jobs++; jobs > maxOverlapLines {
				continue
			}
			line += fmt.Sprintf(" at %s (%s, %s)", widget.DateAndAge(m.session, j.Profile, j.Created, m.deps.Clock.Now()), j.ID, j.State.Label())
		}
		line = sentence(line)
		if f.Then != "" {
			line += " " + sentence(f.Then)
		}
		lines = append(lines, line)
	}
	if more := jobs - maxOverlapLines; more > 0 {
		lines = append(lines, text.Counted(more, "more job")+" of the last hour have some of the inputs.")
	}
	return lines
}

// sentence is a clause with a full stop and a capital, unless it begins with a job.
func sentence(clause string) string {
	if strings.HasPrefix(clause, "job-") {
		return clause + "."
	}
	first, size := utf8.DecodeRuneInString(clause)
	return string(unicode.ToUpper(first)) + clause[size:] + "."
}

// launch launches a job. What was launched with the same inputs meanwhile is asked about anew.
func (m *Model) launch(r service.Report, given ask.Answers, valid func() bool) tea.Cmd {
	if m.dialog != nil {
		m.dialog.dialog.Busy = true
	}
	jobs := m.deps.Jobs
	return kit.Load(kit.Jobs, &m.work.trigger, m.deps.Ctx, func(ctx context.Context) (service.Launched, error) {
		return jobs.Launch(ctx, r, given)
	}, func(out service.Launched, err error) tea.Cmd {
		if open, ok := errors.AsType[*ask.Unanswered](err); ok {
			return m.askLaunch(r, open.Questions, given, valid)
		}
		return m.launched(r.Request.Dataset, out, err)
	})
}

// launched shows what became of a launch.
func (m *Model) launched(dataset string, out service.Launched, err error) tea.Cmd {
	job := out.Job
	if err != nil {
		// The dialog may have been closed meanwhile, so the message is shown too.
		if m.dialog != nil {
			m.dialog.failed(err.Error())
		}
		if job.ID != "" { // it is in the ledger, even if nothing was sent
			m.put(job)
		}
		return kit.Fail("launch on " + datasetWords(dataset) + ": " + err.Error())
	}
	m.want = job.ID
	m.put(job)
	m.panes.At = paneList
	cmds := []tea.Cmd{m.closeDialog(), m.follow()}
	switch job.State {
	case model.JobMayHave:
		cmds = append(cmds, kit.Fail("job on "+datasetWords(job.Dataset)+" may have started; it is not sent again: look for it before you launch it again"))
	case model.JobRefused, model.JobNotSent:
		cmds = append(cmds, kit.Fail("job on "+datasetWords(job.Dataset)+": "+job.State.Label()+": "+job.Detail))
	default:
		cmds = append(cmds, kit.Info("launched "+job.ID))
	}
	for _, n := range out.Notes {
		cmds = append(cmds, kit.Info(n.Text))
	}
	return tea.Batch(cmds...)
}
