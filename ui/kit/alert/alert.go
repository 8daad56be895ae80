// Package alert tells the terminal how far jobs are and that they have ended: sequences that
// show a bar in its tab or task bar, and a notification of the desktop. Only what a terminal is
// known to understand is written: others show the same sequences as a notification, or as text.
package alert

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
)

// Terminal is what the terminal is known to understand. The zero value only rings.
type Terminal struct {
	progress bool   // OSC 9;4
	notify   string // "9", "777", "99", or "" for the bell alone
	tmux     bool   // it is within tmux, which passes sequences on if they are wrapped
}

// Detect looks at the environment. Within tmux the variables are those of the terminal that tmux
// was started in.
func Detect(getenv func(string) string) Terminal {
	t := Terminal{tmux: getenv("TMUX") != ""}
	if getenv("TERM") == "dumb" || !t.tmux && getenv("STY") != "" { // screen passes nothing of it on
		return t
	}
	name, program := getenv("TERM"), getenv("TERM_PROGRAM")
	switch {
	case getenv("KITTY_WINDOW_ID") != "", name == "xterm-kitty":
		t.notify = "99"
	case getenv("WEZTERM_PANE") != "", program == "WezTerm":
		t.notify, t.progress = "777", true
	case getenv("GHOSTTY_RESOURCES_DIR") != "", program == "ghostty", name == "xterm-ghostty":
		t.notify, t.progress = "777", true
	case getenv("ITERM_SESSION_ID") != "", program == "iTerm.app":
		t.notify, t.progress = "9", strings.Contains(getenv("TERM_FEATURES"), "P")
	case strings.HasPrefix(name, "foot"), strings.HasPrefix(name, "rxvt-unicode"):
		t.notify = "777"
	case getenv("WT_SESSION") != "", getenv("ConEmuANSI") == "ON":
		t.progress = true
	}
	return t
}

// Ended tells that something has ended: a bell, and a notification where it is known how.
func (t Terminal) Ended(title, body string) string {
	title, body = plain(title), plain(body)
	seq := ""
	switch t.notify {
	case "9":
		seq = ansi.Notify(title + ": " + body)
	case "777":
		seq = ansi.URxvtExt("notify", title, body)
	case "99":
		seq = ansi.DesktopNotification(title + ": " + body)
	}
	return t.wrapped(seq) + "\a"
}

// JobEnded tells that a job is over, without a word of the service. own is the profile in use, if one is: the profile of a
// job of another one is named.
func (t Terminal) JobEnded(j model.Job, own string) string {
	name := j.ID
	if own != "" && j.Profile != "" && j.Profile != own {
		name += " (" + j.Profile + ")"
	}
	said := fmt.Sprintf("%s of %s: %s", name, cmp.Or(j.Dataset, j.Profile), j.State.Label())
	if n := j.ResultRecords(); n >= 0 {
		said += ", " + text.Counted(n, "record")
	}
	return t.Ended("zonedeck", said)
}

// Progress shows how far the work is, in percent; -1 for work of which that is not known. It
// is "" where the terminal is not known to show it.
func (t Terminal) Progress(percent int) string {
	switch {
	case !t.progress:
		return ""
	case percent < 0:
		return t.wrapped(ansi.SetIndeterminateProgressBar)
	default:
		return t.wrapped(ansi.SetProgressBar(min(percent, 100)))
	}
}

// Clear takes the progress away.
func (t Terminal) Clear() string {
	if !t.progress {
		return ""
	}
	return t.wrapped(ansi.ResetProgressBar)
}

func (t Terminal) wrapped(seq string) string {
	if !t.tmux || seq == "" {
		return seq
	}
	return ansi.TmuxPassthrough(seq)
}

// plain is text that cannot end the sequence, or begin another part of it.
func plain(s string) string {
	return strings.ReplaceAll(text.Cut(text.Clean(s), 120), ";", ",")
}
