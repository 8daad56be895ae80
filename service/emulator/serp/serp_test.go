package serp_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/serp"
)

// search asks the lab, over a real socket, what an address of lab.test means.
func search(t *testing.T, s *httptest.Server, address string) (serp.Query, []byte, string) {
	t.Helper()
	q, err := serp.Read(address)
	noerr.Must(t, err)
	resp, err := s.Client().Get(s.URL + strings.TrimPrefix(q.Target, lab.Base))
	noerr.Must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	noerr.Must(t, err)
	return q, body, resp.Header.Get("Content-Type")
}

func parse(t *testing.T, s *httptest.Server, address string) serp.Full {
	t.Helper()
	q, body, _ := search(t, s, address)
	f, err := serp.Parse(body, q)
	noerr.Must(t, err)
	return f
}

func site(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(lab.New(lab.Options{}))
	t.Cleanup(s.Close)
	return s
}

func TestAFullPage(t *testing.T) {
	f := parse(t, site(t), lab.Base+"/search?q=brass+desk+lamp&hl=en&gl=us&brd_json=1&brd_mobile=ios")
	g := f.General
	if g.SearchEngine != "google" || g.Query != "brass desk lamp" || g.Language != "en" || g.Country != "us" || g.Device != "ios" ||
		g.SearchType != "text" || g.ResultsCount < 3 || g.PageTitle != "brass desk lamp - Lab search" {
		t.Errorf("%+v", g)
	}
	o := f.Organic[0]
	if len(f.Organic) != min(g.ResultsCount, 10) || o.Rank.Rank != 1 || !strings.Contains(o.Link, "/docs/") || !strings.Contains(o.Title, "rass desk lamp") ||
		!strings.Contains(o.DisplayLink, "› docs ›") || o.Description == "" || o.Date == "" || len(o.Extensions) < 2 || o.Extensions[0].Type != "site_link" {
		t.Errorf("%+v", o)
	}
	if len(f.Paid) != 1 || f.Paid[0].GlobalRank != 1 || !strings.Contains(f.Paid[0].Link, "/shop/product/LAB-1007") {
		t.Errorf("%+v", f.Paid)
	}
	if k := f.KnowledgeGraph; k == nil || k.Name != "Brass desk lamp" || len(k.Facts) != 4 || k.Facts[0] != (serp.Fact{Key: "Material", Value: "solid brass with a linen cord"}) ||
		k.Subtitle != "product" || !strings.Contains(k.Image, "/img/") || k.Link == "" {
		t.Errorf("%+v", f.KnowledgeGraph)
	}
	if len(f.PeopleAlsoAsk) != 3 && len(f.PeopleAlsoAsk) != 4 || f.PeopleAlsoAsk[0].Answer == "" || f.PeopleAlsoAsk[0].Link == "" || !strings.HasSuffix(f.PeopleAlsoAsk[0].Question, "?") {
		t.Errorf("%+v", f.PeopleAlsoAsk)
	}
	if len(f.RelatedSearches) == 0 || !strings.Contains(f.RelatedSearches[0].Link, "/search?q=") {
		t.Errorf("%+v", f.RelatedSearches)
	}
	if len(f.Videos) == 0 || f.Videos[0].Duration != "6:41" || f.Videos[0].Author != "Workbench Evenings" {
		t.Errorf("%+v", f.Videos)
	}
}

