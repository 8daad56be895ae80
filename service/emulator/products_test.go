package emulator

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/level"
)

// needChromium skips where no Chromium is installed.
func needChromium(t testing.TB) {
	t.Helper()
	if _, err := browser.Find(""); err != nil {
		t.Skip("install chromium (Debian: apt-get install chromium): " + err.Error())
	}
}

type call = map[string]any

func (g *rig) fetched(zone, path string, more call) reply {
	g.t.Helper()
	c := call{"zone": zone, "url": "http://lab.test" + path, "format": "raw"}
	for k, v := range more {
		c[k] = v
	}
	return g.request(c)
}

func TestTheUnlockerGetsPastBlocks(t *testing.T) {
	g := start(t, Options{})
	for _, zone := range []string{"unlocker_demo", "crawl_demo", "serp_demo"} {
		for _, path := range []string{"/forbidden", "/captcha", "/too-fast"} {
			a := g.fetched(zone, path, nil)
			if a.status != 200 || a.header.Get("x-brd-status-code") != "200" || a.header.Get("x-brd-error") != "" || !strings.Contains(a.body, "the page behind the block") {
				t.Errorf("%s by %s: %+v", path, zone, a)
			}
		}
	}
}

func TestTheUnlockerReportsWhatItCouldNot(t *testing.T) {
	g := start(t, Options{})
	for path, want := range map[string][2]string{
		"/forbidden?hard=1":             {"502", "reject_block"},
		"/captcha?hard=1":               {"502", "resolve_failed_captcha"},
		"/too-fast?hard=1":              {"429", "sr_rate_limit"},
		"/redirect?to=http://10.0.0.1/": {"403", "policy_20030"},
	} {
		before := g.used("unlocker_demo")
		a := g.fetched("unlocker_demo", path, nil)
		if a.status != 200 || a.body != "" || a.header.Get("x-brd-status-code") != want[0] || a.header.Get("x-brd-error-code") != want[1] || a.header.Get("x-brd-error") == "" {
			t.Errorf("%s: %+v", path, a)
		}
		if after := g.used("unlocker_demo"); after.Nano != before.Nano || after.Billable != before.Billable {
			t.Errorf("%s was billed: %+v, then %+v", path, before, after)
		}
		// With headers of the caller's own every request is billed.
		g.fetched("unlocker_demo", path, call{"headers": call{"X-Mine": "1"}})
		if after := g.used("unlocker_demo"); after.Billable != before.Billable+1 {
			t.Errorf("%s with custom headers was not billed: %+v", path, after)
		}
	}
	if a := g.fetched("unlocker_demo", "/too-fast?hard=1", nil); a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %v", a.header)
	}
	for _, path := range []string{"/nowhere", "/error"} { // the target's own errors are no failure of the service
		a := g.fetched("unlocker_demo", path, nil)
		if a.status != 200 || a.body == "" || a.header.Get("x-brd-status-code") == "200" || a.header.Get("x-brd-error") != "" {
			t.Errorf("%s: %+v", path, a)
		}
	}
}

func TestRedirectsAreFollowedByTheUnlockerOnly(t *testing.T) {
	g := start(t, Options{})
	if a := g.fetched("unlocker_demo", "/redirect?to=/ok&n=3", nil); !strings.Contains(a.body, "It works") {
		t.Errorf("unlocker: %+v", a)
	}
	if a := g.fetched("isp_demo", "/redirect?to=/ok&n=3", nil); !strings.HasPrefix(a.header.Get("x-brd-status-code"), "30") || a.header.Get("Location") == "" {
		t.Errorf("ISP: %+v", a)
	}
	if a := g.fetched("unlocker_demo", "/redirect?to=/ok&n=11", nil); a.header.Get("x-brd-error-code") != "document_load_failed" || a.body != "" {
		t.Errorf("too many: %+v", a)
	}
	if a := g.fetched("unlocker_demo", "/redirect?to="+url.QueryEscape(g.r.Control+"/ready"), nil); a.header.Get("x-brd-error-code") != "policy_20030" {
		t.Errorf("to this machine: %+v", a)
	}
	if a := g.fetched("unlocker_demo", "/redirect?to="+url.QueryEscape("http://mail.example:25/"), nil); a.header.Get("x-brd-error-code") != "policy_20020" {
		t.Errorf("to a mail server: %+v", a)
	}
}

