package accountapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
)

// noon is the moment at which every test happens.
var noon = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

// rig is the endpoints over the demo account, behind a check of levels that believes the
// header X-Level.
type rig struct {
	t        testing.TB
	account  *account.Account
	meter    *meter.Meter
	handlers map[string]http.HandlerFunc // by pattern, without the check
	mux      *http.ServeMux
}

func start(t testing.TB, loose bool) *rig {
	t.Helper()
	dir, err := state.Open(t.TempDir(), now)
	noerr.Must(t, err)
	g := &rig{t: t, handlers: map[string]http.HandlerFunc{}, mux: http.NewServeMux()}
	if g.account, err = account.Open(scenario.Demo(), dir, now, now()); err != nil {
		t.Fatal(err)
	}
	if g.meter, err = meter.Open(meter.Config{State: dir, Now: now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.meter.Close()
		noerr.Want(t, dir.Close())
	})
	asked := func(r *http.Request) level.Level { return level.Level(r.Header.Get("X-Level")) }
	New(Config{Account: g.account, Meter: g.meter, Now: now, Level: asked, Loose: loose}).Mount(
		func(pattern string, needs level.Action, h http.HandlerFunc) {
			g.handlers[pattern] = h
			g.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
				if !asked(r).Permits(needs) {
					answer.Text(w, http.StatusForbidden, answer.BasisLevel, "")
					return
				}
				h(w, r)
			})
		})
	return g
}

// patient is a recorder with the deadlines of a connection, which it never meets.
type patient struct{ *httptest.ResponseRecorder }

func (patient) SetReadDeadline(time.Time) error { return nil }

// expect asks as a level, and compares the status and a part of the body.
func (g *rig) expect(l level.Level, call, body string, status int, part string) *httptest.ResponseRecorder {
	g.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Level", string(l))
	w := httptest.NewRecorder()
	g.mux.ServeHTTP(patient{w}, r)
	if w.Code != status || !strings.Contains(w.Body.String(), part) || w.Header().Get("x-emulator-basis") == "" {
		g.t.Errorf("%s %s as %s: %d %q, want %d with %q", call, body, l, w.Code, w.Body, status, part)
	}
	return w
}

// password is the first one of a zone.
func (g *rig) password(zone string) string {
	g.t.Helper()
	z, err := g.account.Zone(zone)
	noerr.Must(g.t, err)
	return z.Password
}

func decode[T any](t testing.TB, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v in %q", err, w.Body)
	}
	return v
}

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
		noerr.Must(t, err)
		r.URL.RawQuery = query
		r.Header.Set("Content-Type", "application/json")
		w := patient{httptest.NewRecorder()}
		g.handlers[pattern](w, r)
		if w.Code < 200 || w.Code > 501 || w.Header().Get("x-emulator-basis") == "" {
			t.Errorf("%s ?%s %q: %d %v", pattern, query, body, w.Code, w.Header())
		}
	})
}
