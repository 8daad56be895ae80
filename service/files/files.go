package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/batch/store"
	"zonedeck/service/config"
	"zonedeck/service/database"
	"zonedeck/service/drift"
	"zonedeck/service/journal"
	"zonedeck/service/ledger"
	"zonedeck/service/webhook"
	"zonedeck/service/work"
)

// Patience is how long the program waits before it says what it is waiting for.
const Patience = 500 * time.Millisecond

// Clock tells the times that entries are dated by.
type Clock interface {
	// Now is the time at the service in use: the embedded emulator's may have been moved.
	Now() time.Time
	// Machine is this machine's time.
	Machine() time.Time
}

// Voice prints one line for the operator.
type Voice interface {
	Say(format string, args ...any)
}

// Place says on which server batches, jobs and webhooks are.
type Place interface {
	// OnServer reports whether a database is named; otherwise they are in files of this machine.
	OnServer() bool
	Database(ctx context.Context) (address string, err error)
}

// Files are the stores of this machine.
type Files struct {
	paths config.Paths
	clock Clock
	voice Voice
	place Place
	log   *slog.Logger

	server  once[*database.Server]
	journal once[*journal.Journal]
	ledger  once[*ledger.Ledger]
	work    once[work.Queue]
	drift   once[*drift.Store]
	inbox   once[*webhook.Inbox]
	batches once[*store.Store]
	tidying sync.WaitGroup

	mu      sync.Mutex
	notices []string
	opened  []io.Closer // in the order in which they were opened
	closed  bool
}

// errClosed says that the files were closed.
var errClosed = errors.New("the files of this run are closed")

// New opens nothing.
func New(paths config.Paths, clock Clock, voice Voice, place Place, log *slog.Logger) *Files {
	return &Files{paths: paths, clock: clock, voice: voice, place: place, log: log}
}

// once is a store that is opened by the first who needs it. One that cannot be opened is tried again.
type once[S io.Closer] struct {
	mu    sync.Mutex
	store S
	open  bool
	turn  *semaphore.Weighted // held by the one that opens it
}

// get opens the store if it is not open yet. A notice is kept for the operator. The end of ctx ends the wait for another
// that opens it.
func (o *once[S]) get(ctx context.Context, f *Files, open func() (S, string, error)) (S, error) {
	o.mu.Lock()
	if o.turn == nil {
		o.turn = semaphore.NewWeighted(1)
	}
	store, opened := o.store, o.open
	o.mu.Unlock()
	if opened {
		return store, nil
	}
	if !o.turn.TryAcquire(1) {
		if err := o.turn.Acquire(ctx, 1); err != nil {
			return store, err
		}
	}
	defer o.turn.Release(1)
	if o.open { // by the one before
		return o.store, nil
	}
	store, notice, err := open()
	if err != nil {
		return store, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return store, errors.Join(errClosed, store.Close())
	}
	o.mu.Lock()
	o.store, o.open = store, true
	o.mu.Unlock()
	f.opened = append(f.opened, store)
	if notice != "" {
		f.notices = append(f.notices, notice)
	}
	return store, nil
}

// Notices are what the operator must be told about the files, each once.
func (f *Files) Notices() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	notices := f.notices
	f.notices = nil
	return notices
}

// Journal opens the history. fault is why there is none; err is that ctx ended.
func (f *Files) Journal(ctx context.Context) (j *journal.Journal, fault, err error) {
	path := f.paths.JournalFile()
	return waited(ctx, f, &f.journal, path, func() (*journal.Journal, string, error) {
		return journal.Open(ctx, path, f.clock.Now)
	})
}

// Ledger opens the ledger of jobs. fault is why there is none; err is that ctx ended.
func (f *Files) Ledger(ctx context.Context) (l *ledger.Ledger, fault, err error) {
	path := f.paths.LedgerFile()
	if f.place.OnServer() {
		return waited(ctx, f, &f.ledger, "the database", func() (*ledger.Ledger, string, error) { return f.serverLedger(ctx) })
	}
	return waited(ctx, f, &f.ledger, path, func() (*ledger.Ledger, string, error) {
		l, notice, err := ledger.Open(ctx, path, f.clock.Now)
		if err == nil {
			notice = strings.TrimSpace(notice + " " + f.lostJobs(ctx, l, notice != ""))
		}
		return l, notice, err
	})
}

// lostJobs compares a ledger without jobs, or one that was damaged, with the history, which still knows of jobs if the
// ledger and its log have lost them. It returns a notice.
func (f *Files) lostJobs(ctx context.Context, l *ledger.Ledger, damaged bool) (notice string) {
	_, total, err := l.Jobs(ctx, 1)
	if _, missing := os.Stat(f.paths.JournalFile()); err != nil || total > 0 && !damaged || missing != nil || l.Frozen() != nil {
		return ""
	}
	j, fault, err := f.Journal(ctx)
	var ids []string
	if err = errors.Join(fault, err); err == nil {
		var entries []model.HistoryEntry
		entries, err = j.Entries(ctx, model.HistoryFilter{Kind: model.HistoryJob, Limit: 10_000})
		for _, e := range entries {
			ids = append(ids, e.Ref)
		}
	}
	var last string
	if len(ids) > 0 {
		last, err = l.SkipNumbers(ctx, ids)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("The ledger %s could not be compared with the history, which may know of jobs that it lacks: %v.", l.Path(), err)
	case last != "":
		return fmt.Sprintf("The ledger %s and its log have lost jobs: the history knows of jobs up to %s. What is at the service is added with 'zonedeck jobs adopt IDENTIFIER'. No number is used again.", l.Path(), last)
	}
	return ""
}

