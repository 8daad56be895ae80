package jobs

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

// launchedOn launches a job, and follows it until it is over.
func launchedOn(t *testing.T, rn *Runner, r model.TriggerRequest) model.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job, err := rn.Trigger(ctx, r)
	if err != nil || job.State != model.JobAccepted || job.Snapshot == "" {
		t.Fatalf("%+v, %v", job, err)
	}
	if job, err = rn.Watch(ctx, job.ID, func(model.Job) {}); err != nil {
		t.Fatal(err)
	}
	return job
}

func TestADiscoveryOnTheEmulator(t *testing.T) {
	rn := onEmulator(t)
	job := launchedOn(t, rn, model.TriggerRequest{Dataset: "discover", Inputs: []model.JobInput{{Extra: map[string]string{"query": `"espresso machine"`, "num_results": "3"}}}})
	if job.State != model.JobReady || job.Wire != "done" || job.Records < 1 || job.Records > 3 {
		t.Fatalf("%+v", job)
	}
	job, err := rn.Download(t.Context(), job.ID, Destination{Format: "ndjson"}, nil)
	if err != nil || job.Rows.Returned != job.Records || job.Rows.Useful != job.Records || job.Rows.Billed != -1 || job.Rows.Priced {
		t.Fatalf("%+v, %v", job, err)
	}
	text, err := os.ReadFile(job.File)
	if err != nil || strings.Count(string(text), "\n") != job.Records || !strings.HasPrefix(string(text), `{"link":"http`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestADeepLookupOnTheEmulator(t *testing.T) {
	rn := onEmulator(t)
	job := launchedOn(t, rn, model.TriggerRequest{
		Dataset: "deep_lookup", Settings: model.JobSettings{LimitTotal: 2},
		Inputs: []model.JobInput{{Extra: map[string]string{"query": `"espresso machine price"`, "columns": `"name; price: in dollars"`}}},
	})
	if job.State != model.JobReady || job.Wire != "completed" || job.Records < 1 || job.Records > 2 {
		t.Fatalf("%+v", job)
	}
	job, err := rn.Download(t.Context(), job.ID, Destination{Format: "csv"}, nil)
	if err != nil || job.Rows.Returned != job.Records || job.Rows.Billed != job.Records {
		t.Fatalf("%+v, %v", job, err)
	}
	table, err := rn.Records(t.Context(), job.ID, 10)
	if err != nil || table.Total != job.Records || table.Columns[0].Name != "name" {
		t.Errorf("%+v, %v", table, err)
	}
}
