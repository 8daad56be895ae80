package jobs

import (
	"fmt"
	"strings"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// fieldUnlaunched leaves out the inputs that jobs of the last hour have. It is shown if there are such inputs, and others.
const fieldUnlaunched = "only_unlaunched"

// chosen is what is launched: what was checked, or the same without what jobs of the last hour have.
func (l *launch) chosen() service.Checked {
	if left := l.checked.Unlaunched; l.unlaunched && left != nil {
		return *left
	}
	return l.checked
}

// offerUnlaunched shows the choice if there is one, and takes what was chosen.
func (l *launch) offerUnlaunched() {
	left := l.checked.Unlaunched
	l.form.SetHidden(fieldUnlaunched, left == nil)
	l.unlaunched = left != nil && l.form.On(fieldUnlaunched)
	if left == nil {
		return
	}
	l.form.SetPlaceholder(fieldUnlaunched, text.Counted(left.LeftOut.Inputs, "input")+" of the last hour: "+savedWords(l.checked.Estimate, left.Estimate))
	l.form.SetNote(fieldUnlaunched, widget.Note{Mark: widget.NoteWarn, Text: leftOutWords(left.LeftOut)})
}

// rechosen reports whether the choice alone has changed since the inputs were checked.
func (l *launch) rechosen() bool {
	return l.checked.Unlaunched != nil && l.form.On(fieldUnlaunched) != l.unlaunched
}

// savedWords say what leaving inputs out saves.
func savedWords(whole, left service.Estimate) string {
	switch saved := whole.Dollars - left.Dollars; {
	case whole.Dollars < 0 || left.Dollars < 0:
		return "how much it saves is unknown"
	case saved > 0:
		return "saves about " + model.SmallDollars(saved)
	default:
		return "the estimate stays the same"
	}
}

// leftOutWords name the jobs that have some of the inputs.
func leftOutWords(out service.LeftOut) string {
	var names []string
	for _, o := range out.Jobs[:min(len(out.Jobs), maxOverlapLines)] {
		names = append(names, fmt.Sprintf("%s launched as %s (%s)", o.Opening(out.Good), o.Job.ID, o.Job.State.Label()))
	}
	if more := len(out.Jobs) - len(names); more > 0 {
		names = append(names, text.Counted(more, "more job")+" with some of them")
	}
	words := strings.Join(names, ", ") + "."
	if unknown := service.JobNames(out.Unknown); unknown != "" {
		words += " The inputs of " + unknown + " are not known: any of these may be among them."
	}
	return words
}
