package emulator

import (
	"testing"
	"time"

	"zonedeck/service/emulator/meter"
)

// used is what a zone used today. Bytes are counted before the client gets them.
func (g *rig) used(zone string) meter.Sum {
	g.t.Helper()
	now := g.now()
	return g.meter.Zone(zone, now, now.AddDate(0, 0, 1))
}

func TestAPageIsMeteredTheSameByBothMethods(t *testing.T) {
	c := newClock()
	g := start(t, Options{Now: c.now})
	fetch := map[string]func(zone string) string{
		"API": func(zone string) string {
			return g.request(map[string]any{"zone": zone, "url": "http://lab.test/large?mb=1", "format": "raw"}).body
		},
		"native": func(zone string) string { return g.get(g.through(zone), "http://lab.test/large?mb=1").body },
	}
	for _, zone := range []string{"residential_demo", "datacenter_demo", "unlocker_demo"} {
		got := map[string]meter.Sum{}
		for method, do := range fetch {
			before := g.used(zone)
			n := len(do(zone))
			after := g.used(zone)
			s := meter.Sum{Up: after.Up - before.Up, Down: after.Down - before.Down, HTTP: after.HTTP - before.HTTP, Billable: after.Billable - before.Billable, Nano: after.Nano - before.Nano}
			if s.Down != int64(n) || s.HTTP != 1 || s.Billable != 1 || s.Nano == 0 {
				t.Errorf("%s by %s: %+v of %d bytes", zone, method, s, n)
			}
			got[method] = s
		}
		a, n := got["API"], got["native"]
		// Differences of rounded sums: a billionth of a dollar may be between them.
		if d := a.Nano - n.Nano; a.Bytes() != n.Bytes() || d < -1 || d > 1 {
			t.Errorf("%s costs %+v by API and %+v by proxy", zone, a, n)
		}
	}
	if s := g.used("unlocker_demo"); s.API == 0 || s.API*2 != s.Bytes() {
		t.Errorf("the API's part: %+v", s)
	}
	before := g.used("unlocker_demo")
	g.request(map[string]any{"zone": "unlocker_demo", "url": "http://lab.test/error", "format": "raw"})
	if after := g.used("unlocker_demo"); after.Nano != before.Nano || after.Requests() != before.Requests()+1 {
		t.Errorf("a failed fetch: %+v, then %+v", before, after)
	}
}

func TestATunnelIsMeteredWhileItIsOpen(t *testing.T) {
	c := newClock()
	g := start(t, Options{Now: c.now})
	conn := connect(t, g.r.Proxy, loginHeader("datacenter_demo", g.password("datacenter_demo")), "lab.test:80", nil)
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /ok HTTP/1.1\r\nHost: lab.test\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(make([]byte, 4096))
	if err != nil {
		t.Fatal(err)
	}
	if s := g.used("datacenter_demo"); s.Up != 36 || s.Down < int64(n) || s.Requests() != 1 || s.Nano == 0 {
		t.Errorf("%+v after %d bytes", s, n)
	}
}

func TestUsageSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	c := newClock()
	g := start(t, Options{StateDir: dir, Now: c.now})
	g.request(map[string]any{"zone": "isp_demo", "url": "http://lab.test/ok", "format": "raw"})
	g.trigger("gd_products", "http://lab.test/shop")
	want, total := g.used("isp_demo"), g.meter.Total()
	if err := g.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := start(t, Options{StateDir: dir, Now: c.now})
	if got := h.used("isp_demo"); got != want || got.Nano == 0 || h.meter.Total() < total {
		t.Errorf("%+v, want %+v; %d of %d", got, want, h.meter.Total(), total)
	}
}
