package files

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/work"
)

// server is an address of a database.
type server string

func (server) OnServer() bool                             { return true }
func (s server) Database(context.Context) (string, error) { return string(s), nil }

func TestMachinesOnOneDatabaseShareJobsTheirQueueAndWebhooks(t *testing.T) {
	at := server(postgrestest.Address(t, t.TempDir()))
	open := func(dir string) *Files {
		f := New(config.Paths{Config: dir, Data: dir, State: dir, Cache: dir}, machine{}, &lines{}, at, slog.New(slog.DiscardHandler))
		t.Cleanup(func() { noerr.Want(t, f.Close()) })
		return f
	}
	home := t.TempDir()
	a, b := open(home), open(t.TempDir())
	names := map[string]bool{}
	for _, f := range []*Files{a, b, open(home)} {
		names[noerr.Try(f.machine(t.Context())).Must(t)] = true
	}
	if len(names) != 2 {
		t.Errorf("two machines have the names %v", names)
	}
	l, fault, err := a.Ledger(t.Context())
	noerr.Must(t, errors.Join(fault, err))
	job := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "p", Dataset: "d"}, "", nil, nil)).Must(t)
	noerr.Must(t, noerr.Try(a.Work(t.Context())).Must(t).Put(t.Context(), work.Item{Lane: "ask/p", Key: job.ID}))
	if items, err := noerr.Try(b.Work(t.Context())).Must(t).Items(t.Context(), "ask/p"); err != nil || len(items) != 1 {
		t.Errorf("the other's queue has %+v, %v", items, err)
	}
	if jobs, err := b.WebhookJobs(t.Context(), []string{job.ID}); err != nil || jobs[job.ID].Dataset != "d" {
		t.Errorf("the other's ledger has %+v, %v", jobs, err)
	}
	if n, err := noerr.Try(b.Inbox(t.Context())).Must(t).Count(t.Context()); err != nil || n != 0 {
		t.Errorf("%d webhooks, %v", n, err)
	}
}
