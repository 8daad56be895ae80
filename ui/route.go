package ui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// guardTime is how long a new dialog ignores keys, and burstTime how long the dialog below a question ignores the key
// that answered it, each time that it comes: whoever presses esc several times does not open the question again.
const (
	guardTime = 150 * time.Millisecond
	burstTime = 500 * time.Millisecond
)

// intent is the meaning of a root binding.
type intent int

const (
	intentPalette intent = iota
	intentHelp
	intentMouse
	intentCopied
	intentTheme
	intentTab // intentTab+i goes to tab i
)

// quitNow ends the program without asking.
type quitNow struct{}

// Bindings are the root's own keys; they come before the active view's.
func (a *App) Bindings() []kit.Binding {
	out := make([]kit.Binding, 0, len(a.tabs)+6)
	for i, t := range a.tabs {
		n := strconv.Itoa(i + 1)
		out = append(out, kit.Binding{
			Name: "console." + strings.ToLower(t.View.Title()), Keys: []string{n, "alt+" + n}, Label: t.View.Title(), Hidden: true,
			Help: "Go to " + t.View.Title() + ".", Synonyms: string(t.ID), Intent: intentTab + intent(i), WhileTyping: true,
		})
	}
	return a.theme.Bound(append(out,
		kit.Binding{Name: "console.help", Keys: []string{"?"}, Label: "help", Help: "List the keys, and say why some do not work now.", Intent: intentHelp},
		kit.Binding{Name: "console.palette", Keys: []string{"ctrl+p", ":"}, Label: "palette", Help: "Find a command by name.", Intent: intentPalette, Hidden: true, WhileTyping: true},
		kit.Binding{Name: "console.mouse", Keys: []string{"m"}, Label: "mouse", Help: "Release the mouse for the terminal's own selection, or take it back.", Intent: intentMouse, Hidden: true},
		kit.Binding{Name: "console.copied-text", Keys: []string{"ctrl+y"}, Label: "copied text", Help: "Print the text copied last on the terminal's own screen, to select it there.", Intent: intentCopied, Hidden: true, Disabled: a.whyNotShown()},
		kit.Binding{Name: "console.suspend", Keys: []string{"ctrl+z"}, Label: "suspend", Help: "Go back to the shell, from anywhere; fg continues. Calls in flight, and the emulator if this console runs it, wait meanwhile.", Intent: a.deps.Suspend, Hidden: true, WhileTyping: true, Disabled: kit.Reason(a.deps.Suspend == nil, "the console was not started from a shell")},
		kit.Binding{Name: "console.profile", Keys: []string{"@"}, Label: "use profile", Synonyms: "switch account", Help: "Switch to another profile: type its digit, or part of its name.", Intent: switchProfile{}, Disabled: kit.Reason(a.deps.Switch == nil, "there are no profiles to choose from"), Hidden: true},
		kit.Binding{Name: "console.balance", Keys: []string{"A"}, Label: "balance", Synonyms: "spend spent usage money costs billing account", Help: "Show the balance of the account, and what it spent on each day of this month.", Intent: showBalance{}, Disabled: a.whyNoBalance(), Hidden: true},
		kit.Binding{Label: "theme", Synonyms: "colours colors dark light background", Help: "Switch between the colours for a dark and for a light background.", Intent: intentTheme},
		kit.Binding{Label: "profile", Help: "Show where the profile in use sends to, and its dialect.", Intent: kit.ShowProfile{}},
		kit.Binding{Name: "console.quit", Keys: []string{"q"}, Label: "quit", Help: "Leave the console.", Intent: kit.Quit{}, Hidden: true},
		kit.Binding{Name: "console.interrupt", Keys: []string{"ctrl+c"}, Label: "quit", Help: "Leave the console from anywhere; asks once while work is in flight.", Intent: kit.Quit{}, Hidden: true, WhileTyping: true},
	))
}

// switchProfile opens the choice of another profile.
type switchProfile struct{}

// showBalance opens the balance of the account.
type showBalance struct{}

// whyNoBalance returns the reason why the account cannot be asked for its balance, or "".
func (a *App) whyNoBalance() string {
	if a.deps.Spending == nil {
		return "there is no account"
	}
	return a.session.NotReady()
}

