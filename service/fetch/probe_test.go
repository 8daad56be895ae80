package fetch

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// told is a proxy whose target says in JSON what address it was called from.
func told(t *testing.T, answers ...string) (model.Profile, *loopProxy) {
	t.Helper()
	var n atomic.Int64
	px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answers[min(int(n.Add(1)), len(answers))-1])
	})}
	return nativeProfile(t, px), px
}

func TestThePageMayTellTheExit(t *testing.T) {
	for answer, want := range map[string]string{
		`{"address":"203.0.113.9"}`:                     "203.0.113.9",
		`{"ip":"203.0.113.9"}`:                          "203.0.113.9",
		`{"address":"here","ip":"203.0.113.9"}`:         "203.0.113.9",
		`{"address":"203.0.113.9:4711"}`:                "203.0.113.9",
		`{"address":"[2001:db8::9]:4711"}`:              "2001:db8::9",
		`{"address":"fe80::1%eth0"}`:                    "fe80::1",
		`{"address":"203.0.113.9","ip":"203.0.113.10"}`: "203.0.113.9",
		`{"address":"here"}`:                            "",
		`["203.0.113.9"]`:                               "",
		`{"address":9}`:                                 "",
	} {
		p, _ := told(t, answer)
		res, err := newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/"}, nil)
		if err != nil || !res.Diagnosis.OK() || !slices.Equal(res.Exits, []string{want}) {
			t.Errorf("%s: exits %q, %+v, %v", answer, res.Exits, res.Diagnosis, err)
		}
	}
	if got := whereInPage(http.Header{"Content-Type": {"text/html"}}, []byte(`{"ip":"203.0.113.9"}`)); got != (callerPlace{}) {
		t.Errorf("a page of HTML tells %q", got)
	}
}

func TestASessionIsTestedAlone(t *testing.T) {
	same, other := `{"ip":"203.0.113.1"}`, `{"ip":"203.0.113.2"}`
	for name, tc := range map[string]struct {
		answers     []string
		exits       []string
		run, sticky bool
	}{
		"it keeps its exit": {[]string{same, same}, []string{"203.0.113.1", "203.0.113.1"}, true, true},
		"it loses its exit": {[]string{same, other}, []string{"203.0.113.1", "203.0.113.2"}, true, false},
		"no exit is told":   {[]string{"{}"}, []string{"", ""}, false, false},
		"one exit is told":  {[]string{same, "{}"}, []string{"203.0.113.1", ""}, false, false},
	} {
		p, px := told(t, tc.answers...)
		q := ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/", Params: []model.Param{{Name: "country", Value: "de"}, {Name: "session", Value: "a1"}}}
		res, err := newFetcher(t, p).Probe(t.Context(), q, nil)
		if err != nil || !slices.Equal(res.Exits, tc.exits) || res.StickyRun != tc.run || res.Sticky != tc.sticky || len(px.lines()) != 2 {
			t.Errorf("%s: exits %q, sticky %v of %v, %d calls, %v", name, res.Exits, res.Sticky, res.StickyRun, len(px.lines()), err)
		}
		if !strings.HasSuffix(res.Username, "-zone-dc1-country-de-session-a1") {
			t.Errorf("%s: username %q", name, res.Username)
		}
	}
}

func TestRoundsAndThenTheSession(t *testing.T) {
	p, px := told(t, `{"ip":"203.0.113.1"}`, `{"ip":"203.0.113.2"}`, `{"ip":"203.0.113.3"}`)
	res, err := newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/", Rounds: 2, Session: "a1"}, nil)
	if err != nil || !slices.Equal(res.Exits, []string{"203.0.113.1", "203.0.113.2"}) || !res.StickyRun || !res.Sticky || len(px.lines()) != 4 {
		t.Errorf("%+v after %d calls, %v", res, len(px.lines()), err)
	}
	p, px = told(t, `{"ip":"203.0.113.1"}`)
	res, err = newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/", Rounds: 1000}, nil)
	if err != nil || len(res.Exits) != 50 || len(px.lines()) != 50 || res.StickyRun {
		t.Errorf("%d exits after %d calls, %v", len(res.Exits), len(px.lines()), err)
	}
}

