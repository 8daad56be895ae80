package lab

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"zonedeck/internal/noerr"
)

// linksOf returns the addresses of the links on a page, as written.
func linksOf(t *testing.T, body string) []string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	noerr.Must(t, err)
	var out []string
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if n.Data == "a" && a.Key == "href" {
				out = append(out, a.Val)
			}
		}
	}
	return out
}

// crawl follows the links of a page within /site/, and tells how each address ended.
func crawl(t *testing.T, from string, follow func(*url.URL) bool) map[string]*httptest.ResponseRecorder {
	t.Helper()
	base, err := url.Parse("http://lab.test" + from)
	noerr.Must(t, err)
	got := map[string]*httptest.ResponseRecorder{}
	for queue := []*url.URL{base}; len(queue) > 0; {
		u := queue[0]
		queue = queue[1:]
		u.Fragment = ""
		if got[u.RequestURI()] != nil || u.Host != "lab.test" || !follow(u) {
			continue
		}
		w := get(t, u.RequestURI())
		got[u.RequestURI()] = w
		var next []string
		if to := w.Header().Get("Location"); to != "" {
			next = append(next, to)
		} else if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			next = linksOf(t, w.Body.String())
		}
		for _, l := range next {
			ref, err := u.Parse(l)
			if err != nil {
				t.Fatalf("%s links to %q: %v", u, l, err)
			}
			queue = append(queue, ref)
		}
	}
	return got
}

func TestTheSiteHasEverythingACrawlerTripsOver(t *testing.T) {
	disallowed := []string{"/site/private/", "/site/calendar"}
	robotsText := get(t, "/robots.txt").Body.String()
	for _, d := range disallowed {
		if !strings.Contains(robotsText, "Disallow: "+d+"\n") {
			t.Errorf("%s is open: %s", d, robotsText)
		}
	}
	got := crawl(t, "/site/", func(u *url.URL) bool {
		return strings.HasPrefix(u.Path, "/site/") && !strings.HasPrefix(u.Path, disallowed[0]) && u.Path != disallowed[1]
	})
	proper := 0
	for _, p := range sitePaths() {
		if w := got[p]; w == nil || w.Code != 200 || !strings.Contains(w.Body.String(), "<main>") {
			t.Errorf("%s was not reached", p)
		}
		proper++
	}
	if proper != 65 {
		t.Errorf("%d pages", proper)
	}
	for address, want := range map[string]int{
		"/site/old": http.StatusMovedPermanently, "/site/gone": http.StatusNotFound, "/site/drafts/": http.StatusOK,
		"/site/list?sort=name&dir=up": http.StatusOK, "/site/list?dir=up&sort=name": http.StatusOK,
		"/site/files/report.pdf": http.StatusOK, "/site/files/prices.csv": http.StatusOK, "/site/files/plan.svg": http.StatusOK,
	} {
		if w := got[address]; w == nil || w.Code != want {
			t.Errorf("%s: %v", address, w)
		}
	}
	if one, two := got["/site/list?sort=name&dir=up"], got["/site/list?dir=up&sort=name"]; one.Body.String() != two.Body.String() {
		t.Error("the order of the query changed the page")
	}
	if len(got) != proper+8 {
		t.Errorf("%d addresses", len(got))
	}
	home := strings.Join(linksOf(t, got["/site/"].Body.String()), " ")
	for _, want := range []string{"https://example.org/", "mailto:", "#top", "/site/calendar?month=1", "/site/private/"} {
		if !strings.Contains(home, want) {
			t.Errorf("no %s in %s", want, home)
		}
	}
	if w := got["/site/drafts/"]; w.Header().Get("X-Robots-Tag") != "noindex" || !strings.Contains(w.Body.String(), `content="noindex, nofollow"`) {
		t.Errorf("%v", w.Header())
	}
	for name, ct := range map[string]string{"report.pdf": "application/pdf", "prices.csv": "text/csv; charset=utf-8", "plan.svg": "image/svg+xml"} {
		if w := got["/site/files/"+name]; w.Header().Get("Content-Type") != ct {
			t.Errorf("%s: %v", name, w.Header())
		}
	}
}

func TestTheSitemapNamesTheProperPages(t *testing.T) {
	body := get(t, "/sitemap.xml").Body.String()
	if n := strings.Count(body, "<loc>"); n != len(sitePaths()) || !strings.Contains(body, "<loc>http://example.com/site/people/4</loc>") {
		t.Errorf("%d: %s", n, body)
	}
}

func TestTheCalendarHasNoEndInReach(t *testing.T) {
	got := crawl(t, "/site/calendar?month=1", func(u *url.URL) bool {
		return u.Path == "/site/calendar" && number(u.Query().Get("month")) <= 200
	})
	if len(got) != 200 || !strings.Contains(got["/site/calendar?month=13"].Body.String(), "January 2027") {
		t.Errorf("%d months", len(got))
	}
	if w := get(t, "/site/calendar?month=10001"); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
}

func TestUnknownPagesOfTheSiteAreNotFound(t *testing.T) {
	for _, p := range []string{"/site/nothing/", "/site/guides/0", "/site/guides/5", "/site/guides/x", "/site/guides/1/9", "/site/guides/1/0", "/site/nothing/1/1", "/site/files/..", "/site/files/x", "/docs/nothing", "/img/nothing.svg", "/img/red-lentil-soup-recipe.png"} {
		if w := get(t, p); w.Code != 404 && w.Code != 307 && w.Code != 301 {
			t.Errorf("%s: %d", p, w.Code)
		}
	}
}

func TestPicturesAreSVG(t *testing.T) {
	w := get(t, "/img/red-lentil-soup-recipe.svg")
	if w.Code != 200 || w.Header().Get("Content-Type") != "image/svg+xml" || !strings.Contains(w.Body.String(), ">R</text>") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
