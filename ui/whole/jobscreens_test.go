package whole

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/ledger"
	"zonedeck/ui/uitest"
)

// seedJob puts a job of the profile on the emulator into the ledger, as it stands in a state. The ledger
// stays open: its owner is alive.
func seedJob(h *home, state model.JobState, more func(*model.Job)) {
	h.t.Helper()
	paths := config.FindPaths(func(name string) string { return h.env[name] })
	noerr.Must(h.t, paths.Ensure())
	l, notice, err := ledger.Open(h.t.Context(), paths.LedgerFile(), func() time.Time { return h.now })
	if err != nil || notice != "" {
		h.t.Fatal(notice, err)
	}
	h.t.Cleanup(func() { noerr.Want(h.t, l.Close()) })
	request, err := json.Marshal(model.TriggerRequest{Dataset: "gd_products", Inputs: []model.JobInput{{URL: "http://lab.test/shop"}}})
	noerr.Must(h.t, err)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	noerr.Must(h.t, noerr.From(z.Write(request)))
	noerr.Must(h.t, z.Close())
	job, err := l.Begin(h.t.Context(), model.Job{Profile: "local", Dataset: "gd_products", KeyName: "batch-user", Inputs: 1, Done: -1, Records: -1}, "digest", packed.Bytes(), nil)
	if err == nil && state != model.JobIntent {
		_, err = l.Change(h.t.Context(), job.ID, func(j *model.Job) (string, error) {
			j.State, j.Snapshot, j.Accepted = state, "sd_seeded", h.now
			if more != nil {
				more(j)
			}
			return j.Detail, nil
		})
	}
	noerr.Must(h.t, err)
}

func TestEveryStateOfAJobHasAScreen(t *testing.T) {
	drawn := map[string]bool{}
	for _, s := range screens(t) {
		drawn[s.name] = true
	}
	named := map[model.JobState]string{model.JobMayHave: "may-have-started", model.JobNotSent: "not-sent"}
	for _, state := range model.JobStates() {
		if name := "jobs/" + cmp.Or(named[state], string(state)); !drawn[name] {
			t.Errorf("%s is not drawn", name)
		}
	}
}

// unknownSince gives a job what the service's words that it knows no such job come to at first.
func unknownSince(j *model.Job, at time.Time) {
	answer := model.Diagnose(model.Outcome{Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: 404, ServiceText: "Snapshot does not exist"})
	j.Fault = model.JobFault{Call: model.CallProgress, Diagnosis: model.JobUnknown(answer, true), At: at, LastAnswer: at.Add(-time.Minute)}
}