// LedgerIfAny is the ledger where it was opened, or where there is one on this disk; nil if there is none. done closes
// what was opened for this call alone.
func (f *Files) LedgerIfAny(ctx context.Context) (l *ledger.Ledger, done func() error, err error) {
	nothing := func() error { return nil }
	f.ledger.mu.Lock()
	l = f.ledger.store
	f.ledger.mu.Unlock()
	path := f.paths.LedgerFile()
	if l != nil {
		return l, nothing, nil
	}
	if f.place.OnServer() {
		l, fault, err := f.Ledger(ctx)
		return l, nothing, errors.Join(fault, err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nothing, nil
	}
	l, notice, err := ledger.Open(ctx, path, f.clock.Now)
	if err != nil {
		return nil, nothing, err
	}
	if notice != "" { // it is given once, and nobody reads Notices any more
		f.voice.Say("zonedeck: %s", notice)
	}
	return l, l.Close, nil
}

// Work opens the queue of durable work.
func (f *Files) Work(ctx context.Context) (work.Queue, error) {
	if f.place.OnServer() {
		s, err := f.Batches(ctx) // one queue: who leads it decides for how long the items of all may be held
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	return f.work.get(ctx, f, func() (work.Queue, string, error) {
		q, err := work.OpenFile(ctx, f.paths.WorkFile(), work.Options{Log: f.log})
		return q, "", err
	})
}

// Drift opens the store of what fields show. Ages count by the machine's clock.
func (f *Files) Drift(ctx context.Context) (*drift.Store, error) {
	return f.drift.get(ctx, f, func() (*drift.Store, string, error) {
		s, notice, err := drift.Open(ctx, f.paths.DriftFile(), f.clock.Machine, drift.DefaultKeep())
		if notice != "" {
			f.log.Warn(notice)
		}
		return s, "", err
	})
}

// Inbox opens the inbox of webhooks.
func (f *Files) Inbox(ctx context.Context) (*webhook.Inbox, error) {
	return f.inbox.get(ctx, f, func() (*webhook.Inbox, string, error) {
		o := webhook.Options{File: f.paths.InboxFile(), Dir: f.paths.InboxDir(), Clock: f.clock, Ledger: f}
		var in *webhook.Inbox
		var notice string
		err := f.onServer(ctx, &o)
		if err == nil {
			in, notice, err = webhook.Open(ctx, o)
		}
		if err != nil {
			err = fmt.Errorf("the inbox of webhooks cannot be opened: %w", err)
		}
		return in, notice, err
	})
}

// Batches opens the store of batches.
func (f *Files) Batches(ctx context.Context) (*store.Store, error) {
	return f.batches.get(ctx, f, func() (*store.Store, string, error) {
		if f.place.OnServer() {
			return f.serverBatches(ctx)
		}
		return store.Open(ctx, f.paths.BatchesFile(), f.clock.Machine, f.log)
	})
}

// WebhookJobs is what is known about jobs that webhooks are about; nothing if there is no ledger yet.
func (f *Files) WebhookJobs(ctx context.Context, ids []string) (out map[string]model.WebhookJob, err error) {
	l, done, err := f.LedgerIfAny(ctx)
	if l == nil || err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return l.WebhookJobs(ctx, ids)
}

// waited opens a file that another process may have locked, and says when it waits
// for it. fault is why it could not be opened; err is that ctx ended.
func waited[S io.Closer](ctx context.Context, f *Files, o *once[S], path string, open func() (S, string, error)) (store S, fault, err error) {
	type outcome struct {
		store S
		err   error
	}
	done := make(chan outcome, 1)
	go func() { // SQLite's wait cannot be cut short; it ends on its own within seconds
		store, err := o.get(ctx, f, open)
		done <- outcome{store, err}
	}()
	slow := time.NewTimer(Patience)
	defer slow.Stop()
	for {
		select {
		case got := <-done:
			return got.store, got.err, nil
		case <-slow.C:
			f.voice.Say("zonedeck: waiting for %s", path)
		case <-ctx.Done():
			return store, nil, ctx.Err()
		}
	}
}

// Tidy removes what killed processes left and limits the size of the bodies folder, beside the work. Close waits for
// it; the end of ctx ends it.
func (f *Files) Tidy(ctx context.Context) {
	f.tidying.Go(func() {
		p := f.paths
		for _, dir := range []string{p.BodiesDir(), p.DownloadsDir(), p.Data, p.Config, p.State, p.RotationsDir(), p.SecretsDir(), p.RequestsDir(), p.InboxDir()} {
			if err := textfile.Sweep(dir); err != nil {
				f.log.Warn("a temporary file of a killed process stays", "error", err)
			}
		}
		freed, err := config.PruneBodies(ctx, p.BodiesDir(), f.clock.Machine())
		if err != nil && ctx.Err() == nil {
			f.log.Warn("the folder of bodies could not be pruned", "error", err)
		}
		if freed > 0 {
			f.log.Info("old bodies were deleted", "bytes", freed)
		}
	})
}

// Settle waits for what is done beside the work.
func (f *Files) Settle() { f.tidying.Wait() }

// Close closes the stores that were opened, the newest first.
func (f *Files) Close() error {
	f.Settle()
	f.mu.Lock()
	opened := f.opened
	f.opened, f.closed = nil, true
	f.mu.Unlock()
	var errs []error
	for _, store := range slices.Backward(opened) {
		errs = append(errs, store.Close())
	}
	return errors.Join(errs...)
}

// ExpandHome puts the home folder in place of a leading ~.
func ExpandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	return filepath.Join(config.Home(os.Getenv, os.Geteuid()), rest), nil
}
