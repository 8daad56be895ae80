package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/servicetest"

	"zonedeck/model"
)

func native(p model.Profile, url string) model.FetchRequest {
	r := askFor(p, "dc1")
	r.Via, r.URL = model.ViaNative, url
	return r
}

func TestFetchThroughATunnel(t *testing.T) {
	dial, ca := servicetest.TLSTarget(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the target got the proxy's login")
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, servicetest.Page)
	})
	px := &loopProxy{Target: dial}
	p := nativeProfile(t, px)

	res := fetched(t, newFetcher(t, p), native(p, "https://example.com/ok"))
	wantVerdict(t, res, model.ClassOutside, model.CauseTLSTrust)
	if res.ServiceStatus != 200 || res.Exit != "203.0.113.7" || res.ProxyHeader.Get("X-Brd-Ip") == "" {
		t.Errorf("the CONNECT answer is lost: %+v", res)
	}

	p.CA = ca // httptest's certificate is for example.com
	res = fetched(t, newFetcher(t, p), native(p, "https://example.com/ok"))
	wantVerdict(t, res, model.ClassOK, "")
	if res.Status != 200 || string(res.Body.Bytes) != servicetest.Page {
		t.Errorf("status %d, body %q", res.Status, res.Body.Bytes)
	}
	if tm := res.Timing; tm.Connect < 0 || tm.ProxyConnect <= 0 || tm.TLS <= 0 || tm.FirstByte < 0 || tm.Transfer < 0 {
		t.Errorf("timing %+v", tm)
	}
	res = fetched(t, newFetcher(t, p), native(p, "https://other.test/ok"))
	wantVerdict(t, res, model.ClassOutside, model.CauseTLSTrust) // the wrong name

	p.CA, p.Verify = "", false
	res = fetched(t, newFetcher(t, p), native(p, "https://other.test/ok"))
	wantVerdict(t, res, model.ClassOK, "")
	b, _ := json.Marshal(res.Diagnosis.Evidence)
	if !strings.Contains(string(b), "verify = false") {
		t.Errorf("evidence %s does not say that nothing was verified", b)
	}
	if got := px.lines(); got[0] != "CONNECT example.com:443" {
		t.Errorf("the proxy saw %v", got)
	}
}

func TestEachRefusalOfTheProxyHasItsVerdict(t *testing.T) {
	answer := func(s string) func(*http.Request, net.Conn) bool {
		return func(_ *http.Request, conn net.Conn) bool {
			_, _ = io.WriteString(conn, s)
			return false
		}
	}
	for name, tc := range map[string]struct {
		connect func(*http.Request, net.Conn) bool
		class   model.Class
		cause   model.Cause
		status  int
		reason  string
	}{
		"a login with its reason in a header":     {answer("HTTP/1.1 407 Proxy Authentication Required\r\nx-brd-err-code: client_10000\r\nx-brd-err-msg: auth failed\r\nContent-Length: 0\r\n\r\n"), model.ClassOutside, model.CauseLoginRejected, 407, "client_10000"},
		"a login with its reason in Proxy-Status": {answer("HTTP/1.1 407 x\r\nProxy-Status: p; error=\"http_request_denied\"; details=\"client_10002: zone not found\"\r\nContent-Length: 0\r\n\r\n"), model.ClassOutside, model.CauseLoginRejected, 407, "zone not found"},
		"access, told by a body that is never ended": {func(_ *http.Request, conn net.Conn) bool {
			_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"error\":{\"code\":\"kyc_required\",\"message\":\"verify your identity first\"}}")
			_, _ = io.Copy(io.Discard, conn)
			return false
		}, model.ClassAccessRestricted, model.CausePolicy, 403, "verify your identity"},
		"a dead target":              {answer("HTTP/1.1 502 Bad Gateway\r\nx-brd-err-code: target_40001\r\nContent-Length: 0\r\n\r\n"), model.ClassOutside, model.CauseTargetError, 502, "target_40001"},
		"a peer that hangs up":       {func(*http.Request, net.Conn) bool { return false }, model.ClassOutside, model.CauseNetwork, 0, ""},
		"a port that speaks no HTTP": {answer("220 smtp ready\r\n"), model.ClassOutside, model.CauseNetwork, 0, ""},
		"a head without an end":      {answer("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 300<<10)), model.ClassOutside, model.CauseNetwork, 0, ""},
		"a tunnel that ends in the TLS": {func(_ *http.Request, conn net.Conn) bool {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			return false
		}, model.ClassOutside, model.CauseNetwork, 200, ""},
		"a tunnel to something without TLS, in one packet": {answer("HTTP/1.1 200 OK\r\n\r\nhello, this is not a handshake"), model.ClassOutside, model.CauseNetwork, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			px := &loopProxy{Connect: tc.connect}
			p := nativeProfile(t, px)
			r := native(p, "https://lab.test/ok")
			r.Retries, r.Timeout = 0, time.Minute
			res := fetched(t, newFetcher(t, p), r)
			wantVerdict(t, res, tc.class, tc.cause)
			if res.ServiceStatus != tc.status || res.Status != 0 {
				t.Errorf("service status %d, status %d", res.ServiceStatus, res.Status)
			}
			b, _ := json.Marshal(res)
			if !strings.Contains(string(b), tc.reason) {
				t.Errorf("the reason %q is not in %s", tc.reason, b)
			}
			servicetest.NoSecret(t, "the result", string(b))
		})
	}
}

