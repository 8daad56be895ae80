package emulator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/scenario"
)

func (g *rig) page(body string) reply {
	g.t.Helper()
	return g.do("POST", g.r.API+"/request", g.key("ci-fetch"), body)
}

const okPage = `{"zone":"unlocker_demo","url":"http://lab.test/ok","format":"raw"}`

func TestAKeyExpiresWhenTimeIsMoved(t *testing.T) {
	dir := t.TempDir()
	g := start(t, Options{StateDir: dir})
	if got := g.page(okPage); got.status != 200 {
		t.Fatalf("before: %d %s", got.status, got.body)
	}
	var told struct{ Now, Offset string }
	got := g.control("POST", "/time", `{"advance":"8d"}`)
	if err := json.Unmarshal([]byte(got.body), &told); err != nil || got.status != 200 || told.Offset != "192h0m0s" {
		t.Fatalf("moved: %d %s", got.status, got.body)
	}
	now, err := time.Parse(time.RFC3339Nano, told.Now)
	if ahead := time.Until(now); err != nil || ahead < 191*time.Hour || ahead > 193*time.Hour {
		t.Errorf("it is %s, %s ahead", told.Now, ahead)
	}
	if got := g.page(okPage); got.status != 401 || got.body != "Invalid credentials" {
		t.Errorf("after eight days: %d %s", got.status, got.body)
	}
	for body, status := range map[string]int{
		`{"advance":"-1s"}`: 409, `{"to":"2020-01-01T00:00:00Z"}`: 409, `{"advance":"200w","to":"2020-01-01"}`: 400, `{}`: 400, `{"by":"1h"}`: 400, `x`: 400,
		`{"advance":"99999999h"}`: 400,
	} {
		if got := g.control("POST", "/time", body); got.status != status {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	noerr.Must(t, g.Shutdown(context.Background()))
	again := start(t, Options{StateDir: dir})
	if got := again.control("GET", "/time", nil); !strings.Contains(got.body, `"offset":"192h0m0s"`) {
		t.Errorf("after a restart: %s", got.body)
	}
}

// Every answer of the service is dated by its own clock, so that a client can tell how far it is from its own.
func TestTheDateOfAnAnswerFollowsTheClock(t *testing.T) {
	g := start(t, Options{})
	var moved time.Duration
	dated := func(what string, answer reply) {
		t.Helper()
		date, err := http.ParseTime(answer.header.Get("Date"))
		if ahead := time.Until(date) - moved; err != nil || ahead.Abs() > time.Hour || len(answer.header["Date"]) != 1 {
			t.Errorf("%s, %s after the move: dated %q, %v", what, moved, answer.header["Date"], err)
		}
	}
	answers := func() {
		t.Helper()
		dated("the API", g.do("GET", g.r.API+"/datasets/list", g.key("etl-main"), nil))
		dated("a refusal", g.do("GET", g.r.API+"/datasets/list", "no-key", nil))
		dated("a fetched page", g.page(okPage))
		dated("the control interface", g.control("GET", "/time", nil))
		dated("the lab", g.do("GET", g.r.LabDirect+"/ok", "", nil))
		dated("a page by the proxy", g.get(g.through("datacenter_demo"), "http://lab.test/ok"))
		dated("a page in a re-signed connection", g.get(g.through("residential_demo"), "https://lab.test/ok"))
		dated("a refusal of the proxy", g.get(g.through("datacenter_demo-country-zz"), "http://lab.test/ok"))
	}
	answers()
	moved = 60 * time.Hour
	dated("the move itself", g.control("POST", "/time", `{"advance":"60h"}`))
	answers()
}

func TestAClockWithAStartGoesOnAtTheNextStart(t *testing.T) {
	dir, c, sc := t.TempDir(), newClock(), scenario.Demo()
	sc.ClockStart = c.base.AddDate(-1, 0, 0)
	g := start(t, Options{StateDir: dir, Now: c.now, Scenario: sc})
	if now := g.now(); !now.Equal(sc.ClockStart) {
		t.Errorf("it begins at %s", now)
	}
	noerr.Must(t, g.Shutdown(t.Context()))
	c.forward(time.Hour)
	if now := start(t, Options{StateDir: dir, Now: c.now, Scenario: sc}).now(); !now.Equal(sc.ClockStart.Add(time.Hour)) {
		t.Errorf("an hour later it is %s", now)
	}
}

func TestMovesAtOnceAreAllKept(t *testing.T) {
	g := start(t, Options{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got := g.control("POST", "/time", `{"advance":"1h"}`); got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	wg.Wait()
	if kept, _, err := clockOffset.Get(g.state, clockName); err != nil || kept != "20h0m0s" {
		t.Errorf("%q, %v", kept, err)
	}
}

func TestAFaultIsSetWhileItRuns(t *testing.T) {
	g := start(t, Options{})
	for _, c := range []struct {
		rule  string
		check func(reply) bool
	}{
		{`{"point":"api","action":"status","status":503,"headers":{"Retry-After":"3"},"zone":"unlocker_demo"}`, func(r reply) bool {
			return r.status == 503 && r.header.Get("Retry-After") == "3" && r.header.Get("x-emulator-fault") == "mine" && r.header.Get("x-emulator-basis") != ""
		}},
		{`{"point":"api","action":"status","status":503,"zone":"serp_demo"}`, func(r reply) bool { return r.status == 200 && strings.Contains(r.body, "<") }},
		{`{"point":"api","action":"status","status":503,"product":"unlocker","host":"lab.*","path":"/request","method":"POST"}`, func(r reply) bool { return r.status == 503 }},
		{`{"point":"api","action":"too_fast","retry_after":"2s"}`, func(r reply) bool { return r.status == 429 && r.header.Get("Retry-After") == "2" }},
		{`{"point":"api","action":"error","code":"reject_block","status":403,"message":"blocked"}`, func(r reply) bool {
			return r.status == 200 && r.body == "" && r.header.Get("x-brd-status-code") == "403" && r.header.Get("x-brd-error-code") == "reject_block" && r.header.Get("x-brd-error") == "blocked"
		}},
		{`{"point":"api","action":"empty"}`, func(r reply) bool {
			return r.status == 200 && r.body == "" && r.header.Get("x-brd-status-code") == "200"
		}},
	} {
		rule := strings.Replace(c.rule, "{", `{"id":"mine",`, 1)
		g.fault(rule)
		if got := g.page(okPage); !c.check(got) {
			t.Errorf("%s: %d %q %v", rule, got.status, got.body, got.header)
		}
		if got := g.control("DELETE", "/faults/mine", nil); got.status != 200 {
			t.Fatalf("removed: %d %s", got.status, got.body)
		}
	}
	if got := g.page(okPage); got.status != 200 || got.body == "" {
		t.Errorf("without faults: %d", got.status)
	}
	g.control("POST", "/faults", `{"point":"api","action":"status","status":503,"zone":"unlocker_demo","host":"lab.test"}`)
	if got := g.page(`{"zone":"unlocker_demo","url":"http://lab.test/ok","format":"raw","body":"` + strings.Repeat("x", 2*maxPeek) + `"}`); got.status != 503 {
		t.Errorf("with a long body: %d %s", got.status, got.body)
	}
}

func TestFaultsAreManaged(t *testing.T) {
	g := start(t, Options{})
	got := g.control("POST", "/faults", `[{"id":"a","point":"api","action":"status","status":500,"nth":2},{"point":"job","action":"fail"}]`)
	if got.status != 201 || !strings.Contains(got.body, `"id":"fault-1"`) {
		t.Fatalf("added: %d %s", got.status, got.body)
	}
	g.page(okPage)
	if got := g.page(okPage); got.status != 500 {
		t.Errorf("the second call: %d", got.status)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/faults/a", "", 200, `{"id":"a","point":"api","nth":2,"action":"status","status":500,"off":false,"calls":2,"hits":1,"added":`},
		{"POST", "/faults/a/off", "", 200, `"off":true`},
		{"POST", "/faults/a/on", "", 200, `"off":false`},
		{"PUT", "/faults/a", `{"point":"api","action":"drop","every":3}`, 200, `{"id":"a","point":"api","every":3,"action":"drop","off":false,"calls":0,"hits":0,"added":`},
		{"PUT", "/faults/a", `[]`, 400, "not by 0"},
		{"PUT", "/faults/none", `{"point":"api","action":"drop"}`, 404, "no such fault"},
		{"POST", "/faults", `{"id":"a","point":"api","action":"drop"}`, 409, "exists"},
		{"POST", "/faults", `{"point":"api","action":"explode"}`, 400, `\"explode\" is not an action of the api; expected one of latency`},
		{"POST", "/faults", `{"point":"api","action":"drop","colour":"red"}`, 400, `unknown field \"colour\"`},
		{"GET", "/faults/none", "", 404, "no such fault: none"},
		{"DELETE", "/faults/none", "", 404, "no such fault"},
		{"POST", "/faults/none/on", "", 404, "no such fault"},
		{"GET", "/faults", "", 200, `"id":"fault-1"`},
		{"DELETE", "/faults", "", 200, `"deleted":2`},
		{"GET", "/faults", "", 200, `{"faults":[]}`},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		if got := g.control(c.method, c.path, body); got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.status, got.body)
		}
	}
}

func TestATriggerWhoseAnswerIsLostHasHappened(t *testing.T) {
	g := start(t, Options{})
	jobs := func() int {
		var list []any
		got := g.do("GET", g.r.API+"/datasets/v3/snapshots?dataset_id=gd_products", g.key("ci-fetch"), nil)
		noerr.Must(t, json.Unmarshal([]byte(got.body), &list))
		return len(list)
	}
	trigger := func(rule string) error {
		g.fault(rule)
		defer g.control("DELETE", "/faults", nil)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.r.API+"/datasets/v3/trigger?dataset_id=gd_products", strings.NewReader(`[{"url":"http://lab.test/shop"}]`))
		noerr.Must(t, err)
		req.Header.Set("Authorization", "Bearer "+g.key("ci-fetch"))
		req.Header.Set("Content-Type", "application/json")
		resp, err := g.client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := trigger(`{"point":"api","path":"*/trigger","dataset":"gd_products","action":"drop"}`); err == nil || jobs() != 0 {
		t.Errorf("dropped before it was accepted: %v, %d jobs", err, jobs())
	}
	if err := trigger(`{"point":"api","path":"*/trigger","dataset":"gd_products","action":"drop","accepted":true}`); err == nil || jobs() != 1 {
		t.Errorf("dropped after it was accepted: %v, %d jobs", err, jobs())
	}
}

func TestAJobFailsWhereAFaultSaysSo(t *testing.T) {
	sc, err := scenario.Parse("s.toml", []byte(`
page_delay = "0s"
[[faults]]
point = "job"
dataset = "gd_products"
path = "/shop"
action = "error"
code = "dead_page"
nth = 1
[[faults]]
point = "job"
path = "/fails"
action = "fail"
message = "the collector broke"
`))
	noerr.Must(t, err)
	g := start(t, Options{Scenario: sc})
	run := func(url string) (status, rows string) {
		got := g.do("POST", g.r.API+"/datasets/v3/trigger?dataset_id=gd_products&include_errors=true", g.key("ci-fetch"), fmt.Sprintf(`[{"url":%q}]`, url))
		var job struct {
			ID string `json:"snapshot_id"`
		}
		if err := json.Unmarshal([]byte(got.body), &job); err != nil || job.ID == "" {
			t.Fatalf("%d %s", got.status, got.body)
		}
		p := g.until(job.ID, func(p progress) bool { return p.Status == "ready" || p.Status == "failed" })
		return p.Status, g.do("GET", g.r.API+"/datasets/v3/snapshot/"+job.ID, g.key("ci-fetch"), nil).body
	}
	if status, rows := run("http://lab.test/shop"); status != "ready" || !strings.Contains(rows, `"error_code":"dead_page"`) {
		t.Errorf("an input with an error: %s %s", status, rows)
	}
	if status, rows := run("http://lab.test/shop"); status != "ready" || strings.Contains(rows, "dead_page") {
		t.Errorf("the same input again: %s %s", status, rows)
	}
	if status, _ := run("http://lab.test/fails"); status != "failed" {
		t.Errorf("a job that fails: %s", status)
	}
	id := g.trigger("gd_products", "http://lab.test/fails")
	g.until(id, func(p progress) bool { return p.Status == "failed" })
	if a := g.do("GET", g.r.API+"/datasets/v3/progress/"+id, g.key("ci-fetch"), nil); !strings.Contains(a.body, `"error_message":"the collector broke"`) {
		t.Errorf("%+v", a)
	}
}

func TestTheJournalTellsWhatAClientSent(t *testing.T) {
	g := start(t, Options{})
	g.page(okPage)
	g.page(`{"zone":"z","password":"s3cret-of-mine"}`)
	g.do("POST", g.r.API+"/request", "not-a-key-of-this-account", okPage)
	read := func(query string) (entries []record.Entry, last uint64) {
		t.Helper()
		got := g.control("GET", "/requests"+query, nil)
		var page record.Page
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != 200 {
			t.Fatalf("%s: %d %s", query, got.status, got.body)
		}
		for _, secret := range []string{g.key("ci-fetch"), "not-a-key-of-this-account", "s3cret-of-mine"} {
			if strings.Contains(got.body, secret) {
				t.Errorf("%s is in %s", secret, got.body)
			}
		}
		return page.Requests, page.Last
	}
	all, last := read("")
	if len(all) != 3 || last != 3 {
		t.Fatalf("%d entries, the last is %d", len(all), last)
	}
	if e := all[0]; e.Key != "ci-fetch" || e.Status != 200 || e.Inner != 200 || e.Body != okPage || e.Point != "api" || e.Zone != "unlocker_demo" || e.Target != "http://lab.test/ok" || e.Method != http.MethodPost || e.URL != "/request" || e.BytesOut == 0 || e.Basis == "" {
		t.Errorf("the first: %+v", e)
	}
	if e := all[1]; e.Status != 400 || e.Body != `{"zone":"z","password":"****"}` {
		t.Errorf("the second: %+v", e)
	}
	if e := all[2]; e.Key != "" || e.Status != 401 || e.Header["Authorization"] != "Bearer ****" {
		t.Errorf("the third: %+v", e)
	}
	if some, _ := read("?since=1&point=api&limit=1"); len(some) != 1 || some[0].Seq != 2 {
		t.Errorf("since 1: %+v", some)
	}
	for _, bad := range []string{"?since=x", "?limit=0", "?limit=x", "?follow=2x", "?colour=red"} {
		if got := g.control("GET", "/requests"+bad, nil); got.status != 400 {
			t.Errorf("%s: %d", bad, got.status)
		}
	}
	if got := g.do("GET", g.r.Control+"/requests", g.key("ci-fetch"), nil); got.status != 401 {
		t.Errorf("without the control token: %d", got.status)
	}
}

func TestTheJournalIsFollowed(t *testing.T) {
	g := start(t, Options{})
	g.page(okPage)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.r.Control+"/requests?follow=true", nil)
	noerr.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+g.r.ControlToken)
	resp, err := g.client.Do(req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for want := uint64(1); want <= 3; want++ {
		var e record.Entry
		if !lines.Scan() {
			t.Fatalf("no line: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Seq != want || e.URL != "/request" {
			t.Errorf("line %s, %v", lines.Bytes(), err)
		}
		g.page(okPage)
	}
	followed := make(chan error, 1)
	n := 0
	go func() {
		followed <- g.Follow(context.Background(), func(*record.Entry, uint64) error { n++; return nil })
	}()
	cancel()
	_, _ = io.Copy(io.Discard, resp.Body)
	noerr.Must(t, g.Shutdown(context.Background()))
	if err := <-followed; err == nil || n != 4 {
		t.Errorf("a follower in the process ended with %v after %d", err, n)
	}
}

func TestTheSameSeedGivesTheSameAnswers(t *testing.T) {
	run := func(seed int) (seen string) {
		g := playing(t, fmt.Sprintf("seed = %d\n[[faults]]\npoint = \"api\"\npath = \"/request\"\naction = \"status\"\nstatus = 503\nprobability = 0.5\n", seed))
		for range 40 {
			seen += strconv.Itoa(g.page(okPage).status) + " "
		}
		return seen
	}
	first := run(7)
	if again := run(7); again != first || !strings.Contains(first, "503") || !strings.Contains(first, "200") {
		t.Errorf("%s\n%s", first, again)
	}
	if other := run(8); other == first {
		t.Error("another seed, the same answers")
	}
}

func TestKeysHaveTheSameDatesAfterARestart(t *testing.T) {
	for name, begins := range map[string]time.Duration{"the machine's time": 0, "a time of its own": -365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			dir, c, sc := t.TempDir(), newClock(), scenario.Demo()
			if begins != 0 {
				sc.ClockStart = c.base.Add(begins)
			}
			g := start(t, Options{StateDir: dir, Now: c.now, Scenario: sc})
			first, dates := g.now(), g.Ready().Keys
			i := slices.IndexFunc(dates, func(k account.Key) bool { return k.Name == "batch-user" })
			if want := first.AddDate(0, 0, -20).UTC().Format(time.RFC3339); dates[i].Rotated != want {
				t.Errorf("it was rotated at %s, want %s", dates[i].Rotated, want)
			}
			if got := g.control("POST", "/time", `{"advance":"720h"}`); got.status != 200 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			for range 2 {
				if now := g.Ready().Keys; !slices.Equal(now, dates) {
					t.Errorf("the keys are\n%v\nwant those of the first start:\n%v", now, dates)
				}
				noerr.Must(t, g.Shutdown(t.Context()))
				c.forward(24 * time.Hour)
				g = start(t, Options{StateDir: dir, Now: c.now, Scenario: sc})
			}
			noerr.Must(t, g.Shutdown(t.Context()))
			noerr.Must(t, ClearState(dir))
			g = start(t, Options{StateDir: dir, Now: c.now, Scenario: sc})
			if anew := g.Ready().Keys[i].Rotated; anew != g.now().AddDate(0, 0, -20).UTC().Format(time.RFC3339) {
				t.Errorf("after a reset at %s it was rotated at %s", g.now(), anew)
			}
		})
	}
}

