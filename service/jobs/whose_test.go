package jobs

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// Another machine launches a job with as many inputs at the same time: the rows say whose it is.
func TestAJobIsFoundByTheInputsThatItsRowsName(t *testing.T) {
	row := func(url string) string { return `{"title":"x","input":{"url":"` + url + `"}}` + "\n" }
	const one, two, other = "http://lab.test/1", "http://lab.test/2", "http://lab.test/3"
	const noRows = "its rows could not be read, so whose inputs it has is not known"
	for name, c := range map[string]struct {
		state, rows   string
		fits, against string
		other         bool
	}{
		"its own":                 {"ready", row(two) + row(one), "2 inputs, named by its rows", "", false},
		"its own, as an array":    {"ready", "[" + strings.TrimSpace(row(two)) + "," + row(one) + "]", "2 inputs, named by its rows", "", false},
		"by fields of the record": {"ready", `{"url":"` + one + `","title":"x"}` + "\n" + row(two), "2 inputs, named by its rows", "", false},
		"of another, by fields":   {"ready", `{"url":"` + other + `"}` + "\n", "2 inputs, 0 of them named by its rows", "no row that was read names 2 inputs of the job", true},
		"of another machine":      {"ready", row(other) + row(one), "2 inputs", "its rows are of other inputs", true},
		"one is shared":           {"ready", row(one) + row(other), "2 inputs", "its rows are of other inputs", true},
		"one has no row":          {"ready", row(one), "2 inputs, 1 of them named by its rows", "no row that was read names 1 input of the job", false},
		"rows name nothing":       {"ready", `{"title":"x"}` + "\n", "2 inputs, 0 of them named by its rows", "no row that was read names 2 inputs of the job", true},
		"no rows":                 {"ready", "[]", "2 inputs, 0 of them named by its rows", "no row that was read names 2 inputs of the job", false},
		"no JSON":                 {"ready", "a page", "2 inputs", noRows, false},
		"it still runs":           {"running", "", "2 inputs", "it has no rows yet that tell whose inputs it has", false},
		"it has failed":           {"failed", "", "2 inputs", "it has no rows, so whose inputs it has is not known", false},
	} {
		t.Run(name, func(t *testing.T) {
			cl, _ := script(t, text(503, ""), func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/progress/") {
					text(200, `{"status":"`+c.state+`","inputs":2}`)(w, r)
					return
				}
				text(200, c.rows)(w, r)
			})
			job := launched(t, cl, trigger(one, two), model.JobMayHave)
			cl.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
				return []model.RemoteJob{{Snapshot: "sd_1", Created: job.Created}}, 0, nil
			})
			found := noerr.Try(cl.Settler().Candidates(t.Context(), job.ID)).Must(t)
			if len(found) != 1 || found[0].For != c.fits || found[0].Against != c.against || found[0].Other != c.other {
				t.Fatalf("%+v", found)
			}
			if _, err := (Settlement{Job: job, Candidates: found}).Only(); (err == nil) != (c.against == "") {
				t.Errorf("found: %v", err)
			}
			// Whoever names the job is asked only where its rows are of other inputs.
			if _, err := cl.Settler().Claim(t.Context(), job.ID, "sd_1", false); errors.As(err, new(*DoubtError)) != c.other {
				t.Errorf("claimed: %v", err)
			}
		})
	}
}

func TestWithoutItsInputsAJobIsNotFound(t *testing.T) {
	cl, _ := script(t, text(200, `{"status":"ready","inputs":3}`))
	job := begun(t, cl, "", func(job *model.Job) { job.State = model.JobMayHave })
	cl.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
		return []model.RemoteJob{{Snapshot: "sd_1", Created: job.Created}}, 0, nil
	})
	const want = "the ledger does not have the inputs of the job, so its rows cannot be compared with them"
	if found, err := cl.Settler().Candidates(t.Context(), job.ID); err != nil || len(found) != 1 || found[0].Against != want {
		t.Errorf("%+v, %v", found, err)
	}
}

// A job that began after the sender was found dead is another's.
func TestWhatBeganAfterThePostIsAgainstIt(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	steps := func(after time.Duration) []model.JobStep {
		return []model.JobStep{{At: at, State: model.JobSending}, {At: at.Add(after), State: model.JobMayHave}}
	}
	for name, c := range map[string]struct {
		steps []model.JobStep
		want  time.Duration
	}{
		"the answer was lost":            {steps(4 * time.Second), 4 * time.Second},
		"found dead a day later":         {steps(24 * time.Hour), triggerTimeout},
		"the clock was set back":         {steps(-time.Hour), triggerTimeout},
		"restored from the log, no step": {nil, triggerTimeout},
	} {
		if got := postOver(model.Job{Created: at, Steps: c.steps}); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	cl, _ := script(t, text(503, ""), ended(1, `{"input":{"url":"http://lab.test/1"}}`))
	job := launched(t, cl, trigger("http://lab.test/1"), model.JobMayHave)
	cl.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
		return []model.RemoteJob{{Snapshot: "sd_1", Created: job.Created.Add(time.Minute)}}, 0, nil
	})
	found := noerr.Try(cl.Settler().Candidates(t.Context(), job.ID)).Must(t)
	if len(found) != 1 || !strings.HasPrefix(found[0].Against, "it began 1m0s after the POST, which was over after ") {
		t.Errorf("%+v", found)
	}
}
