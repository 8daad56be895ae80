package whole

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/drift"
	"zonedeck/service/rows"
	"zonedeck/ui/uitest"
)

// seedDrift stores runs of the profile on the emulator, as downloads and fetches would.
func seedDrift(h *home, fill func(m *drift.Monitor)) {
	h.t.Helper()
	paths := config.FindPaths(func(name string) string { return h.env[name] })
	noerr.Must(h.t, paths.Ensure())
	s, _, err := drift.Open(h.t.Context(), paths.DriftFile(), func() time.Time { return h.now }, drift.DefaultKeep())
	noerr.Must(h.t, err)
	fill(drift.NewMonitor(drift.Config{
		Open: func(context.Context) (*drift.Store, error) { return s, nil }, ContractsDir: paths.ContractsDir(), Person: "ops",
	}))
	noerr.Must(h.t, s.Close())
}

// driftRun stores the result of a job that was accepted so many days ago; n rows, %d in a row is its number.
func driftRun(h *home, m *drift.Monitor, id, dataset string, days, n int, row string) {
	h.t.Helper()
	seen := m.Result(model.Job{ID: id, Profile: "local", Dataset: dataset, Accepted: h.now.AddDate(0, 0, -days)})
	var text strings.Builder
	for i := range n {
		text.WriteString(strings.ReplaceAll(row, "%d", fmt.Sprint(i)) + "\n")
	}
	noerr.Must(h.t, rows.EachRow(strings.NewReader(text.String()), "ndjson", func(r rows.Row) error {
		seen.Row(r)
		return nil
	}))
	noerr.Must(h.t, noerr.From(seen.Keep(h.t.Context(), model.JobRows{Counted: true})))
}

// driftFetch stores a fetch that required a field of the shop's page.
func driftFetch(h *home, m *drift.Monitor, id string, days int, class model.Class, body string) {
	h.t.Helper()
	r := model.FetchResult{
		ID: id, Started: h.now.AddDate(0, 0, -days), ContentType: "text/html", Diagnosis: model.Diagnosis{Class: class},
		Request: model.FetchRequest{URL: "http://lab.test/shop", Required: []string{".product .price"}},
	}
	if class == model.ClassOK || class == model.ClassParsingDrift {
		r.Fields = []model.Field{{Path: ".product .price", Found: class == model.ClassOK}}
	}
	noerr.Must(h.t, m.Fetched(h.t.Context(), "local", r, []byte(body)))
}

const (
	driftGood = `{"name":"Lamp %d","price":1%d.5,"currency":"USD","input":{"url":"http://lab.test/product/%d"}}`
	driftBad  = `{"name":"Lamp %d","price":null,"currency":"USD","input":{"url":"http://lab.test/product/%d"}}`
)

// drifted has a data set with drift since job-31, a target whose selector stopped matching, one that is refused,
// and one that is as it was.
func drifted(h *home) {
	seedDrift(h, func(m *drift.Monitor) {
		for i := range 8 {
			driftRun(h, m, fmt.Sprintf("job-%d", 21+i), "gd_products", 20-i, 40, driftGood)
		}
		driftRun(h, m, "job-31", "gd_products", 3, 40, driftBad)
		driftRun(h, m, "job-32", "gd_products", 1, 40, driftBad)
		driftRun(h, m, "job-29", "gd_reviews", 2, 5, `{"rating":%d}`)
		driftFetch(h, m, "f_21", 4, model.ClassOK, `<div class="product"><h2 class="name">Lamp</h2><span class="price">$14.25</span></div>`)
		driftFetch(h, m, "f_22", 2, model.ClassParsingDrift, `<div class="product"><h2 class="name">Lamp</h2><div class="buy"><em>14</em></div></div>`)
	})
}

func driftScreens() []screen {
	board := func(p *uitest.Whole) {
		ready(p)
		p.PressFor("2", "[2 Jobs]", "no jobs yet")
		p.PressFor("D", "Drift")
		p.WaitGone("reading the stored runs")
	}
	fields := func(p *uitest.Whole) {
		board(p)
		p.WaitFor("gd_products")
		p.PressFor("enter", "Drift · gd_products", "FIELD")
	}
	return []screen{
		{name: "jobs/drift-empty", steps: script(board, shows("no collector has a run yet"))},
		{name: "jobs/drift", before: drifted, steps: script(board, shows("3 collectors · 2 with drift"))},
		{name: "jobs/drift-silent", before: func(h *home) {
			drifted(h)
			seedDrift(h, func(m *drift.Monitor) {
				for i := range 4 {
					driftFetch(h, m, fmt.Sprintf("f_3%d", i), 1, model.ClassCaptcha, "")
				}
			})
		}, steps: script(board, shows("1 without useful rows", "no useful row in the last 4 runs"))},
		{name: "jobs/drift-contract-wrong", before: func(h *home) {
			drifted(h)
			h.write("config/zonedeck/contracts/dataset-gd_products.toml", "dataset = \"gd_products\"\n[[fields]]\nname = \"price\"\ntype = \"int\"\n")
		}, steps: script(board, shows("a contract is left out"))},
		{name: "jobs/drift-unreadable", before: func(h *home) {
			noerr.Must(h.t, os.MkdirAll(filepath.Join(h.dir, "state/zonedeck/drift.db"), 0o700))
		}, steps: script(board, shows("cannot be read"))},
		{name: "jobs/drift-fields", before: drifted, steps: script(fields, shows("first seen at job-31"))},
		{name: "jobs/drift-selector", before: drifted, steps: func(p *uitest.Whole) {
			board(p)
			p.WaitFor("gd_products")
			p.PressFor("j enter", "Drift · lab.test/shop", "matches nothing any more")
		}},
		{name: "jobs/drift-refused", before: func(h *home) {
			drifted(h)
			h.write("config/zonedeck/contracts/dataset-gd_products.toml", "dataset = \"gd_products\"\n\n[[fields]]\nname = \"price\"\nrequired = true\ncoverage = 0.95\ntype = \"number\"\n")
		}, steps: script(fields, see("a", "Accept gd_products?", "e edits it"))},
		{name: "jobs/drift-accepted", before: drifted, steps: func(p *uitest.Whole) {
			fields(p)
			p.PressFor("a", "u undoes this") // it and the new state come in either order, and it goes only once it came
			p.WaitGone("u undoes this")
			p.WaitFor("normal since job-32; accepted by operator")
		}},
	}
}
