package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// Statements have to avoid these differences between SQLite and PostgreSQL (see database/postgrestest).

// changed begins a job and copies j to it.
func changed(t *testing.T, l *Ledger, j model.Job, request string) string {
	t.Helper()
	job, err := l.Begin(t.Context(), j, "", []byte(request), nil)
	if err == nil {
		_, err = l.Change(t.Context(), job.ID, func(row *model.Job) (string, error) {
			id, steps := row.ID, row.Steps
			*row = j
			row.ID, row.Steps, row.Created, row.Updated = id, steps, job.Created, job.Updated
			return "", nil
		})
	}
	noerr.Must(t, err)
	return job.ID
}

func ids(list []model.Job) (out []string) {
	for _, job := range list {
		out = append(out, job.ID)
	}
	return out
}

// A server may sort by its locale.
func TestProfilesThatOweAreSortedByTheirBytes(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	for _, profile := range []string{"b", "Zoo", "ab", "a-c", "é", "B", "a"} {
		changed(t, l, model.Job{Profile: profile, State: model.JobRunning}, "")
	}
	got, err := l.Owing(t.Context(), testTime)
	if want := []string{"B", "Zoo", "a", "a-c", "ab", "b", "é"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// A service's numbers may exceed the 32 bits of PostgreSQL's INTEGER.
func TestLargeNumbersAreKept(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	const large = 5_000_000_000
	id := changed(t, l, model.Job{State: model.JobRunning, Inputs: large, Done: large + 1, Records: large + 2, Bytes: large + 3}, "")
	if job, err := l.Job(t.Context(), id); err != nil || job.Inputs != large || job.Done != large+1 || job.Records != large+2 || job.Bytes != large+3 {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAJobOfANumberThatNoneCanHaveIsNotThere(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	for _, id := range []string{"job-2147483647", "job-2147483648", "job-9223372036854775807"} {
		if _, err := l.Job(t.Context(), id); !errors.Is(err, database.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
		if _, err := l.Request(t.Context(), id); !errors.Is(err, database.ErrNotFound) {
			t.Errorf("what %s asked for: %v", id, err)
		}
		if jobs, err := l.WebhookJobs(t.Context(), []string{id}); err != nil && !errors.Is(err, database.ErrNotFound) || len(jobs) > 0 {
			t.Errorf("%s of a webhook: %v, %v", id, jobs, err)
		}
	}
}

func TestJobsThatWaitForAWebhook(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	now := testTime.Add(time.Hour)
	due := changed(t, l, model.Job{Profile: "p", State: model.JobMayHave, WebhookToken: "Token", WebhookDue: now}, "")
	changed(t, l, model.Job{Profile: "p", State: model.JobMayHave, WebhookToken: "token", WebhookDue: now.Add(time.Microsecond)}, "")
	changed(t, l, model.Job{Profile: "P", State: model.JobMayHave, WebhookDue: now}, "")
	changed(t, l, model.Job{Profile: "p", State: model.JobRunning, WebhookDue: now}, "")
	if got, err := l.WebhooksDue(t.Context(), "p", now); err != nil || !slices.Equal(ids(got), []string{due}) || !got[0].WebhookDue.Equal(now) || len(got[0].Steps) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if job, err := l.JobOfToken(t.Context(), "Token"); err != nil || job.ID != due {
		t.Errorf("%+v, %v", job, err)
	}
	if _, err := l.JobOfToken(t.Context(), "TOKEN"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("another token: %v", err)
	}
}

func TestResultsWhoseFieldsAreDue(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	due := changed(t, l, model.Job{Profile: "p", State: model.JobReady, Rows: model.JobRows{Counted: true, FieldsDue: true}}, "")
	changed(t, l, model.Job{Profile: "p", State: model.JobReady, Rows: model.JobRows{Counted: true, Problem: `"FieldsDue":true`}}, "")
	changed(t, l, model.Job{Profile: "p", State: model.JobReady, Rows: model.JobRows{Counted: true}}, "")
	if got, err := l.FieldsDue(t.Context(), "p"); err != nil || !slices.Equal(ids(got), []string{due}) {
		t.Errorf("%v, %v", ids(got), err)
	}
}

func TestARequestIsReplacedIfItIsTheOneThatWasRead(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	const bytes = "any \x00 \xff bytes"
	first := changed(t, l, model.Job{State: model.JobRunning}, bytes)
	second := changed(t, l, model.Job{State: model.JobReady}, "x")
	noerr.Must(t, errors.Join(l.ReplaceRequest(t.Context(), first, []byte("other"), []byte("no")), l.ReplaceRequest(t.Context(), second, []byte("x"), []byte("y\x00"))))
	var got []string
	err := l.EachRequest(t.Context(), func(id string, state model.JobState, request []byte) error {
		got = append(got, fmt.Sprintf("%s %s %q", id, state, request))
		return nil
	})
	if want := []string{second + ` ready "y\x00"`, fmt.Sprintf("%s running %q", first, bytes)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// twice runs do at once in two ledgers on the same tables, as on two machines.
func twice(t *testing.T, do func(l *Ledger, i int)) *Ledger {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	first := openTest(t, path)
	changed(t, first, model.Job{State: model.JobMayHave}, "")
	changed(t, first, model.Job{State: model.JobMayHave}, "")
	var both sync.WaitGroup
	for i, l := range []*Ledger{first, openTest(t, path)} {
		both.Go(func() { do(l, i) })
	}
	both.Wait()
	return first
}

func TestNoChangeIsLostToAnother(t *testing.T) {
	const times = 40
	l := twice(t, func(l *Ledger, _ int) {
		for range times {
			noerr.Want(t, noerr.From(l.Change(t.Context(), "job-1", func(job *model.Job) (string, error) {
				job.Done++
				return "", nil
			})))
		}
	})
	if job, err := l.Job(t.Context(), "job-1"); err != nil || job.Done != 2*times {
		t.Errorf("%d of %d changes, %v", job.Done, 2*times, err)
	}
}

func TestTwoThatDoTheSameAtOnceDoItOnce(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	var mu sync.Mutex
	done := map[string]int{}
	did := func(what string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			done[what]++
		}
		if taken, same := (*TakenError)(nil), (*SameError)(nil); err != nil && !errors.As(err, &taken) && !errors.As(err, &same) && !errors.Is(err, ErrSettled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	l := twice(t, func(l *Ledger, i int) {
		_, err := l.Claim(ctx, jobID(int64(i+1)), "sd_1")
		did("claims", err)
		for n := range 20 {
			_, err := l.Adopt(ctx, model.Job{Snapshot: fmt.Sprintf("sd_%d", 100+n)})
			did("adoptions", err)
			_, err = l.Begin(ctx, model.Job{}, fmt.Sprintf("digest %d", n), nil, &model.LaunchGuard{Within: time.Hour})
			did("launches", err)
		}
	})
	if done["claims"] != 1 || done["adoptions"] != 40 || done["launches"] != 20 {
		t.Errorf("%v", done)
	}
	if list, total, err := l.Jobs(t.Context(), 0); err != nil || total != 2+20+20 || list[0].ID != "job-42" {
		t.Errorf("%d jobs, the last %v, %v", total, list[0].ID, err)
	}
}

// Each command opens the ledger for itself. Most of what it finds different from the log is another one at work.
func TestFourWritersAndFourReadersHearOfNoRepair(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	noerr.Must(t, openTest(t, path).Close())
	const times = 12
	command := func(do func(l *Ledger) error) {
		l, notice, err := Open(t.Context(), path, time.Now)
		if err != nil || notice != "" {
			t.Errorf("%q, %v", notice, err)
			return
		}
		noerr.Want(t, errors.Join(do(l), l.Close()))
	}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range times {
				command(func(l *Ledger) error {
					snapshot := fmt.Sprintf("sd_%d_%d", w, i)
					if i%3 == 0 {
						return noerr.From(l.Adopt(t.Context(), model.Job{Snapshot: snapshot}))
					}
					job, err := l.Begin(t.Context(), model.Job{Dataset: "gd_x"}, "", nil, nil)
					if err == nil {
						_, err = l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) { job.State = model.JobSending; return "", nil })
					}
					if err == nil {
						err = l.Accepted(job.ID, model.JobNames{Snapshot: snapshot})
					}
					if err == nil {
						_, err = l.Change(t.Context(), job.ID, acceptAs(snapshot))
					}
					return err
				})
			}
		})
		all.Go(func() {
			for range 2 * times {
				command(func(l *Ledger) error { return noerr.From(l.InFlight(t.Context())) })
			}
		})
	}
	all.Wait()
	lines := map[string]int{}
	for line := range bytes.Lines(noerr.Try(os.ReadFile(logPath(path))).Must(t)) {
		lines[string(line)]++
	}
	if len(lines) != 2*4*times {
		t.Errorf("%d lines", len(lines))
	}
	for line, n := range lines {
		if n > 1 {
			t.Errorf("%d times: %s", n, line)
		}
	}
}