// playing starts an emulator with a scenario in TOML.
func playing(t *testing.T, text string) *rig {
	t.Helper()
	sc, err := scenario.Parse("s.toml", []byte(text))
	noerr.Must(t, err)
	return start(t, Options{Scenario: sc})
}

// recorded are the entries of a point, once there are n.
func (g *rig) recorded(point string, n int) []record.Entry {
	g.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		p := g.rehearsal.requests.Read(record.Query{Point: point})
		if len(p.Requests) >= n {
			return p.Requests
		}
		select {
		case <-tick.C:
		case <-end:
			g.t.Fatalf("%d entries of the %s, not %d", len(p.Requests), point, n)
		}
	}
}

func TestTheTargetsOfAScenarioAreReachedByEveryWay(t *testing.T) {
	g := playing(t, `
[[targets]]
host = "shop.example"
path = "/page"
status = 203
headers = { X-Shop = "yes" }
body = "<p>hello</p>"
`)
	for _, url := range []string{"http://shop.example/page", "https://shop.example/page", "http://SHOP.example:8080/page"} {
		got := g.page(fmt.Sprintf(`{"zone":"datacenter_demo","url":%q,"format":"raw"}`, url))
		if got.body != "<p>hello</p>" || got.header.Get("x-brd-status-code") != "203" {
			t.Errorf("%s by the API: %d %q %v", url, got.status, got.body, got.header)
		}
		for _, zone := range []string{"datacenter_demo", "residential_demo"} {
			if got := g.get(g.through(zone), url); got.body != "<p>hello</p>" || got.status != 203 || got.header.Get("X-Shop") != "yes" {
				t.Errorf("%s through %s: %d %q", url, zone, got.status, got.body)
			}
		}
	}
	if got := g.page(`{"zone":"datacenter_demo","url":"http://shop.example/other","format":"raw"}`); got.header.Get("x-brd-status-code") != "404" {
		t.Errorf("another page: %v", got.header)
	}
}

