package serp_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"testing"

	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/serp"
)

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
		if err != nil {
			t.Fatal(err)
		}
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