// key routes a key press. The order is fixed: quit guard, top overlay, text
// capture in the active view, global bindings, active view.
func (a *App) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	a.pressed = name
	if name == "ctrl+c" {
		return a.quit()
	}
	if name == "ctrl+z" {
		b, _ := kit.Find(a.Bindings(), name, true)
		return a.carryOut(nil, b)
	}
	if a.tooSmall() {
		if b, _ := kit.Find(a.Bindings(), name, false); b.Name == "console.quit" {
			return a.quit()
		}
		return nil
	}
	if cmd, handled := a.dropStranded(k, name); handled {
		return cmd
	}
	if i := a.toasts.standing(); name == "esc" && i >= 0 && !a.stops() {
		a.toasts.list = slices.Delete(a.toasts.list, i, i+1)
		return nil
	}
	if n := len(a.stack); n > 0 {
		top := &a.stack[n-1]
		if top.ignored = a.tooEarly(top, name); top.ignored != "" {
			return nil
		}
		return a.keyIn(top.overlay, k, name, a.overOverlay())
	}
	view := a.view()
	if capturing(view) {
		return a.keyIn(view, k, name, a.Bindings())
	}
	if b, ok := kit.Find(a.Bindings(), name, false); ok {
		return a.carryOut(nil, b)
	}
	if name == "esc" && a.toasts.dismissable() && !a.acts(view, name) {
		a.toasts.dismiss()
		return nil
	}
	return a.keyIn(view, k, name, nil)
}

// tooEarly is the key if it was meant for what was there before, else empty. An emulator's clock may have been moved
// since, forward or, with another emulator, back: neither may lock the dialog.
func (a *App) tooEarly(l *layer, key string) string {
	switch age := a.deps.Now().Sub(l.opened); {
	case age >= 0 && age < burstTime && key == l.answered:
		l.opened = a.deps.Now()
		return key
	case age >= 0 && age < guardTime && guarded(l.overlay, key):
		return key
	}
	l.answered = ""
	return ""
}

func guarded(o kit.Overlay, key string) bool {
	g, ok := o.(kit.Guarded)
	return ok && g.Guarded(key)
}

// keyIn passes a key to a view: to its matching binding, to a fallback binding, or
// unchanged to its Update.
func (a *App) keyIn(v kit.View, k tea.KeyPressMsg, name string, fallback []kit.Binding) tea.Cmd {
	typing, bindings := capturing(v), a.theme.Bound(v.Bindings())
	// A binding without an intent describes a key that Update handles itself.
	if b, ok := kit.Find(bindings, name, typing); ok && (b.Intent != nil || b.Disabled != "") {
		if b.Dangerous && kit.Types(name) && kit.InForm(bindings) {
			b.Disabled = cmp.Or(b.Disabled, "letters send nothing while a form has the focus; press "+cmp.Or(strings.Join(b.Chords(), " "), "tab to leave it first"))
		}
		return a.carryOut(v, b)
	}
	if b, ok := kit.Find(fallback, name, typing); ok {
		return a.carryOut(nil, b)
	}
	return kit.Serve(v, k)
}

// carryOut carries out a binding, or says why it is disabled.
func (a *App) carryOut(v kit.View, b kit.Binding) tea.Cmd {
	if b.Disabled != "" {
		return a.addToast(kit.Refusal(kit.KeyName(b.Key()), b.Label, b.Disabled))
	}
	if cmd, ok := a.serve(b.Intent); ok {
		return cmd
	}
	if v == nil || b.Intent == nil {
		return nil
	}
	return kit.Serve(v, b.Intent)
}

// stops reports whether esc cancels what runs.
func (a *App) stops() bool {
	v := a.target()
	b, ok := kit.Find(a.theme.Bound(v.Bindings()), "esc", capturing(v))
	return ok && b.Stops && b.Disabled == ""
}

func capturing(v kit.View) bool {
	c, ok := v.(kit.Capturer)
	return ok && c.CapturingText()
}