func jobScreens(silent string) []screen {
	launched := func(h *home) {
		h.write("urls.txt", "http://lab.test/shop\nhttp://lab.test/product/1\n")
		h.run("jobs", "trigger", "gd_products", "--input", filepath.Join(h.dir, "urls.txt"), "--wait")
	}
	list := func(texts ...string) func(p *uitest.Whole) {
		return script(ready, see("2", texts...))
	}
	lost := func(h *home) {
		seedJob(h, model.JobMayHave, func(j *model.Job) {
			j.Snapshot, j.Detail = "", "the call broke after sending: the connection was reset"
		})
	}
	// form is the form of the data set that a text finds in the list, where another then is not.
	form := func(text, other string, texts ...string) func(p *uitest.Whole) {
		return script(see("n", "7 data sets"), typed(text), gone(other), see("enter", texts...))
	}
	pasted := func(rows string, texts ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			p.Send(tea.PasteMsg{Content: rows})
			p.WaitFor(texts...)
			p.WaitGone("as the job's inputs") // the toast
		}
	}
	state := func(name string, of model.JobState, more func(*model.Job)) screen {
		return screen{name: name, before: func(h *home) { seedJob(h, of, more) }, steps: list(of.Label())}
	}
	return []screen{
		{name: "jobs/empty", steps: list("no jobs yet")},
		{name: "jobs/may-have-started", before: func(h *home) {
			h.write("urls.txt", "http://lab.test/ok\n")
			h.env["ZONEDECK_API_KEY"] = "a-key-of-nobody"
			h.run("--base-url", silent, "jobs", "trigger", "gd_reviews", "--input", filepath.Join(h.dir, "urls.txt"))
			delete(h.env, "ZONEDECK_API_KEY")
		}, steps: list("may have")},
		{name: "jobs/new", steps: script(list("no jobs yet"), form("Any page", "Lab search", "Dataset", "url *"))},
		{name: "jobs/typed", steps: script(list("no jobs yet"), form("gd_search", "Lab shop", "keyword *", "costs"))},
		{name: "jobs/deep-lookup", steps: script(
			list("no jobs yet"), form("deep", "Lab shop", "result_limit", "query *"), typed("espresso machine price"), shows("machine price"),
		)},
		{name: "jobs/discover", steps: script(list("no jobs yet"), form("pages of the web", "Lab shop", "num_results", "query *"))},
		state("jobs/intent", model.JobIntent, nil),
		state("jobs/downloaded", model.JobDownloaded, func(j *model.Job) {
			j.Bytes, j.File, j.SHA256 = 4321, "records.ndjson", strings.Repeat("5e", 32)
			j.Records, j.Rows = 3, model.JobRows{Format: "ndjson", Counted: true, Returned: 3, Useful: 3, Billed: 3}
		}),
		state("jobs/emptied", model.JobDownloaded, func(j *model.Job) {
			j.Bytes, j.File, j.SHA256 = 4321, "records.ndjson", strings.Repeat("5e", 32)
			j.Rows = model.JobRows{Format: "ndjson", Counted: true, Returned: 12, Empty: 12, Billed: 12, Drift: model.JobDrift{Text: "5 fields emptied since job-1", Fields: 5, Since: "job-1"}}
		}),
		state("jobs/all-failed", model.JobDownloaded, func(j *model.Job) {
			j.Bytes, j.File, j.SHA256 = 321, "records.ndjson", strings.Repeat("5e", 32)
			j.Rows = model.JobRows{Format: "ndjson", Counted: true, Returned: 3, Errors: []model.JobRowErrors{{Code: "dead_page", Class: model.ClassOutside, Cause: model.CauseTargetError, Rows: 3, Text: "the page answered 404"}}}
		}),
		state("jobs/expired", model.JobExpired, func(j *model.Job) { j.Detail = "the service no longer has the result: Snapshot not found" }),
		state("jobs/forgotten", model.JobExpired, func(j *model.Job) {
			unknownSince(j, j.Accepted.Add(-5*time.Minute))
			j.Wire, j.Done, j.Detail = "running", 0, "the service no longer knows it: Snapshot does not exist"
			j.Fault.Diagnosis = model.JobForgotten(
				j.Fault.Diagnosis,
				model.Evidence{Kind: "note", Text: "last seen running at 2026-11-21 11:54:00 UTC; not known since 2026-11-21 11:55:00 UTC"},
				model.Evidence{Kind: "note", Text: "the service's list of gd_products does not have it, and has job-7"},
			)
		}),
		{name: "jobs/given-up", before: func(h *home) {
			seedJob(h, model.JobRunning, func(j *model.Job) {
				unknownSince(j, j.Accepted.Add(-5*time.Minute))
				j.Wire, j.Done, j.Accepted = "running", 0, j.Accepted.Add(-time.Hour)
				j.KeyName = "etl-removed"
			})
		}, steps: func(p *uitest.Whole) {
			list("was running", "stopped following job-1")(p)
			p.WaitGone("stopped following job-1") // the toast
		}},
		{name: "jobs/settle", before: lost, steps: script(list("may have"), see("s", "in the service's list", "it has not started"))},
		{name: "jobs/again", before: lost, steps: script(list("may have"), see("a", "Launch job-1 again", "the whole job"))},
		{name: "jobs/more", steps: script(
			list("no jobs yet"), form("Any page", "Lab search", "Dataset", "url *"), see("tab tab space", "Per input", "Sample"),
		)},
		{name: "jobs/shared-inputs", before: lost, steps: script(
			list("may have"), form("gd_products", "Lab search", "New job", "Dataset"),
			pasted("http://lab.test/shop\nhttp://lab.test/product/1", "2 inputs from what was pasted", "1 of 2 inputs was launched as job-1"),
			see("ctrl+s", "Launch 2 inputs?", "1 of 2 inputs was launched at"),
		)},
		{name: "jobs/only-unlaunched", before: lost, steps: script(
			list("may have"), form("gd_products", "Lab search", "New job", "Dataset"),
			pasted("http://lab.test/shop\nhttp://lab.test/product/1\nhttp://lab.test/product/2", "3 inputs from what was pasted", "1 of 3 inputs was launched as job-1"),
			see("down down space", "1 left out"),
		)},
		{name: "jobs/datasets", steps: script(list("no jobs yet"), see("n", "New job: 7 data sets", "Lab search"))},
		{name: "jobs/filter", before: launched, steps: func(p *uitest.Whole) {
			list("ready")(p)
			p.PressFor("/", "state:failed")
			p.Type("state:ready dataset:gd_p")
			p.WaitFor("1 of 1")
			p.PressFor("enter", "esc shows all")
			p.Press("z") // whether a question came while the job ran is chance, and its history shows it
			p.WaitGone("created   ")
			p.WaitFor("Jobs (1")
		}},
		{name: "jobs/preview", before: launched, steps: script(list("ready"), see("p", "Brass desk lamp"))},
	}
}