func TestPlainTargetsGoInAbsoluteForm(t *testing.T) {
	px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refused":
			w.Header().Set("x-brd-err-code", "client_10010")
			w.WriteHeader(http.StatusProxyAuthRequired)
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "no such page")
		default:
			w.Header().Set("x-brd-ip", "203.0.113.8")
			_, _ = io.WriteString(w, servicetest.Page)
		}
	})}
	p := nativeProfile(t, px)
	c := newFetcher(t, p)
	for path, want := range map[string]struct {
		class           model.Class
		cause           model.Cause
		status, service int
	}{
		"/ok":      {model.ClassOK, "", 200, 0},
		"/missing": {model.ClassOutside, model.CauseTargetError, 404, 0},
		"/refused": {model.ClassOutside, model.CauseLoginRejected, 0, 407},
	} {
		res := fetched(t, c, native(p, "http://lab.test"+path))
		wantVerdict(t, res, want.class, want.cause)
		if res.Status != want.status || res.ServiceStatus != want.service {
			t.Errorf("%s: status %d, service %d", path, res.Status, res.ServiceStatus)
		}
	}
	named := native(p, "http://lab.test/a%2Fb|c")
	named.Header = http.Header{"Host": {"other.test"}}
	noerr.Must(t, noerr.From(c.Fetch(t.Context(), named, nil)))
	if l := px.lines(); !strings.HasPrefix(l[len(l)-1], "GET http://lab.test/a%2Fb%7Cc") {
		t.Errorf("the proxy saw %q", l[len(l)-1])
	}
	for _, l := range px.lines() {
		if !strings.HasPrefix(l, "GET http://lab.test/") {
			t.Errorf("the proxy saw %q", l)
		}
	}
}

func TestCancelWhileTheProxyIsSilent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hang := make(chan struct{})
	px := &loopProxy{Connect: func(_ *http.Request, _ net.Conn) bool {
		cancel()
		<-hang
		return false
	}}
	p := nativeProfile(t, px)
	t.Cleanup(func() { close(hang) })
	_, err := newFetcher(t, p).Fetch(ctx, native(p, "https://lab.test/"), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestProbe(t *testing.T) {
	var n int
	dial, ca := servicetest.TLSTarget(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, servicetest.Page) })
	exits := map[string]string{}
	px := &loopProxy{Target: dial}
	px.Connect = func(req *http.Request, conn net.Conn) bool {
		px.mu.Lock()
		login := req.Header.Get("Proxy-Authorization")
		if exits[login] == "" || !strings.Contains(servicetest.LoginOf(login), "-session-") {
			n++
			exits[login] = "203.0.113." + string(rune('0'+n))
		}
		exit := exits[login]
		px.mu.Unlock()
		up, err := dial()
		if err != nil {
			return true
		}
		defer up.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nx-brd-ip: "+exit+"\r\nx-a: b\r\n\r\n")
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(up, conn); up.Close() }()
		_, _ = io.Copy(conn, up)
		conn.Close()
		<-done
		return false
	}
	p := nativeProfile(t, px)
	p.CA = ca
	change, j, _ := withJournal(t)
	c := newFetcher(t, p, change)
	var steps []string
	res, err := c.Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "https://example.com/", Rounds: 3, Session: "a1", Params: []model.Param{{Name: "session", Value: "a1"}}},
		func(s string) { steps = append(steps, s) })
	noerr.Must(t, err)
	if !res.Diagnosis.OK() || res.ConnectStatus != 200 || res.TargetStatus != 200 || res.ConnectHeader["X-A"] == nil {
		t.Errorf("result %+v", res)
	}
	if strings.Join(res.Exits, " ") != "203.0.113.1 203.0.113.2 203.0.113.3" || !res.StickyRun || !res.Sticky {
		t.Errorf("exits %v, sticky %v %v", res.Exits, res.StickyRun, res.Sticky)
	}
	if len(steps) != 5 || res.Username != "brd-customer-hl_test01-zone-dc1-session-a1" {
		t.Errorf("steps %q, username %q", steps, res.Username)
	}
	list, err := j.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryProbe})
	if err != nil || len(list) != 1 || list[0].Class != model.ClassOK {
		t.Errorf("timeline %+v: %v", list, err)
	}
}

