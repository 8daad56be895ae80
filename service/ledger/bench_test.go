package ledger

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"zonedeck/model"
)

// BenchmarkBegin is one job written down, on disk, as before a POST.
func BenchmarkBegin(b *testing.B) {
	l := openTest(b, filepath.Join(b.TempDir(), "ledger.db"))
	for b.Loop() {
		if _, err := l.Begin(b.Context(), model.Job{Dataset: "d"}, "", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkJobs lists 1,000 jobs of five steps.
func BenchmarkJobs(b *testing.B) {
	l := openTest(b, filepath.Join(b.TempDir(), "ledger.db"))
	err := l.db.Write(b.Context(), "filling the ledger", func(ctx context.Context, tx *sql.Tx) error {
		steps := slices.Repeat([]model.JobStep{{At: testTime, State: model.JobRunning, Text: "a step"}}, 4)
		for n := range int64(1000) {
			if err := insert(ctx, tx, n+1, model.Job{Dataset: "d", Steps: steps}, "", "", "a step"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if list, _, err := l.Jobs(b.Context(), 1000); err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
	}
}
