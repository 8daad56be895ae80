package jobs

import "zonedeck/model"

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
