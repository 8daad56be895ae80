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
