package ui

import (
	"bufio"
	"context"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// osc52Limit is the size from which terminals refuse OSC 52.
const osc52Limit = 74_000

// screenString is how many bytes of a string GNU screen passes on at once: it drops a
// longer one.
const screenString = 760

// Multiplexer is a program between the console and the terminal, which does not pass on
// every sequence.
type Multiplexer int

// The multiplexers that are told apart.
const (
	NoMultiplexer Multiplexer = iota
	Tmux
	GNUScreen
)

// TmuxCopy is what tmux did with a copy.
type TmuxCopy struct {
	// Verified says that a paste buffer was seen to hold it.
	Verified bool
	// Passes says whether tmux hands it on to its own terminal, if that is Known.
	Passes, Known bool
}

// withheld says that tmux does not hand it on.
func (c TmuxCopy) withheld() bool { return c.Known && !c.Passes }

// copied is the result of a copy.
type copied struct {
	label  string
	size   int // bytes
	secret bool
	inside Multiplexer
	native string // the clipboard that took it; empty if none did
	tmux   TmuxCopy
}

// copyOut sends text to tmux, to the terminal (OSC 52) and to the native clipboard. The text
// stays for showCopied, unless it holds a secret.
func (a *App) copyOut(c kit.Copy) tea.Cmd {
	a.lastCopy = c
	if c.Secret {
		a.lastCopy.Text = ""
	}
	native, ctx := a.deps.Clipboard, a.deps.Ctx
	later := a.hold(c)
	done := copied{label: c.Label, size: len(c.Text), secret: c.Secret, inside: a.deps.Multiplexer}
	return tea.Batch(later, tea.Sequence(a.toTerminal(c.Text, &done.tmux), func() tea.Msg {
		if native != nil {
			if where, err := native.Write(ctx, c.Text); err == nil {
				done.native = where
			}
		}
		return done
	}))
}

// toTerminal sends text to the terminal's clipboard. A multiplexer takes it for itself, or,
// wrapped, hands it on to its own terminal: which of the two it does is set there. With the settings
// it comes with, tmux does neither, so that it is given the text by its own command first, which
// writes to done. A tmux that kept it is not sent it once more: it would keep it twice.
func (a *App) toTerminal(text string, done *TmuxCopy) tea.Cmd {
	plain, sequence, d := tea.SetClipboard(text), ansi.SetSystemClipboard(text), a.deps
	switch d.Multiplexer {
	case Tmux:
		wrapped := tea.Raw(ansi.TmuxPassthrough(sequence))
		return func() tea.Msg {
			if d.Buffers != nil {
				*done = d.Buffers.Copy(d.Ctx, text)
			}
			if done.Verified {
				return wrapped()
			}
			return tea.Sequence(plain, wrapped)()
		}
	case GNUScreen:
		return tea.Sequence(plain, tea.Raw(ansi.ScreenPassthrough(sequence, screenString)))
	default:
		return plain
	}
}

// clearNotice says what happens to a copied secret: the machine's clipboard is cleared, a terminal's can
// only be asked for it.
func (c copied) clearNotice() string {
	switch {
	case c.native != "":
		return "; it holds a secret and is cleared in 30 s"
	case c.tmux.Verified && c.tmux.withheld():
		return "; it holds a secret: tmux forgets it in 30 s"
	case c.tmux.Verified:
		return "; it holds a secret: tmux forgets it in 30 s, and the terminal is asked to overwrite it"
	case c.nowhere():
		return ""
	case c.inside == Tmux:
		return "; it holds a secret: in 30 s tmux is asked to forget it, and the terminal to overwrite it"
	default:
		return "; it holds a secret: in 30 s the terminal is asked to overwrite it"
	}
}

// nowhere says that nothing took the text.
func (c copied) nowhere() bool {
	return c.native == "" && !c.tmux.Verified && c.tmux.withheld()
}

// toast calls copied only what a native clipboard has confirmed, and what is in a paste buffer of
// tmux: no terminal says whether OSC 52 arrived.
func (c copied) toast(key string) kit.Toast {
	size := text.Bytes(int64(c.size))
	if c.native != "" {
		t := kit.Toast{Text: fmt.Sprintf("copied %s: %s to %s", c.label, size, c.native)}
		if c.tmux.Verified {
			t.Text += " and tmux's paste buffer"
		}
		if !c.tmux.withheld() {
			t.Text += ", and sent to the terminal's"
		}
		if c.secret {
			t.Kind, t.Text = kit.ToastWarn, t.Text+c.clearNotice()
		}
		return t
	}
	t := kit.Toast{Kind: kit.ToastWarn, Text: fmt.Sprintf("sent %s (%s) to the terminal's clipboard, which never confirms it", c.label, size)}
	switch {
	case c.tmux.Verified:
		t.Text = fmt.Sprintf("copied %s: %s to tmux's paste buffer; %s", c.label, size, c.tmux.onwards())
		if !c.secret {
			t.Kind = kit.ToastInfo
		}
	case c.nowhere():
		t.Text = fmt.Sprintf("%s (%s) was not copied: tmux kept no paste buffer and passes nothing on to the terminal", c.label, size)
	case c.tmux.Known:
		t.Text += "; tmux passes it on"
	case c.inside == Tmux:
		t.Text += "; tmux passes it on only with set-clipboard on or allow-passthrough on"
	case c.inside == GNUScreen:
		t.Text += "; GNU screen may not pass it on"
	}
	if c.size > osc52Limit {
		t.Text += "; many terminals refuse more than 74 KB"
	}
	if c.secret {
		t.Text += c.clearNotice()
	} else {
		t.Text += "; " + key + " shows the text"
	}
	return t
}

// onwards says what tmux does with what it kept.
func (c TmuxCopy) onwards() string {
	switch {
	case c.Passes:
		return "tmux was asked to pass it on to the terminal's clipboard, which never confirms it"
	case c.Known:
		return "tmux passes nothing on to the terminal's clipboard"
	default:
		return "tmux may pass it on to the terminal's clipboard, which never confirms it"
	}
}

// whyNotShown returns the reason why there is no copied text to show, or "".
func (a *App) whyNotShown() string {
	switch {
	case a.lastCopy.Secret:
		return "what was copied holds a secret"
	case a.lastCopy.Text == "":
		return "nothing has been copied yet"
	default:
		return ""
	}
}

// printOut prints a text below the shell's own output, where the terminal's selection takes
// it, and waits for enter.
func (a *App) printOut(words string) tea.Cmd {
	return tea.Exec(&printed{ctx: a.deps.Ctx, text: text.CleanLines(words)}, func(err error) tea.Msg {
		if err != nil {
			return kit.Toast{Kind: kit.ToastError, Text: "the text could not be shown: " + err.Error()}
		}
		return nil
	})
}

// printed is a text on the terminal's own screen until enter or the end of ctx. See
// tea.ExecCommand.
type printed struct {
	ctx  context.Context //nolint:containedctx // tea.ExecCommand's Run takes none
	text string
	in   io.Reader
	out  io.Writer
}

func (p *printed) SetStdin(r io.Reader)  { p.in = r }
func (p *printed) SetStdout(w io.Writer) { p.out = w }
func (p *printed) SetStderr(io.Writer)   {}

// Run prints the text and waits.
func (p *printed) Run() error {
	if _, err := fmt.Fprintf(p.out, "\n%s\n\nenter goes back to zonedeck\n", p.text); err != nil || p.in == nil {
		return err
	}
	entered := make(chan struct{})
	go func() { // outlives a cancelled Run, and ends with the process
		defer close(entered)
		_, _ = bufio.NewReaderSize(p.in, 16).ReadString('\n')
	}()
	select {
	case <-entered:
	case <-p.ctx.Done():
	}
	return nil
}
