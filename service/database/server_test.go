package database_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

func TestWhatIsNoAddressOfAServerIsRefusedWithoutRepeatingIt(t *testing.T) {
	for _, address := range []string{"", "host=db password=hunter2secret", "mysql://u:hunter2secret@db/x", "postgres://u:hunter2secret@db:port/x"} {
		_, err := database.OpenServer(t.Context(), address)
		if !errors.Is(err, database.ErrAddress) || strings.Contains(err.Error(), "hunter2secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestAServerThatIsGoneIsAClearError(t *testing.T) {
	_, err := database.OpenServer(t.Context(), "postgres://u:hunter2secret@127.0.0.1:1/x?sslmode=disable")
	if !errors.Is(err, database.ErrGone) || !strings.HasPrefix(err.Error(), "opening the database x of 127.0.0.1:1: the database cannot be reached: ") || strings.Contains(err.Error(), "hunter2secret") {
		t.Errorf("%v", err)
	}
}

func TestAnAddressWithAPasswordIsKnown(t *testing.T) {
	for address, want := range map[string]bool{
		"postgres://u@db/x": false, "postgres://u:p@db/x": true, "postgres://u@db/x?password=p": true, "postgres://db/x?sslmode=verify-full": false,
	} {
		if got := database.HoldsPassword(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func TestTheTablesOfAServerAreMadeOnceAndNewerOnesRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	s := postgrestest.Server(t, path)
	first := []string{"CREATE TABLE lines (n BIGINT)"}
	second := append(first, "ALTER TABLE lines ADD COLUMN text TEXT")
	for range 2 {
		noerr.Must(t, s.Migrate(t.Context(), "lines", first))
		noerr.Must(t, s.Migrate(t.Context(), "lines", second[:1]))
	}
	noerr.Must(t, s.Migrate(t.Context(), "lines", second))
	err := s.Migrate(t.Context(), "lines", first)
	if err == nil || !strings.HasSuffix(err.Error(), ": the lines tables have schema 2, and this program knows up to 1: use a later version") {
		t.Errorf("%v", err)
	}
}

func TestWhatAServerRefusesIsSaid(t *testing.T) {
	s := postgrestest.Server(t, filepath.Join(t.TempDir(), "x"))
	raise := func(code string) error {
		_, err := s.Pool.Exec(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'so it is' USING ERRCODE = '"+code+"'; END $$")
		return s.Fault("writing", err)
	}
	for code, want := range map[string]struct {
		text string
		kind error
	}{
		"25006": {"the database is read-only: name the primary server", database.ErrReadOnly},
		"42501": {"the role of the database has no right to this (docs/scale.md lists what it needs)", database.ErrReadOnly},
		"53100": {"the disk of the database is full", database.ErrFull},
		"55P03": {"another process keeps a row of the database locked", database.ErrLocked},
		"53300": {"the server has no connection left: raise max_connections, or run fewer workers", database.ErrGone},
		"57P01": {"the server ended the connection", database.ErrGone},
		"28P01": {"the server refuses the login", database.ErrGone},
	} {
		if err := raise(code); !errors.Is(err, want.kind) || err.Error() != "writing: "+want.text+" (so it is)" {
			t.Errorf("%s: %v", code, err)
		}
	}
	if err := raise("22012"); errors.Is(err, database.ErrGone) {
		t.Errorf("a fault of a statement: %v", err)
	}
}

func TestOfAServerThatCannotBeReachedOneAddressIsNamedOnce(t *testing.T) {
	_, err := database.OpenServer(t.Context(), "postgres://u@localhost:1/x?sslmode=prefer")
	if err == nil || strings.Count(err.Error(), "connection refused") != 1 || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
