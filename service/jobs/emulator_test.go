package jobs

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/rows"
	"zonedeck/service/servicetest"
)

// onEmulator runs jobs on a real emulator on loopback.
func onEmulator(t *testing.T) *Runner {
	t.Helper()
	sc := scenario.Demo()
	sc.PageDelay = time.Millisecond
	demo := servicetest.Emulator(t, emulator.Options{StateDir: t.TempDir(), Scenario: sc})
	j, _ := withLedger(t)
	return newRunner(t, demo.Profile, j, func(o *Config) {
		o.DownloadsDir = filepath.Join(t.TempDir(), "downloads")
		o.Source = servicetest.Source{Base: o.Source, SecretBy: demo.Secret, KeyBy: demo.Key}
	})
}

// TestAJobOnTheEmulator launches 200 inputs, follows the job, downloads it in
// every format, and compares the records with one another and with the inputs.
func TestAJobOnTheEmulator(t *testing.T) {
	cl := onEmulator(t)
	history, _ := servicetest.Journal(t)
	cl.cfg.Journal = history
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var source strings.Builder
	for i := range 200 {
		fmt.Fprintf(&source, "http://lab.test/search?q=%d\n", i)
	}
	read := noerr.Try(rows.Read(strings.NewReader(source.String()), "", rows.Shape{})).Must(t)
	inputs := read.Rows
	job, err := cl.Trigger(ctx, model.TriggerRequest{Dataset: "gd_pages", Inputs: inputs})
	if err != nil || job.State != model.JobAccepted || job.Snapshot == "" || job.KeyName != "batch-user" {
		t.Fatalf("%+v, %v", job, err)
	}
	var seen []int
	job, err = cl.Watch(ctx, job.ID, func(j model.Job) { seen = append(seen, j.Done) })
	if err != nil || job.State != model.JobReady {
		t.Fatalf("%+v, %v", job, err)
	}
	if !slices.IsSorted(seen) || job.Done != 200 || job.Records != 200 {
		t.Errorf("progress %v, %d done, %d records", seen, job.Done, job.Records)
	}
	preview, err := cl.Records(ctx, job.ID, 5)
	if err != nil || len(preview.Rows) != 5 {
		t.Errorf("preview of what is not downloaded: %+v, %v", preview, err)
	}
	var want []string
	for _, in := range inputs {
		want = append(want, in.URL)
	}
	slices.Sort(want)
	for _, format := range rows.Formats() {
		job, err = cl.Download(ctx, job.ID, Destination{Format: format}, nil)
		noerr.Must(t, err)
		if got := urlsIn(t, job.File, format); !slices.Equal(got, want) {
			t.Errorf("%s: %d addresses, not those that were sent", format, len(got))
		}
		table, err := cl.Records(ctx, job.ID, 1000)
		at := slices.IndexFunc(table.Columns, func(c model.RecordColumn) bool { return c.Name == "url" })
		if err != nil || at < 0 || len(table.Rows) != 200 || table.Total != 200 || table.FillRate(at) != 1 {
			t.Errorf("%s: %d rows, columns %+v, %v", format, len(table.Rows), table.Columns, err)
		}
		if table.Rows[0][at] != preview.Rows[0][slices.IndexFunc(preview.Columns, func(c model.RecordColumn) bool { return c.Name == "url" })] {
			t.Errorf("%s: the first record is another one", format)
		}
	}
	lines, err := history.Entries(ctx, model.HistoryFilter{Kind: model.HistoryJob})
	if err != nil || len(lines) != 5 { // accepted, ready, three downloads
		t.Errorf("timeline: %+v, %v", lines, err)
	}
}

// urlsIn reads the url of every record of a file, sorted.
func urlsIn(t *testing.T, path, format string) []string {
	t.Helper()
	raw := noerr.Try(os.ReadFile(path)).Must(t)
	var urls []string
	type record struct {
		URL string `json:"url"`
	}
	switch format {
	case "json":
		var all []record
		noerr.Must(t, json.Unmarshal(raw, &all))
		for _, r := range all {
			urls = append(urls, r.URL)
		}
	case "ndjson":
		for lines := bufio.NewScanner(strings.NewReader(string(raw))); lines.Scan(); {
			var r record
			noerr.Must(t, json.Unmarshal(lines.Bytes(), &r))
			urls = append(urls, r.URL)
		}
	default:
		rows := noerr.Try(csv.NewReader(strings.NewReader(string(raw))).ReadAll()).Must(t)
		at := slices.Index(rows[0], "url")
		for _, row := range rows[1:] {
			urls = append(urls, row[at])
		}
	}
	slices.Sort(urls)
	return urls
}

func TestTheEmulatorRefusesAndCancels(t *testing.T) {
	cl := onEmulator(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		name, dataset, key string
		status             string
	}{
		{"an unknown dataset", "gd_nothing", "", "HTTP 404"},
		{"an expired key", "gd_pages", "expired-user", "HTTP 401"},
		{"a key that may not use the API", "gd_pages", "finance-review", "HTTP 403"},
	} {
		r := trigger("http://lab.test/ok")
		r.Dataset, r.Key = c.dataset, c.key
		job, err := cl.Trigger(ctx, r)
		if err != nil || job.State != model.JobRefused || !strings.HasPrefix(job.Detail, c.status) {
			t.Errorf("%s: %s %q, %v", c.name, job.State, job.Detail, err)
		}
	}
	r := trigger("http://lab.test/slow?s=20")
	r.Dataset = "gd_pages"
	job := launched(t, cl, r, model.JobAccepted)
	if _, err := cl.Download(ctx, job.ID, Destination{}, nil); err == nil || !strings.Contains(err.Error(), ErrNotReady.Error()) {
		t.Errorf("download of a running job: %v", err)
	}
	if job, err := cl.CancelJob(ctx, job.ID); err != nil || job.State != model.JobCanceled {
		t.Errorf("%s, %v", job.State, err)
	}
}
