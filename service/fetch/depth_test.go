package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// states are the states of a test's steps.
func states(r model.ProbeResult) string {
	var out []string
	for _, s := range r.Steps() {
		out = append(out, s.Name+" "+string(s.State))
	}
	return strings.Join(out, ", ")
}

func TestEachStepOfATestIsMeasured(t *testing.T) {
	c, p := fetchOnEmulator(t)
	z := servicetest.Zone(p, "residential_demo")
	for name, tc := range map[string]struct {
		target string
		change func(*ProbeRequest, *Fetcher)
		want   string
		code   string
		chain  int
	}{
		"all of it":    {"https://lab.test/mygeo.json", nil, "connect done, CONNECT done, TLS done, request done", "", 1},
		"an http page": {"http://lab.test/mygeo.json", nil, "connect done, CONNECT not_needed, TLS not_needed, request done", "", 0},
		"a wrong password": {"https://lab.test/ok", func(_ *ProbeRequest, f *Fetcher) {
			f.cfg.Source = servicetest.Source{Base: f.cfg.Source, SecretBy: wrongSecret}
		}, "connect done, CONNECT failed, TLS not_reached, request not_reached", "client_10000", 0},
		"the same by http": {"http://lab.test/ok", func(_ *ProbeRequest, f *Fetcher) {
			f.cfg.Source = servicetest.Source{Base: f.cfg.Source, SecretBy: wrongSecret}
		}, "connect done, CONNECT not_needed, TLS not_needed, request failed", "client_10000", 0},
		"no such zone": {"https://lab.test/ok", func(q *ProbeRequest, _ *Fetcher) { q.Zone.Name = "nowhere" }, "connect done, CONNECT failed, TLS not_reached, request not_reached", "client_10002", 0},
		"no trusted certificate": {"https://lab.test/ok", func(_ *ProbeRequest, f *Fetcher) {
			p := p
			p.CA = ""
			f.cfg.Source = servicetest.Source{Base: f.cfg.Source, ProfileBy: func(context.Context) (model.Profile, error) { return p, nil }}
		}, "connect done, CONNECT done, TLS failed, request not_reached", "", 1},
		"a name that is nobody's": {"https://no-such-name.invalid/", nil, "connect done, CONNECT done, TLS done, request failed", "target_40001", 1},
		"nobody listens": {"https://lab.test/ok", func(_ *ProbeRequest, f *Fetcher) {
			p := p
			p.ProxyPort = 1
			f.cfg.Source = servicetest.Source{Base: f.cfg.Source, ProfileBy: func(context.Context) (model.Profile, error) { return p, nil }}
		}, "connect failed, CONNECT not_reached, TLS not_reached, request not_reached", "", 0},
	} {
		q := ProbeRequest{Zone: z, Target: tc.target}
		f := New(c.cfg)
		if tc.change != nil {
			tc.change(&q, f)
		}
		r, err := f.Probe(t.Context(), q, nil)
		if err != nil || states(r) != tc.want || r.Code != tc.code || (r.Reason != "") != (tc.code != "") || min(len(r.Chain.Certificates), 1) != tc.chain {
			t.Errorf("%s: %s, code %q (%s), %d certificates, %v", name, states(r), r.Code, r.Reason, len(r.Chain.Certificates), err)
		}
		for _, s := range r.Steps() {
			if (s.State == model.ProbeNotReached || s.State == model.ProbeNotNeeded) && s.Duration >= 0 {
				t.Errorf("%s: step %s was not made, and took %s", name, s.Name, s.Duration)
			}
		}
		if tc.code == "" && tc.want[len("connect done, "):][:len("CONNECT done")] == "CONNECT done" && (len(r.ConnectHead) < 2 || !strings.HasPrefix(r.ConnectHead[0], "HTTP/1.1 200")) {
			t.Errorf("%s: the answer to CONNECT is %q", name, r.ConnectHead)
		}
	}
}

func wrongSecret(context.Context, string) (keystore.Secret, error) {
	return keystore.NewSecret("not-the-password"), nil
}

func TestTheAnswerToConnectIsShownWithoutSecrets(t *testing.T) {
	p := nativeProfile(t, &loopProxy{Connect: func(req *http.Request, conn net.Conn) bool {
		_, _ = io.WriteString(conn, "HTTP/1.1 407 No\x1b[2J\r\nx-echo: "+req.Header.Get("Proxy-Authorization")+"\r\nx-twice: "+servicetest.Password+"\r\nContent-Length: 0\r\n\r\n")
		return false
	}})
	r, err := newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "https://lab.test/"}, nil)
	if err != nil || len(r.ConnectHead) != 4 || r.ConnectHead[0] != "HTTP/1.1 407 No [2J" || !strings.HasPrefix(r.ConnectHead[2], "x-twice: ***") {
		t.Errorf("%q, %v", r.ConnectHead, err)
	}
	for _, line := range r.ConnectHead {
		servicetest.NoSecret(t, "the answer to CONNECT", line)
	}
	if got := headLines("HTTP/1.1 200 OK\r\n" + strings.Repeat("a: b\r\n", 500)); len(got) != headLineCount+1 {
		t.Errorf("%d lines are kept", len(got))
	}
}

