package sandbox

import (
	"testing"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// TestANoteComesBeforeAStatus: the one row of evidence of an answer that is ok says what
// is not as it was asked for.
func TestANoteComesBeforeAStatus(t *testing.T) {
	note := model.Evidence{Kind: "header", Text: model.NoteHeader + ": www.google.com is not asked"}
	got := kit.Weighed(model.Diagnosis{Class: model.ClassOK, Evidence: []model.Evidence{
		{Kind: "status", Text: "200 OK from the target"}, {Kind: "header", Text: "x-brd-status-code: 200"}, note,
	}})
	if got[0] != note || got[0].Note() != "www.google.com is not asked" || got[1].Note() != "" || evidenceText(note) != "note: www.google.com is not asked" {
		t.Errorf("%+v", got)
	}
}
