package ui_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// fakeView is a tab that records what reaches it.
type fakeView struct {
	title   string
	got     []string
	typing  bool
	running atomic.Int32 // as its test says while the program runs
	extra   []kit.Binding
	shows   string
	slot    kit.Slot
	work    func(msg tea.Msg) tea.Cmd
}

// hello is an intent or a result.
type hello struct{ n int }

func (f *fakeView) Init() tea.Cmd { return nil }

func (f *fakeView) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.Tick:
		return nil
	case kit.Resized:
		f.got = append(f.got, fmt.Sprintf("size %dx%d", msg.W, msg.H))
	case kit.SessionChanged:
		f.got = append(f.got, "session "+msg.Session.ProfileName)
	case tea.KeyPressMsg:
		f.got = append(f.got, "key "+msg.String())
	case tea.MouseClickMsg:
		f.got = append(f.got, fmt.Sprintf("click %d,%d", msg.X, msg.Y))
	case hello:
		f.got = append(f.got, fmt.Sprintf("hello %d", msg.n))
	default:
		f.got = append(f.got, fmt.Sprintf("%T %v", msg, msg))
	}
	if f.work != nil {
		return f.work(msg)
	}
	return nil
}

func (f *fakeView) Render(w, h int) string {
	return widget.Block(f.shows+"\n"+strings.Join(f.got[max(len(f.got)-8, 0):], "\n"), w, h)
}
func (f *fakeView) Title() string           { return f.title }
func (f *fakeView) Bindings() []kit.Binding { return f.extra }
func (f *fakeView) CapturingText() bool     { return f.typing }
func (f *fakeView) Running() int            { return int(f.running.Load()) }
func (f *fakeView) has(text string) bool    { return slices.Contains(f.got, text) }

func newApp(ctx context.Context, extra ...kit.Binding) (*ui.App, *fakeView, *fakeView) {
	a := &fakeView{title: "Sandbox", extra: extra}
	b := &fakeView{title: "Jobs"}
	app := ui.New(ui.Deps{
		Ctx: ctx, Now: time.Now, Theme: kit.NewTheme(true, false), FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Sandbox, View: a}, {ID: kit.Jobs, View: b}},
		Session: kit.Session{ProfileName: "acme", Ready: true},
		Commands: func() []kit.Binding {
			return []kit.Binding{
				{Label: "add profile", Help: "Add a real account.", Intent: kit.Toast{Kind: kit.ToastInfo, Text: "asked for an account"}},
			}
		},
	})
	return app, a, b
}

// box is an overlay that records the keys it gets.
type box struct {
	got     []string
	guarded bool
	typing  bool
	extra   []kit.Binding
}

func (b *box) Init() tea.Cmd { return nil }
func (b *box) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		b.got = append(b.got, "key "+msg.String())
	case hello:
		b.got = append(b.got, fmt.Sprintf("hello %d", msg.n))
	}
	return nil
}
func (b *box) Render(w, h int) string   { return widget.Block("inside the box", w, h) }
func (b *box) Title() string            { return "Box" }
func (b *box) Size(int, int) (int, int) { return 30, 3 }
func (b *box) Guarded(string) bool      { return b.guarded }
func (b *box) CapturingText() bool      { return b.typing }
func (b *box) Bindings() []kit.Binding {
	return append([]kit.Binding{
		{Keys: []string{"x"}, Label: "do", Intent: hello{9}},
		{Keys: []string{"esc"}, Label: "close", Intent: kit.Close{}, WhileTyping: true},
	}, b.extra...)
}

