package ledger

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// firstSchema makes a ledger as the first version left it, with two jobs.
func firstSchema(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"PRAGMA journal_mode=WAL", migrations[0],
		"UPDATE marks SET number = 2",
		"INSERT INTO jobs (" + firstColumns + `, digest, owner) VALUES
			(1, 'sd_1', 'p', 'gd_x', 'k', 'ready', 'ready', 0, '', 3, 3, 3, 17, '/tmp/x.json', 1000000, 2000000, 3000000, '', 'd1', ''),
			(2, '', 'p', 'gd_y', 'k', 'may_have', '', 0, 'broke', 1, -1, -1, 0, '', 4000000, 0, 5000000, '', 'd2', '')`,
		"INSERT INTO job_steps (job, seq, at, state, text) VALUES (1, 1, 1000000, 'ready', 'a step')",
		"PRAGMA user_version = 1",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestALedgerOfTheFirstSchemaIsReadAndGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	firstSchema(t, path)
	l, notice, err := Open(t.Context(), path, clock())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_ = notice // it had no log, which is told
	old, err := l.Job(t.Context(), "job-1")
	if err != nil || old.State != model.JobReady || old.Bytes != 17 || old.SHA256 != "" || old.Rows.Counted || old.Repeats != "" || len(old.Steps) != 1 {
		t.Errorf("%+v, %v", old, err)
	}
	if _, err := l.Request(t.Context(), "job-1"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("a request that it never had: %v", err)
	}
	job, err := l.Begin(t.Context(), model.Job{Dataset: "gd_x", Repeats: "job-1"}, "d1", []byte("asked\x00for"))
	if err != nil || job.ID != "job-3" {
		t.Fatalf("%+v, %v", job, err)
	}
	rows := model.JobRows{
		Counted: true, Returned: 5, Useful: 3, Empty: 1, Billed: 4,
		Errors: []model.JobRowErrors{{Code: "dead_page", Class: model.ClassOutside, Cause: model.CauseTargetError, Rows: 1, Text: "404"}},
	}
	if _, err := l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
		job.State, job.SHA256, job.Rows = model.JobDownloaded, "abc", rows
		return "", nil
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Job(t.Context(), job.ID); err != nil || got.SHA256 != "abc" || got.Repeats != "job-1" || !reflect.DeepEqual(got.Rows, rows) {
		t.Errorf("%+v, %v", got, err)
	}
	if request, err := l.Request(t.Context(), job.ID); err != nil || string(request) != "asked\x00for" {
		t.Errorf("%q, %v", request, err)
	}
}

// A damaged file may be of either schema, and what can be read of it is carried over.
func TestADamagedLedgerOfEitherSchemaIsCarriedOver(t *testing.T) {
	postgrestest.OnFile(t)
	for name, fill := range map[string]func(path string){
		"the first": func(path string) { firstSchema(t, path) },
		"this one": func(path string) {
			l := openTest(t, path)
			for range 2 {
				if _, err := l.Begin(t.Context(), model.Job{Dataset: "gd_x"}, "d", []byte("asked")); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			fill(path)
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
			request, err := l.Request(t.Context(), "job-1")
			if name == "this one" && string(request) != "asked" || name != "this one" && !errors.Is(err, database.ErrNotFound) {
				t.Errorf("%q, %v", request, err)
			}
		})
	}
}
