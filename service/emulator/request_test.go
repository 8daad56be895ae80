package emulator

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
	emutime "zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/jobs"
)

func TestKeysAreCheckedOnEveryEndpoint(t *testing.T) {
	g := start(t, Options{})
	endpoints := []struct{ method, path, missing string }{
		{"POST", "/request", "User authentication is required"},
		{"POST", "/datasets/v3/trigger?dataset_id=gd_pages", "Credentials are missing"},
		{"GET", "/datasets/v3/progress/sd_x", "Credentials are missing"},
		{"GET", "/datasets/v3/snapshot/sd_x", "Credentials are missing"},
		{"POST", "/datasets/v3/snapshot/sd_x/cancel", "Credentials are missing"},
		{"GET", "/datasets/v3/snapshots", "Credentials are missing"},
		{"GET", "/datasets/list", "Credentials are missing"},
	}
	for _, e := range endpoints {
		for name, c := range map[string]struct{ token, text string }{
			"missing": {"", e.missing},
			"unknown": {"0123456789abcdef", "Auth method is not supported"},
			"expired": {g.key("expired-user"), "Invalid credentials"},
		} {
			a := g.do(e.method, g.r.API+e.path, c.token, nil)
			if a.status != http.StatusUnauthorized || a.body != c.text || a.header.Get(answer.BasisHeader) == "" {
				t.Errorf("%s %s with a key that is %s: %+v", e.method, e.path, name, a)
			}
		}
	}
}

func TestExpiryTakesEffectAtItsMoment(t *testing.T) {
	c := newClock()
	g := start(t, Options{Now: c.now})
	ask := func() int {
		return g.do("GET", g.r.API+"/datasets/v3/snapshots", g.key("ci-fetch"), nil).status
	}
	c.forward(7*day - time.Second)
	if got := ask(); got != 200 {
		t.Errorf("a second before: %d", got)
	}
	c.forward(time.Second)
	if got := ask(); got != 401 {
		t.Errorf("at its moment: %d", got)
	}
}

func TestRequestRefusesByName(t *testing.T) {
	g := start(t, Options{})
	cases := []struct{ name, body, detail string }{
		{"not JSON", `nope`, "body must be a JSON object"},
		{"an array", `[]`, "body must be a JSON object"},
		{"null", `null`, "body must be a JSON object"},
		{"no url", `{"zone":"isp_demo","format":"raw"}`, "url is required"},
		{"no format", `{"zone":"isp_demo","url":"http://lab.test/ok"}`, "format is required"},
		{"relative url", `{"zone":"isp_demo","url":"/ok","format":"raw"}`, "url must be"},
		{"ftp", `{"zone":"isp_demo","url":"ftp://lab.test/","format":"raw"}`, "url must be"},
		{"a format nobody knows", `{"zone":"isp_demo","url":"http://lab.test/","format":"xml"}`, "format must be raw or json"},
		{"a country of three letters", `{"zone":"isp_demo","url":"http://lab.test/","format":"raw","country":"USA"}`, "country takes two lower-case letters"},
		{"a city on ISP", `{"zone":"isp_demo","url":"http://lab.test/","format":"raw","country":"us","city":"reno"}`, "city is for residential and mobile zones"},
		{"async in the body", `{"zone":"isp_demo","url":"http://lab.test/","format":"raw","async":true}`, "async is not allowed"},
		{"a field nobody knows", `{"zone":"isp_demo","url":"http://lab.test/","format":"raw","colour":"red"}`, "colour is not allowed"},
		{"a field of other products", `{"zone":"isp_demo","url":"http://lab.test/","format":"raw","data_format":"markdown"}`, "data_format is for unlocker, SERP, browser and crawl zones"},
		{"a number as zone", `{"zone":7,"url":"http://lab.test/","format":"raw"}`, "zone must be a string"},
		{"a method nobody knows", `{"zone":"isp_demo","url":"http://lab.test/","format":"raw","method":"CONNECT"}`, "method must be one of"},
		{"a header with a line break", `{"zone":"isp_demo","url":"http://lab.test/","format":"raw","headers":{"A":"b\r\nC: d"}}`, `headers: "A" is not a valid header`},
		{"the proxy's own header", `{"zone":"isp_demo","url":"http://lab.test/","format":"raw","headers":{"proxy-authorization":"x"}}`, "headers: proxy-authorization is set by the service"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := g.do("POST", g.r.API+"/request", g.key("batch-user"), c.body)
			v := decode[struct {
				Error   string   `json:"error"`
				Code    string   `json:"error_code"`
				Details []string `json:"details"`
			}](t, a)
			if a.status != 400 || v.Error != "Request validation failed" || v.Code != "validation" || !strings.Contains(strings.Join(v.Details, "\n"), c.detail) {
				t.Errorf("%+v", a)
			}
		})
	}
	if a := g.request(map[string]any{"url": "http://lab.test/ok", "format": "raw"}); a.status != 400 || a.body != "Missing zone parameter" {
		t.Errorf("no zone: %+v", a)
	}
	if a := g.request(map[string]any{"zone": "Isp_demo", "url": "http://lab.test/ok", "format": "raw"}); a.status != 400 || a.body != `zone "Isp_demo" not found` {
		t.Errorf("unknown zone: %+v", a)
	}
	if a := g.do("PUT", g.r.API+"/request", g.key("batch-user"), nil); a.status != 405 {
		t.Errorf("PUT: %+v", a)
	}
}

