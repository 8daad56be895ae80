package emulator

import (
	"net/http"
	"slices"
	"testing"

	"zonedeck/service/emulator/level"
)

func TestListsOfCallersHoldForBothMethods(t *testing.T) {
	g := start(t, Options{})
	zone, other, page := "datacenter_demo", "127.0.0.2", "http://lab.test/ok"
	g.expect(level.Limit, "GET /zone/whitelist?zones="+zone, "", 200, `{"datacenter_demo":["any"]}`)
	g.expect(level.Limit, "GET /zone/blacklist?zone="+zone, "", 200, `{"datacenter_demo":[]}`)
	g.expectBoth(other, zone, page, "200", "200")
	// The first address that is allowed keeps everyone else out.
	g.expect(level.Limit, "POST /zone/whitelist", `{"zone":"datacenter_demo","ip":"127.0.0.1"}`, 201, `["127.0.0.1"]`)
	g.expectBoth(other, zone, page, "407 client_10030", "407 client_10030")
	g.expectBoth(here, zone, page, "200", "200")
	g.expect(level.Limit, "POST /zone/whitelist", `{"zone":"datacenter_demo","ip":["127.0.0.2-127.0.0.9","10.0.0.0/255.0.0.0"]}`, 201, `10.0.0.0/255.0.0.0`)
	g.expectBoth(other, zone, page, "200", "200")
	g.expect(level.Limit, "POST /zone/blacklist", `{"zone":"datacenter_demo","ip":"127.0.0.2/32"}`, 201, `["127.0.0.2/32"]`)
	g.expectBoth(other, zone, page, "401 client_10050", "401 client_10050")
	g.expect(level.Limit, "DELETE /zone/blacklist", `{"zone":"datacenter_demo","ip":"127.0.0.2"}`, 200, `[]`)
	g.expectBoth(other, zone, page, "200", "200")
	g.expect(level.Limit, "POST /zone/whitelist", `{"zone":"datacenter_demo","ip":"any"}`, 201, `["any"]`)
	g.expectBoth("127.0.0.77", zone, page, "200", "200")
	g.expect(level.Limit, "GET /zone/recent_ips?zones="+zone, "", 200, `{"datacenter_demo":["127.0.0.77","127.0.0.2"`)
	// No zone is every zone.
	g.expect(level.Limit, "POST /zone/blacklist", `{"ip":"127.0.0.3"}`, 201, `"agent_demo":["127.0.0.3"]`)
	lists := decode[map[string][]string](t, g.expect(level.Limit, "GET /zone/blacklist", "", 200, ""))
	for zone, list := range lists {
		if !slices.Equal(list, []string{"127.0.0.3"}) {
			t.Errorf("%s: %q", zone, list)
		}
	}
	if len(lists) != len(g.r.Zones) {
		t.Errorf("%d zones", len(lists))
	}
	g.expectBoth("127.0.0.3", "isp_demo", page, "401 client_10050", "401 client_10050")
}

func TestListsOfTargetsHoldForBothMethods(t *testing.T) {
	g := start(t, Options{})
	zone, page := "isp_demo", "http://lab.test/ok"
	g.expect(level.Ops, "POST /zone/domain_perm", `{"zone":"isp_demo","type":"whitelist","domain":"example.org *.example.com"}`, 201, `{"whitelist":"example.org example.com"}`)
	g.expectBoth(here, zone, page, "403 client_10250", "403 client_10250")
	g.expect(level.Ops, "POST /zone/domain_perm", `{"zone":"isp_demo","type":"whitelist","domain":"lab.test"}`, 201, `lab.test`)
	g.expectBoth(here, zone, page, "200", "200")
	g.expect(level.Ops, "POST /zone/domain_perm", `{"zone":"isp_demo","type":"blacklist","domain":"lab.test"}`, 201, `{"blacklist":"lab.test"}`)
	g.expectBoth(here, zone, page, "403 client_10260", "403 client_10260")
	if _, resp := tryConnect(t, g.r.Proxy, loginHeader(zone, g.password(zone)), "lab.test:443", nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("CONNECT: %d", resp.StatusCode)
	} else {
		resp.Body.Close()
	}
	g.expect(level.Ops, "DELETE /zone/domain_perm", `{"zone":"isp_demo","type":"blacklist","domain":"lab.test"}`, 200, `{"blacklist":""}`)
	g.expectBoth(here, zone, page, "200", "200")
}