func TestFieldsByProduct(t *testing.T) {
	g := start(t, Options{})
	fields := []struct {
		name  string
		value any
		zones string // that take it
	}{
		{"data_format", "markdown", "unlocker serp browser crawl"},
		{"data_format", "screenshot", "unlocker serp browser"},
		{"data_format", "html", "serp browser crawl"},
		{"data_format", "parsed_light", ""},
		{"render", true, "unlocker browser"},
		{"body", "x", "datacenter isp residential mobile unlocker crawl scrapers datasets discover deep_lookup agent"},
		{"city", "reno", "residential mobile"},
		{"state", "nv", "residential mobile"},
		{"zip", "12345", "residential mobile"},
		{"ASN", "1234", "residential mobile"},
		{"os", "windows", "residential"},
		{"carrier", "dtag", "mobile"},
		{"ip", "127.10.53.33", "datacenter isp"},
		{"gip", "us_1", "residential mobile"},
		{"dns", "remote", "datacenter isp residential mobile"},
		{"direct", true, "datacenter isp residential mobile"},
		{"session", "s1", "*"},
		{"c_tag", "t1", "*"},
		{"sdk_function", "scrape", "*"},
		{"headers", call{"X-A": "b"}, "*"},
		{"headers", call{"x-unblock-expect": `{"text":"It works"}`}, "unlocker"},
		{"headers", call{"x-unblock-city": "reno"}, "unlocker"},
		{"headers", call{"x-unblock-zipcode": "12345"}, "unlocker"},
		{"headers", call{"x-unblock-data-format": "markdown"}, "unlocker serp"},
		{"colour", "red", ""},
	}
	for _, f := range fields {
		for _, z := range g.r.Zones {
			c := call{"zone": z.Name, "url": "http://lab.test/ok", "format": "raw", "country": "us", f.name: f.value}
			takes := f.zones == "*"
			for _, p := range strings.Fields(f.zones) {
				takes = takes || p == z.Product
			}
			if takes && (z.Product == "browser" || f.value == "screenshot" || f.name == "render" || f.name == "ip") {
				continue // shown by the browser's own tests, and below
			}
			a := g.request(c)
			if takes != (a.status == 200) || !takes && !strings.Contains(a.body, f.name) {
				t.Errorf("%s=%v for %s: %d %s", f.name, f.value, z.Product, a.status, a.body)
			}
		}
	}
}

func TestLooseLetsPassWithANote(t *testing.T) {
	g := start(t, Options{Loose: true})
	a := g.fetched("isp_demo", "/ok", call{"colour": "red", "data_format": "markdown", "sdk_function": "scrape"})
	note := a.header.Get("x-emulator-note")
	if a.status != 200 || !strings.Contains(a.body, "<h1>It works") || !strings.Contains(note, "colour") || !strings.Contains(note, "data_format") || strings.Contains(note, "sdk_function") {
		t.Errorf("%+v", a)
	}
	req, err := http.NewRequest(http.MethodPost, g.r.API+"/request?x=1", strings.NewReader(`{"zone":"isp_demo","url":"http://lab.test/ok","format":"raw"}`))
	noerr.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+g.key("batch-user"))
	req.Header.Set("Content-Type", "text/plain")
	resp, err := g.client.Do(req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("x-emulator-note"), "x is ignored") {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	many := call{}
	for i := range 10_000 {
		many[fmt.Sprint("x", i)] = 1
	}
	if a := g.fetched("isp_demo", "/ok", many); a.status != 200 || len(a.header.Get("x-emulator-note")) > 5<<10 || !strings.Contains(a.header.Get("x-emulator-note"), "x0 is ignored") {
		t.Errorf("%d, a note of %d bytes", a.status, len(a.header.Get("x-emulator-note")))
	}
	// What is wrong stays wrong.
	if a := g.fetched("isp_demo", "/ok", call{"country": "USA"}); a.status != 400 {
		t.Errorf("%+v", a)
	}
}

func TestTheGETTwin(t *testing.T) {
	g := start(t, Options{})
	get := func(q url.Values) reply {
		return g.do("GET", g.r.API+"/request?"+q.Encode(), g.key("batch-user"), nil)
	}
	a := get(url.Values{
		"zone": {"mobile_demo"}, "url": {"http://lab.test/whoami"}, "format": {"json"}, "method": {"POST"}, "country": {"fr"},
		"headers": {`{"X-Test":"yes"}`}, "body": {"plain"},
	})
	if a.status != 200 || !strings.Contains(a.body, `\"X-Test\"`) || !strings.Contains(a.body, `\"method\": \"POST\"`) || !strings.Contains(a.body, `\"body\": \"plain\"`) {
		t.Errorf("%+v", a)
	}
	for want, q := range map[string]url.Values{
		"colour is not allowed":        {"zone": {"isp_demo"}, "url": {"http://lab.test/"}, "format": {"raw"}, "colour": {"red"}},
		"url is given more than once":  {"zone": {"isp_demo"}, "url": {"http://lab.test/", "http://lab.test/ok"}, "format": {"raw"}},
		"headers is not valid JSON":    {"zone": {"isp_demo"}, "url": {"http://lab.test/"}, "format": {"raw"}, "headers": {"X-A: b"}},
		"format is required":           {"zone": {"isp_demo"}, "url": {"http://lab.test/"}},
		"direct must be true or false": {"zone": {"isp_demo"}, "url": {"http://lab.test/"}, "format": {"raw"}, "direct": {"1"}},
	} {
		if a := get(q); a.status != 400 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %+v", want, a)
		}
	}
}