func TestEveryProductFetchesByAPI(t *testing.T) {
	t.Parallel() // Chromium waits more than it works
	g := start(t, Options{})
	for _, z := range g.r.Zones {
		if z.Product == "browser" {
			needChromium(t)
		}
		for _, scheme := range []string{"http", "https"} {
			a := g.request(map[string]any{"zone": z.Name, "url": scheme + "://lab.test/ok", "format": "raw"})
			if a.status != 200 || a.header.Get("x-brd-status-code") != "200" || !strings.Contains(a.body, "It works") || a.header.Get("x-brd-ip") == "" {
				t.Errorf("%s over %s: %+v", z.Name, scheme, a)
			}
		}
	}
}

func TestTargetsPassThroughWithOuter200(t *testing.T) {
	g := start(t, Options{})
	for _, c := range []struct{ path, inner, text, retry string }{
		{"/ok", "200", "It works", ""},
		{"/forbidden", "403", "Access denied", ""},
		{"/too-fast", "429", "Too many requests", "1"},
		{"/captcha", "200", "g-recaptcha", ""},
		{"/empty", "200", "", ""},
		{"/error", "500", "Something broke", ""},
		{"/nowhere", "404", "Not found", ""},
		{"/slow?s=0.01", "200", "At last", ""},
		{"/search?q=<lamp>", "200", "&lt;lamp&gt;", ""},
		{"/search?q=lamp", "200", "Brass desk lamp", ""},
	} {
		a := g.request(map[string]any{"zone": "datacenter_demo", "url": "http://lab.test:8080" + c.path, "format": "raw"})
		if a.status != 200 || a.header.Get("x-brd-status-code") != c.inner || a.header.Get("Retry-After") != c.retry ||
			a.header.Get("x-brd-error") != "" || !strings.Contains(a.body, c.text) || (c.path == "/empty") != (a.body == "") {
			t.Errorf("%s: %+v", c.path, a)
		}
	}
}

