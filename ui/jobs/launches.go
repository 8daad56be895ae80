package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// launches asks what has to be answered before a job is launched, and launches it.
type launches struct {
	m    *Model
	form *launch // nil while no dialog is open
	slot kit.Slot
}

// begin begins with the list of data sets where the dialect sends which one it is.
func (n *launches) begin(urls []string) kit.Opening {
	return func() (kit.Overlay, tea.Cmd) {
		if why := n.whyNot(); why != "" {
			return nil, kit.Warn("new job: " + why)
		}
		if n.m.session.Profile.Can.Sends().Dataset {
			return n.m.dataSets.list("New job", datasetChosen{urls: urls})
		}
		return nil, n.openForm(urls)
	}
}

// keyNamed finds a key of the session; an empty name is the profile's key.
func (n *launches) keyNamed(name string) model.Key {
	if i := slices.IndexFunc(n.m.session.Keys, func(k model.Key) bool { return k.Name == name }); i >= 0 {
		return n.m.session.Keys[i]
	}
	return n.m.session.Key
}

func (n *launches) closeForm() tea.Cmd {
	if n.form == nil {
		return nil
	}
	d := n.form.dialog
	n.form = nil
	return kit.CloseOverlay(d)
}

func (n *launches) whyNot() string {
	if why := cmp.Or(n.m.session.Refused("launch jobs"), n.m.session.NotReady()); why != "" || !n.slot.Running() {
		return why
	}
	return "a job is being launched"
}

// ask launches a job, or first asks what has no answer yet. valid says whether the report still stands after the yes.
func (n *launches) ask(r service.Report, questions []ask.Question, given ask.Answers, valid func() bool) tea.Cmd {
	open, ok := errors.AsType[*ask.Unanswered](given.Open(questions))
	if !ok {
		return n.send(r, given, valid)
	}
	if n.form != nil {
		n.form.dialog.Busy = false
	}
	return widget.Ask(n.m.deps.Theme, n.question(r, open.Questions, func(yes ask.Answers) tea.Cmd {
		if !valid() {
			return n.submit()
		}
		maps.Copy(yes, given)
		return n.send(r, yes, valid)
	}))
}

// question is the question before a launch: what was found, and the price.
func (n *launches) question(r service.Report, questions []ask.Question, then func(ask.Answers) tea.Cmd) widget.Asking {
	inputs := text.Counted(len(r.Request.Inputs), "input")
	spec := widget.Asking{Title: "Launch " + inputs + "?", Yes: "launch " + inputs, Questions: questions, Then: func(given ask.Answers) tea.Msg {
		return kit.Call(kit.Jobs, func() tea.Cmd { return then(given) })
	}}
	var lines []string
	for _, q := range questions {
		switch q.Kind {
		case ask.BadRows:
			good := text.Counted(len(r.Request.Inputs), "good row")
			spec.Title, spec.Yes = "Launch the "+good+"?", "launch the "+good
			lines = append(lines, widget.Sentence(q.Text)+" Bad rows are saved unchanged in the downloads folder, so that you can correct and launch them later.")
		case ask.SameInputs:
			spec.Title, spec.Yes = "Launch the same inputs again?", "launch again"
			lines = append(lines, n.factLines(q.Facts[:1])...)
		case ask.SharedInputs, ask.UnknownInputs:
			lines = append(lines, n.factLines(q.Facts)...)
		case ask.Cost: // it is in the last line
		case ask.Lacking:
			lines = append(lines, widget.Sentence(q.Text)+" Download the result again first: "+n.m.deps.Theme.Key("jobs.download")+" downloads it.")
		case ask.Unsettled:
			line := widget.Sentence(q.Text)
			if r.Repeated.State == model.JobMayHave {
				line += " " + n.m.deps.Theme.Key("jobs.settle") + " looks for it in the service's list."
			}
			lines = append(lines, line)
		default:
			lines = append(lines, widget.Sentence(q.Text))
		}
	}
	of := ""
	if r.Repeated.ID != "" {
		spec.Title, spec.Yes = "Launch it again?", "launch "+inputs
		of = " of " + r.Repeated.ID
		lines = append(n.againLines(r), lines...)
	}
	price := fmt.Sprintf("%s%s for %s, with key %s: %s.", inputs, of, datasetWords(r.Request.Dataset), n.keyNamed(r.Request.Key).Name, estimateLine(r.Estimate))
	spec.Body = strings.Join(append(lines, price), "\n")
	return spec
}

