package native

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
)

func FuzzProxyAuth(f *testing.F) {
	f.Add("Basic Og==")
	f.Add("Basic " + base64.StdEncoding.EncodeToString([]byte("brd-customer-hl_demo01-zone-isp_demo-country-us:x:y")))
	f.Add("basic  x")
	dir, err := state.Open("", time.Now)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = dir.Close() })
	acc, err := account.Open(&scenario.Scenario{Account: "hl_demo01", Prefix: "brd", Zones: []scenario.Zone{{Name: "isp_demo", Product: "isp", Password: "pw"}}}, dir, time.Now)
	if err != nil {
		f.Fatal(err)
	}
	p := &Proxy{conf: Config{Account: acc, Route: route.Router{Pool: exits.NewPool(time.Now)}}}
	f.Fuzz(func(t *testing.T, h string) {
		c, ok := proxyAuth(h)
		if !ok {
			return
		}
		l, refused := p.login(c)
		if refused != nil {
			if refused.Status < 400 || refused.Code == "" {
				t.Fatalf("refused with %+v", refused)
			}
			return
		}
		if c.password != "pw" || l.zone.Name != "isp_demo" || !strings.Contains(c.user, "hl_demo01") {
			t.Fatalf("%q was let in", h)
		}
	})
}