func TestFormatJSONWrapsTheTarget(t *testing.T) {
	g := start(t, Options{})
	raw := g.request(map[string]any{"zone": "isp_demo", "url": "http://lab.test/json", "format": "raw"})
	a := g.request(map[string]any{"zone": "isp_demo", "url": "http://lab.test/json", "format": "json"})
	v := decode[struct {
		Status  int               `json:"status_code"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}](t, a)
	if v.Status != 200 || v.Body != raw.body || v.Headers["content-type"] != "application/json" {
		t.Errorf("%+v", v)
	}
	a = g.request(map[string]any{"zone": "isp_demo", "url": "http://lab.test/too-fast", "format": "json"})
	if a.header.Get("Retry-After") != "1" || !strings.HasPrefix(a.body, `{"status_code":429,`) {
		t.Errorf("%+v", a)
	}
}

func TestMethodHeadersBodyAndCountryReachTheTarget(t *testing.T) {
	g := start(t, Options{})
	type seen struct {
		Address string              `json:"address"`
		Method  string              `json:"method"`
		Headers map[string][]string `json:"headers"`
		Body    string              `json:"body"`
	}
	a := g.request(map[string]any{
		"zone": "mobile_demo", "url": "http://lab.test/whoami", "format": "raw", "method": "POST", "country": "fr",
		"headers": map[string]string{"X-Test": "yes", "User-Agent": "mine"}, "body": map[string]any{"a": 1}, "c_tag": "tag1",
	})
	v := decode[seen](t, a)
	if v.Method != http.MethodPost || v.Body != `{"a":1}` || v.Headers["X-Test"][0] != "yes" || v.Headers["User-Agent"][0] != "mine" ||
		v.Headers["Content-Type"][0] != "application/json" {
		t.Errorf("%+v", v)
	}
	if a.header.Get("x-brd-c_tag") != "tag1" || !strings.Contains(a.header.Get("x-brd-debug"), "country=fr") {
		t.Errorf("%v", a.header)
	}
	if strings.Contains(a.header.Get("x-brd-debug"), "exit=bound") && v.Address != a.header.Get("x-brd-ip") {
		t.Errorf("left from %s, said %s", v.Address, a.header.Get("x-brd-ip"))
	}
	// A public SDK sends countries in capitals.
	a = g.request(map[string]any{"zone": "mobile_demo", "url": "http://lab.test/whoami", "format": "raw", "country": "FR"})
	if a.status != http.StatusOK || !strings.Contains(a.header.Get("x-brd-debug"), "country=fr") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	a = g.request(map[string]any{"zone": "mobile_demo", "url": "http://lab.test/whoami", "format": "raw", "method": "PUT", "body": "plain"})
	if v := decode[seen](t, a); v.Method != http.MethodPut || v.Body != "plain" {
		t.Errorf("%+v", v)
	}
}

func TestPortsOfOtherServicesAreRefusedByEveryWay(t *testing.T) {
	g := start(t, Options{})
	a := g.request(map[string]any{"zone": "isp_demo", "url": "http://mail.example:25/", "format": "raw"})
	if a.status != 200 || a.header.Get("x-brd-error-code") != "policy_20020" {
		t.Errorf("by the API: %+v", a)
	}
	var fe *jobs.FetchError
	if _, err := g.fetch.ForJob(t.Context(), jobs.Request{URL: "http://mail.example:25/", Limit: 1}); !errors.As(err, &fe) || fe.Code != "policy_20020" {
		t.Errorf("by a job: %v", err)
	}
}

func TestAFailedFetchIsOuter200WithAnEmptyBody(t *testing.T) {
	g := start(t, Options{})
	g.listeners[0].Close() // the lab: its address now refuses connections
	a := g.request(map[string]any{"zone": "isp_demo", "url": "http://lab.test/ok", "format": "raw"})
	if a.status != 200 || a.body != "" || a.header.Get("x-brd-status-code") != "502" || a.header.Get("x-brd-error") == "" ||
		a.header.Get("x-brd-error-code") != "target_40020" || a.header.Get("x-brd-err-code") != "target_40020" {
		t.Errorf("%+v", a)
	}
}

func TestAnswersWithoutABodyEndWhole(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"1"` {
			c, _, err := http.NewResponseController(w).Hijack() // net/http would not say a length
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\nConnection: close\r\n\r\n")
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
	}))
	defer target.Close()
	g := start(t, Options{AllowPrivate: []string{target.Listener.Addr().String()}})
	for _, format := range []string{"raw", "json"} {
		for name, c := range map[string]struct {
			ask   call
			inner string
		}{
			"a conditional request": {call{"headers": call{"If-None-Match": `"1"`}}, "304"},
			"HEAD":                  {call{"method": "HEAD"}, "200"},
		} {
			c.ask["zone"], c.ask["url"], c.ask["format"] = "isp_demo", target.URL, format
			a := g.request(c.ask)
			if a.status != 200 || a.header.Get("x-brd-status-code") != c.inner || format == "raw" && a.body != "" {
				t.Errorf("%s, %s: %+v", name, format, a)
			}
		}
	}
}

func TestLargeBodiesStreamWhole(t *testing.T) {
	g := start(t, Options{})
	for _, format := range []string{"raw", "json"} {
		a := g.request(map[string]any{"zone": "isp_demo", "url": "http://lab.test/large?mb=3", "format": format})
		body := a.body
		if format == "json" {
			var v struct{ Body string }
			noerr.Must(t, json.Unmarshal([]byte(body), &v))
			body = v.Body
		}
		if len(body) != 3<<20 || !strings.HasPrefix(body[len(body)-64:], "000049151 ") {
			t.Errorf("%s: %d bytes", format, len(body))
		}
	}
}

func TestAsynchronousRequests(t *testing.T) {
	g := start(t, Options{})
	token := g.key("batch-user")
	for name, c := range map[string]struct {
		submit, collect string
		body            call
		text            string
	}{
		"/request":  {"/request?async=true", "/response", call{"zone": "unlocker_demo", "url": "http://lab.test/slow?s=0.3", "format": "raw"}, "At last"},
		"unblocker": {"/unblocker/req?zone=unlocker_demo&customer=hl_demo01", "/unblocker/get_result", call{"url": "http://lab.test/captcha", "country": "us"}, "behind the block"},
		"serp":      {"/serp/req?zone=serp_demo", "/serp/get_result", call{"query": call{"q": "lamp", "hl": "en"}, "brd_json": 1}, `"organic"`},
	} {
		a := g.do("POST", g.r.API+c.submit, token, c.body)
		id := a.header.Get("x-response-id")
		if a.status != 200 || id == "" {
			t.Fatalf("%s: %+v", name, a)
		}
		got := g.collect(c.collect, id)
		if got.status != 200 || !strings.Contains(got.body, c.text) || got.header.Get("x-brd-status-code") != "200" {
			t.Errorf("%s: %+v", name, got)
		}
		if again := g.collect(c.collect, id); again.body != got.body {
			t.Errorf("%s, collected again: %+v", name, again)
		}
		if other := g.do("GET", g.r.API+c.collect+"?zone=isp_demo&response_id="+id, token, nil); other.status != 404 {
			t.Errorf("%s, of another zone: %+v", name, other)
		}
	}
	if a := g.do("GET", g.r.API+"/response?response_id=r_nonsense", token, nil); a.status != 404 || a.header.Get("x-emulator-basis") == "" {
		t.Errorf("%+v", a)
	}
	if a := g.do("GET", g.r.API+"/response", token, nil); a.status != 400 {
		t.Errorf("%+v", a)
	}
	if a := g.do("POST", g.r.API+"/unblocker/req?zone=isp_demo", token, call{"url": "http://lab.test/ok"}); a.status != 400 || !strings.Contains(a.body, "unlocker and SERP") {
		t.Errorf("%+v", a)
	}
	if a := g.do("POST", g.r.API+"/unblocker/req?zone=unlocker_demo&customer=hl_other", token, call{"url": "http://lab.test/ok"}); a.status != 400 || !strings.Contains(a.body, "customer") {
		t.Errorf("%+v", a)
	}
}

// collect polls until the response is there.
func (g *rig) collect(path, id string) reply {
	g.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		a := g.do("GET", g.r.API+path+"?response_id="+id, g.key("batch-user"), nil)
		if a.status != http.StatusAccepted {
			return a
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("still pending: %+v", a)
		}
		_ = emutime.Pause(g.t.Context(), 10*time.Millisecond) // or the test ends
	}
}