func TestMarkdown(t *testing.T) {
	g := start(t, Options{})
	for _, more := range []call{{"data_format": "markdown"}, {"headers": call{"x-unblock-data-format": "markdown"}}} {
		a := g.fetched("unlocker_demo", "/ok", more)
		if a.header.Get("Content-Type") != "text/markdown; charset=utf-8" || !strings.HasPrefix(a.body, "# It works") || strings.Contains(a.body, "<") {
			t.Errorf("%+v", a)
		}
	}
	if a := g.fetched("unlocker_demo", "/json", call{"data_format": "markdown"}); a.header.Get("Content-Type") != "application/json" || !strings.HasPrefix(a.body, "{") {
		t.Errorf("JSON as markdown: %+v", a)
	}
	if a := g.fetched("unlocker_demo", "/large?mb=9", call{"data_format": "markdown"}); a.header.Get("x-brd-error-code") != "document_load_failed" || a.body != "" {
		t.Errorf("9 MiB as markdown: %d bytes, %v", len(a.body), a.header)
	}
	a := g.fetched("unlocker_demo", "/ok", call{"data_format": "markdown", "format": "json"})
	if !strings.Contains(a.body, `"body":"# It works`) {
		t.Errorf("%+v", a)
	}
}

func TestSearchPagesAreParsed(t *testing.T) {
	g := start(t, Options{})
	type result struct {
		General struct {
			Query string `json:"query"`
		} `json:"general"`
		Organic []struct {
			Link  string `json:"link"`
			Title string `json:"title"`
			Rank  int    `json:"rank"`
		} `json:"organic"`
		HTML       string `json:"html"`
		Pagination struct {
			NextPageStart int `json:"next_page_start"`
		} `json:"pagination"`
	}
	for _, zone := range []string{"serp_demo", "unlocker_demo"} {
		for name, c := range map[string]struct {
			query string
			more  call
			full  bool
		}{
			"brd_json":      {"&brd_json=1", nil, true},
			"brd_json html": {"&brd_json=html", nil, true},
			"parsed_light":  {"", call{"data_format": "parsed_light"}, false},
			"the header":    {"", call{"headers": call{"x-unblock-data-format": "json"}}, true},
		} {
			a := g.fetched(zone, "/search?q=lamp"+c.query, c.more)
			if a.header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Fatalf("%s: %+v", name, a)
			}
			v := decode[result](t, a)
			if len(v.Organic) == 0 || v.Organic[0].Link == "" || v.Organic[0].Title == "" || c.full != (v.General.Query == "lamp") || (v.HTML != "") != (name == "brd_json html") {
				t.Errorf("%s by %s: %+v", name, zone, v)
			}
		}
		// The page itself, where nothing else is asked for; the service's own parameters stay here.
		if a := g.fetched(zone, "/search?q=lamp", nil); !strings.Contains(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, "<html") {
			t.Errorf("%s: %+v", zone, a)
		}
	}
	first := decode[result](t, g.fetched("serp_demo", "/search?q=lab&brd_json=1", nil))
	second := decode[result](t, g.fetched("serp_demo", "/search?q=lab&brd_json=1&start=10", nil))
	if first.Pagination.NextPageStart != 10 || len(second.Organic) == 0 || first.Organic[0].Link == second.Organic[0].Link {
		t.Errorf("paging: %+v, then %+v", first.Pagination, second.Organic)
	}
	if a := g.fetched("serp_demo", "/search?q=lamp&engine=yandex&brd_json=1", nil); a.status != 400 || a.body != "JSON output is not supported" {
		t.Errorf("yandex: %+v", a)
	}
	if a := g.fetched("serp_demo", "/ok", call{"data_format": "parsed_light"}); a.status != 400 || !strings.Contains(a.body, "parsed_light is for search pages") {
		t.Errorf("no search page: %+v", a)
	}
}

