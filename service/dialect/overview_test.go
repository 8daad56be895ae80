package dialect

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

func TestJobsAreReadAsTheServiceListsThem(t *testing.T) {
	d := Embedded()
	jobs, skipped, err := d.ReadSnapshots([]byte(`[
		{"id":"sd_1","created":"2026-11-20T10:00:00.5Z","status":"ready","dataset_id":"gd_1","dataset_size":12},
		{"id":"sd_2","created":"soon","status":"digesting","dataset_id":"gd_1"},
		{"id":"../x","status":"ready"},
		{"id":"sd_3","status":"No data found in discovery","dataset_size":-1},
		{"id":"sd_4","status":"cancelled"}]`))
	if err != nil || skipped != 1 || len(jobs) != 4 {
		t.Fatalf("%+v, %d, %v", jobs, skipped, err)
	}
	if j := jobs[0]; j.State != model.JobReady || j.Records != 12 || !j.Created.Equal(time.Date(2026, 11, 20, 10, 0, 0, 5e8, time.UTC)) {
		t.Errorf("%+v", j)
	}
	if j := jobs[1]; j.State != model.JobRunning || j.Records != -1 || !j.Created.IsZero() || j.Wire != "digesting" {
		t.Errorf("%+v", j)
	}
	if jobs[2].State != model.JobFailed || jobs[2].Records != -1 || jobs[3].State != model.JobCanceled {
		t.Errorf("%+v", jobs[2:])
	}
	path, query := d.Snapshots("v3", "gd_1", 1e6)
	if path != "/datasets/v3/snapshots" || query.Encode() != "dataset_id=gd_1&limit=5000" {
		t.Errorf("%s ?%s", path, query.Encode())
	}
}

func TestSentencesInPlaceOfAStateEndTheJob(t *testing.T) {
	d := Embedded()
	for body, want := range map[string]model.JobState{
		`{"status":"Account is suspended"}`:            model.JobFailed,
		`{"status":"Input validation failed: no url"}`: model.JobFailed,
		"Snapshot is empty\n":                          model.JobFailed,
		"Account is new, please activate it by mail":   model.JobFailed,
		`{"status":"collecting"}`:                      model.JobRunning,
		`{"status":"a new word"}`:                      model.JobRunning,
	} {
		p, err := d.ReadProgress([]byte(body))
		if err != nil || p.State != want || want == model.JobFailed && (p.Detail == "" || p.Detail != strings.TrimSpace(p.Detail)) {
			t.Errorf("%q: %+v, %v", body, p, err)
		}
	}
	if _, err := d.ReadProgress([]byte("<html>Account is suspended</html>")); err == nil {
		t.Error("a page is taken for a state")
	}
}
