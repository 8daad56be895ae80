package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database/postgrestest"
)

func TestACallerWhoLeftBeforeTheirTurnWritesNothing(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if job, err := l.Begin(ended, model.Job{}, "", nil, nil); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "writing down the intent: ") || job.ID != "" {
		t.Errorf("%+v, %v", job, err)
	}
	if jobs, _, err := l.Jobs(t.Context(), 0); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

func TestALedgerWithoutAPlaceForItsOwnerBeginsNoJob(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	noerr.Must(t, os.WriteFile(l.ownersDir(), nil, 0o600))
	if job, err := l.Begin(t.Context(), model.Job{}, "", nil, nil); err == nil || !strings.HasPrefix(err.Error(), "writing down the intent: ") || job.ID != "" {
		t.Errorf("%+v, %v", job, err)
	}
	if jobs, _, err := l.Jobs(t.Context(), 0); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

func TestAnOwnersNameLeadsNowhereElse(t *testing.T) {
	postgrestest.OnFile(t)
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	noerr.Must(t, noerr.From(l.Begin(t.Context(), model.Job{}, "", nil, nil)))
	for token, want := range map[string]bool{"": false, "../ledger.db": false, "../x": false, "nobody": false, l.owner.Name(): true} {
		if got := l.ownerAlive(token, time.Time{}); got != want {
			t.Errorf("%q alive: %v", token, got)
		}
	}
	for _, path := range []string{l.Path(), l.ownersDir()} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it is gone: %v", err)
		}
	}
}

func TestASettlementThatFailsIsAnError(t *testing.T) {
	postgrestest.OnFile(t)
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	var ids []string
	for range 2 {
		job := noerr.Try(l.Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
		ids = append(ids, job.ID)
	}
	l.releaseOwner()
	end := sabotage(t, l, "UPDATE ON jobs WHEN NEW.n = 2")
	if settled, err := l.Recover(t.Context()); err == nil || len(settled) != 1 || settled[0].ID != ids[0] {
		t.Errorf("settled %+v, %v", settled, err)
	}
	end()
	if settled, err := l.Recover(t.Context()); err != nil || len(settled) != 1 || settled[0].ID != ids[1] || settled[0].State != model.JobNotSent {
		t.Errorf("settled %+v, %v", settled, err)
	}
	noerr.Must(t, noerr.From(raw(t, l.Path()).ExecContext(t.Context(), "ALTER TABLE jobs RENAME TO gone")))
	if settled, err := l.Recover(t.Context()); err == nil || settled != nil {
		t.Errorf("a ledger that cannot be read: %+v, %v", settled, err)
	}
}