// Every kind of place a key can go, in the fixed order: quit guard, top
// overlay, text capture, global bindings, active view.
func TestKeysAreRoutedInAFixedOrder(t *testing.T) {
	own := []kit.Binding{
		{Keys: []string{"s"}, Label: "send", Intent: hello{1}},
		{Keys: []string{"ctrl+j"}, Label: "send", Intent: hello{2}, WhileTyping: true},
		{Keys: []string{"q"}, Label: "shadowed", Intent: hello{3}},
		{Keys: []string{"d"}, Label: "delete", Intent: hello{4}, Disabled: "nothing to delete"},
		{Keys: []string{"j"}, Label: "down"},
	}
	for _, c := range []struct {
		name           string
		overlay        *box
		typing         bool
		key            string
		view, over     string // what the view and the overlay got
		viewNot        string
		screen, absent string
	}{
		{name: "a view's binding becomes its intent", key: "s", view: "hello 1"},
		{name: "an unknown key reaches the view as it is", key: "Z", view: "key Z"},
		{name: "a binding without an intent leaves the key as it is", key: "j", view: "key j"},
		{name: "a disabled binding says why and is not passed on", key: "d", viewNot: "hello 4", screen: "nothing to delete"},
		{name: "a global binding comes before the view's", key: "q", viewNot: "hello 3"},
		{name: "a number goes to a tab", key: "2", screen: "[2 Jobs]", viewNot: "key 2"},
		{name: "typing takes a number as text", typing: true, key: "2", view: "key 2", screen: "[1 Sandbox]"},
		{name: "typing takes the question mark as text", typing: true, key: "?", view: "key ?", absent: "╭▌Keys"},
		{name: "typing takes a view's plain key as text", typing: true, key: "s", view: "key s", viewNot: "hello 1"},
		{name: "a key marked so acts while typing", typing: true, key: "ctrl+j", view: "hello 2"},
		{name: "an overlay gets its own key", overlay: &box{}, key: "x", over: "hello 9", viewNot: "key x"},
		{name: "an overlay eats the keys of the view", overlay: &box{}, key: "s", over: "key s", viewNot: "hello 1"},
		{name: "an overlay eats the numbers", overlay: &box{}, key: "2", over: "key 2", screen: "[1 Sandbox]"},
		{name: "an overlay that takes text gets its keys as text", overlay: &box{typing: true}, key: "x", over: "key x"},
		{name: "an overlay closes", overlay: &box{}, key: "esc", absent: "inside the box"},
	} {
		t.Run(c.name, func(t *testing.T) {
			flow(t, func(t *testing.T) {
				app, a, _ := newApp(t.Context(), own...)
				s := start(t, app)
				a.typing = c.typing
				if c.overlay != nil {
					s.Send(kit.Open{Overlay: c.overlay})
					s.Expect("inside the box")
				}
				s.Press(c.key)
				if c.view != "" && !a.has(c.view) {
					t.Errorf("the view did not get %q: %v", c.view, a.got)
				}
				if c.viewNot != "" && a.has(c.viewNot) {
					t.Errorf("the view got %q: %v", c.viewNot, a.got)
				}
				if c.over != "" && !slices.Contains(c.overlay.got, c.over) {
					t.Errorf("the overlay did not get %q: %v", c.over, c.overlay.got)
				}
				if !s.Running() {
					return // q
				}
				if c.screen != "" {
					s.Expect(c.screen)
				}
				if c.absent != "" {
					s.ExpectNot(c.absent)
				}
			})
		})
	}
}

func TestADialogThatPopsUpIgnoresKeysForAMoment(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, _ := newApp(t.Context())
		s := start(t, app)
		b := &box{guarded: true}
		s.Send(kit.Open{Overlay: b})
		s.PressFast("x")
		if len(b.got) != 0 {
			t.Errorf("the dialog took a key meant for something else: %v", b.got)
		}
		s.Expect("Box · x ignored, press it")
		s.After(150 * time.Millisecond)
		s.PressFast("x")
		if len(b.got) != 1 {
			t.Errorf("the dialog took %v", b.got)
		}
		s.ExpectNot("ignored")
	})
}

func TestADialogIsNotLockedByAClockThatGoesBack(t *testing.T) {
	flow(t, func(t *testing.T) {
		var ahead atomic.Int64
		ahead.Store(int64(7 * 24 * time.Hour))
		app := ui.New(ui.Deps{
			Ctx: t.Context(), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, FixedTheme: true,
			Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}},
		})
		s := start(t, app)
		b := &box{guarded: true}
		s.Send(kit.Open{Overlay: b})
		ahead.Store(0) // another emulator, whose clock was not moved
		s.After(150 * time.Millisecond)
		s.PressFast("x")
		if len(b.got) != 1 {
			t.Errorf("the dialog took %v", b.got)
		}
	})
}

func TestQuitAsksOnceWhileWorkIsInFlight(t *testing.T) {
	for _, c := range []struct {
		name    string
		running int32
		keys    []string
		ends    bool
	}{
		{"q ends an idle console", 0, []string{"q"}, true},
		{"ctrl+c ends an idle console", 0, []string{"ctrl+c"}, true},
		{"q asks while work is in flight", 2, []string{"q"}, false},
		{"ctrl+c asks while work is in flight", 2, []string{"ctrl+c"}, false},
		{"a second ctrl+c does not ask again", 2, []string{"ctrl+c", "ctrl+c"}, true},
		{"y quits", 2, []string{"q", "y"}, true},
		{"enter does not", 2, []string{"q", "enter"}, false},
		{"after a no it asks again", 2, []string{"ctrl+c", "n", "ctrl+c"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			flow(t, func(t *testing.T) {
				app, a, _ := newApp(t.Context())
				a.running.Store(c.running)
				s := start(t, app)
				for i, k := range c.keys {
					s.Press(k)
					if i == 0 && c.running > 0 {
						s.Expect("2 operations are in flight. Quitting cancels them", "quit")
					}
				}
				if ended := !s.Running(); ended != c.ends {
					t.Errorf("ended: %v, want %v\n%s", ended, c.ends, s.Screen())
				}
			})
		})
	}
}

