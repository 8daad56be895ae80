package ui_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeView is a tab that records what reaches it.
type fakeView struct {
	id      kit.ViewID
	title   string
	got     []string
	typing  bool
	running int
	extra   []kit.Binding
	slot    kit.Slot
	ctx     context.Context
	w, h    int
	text    string
}

type hello struct{ n int }

func (f *fakeView) Init() tea.Cmd { return nil }
func (f *fakeView) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.Tick:
	case kit.Resized:
		f.w, f.h = msg.W, msg.H
	case kit.SessionChanged:
		f.got = append(f.got, "session "+msg.Session.ProfileName)
	case tea.Cmd:
		return msg
	case tea.KeyPressMsg:
		f.got = append(f.got, "key "+msg.String())
	case hello:
		f.got = append(f.got, fmt.Sprintf("hello %d", msg.n))
	default:
		f.got = append(f.got, fmt.Sprintf("%T", msg))
	}
	return nil
}

func (f *fakeView) Render(w, h int) string {
	return kit.Block(f.text+"\n"+strings.Join(f.got, "\n"), w, h)
}
func (f *fakeView) Title() string           { return f.title }
func (f *fakeView) Bindings() []kit.Binding { return f.extra }
func (f *fakeView) CapturingText() bool     { return f.typing }
func (f *fakeView) Running() int            { return f.running }

func (f *fakeView) has(text string) bool {
	for _, g := range f.got {
		if g == text {
			return true
		}
	}
	return false
}

func newApp(t *testing.T, extra ...kit.Binding) (*ui.App, *fakeView, *fakeView) {
	t.Helper()
	a := &fakeView{id: kit.Sandbox, title: "Sandbox", extra: extra, ctx: t.Context()}
	b := &fakeView{id: kit.Jobs, title: "Jobs", ctx: t.Context()}
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: kit.NewTheme(true, false), FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Sandbox, View: a}, {ID: kit.Jobs, View: b}},
		Session: kit.Session{ProfileName: "acme", Ready: true},
	})
	return app, a, b
}

func TestFirstScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, a, _ := newApp(t, kit.Binding{Keys: []string{"ctrl+j"}, Label: "send", Intent: hello{1}})
		s := uitest.Start(t, app, 80, 24)
		s.Expect("zonedeck · acme", "[1 Sandbox]", "2 Jobs", "ctrl+j send", "? help", "0 running")
		s.Press("ctrl+j")
		if !a.has("hello 1") {
			t.Fatalf("the intent did not arrive: %v", a.got)
		}
		t.Log("\n" + s.Screen())
	})
}
