package accountapi

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var pathValue = regexp.MustCompile(`\{[^}]*\}`)

func FuzzAccountBodies(f *testing.F) {
	g := start(f, false)
	patterns := slices.Sorted(maps.Keys(g.handlers))
	for i, body := range []string{
		`{"zone":{"name":"x"},"plan":{"type":"unblocker"}}`, `{"zone":"isp_demo","ip":["1.2.3.4","10.0.0.0/8"]}`, `{"zone":"isp_demo","password":["a"]}`,
		`{"zone":"isp_demo","disable":1}`, `{"zone":"isp_demo","type":"whitelist","domain":"a.com b.com"}`, `{"dimension":"zones","from":"2027-01-01","to":"2027-02-01","filters":{"zones":["x"]}}`,
		`{"status":"active"}`, `{}`, `[]`, `null`, `{"zone":`,
	} {
		f.Add(uint8(i), "zone=isp_demo&from=2027-01-01&to=2027-02-01", []byte(body))
	}
	f.Fuzz(func(t *testing.T, which uint8, query string, body []byte) {
		pattern := patterns[int(which)%len(patterns)]
		method, path, _ := strings.Cut(pattern, " ")
		r, err := http.NewRequest(method, "http://127.0.0.1"+pathValue.ReplaceAllString(path, "json"), strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = query
		r.Header.Set("Content-Type", "application/json")
		w := patient{httptest.NewRecorder()}
		g.handlers[pattern](w, r)
		if w.Code < 200 || w.Code > 501 || w.Header().Get("x-emulator-basis") == "" {
			t.Errorf("%s ?%s %q: %d %v", pattern, query, body, w.Code, w.Header())
		}
	})
}
