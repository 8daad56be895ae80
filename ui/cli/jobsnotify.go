package cli

import (
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/ui/kit/alert"
)

func notifyFlag(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVar(on, "notify", false, "on a terminal: show how far the jobs are in its tab or task bar, and notify and ring when one ends")
}

// notifier tells the terminal of jobs. The zero value tells nothing.
type notifier struct {
	out      io.Writer // nil for none
	terminal alert.Terminal
	jobs     map[string]model.Job // in flight
	shown    string               // the progress that was written last
}

// notifier is one that tells if that is asked for and stdout is a terminal.
func (a *app) notifier(on bool) *notifier {
	switch {
	case !on:
		return &notifier{}
	case !a.StdoutTTY:
		a.say("zonedeck: --notify: stdout is no terminal, which alone is told")
		return &notifier{}
	}
	return &notifier{out: a.Stdout, terminal: alert.Detect(a.Getenv), jobs: map[string]model.Job{}}
}

// seen takes what a job is now; on says that it is asked about. What cannot be written is not
// told: the command's own output says why it fails.
func (n *notifier) seen(j model.Job, on bool) {
	if n.out == nil {
		return
	}
	_, known := n.jobs[j.ID]
	if delete(n.jobs, j.ID); on && !j.State.Final() {
		n.jobs[j.ID] = j
	}
	progress := n.terminal.Clear()
	if len(n.jobs) > 0 {
		progress = n.terminal.Progress(model.JobsProgress(slices.Collect(maps.Values(n.jobs))))
	}
	if progress != n.shown && (n.shown != "" || len(n.jobs) > 0) {
		n.shown = progress
		_, _ = io.WriteString(n.out, progress)
	}
	if known && j.State.Final() {
		_, _ = io.WriteString(n.out, n.terminal.JobEnded(j))
	}
}

// end takes away what is shown of jobs that go on.
func (n *notifier) end() {
	if n.shown != "" && n.shown != n.terminal.Clear() {
		_, _ = io.WriteString(n.out, n.terminal.Clear())
	}
}
