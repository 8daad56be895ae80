package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/journal"
	"zonedeck/service/rows"
	"zonedeck/service/servicetest"
)

// seenRows is a Coverage that remembers.
type seenRows struct {
	rows    int
	job     model.Job
	counted model.JobRows
	err     error
}

func (s *seenRows) Row(rows.Row) { s.rows++ }

func (s *seenRows) Keep(_ context.Context, counted model.JobRows) (string, error) {
	s.counted = counted
	return "drift in gd_1: price", s.err
}

// due has a downloaded result whose fields are due, and what they will be shown to.
func due(t *testing.T, answer http.HandlerFunc) (*Runner, model.Job, *seenRows) {
	t.Helper()
	cl, _ := script(t, answer)
	history, _ := servicetest.Journal(t)
	seen := &seenRows{}
	cl.cfg.Journal = history
	cl.cfg.Coverages = coverages(func(job model.Job) Coverage {
		seen.job = job
		return seen
	})
	accepted(t, cl)
	job, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir()}, nil)
	if err != nil || !job.Rows.FieldsDue || seen.rows != 0 {
		t.Fatalf("%+v, %v, %+v", job.Rows, err, seen)
	}
	return cl, job, seen
}

// drifts are the lines of the timeline that tell of drift.
func drifts(t *testing.T, cl *Runner) []model.Activity {
	t.Helper()
	lines, err := cl.cfg.Journal.(*journal.Journal).Activity(t.Context(), model.ActivityFilter{Kind: model.ActivityJob, Class: model.ClassParsingDrift})
	noerr.Must(t, err)
	return lines
}

// The fields of a result are looked at after its download, once, whatever was killed or full in
// between.
func TestTheFieldsOfAResultAreSeenOnce(t *testing.T) {
	cl, _, seen := due(t, text(200, "{\"a\":1}\n{\"error\":\"dead\"}\n"))
	seen.err = errors.New("the disk is full")
	if err := cl.SeeFields(t.Context(), "job-1", nil); !errors.Is(err, seen.err) || len(drifts(t, cl)) != 0 {
		t.Errorf("%v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := cl.SeeFields(stopped, "job-1", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if list, err := cl.cfg.Ledger.FieldsDue(t.Context(), seen.job.Profile); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, see := range []func() error{
		func() error { return cl.SeeDue(t.Context()) },
		func() error { return cl.SeeFields(t.Context(), "job-1", nil) },
	} {
		*seen = seenRows{job: seen.job}
		noerr.Must(t, see())
		if lines := drifts(t, cl); len(lines) != 1 || lines[0].Ref != "job-1" || !strings.Contains(lines[0].Text, "drift in gd_1: price") {
			t.Errorf("%+v", lines)
		}
		if list, err := cl.cfg.Ledger.FieldsDue(t.Context(), seen.job.Profile); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if err := cl.SeeDue(t.Context()); err != nil || seen.rows != 0 {
		t.Errorf("the second look saw %d rows", seen.rows)
	}
}

func TestTheFieldsOfAFileThatHasChangedAreNotSeen(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"it is gone":             os.Remove,
		"another size":           func(file string) error { return os.WriteFile(file, []byte("[]"), 0o600) },
		"the same size":          func(file string) error { return os.WriteFile(file, []byte("[{\"b\":2}]"), 0o600) },
		"the same size, no JSON": func(file string) error { return os.WriteFile(file, []byte("[{\"b\":2}}"), 0o600) },
	} {
		cl, job, seen := due(t, text(200, "{\"a\":1}\n"))
		noerr.Must(t, change(job.File))
		if err := cl.SeeFields(t.Context(), "job-1", nil); err != nil || seen.counted.Counted || len(drifts(t, cl)) != 0 {
			t.Errorf("%s: %v, %+v", name, err, seen)
		}
		job, err := cl.Job(t.Context(), "job-1")
		if err != nil || job.Rows.FieldsDue || !job.Rows.Counted || !strings.Contains(job.Steps[len(job.Steps)-1].Text, "were not looked at") {
			t.Errorf("%s: %+v, %v", name, job, err)
		}
	}
}

// Whoever follows jobs looks at what is due, and at what is downloaded meanwhile.
func TestWhoFollowsLooksAtTheFieldsThatAreDue(t *testing.T) {
	var n atomic.Int32
	cl, _, _ := due(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "{\"a\":%d}\n", n.Add(1)) // of what is the same the fields may be known already
	})
	p, _, err := exchange.Current(t.Context(), cl.cfg.Source)
	noerr.Must(t, err)
	kept := make(chan struct{}, 2)
	cl.cfg.Coverages = coverages(func(model.Job) Coverage { return keptRows{kept} })
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	end := cl.seeDue(ctx, p.Name)
	defer stop()
	defer end()
	for _, when := range []string{"what was due", "what is downloaded"} {
		select {
		case <-kept:
		case <-ctx.Done():
			t.Fatal("nobody looked at " + when)
		}
		noerr.Must(t, noerr.From(cl.Download(ctx, "job-1", Destination{File: t.TempDir()}, nil)))
	}
}

// keptRows is a Coverage that tells that it was kept.
type keptRows struct{ kept chan<- struct{} }

func (keptRows) Row(rows.Row) {}

func (k keptRows) Keep(context.Context, model.JobRows) (string, error) {
	k.kept <- struct{}{}
	return "", nil
}

func TestAResultThatFailedIsNotSeen(t *testing.T) {
	cl, _ := script(t, text(400, "Snapshot is expired"))
	cl.cfg.Coverages = coverages(func(model.Job) Coverage {
		t.Error("its rows are seen")
		return &seenRows{}
	})
	accepted(t, cl)
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir()}, nil); err == nil {
		t.Error("there is no result")
	}
}
