package answer

import (
	"net/http"
	"strconv"
)

// NoteHeader says what a loose emulator let pass.
const NoteHeader = "x-emulator-note"

// A body can have as many unknown fields as bytes; so many are named, each so far.
const (
	maxNotes = 20
	maxNoted = 100
)

// NoteUnknown names what nobody knows and a loose emulator lets pass: a field, a
// parameter, a header. Those beyond the first twenty are not named. Call it before the
// answer is begun.
func NoteUnknown(w http.ResponseWriter, what string) {
	h := w.Header()
	if len(h.Values(NoteHeader)) >= maxNotes {
		return
	}
	h.Add(NoteHeader, strconv.QuoteToASCII(Shortened(what, maxNoted))+" is not known and has no effect")
}
