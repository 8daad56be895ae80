package alert

import (
	"strings"
	"testing"

	"zonedeck/model"
)

func detect(pairs ...string) Terminal {
	return Detect(func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	})
}

func TestOnlyWhatATerminalUnderstandsIsWritten(t *testing.T) {
	for _, c := range []struct {
		name            string
		env             []string
		ended, progress string
	}{
		{"unknown", []string{"TERM", "xterm-256color"}, "\a", ""},
		{"dumb, whatever else is said", []string{"TERM", "dumb", "WT_SESSION", "1"}, "\a", ""},
		{"kitty", []string{"TERM", "xterm-kitty"}, "\x1b]99;;z: job-1\a\a", ""},
		{"WezTerm", []string{"TERM_PROGRAM", "WezTerm"}, "\x1b]777;notify;z;job-1\a\a", "\x1b]9;4;1;40\a"},
		{"Ghostty", []string{"TERM", "xterm-ghostty"}, "\x1b]777;notify;z;job-1\a\a", "\x1b]9;4;1;40\a"},
		{"iTerm2", []string{"TERM_PROGRAM", "iTerm.app"}, "\x1b]9;z: job-1\a\a", ""},
		{"iTerm2 with a bar", []string{"TERM_PROGRAM", "iTerm.app", "TERM_FEATURES", "T3CwP"}, "\x1b]9;z: job-1\a\a", "\x1b]9;4;1;40\a"},
		{"foot", []string{"TERM", "foot-extra"}, "\x1b]777;notify;z;job-1\a\a", ""},
		{"Windows Terminal", []string{"WT_SESSION", "x"}, "\a", "\x1b]9;4;1;40\a"},
		{"screen", []string{"STY", "1", "TERM_PROGRAM", "WezTerm"}, "\a", ""},
		{"WezTerm within tmux", []string{"TMUX", "/tmp/s,1,0", "TERM_PROGRAM", "tmux", "WEZTERM_PANE", "0"}, "\x1bPtmux;\x1b\x1b]777;notify;z;job-1\a\x1b\\\a", "\x1bPtmux;\x1b\x1b]9;4;1;40\a\x1b\\"},
		{"an unknown one within tmux", []string{"TMUX", "/tmp/s,1,0"}, "\a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := detect(c.env...)
			if got := term.Ended("z", "job-1"); got != c.ended {
				t.Errorf("the end: %q, want %q", got, c.ended)
			}
			if got := term.Progress(40); got != c.progress {
				t.Errorf("progress: %q, want %q", got, c.progress)
			}
			if shown := term.Clear() != ""; shown != (c.progress != "") {
				t.Errorf("clear: %q", term.Clear())
			}
		})
	}
}

func TestProgressThatIsNotKnownHasNoPercent(t *testing.T) {
	term := detect("WT_SESSION", "x")
	if got := term.Progress(-1); got != "\x1b]9;4;3\a" {
		t.Errorf("%q", got)
	}
	if got := term.Clear(); got != "\x1b]9;4;0\a" {
		t.Errorf("%q", got)
	}
}

func TestATextCannotEndItsSequence(t *testing.T) {
	for _, env := range [][]string{{"TERM", "xterm-kitty"}, {"TERM", "foot"}, {"TERM_PROGRAM", "iTerm.app"}} {
		got := detect(env...).JobEnded(model.Job{ID: "job-1", Dataset: "a\a\x1b]52;c;aGk=\x1b\\;\u202e\u009c;b", State: model.JobReady, Records: 3}, "")
		body := strings.TrimSuffix(strings.TrimPrefix(got, "\x1b]"), "\a\a")
		if strings.ContainsAny(body, "\a\x1b\u009c\u202e") || strings.Count(body, ";") > 3 || !strings.Contains(body, "ready, 3 records") {
			t.Errorf("%q", got)
		}
	}
}

func TestTheProfileOfAnotherAccountsJobIsNamed(t *testing.T) {
	j := model.Job{ID: "job-1", Profile: "shop", Dataset: "gd_1", State: model.JobReady, Records: -1}
	term := detect("TERM", "xterm-kitty")
	for own, want := range map[string]string{"shop": "job-1 of gd_1: ready", "other": "job-1 (shop) of gd_1: ready"} {
		if got := term.JobEnded(j, own); !strings.Contains(got, want) {
			t.Errorf("%s: %q", own, got)
		}
	}
}
