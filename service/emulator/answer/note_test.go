package answer

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNotesAreBoundedAndPrintable(t *testing.T) {
	w := httptest.NewRecorder()
	for range 1000 {
		NoteUnknown(w, "é\r\nx-brd-error: no"+strings.Repeat("x", 1000))
	}
	notes := w.Header().Values(NoteHeader)
	if len(notes) != maxNotes {
		t.Errorf("%d notes", len(notes))
	}
	for _, n := range notes {
		if len(n) > 300 || strings.ContainsFunc(n, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q", n)
		}
	}
}