func TestExpectation(t *testing.T) {
	t.Parallel() // Chromium waits more than it works
	g := start(t, Options{})
	expect := func(path, v string) reply {
		return g.fetched("unlocker_demo", path, call{"headers": call{"x-unblock-expect": v}})
	}
	for _, v := range []string{`{"element":"h1"}`, `{"text":"answers 200"}`} {
		if a := expect("/ok", v); !strings.Contains(a.body, "It works") {
			t.Errorf("%s: %+v", v, a)
		}
	}
	for _, v := range []string{`h1`, `{}`, `{"element":"::["}`, `{"element":"h1","text":"a"}`} {
		if a := expect("/ok", v); a.status != 400 || !strings.Contains(a.body, "x-unblock-expect") {
			t.Errorf("%s: %+v", v, a)
		}
	}
	needChromium(t)
	if a := expect("/js", `{"element":"#products .product"}`); a.status != 200 || !strings.Contains(a.body, "Brass desk lamp") {
		t.Errorf("%+v", a)
	}
}

func TestTheBrowserRendersAndPictures(t *testing.T) {
	t.Parallel() // Chromium waits more than it works
	needChromium(t)
	g := start(t, Options{})
	plain := g.fetched("isp_demo", "/js", nil)
	for name, a := range map[string]reply{
		"a browser zone":    g.fetched("browser_demo", "/js", nil),
		"render":            g.fetched("unlocker_demo", "/js", call{"render": true}),
		"rendered markdown": g.fetched("browser_demo", "/js", call{"data_format": "markdown"}),
	} {
		if a.status != 200 || a.header.Get("x-brd-status-code") != "200" || a.body == "" || a.body == plain.body {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for _, zone := range []string{"browser_demo", "unlocker_demo", "serp_demo"} {
		a := g.fetched(zone, "/ok", call{"data_format": "screenshot"})
		if _, err := png.Decode(strings.NewReader(a.body)); err != nil || a.header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %v, %v", zone, err, a.header)
		}
	}
	a := g.fetched("unlocker_demo", "/ok", call{"data_format": "screenshot", "format": "json"})
	b, err := base64.StdEncoding.DecodeString(decode[struct{ Body string }](t, a).Body)
	if err != nil || !bytes.HasPrefix(b, []byte("\x89PNG")) {
		t.Errorf("%v %.20q", err, b)
	}
	if a := g.fetched("browser_demo", "/ok", call{"url": g.r.Control + "/ready"}); a.header.Get("x-brd-error-code") != "policy_20030" || a.body != "" {
		t.Errorf("a page of this machine: %+v", a)
	}
	if a := g.fetched("browser_demo", "/ok", call{"method": "POST"}); a.status != 400 || !strings.Contains(a.body, "method must be GET") {
		t.Errorf("%+v", a)
	}
}

func TestWithoutChromiumTheBrowserSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CHROME_PATH", "")
	g := start(t, Options{})
	for _, a := range []reply{g.fetched("browser_demo", "/ok", nil), g.fetched("unlocker_demo", "/ok", call{"data_format": "screenshot"})} {
		if a.status != 200 || a.body != "" || a.header.Get("x-brd-error-code") != "feature_not_active" || !strings.Contains(strings.ToLower(a.header.Get("x-brd-error")), "install") {
			t.Errorf("%+v", a)
		}
	}
}

func TestABombIsNoAnswer(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	noerr.Must(t, noerr.From(w.Write(make([]byte, 32<<20))))
	noerr.Must(t, w.Close())
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	defer target.Close()
	g := start(t, Options{AllowPrivate: []string{target.Listener.Addr().String()}})
	if a := g.fetched("unlocker_demo", "", call{"url": target.URL, "data_format": "markdown"}); a.header.Get("x-brd-error-code") != "document_load_failed" || a.body != "" {
		t.Errorf("as markdown: %d bytes, %v", len(a.body), a.header)
	}
	// As it is it passes through, and nothing is inflated.
	if a := g.fetched("isp_demo", "", call{"url": target.URL}); a.body != bomb.String() || a.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("raw: %d bytes, %v", len(a.body), a.header)
	}
}

// searchResult is what clients read of a result page's JSON.
type searchResult struct {
	General struct {
		Engine string `json:"search_engine"`
		Query  string `json:"query"`
	} `json:"general"`
	Organic []struct {
		Link string `json:"link"`
	} `json:"organic"`
	Pagination struct {
		NextPageStart int `json:"next_page_start"`
	} `json:"pagination"`
}

