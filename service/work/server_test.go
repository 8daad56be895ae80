package work

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// OpenOnServer opens the queue of a path on the tests' server, as another process each time.
func OpenOnServer(t *testing.T, path string, o Options) (Queue, error) {
	t.Helper()
	return openServer(t, path, rand.Text(), o)
}

func openServer(t *testing.T, path, process string, o Options) (*Server, error) {
	t.Helper()
	return OpenServer(t.Context(), postgrestest.Server(t, path), process, o)
}

func TestTheItemsOfAWorkerWithoutABeatAreDue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.db")
	a := noerr.Try(openServer(t, path, "a", Options{Lease: Unleased})).Must(t)
	b := noerr.Try(openServer(t, path, "b", Options{Lease: Unleased})).Must(t)
	noerr.Must(t, a.Put(t.Context(), Item{Lane: "x", Key: "k"}))
	begun, end := make(chan string, 2), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	work := func(q *Server, name string) {
		ended <- q.Work(ctx, "x", 1, func(context.Context, Item) (time.Duration, error) {
			begun <- name
			<-end
			return 0, nil
		})
	}
	go work(a, "a")
	if got := <-begun; got != "a" {
		t.Fatal(got)
	}
	workers := noerr.Try(b.Workers(t.Context())).Must(t)["x"]
	if len(workers) != 1 || workers[0].Process != "a" || workers[0].Items != 1 || workers[0].Dead {
		t.Errorf("workers %+v", workers)
	}
	// It was silent for 16 seconds, as one that is stopped.
	silent := func() {
		noerr.Must(t, noerr.From(b.beats.server.Pool.Exec(t.Context(), "UPDATE workers SET beat = beat - 16000000 WHERE process = 'a'")))
	}
	silent()
	go work(b, "b")
	if got := <-begun; got != "b" {
		t.Fatal(got)
	}
	close(end)
	cancel()
	noerr.Must(t, errors.Join(<-ended, <-ended))
	if workers := noerr.Try(b.Workers(t.Context())).Must(t)["x"]; len(workers) != 0 {
		t.Errorf("workers that ended: %+v", workers)
	}
}

func TestManyProcessesMakeTheTablesOfAServerAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.db")
	postgrestest.Address(t, path)
	ended := make(chan error, 4)
	for range cap(ended) {
		go func() {
			s, err := database.OpenServer(t.Context(), postgrestest.Address(t, path))
			if err == nil {
				_, err = OpenServer(t.Context(), s, "p", Options{})
				err = errors.Join(err, s.Close())
			}
			ended <- err
		}()
	}
	for range cap(ended) {
		noerr.Must(t, <-ended)
	}
}
