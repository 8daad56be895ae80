package ui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// How long toasts stay. Errors stay until they are dismissed.
const (
	infoTime = 4 * time.Second
	warnTime = 8 * time.Second
	// maxToasts is how many are shown; more errors than that wait.
	maxToasts = 3
	// maxKept bounds the errors that are not dismissed; the oldest is dropped.
	maxKept = 50
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

// add shows a toast. One with the same text is renewed, not repeated, and of those about one
// state the last stays.
func (t *toasts) add(k kit.Toast) int {
	t.next++
	t.list = slices.DeleteFunc(t.list, func(old toast) bool { return old.Toast == k || k.About != "" && old.About == k.About })
	if k.Text == "" {
		return t.next
	}
	t.list = append(t.list, toast{id: t.next, Toast: k})
	if len(t.list) > maxKept {
		t.list = t.list[1:]
	}
	return t.next
}

func (t *toasts) drop(id int) {
	t.list = slices.DeleteFunc(t.list, func(old toast) bool { return old.id == id })
}

// read drops the errors about things of a tab that was opened.
func (t *toasts) read(in kit.ViewID) {
	t.list = slices.DeleteFunc(t.list, func(k toast) bool { return k.Kind == kit.ToastError && k.In == in })
}

func (t *toasts) dismissable() bool { return len(t.list) > 0 }

// dismiss removes the newest toast.
func (t *toasts) dismiss() {
	if n := len(t.list); n > 0 {
		t.list = t.list[:n-1]
	}
}

// standing is the newest error, which esc dismisses first; -1 for none.
func (t *toasts) standing() int {
	for i, k := range slices.Backward(t.list) {
		if k.Kind == kit.ToastError {
			return i
		}
	}
	return -1
}

// visible are the newest toasts, as many as there is room for.
func (t *toasts) visible() []toast { return t.list[max(len(t.list)-maxToasts, 0):] }
