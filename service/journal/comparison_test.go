package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
)

func TestAComparisonIsKeptAndReplacedOnItsOwnLine(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	zone := model.Zone{Name: "unlocker_demo", Password: "env:ZP", Rate: model.Rate{Per1000: 1.5}}
	twin := model.Grid{
		ID: "t_1", Profile: "acme", Started: testTime, Repeat: 1,
		Base:  model.FetchRequest{URL: "http://u:pw@lab.test/shop", Key: "batch-user", Header: http.Header{"Cookie": {"sid=1"}}, Required: []string{".price"}},
		Cells: []model.Cell{{Vary: model.Vary{Zone: zone, Via: model.ViaAPI}}, {Vary: model.Vary{Zone: model.Zone{Name: "z", Password: "cmd:op read token"}, Via: model.ViaNative}, Problem: "none"}},
	}
	noerr.Must(t, j.PutComparison(t.Context(), twin))
	noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{Kind: model.HistoryFetch, Ref: "t_1", Text: "later"}))
	first, err := j.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryComparison})
	if err != nil || len(first) != 1 || first[0].Text != "0 cells compared: no cell was ok in every run" || first[0].Zone != "" {
		t.Errorf("%+v, %v", first, err)
	}
	twin.Cells[0].Runs = []model.Run{{FetchID: "f_1", Class: model.ClassOK, Status: 200, Total: 412 * time.Millisecond}}
	noerr.Must(t, j.PutComparison(t.Context(), twin))
	got, err := j.Comparison(t.Context(), "t_1")
	want := twin
	want.Base.URL, want.Base.Header = "http://u:xxxxx@lab.test/shop", http.Header{"Cookie": {model.Masked}}
	want.Cells = []model.Cell{twin.Cells[0], {Vary: model.Vary{Zone: model.Zone{Name: "z"}, Via: model.ViaNative}, Problem: "none"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	if twin.Cells[1].Zone.Password == "" || twin.Base.Header.Get("Cookie") != "sid=1" {
		t.Error("the caller's own was masked")
	}
	lines, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(lines) != 2 || lines[0].Text != "later" || lines[1].ID != first[0].ID {
		t.Fatalf("%+v, %v", lines, err)
	}
	if a := lines[1]; a.Zone != "unlocker_demo" || a.Via != model.ViaAPI || a.Total != 412*time.Millisecond || a.Class != "" || a.Ref != "t_1" ||
		a.Text != "1 cell compared; this is the only one that was ok in every run (1 of 1 ok, median 412 ms, $1.50 per 1000)" || strings.Contains(a.URL, "pw@") {
		t.Errorf("%+v", a)
	}
	if found, err := j.Entries(t.Context(), model.HistoryFilter{Words: []string{"unlocker_demo"}}); err != nil || len(found) != 1 {
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
		r := twin.Base
		r.Zone, r.Via = zone, model.ViaAPI
		c.change(&r)
		if got, err := j.NewestComparison(t.Context(), c.profile, r); (got.ID == "t_1") != c.found || errors.Is(err, database.ErrNotFound) == c.found {
			t.Errorf("%s: %q, %v", name, got.ID, err)
		}
	}
	later := twin
	later.ID, later.Started = "t_2", testTime.Add(time.Hour)
	noerr.Must(t, j.PutComparison(t.Context(), later))
	later.Base.Zone, later.Base.Via = zone, model.ViaAPI
	if got, err := j.NewestComparison(t.Context(), "acme", later.Base); err != nil || got.ID != "t_2" || !got.Started.Equal(later.Started) {
		t.Errorf("of two: %q of %s, %v", got.ID, got.Started, err)
	}
	if err := j.PutComparison(t.Context(), model.Grid{}); err == nil {
		t.Error("one without an identifier is kept")
	}
}

func TestAComparisonKeptWithAColumnForAgentAccessLosesItsBlanks(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	zone, agent := model.Zone{Name: "unlocker_demo"}, model.AgentZone()
	ran := []model.Run{{FetchID: "f_1", Class: model.ClassOK}}
	old := model.Grid{ID: "t_1", Started: testTime, Cells: []model.Cell{
		{Vary: model.Vary{Zone: zone, Via: model.ViaAPI}, Runs: ran},
		{Vary: model.Vary{Zone: zone, Via: model.ViaAgent}, Problem: "in a row of its own"},
		{Vary: model.Vary{Zone: agent, Via: model.ViaAPI}, Problem: "agent access alone"},
		{Vary: model.Vary{Zone: agent, Via: model.ViaAgent}, Runs: ran},
	}}
	noerr.Must(t, j.PutComparison(t.Context(), old))
	got, err := j.Comparison(t.Context(), "t_1")
	if want := []model.Cell{old.Cells[0], old.Cells[3]}; err != nil || !reflect.DeepEqual(got.Cells, want) {
		t.Errorf("%+v, %v\nwant %+v", got.Cells, err, want)
	}
}

// The text of a comparison has the names that it had when zones and methods alone were compared.
func TestAComparisonIsWrittenAsItWasWhenZonesAloneWereCompared(t *testing.T) {
	const kept = `{"ID":"t_1","Profile":"acme","Started":"2026-11-20T09:00:00Z","Request":` +
		`%s,"Repeat":2,"Cells":[{"Zone":%s,"Via":"api","Problem":"","AtOnce":3,"Runs":[` +
		`{"Fetch":"f_1","Class":"ok","Cause":"","Status":200,"Bytes":9,"FirstByte":4,"Before":1,"Total":7,"Found":1,"Attempts":2,"Requests":1,"Traffic":9,"Sent":5}],"CutOff":1}]}`
	request, zone := model.FetchRequest{URL: "http://lab.test/"}, model.Zone{Name: "unlocker_demo"}
	texts := make([]any, 2)
	for i, v := range []any{request, zone} {
		b, err := json.Marshal(v)
		noerr.Must(t, err)
		texts[i] = string(b)
	}
	g := model.Grid{
		ID: "t_1", Profile: "acme", Started: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Base: request, Repeat: 2,
		Cells: []model.Cell{{
			Vary: model.Vary{Zone: zone, Via: model.ViaAPI}, AtOnce: 3, CutOff: 1, Active: true,
			Runs: []model.Run{{FetchID: "f_1", Class: model.ClassOK, Status: 200, Bytes: 9, FirstByte: 4, Before: 1, Total: 7, Found: 1, Attempts: 2, Requests: 1, Traffic: 9, Sent: 5, Summary: "s"}},
		}},
	}
	if got, err := json.Marshal(g); err != nil || string(got) != fmt.Sprintf(kept, texts...) {
		t.Errorf("%s, %v", got, err)
	}
}
