package cli

import (
	"io"

	"zonedeck/model"
	"zonedeck/ui/kit/alert"
)

type notifyFlag struct {
	Notify bool `flag:"notify" help:"in a terminal: show the progress of the jobs in its tab or task bar, and notify and ring when a job ends"`
}

// notifier tells the terminal of jobs. The zero value tells nothing.
type notifier struct {
	out      io.Writer // nil for none
	profile  string    // the profile in use
	terminal alert.Terminal
	progress model.JobsProgress
	known    map[string]bool // the jobs in flight
	written  string          // the progress that was written last
}

// notifier is one that tells if that is asked for and stdout is a terminal. own is the profile in use.
func (a *app) notifier(on bool, own string) *notifier {
	switch {
	case !on:
		return &notifier{}
	case !a.StdoutTTY:
		a.say("zonedeck: --notify has no effect: stdout is not a terminal")
		return &notifier{}
	}
	return &notifier{out: a.Stdout, profile: own, terminal: alert.Detect(a.Getenv), known: map[string]bool{}}
}

// update takes what a job is now; on says that it is asked about. What cannot be written is not
// told: the command's own output says why it fails.
func (n *notifier) update(j model.Job, on bool) {
	if n.out == nil {
		return
	}
	n.progress.Update(j, on)
	known := n.known[j.ID]
	if delete(n.known, j.ID); on && !j.State.Final() {
		n.known[j.ID] = true
	}
	progress := n.terminal.Clear()
	if n.progress.Any() {
		progress = n.terminal.Progress(n.progress.Percent())
	}
	if progress != n.written && (n.written != "" || n.progress.Any()) {
		n.written = progress
		_, _ = io.WriteString(n.out, progress)
	}
	if known && j.State.Final() {
		_, _ = io.WriteString(n.out, n.terminal.JobEnded(j, n.profile))
	}
}

// end takes away what is shown of jobs that go on.
func (n *notifier) end() {
	if n.written != "" && n.written != n.terminal.Clear() {
		_, _ = io.WriteString(n.out, n.terminal.Clear())
	}
}
