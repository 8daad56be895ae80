package ledger

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// BenchmarkBegin writes one job to disk, as before a POST.
func BenchmarkBegin(b *testing.B) {
	l := openTest(b, filepath.Join(b.TempDir(), "ledger.db"))
	for b.Loop() {
		noerr.Must(b, noerr.From(l.Begin(b.Context(), model.Job{Dataset: "d"}, "", nil, nil)))
	}
}

// filled makes a ledger of n jobs with five steps each, in the states that state returns.
func filled(b *testing.B, n int64, state func(n int64) model.JobState) *Ledger {
	l := openTest(b, filepath.Join(b.TempDir(), "ledger.db"))
	err := l.db.Write(b.Context(), "filling the ledger", func(ctx context.Context, tx *sql.Tx) error {
		steps := slices.Repeat([]string{"a step"}, 5)
		for i := range n {
			job := model.Job{Profile: "p", Snapshot: "sd", Dataset: "d", State: state(i)}
			if err := put(ctx, tx, insertJob, i+1, job, "", "", steps...); err != nil {
				return err
			}
		}
		return nil
	})
	noerr.Must(b, err)
	return l
}

// BenchmarkJobs lists 1,000 jobs with five steps each.
func BenchmarkJobs(b *testing.B) {
	l := filled(b, 1000, func(int64) model.JobState { return model.JobReady })
	for b.Loop() {
		if list, _, err := l.Jobs(b.Context(), 1000); err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
	}
}

// BenchmarkAtService reads the jobs in flight: the oldest and the newest of 20,000.
func BenchmarkAtService(b *testing.B) {
	const n = 20_000
	l := filled(b, n, func(i int64) model.JobState {
		if i == 0 || i == n-1 {
			return model.JobRunning
		}
		return model.JobReady
	})
	for b.Loop() {
		if list, err := l.AtService(b.Context(), "p"); err != nil || len(list) != 2 {
			b.Fatal(len(list), err)
		}
	}
}

// BenchmarkOpen opens a ledger of 1,000 jobs with five steps each: unchanged since nothing was wrong with it, or changed
// and read through.
func BenchmarkOpen(b *testing.B) {
	l := filled(b, 1000, func(int64) model.JobState { return model.JobReady })
	noerr.Must(b, noerr.From(l.reconcile(b.Context()))) // which writes the log
	path := l.Path()
	noerr.Must(b, l.Close())
	for _, name := range []string{"unchanged", "changed"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if name == "changed" {
					_ = os.Remove(verifiedPath(path)) // there may be none
				}
				again, notice, err := Open(b.Context(), path, clock())
				if noerr.Must(b, err); notice != "" {
					b.Fatal(notice)
				}
				noerr.Must(b, again.Close())
			}
		})
	}
}
