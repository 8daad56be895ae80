package ledger

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

func TestALedgerFromBeforeTheFirstReleaseIsRefusedByName(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	noerr.Must(t, openTest(t, path).Close())
	db := noerr.Try(sql.Open("sqlite", path)).Must(t)
	noerr.Must(t, noerr.From(db.ExecContext(t.Context(), "PRAGMA user_version = 3")))
	noerr.Must(t, db.Close())
	if _, _, err := Open(t.Context(), path, clock()); !errors.Is(err, database.ErrTooOld) {
		t.Error(err)
	}
}

// Everything readable in a damaged file is carried over.
func TestADamagedLedgerIsCarriedOver(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	for range 2 {
		noerr.Must(t, noerr.From(l.Begin(t.Context(), model.Job{Dataset: "gd_x"}, "d", []byte("asked"), nil)))
	}
	noerr.Must(t, l.Close())
	// Only a page of another table is damaged, not the jobs.
	db := noerr.Try(sql.Open("sqlite", path)).Must(t)
	for _, statement := range []string{"CREATE TABLE extra (a)", "INSERT INTO extra VALUES ('spoil me')"} {
		noerr.Must(t, noerr.From(db.ExecContext(t.Context(), statement)))
	}
	noerr.Must(t, db.Close())
	spoilJob(t, path, "spoil me")
	noerr.Must(t, os.WriteFile(path+".suspect", nil, 0o600))
	l, notice, err := Open(t.Context(), path, clock())
	noerr.Must(t, err)
	defer l.Close()
	list, _, err := l.Jobs(t.Context(), 0)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d jobs, %v; %s", len(list), err, notice)
	}
	if request, err := l.Request(t.Context(), "job-1"); string(request) != "asked" {
		t.Errorf("%q, %v", request, err)
	}
}