func TestResponsesSurviveARestartAndExpire(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	o := Options{StateDir: dir, Now: c.now, ProxyAddr: "127.0.0.1:0"}
	g := start(t, o)
	submit := func(g *rig, path string) string {
		return g.do("POST", g.r.API+"/request?async=true", g.key("batch-user"), call{"zone": "unlocker_demo", "url": "http://lab.test" + path, "format": "raw"}).header.Get("x-response-id")
	}
	done := submit(g, "/ok")
	first := g.collect("/response", done)
	pending := submit(g, "/slow?s=1")
	noerr.Must(t, g.Shutdown(t.Context()))
	g = start(t, o)
	if a := g.collect("/response", done); a.body != first.body || a.header.Get("x-brd-ip") != first.header.Get("x-brd-ip") {
		t.Errorf("after a restart: %+v", a)
	}
	if a := g.collect("/response", pending); !strings.Contains(a.body, "At last") {
		t.Errorf("interrupted by a restart: %+v", a)
	}
	c.forward(48*time.Hour - time.Second)
	if a := g.collect("/response", done); a.status != 200 {
		t.Errorf("a second before its time: %+v", a)
	}
	c.forward(2 * time.Second)
	if a := g.collect("/response", done); a.status != 404 {
		t.Errorf("after 48 hours: %+v", a)
	}
}

func TestANoticeOfAnAsynchronousRequest(t *testing.T) {
	h := receiveWebhooks(t)
	g := start(t, Options{AllowPrivate: []string{h.Listener.Addr().String()}})
	token := g.key("batch-user")
	a := g.do("POST", g.r.API+"/unblocker/req?zone=unlocker_demo", token, call{
		"url": "http://lab.test/ok", "webhook_url": h.URL + "/done", "webhook_data": call{"n": 1},
	})
	id := a.header.Get("x-response-id")
	if id == "" {
		t.Fatalf("%+v", a)
	}
	for deadline := time.Now().Add(time.Minute); len(h.all()) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no notice came")
		}
		_ = emutime.Pause(t.Context(), 5*time.Millisecond) // or the test ends
	}
	if got := h.all()[0]; got.body != `{"status":"done","response_id":"`+id+`","request_url":"http://lab.test/ok","hook_data":{"n":1}}` {
		t.Errorf("%+v", got)
	}
	// Without leave no notice goes to this machine.
	shut := start(t, Options{})
	b := shut.do("POST", shut.r.API+"/unblocker/req?zone=unlocker_demo", shut.key("batch-user"), call{"url": "http://lab.test/ok", "webhook_url": h.URL + "/private"})
	shut.collect("/unblocker/get_result", b.header.Get("x-response-id"))
	if n := len(h.all()); n != 1 {
		t.Errorf("%d notices", n)
	}
}
