package lab

import (
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"zonedeck/internal/noerr"
)

func TestDocumentsAreManyAndEachIsAPage(t *testing.T) {
	docs := Documents()
	if len(docs) < 120 {
		t.Fatalf("%d documents", len(docs))
	}
	seen := map[string]bool{}
	for _, d := range docs {
		path, ok := strings.CutPrefix(d.URL, Base)
		if !ok || seen[path] || d.Title == "" || d.Description == "" || len(d.Text) < 60 || d.Published.IsZero() || d.Category == "" {
			t.Errorf("%+v", d)
		}
		seen[path] = true
		w := get(t, path)
		doc, err := goquery.NewDocumentFromReader(w.Body)
		noerr.Must(t, err)
		description, _ := doc.Find(`meta[name="description"]`).Attr("content")
		if w.Code != 200 || doc.Find("title").Text() != d.Title || doc.Find("h1").Text() != d.Title || description != d.Description {
			t.Errorf("%s: %d %q %q", path, w.Code, doc.Find("title").Text(), description)
		}
	}
	if again := Documents(); !reflect.DeepEqual(docs, again) {
		t.Error("not the same at the second call")
	}
}

func results(t *testing.T, address string) *goquery.Document {
	t.Helper()
	w := get(t, address)
	if w.Code != 200 {
		t.Fatalf("%s: %d", address, w.Code)
	}
	doc, err := goquery.NewDocumentFromReader(w.Body)
	noerr.Must(t, err)
	return doc
}

func TestEverySearchFeatureIsThere(t *testing.T) {
	for _, c := range []struct {
		address, selector string
		want              int
	}{
		{"/search?q=lamp", ".result", 0}, // some
		{"/search?q=brass+desk+lamp", ".ad", 0},
		{"/search?q=brass+desk+lamp", ".knowledge dt", 4},
		{"/search?q=brass+desk+lamp", ".question", 0},
		{"/search?q=brass+desk+lamp", ".related-search", 0},
		{"/search?q=brass+desk+lamp", ".sitelink", 0},
		{"/search?q=greycliff+lighthouse", ".knowledge", 1},
		{"/search?q=minutes", ".result", perPage},
		{"/search?q=minutes", "a.next", 1},
		{"/search?q=minutes&start=10", ".result", 0},
		{"/search?q=minutes&start=10", ".knowledge, .ad, .question", -1},
		{"/search?q=minutes&start=9999", ".result", -1},
		{"/search?q=xyzzy", ".no-results", 1},
		{"/search?q=xyzzy", ".result", -1},
		{"/search", ".result, .no-results", -1},
		{"/search?q=lindenport&tbm=nws", ".news-result", 0},
		{"/search?q=soup&tbm=isch", ".image-result img", 0},
		{"/search?q=soup&udm=2", ".image-result img", 0},
		{"/search?q=coffee&tbm=vid", ".video-result .length", 0},
		{"/search?q=lamp&tbm=shop", ".product-result .price", 1},
		{"/search?q=lindenport&tbm=lcl", ".place-result", 0},
		{"/search?engine=bing&q=minutes&first=11", "a.page[href*='first=21']", 1},
		{"/search?engine=yandex&text=minutes&p=1", "a.page[href*='p=2']", 1},
	} {
		n := results(t, c.address).Find(c.selector).Length()
		if c.want == 0 && n == 0 || c.want > 0 && n != c.want || c.want < 0 && n != 0 {
			t.Errorf("%s: %d of %s, want %d", c.address, n, c.selector, c.want)
		}
	}
}

func TestPagingShowsEveryResultOnce(t *testing.T) {
	for _, address := range []string{"/search?q=minutes", "/search?engine=bing&q=minutes", "/search?engine=yandex&text=minutes", "/search?q=the&tbm=isch"} {
		seen := map[string]bool{}
		total := results(t, address).Find(".count").AttrOr("data-count", "")
		pages := 0
		for next := address; next != ""; pages++ {
			doc := results(t, next)
			doc.Find(".result a.title, .image-result a").Each(func(_ int, s *goquery.Selection) {
				link := s.AttrOr("href", "")
				if seen[link] {
					t.Errorf("%s: %s twice", address, link)
				}
				seen[link] = true
				u, err := url.Parse(link)
				if err != nil || !u.IsAbs() || get(t, u.Path).Code != 200 {
					t.Errorf("%s: %s: %v", address, link, err)
				}
			})
			next = doc.Find("a.next").AttrOr("href", "")
		}
		if total == "" || total == "0" || pages < 2 || total != strconv.Itoa(len(seen)) {
			t.Errorf("%s: %d of %s in %d pages", address, len(seen), total, pages)
		}
	}
}

func TestSearchKeepsLanguageAndCountry(t *testing.T) {
	d := results(t, "/search?q=minutes&hl=de&gl=DE")
	if d.Find("html").AttrOr("lang", "") != "de" || d.Find("body").AttrOr("data-country", "") != "de" || !strings.Contains(d.Find(".count").Text(), "Ergebnisse") {
		t.Error(d.Find("body").Text())
	}
	if next := d.Find("a.next").AttrOr("href", ""); !strings.Contains(next, "hl=de") || !strings.Contains(next, "gl=de") {
		t.Error(next)
	}
}

func FuzzSearchAddress(f *testing.F) {
	for _, s := range []string{"q=lamp", "q=%00%ff&start=-1", "engine=bing&q=a&first=99999999999999999999", "q=x&tbm=shop&hl=<&gl=\"", "q=lamp&start=3"} {
		f.Add(s)
	}
	h := New(Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/search", nil)
		r.URL.RawQuery = raw
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 || strings.Contains(w.Body.String(), "<script") {
			t.Errorf("%q: %d %s", raw, w.Code, w.Body)
		}
	})
}

func TestDocumentsAndShopAgreeOnProducts(t *testing.T) {
	about := 0
	for _, d := range Documents() {
		if d.Facts["sku"] == "" {
			continue
		}
		about++
		p, found := productWhere(func(p product) bool { return p.SKU == d.Facts["sku"] })
		if !found || d.Facts["price"] != p.Price() || d.Facts["availability"] != p.Availability() || d.Facts["topic"] != strings.ToLower(p.Name) {
			t.Errorf("%s: %v, in the shop %+v", d.Title, d.Facts, p)
		}
	}
	if about != 3*Products {
		t.Errorf("%d documents about products", about)
	}
}
