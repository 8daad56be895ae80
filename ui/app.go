package ui

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// Tab is one tab, in the order of the number keys.
type Tab struct {
	ID   kit.ViewID
	View kit.View
}

// Clipboard is the native clipboard of the machine.
type Clipboard interface {
	// Write puts text there and names the clipboard.
	Write(ctx context.Context, text string) (where string, err error)
	Read(ctx context.Context) (string, error)
}

// PasteBuffers are those of tmux.
type PasteBuffers interface {
	// Copy puts text into one, and into the clipboard of tmux's terminal where tmux is set to.
	Copy(ctx context.Context, text string) TmuxCopy
	// Forget deletes those whose text has that SHA-256, and counts them.
	Forget(ctx context.Context, sum [sha256.Size]byte) (int, error)
}

// Search lists the saved requests and searches the timeline. Its calls are made in commands.
type Search interface {
	Saved(ctx context.Context) ([]SavedRequest, error)
	Entries(ctx context.Context, f model.HistoryFilter) ([]model.HistoryEntry, error)
}

// Spending is what is spent.
type Spending interface {
	// Spent is what the fetches of this session cost by the rates of their zones. It must not block.
	Spent() model.Spend
	// Balance is the overlay that asks the account for its balance.
	Balance() kit.Overlay
}

// Deps are the parts the root is built from.
type Deps struct {
	// Ctx ends with the program: the wiring cancels it after Run has returned,
	// and with it every load of every view.
	Ctx   context.Context
	Now   func() time.Time
	Theme *kit.Theme
	Tabs  []Tab
	// First is the tab to begin on; empty is the first.
	First kit.ViewID
	// Session is the session as known before the first message.
	Session kit.Session
	// Start runs beside the first paint (start the emulator, open the journal);
	// its message is handled like any other: a kit.SessionChanged, a kit.Toast.
	Start tea.Cmd
	// Commands are palette entries that belong to no tab ("add profile"). Their
	// intents are messages to the root (kit.Goto, kit.Open, …) or a tea.Cmd. It is asked whenever
	// the palette opens; nil has none.
	Commands func() []kit.Binding
	// Switch opens the choice of another profile; nil has none.
	Switch func() tea.Cmd
	// Code makes the overlay that shows a fetch as code.
	Code func(kit.ShowCode) kit.Overlay
	// Clipboard is the machine's own. If it is nil, only OSC 52 is used.
	Clipboard Clipboard
	// Search is where the palette finds things; nil finds nothing.
	Search Search
	// Spending is shown; nil shows nothing.
	Spending Spending
	// Multiplexer is what the terminal runs in, and Buffers are tmux's; nil outside tmux.
	Multiplexer Multiplexer
	Buffers     PasteBuffers
	// Suspend stops the program and goes back to the shell; nil where none waits.
	Suspend tea.Cmd
	// FixedTheme keeps the theme instead of asking the terminal for its background
	// colour.
	FixedTheme bool
}

// App is the root model.
type App struct {
	deps    Deps
	theme   *kit.Theme
	tabs    []Tab
	active  int
	session kit.Session
	w, h    int
	stack   []layer
	pressed string // the key that was pressed last
	toasts  toasts
	noMouse bool
	// lastCopy is what was copied last, for showCopied; of a secret it has no text.
	lastCopy kit.Copy
	pending  []*pendingClear // copied secrets that are still to be cleared
	// quitAsked is the overlay of the quit question while it is open.
	quitAsked kit.Overlay
	frame     frame
	beats     int      // ticks since the start
	astray    string   // what is said while a word is typed that nothing takes; see lost
	finding   kit.Slot // the palette's search
}

// layer is an overlay, and when it came to the top.
type layer struct {
	overlay  kit.Overlay
	opened   time.Time
	answered string // the key that answered the question above it at opened, while it may still be pressed
	ignored  string // the key that came too early
}

// tick arrives once a second and keeps ages and elapsed times current.
type tick struct{}

// restBeats is the number of ticks per frame of an idle console, whose cost is mostly
// drawing.
const restBeats = 5