// TestSearchEnginesAreStoodInFor: clients of the service name an engine's own address,
// and get the lab's results, with a word that they are.
func TestSearchEnginesAreStoodInFor(t *testing.T) {
	g := start(t, Options{})
	for engine, address := range map[string]struct {
		page, paging string
		next         int // as the engine counts
	}{
		"google":     {"https://www.google.com/search?q=lab", "&start=10", 10},
		"bing":       {"http://www.bing.com/search?q=lab&setLang=en&cc=us", "&first=11", 11},
		"duckduckgo": {"https://duckduckgo.com/?q=lab&kl=us-en", "&s=10", 10},
	} {
		for _, zone := range []string{"serp_demo", "unlocker_demo"} {
			read := func(more string) searchResult {
				a := g.request(call{"zone": zone, "url": address.page + more + "&brd_json=1", "format": "raw"})
				note, basis := a.header.Get("x-emulator-note"), a.header.Get("x-emulator-basis")
				if a.status != 200 || !strings.Contains(note, "is not asked: these are results of lab.test") || !strings.Contains(basis, "stand in") {
					t.Fatalf("%s by %s: %+v", engine, zone, a)
				}
				return decode[searchResult](t, a)
			}
			first, second := read(""), read(address.paging)
			if first.General.Engine != engine || first.General.Query != "lab" || first.Pagination.NextPageStart != address.next ||
				len(first.Organic) == 0 || len(second.Organic) == 0 || first.Organic[0].Link == second.Organic[0].Link {
				t.Errorf("%s by %s: %+v, then %+v", engine, zone, first, second)
			}
			if u, err := url.Parse(first.Organic[0].Link); err != nil || u.Hostname() != "lab.test" {
				t.Errorf("%s: a result at %s", engine, first.Organic[0].Link)
			}
		}
	}
	// As the page, too, for those that read HTML or Markdown.
	for _, form := range []string{"", "markdown"} {
		c := call{"zone": "serp_demo", "url": "https://yandex.com/search/?text=lab", "format": "raw"}
		if form != "" {
			c["data_format"] = form
		}
		if a := g.request(c); a.status != 200 || a.header.Get("x-brd-status-code") != "200" || !strings.Contains(a.body, "lab.test") {
			t.Errorf("%q: %+v", form, a)
		}
	}
	// Other networks are not for search (public documentation), and the journal says
	// what was asked for.
	if a := g.request(call{"zone": "datacenter_demo", "url": "https://www.google.com/search?q=lab", "format": "raw"}); a.header.Get("x-brd-error-code") != "policy_20110" {
		t.Errorf("by a datacenter zone: %+v", a)
	}
	for _, e := range g.recorded("api", 1) {
		if strings.Contains(e.Target, "lab.test") {
			t.Errorf("the journal names %s", e.Target)
		}
	}
}

func TestAScreenshotOfASearchIsTheLabs(t *testing.T) {
	t.Parallel() // Chromium waits more than it works
	needChromium(t)
	g := start(t, Options{})
	a := g.request(call{"zone": "serp_demo", "url": "https://www.google.com/search?q=lab", "format": "raw", "data_format": "screenshot"})
	if a.status != 200 || !strings.HasPrefix(a.body, "\x89PNG") {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// What is said of the engine's host still holds: lists, faults, and a target of a
// scenario that has its name.
func TestAStandInKeepsToWhatIsSaidOfTheEngine(t *testing.T) {
	g := playing(t, `
[[targets]]
host = "www.bing.com"
path = "/search"
body = "<p>my own page</p>"

[[faults]]
point = "target"
host = "www.google.de"
action = "status"
status = 503
`)
	if a := g.request(call{"zone": "serp_demo", "url": "https://www.bing.com/search?q=lab", "format": "raw"}); a.body != "<p>my own page</p>" || a.header.Get("x-emulator-note") != "" {
		t.Errorf("the scenario's page: %+v", a)
	}
	if a := g.request(call{"zone": "serp_demo", "url": "https://www.google.de/search?q=lab", "format": "raw"}); a.header.Get("x-brd-status-code") != "503" {
		t.Errorf("the fault: %+v", a)
	}
	g.expect(level.Ops, "POST /zone/domain_perm", `{"zone":"serp_demo","type":"blacklist","domain":"www.google.com"}`, 201, "www.google.com")
	if a := g.request(call{"zone": "serp_demo", "url": "https://www.google.com/search?q=lab", "format": "raw"}); a.header.Get("x-brd-error") == "" {
		t.Errorf("the deny list: %+v", a)
	}
}
