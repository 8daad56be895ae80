package cli

import (
	"io"

	"zonedeck/service/view"
)

// printJSON writes one object and a newline to stdout.
func (a *app) printJSON(v any) error {
	if err := view.Encode(a.Stdout, v); err != nil {
		return fail(exitState, "write the answer: %w", err)
	}
	return nil
}

// printText writes a text to stdout, as it is or in a JSON object.
func (a *app) printText(asJSON bool, text string) error {
	if asJSON {
		return a.printJSON(view.Text{Text: text})
	}
	if _, err := io.WriteString(a.Stdout, text); err != nil {
		return fail(exitState, "write the text: %w", err)
	}
	return nil
}