func TestTheWireNames(t *testing.T) {
	s := site(t)
	q, body, ct := search(t, s, lab.Base+"/search?q=minutes&brd_json=1")
	out, outType, err := serp.Render(body, ct, q)
	if err != nil || !strings.HasPrefix(outType, "application/json") {
		t.Fatal(outType, err)
	}
	var full map[string]json.RawMessage
	noerr.Must(t, json.Unmarshal(out, &full))
	for _, name := range []string{"general", "organic", "people_also_ask", "related_searches", "recipes", "pagination"} {
		if len(full[name]) == 0 {
			t.Errorf("no %s in %s", name, out)
		}
	}
	for _, want := range []string{`"search_engine":"google"`, `"results_cnt":`, `"rank":1,"global_rank":`, `"display_link":`, `"next_page_start":10`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	q.Mode = serp.Parsed
	if out, _, err = serp.Render(body, ct, q); err != nil {
		t.Fatal(err)
	}
	var light map[string][]map[string]any
	noerr.Must(t, json.Unmarshal(out, &light))
	for name := range light["organic"][0] {
		if !slices.Contains([]string{"link", "title", "description", "global_rank", "extensions"}, name) {
			t.Errorf("%s in the light form", name)
		}
	}
	q.Mode = serp.WithHTML
	if out, _, err = serp.Render(body, ct, q); err != nil || !strings.Contains(string(out), `"html":"<!doctype html>`) {
		t.Errorf("%v %.200s", err, out)
	}
	q.Mode = serp.Raw
	if out, outType, err = serp.Render(body, ct, q); err != nil || string(out) != string(body) || outType != ct {
		t.Errorf("%v %s", err, outType)
	}
}

func TestAnEmptyPageHasAnEmptyOrganicSection(t *testing.T) {
	s := site(t)
	q, body, ct := search(t, s, lab.Base+"/search?q=xyzzy&brd_json=1")
	out, _, err := serp.Render(body, ct, q)
	if err != nil || !strings.Contains(string(out), `"organic":[]`) || !strings.Contains(string(out), `"results_cnt":0`) || strings.Contains(string(out), "next_page_start") {
		t.Errorf("%v %s", err, out)
	}
}

func TestVerticals(t *testing.T) {
	s := site(t)
	if f := parse(t, s, lab.Base+"/search?q=lindenport&tbm=nws"); len(f.News) < 5 || f.News[0].Source != "Lindenport Herald" || f.News[0].Date == "" || f.News[0].Image == "" || len(f.Organic) != 0 || f.General.SearchType != "nws" {
		t.Errorf("%+v", f)
	}
	if f := parse(t, s, lab.Base+"/search?q=soup&udm=2"); len(f.Images) < 2 || f.Images[0].Width != 640 || !strings.HasSuffix(f.Images[0].Image, ".svg") || f.Images[0].Link == "" {
		t.Errorf("%+v", f)
	}
	if f := parse(t, s, lab.Base+"/search?q=coffee&tbm=vid"); len(f.Videos) == 0 || f.Videos[0].Duration != "4:05" {
		t.Errorf("%+v", f)
	}
	if f := parse(t, s, lab.Base+"/search?q=lamp&tbm=shop"); len(f.Shopping) != 1 || f.Shopping[0].Price != "$14.25" || f.Shopping[0].Reviews != 3 || f.Shopping[0].Rating < 1 || f.Shopping[0].Stock != "In stock" {
		t.Errorf("%+v", f)
	}
	if f := parse(t, s, lab.Base+"/search?q=lighthouse&tbm=lcl"); len(f.Maps) == 0 || f.Maps[0].Latitude != 54.312 || f.Maps[0].Hours == "" || f.Maps[0].Category != "Lighthouse" || f.Maps[0].Address == "" {
		t.Errorf("%+v", f)
	}
}

// Whatever the engine counts, following the starts shows every result once.
func TestPagingArithmetic(t *testing.T) {
	s := site(t)
	for _, c := range []struct{ address, parameter string }{
		{lab.Base + "/search?q=minutes", "start"},
		{lab.Base + "/search?engine=bing&q=minutes", "first"},
		{lab.Base + "/search?engine=yandex&text=minutes", "p"},
	} {
		seen := map[string]bool{}
		total := 0
		for address, page := c.address, 1; ; page++ {
			f := parse(t, s, address)
			total = f.General.ResultsCount
			if f.Pagination.CurrentPage != page {
				t.Errorf("%s: page %d is %d", address, page, f.Pagination.CurrentPage)
			}
			for i, o := range f.Organic {
				if seen[o.Link] || o.Rank.Rank != i+1 {
					t.Errorf("%s: %d %+v", address, i, o)
				}
				seen[o.Link] = true
			}
			if f.Pagination.NextPageStart == 0 {
				break
			}
			if f.Pagination.NextPage != page+1 || !strings.Contains(f.Pagination.NextPageLink, c.parameter+"="+strconv.Itoa(f.Pagination.NextPageStart)) {
				t.Errorf("%+v", f.Pagination)
			}
			address = c.address + "&" + c.parameter + "=" + strconv.Itoa(f.Pagination.NextPageStart)
		}
		if len(seen) != total || total <= 20 {
			t.Errorf("%s: %d of %d", c.address, len(seen), total)
		}
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		address string
		want    serp.Query
		err     string
	}{
		{"http://lab.test/search?q=a+b&start=20&hl=de&gl=at&tbm=nws&brd_json=parsed_light&brd_mobile=1#x", serp.Query{
			Engine: "google", Text: "a b", Language: "de", Country: "at", Device: "mobile", Vertical: "nws", Start: 20, Mode: serp.Parsed,
			Target: "http://lab.test/search?q=a+b&start=20&hl=de&gl=at&tbm=nws",
		}, ""},
		{"https://www.google.co.uk/search?q=x&udm=28", serp.Query{Engine: "google", Text: "x", Device: "desktop", Vertical: "shop", Target: "https://www.google.co.uk/search?q=x&udm=28"}, ""},
		{"https://www.bing.com/search?q=x&first=11&mkt=en-US", serp.Query{Engine: "bing", Text: "x", Device: "desktop", Language: "en", Country: "US", Start: 10, Target: "https://www.bing.com/search?q=x&first=11&mkt=en-US"}, ""},
		{"http://lab.test/search?engine=bing&q=x&first=1&setLang=fr&cc=FR&mkt=en-US&tbm=nws", serp.Query{Engine: "bing", Text: "x", Device: "desktop", Language: "fr", Country: "FR", Target: "http://lab.test/search?engine=bing&q=x&first=1&setLang=fr&cc=FR&mkt=en-US&tbm=nws"}, ""},
		{"https://yandex.ru/search/?text=x&p=2", serp.Query{Engine: "yandex", Text: "x", Device: "desktop", Start: 20, Target: "https://yandex.ru/search/?text=x&p=2"}, ""},
		{"https://yandex.ru/search/?text=x&brd_json=1", serp.Query{Engine: "yandex", Text: "x", Device: "desktop", Mode: serp.JSON, Target: "https://yandex.ru/search/?text=x"}, "JSON output is not supported"},
		{"http://lab.test/search?engine=yandex&text=x&brd_json=html", serp.Query{Engine: "yandex", Text: "x", Device: "desktop", Mode: serp.WithHTML, Target: "http://lab.test/search?engine=yandex&text=x"}, "JSON output is not supported"},
		{"http://lab.test/search?q=x&brd_json=2", serp.Query{}, "brd_json has to be"},
		{"http://lab.test/search?q=x&brd_json=0", serp.Query{Engine: "google", Text: "x", Device: "desktop", Target: "http://lab.test/search?q=x"}, ""},
		{"http://lab.test/shop?q=x", serp.Query{Engine: "", Text: "x", Device: "desktop", Target: "http://lab.test/shop?q=x"}, ""},
		{"http://google.com.evil.test/search?q=x", serp.Query{Engine: "", Text: "x", Device: "desktop", Target: "http://google.com.evil.test/search?q=x"}, ""},
		{"http://lab.test/search?q=x&start=-5", serp.Query{Engine: "google", Text: "x", Device: "desktop", Target: "http://lab.test/search?q=x&start=-5"}, ""},
		{"http://lab.test/%zz", serp.Query{}, "reading the search address"},
	} {
		got, err := serp.Read(c.address)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s:\n %+v\n %v", c.address, got, err)
		}
	}
	if _, err := serp.Read("http://lab.test/search?engine=yandex&brd_json=1"); !errors.Is(err, serp.ErrNoJSON) {
		t.Errorf("%v", err)
	}
	if _, _, err := serp.Render(nil, "", serp.Query{Engine: "yandex", Mode: serp.JSON}); !errors.Is(err, serp.ErrNoJSON) {
		t.Errorf("%v", err)
	}
}