// The question counts what the status line counts, while it is open, too.
func TestTheQuestionBeforeQuittingCountsAsTheStatusLineDoes(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context())
		a.running.Store(2)
		s := start(t, app)
		s.Press("q")
		s.Expect("2 operations are in flight", "● 2 running")
		a.running.Store(1)
		s.After(2 * time.Second)
		s.Expect("1 operation is in flight", "● 1 running")
		a.running.Store(0)
		s.After(5 * time.Second)
		s.Expect("Nothing is in flight any more", "0 running")
	})
}

// The key that answered a question does not ask it again while it is still pressed.
func TestAQuestionIsNotAskedAgainByTheKeyThatAnsweredIt(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, _ := newApp(t.Context())
		s := start(t, app)
		form := &box{}
		form.extra = []kit.Binding{{Keys: []string{"c"}, Label: "ask", Intent: kit.Open{Overlay: &box{guarded: true, extra: []kit.Binding{{Keys: []string{"c"}, Label: "no", Intent: kit.Close{}}}}}}}
		s.Send(kit.Open{Overlay: form})
		s.Press("c", "c")
		for range 3 {
			s.Press("c")
			s.Expect("Box · c ignored, press it")
		}
		s.Press("x") // any other key acts
		if len(form.got) != 1 {
			t.Errorf("the form got %v", form.got)
		}
		s.Press("c")
		s.ExpectNot("ignored")
		s.Press("c")
		s.After(500 * time.Millisecond)
		s.Press("c", "x")
		if len(form.got) != 1 {
			t.Errorf("the form got %v, and the question is open", form.got)
		}
	})
}

// counted is a view that counts how often it is drawn.
type counted struct {
	fakeView
	frames atomic.Int32 // the program draws in a goroutine of its own
}

func (c *counted) Render(w, h int) string {
	c.frames.Add(1)
	return widget.Block("", w, h)
}

func TestAnIdleConsoleDrawsItsAgesEveryFiveSeconds(t *testing.T) {
	for running, want := range map[int32]int32{0: 4, 1: 20} {
		flow(t, func(t *testing.T) {
			v := &counted{}
			v.running.Store(running)
			s := startAt(t, ui.New(ui.Deps{Ctx: t.Context(), Now: time.Now, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Sandbox, View: v}}}), 80, 24)
			s.After(100 * time.Millisecond)
			before := v.frames.Load()
			s.After(20 * time.Second)
			if got := v.frames.Load() - before; got != want {
				t.Errorf("with %d running it was drawn %d times in 20 seconds, want %d", running, got, want)
			}
		})
	}
}

func TestEscCancelsWhatRunsBeforeItDismissesAnError(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context(), kit.Binding{Keys: []string{"esc"}, Label: "cancel", Intent: hello{5}, Stops: true})
		s := start(t, app)
		s.AllowError("broken")
		s.Send(kit.Toast{Kind: kit.ToastError, Text: "broken"})
		s.Expect("broken", "esc cancels, then dismisses", " esc cancel ·")
		s.Press("esc")
		s.Expect("broken")
		if !a.has("hello 5") {
			t.Errorf("esc did not cancel: %v", a.got)
		}
		a.extra = nil
		s.Press("esc")
		s.ExpectNot("broken")
	})
}

func TestEscDismissesAnErrorAndThenBelongsToTheView(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context(), kit.Binding{Keys: []string{"esc"}, Label: "cancel", Intent: hello{5}})
		s := start(t, app)
		s.AllowError("broken")
		s.Send(kit.Toast{Kind: kit.ToastError, Text: "broken"})
		s.Expect("broken", "esc dismisses")
		s.Press("esc")
		s.ExpectNot("broken")
		if a.has("hello 5") {
			t.Errorf("the esc that dismissed the error cancelled, too: %v", a.got)
		}
		s.Send(kit.Toast{Text: "a remark, which goes by itself"})
		s.Press("esc")
		if !a.has("hello 5") {
			t.Errorf("esc did not cancel: %v", a.got)
		}
	})
}

