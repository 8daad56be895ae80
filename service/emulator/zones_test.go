package emulator

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/level"
)

// ask calls the API with a key of a level.
func (g *rig) ask(l level.Level, method, path string, body any) reply {
	g.t.Helper()
	return g.do(method, g.r.API+path, g.keyOf(l), body)
}

// expect asks and compares the status and a part of the body.
func (g *rig) expect(l level.Level, call, body string, status int, part string) reply {
	g.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	var b any
	if body != "" {
		b = body
	}
	a := g.ask(l, method, path, b)
	if a.status != status || !strings.Contains(a.body, part) || a.header.Get("x-emulator-basis") == "" {
		g.t.Errorf("%s %s as %s: %d %q, want %d with %q", call, body, l, a.status, a.body, status, part)
	}
	return a
}

// from is a client whose connections begin at an address of this machine, by API when
// zone is empty, else through the proxy.
func (g *rig) from(ip, zone, password string) *http.Client {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(g.r.CAPEM))
	tr := &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}
	if zone != "" {
		tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: g.r.Proxy, User: url.UserPassword("brd-customer-"+g.r.Account+"-zone-"+zone, password)})
	}
	g.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// both fetches a page by both methods from an address, and gives the status and code of
// each: "200" where it went through.
func (g *rig) both(ip, zone, target string) (api, native string) {
	g.t.Helper()
	body, err := json.Marshal(map[string]string{"zone": zone, "url": target, "format": "raw"})
	noerr.Must(g.t, err)
	req, err := http.NewRequest(http.MethodPost, g.r.API+"/request", strings.NewReader(string(body)))
	noerr.Must(g.t, err)
	req.Header.Set("Authorization", "Bearer "+g.keyOf(level.User))
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.from(ip, "", "").Do(req)
	noerr.Must(g.t, err)
	resp.Body.Close()
	status := resp.Header.Get("x-brd-status-code")
	if status == "" {
		status = fmt.Sprint("outer ", resp.StatusCode)
	}
	api = strings.TrimSpace(status + " " + resp.Header.Get("x-brd-err-code"))

	resp, err = g.from(ip, zone, g.password(zone)).Get(target)
	noerr.Must(g.t, err)
	resp.Body.Close()
	return api, strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("x-brd-err-code")))
}

func (g *rig) expectBoth(ip, zone, target, wantAPI, wantNative string) {
	g.t.Helper()
	if api, native := g.both(ip, zone, target); api != wantAPI || native != wantNative {
		g.t.Errorf("%s from %s to %s: %q by API, %q by proxy; want %q, %q", zone, ip, target, api, native, wantAPI, wantNative)
	}
}

const here = "127.0.0.1"