// New makes the root model. Deps.Tabs must not be empty.
func New(deps Deps) *App {
	if deps.Theme == nil {
		deps.Theme = kit.NewTheme(true, false)
	}
	if deps.Ctx == nil {
		deps.Ctx = context.Background()
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	first := max(slices.IndexFunc(deps.Tabs, func(t Tab) bool { return t.ID == deps.First }), 0)
	return &App{deps: deps, theme: deps.Theme, tabs: deps.Tabs, active: first, session: deps.Session, frame: frame{dirty: true}}
}

// Options are the program options the console is run with. Bubble Tea's ticker never
// stops: an idle console pays for every frame, and a key waits for the next one.
func Options(ctx context.Context) []tea.ProgramOption {
	return []tea.ProgramOption{tea.WithContext(ctx), tea.WithFPS(57)}
}

// Init starts every view and Deps.Start.
func (a *App) Init() tea.Cmd {
	cmds := []tea.Cmd{a.deps.Start, a.beat()}
	if !a.deps.FixedTheme && !a.theme.NoColor {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	for _, t := range a.tabs {
		cmds = append(cmds, t.View.Init(), kit.Serve(t.View, kit.SessionChanged{Session: a.session}))
	}
	return tea.Batch(append(cmds, a.focus())...)
}

// tick passes the tick on, and has a frame drawn if there is something to show.
func (a *App) tick() tea.Cmd {
	cmd := kit.Serve(a.view(), kit.Tick{})
	for i, t := range a.tabs {
		if _, ok := t.View.(kit.Badged); ok && i != a.active {
			before := a.tabLabel(i, true)
			cmd = tea.Batch(cmd, kit.Serve(t.View, kit.Tick{}))
			a.frame.dirty = a.frame.dirty || before != a.tabLabel(i, true)
		}
	}
	if a.beats++; cmd != nil || a.running() > 0 || a.beats%restBeats == 0 {
		a.frame.dirty = true
	}
	return tea.Batch(a.beat(), cmd)
}

func (a *App) beat() tea.Cmd { return kit.After(a.deps.Ctx, time.Second, tick{}) }

// lineEnds normalises the line ends of a paste: a terminal sends them as carriage
// returns, like the enter key.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Update handles one message. It never blocks.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(tick); ok {
		return a, a.tick()
	}
	a.frame.dirty = true
	return a, a.handle(msg)
}

func (a *App) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.Addressed:
		return a.deliver(msg)
	case kit.Loaded:
		return msg.Deliver()
	case tea.KeyPressMsg:
		return a.key(msg)
	case tea.PasteMsg:
		return kit.Serve(a.target(), tea.PasteMsg{Content: lineEnds.Replace(msg.Content)})
	case tea.MouseClickMsg, tea.MouseWheelMsg:
		return a.mouse(msg)
	case tea.WindowSizeMsg:
		a.w, a.h = msg.Width, msg.Height
		return a.broadcast(kit.Resized{W: a.w, H: bodyHeight(a.h)})
	case tea.BackgroundColorMsg:
		if !a.deps.FixedTheme {
			a.theme.Set(msg.IsDark(), a.theme.NoColor)
		}
	case tea.ColorProfileMsg:
		if msg.Profile <= colorprofile.ASCII && !a.theme.NoColor {
			a.theme.Set(a.theme.Dark, true)
		}
	case kit.SessionChanged:
		if msg.Session.Turn < a.session.Turn {
			return nil // it was made before the one that is shown
		}
		a.session = msg.Session
		return a.broadcast(msg)
	case toastGone:
		a.toasts.drop(msg.id)
	case copied:
		return a.addToast(msg.toast(a.theme.Key("console.copied-text")))
	case clearSecret:
		return a.clear(msg.pending)
	case cleared:
		if t, show := msg.toast(); show {
			return a.addToast(t)
		}
	default:
		cmd, _ := a.serve(msg)
		return cmd
	}
	return nil
}

