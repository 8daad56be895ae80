package emulator

import (
	"net/url"
	"strings"
	"testing"

	"zonedeck/service/emulator/level"
)

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