func TestProbeStopsAtTheFirstFailure(t *testing.T) {
	px := &loopProxy{Connect: func(_ *http.Request, conn net.Conn) bool {
		_, _ = io.WriteString(conn, "HTTP/1.1 407 No\r\nx-brd-err-code: client_10000\r\nContent-Length: 0\r\n\r\n")
		return false
	}}
	p := nativeProfile(t, px)
	res, err := newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "https://lab.test/", Rounds: 5, Session: "a"}, nil)
	noerr.Must(t, err)
	if res.Diagnosis.Cause != model.CauseLoginRejected || res.ConnectStatus != 407 || len(px.lines()) != 1 || res.StickyRun {
		t.Errorf("result %+v after %d calls", res, len(px.lines()))
	}
}

func TestTheChainIsWhatTheClientSaw(t *testing.T) {
	dial, ca := servicetest.TLSTarget(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, servicetest.Page) })
	p := nativeProfile(t, &loopProxy{Target: dial, Plain: http.NotFoundHandler()})
	change, j, _ := withJournal(t)
	for _, c := range []struct {
		name, ca, url string
		verify        bool
		trust         model.Trust
		why           string
	}{
		{"nobody vouches", "", "https://example.com/", true, model.TrustNone, "unknown authority"},
		{"the CA file does", ca, "https://example.com/", true, model.TrustFile, ""},
		{"another name", ca, "https://other.test/", true, model.TrustNone, "other.test"},
		{"unchecked, and nobody vouches", "", "https://other.test/", false, model.TrustNone, "other.test"},
		{"unchecked, and the CA file vouches", ca, "https://example.com/", false, model.TrustFile, ""},
	} {
		p.CA, p.Verify = c.ca, c.verify
		res := fetched(t, newFetcher(t, p, change), native(p, c.url))
		got := res.Chain
		if got.Trust != c.trust || got.Unchecked == c.verify || !strings.Contains(got.UntrustedReason, c.why) || (c.why == "") != (got.UntrustedReason == "") || got.Peer != "target" {
			t.Errorf("%s: %+v", c.name, got)
		}
		if !got.HasCertificates() || len(got.Certificates[0].SHA256) != 64 || got.Certificates[0].NotAfter.IsZero() || !strings.Contains(strings.Join(got.Certificates[0].Names, " "), "example.com") {
			t.Errorf("%s: certificates %+v", c.name, got.Certificates)
		}
		if used := got.Version != ""; used != res.Diagnosis.OK() {
			t.Errorf("%s: agreed on %q", c.name, got.Version)
		}
		kept, err := j.Fetch(t.Context(), res.ID)
		if err != nil || kept.Chain.Trust != got.Trust || len(kept.Chain.Certificates) != len(got.Certificates) || !kept.Chain.Certificates[0].NotAfter.Equal(got.Certificates[0].NotAfter) {
			t.Errorf("%s: the history has %+v: %v", c.name, kept.Chain, err)
		}
	}
	plain, err := newFetcher(t, p).Fetch(t.Context(), native(p, "http://lab.test/"), nil)
	if err != nil || plain.Chain.HasCertificates() {
		t.Errorf("plain http has certificates: %+v, %v", plain.Chain, err)
	}
}
