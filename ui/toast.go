package ui

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// How long toasts stay. Errors stay until they are dismissed.
const (
	infoTime = 4 * time.Second
	warnTime = 8 * time.Second
	// maxToasts is how many are shown; more errors than that wait.
	maxToasts = 3
	// maxKept bounds the errors that are not dismissed; the oldest is dropped.
	maxKept = 50
	// osc52Limit is the size from which terminals refuse OSC 52.
	osc52Limit = 74_000
)

type toast struct {
	id int
	kit.Toast
}

// toasts are the current messages, oldest first.
type toasts struct {
	list []toast
	next int
}

type toastGone struct{ id int }

func (a *App) addToast(t kit.Toast) tea.Cmd {
	id := a.toasts.add(t)
	switch t.Kind {
	case kit.ToastInfo:
		return kit.After(a.deps.Ctx, infoTime, toastGone{id})
	case kit.ToastWarn:
		return kit.After(a.deps.Ctx, warnTime, toastGone{id})
	default:
		return nil
	}
}

// add shows a toast. One with the same text is renewed, not repeated.
func (t *toasts) add(k kit.Toast) int {
	t.next++
	t.list = slices.DeleteFunc(t.list, func(old toast) bool { return old.Toast == k })
	t.list = append(t.list, toast{id: t.next, Toast: k})
	if len(t.list) > maxKept {
		t.list = t.list[1:]
	}
	return t.next
}

func (t *toasts) drop(id int) {
	t.list = slices.DeleteFunc(t.list, func(old toast) bool { return old.id == id })
}

func (t *toasts) dismissable() bool { return len(t.list) > 0 }

// dismiss removes the newest toast.
func (t *toasts) dismiss() {
	if n := len(t.list); n > 0 {
		t.list = t.list[:n-1]
	}
}

// shown are the newest toasts, as many as there is room for.
func (t *toasts) shown() []toast { return t.list[max(len(t.list)-maxToasts, 0):] }

// copied is the result of a copy.
type copied struct {
	what   string
	size   int // bytes
	secret bool
	native string
	err    error
}

// copyOut sends text to the terminal (OSC 52) and to the native clipboard.
func (a *App) copyOut(c kit.Copy) tea.Cmd {
	native, ctx := a.deps.Clipboard, a.deps.Ctx
	return tea.Sequence(tea.SetClipboard(c.Text), func() tea.Msg {
		done := copied{what: c.What, size: len(c.Text), secret: c.Secret}
		if native != nil {
			done.native, done.err = native(ctx, c.Text)
		}
		return done
	})
}

func (c copied) toast() kit.Toast {
	text := fmt.Sprintf("copied %s: %s to the terminal (OSC 52)", c.what, text.Bytes(int64(c.size)))
	kind := kit.ToastInfo
	switch {
	case c.native != "" && c.err == nil:
		text += " and to " + c.native
	case c.size > osc52Limit:
		kind = kit.ToastWarn
		text += "; many terminals refuse more than 74 KB"
	}
	if c.secret {
		kind = kit.ToastWarn
		text += "; it holds a secret"
	}
	return kit.Toast{Kind: kind, Text: text}
}
