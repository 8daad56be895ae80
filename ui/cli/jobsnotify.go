package cli

import (
	"io"

	"zonedeck/model"
	"zonedeck/ui/kit/alert"
)

type ringFlag struct {
	Ring bool `flag:"ring" help:"in a terminal: show the progress of the jobs in its tab or task bar, and notify and ring when a job ends"`
}

// notifier shows the progress of jobs at the terminal and announces their ends. The zero value does nothing.
type notifier struct {
	out      io.Writer // nil for none
	profile  string    // the profile in use
	terminal alert.Terminal
	progress model.JobsProgress
	known    map[string]bool // the jobs in flight
	written  string          // the last progress written
}

// notifier returns a notifier, which is silent unless on is set and stdout is a terminal. own is the profile in use.
func (a *app) notifier(on bool, own string) *notifier {
	switch {
	case !on:
		return &notifier{}
	case !a.StdoutTTY:
		a.say("zonedeck: --ring has no effect: stdout is not a terminal")
		return &notifier{}
	}
	return &notifier{out: a.Stdout, profile: own, terminal: alert.Detect(a.Getenv), known: map[string]bool{}}
}

// update takes the present state of a job; on says that the service is asked about it. Write errors
// are dropped: the command's own output fails for the same reason.
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

// end clears the progress of jobs that are still running.
func (n *notifier) end() {
	if n.written != "" && n.written != n.terminal.Clear() {
		_, _ = io.WriteString(n.out, n.terminal.Clear())
	}
}
