package console

import (
	"context"
	"io"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// terminalFile is what Bubble Tea takes for a terminal that it can set up, wait for and let go of.
type terminalFile interface {
	io.ReadWriteCloser
	Fd() uintptr
	Name() string
}

// keyboard is the terminal that the console reads, with pastes reduced to text. The decoder of
// Bubble Tea obeys control sequences inside a paste, too: a string that begins there and does not
// end takes the paste's end with it, and every key that follows.
type keyboard struct {
	terminalFile
	paste  pasteFilter
	hangUp context.CancelCauseFunc // ends the console
}

// newKeyboard is in with pastes reduced to text; what is no terminal's file stays as it is. hangUp is called when the
// terminal is gone: Bubble Tea would wait for keys for good.
func newKeyboard(in io.Reader, hangUp context.CancelCauseFunc) io.Reader {
	if f, ok := in.(terminalFile); ok {
		return &keyboard{terminalFile: f, hangUp: hangUp}
	}
	return in
}

// Read reads at most as many bytes as leave room for those that were held back. It may return
// none without an error, when all that came was dropped or has to wait for its rest.
func (k *keyboard) Read(p []byte) (int, error) {
	if len(p) <= maxHeld {
		return 0, io.ErrShortBuffer
	}
	in := make([]byte, len(p)-maxHeld)
	n, err := k.terminalFile.Read(in)
	if err != nil {
		k.hangUp(err)
	}
	return copy(p, k.paste.filter(in[:n])), err
}

const (
	pasteStart = ansi.BracketedPasteStart
	pasteEnd   = ansi.BracketedPasteEnd
	maxHeld    = len(pasteEnd)
)

// pasteFilter passes on everything outside of a bracketed paste, and of a paste the valid UTF-8
// without ESC and control sequences.
type pasteFilter struct {
	started int    // bytes of pasteStart that came last, outside
	inside  bool   // between pasteStart and pasteEnd
	partial []byte // inside: the beginning of a control sequence or of a character
	out     []byte
}

// filter returns what is left of b, together with what was held back before; the next call
// overwrites it.
func (f *pasteFilter) filter(b []byte) []byte {
	f.out = f.out[:0]
	for _, c := range b {
		if f.inside {
			f.pasted(c)
		} else {
			f.typed(c)
		}
	}
	return f.out
}

func (f *pasteFilter) typed(c byte) {
	f.out = append(f.out, c)
	if c != pasteStart[f.started] {
		f.started = 0
	}
	if c == pasteStart[f.started] {
		f.started++
	}
	if f.started == len(pasteStart) {
		f.started, f.inside = 0, true
	}
}

func (f *pasteFilter) pasted(c byte) {
	switch held := len(f.partial); {
	case held == 0:
		f.begin(c)
	case f.partial[0] != ansi.ESC:
		f.character(c)
	case held == 1 && c == '[', held > 1 && c >= ' ' && c <= '?':
		if held < maxHeld { // a longer one is not the end
			f.partial = append(f.partial, c)
		}
	case held > 1 && c >= '@' && c <= '~': // the last byte of a control sequence
		if string(f.partial)+string(c) == pasteEnd {
			f.out, f.inside = append(f.out, pasteEnd...), false
		}
		f.partial = f.partial[:0]
	default:
		f.partial = f.partial[:0]
		f.begin(c)
	}
}

// begin takes the first byte of a character or of a control sequence.
func (f *pasteFilter) begin(c byte) {
	switch {
	case c == ansi.ESC || utf8.RuneStart(c) && c >= utf8.RuneSelf:
		f.partial = append(f.partial, c)
	case c < utf8.RuneSelf:
		f.out = append(f.out, c)
	}
}

// character takes a further byte of a character. Of bytes that are none, only the first is dropped.
func (f *pasteFilter) character(c byte) {
	f.partial = append(f.partial, c)
	if !utf8.FullRune(f.partial) {
		return
	}
	whole := append([]byte{}, f.partial...)
	f.partial = f.partial[:0]
	if utf8.Valid(whole) {
		f.out = append(f.out, whole...)
		return
	}
	for _, c := range whole[1:] {
		f.pasted(c)
	}
}
