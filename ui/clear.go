package ui

import (
	"crypto/sha256"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// secretStays is how long a copied secret stays in a clipboard.
const secretStays = 30 * time.Second

// held is a copied secret that is still to be cleared. It keeps a sum of it, not the secret.
type held struct {
	what string
	sum  [32]byte
}

// clearSecret is due when a copied secret has been in the clipboard for its time.
type clearSecret struct{ of *held }

// cleared is what became of a secret in the clipboards.
type cleared struct {
	what string
	// native is the machine's clipboard: cleared, kept because something else is in it, or not known
	// because it could not be read or is not there.
	native clearing
	err    error
}

type clearing int

const (
	notThere clearing = iota
	emptied
	other
	notEmptied
)

// hold remembers a copied secret until it is cleared. A later copy replaces it: the clipboards hold
// that one then.
func (a *App) hold(c kit.Copy) tea.Cmd {
	a.held = nil
	if !c.Secret {
		return nil
	}
	a.held = &held{what: c.What, sum: sha256.Sum256([]byte(c.Text))}
	return kit.After(a.deps.Ctx, secretStays, clearSecret{of: a.held})
}

// clear takes a secret out of the clipboards. The machine's is only emptied if it still holds it. The
// terminal's cannot be read: it is emptied unless the machine's shows that something else was copied.
func (a *App) clear(h *held) tea.Cmd {
	if h == nil || a.held != h {
		return nil
	}
	a.held = nil
	read, write, ctx, empty := a.deps.ReadClipboard, a.deps.Clipboard, a.deps.Ctx, a.toTerminal("")
	return func() tea.Msg {
		done := cleared{what: h.what}
		if read != nil && write != nil {
			now, err := read(ctx)
			switch {
			case err != nil:
				done.native, done.err = notThere, err
			case sha256.Sum256([]byte(now)) != h.sum:
				done.native = other
			default:
				done.native = emptied
				if _, err := write(ctx, ""); err != nil {
					done.native, done.err = notEmptied, err
				}
			}
		}
		if done.native == other {
			return done
		}
		return tea.Sequence(empty, func() tea.Msg { return done })()
	}
}

// toast says what was done, and nothing that is not known.
func (c cleared) toast() kit.Toast {
	switch c.native {
	case emptied:
		return kit.Toast{Text: c.what + " is out of this machine's clipboard again; the terminal was asked to empty its own, which confirms nothing"}
	case other:
		return kit.Toast{Text: "this machine's clipboard holds something else by now than " + c.what + ": it was left alone"}
	case notEmptied:
		return kit.Toast{Kind: kit.ToastError, Text: c.what + " is still in this machine's clipboard, which could not be emptied: " + c.err.Error()}
	default:
		return kit.Toast{Kind: kit.ToastWarn, Text: "the terminal was asked to empty its clipboard of " + c.what + ", which confirms nothing"}
	}
}

// leave ends the program; a copied secret is cleared first.
func (a *App) leave() tea.Cmd {
	if a.held == nil {
		return tea.Quit
	}
	return tea.Sequence(a.clear(a.held), tea.Quit)
}
