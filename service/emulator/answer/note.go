package answer

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// NoteHeader names what a loose emulator ignored.
const NoteHeader = "x-emulator-note"

// Bounds of the notes, because a body can have very many unknown fields.
const (
	maxNotes = 20
	maxNoted = 100
)

// UnknownParameters returns the unknown parameters of a query, sorted. A loose service notes
// them instead and returns none.
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

// NoteUnknown notes an unknown field, parameter or header that a loose emulator ignores. It
// notes the first twenty only. Call it before the answer begins.
func NoteUnknown(w http.ResponseWriter, what string) {
	h := w.Header()
	if len(h.Values(NoteHeader)) >= maxNotes {
		return
	}
	h.Add(NoteHeader, strconv.QuoteToASCII(Shortened(what, maxNoted))+" is not known and has no effect")
}
