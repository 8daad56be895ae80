package jobs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// fieldUnlaunched leaves out the inputs that jobs of the last hour have. It is shown if there are such inputs, and others.
const fieldUnlaunched = "only_unlaunched"

// part are inputs, what they are expected to cost, and why they would be refused.
type part struct {
	inputs   []model.JobInput
	estimate service.Estimate
	err      error
}

// launched says which of the good rows jobs of the last hour have.
type launched struct {
	jobs  service.EarlierJobs
	of    int  // good rows
	out   int  // of these, what a job has
	whole part // a sample of the rows, or all
	left  part // the same of what no job has
}

// findLaunched looks for jobs with some of the good rows. A sample is taken of what they leave. There is no choice if the
// sample of all rows has none of theirs.
func (d Deps) findLaunched(ctx context.Context, c *checkedInputs, sample int) {
	all, left := c.request, c.request
	all.Inputs = c.in.Rows
	jobs, err := d.Ledger.SharedInputs(ctx, all, recent)
	if err != nil {
		c.err = cmp.Or(c.err, fmt.Errorf("the ledger cannot be searched for the same inputs: %w", err))
		return
	}
	rest := jobs.Unlaunched(c.in.Rows)
	if len(rest) == 0 || len(jobs.Unlaunched(c.request.Inputs)) == len(c.request.Inputs) {
		return
	}
	left.Inputs = rows.Sample(rest, sample)
	c.launched = launched{jobs: jobs, of: len(c.in.Rows), out: len(c.in.Rows) - len(rest), whole: part{c.request.Inputs, c.estimate, c.err}, left: part{inputs: left.Inputs}}
	c.launched.left.estimate, c.launched.left.err = d.Ledger.Estimate(ctx, left)
}

// offerUnlaunched shows the choice if there is one, and gives what the form launches by it.
func (l *launch) offerUnlaunched(c checkedInputs) checkedInputs {
	has := c.launched
	l.form.SetHidden(fieldUnlaunched, len(has.left.inputs) == 0)
	if len(has.left.inputs) == 0 {
		l.unlaunched = false
		return c
	}
	l.form.SetPlaceholder(fieldUnlaunched, text.Counted(has.out, "input")+" of the last hour: "+savedWords(has.whole.estimate, has.left.estimate))
	l.form.SetNote(fieldUnlaunched, widget.Note{Mark: widget.NoteWarn, Text: hasWords(has)})
	chosen := has.whole
	if l.unlaunched = l.form.On(fieldUnlaunched); l.unlaunched {
		chosen = has.left
	}
	c.request.Inputs, c.estimate, c.err = chosen.inputs, chosen.estimate, chosen.err
	return c
}

// rechosen reports whether the choice alone has changed since the inputs were checked.
func (l *launch) rechosen() bool {
	return len(l.checked.launched.left.inputs) > 0 && l.form.On(fieldUnlaunched) != l.unlaunched
}

// savedWords say what leaving inputs out saves.
func savedWords(whole, left service.Estimate) string {
	switch saved := whole.Dollars - left.Dollars; {
	case whole.Dollars < 0 || left.Dollars < 0:
		return "what that saves is not known"
	case saved > 0:
		return "saves about " + model.SmallDollars(saved)
	default:
		return "the estimate stays the same"
	}
}

// hasWords name the jobs that have some of the inputs.
func hasWords(has launched) string {
	var names []string
	shared := has.jobs.Overlaps
	for _, s := range shared[:min(len(shared), maxSharedSaid)] {
		names = append(names, fmt.Sprintf("%s launched as %s (%s)", s.Words(has.of), s.Job.ID, s.Job.State.Label()))
	}
	if more := len(shared) - len(names); more > 0 {
		names = append(names, text.Counted(more, "more job")+" with some of them")
	}
	words := strings.Join(names, ", ") + "."
	if unknown := has.jobs.UnknownNames(); unknown != "" {
		words += " The inputs of " + unknown + " are not known: any of these may be among them."
	}
	return words
}