// The service's parameters never reach the engine; the engine's are left as they are.
func TestStrippedAddressesKeepTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own := url.Values{"brd_json": {"1"}, "brd_mobile": {rapid.String().Draw(t, "mobile")}}
		theirs := url.Values{"q": {rapid.String().Draw(t, "q")}, "hl": {rapid.StringMatching(`[a-z]{2}`).Draw(t, "hl")}}
		q, err := serp.Read("http://lab.test/search?" + own.Encode() + "&" + theirs.Encode())
		noerr.Must(t, err)
		u, err := url.Parse(q.Target)
		if err != nil || u.RawQuery != theirs.Encode() || q.Text != theirs.Get("q") {
			t.Fatalf("%q %v", q.Target, err)
		}
	})
}

func TestAHostilePage(t *testing.T) {
	q, err := serp.Read("http://lab.test/search?q=x")
	noerr.Must(t, err)
	long := strings.Repeat("é", 10_000)
	body := `<html lang="en"><ol class="results">
<li class="result"><a class="title" href="javascript:alert(1)"><h3>Script</h3></a></li>
<li class="result"><a class="title" href="http://[::1"><h3>Broken</h3></a></li>
<li class="result"><a class="title" href="docs/a"><h3>` + long + `</h3></a><a class="sitelink" href="data:text/html,x">x</a><a class="sitelink" href="//lab.test/b"> to  b </a></li>
<li class="place-result" data-coordinates="NaN,1e999"><a class="title" href="/p"></a></li>
` + strings.Repeat(`<li class="result"><a class="title" href="/r"></a></li>`, 1000)
	f, err := serp.Parse([]byte(body), q)
	noerr.Must(t, err)
	if len(f.Maps) != 1 || f.Maps[0].Latitude != 0 || f.Maps[0].Longitude != 0 {
		t.Errorf("%+v", f.Maps)
	}
	o := f.Organic[0]
	if len(f.Organic) != 200 || o.Link != "http://lab.test/docs/a" || len(o.Title) > 4<<10 || !strings.HasPrefix(long, o.Title) ||
		len(o.Extensions) != 1 || o.Extensions[0] != (serp.Extension{Type: "site_link", Link: "http://lab.test/b", Text: "to b"}) {
		t.Errorf("%d, %+v", len(f.Organic), o)
	}
}

