package journal

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"

	"github.com/gofrs/flock"
)

// damagedLedger writes a file whose third job of four cannot be read.
func damagedLedger(t *testing.T, spoil string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := connect(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	columns := strings.Split(jobColumns, ", ")
	typed := strings.NewReplacer("state", "state TEXT").Replace(jobColumns) // the others take a number for a text
	exec("CREATE TABLE jobs (" + typed + ")")
	for n := 1; n <= 4; n++ {
		var args []any
		for i := range columns {
			args = append(args, n*100+i)
		}
		args[0] = n
		exec("INSERT INTO jobs VALUES (?"+strings.Repeat(",?", len(columns)-1)+")", args...)
	}
	exec(spoil)
	return path
}

func TestJobsAreCarriedOverUntilTheDamage(t *testing.T) {
	for name, c := range map[string]struct {
		spoil string
		want  []string
	}{
		"a column":             {"UPDATE jobs SET created='oops' WHERE n=3", []string{"job-2", "job-1"}},
		"a number":             {"UPDATE jobs SET n=-3 WHERE n=3", nil},
		"nothing":              {"UPDATE jobs SET n=3 WHERE n=3", []string{"job-4", "job-3", "job-2", "job-1"}},
		"a job that is double": {"UPDATE jobs SET n=2 WHERE n=3", []string{"job-4", "job-2", "job-1"}},
		"the table":            {"DROP TABLE jobs", nil},
	} {
		old := damagedLedger(t, c.spoil)
		j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
		if carried := j.salvage(t.Context(), old); carried != len(c.want) {
			t.Errorf("%s is damaged: %d jobs were carried over", name, carried)
		}
		list, err := j.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, job := range list {
			ids = append(ids, job.ID)
			whole, err := j.Job(t.Context(), job.ID)
			if err != nil || len(whole.Steps) != 1 || whole.Steps[0].Text != "carried over from a damaged journal" || whole.Steps[0].State != job.State {
				t.Errorf("%s is damaged: %+v, %v", name, whole, err)
			}
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("%s is damaged: carried over %q, want %q", name, ids, c.want)
		}
	}
}

func TestAJobWhoseStepFailsIsNotCarriedOver(t *testing.T) {
	old := damagedLedger(t, "DELETE FROM jobs WHERE n>1")
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	end := sabotage(t, j, "INSERT ON job_steps")
	if carried := j.salvage(t.Context(), old); carried != 0 {
		t.Errorf("%d jobs were carried over", carried)
	}
	end()
	if list, err := j.Jobs(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestOnlyDamageIsReplaced(t *testing.T) {
	at := func(t *testing.T, name string, raw string) string {
		path := filepath.Join(t.TempDir(), name)
		if raw != "" {
			write(t, path, []byte(raw))
		}
		return path
	}
	const garbage = "not a database, but long enough to be looked at as one"
	t.Run("another process was quicker", func(t *testing.T) {
		path := at(t, "journal.db", "")
		fill(t, path)
		j, notice, err := replace(t.Context(), path, clock(), quick())
		if err != nil || notice != (Notice{}) {
			t.Fatalf("%+v, %v", notice, err)
		}
		defer j.Close()
		if list, err := j.Jobs(t.Context()); err != nil || len(list) != 3 {
			t.Errorf("%d jobs, %v", len(list), err)
		}
		if info, err := os.Stat(path + ".lock"); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
			t.Errorf("the lock: %v, %v", info, err)
		}
		lock := flock.New(path + ".lock")
		if free, err := lock.TryLock(); err != nil || !free {
			t.Errorf("the lock is still held: %v, %v", free, err)
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	})
	fails := func(t *testing.T, path string, want error) {
		t.Helper()
		j, notice, err := replace(t.Context(), path, clock(), quick())
		if j != nil || notice != (Notice{}) || err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%v, %+v, %v; want %v", j, notice, err, want)
		}
	}
	t.Run("a later version", func(t *testing.T) {
		path := at(t, "journal.db", "")
		j := openTest(t, path)
		if _, err := j.w.ExecContext(t.Context(), "PRAGMA user_version=99"); err != nil {
			t.Fatal(err)
		}
		fails(t, path, ErrTooNew)
	})
	t.Run("the lock is held", func(t *testing.T) {
		path := at(t, "journal.db", garbage)
		lock := flock.New(path + ".lock")
		if held, err := lock.TryLock(); err != nil || !held {
			t.Fatal(held, err)
		}
		defer lock.Close()
		fails(t, path, context.DeadlineExceeded)
		if b := read(t, path); string(b) != garbage {
			t.Errorf("the file became %q", b)
		}
	})
	t.Run("a folder", func(t *testing.T) {
		path := at(t, "journal.db", "")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		fails(t, path, nil)
	})
	t.Run("it cannot be set aside", func(t *testing.T) {
		fails(t, at(t, strings.Repeat("j", 240), strings.Repeat(garbage, 100)), nil)
	})
}

func TestACommitThatFailsIsAnErrorAndTheNextOneWorks(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	if _, err := j.w.ExecContext(t.Context(), "PRAGMA foreign_keys=ON"); err != nil {
		t.Fatal(err)
	}
	err := j.write(t.Context(), full, "a step without a job", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "PRAGMA defer_foreign_keys=ON"); err != nil {
			t.Fatal(err)
		}
		if err := insertStep(ctx, tx, 99, model.JobStep{}); err != nil {
			t.Fatal(err)
		}
		return nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "a step without a job: ") {
		t.Errorf("the commit: %v", err)
	}
	var steps int
	if err := j.r.QueryRowContext(t.Context(), "SELECT count(*) FROM job_steps").Scan(&steps); err != nil || steps != 0 {
		t.Errorf("%d steps, %v", steps, err)
	}
	if _, err := j.BeginJob(t.Context(), model.Job{}, ""); err != nil {
		t.Errorf("the next transaction: %v", err)
	}
}
