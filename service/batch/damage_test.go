package batch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/batch"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
)

func TestAnItemThatIsDamagedPausesTheBatchWithTheReason(t *testing.T) {
	r := newRig(t)
	s := r.start(t, draft(urls(300)))
	path := filepath.Join(r.Folder(s.ID), "items.ndjson")
	text := noerr.Try(os.ReadFile(path)).Must(t)
	text[len(text)-5] ^= 1
	noerr.Must(t, os.WriteFile(path, text, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := r.Run(ctx, s.ID, func(batch.State) {})
	if !errors.Is(err, batch.ErrDamaged) || s.State != store.Paused || s.Reason != "reading slice 2: items.ndjson is damaged: item 300 is not as it was planned" {
		t.Errorf("%s (%s): %v", s.State, s.Reason, err)
	}
}

// TestResultsThatSomebodyChangedAreAnError has results whose lines are whole, and of the wrong items.
func TestResultsThatSomebodyChangedAreAnError(t *testing.T) {
	for n, want := range map[int64]string{7: "one is of item 8, and it has 3", 1: "item 2 has two"} {
		r := newRig(t)
		s := r.start(t, draft(urls(3)))
		r.run(t, s.ID)
		lines := r.lines(t, s.ID)
		path := files.ResultsPath(r.Folder(s.ID), "w1")
		changed := lines[2]
		changed.N = n
		text := files.AppendLine(files.AppendLine(files.AppendLine(nil, lines[0]), lines[1]), changed)
		noerr.Must(t, os.WriteFile(path, text, 0o600))
		want = "the results of batch " + s.ID + " are damaged: " + want
		var last error
		for _, err := range r.Answers(t.Context(), s.ID, false) {
			last = err
		}
		if !errors.Is(last, batch.ErrDamaged) || last.Error() != want {
			t.Errorf("answers: %v, want %s", last, want)
		}
		if _, err := r.Unpack(t.Context(), s.ID, t.TempDir(), nil); !errors.Is(err, batch.ErrDamaged) {
			t.Errorf("bodies: %v", err)
		}
	}
}