// fault adds a rule.
func (g *rig) fault(rule string) {
	g.t.Helper()
	if got := g.control("POST", "/faults", rule); got.status != 201 {
		g.t.Fatalf("%s: %d %s", rule, got.status, got.body)
	}
}

// onlyFault adds a rule in place of all others.
func (g *rig) onlyFault(rule string) {
	g.t.Helper()
	g.control("DELETE", "/faults", nil)
	g.fault(rule)
}

func TestFaultsOfTheProxyHitAfterTheLogin(t *testing.T) {
	g := start(t, Options{})
	g.onlyFault(`{"id":"a","point":"proxy","zone":"datacenter_demo","action":"error","code":"peer_30040","status":408,"message":"no peer in time"}`)
	if got := g.get(g.through("datacenter_demo"), "http://lab.test/ok"); got.status != 408 || got.header.Get("x-brd-err-code") != "peer_30040" || got.header.Get("x-emulator-fault") != "a" {
		t.Errorf("a refusal: %d %v", got.status, got.header)
	}
	if got := g.get(g.through("isp_demo"), "http://lab.test/ok"); got.status != 200 {
		t.Errorf("another zone: %d", got.status)
	}
	if _, err := g.through("datacenter_demo").Get("https://lab.test/ok"); err == nil || !strings.Contains(err.Error(), "Request Timeout") {
		t.Errorf("a CONNECT: %v", err)
	}
	g.onlyFault(`{"point":"proxy","action":"drop","nth":1}`)
	if _, err := g.through("datacenter_demo").Get("http://lab.test/ok"); !errors.Is(err, io.EOF) {
		t.Errorf("dropped: %v", err)
	}
	if got := g.get(g.through("datacenter_demo"), "http://lab.test/ok"); got.status != 200 {
		t.Errorf("the second request: %d", got.status)
	}
	g.onlyFault(`{"point":"proxy","action":"cut","after":5,"method":"GET","path":"/ok"}`)
	for _, url := range []string{"http://lab.test/ok", "https://lab.test/ok"} { // plain, and within a re-signed connection
		resp, err := g.through("residential_demo").Get(url)
		noerr.Must(t, err)
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || len(b) != 5 {
			t.Errorf("%s cut: %q, %v", url, b, err)
		}
	}
}

