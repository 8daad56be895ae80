package body

import (
	"io"
	"sync/atomic"
	"testing"

	"zonedeck/ui/uitest"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

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

func press(t *testing.T, b *View, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if bd, ok := kit.Find(b.Bindings(), k, b.CapturingText()); ok && bd.Intent != nil {
			uitest.Settle(t, b.Update(bd.Intent), b.Update)
			continue
		}
		msg := tea.KeyPressMsg{Text: k, Code: []rune(k)[0]}
		if len(k) > 1 {
			msg = tea.KeyPressMsg{Code: map[string]rune{"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "end": tea.KeyEnd, "home": tea.KeyHome, "down": tea.KeyDown, "up": tea.KeyUp}[k]}
		}
		uitest.Settle(t, b.Update(msg), b.Update)
	}
}

func typeText(t *testing.T, b *View, text string) {
	t.Helper()
	for _, r := range text {
		uitest.Settle(t, b.Update(tea.KeyPressMsg{Code: r, Text: string(r)}), b.Update)
	}
}
