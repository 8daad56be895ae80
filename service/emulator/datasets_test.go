package emulator

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/scenario"
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
		noerr.Must(t, err)
		return out
	}
	left, err := state.Open(copied, time.Now)
	noerr.Must(t, err)
	before := lines(left)
	noerr.Must(t, left.Close())
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

type webhook struct {
	header http.Header
	body   string
}

// hooks is a receiver on a loopback port, which answers the first requests as told.
type webhooks struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	got      []webhook
}

func receiveWebhooks(t *testing.T, statuses ...int) *webhooks {
	t.Helper()
	h := &webhooks{statuses: statuses}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, webhook{r.Header.Clone(), string(b)})
		if len(h.statuses) > 0 {
			w.WriteHeader(h.statuses[0])
			h.statuses = h.statuses[1:]
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *webhooks) all() []webhook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]webhook(nil), h.got...)
}

type sent struct {
	Status   string
	Next     time.Time `json:"next_attempt"`
	Attempts []struct {
		Status       int
		Error, Fault string
	}
}

// sentBy asks for the deliveries of a snapshot until the only one is as wanted.
func (g *rig) sentBy(id string, ok func(sent) bool) sent {
	g.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for {
		ds := decode[[]sent](g.t, g.do("GET", g.r.API+"/datasets/v3/deliveries?snapshot_id="+id, g.key("batch-user"), nil))
		if len(ds) == 1 && ok(ds[0]) {
			return ds[0]
		}
		select {
		case <-tick.C:
		case <-end:
			g.t.Fatalf("still %+v", ds)
		}
	}
}

func TestAWebhookIsSignedRetriedAndFollowsTheClock(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	h := receiveWebhooks(t, http.StatusBadGateway)
	s := scenario.Demo()
	s.WebhookSecret = secret
	g := start(t, Options{Scenario: s, AllowPrivate: []string{h.Listener.Addr().String()}})
	id := g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(h.URL+"/in"), "http://lab.test/ok")
	g.sentBy(id, func(d sent) bool { return len(d.Attempts) == 1 && d.Attempts[0].Status == http.StatusBadGateway })
	if a := g.control("POST", "/time", map[string]string{"advance": "1h"}); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	g.sentBy(id, func(d sent) bool { return d.Status == "done" })
	wh, err := standardwebhooks.NewWebhook(secret)
	noerr.Must(t, err)
	got := h.all()
	if len(got) != 2 || got[1].body != `{"snapshot_id":"`+id+`","status":"ready"}` {
		t.Fatalf("%+v", got)
	}
	for _, one := range got {
		noerr.Want(t, wh.Verify([]byte(one.body), one.header))
	}
}

func TestAWebhookReachesNoPrivateAddressUnasked(t *testing.T) {
	h := receiveWebhooks(t)
	var told bytes.Buffer
	g := start(t, Options{Log: slog.New(slog.NewTextHandler(&told, nil))})
	id := g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(h.URL), "http://lab.test/ok")
	d := g.sentBy(id, func(d sent) bool { return len(d.Attempts) == 1 && d.Attempts[0].Error != "" })
	if len(h.all()) != 0 || d.Attempts[0].Status != 0 {
		t.Errorf("%+v", d)
	}
	got := g.control("GET", "/requests?point=webhook", nil)
	if !strings.Contains(got.body, `"code":"policy_20030"`) {
		t.Errorf("%+v", got)
	}
	noerr.Must(t, g.Shutdown(t.Context()))
	if !strings.Contains(told.String(), "--allow-private "+h.Listener.Addr().String()) {
		t.Errorf("whoever runs the emulator is told %q", told.String())
	}
}

