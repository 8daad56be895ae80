package emulator

import (
	"net/http"
	"strings"
	"testing"
	"time"

	emutime "zonedeck/service/emulator/clock"
)

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
	if err := g.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	h := receiveHooks(t)
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
