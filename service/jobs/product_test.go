package jobs

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// queried is a job of a product for one query.
func queried(product, query string) model.TriggerRequest {
	return model.TriggerRequest{Dataset: product, Inputs: []model.JobInput{{Extra: map[string]string{"query": strconv.Quote(query)}}}}
}

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

func TestAPreviewShowsColumnsAndASampleAndLaunchesNothing(t *testing.T) {
	rn := onEmulator(t)
	r := model.TriggerRequest{Dataset: "deep_lookup", Inputs: []model.JobInput{{Extra: map[string]string{"query": `"espresso machine price"`}}}}
	got, err := rn.PreviewJob(t.Context(), r)
	if err != nil || len(got.Rows) == 0 || len(got.Columns) != 4 || got.Columns[0].Name != "name" || got.Columns[3].Name != "price" {
		t.Fatalf("%+v, %v", got, err)
	}
	if words, ok := dialect.WordsOfColumns(got.Columns); !ok || !strings.HasPrefix(words, "name: ") {
		t.Errorf("%q, %t", words, ok)
	}
	if _, total, err := rn.Jobs(t.Context(), 0); total != 0 || err != nil {
		t.Errorf("%d jobs, %v", total, err)
	}
	r.MaxCost = 1
	if _, err := rn.PreviewJob(t.Context(), r); !errors.Is(err, errCost) {
		t.Errorf("a preview under a cap: %v", err)
	}
	r.MaxCost, r.Dataset = 0, "discover"
	if _, err := rn.PreviewJob(t.Context(), r); !errors.Is(err, model.ErrRequest) {
		t.Errorf("a product without previews: %v", err)
	}
}

// TestAProductsJobIsNeverDoubled answers the one POST in every way: what may have started is said
// so, and no list is asked for that has no such jobs.
func TestAProductsJobIsNeverDoubled(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   model.JobState
	}{
		"accepted":      {text(200, `{"status":"ok","task_id":"t-1"}`), model.JobAccepted},
		"no identifier": {text(200, `{"status":"ok"}`), model.JobMayHave},
		"a path":        {text(200, `{"task_id":"../zone"}`), model.JobMayHave},
		"broken off":    {breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"task"), model.JobMayHave},
		"refused":       {text(400, `{"error":"Request validation failed","error_code":"validation","details":[]}`), model.JobRefused},
		"too fast":      {text(429, `{"error":"Too many tasks are waiting"}`), model.JobRefused},
		"a gateway":     {text(502, `<html>`), model.JobMayHave},
	} {
		rn, asked := script(t, c.answer)
		rn.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
			t.Error("the list of data sets was asked for")
			return nil, 0, nil
		})
		job, err := rn.Trigger(t.Context(), queried("discover", "a"))
		if err != nil || job.State != c.want || asked.Load() != 1 {
			t.Errorf("%s: %+v, %v after %d calls", name, job, err, asked.Load())
		}
		if job.State != model.JobMayHave {
			continue
		}
		if _, err := rn.Settler().Candidates(t.Context(), job.ID); !errors.Is(err, errNoList) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The rows of a product's job name no input, so that they say nothing against it.
func TestAProductsJobIsTakenByTheIdentifierThatAPersonGives(t *testing.T) {
	for answer, want := range map[string]model.JobState{
		`{"status":"processing"}`: model.JobRunning,
		`{"status":"done","results":[{"title":"x","link":"http://lab.test/1"}]}`: model.JobReady,
	} {
		t.Run(string(want), func(t *testing.T) { takenByItsIdentifier(t, answer, want) })
	}
}

func takenByItsIdentifier(t *testing.T, answer string, want model.JobState) {
	t.Helper()
	rn, asked := script(t, text(502, `<html>`), text(200, answer))
	rn.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
		t.Error("the list of data sets was asked for")
		return nil, 0, nil
	})
	job, err := rn.Trigger(t.Context(), queried("discover", "a"))
	if err != nil || job.State != model.JobMayHave {
		t.Fatalf("%+v, %v", job, err)
	}
	if job, err = rn.Settler().Claim(t.Context(), job.ID, "t-1", false); err != nil || job.State != want || job.Snapshot != "t-1" || asked.Load() != 2 {
		t.Fatalf("%+v, %v after %d calls", job, err, asked.Load())
	}
	if i := slices.IndexFunc(job.Steps, func(s model.JobStep) bool { return s.Text == "snapshot t-1, which the service answered for" }); i < 0 {
		t.Errorf("%+v", job.Steps)
	}
}

