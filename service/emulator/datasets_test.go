package emulator

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func (g *rig) trigger(dataset string, urls ...string) string {
	g.t.Helper()
	return g.triggerWith("dataset_id="+dataset, urls...)
}

func (g *rig) triggerWith(query string, urls ...string) string {
	g.t.Helper()
	inputs := []map[string]string{}
	for _, u := range urls {
		inputs = append(inputs, map[string]string{"url": u})
	}
	a := g.do("POST", g.r.API+"/datasets/v3/trigger?"+query, g.key("batch-user"), inputs)
	id := decode[struct {
		ID string `json:"snapshot_id"`
	}](g.t, a).ID
	if a.status != 200 || !strings.HasPrefix(id, "sd_") {
		g.t.Fatalf("trigger: %+v", a)
	}
	return id
}

type progress struct {
	Status  string `json:"status"`
	Dataset string `json:"dataset_id"`
	Inputs  int    `json:"inputs"`
	Done    int    `json:"inputs_done"`
	Records int    `json:"records"`
	Errors  int    `json:"errors"`
}

func (g *rig) progress(id string) progress {
	g.t.Helper()
	return decode[progress](g.t, g.do("GET", g.r.API+"/datasets/v3/progress/"+id, g.key("batch-user"), nil))
}

// until asks for the progress until ok, at most a minute.
func (g *rig) until(id string, ok func(progress) bool) progress {
	g.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for {
		p := g.progress(id)
		if ok(p) {
			return p
		}
		select {
		case <-tick.C:
		case <-end:
			g.t.Fatalf("still %+v", p)
		}
	}
}

func ready(p progress) bool { return p.Status == "ready" }

func (g *rig) download(id, query string) reply {
	g.t.Helper()
	return g.do("GET", g.r.API+"/datasets/v3/snapshot/"+id+query, g.key("batch-user"), nil)
}

type rec struct {
	URL     string   `json:"url"`
	Name    *string  `json:"name"`
	Price   *float64 `json:"price"`
	SKU     *string  `json:"sku"`
	InStock *bool    `json:"in_stock"`
	Error   string   `json:"error"`
	Code    string   `json:"error_code"`
	Input   struct{ URL string }
}

func TestAJobFetchesAndExtracts(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer slow.Close()
	g := start(t, Options{AllowPrivate: []string{slow.Listener.Addr().String()}})
	running := g.trigger("gd_pages", slow.URL)
	if a := g.download(running, ""); a.status != http.StatusAccepted || !strings.Contains(a.body, "Snapshot is not ready yet") {
		t.Errorf("at once: %+v", a)
	}
	close(release)
	id := g.trigger("gd_products", "http://lab.test/shop", "https://lab.test/product/6")
	if p := g.until(id, ready); p.Inputs != 2 || p.Done != 2 || p.Records != 13 || p.Errors != 0 || p.Dataset != "gd_products" {
		t.Errorf("%+v", p)
	}
	recs := decode[[]rec](t, g.download(id, ""))
	if len(recs) != 13 {
		t.Fatalf("%d records", len(recs))
	}
	first, last := recs[0], recs[12]
	if *first.Name != "Brass desk lamp" || *first.Price != 14.25 || *first.SKU != "LAB-1007" || !*first.InStock || first.URL != "http://lab.test/product/1" {
		t.Errorf("%+v", first)
	}
	if *last.Name != "Wool blanket" || *last.InStock || last.URL != "https://lab.test/product/6" {
		t.Errorf("%+v", last)
	}
}

