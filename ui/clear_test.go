package ui_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"zonedeck/ui"
	"zonedeck/ui/kit"
)

// board is a native clipboard, which commands of the console and the test use.
type board struct {
	fail error // of reading
	full error // of emptying
	keep bool  // ignores an empty text

	broken error // takes nothing

	mu   sync.Mutex
	text string
}

func (b *board) Write(_ context.Context, text string) (string, error) {
	if b.broken != nil {
		return "", b.broken
	}
	if text == "" && b.full != nil {
		return "", b.full
	}
	if text == "" && b.keep {
		return "the X clipboard", nil
	}
	b.put(text)
	return "the X clipboard", nil
}

func (b *board) Read(context.Context) (string, error) { return b.holds(), b.fail }

func (b *board) put(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = text
}

func (b *board) holds() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text
}

func TestACopiedSecretIsClearedAfterHalfAMinute(t *testing.T) {
	secret := kit.Copy{Label: "login", Text: "hunter2-of-the-zone", Secret: true}
	for name, tt := range map[string]struct {
		board  *board
		copies []kit.Copy
		after  func(b *board)
		want   string // the toast
		left   string // in the clipboard
	}{
		"that is still there":         {&board{}, []kit.Copy{secret}, nil, "login is cleared from this machine's clipboard", ""},
		"which ignores an empty text": {&board{keep: true}, []kit.Copy{secret}, nil, "login is cleared from this machine's clipboard", "(a secret was here; zonedeck cleared it)"},
		"but not something else":      {&board{}, []kit.Copy{secret}, func(b *board) { b.put("a shopping list") }, "no longer holds login, so it was left alone", "a shopping list"},
		"but not a later copy":        {&board{}, []kit.Copy{secret, {Label: "URL", Text: "https://a.test"}}, nil, "", "https://a.test"},
		"or it is said why not":       {&board{full: errors.New("no display")}, []kit.Copy{secret}, nil, "login is still in this machine's clipboard: copy something else over it; clearing failed: no display", secret.Text},
		"unread where it is not":      {&board{fail: errors.New("no display")}, []kit.Copy{secret}, nil, "the terminal was asked to overwrite login in its clipboard, which it never confirms", secret.Text},
		"by the terminal alone":       {nil, []kit.Copy{secret}, nil, "the terminal was asked to overwrite login in its clipboard, which it never confirms", ""},
		"but what is none, never":     {&board{}, []kit.Copy{{Label: "URL", Text: "https://a.test"}}, nil, "", "https://a.test"},
	} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T) {
				d := ui.Deps{Ctx: t.Context(), Now: time.Now, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}}}
				if tt.board != nil {
					d.Clipboard = tt.board
				}
				s := startAt(t, ui.New(d), 160, 24)
				for _, c := range tt.copies {
					s.Send(c)
				}
				if tt.after != nil {
					tt.after(tt.board)
				}
				s.After(29 * time.Second)
				s.ExpectNot("clipboard")
				if tt.board != nil && tt.board.holds() == "" {
					t.Error("it was cleared too early")
				}
				if tt.want != "" && tt.board != nil && tt.board.full != nil {
					s.AllowError(tt.want)
				}
				s.After(2 * time.Second)
				if tt.want == "" {
					s.ExpectNot("clipboard")
				} else {
					s.Expect(tt.want)
				}
				if tt.board != nil && tt.board.holds() != tt.left {
					t.Errorf("the clipboard holds %q, want %q", tt.board.holds(), tt.left)
				}
			})
		})
	}
}

// stack is a tmux whose paste buffers hold some copies.
type stack struct {
	fail   error
	copied ui.TmuxCopy // what a copy came to; a stack that verifies none keeps none

	mu    sync.Mutex
	held  map[[sha256.Size]byte]int
	loads []string
}

func (s *stack) Copy(_ context.Context, text string) ui.TmuxCopy {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case text == "":
		return ui.TmuxCopy{}
	case s.copied.Verified && s.held != nil:
		s.held[sha256.Sum256([]byte(text))]++
		s.loads = append(s.loads, text)
	}
	return s.copied
}

func (s *stack) Forget(_ context.Context, sum [sha256.Size]byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.held[sum]
	delete(s.held, sum)
	return n, s.fail
}

