package uitest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/uitest"
)

// counter is a view that counts a key and loads something that takes a second.
type counter struct {
	n    int
	slot kit.Slot
	ctx  context.Context
}

type (
	add   struct{}
	begin struct{}
)

func (c *counter) Init() tea.Cmd { return nil }

func (c *counter) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case add:
		c.n++
	case begin:
		return kit.Load(kit.Sandbox, &c.slot, c.ctx, func(ctx context.Context) (struct{}, error) {
			timer := time.NewTimer(100 * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			return struct{}{}, nil
		}, func(struct{}, error) tea.Cmd {
			c.n += 100
			return nil
		})
	}
	return nil
}

func (c *counter) Render(w, h int) string {
	return widget.Pane(kit.NewTheme(true, false), "Counter", true, w, h, strings.Repeat("|", c.n))
}
func (c *counter) Title() string { return "Counter" }
func (c *counter) Bindings() []kit.Binding {
	return []kit.Binding{
		{Keys: []string{"+"}, Label: "add", Intent: add{}},
		{Keys: []string{"ctrl+j", "f5"}, Label: "load", Intent: begin{}},
	}
}

func app(ctx context.Context) (*ui.App, *counter) {
	c := &counter{ctx: ctx}
	return ui.New(ui.Deps{Ctx: ctx, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Sandbox, View: c}}, Session: kit.Session{ProfileName: "acme"}}), c
}

func TestPressReturnsWhenTheProgramIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := app(t.Context())
		s := uitest.Start(t, m, 80, 20)
		s.Press("+", "+", "+")
		s.Expect("│|||  ")
		s.Press("ctrl+j")
		s.ExpectNot("||||")
		s.After(100 * time.Millisecond)
		s.Expect(strings.Repeat("|", 70))
		if c.n != 103 {
			t.Errorf("counted %d", c.n)
		}
		if cell := s.CellAt(0, 1); cell == nil || cell.Content != "╭" || cell.Style.Fg == nil {
			t.Errorf("the pane's corner is %+v", cell)
		}
	})
}

func TestAnUnexpectedErrorIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := app(t.Context())
		s := uitest.Start(t, m, 80, 20)
		if uitest.Unexpected(s.Screen(), nil) {
			t.Error("an idle screen counts as an error")
		}
		s.AllowError("disk full")
		s.AllowError("no such zone")
		s.Send(kit.Toast{Kind: kit.ToastError, Text: "disk full"})
		if !uitest.Unexpected(s.Screen(), nil) || !uitest.Unexpected(s.Screen(), []string{"another"}) || uitest.Unexpected(s.Screen(), []string{"disk full"}) {
			t.Errorf("misjudged:\n%s", s.Screen())
		}
		s.Send(kit.Toast{Kind: kit.ToastError, Text: "no such zone"})
		if !uitest.Unexpected(s.Screen(), []string{"disk full"}) {
			t.Error("a second error hides behind the first")
		}
	})
}

func TestKeysAreSpelledAsTheProgramSpellsThem(t *testing.T) {
	for _, name := range []string{"a", "G", "?", ":", "/", "1", "enter", "esc", "tab", "shift+tab", "ctrl+j", "ctrl+c", "alt+x", "f5", "space", "pgdown", "up"} {
		if got := uitest.Key(name).String(); got != name {
			t.Errorf("Key(%q) is %q", name, got)
		}
	}
	for _, name := range []string{"", "entr", "ctrl+", "f99"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Key(%q) is a key", name)
				}
			}()
			uitest.Key(name)
		}()
	}
}

func TestGoldenWholeProgram(t *testing.T) {
	m, _ := app(t.Context())
	p := uitest.Run(t, m, 80, 16)
	p.WaitFor("Counter", "0 running")
	p.Press("+", "+")
	uitest.Golden(t, "counter", p.WaitFor("│||  "))
	p.Press("ctrl+j")
	p.WaitFor(strings.Repeat("|", 60))
	p.Press("?")
	uitest.Golden(t, "counter-help", p.WaitFor("Find a command", "↓ "))
	p.Press("esc")
	p.WaitGone("Find a command")
	p.Resize(50, 10)
	uitest.Golden(t, "counter-small", p.WaitFor("zonedeck needs"))
	if got := uitest.Mask("http://127.0.0.1:4711/x", "127.0.0.1:4711"); got != "http://**************/x" {
		t.Errorf("masked: %q", got)
	}
}