func TestDriftLosesFieldsNotRecords(t *testing.T) {
	g := start(t, Options{})
	id := g.trigger("gd_products", "http://lab.test/shop?v=2")
	g.until(id, ready)
	recs := decode[[]rec](t, g.download(id, ""))
	if len(recs) != 12 {
		t.Fatalf("%d records", len(recs))
	}
	for _, r := range recs {
		if r.Name == nil || r.SKU == nil || r.Price != nil || r.InStock != nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestErrorsAreRowsOnlyWhenAskedFor(t *testing.T) {
	g := start(t, Options{})
	urls := []string{
		"http://lab.test/product/1", "http://lab.test/product/99", "http://lab.test/forbidden?hard=1", "http://lab.test/empty",
		"http://lab.test/captcha?hard=1", "http://lab.test/ok", "http://10.0.0.1/",
	}
	with := g.triggerWith("dataset_id=gd_products&include_errors=true", urls...)
	without := g.triggerWith("dataset_id=gd_products", urls...)
	onlyErrors := g.trigger("gd_products", "http://lab.test/empty")
	for _, id := range []string{with, without, onlyErrors} {
		g.until(id, ready)
	}
	var codes []string
	for i, r := range decode[[]rec](t, g.download(with, "")) {
		if r.Error != "" && r.Input.URL != urls[i] {
			t.Errorf("row %d is of %s", i, r.Input.URL)
		}
		codes = append(codes, r.Code)
	}
	if got := strings.Join(codes, ","); got != ",dead_page,reject_block,empty_page,resolve_failed_captcha,no_records,policy_20030" {
		t.Errorf("codes %s", got)
	}
	if recs := decode[[]rec](t, g.download(without, "")); len(recs) != 1 {
		t.Errorf("%d rows without errors", len(recs))
	}
	if a := g.download(onlyErrors, ""); a.status != 400 || a.body != "Snapshot is empty" {
		t.Errorf("%+v", a)
	}
}

func TestPagesAndReviews(t *testing.T) {
	g := start(t, Options{})
	pages := g.trigger("gd_pages", "http://lab.test/ok", "http://lab.test/error")
	reviews := g.triggerWith("dataset_id=gd_reviews&limit_per_input=2&custom_output_fields=rating|author", "http://lab.test/product/3")
	g.until(pages, ready)
	g.until(reviews, ready)
	want := `[{"url":"http://lab.test/ok","title":"It works","text":"It works This page answers 200 with a body, every time. If you read this through a zone, the zone, its credential and the way to the target are fine.","status":200},
{"url":"http://lab.test/error","title":"Something broke","text":"500 The lab's server broke, as asked.","status":500}]`
	if a := g.download(pages, ""); a.body != want {
		t.Errorf("%s", a.body)
	}
	if a := g.download(reviews, "?format=ndjson"); a.body != `{"author":"A. Moreau","rating":3}`+"\n"+`{"author":"R. Okafor","rating":4}`+"\n" {
		t.Errorf("%s", a.body)
	}
}

func shopPages(n int) []string {
	urls := make([]string, n)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://lab.test/product/%d?i=%d", i%12+1, i)
	}
	return urls
}

// TestAJobSurvivesAKill copies the state of a running emulator, which is what a killed
// one leaves behind, and starts another on the copy.
func TestAJobSurvivesAKill(t *testing.T) {
	const n = 120
	g := start(t, Options{StateDir: t.TempDir()})
	id := g.trigger("gd_products", shopPages(n)...)
	fresh := g.trigger("gd_pages", "http://lab.test/ok") // answered, so it must be there
	g.until(id, func(p progress) bool { return p.Done >= 10 })
	copied := statetest.Killed(t, g.state)
	lines := func(d *state.Dir) map[int]string {
		out := map[int]string{}
		err := state.Lines("records").Each(d, id, func(n int, line []byte) error {
			out[n] = string(line)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	left, err := state.Open(copied, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	before := lines(left)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	if len(before) < 10 || len(before) >= n {
		t.Fatalf("the job was killed with %d lines", len(before))
	}

	h := start(t, Options{StateDir: copied})
	if len(h.r.Notes) != 0 {
		t.Errorf("notes: %q", h.r.Notes)
	}
	if p := h.until(id, ready); p.Done != n || p.Records != n || p.Errors != 0 {
		t.Errorf("%+v", p)
	}
	h.until(fresh, ready)
	recs := decode[[]rec](t, h.download(id, ""))
	if len(recs) != n {
		t.Errorf("%d records, want %d", len(recs), n)
	}
	for i, r := range recs {
		if want := fmt.Sprintf("http://lab.test/product/%d", i%12+1); r.URL != want {
			t.Errorf("record %d is of %s, want %s", i, r.URL, want)
		}
	}
	after := lines(h.state)
	if len(after) != n {
		t.Errorf("%d lines, want %d", len(after), n)
	}
	for i, line := range before { // each has the moment at which it was collected
		if after[i] != line {
			t.Errorf("input %d was done again: %s, before %s", i, after[i], line)
		}
	}
}

func TestANoticeWithoutAnAddressIsTaken(t *testing.T) {
	g := start(t, Options{})
	for _, v := range []string{"true", "false"} {
		if a := g.do("POST", g.r.API+"/datasets/v3/trigger?dataset_id=gd_pages&notify="+v, g.key("ci-fetch"), `[{"url":"http://lab.test/ok"}]`); a.status != 200 || !strings.Contains(a.body, "snapshot_id") {
			t.Errorf("notify=%s: %+v", v, a)
		}
	}
}