// serve handles the messages that any part may send to the root; ok is false for
// all others.
func (a *App) serve(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	switch msg := msg.(type) {
	case kit.Toast:
		return a.addToast(msg), true
	case kit.Open:
		return a.open(msg.Overlay), true
	case kit.Opening:
		o, cmd := msg()
		return tea.Batch(a.open(o), cmd), true
	case kit.Close:
		a.close(msg.Overlay)
	case kit.ForOverlay:
		for _, l := range a.stack {
			if l.overlay == msg.Overlay {
				return kit.Serve(l.overlay, msg.Msg), true
			}
		}
	case kit.Goto:
		return a.goTo(msg), true
	case kit.Copy:
		return a.copyOut(msg), true
	case kit.Print:
		return a.printOut(msg.Text), true
	case kit.ShowCode:
		return a.open(a.deps.Code(msg)), true
	case kit.ShowProfile:
		return a.open(a.profilePage()), true
	case kit.Quit:
		return a.quit(), true
	case showBalance:
		return a.open(a.deps.Spending.Balance()), true
	case switchProfile:
		return a.deps.Switch(), true
	case quitNow:
		return a.leave(), true
	case runBinding:
		return a.run(msg), true
	case intent:
		return a.act(msg), true
	case tea.Cmd:
		return msg, true
	default:
		return nil, false
	}
	return nil, true
}

// deliver unpacks an addressed message and passes what is still current to its view.
func (a *App) deliver(msg kit.Addressed) tea.Cmd {
	msgs, more := msg.Deliver()
	cmds := []tea.Cmd{more}
	for _, m := range msgs {
		if msg.View == "" {
			cmds = append(cmds, a.handle(m))
			continue
		}
		for _, t := range a.tabs {
			if t.ID == msg.View {
				cmds = append(cmds, kit.Serve(t.View, m))
			}
		}
	}
	return tea.Batch(cmds...)
}

func (a *App) broadcast(msg tea.Msg) tea.Cmd {
	cmds := make([]tea.Cmd, 0, len(a.tabs))
	for _, t := range a.tabs {
		cmds = append(cmds, kit.Serve(t.View, msg))
	}
	return tea.Batch(cmds...)
}

func (a *App) view() kit.View { return a.tabs[a.active].View }

// target receives keys and pastes: the top overlay or the active view.
func (a *App) target() kit.View {
	if n := len(a.stack); n > 0 {
		return a.stack[n-1].overlay
	}
	return a.view()
}

// Tab is the active one.
func (a *App) Tab() kit.ViewID { return a.tabs[a.active].ID }

// Target receives the keys now: the top overlay, or the active tab. The key
// reference is generated from it.
func (a *App) Target() kit.View { return a.target() }

func (a *App) open(o kit.Overlay) tea.Cmd {
	if o == nil {
		return nil
	}
	a.stack = append(a.stack, layer{overlay: o, opened: a.deps.Now()})
	return o.Init()
}

// close removes the given overlay, or the topmost one if o is nil.
func (a *App) close(o kit.Overlay) {
	for i := len(a.stack) - 1; i >= 0; i-- {
		if o == nil || a.stack[i].overlay == o {
			if a.stack[i].overlay == a.quitAsked {
				a.quitAsked = nil
			}
			question := guarded(a.stack[i].overlay, a.pressed)
			a.stack = append(a.stack[:i:i], a.stack[i+1:]...)
			if top := len(a.stack) - 1; question && top >= 0 {
				a.stack[top].opened, a.stack[top].answered = a.deps.Now(), a.pressed
			}
			return
		}
	}
}

func (a *App) goTo(msg kit.Goto) tea.Cmd {
	for i, t := range a.tabs {
		if t.ID != msg.View {
			continue
		}
		cmd := a.activate(i)
		if msg.Msg == nil {
			return cmd
		}
		return tea.Batch(cmd, kit.Serve(t.View, msg.Msg))
	}
	return nil
}

func (a *App) activate(i int) tea.Cmd {
	if i < 0 || i >= len(a.tabs) || i == a.active {
		return nil
	}
	if b, ok := a.view().(kit.Blurrer); ok {
		b.Blur()
	}
	a.active = i
	a.toasts.read(a.tabs[i].ID)
	return a.focus()
}

func (a *App) focus() tea.Cmd {
	if f, ok := a.view().(kit.Focuser); ok {
		return f.Focus()
	}
	return nil
}

// running counts the work in flight in all views.
func (a *App) running() int {
	n := 0
	for _, t := range a.tabs {
		if w, ok := t.View.(kit.Worker); ok {
			n += w.Running()
		}
	}
	return n
}
