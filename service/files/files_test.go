package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
)

type machine struct{}

func (machine) Now() time.Time     { return time.Now() }
func (machine) Machine() time.Time { return time.Now() }

// lines are what the operator was told.
type lines struct {
	mu   sync.Mutex
	said []string
}

func (l *lines) Say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprintf(format, args...))
}

// here has batches on this machine.
type here struct{}

func (here) OnServer() bool { return false }

func (here) Database(context.Context) (string, error) { return "", nil }

func testFiles(t *testing.T) (*Files, config.Paths, *lines) {
	t.Helper()
	dir := t.TempDir()
	paths, said := config.Paths{Config: dir, Data: dir, State: dir, Cache: dir}, &lines{}
	return New(paths, machine{}, said, here{}, slog.New(slog.DiscardHandler)), paths, said
}

func TestALedgerThatWasDeletedWithItsLogIsMissedByTheHistory(t *testing.T) {
	f, paths, _ := testFiles(t)
	l, fault, err := f.Ledger(t.Context())
	noerr.Must(t, errors.Join(fault, err))
	j, fault, err := f.Journal(t.Context())
	noerr.Must(t, errors.Join(fault, err))
	for range 2 {
		job := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "p"}, "", nil, nil)).Must(t)
		noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{At: time.Now(), Kind: model.HistoryJob, Ref: job.ID}))
	}
	if notices := f.Notices(); notices != nil {
		t.Errorf("told %q", notices)
	}
	noerr.Must(t, f.Close())
	for _, name := range []string{paths.LedgerFile(), paths.LedgerFile() + ".log"} {
		noerr.Must(t, os.Remove(name))
	}
	for _, told := range []int{1, 0} {
		f = New(paths, machine{}, &lines{}, here{}, slog.New(slog.DiscardHandler))
		l, fault, err = f.Ledger(t.Context())
		noerr.Must(t, errors.Join(fault, err))
		if notices := f.Notices(); len(notices) != told || told > 0 && !strings.Contains(notices[0], "the history knows of jobs up to job-2") {
			t.Errorf("told %q", notices)
		}
		if told == 0 {
			if job, err := l.Begin(t.Context(), model.Job{}, "", nil, nil); err != nil || job.ID != "job-3" {
				t.Errorf("%+v, %v", job, err)
			}
		}
		noerr.Must(t, f.Close())
	}
}

func TestAStoreIsOpenedOnceAndNotAfterTheEnd(t *testing.T) {
	f, _, _ := testFiles(t)
	first, err := f.Drift(t.Context())
	noerr.Must(t, err)
	if again, err := f.Drift(t.Context()); err != nil || again != first {
		t.Errorf("opened again: %v", err)
	}
	noerr.Must(t, f.Close())
	if _, fault, err := f.Journal(t.Context()); fault == nil || err != nil {
		t.Errorf("after the end: fault %v, %v", fault, err)
	}
}

func TestTheLedgerIsNotMadeByWhoOnlyLooks(t *testing.T) {
	f, paths, _ := testFiles(t)
	if l, _, err := f.LedgerIfAny(t.Context()); l != nil || err != nil {
		t.Errorf("without one: %v, %v", l, err)
	}
	if _, err := os.Stat(paths.LedgerFile()); !os.IsNotExist(err) {
		t.Errorf("the look made a file: %v", err)
	}
	opened, fault, err := f.Ledger(t.Context())
	if fault != nil || err != nil {
		t.Fatal(fault, err)
	}
	if l, done, err := f.LedgerIfAny(t.Context()); l != opened || err != nil || done() != nil {
		t.Errorf("the open one: %v, %v", l, err)
	}
	noerr.Must(t, f.Close())
}

func TestWhatIsWaitedForIsSaid(t *testing.T) {
	f, paths, said := testFiles(t)
	f.ledger.mu.Lock() // another opens it
	time.AfterFunc(Patience+Patience/2, f.ledger.mu.Unlock)
	if _, fault, err := f.Ledger(t.Context()); fault != nil || err != nil {
		t.Fatal(fault, err)
	}
	if len(said.said) != 1 || !strings.HasSuffix(said.said[0], "waiting for "+paths.LedgerFile()) {
		t.Errorf("said %q", said.said)
	}
	noerr.Must(t, f.Close())
}

func TestTheWaitForAnotherThatOpensAStoreEndsWithTheCaller(t *testing.T) {
	f, paths, _ := testFiles(t)
	ctx, cancel := context.WithCancel(t.Context())
	var opens once[*os.File]
	store, err := opens.get(t.Context(), f, func() (*os.File, string, error) {
		cancel()
		if _, err := opens.get(ctx, f, nil); !errors.Is(err, context.Canceled) { // while this one opens it
			t.Errorf("%v", err)
		}
		file, err := os.Create(filepath.Join(paths.Data, "store"))
		return file, "", err
	})
	noerr.Must(t, err)
	if again, err := opens.get(ctx, f, nil); again != store || err != nil {
		t.Errorf("one that is open: %v, %v", again, err)
	}
	noerr.Must(t, f.Close())
}