func TestFaultsOfTargetsAreSeenByProductsAndThroughTheProxy(t *testing.T) {
	g := start(t, Options{})
	g.onlyFault(`{"point":"target","host":"lab.test","path":"/shop","action":"captcha","from":2}`)
	if got := g.get(g.through("datacenter_demo"), "http://lab.test/shop"); strings.Contains(got.body, "g-recaptcha") {
		t.Error("a CAPTCHA at the first request")
	}
	for range 2 {
		if got := g.get(g.through("datacenter_demo"), "http://lab.test/shop"); got.status != 200 || !strings.Contains(got.body, "g-recaptcha") {
			t.Errorf("from the second request: %d %q", got.status, got.body)
		}
	}
	g.onlyFault(`{"point":"target","path":"/shop","action":"drift","in":"1h"}`)
	before := g.get(g.through("datacenter_demo"), "http://lab.test/shop")
	g.control("POST", "/time", `{"advance":"61m"}`)
	after := g.get(g.through("datacenter_demo"), "http://lab.test/shop")
	if !strings.Contains(before.body, `class="`) || before.body == after.body || len(after.body) == 0 {
		t.Errorf("drift from an hour on: %q became %q", before.body, after.body)
	}
	g.onlyFault(`{"point":"target","action":"error","code":"target_40001","status":502}`)
	if got := g.get(g.through("datacenter_demo"), "http://lab.test/ok"); got.status != 502 || got.header.Get("x-brd-err-code") != "target_40001" {
		t.Errorf("an error code: %d %v", got.status, got.header)
	}
	got := g.page(`{"zone":"datacenter_demo","url":"http://lab.test/ok","format":"raw"}`)
	if got.status != 200 || got.body != "" || got.header.Get("x-brd-error-code") != "target_40001" || got.header.Get("x-brd-status-code") != "502" {
		t.Errorf("an error code by the API: %d %q %v", got.status, got.body, got.header)
	}
	g.onlyFault(`{"point":"target","action":"captcha"}`)
	if got := g.page(`{"zone":"datacenter_demo","url":"http://lab.test/ok","format":"raw"}`); !strings.Contains(got.body, "g-recaptcha") {
		t.Errorf("a CAPTCHA by the API: %d %q", got.status, got.body)
	}
	if got := g.page(okPage); got.body != "" || !strings.Contains(got.header.Get("x-brd-error-code"), "captcha") {
		t.Errorf("a CAPTCHA that the unlocker cannot get past: %d %q %v", got.status, got.body, got.header)
	}
	g.onlyFault(`{"point":"target","action":"cut","after":40,"method":"CONNECT"}`)
	if _, err := g.through("datacenter_demo").Get("https://lab.test/ok"); err == nil {
		t.Error("a tunnel that is cut within the handshake carried a page")
	}
}