func TestHelpAndPaletteComeFromTheBindings(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context(),
			kit.Binding{Keys: []string{"ctrl+j", "f5"}, Label: "send", Help: "Send the request.", Group: "Request", Intent: hello{1}},
			kit.Binding{Keys: []string{"d"}, Label: "delete", Help: "Delete it.", Intent: hello{2}, Disabled: "nothing to delete"})
		s := start(t, app)
		s.Press("?")
		s.Expect("ctrl+j F5", "Send the request.", "(not now: nothing to delete)", "Leave the console.")
		s.Press("?")
		s.ExpectNot("Send the request.")
		s.Press("ctrl+p")
		s.Expect("›send ", "Send the request.", "add profile")
		s.Type("a real")
		s.ExpectNot("Send the request.")
		s.Press("enter")
		s.Expect("asked for an account")
		s.Press(":")
		s.Type("send")
		s.Press("enter")
		if !a.has("hello 1") {
			t.Errorf("the palette did not send: %v", a.got)
		}
	})
}

func TestATooSmallScreenSaysSo(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context())
		s := start(t, app)
		s.Resize(59, 20)
		s.Expect("zonedeck needs 60×16, this is 59×20")
		s.Press("Z")
		if a.has("key Z") {
			t.Error("a key acted on a screen nobody sees")
		}
		s.Resize(60, 16)
		s.Expect("Sandbox", "0 running")
		if !a.has("size 60x14") {
			t.Errorf("the view was not told its size: %v", a.got)
		}
	})
}

func TestTheMouseGoesToTabsAndViews(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, b := newApp(t.Context())
		s := start(t, app)
		s.Send(tea.MouseClickMsg{X: 7, Y: 5, Button: tea.MouseLeft})
		if !a.has("click 7,4") {
			t.Errorf("the click did not arrive: %v", a.got)
		}
		title := strings.SplitN(s.Screen(), "\n", 2)[0]
		at := len([]rune(title[:strings.Index(title, "2 Jobs")]))
		s.Send(tea.MouseClickMsg{X: at, Y: 0, Button: tea.MouseLeft})
		s.Expect("[2 Jobs]")
		if !b.has("session acme") {
			t.Errorf("the second tab got no session: %v", b.got)
		}
		s.Press("m")
		s.Expect("mouse off")
	})
}

func TestACopySaysWhatWentWhere(t *testing.T) {
	native, broken := &board{}, &board{broken: errors.New("no display")}
	for _, c := range []struct {
		name  string
		clip  ui.Clipboard
		in    ui.Multiplexer
		copy  kit.Copy
		wants []string
		shown string // by ctrl+y
	}{
		{"to the terminal alone", nil, ui.NoMultiplexer, kit.Copy{Label: "body", Text: "12345"}, []string{"! sent body (5 B) to the terminal's clipboard, which never confirms it; ctrl+y shows the text"}, ""},
		{"to a clipboard that fails", broken, ui.NoMultiplexer, kit.Copy{Label: "body", Text: "12345"}, []string{"! sent body (5 B) to the terminal's"}, ""},
		{"in tmux", nil, ui.Tmux, kit.Copy{Label: "body", Text: "12345"}, []string{"sent body (5 B)", "only with set-clipboard", "allow-passthrough on"}, ""},
		{"in GNU screen", nil, ui.GNUScreen, kit.Copy{Label: "body", Text: "12345"}, []string{"sent body (5 B)", "GNU screen may not"}, ""},
		{"to the native clipboard", native, ui.Tmux, kit.Copy{Label: "URL", Text: "12"}, []string{"i copied URL: 2 B to the X clipboard, and sent to the terminal's"}, ""},
		{"with a warning for a secret", nil, ui.NoMultiplexer, kit.Copy{Label: "login", Text: "hunter2", Secret: true}, []string{"sent login", "it holds a secret"}, "what was copied holds a secret"},
		{"with a warning for a secret in the clipboard", native, ui.NoMultiplexer, kit.Copy{Label: "login", Text: "hunter2", Secret: true}, []string{"! copied login", "it holds a secret"}, "what was copied holds a secret"},
		{"with a warning when it is long", nil, ui.NoMultiplexer, kit.Copy{Label: "body", Text: strings.Repeat("x", 80_000)}, []string{"refuse more than 74 KB"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			flow(t, func(t *testing.T) {
				v := &fakeView{title: "Sandbox"}
				app := ui.New(ui.Deps{Ctx: t.Context(), Now: time.Now, FixedTheme: true, Clipboard: c.clip, Multiplexer: c.in, Tabs: []ui.Tab{{ID: kit.Sandbox, View: v}}})
				s := startAt(t, app, 120, 24)
				s.Press("ctrl+y")
				s.Expect("nothing has been copied yet")
				s.Send(c.copy)
				s.Expect(c.wants...)
				if !strings.Contains(c.wants[0], "copied") {
					s.ExpectNot("copied " + c.copy.Label)
				}
				if c.shown != "" {
					s.Press("ctrl+y")
					s.Expect(c.shown)
				}
				s.ExpectNot("hunter2")
			})
		})
	}
}