func FuzzParse(f *testing.F) {
	h := lab.New(lab.Options{})
	for _, path := range []string{"/search?q=brass+desk+lamp", "/search?q=soup&tbm=isch", "/search?q=lindenport&tbm=lcl", "/search?q=lamp&tbm=shop", "/search?engine=bing&q=minutes&first=11"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(f.Context(), "GET", path, nil))
		f.Add(w.Body.Bytes(), lab.Base+path+"&brd_json=1")
	}
	f.Add([]byte(`<p class="result ad question"><a class=title href="javascript:x">`), "http://lab.test/search?q=x")
	f.Add([]byte("<p class=place-result data-coordinates=NaN,1e999><a href=//x>"), "://")
	f.Fuzz(func(t *testing.T, body []byte, address string) {
		q, err := serp.Read(address)
		if err != nil {
			return
		}
		out, _, err := serp.Render(body, "text/html", q)
		if err != nil {
			return
		}
		if q.Mode != serp.Raw && !json.Valid(out) {
			t.Errorf("%q", out)
		}
		full, err := serp.Parse(body, q)
		noerr.Must(t, err)
		last := 0
		for i, o := range full.Organic {
			u, err := url.Parse(o.Link)
			if o.Rank.Rank != i+1 || o.GlobalRank <= last || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				t.Errorf("%+v", o)
			}
			last = o.GlobalRank
		}
	})
}
