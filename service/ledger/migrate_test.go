package ledger

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

func TestALedgerFromBeforeTheFirstReleaseIsRefusedByName(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := openTest(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 3"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(t.Context(), path, clock()); !errors.Is(err, database.ErrTooOld) {
		t.Error(err)
	}
}

// What can be read of a damaged file is carried over.
func TestADamagedLedgerIsCarriedOver(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	for range 2 {
		if _, err := l.Begin(t.Context(), model.Job{Dataset: "gd_x"}, "d", []byte("asked")); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// The page of another table is damaged, and none of the jobs.
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE TABLE extra (a)", "INSERT INTO extra VALUES ('spoil me')"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	spoilJob(t, path, "spoil me")
	if err := os.WriteFile(path+".suspect", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, notice, err := Open(t.Context(), path, clock())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	list, _, err := l.Jobs(t.Context(), 0)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d jobs, %v; %s", len(list), err, notice)
	}
	if request, err := l.Request(t.Context(), "job-1"); string(request) != "asked" {
		t.Errorf("%q, %v", request, err)
	}
}
