package ui

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// secretStays is how long a copied secret stays in a clipboard.
const secretStays = 30 * time.Second

// harmless takes the place of a copied secret where a clipboard cannot be emptied: tmux and some
// terminals ignore an empty OSC 52.
const harmless = "(a secret was here; zonedeck cleared it)"

// pendingClear is a copied secret that is still to be cleared. It keeps a sum of it, not the secret.
type pendingClear struct {
	label string
	sum   [sha256.Size]byte
	// over says that something else was copied from the console since: only the stack of a
	// multiplexer may still hold the secret.
	over bool
}

// clearSecret is due when a copied secret has been in the clipboard for its time.
type clearSecret struct{ pending *pendingClear }

// cleared is what became of a secret in the clipboards.
type cleared struct {
	pendingClear

	// native is the machine's clipboard: cleared, kept because something else is in it, or not known
	// because it could not be read or is not there.
	native clearing
	err    error
	// tmux is what it did with the harmless text.
	tmux TmuxCopy
	// deleted is how many of tmux's paste buffers held it; stack says why they are not known.
	deleted int
	stack   error
}

type clearing int

const (
	notThere clearing = iota
	emptied
	otherContent
	notEmptied
)

// hold remembers a copied secret until it is cleared. A later copy takes its place in the
// clipboards, but not in the stack of a multiplexer.
func (a *App) hold(c kit.Copy) tea.Cmd {
	for _, h := range a.pending {
		h.over = true
	}
	if !c.Secret {
		return nil
	}
	h := &pendingClear{label: c.Label, sum: sha256.Sum256([]byte(c.Text))}
	a.pending = append(a.pending, h)
	return kit.After(a.deps.Ctx, secretStays, clearSecret{pending: h})
}

// clear takes a secret out of the clipboards. The machine's is only emptied if it still holds it. The
// terminal's cannot be read: it is overwritten, and emptied, unless the machine's shows that something
// else was copied.
func (a *App) clear(h *pendingClear) tea.Cmd {
	i := slices.Index(a.pending, h)
	if i < 0 {
		return nil
	}
	a.pending = slices.Delete(a.pending, i, i+1)
	done, d := &cleared{pendingClear: *h}, a.deps
	over, empty := a.toTerminal(harmless, &done.tmux), a.toTerminal("", &TmuxCopy{})
	return func() tea.Msg {
		if !done.over {
			done.native, done.err = clearNative(d, done.sum)
		}
		if d.Buffers != nil {
			done.deleted, done.stack = d.Buffers.Forget(d.Ctx, done.sum)
		}
		if done.over || done.native == otherContent {
			return *done
		}
		return tea.Sequence(over, empty, func() tea.Msg {
			if done.tmux.Verified && d.Buffers != nil { // it was for tmux's terminal, not for its stack
				_, _ = d.Buffers.Forget(d.Ctx, sha256.Sum256([]byte(harmless)))
			}
			return *done
		})()
	}
}

// clearNative empties the machine's clipboard if it still holds the secret with that sum, and looks
// whether it did.
func clearNative(d Deps, sum [sha256.Size]byte) (clearing, error) {
	if d.Clipboard == nil {
		return notThere, nil
	}
	holds := func(ctx context.Context) (bool, error) {
		now, err := d.Clipboard.Read(ctx)
		return err == nil && sha256.Sum256([]byte(now)) == sum, err
	}
	there, err := holds(d.Ctx)
	switch {
	case err != nil:
		return notThere, err
	case !there:
		return otherContent, nil
	}
	_, err = d.Clipboard.Write(d.Ctx, "")
	if there, _ := holds(d.Ctx); there && err == nil { // some programs ignore an empty text, too
		_, err = d.Clipboard.Write(d.Ctx, harmless)
	}
	if err != nil {
		return notEmptied, err
	}
	return emptied, nil
}

// toast says what was done, and nothing that is not known.
func (c cleared) toast() (t kit.Toast, show bool) {
	const asked = "the terminal was asked to overwrite "
	switch {
	case c.over:
	case c.native == emptied:
		t.Text = c.label + " is cleared from this machine's clipboard"
		if !c.tmux.withheld() {
			t.Text += "; " + asked + "its copy, which it never confirms"
		}
	case c.native == otherContent:
		t.Text = "this machine's clipboard no longer holds " + c.label + ", so it was left alone"
	case c.native == notEmptied:
		t.Kind, t.Text = kit.ToastError, c.label+" is still in this machine's clipboard: copy something else over it; clearing failed: "+c.err.Error()
	case !c.tmux.withheld():
		t.Kind, t.Text = kit.ToastWarn, asked+c.label+" in its clipboard, which it never confirms"
	}
	switch {
	case c.stack != nil:
		t.Kind = max(t.Kind, kit.ToastWarn)
		t.Text += sep(t.Text) + "tmux may still hold " + c.label + " in a paste buffer: " + c.stack.Error()
	case c.deleted > 0 && !c.over:
		t.Text += sep(t.Text) + "tmux's paste buffer with " + c.label + " is deleted"
	}
	return t, t.Text != ""
}

// sep stands before what is added to a text.
func sep(text string) string {
	if text == "" {
		return ""
	}
	return "; "
}

// leave ends the program; copied secrets are cleared first.
func (a *App) leave() tea.Cmd {
	if len(a.pending) == 0 {
		return tea.Quit
	}
	var last []tea.Cmd
	for _, h := range slices.Clone(a.pending) {
		last = append(last, a.clear(h))
	}
	return tea.Sequence(append(last, tea.Quit)...)
}