func TestAZoneTakesRequestsAsTheScenarioSays(t *testing.T) {
	g := playing(t, `
[[zones]]
name = "only"
product = "unlocker"
async = "only"
[[zones]]
name = "off"
product = "unlocker"
async = "off"
[[zones]]
name = "both"
product = "unlocker"
`)
	for _, c := range []struct {
		zone, query string
		status      int
	}{{"only", "", 400}, {"off", "", 200}, {"both", "", 200}, {"only", "?async=true", 200}, {"off", "?async=true", 400}, {"both", "?async=true", 200}} {
		got := g.do("POST", g.r.API+"/request"+c.query, g.key("ci-fetch"), fmt.Sprintf(`{"zone":%q,"url":"http://lab.test/ok","format":"raw"}`, c.zone))
		if got.status != c.status {
			t.Errorf("%s%s: %d %s", c.zone, c.query, got.status, got.body)
		}
	}
}

func TestTheJournalKnowsWhatCameThroughTheProxy(t *testing.T) {
	g := start(t, Options{})
	for _, c := range []struct{ zone, url string }{
		{"datacenter_demo", "http://lab.test/ok?token=abc"}, {"datacenter_demo", "https://lab.test/ok"}, {"residential_demo", "https://lab.test/ok"},
	} {
		client := g.through(c.zone)
		g.get(client, c.url)
		client.CloseIdleConnections()
	}
	entries := g.recorded("proxy", 3)
	plain, tunnel, resigned := entries[0], entries[1], entries[2]
	if tunnel.Zone != "datacenter_demo" {
		tunnel, resigned = resigned, tunnel // a tunnel ends when its connection does
	}
	if plain.URL != "http://lab.test/ok?token=****" || plain.Zone != "datacenter_demo" || plain.Status != 200 || plain.User != "brd-customer-hl_demo01-zone-datacenter_demo" || plain.Header["Proxy-Authorization"] != "Basic ****" || plain.BytesOut == 0 {
		t.Errorf("a plain request: %+v", plain)
	}
	if tunnel.Method != http.MethodConnect || tunnel.URL != "lab.test:443" || tunnel.Status != 200 || tunnel.BytesIn == 0 || tunnel.BytesOut < 500 {
		t.Errorf("a tunnel: %+v", tunnel)
	}
	if resigned.Method != http.MethodConnect || resigned.Zone != "residential_demo" || resigned.Status != 200 {
		t.Errorf("a re-signed connection: %+v", resigned)
	}
	if inner := g.recorded("inner", 1)[0]; inner.Target != "https://lab.test:443/ok" || inner.Zone != "residential_demo" || inner.Status != 200 || inner.User == "" {
		t.Errorf("a request within it: %+v", inner)
	}
	conn, err := net.Dial("tcp", g.r.Proxy)
	noerr.Must(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\n\r\n")
	if e := g.recorded("proxy", 4)[3]; e.Status != 407 || e.Code != "client_10010" || e.Zone != "" {
		t.Errorf("a refused login: %+v", e)
	}
}
