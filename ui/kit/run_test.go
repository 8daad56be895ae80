package kit

import (
	"io"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// run plays the program: it executes a command and everything it leads to, one
// after the other, and gives addressed messages to update.
func run(t *testing.T, cmd tea.Cmd, update func(tea.Msg) tea.Cmd) {
	t.Helper()
	queue := []tea.Cmd{cmd}
	for n := 0; len(queue) > 0; n++ {
		if n > 10_000 {
			t.Fatal("the commands never come to an end")
		}
		cmd, queue = queue[0], queue[1:]
		if cmd == nil {
			continue
		}
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			queue = append(queue, msg...)
		case Addressed:
			msgs, more := msg.Deliver()
			for _, m := range msgs {
				queue = append(queue, update(m))
			}
			queue = append(queue, more)
		default:
			if v := reflect.ValueOf(msg); v.Kind() == reflect.Slice { // tea's unexported sequence
				for i := range v.Len() {
					queue = append(queue, v.Index(i).Interface().(tea.Cmd))
				}
				continue
			}
			queue = append(queue, update(msg))
		}
	}
}

// patternReader is a body that is computed, not stored.
type patternReader struct {
	size int64
	at   func(off int64) byte
	read atomic.Int64
}

func (p *patternReader) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	for ; n < len(b) && off+int64(n) < p.size; n++ {
		b[n] = p.at(off + int64(n))
	}
	p.read.Add(int64(n))
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// lineBody is a body of numbered lines of 16 bytes.
func lineBody(lines int) *patternReader {
	return &patternReader{size: int64(lines) * 16, at: func(off int64) byte {
		if off%16 == 15 {
			return '\n'
		}
		const head = "line "
		col := off % 16
		if col < 5 || col == 14 {
			return (head + "          ")[col]
		}
		n := off / 16
		for range 13 - col {
			n /= 10
		}
		return '0' + byte(n%10)
	}}
}

func press(t *testing.T, b *BodyView, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if bd, ok := Find(b.Bindings(), k, b.CapturingText()); ok && bd.Intent != nil {
			run(t, b.Update(bd.Intent), b.Update)
			continue
		}
		msg := tea.KeyPressMsg{Text: k, Code: []rune(k)[0]}
		if len(k) > 1 {
			msg = tea.KeyPressMsg{Code: map[string]rune{"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "end": tea.KeyEnd, "home": tea.KeyHome, "down": tea.KeyDown, "up": tea.KeyUp}[k]}
		}
		run(t, b.Update(msg), b.Update)
	}
}

func typeText(t *testing.T, b *BodyView, text string) {
	t.Helper()
	for _, r := range text {
		run(t, b.Update(tea.KeyPressMsg{Code: r, Text: string(r)}), b.Update)
	}
}

func plainText(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(stripped(l), " ")
	}
	return strings.Join(lines, "\n")
}
