package jobs

import (
	"fmt"

	"zonedeck/model"
)

// maxDetail bounds a text of the ledger, in bytes.
const maxDetail = 1000

// line makes a text one bounded line, for the ledger.
func line(s string) string { return model.Line(s, maxDetail) }

// joinText joins what is not empty with a colon.
func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}

// counted is a number of things: "1 row", "2 rows".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