func TestAZoneFromItsCreationToItsEnd(t *testing.T) {
	dir := t.TempDir()
	g := start(t, Options{StateDir: dir})
	// What the public SDK does: a SERP zone by type unblocker, then it looks for "serp".
	g.expect(level.Ops, "POST /zone", `{"zone":{"name":"sdk_serp","type":"unblocker"},"plan":{"type":"unblocker","serp":true}}`, 201, `"sdk_serp"`)
	g.expect(level.User, "GET /zone/get_active_zones", "", 200, `{"name":"sdk_serp","type":"serp"}`)
	g.expect(level.Admin, "POST /zone", `{"zone":{"name":"sdk_serp"},"plan":{"type":"unblocker"}}`, 409, "already exists")
	// What an early SDK sends with it: every field there is, flags and numbers as text.
	if a := g.expect(level.Ops, "POST /zone", `{"zone":{"name":"sdk_first","type":"unblocker"},"plan":{"type":"unblocker","serp":"true","mobile":"false","vip_country":"","vip_country_city":"","vips":"0"}}`, 201, `"serp":true`); !strings.Contains(strings.Join(a.header.Values("x-emulator-note"), "\n"), "plan.vips: text that is read as 0") {
		t.Errorf("%v", a.header)
	}
	// An ISP zone without pool_ip_type silently is a datacenter zone.
	g.expect(level.Ops, "POST /zone", `{"zone":{"name":"my_isp","type":"ISP"},"plan":{"type":"static"}}`, 201, `"type":"dc"`)
	// The body of old clients.
	g.expect(level.Ops, "POST /zone", `{"zone":{"name":"old","password":"sesame","ips":["127.0.0.1"],"plan":{"type":"resident"}},"alloc_opt":{}}`, 201, `"res_rotating"`)
	g.expect(level.Ops, "GET /zone?zone=old", "", 200, `"password":["sesame"],"ips":["127.0.0.1"]`)
	g.expectBoth(here, "my_isp", "http://lab.test/ok", "200", "200")
	g.expect(level.Ops, "POST /zone/change_disable", `{"zone":"my_isp","disable":1}`, 200, `"disabled":1`)
	g.expectBoth(here, "my_isp", "http://lab.test/ok", "407 client_10002", "407 client_10002")
	g.expect(level.User, "GET /zone/status?zone=my_isp", "", 200, `{"status":"disabled"}`)
	if a := g.expect(level.User, "GET /zone/get_active_zones", "", 200, ""); strings.Contains(a.body, "my_isp") {
		t.Error("a disabled zone is active")
	}
	g.expect(level.User, "GET /zone/get_all_zones", "", 200, `{"name":"my_isp","type":"dc","status":"disabled"}`)
	g.expect(level.Ops, "POST /zone/change_disable", `{"zone":"my_isp","disable":0}`, 200, `"plan"`)
	g.expectBoth(here, "my_isp", "http://lab.test/ok", "200", "200")
	password := g.password("my_isp")
	g.expect(level.Ops, "DELETE /zone", `{"zone":"my_isp"}`, 200, `["my_isp"]`)
	g.expect(level.User, "GET /zone/get_all_zones", "", 200, `{"name":"my_isp","type":"dc","status":"deleted"}`)
	if a := g.request(map[string]any{"zone": "my_isp", "url": "http://lab.test/ok", "format": "raw"}); a.status != 400 || !strings.Contains(a.body, `zone "my_isp" not found`) {
		t.Errorf("%+v", a)
	}
	if resp, err := g.from(here, "my_isp", password).Get("http://lab.test/ok"); err != nil || resp.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("%v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	noerr.Must(t, g.Shutdown(t.Context()))
	h := start(t, Options{StateDir: dir})
	h.expect(level.User, "GET /zone/get_all_zones", "", 200, `{"name":"my_isp","type":"dc","status":"deleted"}`)
	h.expect(level.Ops, "GET /zone/passwords?zone=old", "", 200, `{"passwords":["sesame"]}`)
	h.expectBoth(here, "old", "http://lab.test/ok", "200", "200")
}

func TestASuspendedAccountFetchesNothing(t *testing.T) {
	dir := t.TempDir()
	g := start(t, Options{StateDir: dir})
	g.expect(level.User, "GET /status", "", 200, `"can_make_requests":false,"customer":"hl_demo01","ip":"127.0.0.1","status":"active"`)
	g.expect(level.User, "GET /status?zone=isp_demo", "", 200, `"can_make_requests":true`)
	g.expect(level.Ops, "PUT /status", `{"status":"suspend_manual"}`, 403, "permissions")
	g.expect(level.Admin, "PUT /status", `{"status":"gone"}`, 400, "status must be")
	g.expect(level.Admin, "PUT /status", `{"status":"suspend_manual"}`, 200, "suspend_manual")
	g.expectBoth(here, "isp_demo", "http://lab.test/ok", "407 client_10020", "407 client_10020")
	g.expect(level.User, "GET /status?zone=isp_demo", "", 200, `"can_make_requests":false`)
	id := g.trigger("gd_pages", "http://lab.test/ok")
	g.until(id, func(p progress) bool { return p.Status == "failed" })
	g.expect(level.User, "GET /datasets/v3/progress/"+id, "", 200, `"error_message":"Account is suspended"`)
	noerr.Must(t, g.Shutdown(t.Context()))
	h := start(t, Options{StateDir: dir})
	h.expectBoth(here, "isp_demo", "http://lab.test/ok", "407 client_10020", "407 client_10020")
	h.expect(level.Admin, "PUT /status", `{"status":"active"}`, 200, "active")
	h.expectBoth(here, "isp_demo", "http://lab.test/ok", "200", "200")
}

func TestAnAddressThatIsListedCanBeChosen(t *testing.T) {
	g := start(t, Options{})
	type ips struct {
		IPs []struct{ IP, MaxMind string }
	}
	list := decode[ips](t, g.expect(level.User, "GET /zone/ips?zone=isp_demo", "", 200, `"ext":{"dbip":"us"`))
	if len(list.IPs) == 0 {
		t.Fatal("no addresses")
	}
	// What is listed can be chosen.
	if a := g.get(g.through("isp_demo-ip-"+list.IPs[1].IP), "http://lab.test/whoami"); a.header.Get("x-brd-ip") != list.IPs[1].IP {
		t.Errorf("%+v", a)
	}
}

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