func (a *App) acts(v kit.View, key string) bool {
	b, ok := kit.Find(a.theme.Bound(v.Bindings()), key, false)
	return ok && b.Disabled == ""
}

func (a *App) act(i intent) tea.Cmd {
	switch i {
	case intentPalette:
		return a.open(a.palette())
	case intentHelp:
		return a.open(widget.NewHelp(a.theme, a.helpSections()))
	case intentMouse:
		a.noMouse = !a.noMouse
		if a.noMouse {
			return a.addToast(kit.Toast{Text: "the terminal has the mouse now; " + a.theme.Key("console.mouse") + " takes it back"})
		}
		return a.addToast(kit.Toast{Text: "the console has the mouse again"})
	case intentCopied:
		return a.printOut(a.lastCopy.Text)
	case intentTheme:
		a.theme.Set(!a.theme.Dark, a.theme.NoColor)
		return nil
	default:
		return a.activate(int(i - intentTab))
	}
}

// quit ends the program; with work in flight it asks, once.
func (a *App) quit() tea.Cmd {
	if a.running() == 0 || a.quitAsked != nil {
		return a.leave()
	}
	ask := widget.NewConfirm(a.theme, widget.ConfirmSpec{
		Title:   "Quit",
		Counted: a.inFlight,
		Body:    "what was already sent may still be billed." + a.resumable(),
		Yes:     "quit",
		Intent:  quitNow{},
	})
	a.quitAsked = ask
	return a.open(ask)
}

// resumable says what of the work in flight can be gone on with.
func (a *App) resumable() (out string) {
	for _, t := range a.tabs {
		if r, ok := t.View.(kit.Resumer); ok && r.Resumable() != "" {
			out += "\n" + r.Resumable()
		}
	}
	return out
}

// inFlight says in words what the status line counts.
func (a *App) inFlight() string {
	switch n := a.running(); n {
	case 0:
		return "Nothing is in flight any more; "
	case 1:
		return "1 operation is in flight. Quitting cancels it; "
	default:
		return strconv.Itoa(n) + " operations are in flight. Quitting cancels them; "
	}
}

// overOverlay are the root's bindings that work while an overlay is open.
func (a *App) overOverlay() []kit.Binding {
	return slices.DeleteFunc(a.Bindings(), func(b kit.Binding) bool {
		return !slices.Contains([]string{"console.help", "console.interrupt", "console.suspend"}, b.Name)
	})
}

// helpSections has the keys of the top overlay, or of the tab, and those that work over it.
func (a *App) helpSections() []widget.HelpSection {
	v, everywhere := a.target(), a.Bindings()
	if len(a.stack) > 0 {
		everywhere = a.overOverlay()
	}
	return []widget.HelpSection{
		{Title: text.Clean(v.Title()), Bindings: a.theme.Bound(v.Bindings())},
		{Title: "Everywhere", Bindings: everywhere},
	}
}

// mouse passes mouse messages on with coordinates relative to the active view. A
// click on a tab's name goes to that tab.
func (a *App) mouse(msg tea.Msg) tea.Cmd {
	a.found()
	if len(a.stack) > 0 {
		return a.mouseOver(msg)
	}
	switch m := msg.(type) {
	case tea.MouseClickMsg:
		if m.Y == 0 {
			for i, r := range a.frame.tabs {
				if m.X >= r.from && m.X < r.to {
					return a.activate(i)
				}
			}
			return nil
		}
		m.Y--
		return kit.Serve(a.view(), m)
	case tea.MouseWheelMsg:
		m.Y--
		return kit.Serve(a.view(), m)
	}
	return nil
}

// mouseOver passes mouse messages on to the top overlay. A click has its coordinates relative
// to the overlay's own lines; one beside them does nothing.
func (a *App) mouseOver(msg tea.Msg) tea.Cmd {
	click, ok := msg.(tea.MouseClickMsg)
	if !ok {
		return kit.Serve(a.target(), msg)
	}
	o := a.frame.overlay
	click.X, click.Y = click.X-o.X, click.Y-o.Y
	if click.X < 0 || click.X >= o.W || click.Y < 0 || click.Y >= o.H {
		return nil
	}
	return kit.Serve(a.target(), click)
}