func TestASessionThatFailsIsToldAndTheRotationKept(t *testing.T) {
	var n atomic.Int64
	px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if n.Add(1) > 2 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, `{"ip":"203.0.113.1"}`)
	})}
	p := nativeProfile(t, px)
	res, err := newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/", Rounds: 2, Session: "a1"}, nil)
	if err != nil || res.Diagnosis.Cause != model.CauseTargetError || res.TargetStatus != 500 || len(res.Exits) != 2 || res.StickyRun || n.Load() != 3 {
		t.Errorf("%+v after %d calls, %v", res, n.Load(), err)
	}
}

func TestAProbeThatCannotBeMadeNamesItsField(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*model.Profile, *ProbeRequest)
		field  string
	}{
		"no page is known":        {func(p *model.Profile, _ *ProbeRequest) { p.Dialect = "documented" }, "url"},
		"a page without a scheme": {func(_ *model.Profile, q *ProbeRequest) { q.Target = "lab.test" }, "url"},
		"no proxy":                {func(p *model.Profile, q *ProbeRequest) { q.Target, p.ProxyHost = "http://lab.test/", "" }, "profile"},
		"no port":                 {func(p *model.Profile, q *ProbeRequest) { q.Target, p.ProxyPort = "http://lab.test/", 0 }, "profile"},
		"a port that is not one":  {func(p *model.Profile, q *ProbeRequest) { q.Target, p.ProxyPort = "http://lab.test/", 65536 }, "profile"},
		"no account":              {func(p *model.Profile, q *ProbeRequest) { q.Target, p.Account = "http://lab.test/", "" }, "profile"},
		"a parameter that the contract does not show": {func(p *model.Profile, q *ProbeRequest) {
			p.Dialect, q.Target, q.Params = "documented", "http://lab.test/", []model.Param{{Name: "city", Value: "x"}}
		}, "city"},
		"a session that the contract does not show": {func(p *model.Profile, q *ProbeRequest) {
			p.Dialect, q.Target, q.Session = "documented", "http://lab.test/", "a1"
		}, "session"},
	} {
		p := servicetest.Profile("http://api.test")
		q := ProbeRequest{Zone: servicetest.Zone(p, "dc1")}
		tc.change(&p, &q)
		_, err := newFetcher(t, p).Probe(t.Context(), q, func(string) { t.Errorf("%s: a call is made", name) })
		var re *model.RequestError
		if !errors.As(err, &re) || re.Field() != tc.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithoutAPageTheDialectsIsFetched(t *testing.T) {
	for local, want := range map[bool]string{false: "geo.brdtest.com", true: "lab.test"} {
		px := &loopProxy{Connect: func(_ *http.Request, conn net.Conn) bool {
			_, _ = io.WriteString(conn, "HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")
			return false
		}}
		p := nativeProfile(t, px)
		p.Local = local
		z := servicetest.Zone(p, "dc1")
		z.Password = "" // the profile's
		noerr.Want(t, noerr.From(newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: z}, nil)))
		if got := px.lines(); !slices.Equal(got, []string{"CONNECT " + want + ":443"}) {
			t.Errorf("asked %q", got)
		}
	}
}

func TestAPreviewByDefaultIsTheAPIs(t *testing.T) {
	p := servicetest.Profile("http://api.test")
	r := askFor(p, "unlocker1")
	r.Via = ""
	if w := newFetcher(t, p).Preview(p, r, "f2a1"); w.Problem != "" || w.Lines[0] != "POST /request HTTP/1.1" || !slices.Contains(w.Lines, "Authorization: Bearer ••••f2a1") {
		t.Errorf("%+v", w)
	}
}

func TestAPreviewThroughTheProxySaysWhyNothingCanBeSent(t *testing.T) {
	p := servicetest.Profile("http://api.test")
	for url, host := range map[string]string{"ftp://lab.test/": "", "http://ä.xn--0/": "", "https://ä.xn--0/": "", "http://lab.test/": "a b\x00"} {
		r := native(p, url)
		if host != "" {
			r.Header = http.Header{"Host": {host}}
		}
		if w := newFetcher(t, p).Preview(p, r, ""); w.Problem == "" || w.Lines != nil {
			t.Errorf("%s: %+v", url, w)
		}
	}
}
