package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"zonedeck/model"
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

func TestTheRowsOfAResultAreSeenOnce(t *testing.T) {
	for _, fault := range []error{nil, errors.New("the disk is full")} {
		cl, _ := script(t, text(200, "{\"a\":1}\n{\"error\":\"dead\"}\n"))
		history, _ := servicetest.Journal(t)
		seen := &seenRows{err: fault}
		cl.cfg.Journal = history
		cl.cfg.Coverage = func(job model.Job) Coverage {
			seen.job = job
			return seen
		}
		accepted(t, cl)
		if _, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir()}, nil); err != nil {
			t.Fatal(err)
		}
		if seen.rows != 2 || seen.job.ID != "job-1" || !seen.counted.Counted || seen.counted.Useful != 1 {
			t.Errorf("%+v", seen)
		}
		lines, err := history.Activity(t.Context(), model.ActivityFilter{Kind: model.ActivityJob, Class: model.ClassParsingDrift})
		if err != nil || len(lines) != 1 || lines[0].Ref != "job-1" || !strings.Contains(lines[0].Text, "drift in gd_1: price") {
			t.Errorf("%+v, %v", lines, err)
		}
	}
}

func TestAResultThatFailedIsNotSeen(t *testing.T) {
	cl, _ := script(t, text(400, "Snapshot is expired"))
	cl.cfg.Coverage = func(model.Job) Coverage {
		t.Error("its rows are seen")
		return &seenRows{}
	}
	accepted(t, cl)
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir()}, nil); err == nil {
		t.Error("there is no result")
	}
}