func TestTmuxForgetsEveryCopiedSecret(t *testing.T) {
	one := kit.Copy{Label: "login", Text: "hunter2-of-the-zone", Secret: true}
	two := kit.Copy{Label: "code", Text: "curl -H hunter3", Secret: true}
	plain := kit.Copy{Label: "URL", Text: "https://a.test"}
	for name, tt := range map[string]struct {
		fail   error
		copies []kit.Copy
		leaves bool
		want   string // the toast
	}{
		"after its time":               {nil, []kit.Copy{one}, false, "overwrite login in its clipboard, which it never confirms; tmux's paste buffer with login is deleted"},
		"after a later copy":           {nil, []kit.Copy{one, plain}, false, ""},
		"each of several":              {nil, []kit.Copy{one, two}, false, "overwrite code in its clipboard, which it never confirms; tmux's paste buffer with code is deleted"},
		"when the console is left":     {nil, []kit.Copy{one, two, plain}, true, ""},
		"or it is said why not":        {errors.New("no server"), []kit.Copy{one}, false, "tmux may still hold login in a paste buffer: no server"},
		"or why not after a later one": {errors.New("no server"), []kit.Copy{one, plain}, false, "tmux may still hold login in a paste buffer: no server"},
	} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T) {
				tmux := &stack{fail: tt.fail, held: map[[sha256.Size]byte]int{}}
				for _, c := range []kit.Copy{one, two, plain} {
					tmux.held[sha256.Sum256([]byte(c.Text))] = 1
				}
				s := startAt(t, ui.New(ui.Deps{
					Ctx: t.Context(), Now: time.Now, FixedTheme: true, Multiplexer: ui.Tmux, Buffers: tmux,
					Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}},
				}), 160, 24)
				for _, c := range tt.copies {
					s.Send(c)
				}
				s.After(29 * time.Second)
				if tmux.mu.Lock(); len(tmux.held) != 3 {
					t.Error("one was forgotten too early")
				}
				tmux.mu.Unlock()
				if tt.leaves {
					s.Press("q")
				} else {
					s.After(2 * time.Second)
					if tt.want != "" {
						s.Expect(tt.want)
					} else {
						s.ExpectNot("tmux")
					}
				}
				tmux.mu.Lock()
				defer tmux.mu.Unlock()
				for _, c := range []kit.Copy{one, two, plain} {
					kept := !c.Secret || !slices.Contains(tt.copies, c)
					if _, held := tmux.held[sha256.Sum256([]byte(c.Text))]; held != kept {
						t.Errorf("%s: held %v, want %v", c.Label, held, kept)
					}
				}
			})
		})
	}
}

// A default tmux takes text from its own command alone: what overwrites a secret in its terminal goes
// the same way, and does not stay in its stack.
func TestASecretIsOverwrittenTheWayItCame(t *testing.T) {
	for want, passes := range map[string]bool{
		"the terminal was asked to overwrite login in its clipboard, which it never confirms; tmux's paste buffer with login is deleted": true,
		"i tmux's paste buffer with login is deleted": false,
	} {
		flow(t, func(t *testing.T) {
			tmux := &stack{held: map[[sha256.Size]byte]int{}, copied: ui.TmuxCopy{Verified: true, Passes: passes, Known: true}}
			s := startAt(t, ui.New(ui.Deps{
				Ctx: t.Context(), Now: time.Now, FixedTheme: true, Multiplexer: ui.Tmux, Buffers: tmux,
				Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}},
			}), 160, 24)
			s.Send(kit.Copy{Label: "login", Text: "hunter2-of-the-zone", Secret: true})
			s.After(31 * time.Second)
			s.Expect(want)
			tmux.mu.Lock()
			defer tmux.mu.Unlock()
			if len(tmux.held) != 0 || !slices.Equal(tmux.loads, []string{"hunter2-of-the-zone", "(a secret was here; zonedeck cleared it)"}) {
				t.Errorf("%d held, of %q", len(tmux.held), tmux.loads)
			}
		})
	}
}

func TestLeavingClearsACopiedSecretAtOnce(t *testing.T) {
	b := &board{}
	flow(t, func(t *testing.T) {
		s := startAt(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, FixedTheme: true, Clipboard: b,
			Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}},
		}), 120, 24)
		s.Send(kit.Copy{Label: "login", Text: "hunter2-of-the-zone", Secret: true})
		if b.holds() == "" {
			t.Error("it was not copied")
		}
		s.Press("q")
		if s.Running() || b.holds() != "" {
			t.Errorf("running %v, the clipboard holds %q", s.Running(), b.holds())
		}
	})
}
