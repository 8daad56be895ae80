package work_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/work"
	"zonedeck/service/work/worktest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(work.VictimFile); path != "" {
		work.Victim(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// openQueue opens the queue of a path, in a file or on the tests' server.
func openQueue(t *testing.T, path string, o work.Options) work.Queue {
	t.Helper()
	var q work.Queue
	var err error
	if postgrestest.Available() {
		q, err = work.OpenOnServer(t, path, o)
	} else {
		q, err = work.OpenFile(t.Context(), path, o)
	}
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, q.Close()) })
	return q
}

func TestAQueueOfRiver(t *testing.T) {
	suite(t, func(t *testing.T) (a, b work.Queue) {
		path := filepath.Join(t.TempDir(), "work.db")
		return openQueue(t, path, work.Options{}), openQueue(t, path, work.Options{})
	})
}

func TestAQueueInMemory(t *testing.T) {
	suite(t, func(*testing.T) (a, b work.Queue) {
		m := worktest.NewMemory()
		return m, m
	})
}

func TestAWorkerThatIsWellWritesNothingIntoTheLog(t *testing.T) {
	var log bytes.Buffer
	q := openQueue(t, filepath.Join(t.TempDir(), "work.db"), work.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	noerr.Must(t, q.Put(ctx, work.Item{Lane: "x", Key: "k"}))
	err := q.Work(ctx, "x", 1, func(context.Context, work.Item) (time.Duration, error) {
		cancel()
		return 0, nil
	})
	if err != nil || log.Len() > 0 {
		t.Errorf("%v; the log has %s", err, &log)
	}
}

func TestManyProcessesMakeTheFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			q, err := work.OpenFile(t.Context(), path, work.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			noerr.Want(t, q.Put(t.Context(), work.Item{Lane: "x", Key: "k"}))
			if items, err := q.Items(t.Context(), "x"); err != nil || len(items) != 1 {
				t.Errorf("%v, %v", items, err)
			}
			noerr.Want(t, q.Close())
		})
	}
	all.Wait()
}