// exits makes n calls that look for exits.
func exits(ctx context.Context, ft *Fetcher, q ProbeRequest, n int, on func(int, model.Cell)) (model.Grid, error) {
	g, err := ft.Plan(ctx, model.Preset{Kind: model.CompareExits, Params: q.Params, Session: q.Session, Repeat: n}, model.FetchRequest{Zone: q.Zone, URL: q.Target})
	if err != nil {
		return g, err
	}
	return ft.Compare(ctx, g, on)
}

// logins tests the logins of zones.
func logins(ctx context.Context, ft *Fetcher, target string, n int, zones []model.Zone, on func(int, model.Cell)) (model.Grid, error) {
	g, err := ft.Plan(ctx, model.Preset{Kind: model.CompareLogins, Zones: zones, Repeat: n}, model.FetchRequest{URL: target})
	if err != nil {
		return g, err
	}
	return ft.Compare(ctx, g, on)
}

func TestTheRotationIsMeasuredCallByCall(t *testing.T) {
	one, two := `{"ip":"203.0.113.1","country":"DE"}`, `{"ip":"203.0.113.2","country":"FR"}`
	p, px := told(t, one, two, one, `{}`, two, two)
	z := servicetest.Zone(p, "dc1")
	change, j, _ := withJournal(t)
	var seen []int
	g, err := exits(t.Context(), newFetcher(t, p, change), ProbeRequest{Zone: z, Target: "http://lab.test/"}, 6, func(_ int, c model.Cell) { seen = append(seen, len(c.Runs)) })
	noerr.Must(t, err)
	r := g.Cells[0]
	rate, ok := r.RepeatRate()
	if !slices.Equal(seen, []int{0, 1, 2, 3, 4, 5, 6, 6}) || r.KnownExits() != 5 || rate != 0.6 || !ok || !slices.Equal(r.ExitChanges(), []int{2, 3, 5}) || !slices.Equal(r.Countries(), []string{"DE", "FR"}) {
		t.Errorf("%+v, %v", r, err)
	}
	if got := r.Exits(); !slices.Equal(got, []model.ExitCount{{Address: "203.0.113.2", Calls: 3}, {Address: "203.0.113.1", Calls: 2}}) {
		t.Errorf("%+v", got)
	}
	if lines, err := j.Entries(t.Context(), model.HistoryFilter{}); err != nil || len(lines) != 1 || lines[0].Text != "rotation over 6 of 6 calls: 2 addresses in 5 calls, repeat rate 60 %" || lines[0].Zone != "dc1" {
		t.Errorf("%+v, %v", lines, err)
	}
	for _, name := range px.usernames() {
		if name == "" || strings.Contains(name, "session") {
			t.Errorf("%q", name)
		}
	}
}

func TestAMeasurementWithinASessionNamesIt(t *testing.T) {
	one, two := `{"ip":"203.0.113.1"}`, `{"ip":"203.0.113.2"}`
	p, px := told(t, one, one, two, two)
	q := ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/", Params: []model.Param{{Name: "session", Value: "a1"}}}
	g, err := exits(t.Context(), newFetcher(t, p), q, 4, nil)
	if err != nil || g.Verdict().Text != "session a1 did not keep its address: it changed at call 3" {
		t.Errorf("%+v, %v", g, err)
	}
	for _, name := range px.usernames() {
		if !strings.HasSuffix(name, "-session-a1") {
			t.Errorf("%s", name)
		}
	}
}

func TestAMeasurementEndsWhereCallsOnlyRepeatAFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		status, calls int
		ended         string
	}{
		"too fast":      {http.StatusTooManyRequests, 1, ""},
		"target errors": {http.StatusInternalServerError, 3, "3 calls in a row failed: "},
	} {
		p := nativeProfile(t, &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tc.status) })})
		g, err := exits(t.Context(), newFetcher(t, p), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/"}, 10, nil)
		if c := g.Cells[0]; err != nil || len(c.Runs) != tc.calls || c.Ended == "" || !strings.HasPrefix(c.Ended, tc.ended) {
			t.Errorf("%s: %d calls, ended %q, %v", name, len(c.Runs), c.Ended, err)
		}
	}
}

func TestAMeasurementThatIsStoppedKeepsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, _ := told(t, `{"ip":"203.0.113.1"}`)
	g, err := exits(ctx, newFetcher(t, p), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/"}, 10, func(_ int, c model.Cell) {
		if len(c.Runs) == 2 {
			cancel()
		}
	})
	if c := g.Cells[0]; !errors.Is(err, context.Canceled) || len(c.Runs) != 2 || c.Ended != "stopped" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestTheLoginsOfTheEmulatorsZones(t *testing.T) {
	change, j, _ := withJournal(t)
	c, p := fetchOnEmulator(t, change)
	told := map[string]int{}
	g, err := logins(t.Context(), c, "", 2, nil, func(_ int, c model.Cell) { told[string(c.Zone.Name)]++ })
	m := g.Baseline()
	var native []model.Zone
	for _, z := range p.Zones {
		if z.Product.NativeAccess() {
			native = append(native, z)
		}
	}
	if err != nil || len(m.Rows) != len(native) || m.Target != "https://lab.test/mygeo.json" {
		t.Fatalf("%+v, %v", m, err)
	}
	for i, row := range m.Rows {
		if row.Zone != native[i].Name || row.Class != model.ClassOK || row.Made != 2 || row.OK != 2 || row.Trust != model.ChainTrusted || row.Root == "" ||
			row.Connect < 0 || row.Median < 0 || row.ConnectStatus != 200 || row.Known != 2 || told[string(row.Zone)] != 4 {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	if row := m.Rows[slices.IndexFunc(m.Rows, func(r model.LoginRow) bool { return r.Zone == "residential_demo" })]; len(row.Countries) == 0 {
		t.Errorf("no country is known: %+v", row)
	}
	lines, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(lines) != 1 || !strings.HasPrefix(lines[0].Text, "matrix: ") || lines[0].Class != model.ClassOK {
		t.Errorf("%+v, %v", lines, err)
	}
	if changes := model.CompareBaseline(m, m); len(changes) != 0 {
		t.Errorf("it differs from itself: %+v", changes)
	}
}

func TestARowKeepsNothingOfAFailureThatTheNextCallHasNot(t *testing.T) {
	calls := 0
	p := nativeProfile(t, &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			w.Header().Set("X-Brd-Error-Code", "target_40020")
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = io.WriteString(w, "a page")
	})})
	p.Dialect = "brightdata"
	var first model.LoginRow
	g, err := logins(t.Context(), newFetcher(t, p), "http://lab.test/", 2, []model.Zone{servicetest.Zone(p, "dc1")}, func(_ int, c model.Cell) {
		if len(c.Runs) == 1 {
			first = c.LoginRow()
		}
	})
	m := g.Baseline()
	if err != nil || first.Class == model.ClassOK || first.Code != "target_40020" {
		t.Fatalf("the first call: %+v, %v", first, err)
	}
	row := m.Rows[0]
	if row.Class != model.ClassOK || row.Code != "" || row.ConnectStatus != 0 || row.OK != 1 || row.Made != 2 {
		t.Errorf("%+v", row)
	}
	base := m
	base.Rows = []model.LoginRow{row}
	base.Rows[0].OK = 2
	if changes := model.CompareBaseline(base, m); !model.Worse(changes) || changes[0].Text != "1 of 2 calls ok, was 2" {
		t.Errorf("%+v", changes)
	}
}

func TestARowOfAZoneThatCannotBeCalledSaysSo(t *testing.T) {
	p, px := told(t, `{"ip":"203.0.113.1"}`)
	p.Zones = []model.Zone{{Name: "nopass", Product: model.ProductISP}, servicetest.Zone(p, "dc1"), {Name: "serp", Product: model.ProductSERP}}
	g, err := logins(t.Context(), newFetcher(t, p), "http://lab.test/", 99, p.Zones, nil)
	m := g.Baseline()
	if err != nil || m.Calls != model.MaxLoginCalls || m.Rows[0].Problem == "" || m.Rows[1].OK != model.MaxLoginCalls || m.Rows[1].Trust != model.ChainUnknown || len(px.lines()) != model.MaxLoginCalls {
		t.Errorf("%+v, %v", m, err)
	}
	if !strings.Contains(m.Rows[2].Problem, "no native access") || g.Verdict().Text != "1 of 1 zones ok, 2 not called" {
		t.Errorf("%q", m.Verdict())
	}
	p.Zones = nil
	if _, err := logins(t.Context(), newFetcher(t, p), "http://lab.test/", 1, nil, nil); !errors.Is(err, model.ErrRequest) {
		t.Errorf("%v", err)
	}
}

func TestAComparisonOfLoginsThatIsStoppedEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := nativeProfile(t, &loopProxy{Plain: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() })})
	if _, err := logins(ctx, newFetcher(t, p), "http://lab.test/", 1, []model.Zone{servicetest.Zone(p, "dc1")}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