func TestAWebhookReachesThisMachineWhereItMay(t *testing.T) {
	h := receiveWebhooks(t)
	g := start(t, Options{LoopbackWebhooks: true})
	id := g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(h.URL), "http://lab.test/ok")
	g.sentBy(id, func(d sent) bool { return d.Status == "done" })
	control := g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(g.Ready().Control), "http://lab.test/ok")
	g.sentBy(control, func(d sent) bool {
		return len(d.Attempts) == 1 && d.Attempts[0].Status == 0 && d.Attempts[0].Error != ""
	})
	lost := g.triggerWith("dataset_id=gd_pages&endpoint="+url.QueryEscape(h.URL), h.URL+"/page") // no target there
	g.sentBy(lost, func(d sent) bool { return d.Status == "done" })
	for _, one := range h.all() {
		if strings.Contains(one.header.Get("User-Agent"), "Mozilla") {
			t.Errorf("a target of this machine was fetched: %+v", one)
		}
	}
	if n := len(h.all()); n != 2 {
		t.Errorf("%d requests, want two webhooks", n)
	}
}

func TestFaultsOfWebhooksAndJobs(t *testing.T) {
	h := receiveWebhooks(t)
	s := scenario.Demo()
	s.Faults = []fault.Rule{
		{ID: "lost", Match: fault.Match{Point: fault.Webhook, Path: "/lost"}, Do: fault.Action{Kind: fault.Never}},
		{ID: "again", Match: fault.Match{Point: fault.Webhook, Path: "/again"}, Do: fault.Action{Kind: fault.Twice, Copies: 3}},
		{ID: "late", Match: fault.Match{Point: fault.Webhook, Path: "/late"}, Do: fault.Action{Kind: fault.Late, Delay: fault.Delay{Fixed: 5 * time.Minute}}},
		{ID: "fails", Match: fault.Match{Point: fault.Job, Dataset: "gd_reviews"}, Do: fault.Action{Kind: fault.Fail}},
	}
	g := start(t, Options{Scenario: s, AllowPrivate: []string{h.Listener.Addr().String()}})
	notify := func(path string) string {
		return g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(h.URL+path), "http://lab.test/ok")
	}
	g.sentBy(notify("/lost"), func(d sent) bool { return d.Status == "failed" && d.Attempts[0].Fault == "never" })
	if n := len(h.all()); n != 0 {
		t.Errorf("%d posts of a lost webhook", n)
	}
	g.sentBy(notify("/again"), func(d sent) bool { return d.Status == "done" })
	if n := len(h.all()); n != 3 {
		t.Errorf("%d posts, want 3", n)
	}
	late := notify("/late")
	g.until(late, ready)
	g.sentBy(late, func(d sent) bool {
		return d.Status == "running" && len(d.Attempts) == 0 && time.Until(d.Next) > 4*time.Minute
	})
	if a := g.control("POST", "/time", map[string]string{"advance": "5m"}); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	g.sentBy(late, func(d sent) bool { return d.Status == "done" })
	if e := g.recorded("webhook", 4)[3]; e.URL != h.URL+"/late" || e.Status != 200 {
		t.Errorf("recorded %+v", e)
	}
	for id, want := range map[string]int64{"lost": 1, "again": 1, "late": 1} {
		if c, err := g.rehearsal.faults.Get(id); err != nil || c.Hits != want {
			t.Errorf("%s: %d hits, %v", id, c.Hits, err)
		}
	}

	id := g.trigger("gd_reviews", "http://lab.test/product/1")
	g.until(id, func(p progress) bool { return p.Status == "failed" })
	if a := g.do("GET", g.r.API+"/datasets/v3/progress/"+id, g.key("batch-user"), nil); !strings.Contains(a.body, `"error_message":"Something went wrong. Our team is looking into it."`) {
		t.Errorf("%+v", a)
	}
}

func TestACrawlLeavesThroughTheEmulator(t *testing.T) {
	g := start(t, Options{})
	id := g.triggerWith("dataset_id=gd_m6gjtfmeh43we6cqc&limit_per_input=5&custom_output_fields=url|markdown|html2text|page_html", "http://lab.test/site/")
	g.until(id, ready)
	type page struct {
		URL      string `json:"url"`
		Markdown string `json:"markdown"`
		Text     string `json:"html2text"`
		HTML     string `json:"page_html"`
	}
	pages := decode[[]page](t, g.download(id, ""))
	if len(pages) != 5 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, p := range pages {
		if !strings.HasPrefix(p.URL, "http://lab.test/site/") || !strings.Contains(p.Markdown, "# ") || p.Text == "" || !strings.Contains(p.HTML, "<h1>") {
			t.Errorf("%.200v", p)
		}
	}
}
