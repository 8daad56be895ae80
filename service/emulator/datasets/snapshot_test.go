package datasets

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func TestAJobGoesThroughItsStates(t *testing.T) {
	gate, d := make(chan struct{}), statetest.Open(t, t.TempDir())
	g := start(t, options{gate: gate, state: d})
	id := g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok", "http://lab.test/json"))
	at := "/datasets/v3/snapshot/" + id
	if p := g.progress(id); p.Status != "starting" || p.ID != id || p.Dataset != "gd_pages" {
		t.Errorf("%+v", p)
	}
	if r := g.do("GET", at, nil); r.status != http.StatusAccepted || r.body != `{"message":"Snapshot is not ready yet, try again in 10s","status":"running"}`+"\n" {
		t.Errorf("%+v", r)
	}
	if r := g.do("GET", at+"/parts", nil); r.status != 400 || r.body != "Snapshot is not ready" {
		t.Errorf("%+v", r)
	}
	gate <- struct{}{}
	g.status(id, "running")
	begun, release := statetest.Hold(t, d, "jobs")
	gate <- struct{}{}
	<-begun // its end is being written
	if p := g.progress(id); p.Status != "building" {
		t.Errorf("%+v", p)
	}
	if r := g.do("GET", at, nil); r.status != http.StatusAccepted || !strings.Contains(r.body, "Snapshot is building, try again in 30s") {
		t.Errorf("%+v", r)
	}
	release()
	g.status(id, "ready")
	if n := len(g.records(id)); n != 2 {
		t.Errorf("%d records", n)
	}
	for _, path := range []string{"/datasets/v3/progress/sd_x", "/datasets/v3/snapshot/sd_x", "/datasets/v3/snapshot/sd_x/parts", "/datasets/v3/snapshot/sd_x/input"} {
		if r := g.do("GET", path, nil); r.status != 404 || r.body != "Snapshot does not exist" {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestANewSnapshotCannotBeSeenWithinTheGrace(t *testing.T) {
	c := statetest.NewClock()
	g := start(t, options{clock: c, jobs: jobs.Config{Grace: 20 * time.Second}})
	id := g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok"))
	c.Forward(19 * time.Second)
	for _, path := range []string{"progress/", "snapshot/", "log/"} {
		if r := g.do("GET", "/datasets/v3/"+path+id, nil); r.status != 404 {
			t.Errorf("%s: %+v", path, r)
		}
	}
	c.Forward(time.Second)
	g.status(id, "ready")
}

func TestPartsOfADownload(t *testing.T) {
	g := start(t, options{})
	us := make([]string, 1100)
	for i := range us {
		us[i] = "http://lab.test/ok"
	}
	id := g.trigger("dataset_id=gd_pages&custom_output_fields=status", urls(us...))
	g.status(id, "ready")
	at := "/datasets/v3/snapshot/" + id
	if r := g.do("GET", at+"/parts?batch_size=1000", nil); r.body != `{"parts":2}`+"\n" {
		t.Errorf("%+v", r)
	}
	if r := g.do("GET", at+"/parts", nil); r.body != `{"parts":1}`+"\n" {
		t.Errorf("%+v", r)
	}
	for q, want := range map[string]int{"": 1100, "&batch_size=1000": 1000, "&batch_size=1000&part=2": 100, "&part=1": 1100} {
		r := g.do("GET", at+"?format=ndjson"+q, nil)
		if n := strings.Count(r.body, "\n"); r.status != 200 || n != want {
			t.Errorf("%q: %d rows, want %d", q, n, want)
		}
	}
	for q, text := range map[string]string{
		"?batch_size=999": "Batch size should be at least 1000", "?batch_size=x": "Batch size should be at least 1000",
		"?batch_size=1000&part=3": "no such part", "?batch_size=1000&part=0": "part", "?part=2": "no such part",
		"?batch_size=9223372036854775807&part=9223372036854775807": "no such part", "?format=xml": "format", "?compress=x": "compress", "?x=1": "Unknown parameter",
	} {
		if r := g.do("GET", at+q, nil); r.status != 400 || !strings.Contains(r.body, text) {
			t.Errorf("%s: %+v", q, r)
		}
	}
}

func TestFormatsAndCompression(t *testing.T) {
	g := start(t, options{})
	id := g.trigger("dataset_id=gd_products&include_errors=true&format=csv", urls("http://lab.test/product/1", "http://lab.test/product/99"))
	g.status(id, "ready")
	r := g.do("GET", "/datasets/v3/snapshot/"+id, nil) // as the trigger said
	rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil || len(rows) != 3 || strings.Join(rows[0], ",") != "url,name,price,currency,sku,in_stock,error,error_code,input" ||
		rows[2][7] != "dead_page" || rows[2][8] != `{"url":"http://lab.test/product/99"}` {
		t.Errorf("%v %q", err, rows)
	}
	for format, lines := range map[string]int{"json": 1, "ndjson": 2, "jsonl": 2} {
		r := g.do("GET", "/datasets/v3/snapshot/"+id+"?compress=true&format="+format, nil)
		zr, err := gzip.NewReader(strings.NewReader(r.body))
		if err != nil || r.header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %v", format, err)
		}
		dec := json.NewDecoder(zr)
		n := 0
		for dec.More() {
			var v any
			noerr.Must(t, dec.Decode(&v))
			n++
		}
		if n != lines {
			t.Errorf("%s: %d values", format, n)
		}
	}
}

func TestInputsLogCancelAndRerun(t *testing.T) {
	c := statetest.NewClock()
	gate := make(chan struct{}, 10)
	g := start(t, options{clock: c, gate: gate})
	gate <- struct{}{}
	gate <- struct{}{}
	id := g.trigger("dataset_id=gd_products&auth_header=Bearer+s3cret&notify=http://hook.invalid/s3cret", urls("http://lab.test/product/1", "http://lab.test/ok"))
	g.status(id, "ready")
	at := "/datasets/v3/snapshot/" + id
	if r := g.do("GET", at+"/input", nil); r.body != `[{"url":"http://lab.test/product/1"},{"url":"http://lab.test/ok"}]`+"\n" {
		t.Errorf("%+v", r)
	}
	if r := g.do("GET", at+"/input?format=csv", nil); r.body != "url\nhttp://lab.test/product/1\nhttp://lab.test/ok\n" {
		t.Errorf("%+v", r)
	}
	if r := g.do("GET", at+"/input?format=ndjson", nil); r.status != 400 || !strings.Contains(r.body, "Must be json or csv") {
		t.Errorf("%+v", r)
	}
	if r := g.do("GET", at+"/input?compress=true", nil); r.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%+v", r)
	}
	r := g.do("GET", "/datasets/v3/log/"+id, nil)
	l := decode[map[string]any](t, r)
	for _, name := range []string{"id", "created", "Status", "dataset_name", "scraper_name", "Dataset_size", "Inputs_count", "Dataset_id", "Discovery_collector_id", "file_size", "trigger", "Duration", "Duration_per_input", "Success_rate"} {
		if _, ok := l[name]; !ok {
			t.Errorf("the log has no %s", name)
		}
	}
	trigger := l["trigger"].(map[string]any)
	if l["Status"] != "ready" || l["Dataset_size"] != 1.0 || l["Inputs_count"] != 2.0 || l["Success_rate"] != 0.5 || l["file_size"].(float64) < 50 ||
		trigger["type"] != "API" || trigger["user"] != nil || trigger["ip"] != nil || strings.Contains(r.body, "s3cret") || !strings.Contains(trigger["trigger_url"].(string), "dataset_id=gd_products") {
		t.Errorf("%s", r.body)
	}
	if r := g.do("GET", "/datasets/v3/log/sd_x", nil); r.status != 404 || r.body != `{"error":"Snapshot not found"}`+"\n" {
		t.Errorf("%+v", r)
	}
	if r := g.do("POST", at+"/cancel", nil); r.status != 400 || r.body != "Snapshot is not running" {
		t.Errorf("%+v", r)
	}
	again := decode[map[string]string](t, g.do("POST", at+"/rerun", nil))["snapshot_id"]
	if again == id || again == "" {
		t.Fatalf("rerun: %q", again)
	}
	if r := g.do("POST", "/datasets/v3/snapshot/"+again+"/cancel", nil); r.status != 200 || r.body != "OK" {
		t.Errorf("%+v", r)
	}
	if p := g.progress(again); p.Status != "canceled" {
		t.Errorf("%+v", p)
	}
	if r := g.do("GET", "/datasets/v3/snapshot/"+again, nil); r.status != 400 || r.body != "Snapshot is canceled" {
		t.Errorf("%+v", r)
	}
	if r := g.do("POST", "/datasets/v3/snapshot/sd_x/rerun", nil); r.status != 404 {
		t.Errorf("%+v", r)
	}
	for _, path := range []string{"progress/sd_x", "snapshot/sd_x", "snapshot/..%2f..%2faccount.json"} {
		if r := g.do("GET", "/datasets/v3/"+path, nil); r.status != 404 {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestASnapshotExpiresAndGoes(t *testing.T) {
	c := statetest.NewClock()
	g := start(t, options{clock: c})
	id := g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok"))
	g.status(id, "ready")
	c.Forward(jobs.Retention + time.Second)
	if r := g.do("GET", "/datasets/v3/snapshot/"+id, nil); r.status != 400 || r.body != "Snapshot is expired" {
		t.Errorf("%+v", r)
	}
	g.jobs.Wake()
	lines := func(table state.Lines) func() (n int) {
		return func() (n int) {
			err := table.Each(g.state, id, func(int, []byte) error {
				n++
				return nil
			})
			noerr.Must(t, err)
			return n
		}
	}
	none := func(n int) bool { return n == 0 }
	until(t, lines("inputs"), none)
	until(t, lines("records"), none)
	if r := g.do("GET", "/datasets/v3/snapshot/"+id+"/input", nil); r.status != 400 || r.body != "Snapshot input does not exist" {
		t.Errorf("%+v", r)
	}
	if r := g.do("POST", "/datasets/v3/snapshot/"+id+"/rerun", nil); r.status != 400 || r.body != "Snapshot input does not exist" {
		t.Errorf("%+v", r)
	}
	if r := g.do("GET", "/datasets/v3/snapshot/"+id, nil); r.body != "Snapshot is expired" {
		t.Errorf("%+v", r)
	}
	c.Forward(jobs.Retention)
	g.jobs.Wake()
	until(t, func() bool {
		_, kept, err := state.Table[any]("jobs").Get(g.state, id)
		return kept || err != nil
	}, func(kept bool) bool { return !kept })
	if r := g.do("GET", "/datasets/v3/snapshot/"+id, nil); r.status != 404 {
		t.Errorf("%+v", r)
	}
}

func TestTheListIsFiltered(t *testing.T) {
	c := statetest.NewClock() // 21 November
	g := start(t, options{clock: c})
	a := g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok"))
	c.Forward(24 * time.Hour)
	b := g.trigger("dataset_id=gd_products", urls("http://lab.test/shop"))
	c.Forward(24 * time.Hour)
	z := g.trigger("dataset_id=gd_pages", urls("http://lab.test/empty"))
	for _, id := range []string{a, b, z} {
		g.status(id, "ready")
	}
	for q, want := range map[string]string{
		"":                             z + b + a,
		"?dataset_id=gd_pages":         z + a,
		"?status=ready&skip=1&limit=1": b,
		"?status=cancelled":            "",
		"?from_date=2026-11-22":        z + b,
		"?to_date=2026-11-22":          b + a,
		"?from_date=2026-11-22T00:00:00Z&to_date=2026-11-22": b,
		"?trigger_type=ALL": z + b + a,
		"?trigger_type=API": z + b + a,
		"?trigger_type=CP":  "",
	} {
		r := g.do("GET", "/datasets/v3/snapshots"+q, nil)
		got := ""
		for _, row := range decode[[]snapshotRow](t, r) {
			got += row.ID
			if row.ID == b && row.Size != 12 {
				t.Errorf("%s: %+v", q, row)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
	r := decode[struct {
		Data  []snapshotRow
		Total int
	}](t, g.do("GET", "/datasets/v3/snapshots?with_total=true&limit=1", nil))
	if r.Total != 3 || len(r.Data) != 1 || r.Data[0].ID != z || r.Data[0].Dataset != "gd_pages" {
		t.Errorf("%+v", r)
	}
	for _, q := range []string{"?limit=5001", "?limit=0", "?skip=-1", "?from_date=yesterday", "?trigger_type=X", "?with_total=2", "?x=1"} {
		if r := g.do("GET", "/datasets/v3/snapshots"+q, nil); r.status != 400 || !strings.Contains(r.body, "validation_errors") {
			t.Errorf("%s: %+v", q, r)
		}
	}
}