func TestAQuestionForAProductsStateThatIsCutIsIncomplete(t *testing.T) {
	rn, _ := script(t, breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"status\":\"proc"))
	_, err := rn.Adopt(t.Context(), "t-1", "discover")
	var call *exchange.CallError
	if !errors.As(err, &call) || call.Diagnosis.Cause != model.CauseIncomplete || call.Text != "the answer broke off after 15 bytes: unexpected EOF" {
		t.Errorf("%+v, %v", call, err)
	}
}

func TestAResultOfAProductThatIsNotWholeIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string // of the error, "" for none
	}{
		"nothing found":  {text(200, `{"status":"done","results":[]}`), ""},
		"not ready":      {text(200, `{"status":"processing"}`), "not ready"},
		"failed":         {text(200, `{"status":"failed","error":"no luck"}`), "has no result: failed: no luck"},
		"no status":      {text(200, `{"results":[{"link":"x"}]}`), "has no status"},
		"another shape":  {text(200, `{"results":{},"status":"done"}`), `"results" is not an array`},
		"a page":         {text(200, `<html>`), "is not an object with rows"},
		"cut":            {text(200, `{"status":"done","results":[{"link":"x"}`), "broke off"},
		"gone elsewhere": {text(404, `{"error":"Task not found"}`), "Task not found"},
	} {
		rn, _ := script(t, text(200, `{"task_id":"t-1"}`), c.answer)
		job := noerr.Try(rn.Trigger(t.Context(), queried("discover", "a"))).Must(t)
		file := filepath.Join(t.TempDir(), "out.ndjson")
		job, err := rn.Download(t.Context(), job.ID, Destination{File: file}, nil)
		if c.want == "" {
			if err != nil || job.State != model.JobDownloaded || !job.Rows.Counted || job.Rows.Returned != 0 || job.Bytes != 0 {
				t.Errorf("%s: %+v, %v", name, job, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s left a file: %v", name, err)
		}
	}
}

func TestWhatIsNotKnownToBeCancelledIsNotTried(t *testing.T) {
	rn, asked := script(t, text(200, `{"task_id":"t-1"}`))
	job := noerr.Try(rn.Trigger(t.Context(), queried("discover", "a"))).Must(t)
	if _, err := rn.CancelJob(t.Context(), job.ID); !errors.Is(err, dialect.ErrNotShown) || asked.Load() != 1 {
		t.Errorf("%v after %d calls", err, asked.Load())
	}
}

func TestWhatAResultSaysItCostGoesBeforeTheRate(t *testing.T) {
	rn, _ := script(t, text(200, `{"request_id":"r-1"}`), text(200, `{"status":"completed","data":[{"name":"a"},{"name":"b"}],"total_cost":"$73.00"}`))
	job, err := rn.Trigger(t.Context(), queried("deep_lookup", "a"))
	if err == nil {
		job, err = rn.Download(t.Context(), job.ID, Destination{File: filepath.Join(t.TempDir(), "out.json")}, nil)
	}
	if err != nil || job.Rows.Billed != 2 || job.Rows.Cost != 73 || !job.Rows.Priced {
		t.Errorf("%+v, %v", job.Rows, err)
	}
	if spent := rn.cfg.Wire.Spent(); spent != (model.Spend{Dollars: 73, Priced: 1}) {
		t.Errorf("spent with this wire: %+v", spent)
	}
	_, err = rn.Download(t.Context(), job.ID, Destination{File: filepath.Join(t.TempDir(), "again.json")}, nil)
	if spent := rn.cfg.Wire.Spent(); err != nil || spent.Dollars != 73 {
		t.Errorf("after the same result once more: %+v, %v", spent, err)
	}
}
