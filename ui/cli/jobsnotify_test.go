package cli

import (
	"bytes"
	"testing"

	"zonedeck/model"
)

func TestATerminalIsToldOfJobsAndAFileIsNot(t *testing.T) {
	for _, c := range []struct {
		name          string
		on, tty       bool
		out, messages string
	}{
		{"a terminal", true, true, "\x1b]9;4;1;25\a\x1b]9;4;1;50\a\x1b]9;4;0\a\a\x1b]9;4;3\a\x1b]9;4;0\a", ""},
		{"a file", true, false, "", "zonedeck: --ring has no effect: stdout is not a terminal\n"},
		{"not asked for", false, true, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, messages bytes.Buffer
			a := &app{Process: Process{Stdout: &out, Stderr: &messages, StdoutTTY: c.tty, Getenv: func(name string) string { return map[string]string{"WT_SESSION": "x"}[name] }}}
			n := a.notifier(c.on, "")
			j := model.Job{ID: "job-1", State: model.JobRunning, Inputs: 4, Done: 1}
			n.update(j, true)
			n.update(j, true)
			j.Done = 2
			n.update(j, true)
			j.State = model.JobReady
			n.update(j, false)
			n.update(model.Job{ID: "job-0", State: model.JobFailed}, false) // was over when first seen
			n.update(model.Job{ID: "job-2", State: model.JobAccepted, Done: -1, Inputs: 3}, true)
			n.end()
			if out.String() != c.out || messages.String() != c.messages {
				t.Errorf("%q, %q", out.String(), messages.String())
			}
		})
	}
}
