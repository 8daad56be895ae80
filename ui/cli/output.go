package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"

	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// All output goes through tell and printText, which are for people, or through printJSON and encode, which are for programs.

// tell writes to a person, on stderr. The arguments may come from anywhere: nothing in them is obeyed by a terminal.
func (a *app) tell(format string, args ...any) {
	args = slices.Clone(args)
	for i, arg := range args {
		if kind := reflect.ValueOf(arg).Kind(); kind < reflect.Bool || kind > reflect.Complex128 {
			args[i] = oneLine(arg)
		}
	}
	a.telling.Lock()
	defer a.telling.Unlock()
	fmt.Fprintf(a.Stderr, format, args...)
}

// teller is tell for what writes whole lines.
type teller struct{ app *app }

func (t teller) Write(line []byte) (int, error) {
	t.app.tell("%s\n", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// printText writes a text to stdout, such as code. A terminal shows what it would otherwise obey; elsewhere the text stays as it is.
func (a *app) printText(s string) error {
	if a.StdoutTTY {
		s = text.CleanLines(s)
	}
	if _, err := io.WriteString(a.Stdout, s); err != nil {
		return fail(exitState, "write the text: %w", err)
	}
	return nil
}

// printer is printText for what writes whole lines.
type printer struct{ app *app }

func (p printer) Write(lines []byte) (int, error) { return len(lines), p.app.printText(string(lines)) }

// printLine writes one line to stdout. Its texts may come from anywhere.
func (a *app) printLine(line string) error { return a.printText(sanitizeLine(line) + "\n") }

// printJSON writes one object and a newline to stdout.
func (a *app) printJSON(v any) error {
	return a.encode("the answer", func(w io.Writer) error { return view.Encode(w, v) })
}

// encode writes what a function of view has encoded to stdout.
func (a *app) encode(what string, write func(io.Writer) error) error {
	if err := write(a.Stdout); err != nil {
		return fail(exitState, "write %s: %w", what, err)
	}
	return nil
}

// oneRow cuts a text that is longer than a row of the terminal: on a second row it could not be cleared.
func (a *app) oneRow(s string) string {
	f, is := a.Stderr.(term.File)
	if !is {
		return s
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil || width < 2 {
		return s
	}
	return text.Cut(s, width-1)
}
