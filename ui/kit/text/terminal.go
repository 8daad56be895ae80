package text

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// longestLine is how much of a line a TerminalWriter keeps before it writes, in bytes.
const longestLine = 64 << 10

// TerminalWriter writes a body to a terminal line by line. It makes everything visible that
// could move the cursor or colour, hide or reorder text. Flush writes the rest and ends the
// last line.
type TerminalWriter struct {
	To   io.Writer
	line []byte
	open bool // the last line written has no line break yet
}

func (t *TerminalWriter) Write(p []byte) (int, error) {
	t.line = append(t.line, p...)
	end := bytes.LastIndexByte(t.line, '\n') + 1
	if end == 0 && len(t.line) > longestLine {
		if end = lastRune(t.line); utf8.FullRune(t.line[end:]) {
			end = len(t.line)
		}
	}
	if err := t.flush(end); err != nil {
		return 0, err
	}
	return len(p), nil
}

// lastRune is where the last character of b begins.
func lastRune(b []byte) int {
	for i := len(b) - 1; i > 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return max(len(b)-1, 0)
}

func (t *TerminalWriter) flush(n int) error {
	if n == 0 {
		return nil
	}
	t.open = t.line[n-1] != '\n'
	_, err := io.WriteString(t.To, CleanLines(string(t.line[:n])))
	t.line = append(t.line[:0], t.line[n:]...)
	return err
}

// Flush writes the rest, and a line break if the last line has none.
func (t *TerminalWriter) Flush() error {
	err := t.flush(len(t.line))
	if err == nil && t.open {
		t.open = false
		_, err = io.WriteString(t.To, "\n")
	}
	return err
}
