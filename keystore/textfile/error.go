package textfile

import (
	"fmt"
	"strings"
)

// Error is a fault in a file that people edit. It never contains a value from a
// field for secrets.
type Error struct {
	File string
	// Line and Column count from 1; 0 means unknown.
	Line, Column int
	// Msg says what is wrong, Expected what belongs there. Expected may be empty.
	Msg, Expected string
}

// Error is "file:line:column: msg; expected …" in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	if e.Expected != "" {
		b.WriteString("; expected ")
		b.WriteString(e.Expected)
	}
	return b.String()
}