func TestACopyToTwoClipboardsNamesBoth(t *testing.T) {
	for want, tmux := range map[string]ui.TmuxCopy{
		"copied code: 5 B to the X clipboard and tmux's paste buffer, and sent to the terminal's": {Verified: true, Passes: true, Known: true},
		"copied code: 5 B to the X clipboard and tmux's paste buffer\n":                           {Verified: true, Known: true},
		"copied code: 5 B to the X clipboard\n":                                                   {Known: true},
	} {
		flow(t, func(t *testing.T) {
			s := startAt(t, ui.New(ui.Deps{
				Ctx: t.Context(), Now: time.Now, FixedTheme: true, Multiplexer: ui.Tmux, Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}},
				Clipboard: &board{}, Buffers: &stack{copied: tmux},
			}), 160, 24)
			s.Send(kit.Copy{Label: "code", Text: "12345"})
			s.Expect(want)
		})
	}
}

// What tmux keeps and passes on is told with the copy, and nothing more.
func TestACopyInTmuxSaysWhereItIs(t *testing.T) {
	for want, tmux := range map[string]ui.TmuxCopy{
		"! code (5 B) was not copied: tmux kept no paste buffer and passes nothing on to the terminal; ctrl+y":                                 {Known: true},
		"! sent code (5 B) to the terminal's clipboard, which never confirms it; tmux passes it on; ctrl+y":                                    {Passes: true, Known: true},
		"! sent code (5 B) to the terminal's clipboard, which never confirms it; tmux passes it on only":                                       {},
		"i copied code: 5 B to tmux's paste buffer; tmux passes nothing on to the terminal's clipboard; ctrl+y":                                {Verified: true, Known: true},
		"i copied code: 5 B to tmux's paste buffer; tmux was asked to pass it on to the terminal's clipboard, which never confirms it; ctrl+y": {Verified: true, Passes: true, Known: true},
		"i copied code: 5 B to tmux's paste buffer; tmux may pass it on to the terminal's clipboard, which never confirms it; ctrl+y":          {Verified: true},
	} {
		flow(t, func(t *testing.T) {
			s := startAt(t, ui.New(ui.Deps{
				Ctx: t.Context(), Now: time.Now, FixedTheme: true, Multiplexer: ui.Tmux, Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}},
				Buffers: &stack{copied: tmux},
			}), 220, 24)
			s.Send(kit.Copy{Label: "code", Text: "12345"})
			s.Expect(want)
			s.Send(kit.Copy{Label: "login", Text: "hunter2", Secret: true})
			if !tmux.Verified {
				s.Expect("login (7 B)")
				s.ExpectNot("tmux forgets it")
			} else {
				s.Expect("copied login", "it holds a secret: tmux forgets it in 30 s")
			}
		})
	}
}

func TestAnOverlayGetsItsOwnResultsWhileItIsOpen(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, _ := newApp(t.Context())
		s := start(t, app)
		b, over := &box{}, &box{}
		s.Send(kit.Open{Overlay: b})
		s.Send(kit.Open{Overlay: over})
		s.Send(kit.ForOverlay{Overlay: b, Msg: hello{1}})
		s.Send(kit.Close{Overlay: b})
		s.Send(kit.ForOverlay{Overlay: b, Msg: hello{2}})
		if !slices.Equal(b.got, []string{"hello 1"}) || len(over.got) != 0 {
			t.Errorf("the overlays got %v and %v", b.got, over.got)
		}
		s.Press("x")
		if !slices.Equal(over.got, []string{"hello 9"}) {
			t.Errorf("the overlay on top got %v", over.got)
		}
	})
}

func TestTheNewTabGetsTheFocusAndTheOldOneLosesIt(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, b := newApp(t.Context())
		s := start(t, app)
		s.Send(kit.Goto{View: kit.Jobs, Msg: hello{7}})
		s.Expect("[2 Jobs]", "hello 7")
		if !b.has("hello 7") {
			t.Errorf("the message did not come along: %v", b.got)
		}
	})
}
