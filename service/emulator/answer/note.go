package answer

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// NoteHeader says what a loose emulator let pass.
const NoteHeader = "x-emulator-note"

// A body can have as many unknown fields as bytes; so many are named, each so far.
const (
	maxNotes = 20
	maxNoted = 100
)

// UnknownParameters are the parameters of a query that are not among the known ones, in
// order. In a loose service they are noted, and there are none.
func UnknownParameters(w http.ResponseWriter, r *http.Request, loose bool, known ...string) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(r.URL.Query())), func(name string) bool { return slices.Contains(known, name) })
	if !loose {
		return names
	}
	for _, name := range names {
		NoteUnknown(w, "query parameter "+name)
	}
	return nil
}

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