// againLines say what was noticed about a job that is launched again.
func (n *launches) againLines(r service.Report) (lines []string) {
	if n := r.Missing; n.Inputs > 0 {
		lines = append(lines, fmt.Sprintf("Of %s, %d gave nothing and %d an error.", text.Counted(n.Inputs, "input"), n.Nothing, n.Failed))
	}
	for _, n := range r.Notes {
		lines = append(lines, widget.Sentence(n.Text))
	}
	now := n.m.deps.Clock.Now()
	if at, ok := r.Repeated.Fault.RetryAt(); ok && at.After(now) {
		lines = append(lines, "The service asked to wait until "+text.Clock(at, now)+": until then it may refuse this one too.")
	}
	return lines
}

// factLines say what jobs have, each with the time when it was begun, and what follows.
func (n *launches) factLines(facts []ask.Fact) (lines []string) {
	jobs := 0
	for _, f := range facts {
		line := f.Text
		if j := f.Job; j.ID != "" {
			if jobs++; jobs > maxOverlapLines {
				continue
			}
			line += fmt.Sprintf(" at %s (%s, %s)", widget.DateAndAge(n.m.session, j.Profile, j.Created, n.m.deps.Clock.Now()), j.ID, j.State.Label())
		}
		line = widget.Sentence(line)
		if f.Outcome != "" {
			line += " " + widget.Sentence(f.Outcome)
		}
		lines = append(lines, line)
	}
	if more := jobs - maxOverlapLines; more > 0 {
		lines = append(lines, "Some of the inputs are in "+text.Counted(more, "more job")+" of the last hour.")
	}
	return lines
}

// send launches a job. What was launched with the same inputs meanwhile is asked about anew.
func (n *launches) send(r service.Report, given ask.Answers, valid func() bool) tea.Cmd {
	if n.form != nil {
		n.form.dialog.Busy = true
	}
	jobs := n.m.deps.Jobs
	return kit.Load(kit.Jobs, &n.slot, n.m.deps.Ctx, func(ctx context.Context) (service.Launched, error) {
		return jobs.Launch(ctx, r, given)
	}, func(out service.Launched, err error) tea.Cmd {
		if open, ok := errors.AsType[*ask.Unanswered](err); ok {
			return n.ask(r, open.Questions, given, valid)
		}
		return n.ended(r.Request.Dataset, out, err)
	})
}

// ended shows what became of a launch.
func (n *launches) ended(dataset string, out service.Launched, err error) tea.Cmd {
	job := out.Job
	if err != nil {
		// The dialog may have been closed meanwhile, so the message is shown too.
		if n.form != nil {
			n.form.failed(err.Error())
		}
		if job.ID != "" { // it is in the ledger, even if nothing was sent
			n.m.list.put(job)
		}
		return kit.Fail("launching on " + datasetWords(dataset) + ": " + err.Error())
	}
	n.m.list.want = job.ID
	n.m.list.put(job)
	n.m.panes.At = paneList
	cmds := []tea.Cmd{n.closeForm(), n.m.follow.begin()}
	switch job.State {
	case model.JobMayHave:
		cmds = append(cmds, kit.FailIn(kit.Jobs, "job on "+datasetWords(job.Dataset)+" may have started, so it is not sent again: "+n.m.deps.Theme.Key("jobs.settle")+" looks for it in the service's list"))
	case model.JobRefused, model.JobNotSent:
		cmds = append(cmds, kit.FailIn(kit.Jobs, "job on "+datasetWords(job.Dataset)+": "+job.State.Label()+": "+job.Detail))
	default:
		cmds = append(cmds, kit.Info("launched "+job.ID+" · "+n.m.deps.Theme.Key("jobs.open")+" shows its progress"))
	}
	for _, n := range out.Notes {
		cmds = append(cmds, kit.Info(n.Text))
	}
	return tea.Batch(cmds...)
}

// pasted opens the dialog with the addresses pasted into the tab.
func (n *launches) pasted(text string) tea.Cmd {
	rows := strings.Fields(text)
	for _, r := range rows {
		if !strings.HasPrefix(r, "http://") && !strings.HasPrefix(r, "https://") {
			return kit.Warn("the pasted text is not a list of addresses: " + n.m.deps.Theme.Key("jobs.new") + " opens the dialog, which also accepts CSV and JSON")
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return kit.Send(n.begin(rows))
}

// maxOverlapLines is how many jobs with some of the inputs are named.
const maxOverlapLines = 3
