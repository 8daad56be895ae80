package batch_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/database/postgrestest"
)

// TestWhatADeadWorkerLeftInASharedFolderIsTakenInOnce kills a worker whose commits wait. Two others, which share its
// folder, then begin together.
func TestWhatADeadWorkerLeftInASharedFolderIsTakenInOnce(t *testing.T) {
	const items = 1500
	path := filepath.Join(t.TempDir(), "batches")
	address := postgrestest.Address(t, path)
	server := postgrestest.Server(t, path)
	for range 2 {
		r := newRig(t)
		r.pause = time.Millisecond
		dir := t.TempDir()
		var workers []*batch.Batches
		for _, name := range []string{"a", "b"} {
			b, closing, err := onServer(t.Context(), address, name, dir, r.URL)
			noerr.Must(t, err)
			t.Cleanup(func() { noerr.Want(t, closing()) })
			workers = append(workers, b)
		}
		r.Batches = workers[0]
		d := draft(urls(items))
		d.AtOnce, d.Request.Timeout = 8, time.Second
		s := r.start(t, d)
		dead := r.beginWorkerIn(t, dir, address, "dead-"+s.ID)
		for r.all() < 50 {
			<-time.After(10 * time.Millisecond)
		}
		tx := noerr.Try(server.Pool.Begin(t.Context())).Must(t)
		noerr.Must(t, noerr.From(tx.Exec(t.Context(), "UPDATE batches SET changed = changed WHERE id = $1", s.ID)))
		<-time.After(500 * time.Millisecond)
		_ = dead.Process.Kill()
		_ = dead.Wait()
		noerr.Must(t, tx.Rollback(t.Context()))
		age(t, server, "dead-"+s.ID)
		var all sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel() // a count that is wrong does not end
		for _, b := range workers {
			all.Go(func() { noerr.Want(t, noerr.From(b.Run(ctx, s.ID, func(batch.State) {}))) })
		}
		all.Wait()
		s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t)
		if lines := r.lines(t, s.ID); s.State != store.Done || len(lines) != items || s.Tally.Answered != items || s.Remaining() != 0 {
			t.Errorf("%s: %d results, %d counted, %d left", s.State, len(lines), s.Tally.Answered, s.Remaining())
		}
		if repeated := int64(r.all() - items); repeated > s.Tally.Again || s.Spent > 1_500_000*(items+2*s.Tally.Again) {
			t.Errorf("%d sent again, %d announced, spent for %d", repeated, s.Tally.Again, s.Spent/1_500_000)
		}
	}
}

func TestABatchOfWhichNothingIsLeftEndsWithTheFirstCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	s := r.start(t, draft(urls(3)))
	r.run(t, s.ID)
	noerr.Must(t, noerr.From(postgrestest.Server(t, path).Pool.Exec(t.Context(), "UPDATE batches SET state = 'running' WHERE id = $1", s.ID)))
	if s, err := r.Run(t.Context(), s.ID, func(batch.State) {}); err != nil || s.State != store.Done {
		t.Errorf("%s: %v", s.State, err)
	}
}

// TestAnAnswerThatComesAfterTheSliceWasTakenOverIsKeptApart has another worker take a slice over while its first item is in
// flight, which is answered when the worker knows.
func TestAnAnswerThatComesAfterTheSliceWasTakenOverIsKeptApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	server := postgrestest.Server(t, path)
	d := draft(urls(100))
	d.AtOnce = 2
	s := r.start(t, d)
	late := func() (lines string) {
		noerr.Want(t, server.QueryRowContext(t.Context(), "SELECT COALESCE(string_agg(convert_from(lines, 'UTF8'), ''), '') FROM batch_chunks WHERE batch = $1 AND late = 1", s.ID).Scan(&lines))
		return lines
	}
	r.answer = func(_ http.ResponseWriter, url string, hit int) bool {
		if strings.HasSuffix(url, "/0") && hit == 1 {
			noerr.Want(t, noerr.From(server.Pool.Exec(t.Context(), "UPDATE batch_slices SET attempt = attempt + 1 WHERE batch = $1", s.ID)))
			for late() == "" { // of the others
				<-time.After(10 * time.Millisecond)
			}
		}
		return false
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := runs(ctx, r.Batches, s.ID, func(batch.State) {
		if strings.Contains(late(), `{"n":0,`) {
			cancel()
		}
	})
	_ = within(t, 30*time.Second, ended)
	if n := strings.Count(late(), "\n"); n < 2 || n > 100 {
		t.Errorf("%d lines are late", n)
	}
	cancel()
}
