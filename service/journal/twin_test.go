package journal

import (
	"errors"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

func TestAComparisonIsKeptAndReplacedOnItsOwnLine(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	zone := model.Zone{Name: "unlocker_demo", Password: "env:ZP", Rate: model.Rate{Per1000: 1.5}}
	twin := model.Twin{
		ID: "t_1", Profile: "acme", Started: testTime, Repeat: 1,
		Request: model.FetchRequest{URL: "http://u:pw@lab.test/shop", Key: "batch-user", Header: http.Header{"Cookie": {"sid=1"}}, Required: []string{".price"}},
		Cells:   []model.TwinCell{{Zone: zone, Via: model.ViaAPI}, {Zone: model.Zone{Name: "z", Password: "cmd:op read token"}, Via: model.ViaNative, Problem: "none"}},
	}
	if err := j.PutTwin(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	if err := j.PutActivity(t.Context(), model.Activity{Kind: model.ActivityFetch, Ref: "t_1", Text: "later"}); err != nil {
		t.Fatal(err)
	}
	first, err := j.Activity(t.Context(), model.ActivityFilter{Kind: model.ActivityTwin})
	if err != nil || len(first) != 1 || first[0].Text != "0 cells compared: no cell was ok in every run" || first[0].Zone != "" {
		t.Errorf("%+v, %v", first, err)
	}
	twin.Cells[0].Runs = []model.TwinRun{{Fetch: "f_1", Class: model.ClassOK, Status: 200, Total: 412 * time.Millisecond}}
	if err := j.PutTwin(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	got, err := j.Twin(t.Context(), "t_1")
	want := twin
	want.Request.URL, want.Request.Header = "http://u:xxxxx@lab.test/shop", http.Header{"Cookie": {model.Masked}}
	want.Cells = []model.TwinCell{twin.Cells[0], {Zone: model.Zone{Name: "z"}, Via: model.ViaNative, Problem: "none"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	if twin.Cells[1].Zone.Password == "" || twin.Request.Header.Get("Cookie") != "sid=1" {
		t.Error("the caller's own was masked")
	}
	lines, err := j.Activity(t.Context(), model.ActivityFilter{})
	if err != nil || len(lines) != 2 || lines[0].Text != "later" || lines[1].ID != first[0].ID {
		t.Fatalf("%+v, %v", lines, err)
	}
	if a := lines[1]; a.Zone != "unlocker_demo" || a.Via != model.ViaAPI || a.Total != 412*time.Millisecond || a.Class != "" || a.Ref != "t_1" ||
		a.Text != "1 cell compared; this is the only one that was ok in every run (1 of 1 ok, median 412 ms, $1.50 per 1000)" || strings.Contains(a.URL, "pw@") {
		t.Errorf("%+v", a)
	}
	if found, err := j.Activity(t.Context(), model.ActivityFilter{Words: []string{"unlocker_demo"}}); err != nil || len(found) != 1 {
		t.Errorf("the line is found by %d, %v", len(found), err)
	}
	for name, c := range map[string]struct {
		profile string
		change  func(*model.FetchRequest)
		found   bool
	}{
		"what was compared":     {"acme", func(*model.FetchRequest) {}, true},
		"another profile":       {"other", func(*model.FetchRequest) {}, false},
		"another URL":           {"acme", func(r *model.FetchRequest) { r.URL += "2" }, false},
		"another body":          {"acme", func(r *model.FetchRequest) { r.Body = "x" }, false},
		"another zone":          {"acme", func(r *model.FetchRequest) { r.Zone.Name = "y" }, false},
		"a method without runs": {"acme", func(r *model.FetchRequest) { r.Zone.Name, r.Via = "z", model.ViaNative }, false},
	} {
		r := twin.Request
		r.Zone, r.Via = zone, model.ViaAPI
		c.change(&r)
		if got, err := j.NewestTwin(t.Context(), c.profile, r); (got.ID == "t_1") != c.found || errors.Is(err, database.ErrNotFound) == c.found {
			t.Errorf("%s: %q, %v", name, got.ID, err)
		}
	}
	later := twin
	later.ID, later.Started = "t_2", testTime.Add(time.Hour)
	if err := j.PutTwin(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	later.Request.Zone, later.Request.Via = zone, model.ViaAPI
	if got, err := j.NewestTwin(t.Context(), "acme", later.Request); err != nil || got.ID != "t_2" || !got.Started.Equal(later.Started) {
		t.Errorf("of two: %q of %s, %v", got.ID, got.Started, err)
	}
	if err := j.PutTwin(t.Context(), model.Twin{}); err == nil {
		t.Error("one without an identifier is kept")
	}
}

func TestAComparisonKeptWithAColumnForAgentAccessLosesItsBlanks(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	zone, agent := model.Zone{Name: "unlocker_demo"}, model.AgentZone()
	ran := []model.TwinRun{{Fetch: "f_1", Class: model.ClassOK}}
	old := model.Twin{ID: "t_1", Started: testTime, Cells: []model.TwinCell{
		{Zone: zone, Via: model.ViaAPI, Runs: ran},
		{Zone: zone, Via: model.ViaAgent, Problem: "in a row of its own"},
		{Zone: agent, Via: model.ViaAPI, Problem: "agent access alone"},
		{Zone: agent, Via: model.ViaAgent, Runs: ran},
	}}
	if err := j.PutTwin(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	got, err := j.Twin(t.Context(), "t_1")
	if want := []model.TwinCell{old.Cells[0], old.Cells[3]}; err != nil || !reflect.DeepEqual(got.Cells, want) {
		t.Errorf("%+v, %v\nwant %+v", got.Cells, err, want)
	}
}
