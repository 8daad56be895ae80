package accountapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"zonedeck/service/emulator/level"
)

func TestQuestionsAboutZonesThatAreNotThere(t *testing.T) {
	g := start(t, false)
	for _, path := range []string{
		"/zone", "/zone/status", "/zone/passwords", "/zone/permissions", "/zone/ips", "/zone/ips/unavailable", "/zone/route_ips",
		"/zone/route_vips", "/zone/count_available_ips", "/zone/cost", "/zone/bw",
	} {
		g.expect(level.Admin, "GET "+path, "", 400, "Missing zone parameter")
		g.expect(level.Admin, "GET "+path+"?zone=nowhere", "", 422, "")
		g.expect(level.Admin, "GET "+path+"?zone=isp_demo&colour=red", "", 400, "query parameter colour is not allowed")
	}
	for call, body := range map[string]string{
		"POST /zone/change_disable": `{"zone":"nowhere","disable":1}`, "POST /zone/add_password": `{"zone":"nowhere","password":"x"}`,
		"POST /zone/remove_password": `{"zone":"nowhere","password":["x"]}`, "POST /zone/whitelist": `{"zone":"nowhere","ip":"1.2.3.4"}`,
		"DELETE /zone/blacklist": `{"zone":"nowhere","ip":"1.2.3.4"}`, "POST /zone/domain_perm": `{"zone":"nowhere","type":"whitelist","domain":"a.com"}`,
		"DELETE /zone": `{"zone":"nowhere"}`,
	} {
		g.expect(level.Admin, call, body, 422, "")
	}
	g.expect(level.Admin, "GET /zone/whitelist?zones=isp_demo,nowhere", "", 422, "")
}

func TestABodyThatDoesNotSayItIsJSONIsRefused(t *testing.T) {
	for _, loose := range []bool{false, true} {
		g := start(t, loose)
		r := httptest.NewRequest(http.MethodPost, "/zone", strings.NewReader(`{"zone":{"name":"x"},"plan":{"type":"unblocker"}}`))
		r.Header.Set("X-Level", string(level.Ops))
		w := httptest.NewRecorder()
		g.mux.ServeHTTP(patient{w}, r)
		if loose && w.Code != http.StatusCreated || !loose && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `["Content-Type must be application/json"]`)) {
			t.Errorf("loose %t: %d %s", loose, w.Code, w.Body)
		}
	}
}

func TestWhatIsWrongWithANewZoneIsNamed(t *testing.T) {
	g := start(t, false)
	for body, part := range map[string]string{
		`{"zone":{"name":"x"},"plan":{"type":"unblocker"},"colour":1}`:         "colour is not allowed",
		`{"zone":{"name":"x","shape":1},"plan":{"type":"unblocker"}}`:          "zone.shape is not allowed",
		`{"zone":{"name":"x"},"plan":{"type":"unblocker","smell":1}}`:          "plan.smell is not allowed",
		`{"zone":{"name":"x"},"plan":{"type":"unblocker","serp":"yes"}}`:       "plan.serp must be true or false",
		`{"zone":{"name":"x"},"plan":{}}`:                                      "plan.type is required",
		`{"zone":{"name":"x"}}`:                                                "plan.type is required",
		`{"zone":{},"plan":{"type":"unblocker"}}`:                              "zone.name is required",
		`{"zone":7,"plan":{"type":"unblocker"}}`:                               "zone must be an object",
		`{"zone":{"name":"a b"},"plan":{"type":"unblocker"}}`:                  "zone.name must be",
		`{"zone":{"name":"x","password":""},"plan":{"type":"unblocker"}}`:      "password must be",
		`{"zone":{"name":"x","ips":["nonsense"]},"plan":{"type":"unblocker"}}`: "zone.ips",
		`[]`: "body must be a JSON object", `{`: "body must be a JSON object",
	} {
		g.expect(level.Ops, "POST /zone", body, 400, part)
	}
	// Everything is named at once, and no zone is made.
	got := decode[struct {
		Error   string
		Code    string `json:"error_code"`
		Details []string
	}](t, g.expect(level.Ops, "POST /zone", `{"zone":{"name":7,"ips":[],"shape":1,"password":["a",1]},"plan":[],"colour":1}`, 400, ""))
	want := []string{
		"zone.name must be a string that is not empty", "zone.password must be a string or an array of strings",
		"zone.ips must be a string or an array of strings", "plan must be an object", "zone.shape is not allowed", "colour is not allowed",
	}
	if !slices.Equal(got.Details, want) || got.Code != "validation" || got.Error != "Request validation failed" {
		t.Errorf("%+v", got)
	}
	g.expect(level.Ops, "POST /zone", `{"zone":{"name":"x","name":"y"},"plan":{"type":"unblocker"}}`, 400, "zone.name is given twice")
	if n := len(g.account.Zones()); n != 13 {
		t.Errorf("%d zones", n)
	}
}

func TestAZoneIsShownAsItWasMade(t *testing.T) {
	g := start(t, false)
	g.expect(level.Ops, "POST /zone", `{"zone":{"name":"old","password":"sesame","ips":["127.0.0.1"],"description":"of old clients","plan":{"type":"resident","mobile":"true"},"customer":"c"},"alloc_opt":{},"customer":"c"}`, 201,
		`{"plan":{"mobile":true,`)
	g.expect(level.Ops, "POST /zone", `{"zone":{"name":"old"},"plan":{"type":"unblocker"}}`, 409, "already exists")
	got := decode[map[string]any](t, g.expect(level.Ops, "GET /zone?zone=old", "", 200, ""))
	if show := fmt.Sprintln(got["created"], got["password"], got["ips"], got["description"], got["perm"]); show !=
		"2027-03-01T12:00:00Z [sesame] [127.0.0.1] of old clients country state city zip asn carrier gip\n" {
		t.Errorf("%v: %s", got, show)
	}
	g.expect(level.User, "GET /zone/permissions?zone=old", "", 200, `{"perms":["country","state","city","zip","asn","carrier","gip"]}`)
	for _, c := range []struct{ disable, status string }{{"1", "disabled"}, {"0", "active"}, {"true", "disabled"}, {"false", "active"}} {
		g.expect(level.Ops, "POST /zone/change_disable", `{"zone":"old","disable":`+c.disable+`}`, 200, `"plan":{`)
		g.expect(level.User, "GET /zone/status?zone=old", "", 200, `{"status":"`+c.status+`"}`)
		g.expect(level.User, "GET /zone/get_all_zones", "", 200, `{"name":"old","type":"mobile","status":"`+c.status+`"}`)
		active := g.expect(level.User, "GET /zone/get_active_zones", "", 200, `"name":"isp_demo"`)
		if strings.Contains(active.Body.String(), `"old"`) != (c.status == "active") {
			t.Errorf("%s: %s", c.status, active.Body)
		}
	}
	for _, body := range []string{`{"zone":"old"}`, `{"zone":"old","disable":"1"}`, `{"zone":"old","disable":null}`, `{"zone":"old","disable":2}`} {
		g.expect(level.Ops, "POST /zone/change_disable", body, 400, "disable must be 0 or 1")
	}
	g.expect(level.Ops, "POST /zone/change_disable", `{"disable":1}`, 400, "Missing zone parameter")
}

func TestPasswordsOfAZoneAreEdited(t *testing.T) {
	g := start(t, false)
	first := g.password("residential_demo")
	g.expect(level.Limit, "POST /zone/add_password", `{"zone":"residential_demo","password":["one","two"]}`, 200, `{"passwords":["`+first+`","one","two"]}`)
	g.expect(level.Limit, "POST /zone/remove_password", `{"zone":"residential_demo","password":"two"}`, 200, `{"passwords":["`+first+`","one"]}`)
	g.expect(level.Limit, "POST /zone/remove_password", `{"zone":"residential_demo","password":["one","`+first+`"]}`, 400, "without a password")
	g.expect(level.Limit, "POST /zone/remove_password", `{"zone":"residential_demo","password":["four"]}`, 400, "no such password")
	g.expect(level.Limit, "POST /zone/add_password", `{"zone":"residential_demo"}`, 400, "password is required")
	g.expect(level.Limit, "POST /zone/add_password", `{"zone":"residential_demo","password":"a b"}`, 400, "password: a password is 1 to 128 visible ASCII characters")
	g.expect(level.Limit, "GET /zone/passwords?zone=residential_demo", "", 200, `{"passwords":["`+first+`","one"]}`)
	g.expect(level.User, "GET /zone/passwords?zone=residential_demo", "", 403, "")
}

func TestTheStateOfTheAccount(t *testing.T) {
	g := start(t, false)
	for _, c := range []struct{ path, want string }{
		{"/status", `{"auth_fail_reason":"zone_not_found","can_make_requests":false,"customer":"hl_demo01","ip":"192.0.2.1","status":"active"}`},
		{"/status?zone=isp_demo", `{"auth_fail_reason":"","can_make_requests":true,"customer":"hl_demo01","ip":"192.0.2.1","status":"active"}`},
	} {
		g.expect(level.User, "GET "+c.path, "", 200, c.want)
	}
	g.expect(level.Ops, "POST /zone/change_disable", `{"zone":"isp_demo","disable":1}`, 200, "")
	g.expect(level.User, "GET /status?zone=isp_demo", "", 200, `"auth_fail_reason":"zone_disabled","can_make_requests":false`)
	g.expect(level.Ops, "PUT /status", `{"status":"suspend_manual"}`, 403, "")
	g.expect(level.Admin, "PUT /status", `{"status":"gone"}`, 400, "status must be active or suspend_manual")
	g.expect(level.Admin, "PUT /status", `{"status":"suspend_manual"}`, 200, `{"status":"suspend_manual"}`)
	g.expect(level.User, "GET /status?zone=unlocker_demo", "", 200, `"auth_fail_reason":"account_suspended","can_make_requests":false`)
	g.expect(level.Admin, "PUT /status", `{"status":"active"}`, 200, `{"status":"active"}`)
	g.expect(level.User, "GET /status?zone=unlocker_demo", "", 200, `"can_make_requests":true`)
}

func TestListsOfAZoneAreEdited(t *testing.T) {
	g := start(t, false)
	g.expect(level.Limit, "GET /zone/whitelist?zones=isp_demo", "", 200, `{"isp_demo":["any"]}`)
	g.expect(level.Limit, "POST /zone/whitelist", `{"zone":"isp_demo","ip":["10.0.0.1","10.0.1.0/24"]}`, 201, `{"isp_demo":["10.0.0.1","10.0.1.0/24"]}`)
	g.expect(level.Limit, "DELETE /zone/whitelist", `{"zone":["isp_demo"],"ip":"10.0.0.1/32"}`, 200, `{"isp_demo":["10.0.1.0/24"]}`)
	g.expect(level.Limit, "GET /zone/blacklist?zone=isp_demo,mobile_demo", "", 200, `{"isp_demo":[],"mobile_demo":[]}`)
	for body, part := range map[string]string{
		`{"zone":"isp_demo","ip":"nonsense"}`: `ip \"nonsense\" is not an address`,
		`{"zone":"isp_demo"}`:                 "ip is required",
		`{"zone":"","ip":"1.2.3.4"}`:          "zone must be a string or an array of strings",
	} {
		g.expect(level.Limit, "POST /zone/whitelist", body, 400, part)
	}
	g.expect(level.Ops, "POST /zone/domain_perm", `{"zone":"isp_demo","type":"whitelist","domain":"example.org *.example.com"}`, 201, `{"whitelist":"example.org example.com"}`)
	g.expect(level.Ops, "POST /zone/domain_perm", `{"zone":"isp_demo","type":"blacklist","domain":["bad.example.com"]}`, 201, `{"blacklist":"bad.example.com"}`)
	g.expect(level.Ops, "DELETE /zone/domain_perm", `{"zone":"isp_demo","type":"whitelist","domain":"example.org"}`, 200, `{"whitelist":"example.com"}`)
	g.expect(level.Ops, "DELETE /zone/domain_perm", `{"zone":"isp_demo","type":"blacklist","domain":"bad.example.com"}`, 200, `{"blacklist":""}`)
	for body, part := range map[string]string{
		`{"zone":"isp_demo","type":"greylist","domain":"a.com"}`:      "type must be whitelist or blacklist",
		`{"zone":"isp_demo","type":"whitelist"}`:                      "domain is required",
		`{"zone":"isp_demo","type":"whitelist","domain":"a b/c"}`:     "host name",
		`{"zone":"isp_demo","type":"whitelist","domain":["a.com",7]}`: "domain must be",
	} {
		g.expect(level.Ops, "POST /zone/domain_perm", body, 400, part)
	}
	g.account.Admit("isp_demo", netip.MustParseAddr("10.9.9.9"), "")
	g.expect(level.Limit, "GET /zone/recent_ips?zones=isp_demo,mobile_demo", "", 200, `{"isp_demo":["10.9.9.9"],"mobile_demo":[]}`)
}

func TestALooseServiceLetsUnknownFieldsPassWithANote(t *testing.T) {
	g := start(t, true)
	a := g.expect(level.Ops, "POST /zone", `{"zone":{"name":"x","shape":1},"plan":{"type":"unblocker","smell":1},"colour":1}`, 201, `"smell":1`)
	if notes := strings.Join(a.Header().Values("x-emulator-note"), "\n"); strings.Count(notes, "is not known") != 3 {
		t.Errorf("%s", notes)
	}
	g.expect(level.User, "GET /zone/status?zone=x&colour=red", "", 200, "active")
	g.expect(level.Ops, "POST /zone", `{"zone":{"name":"y"},"plan":{"type":7}}`, 400, "plan.type must be a string")
}

func TestPasswordsAreShownByLevel(t *testing.T) {
	g := start(t, false)
	for l, sees := range map[level.Level]bool{level.Admin: true, level.Ops: true, level.Limit: true, level.User: false, level.Finance: false} {
		a := g.expect(l, "GET /zone?zone=isp_demo", "", 200, `"plan":{`)
		if strings.Contains(a.Body.String(), g.password("isp_demo")) != sees {
			t.Errorf("%s: %s", l, a.Body.String())
		}
	}
}

func TestNoZoneIsAllZonesWhenDeleting(t *testing.T) {
	g := start(t, false)
	g.expect(level.Ops, "DELETE /zone", `{"zone":null}`, 400, "zone must be")
	g.expect(level.Ops, "DELETE /zone", `{"zone":[]}`, 400, "zone must be")
	g.expect(level.Ops, "DELETE /zone", "", 400, "body must be")
	g.expect(level.Ops, "DELETE /zone?zone=isp_demo", `{}`, 400, "query parameter zone is not allowed")
	if len(g.account.Zones()) != 13 {
		t.Fatal("zones are gone")
	}
	a := decode[map[string][]string](t, g.expect(level.Ops, "DELETE /zone", `{}`, 200, ""))
	if len(a["deleted"]) != 13 || len(g.account.Zones()) != 0 {
		t.Errorf("%q, %d left", a, len(g.account.Zones()))
	}
	g.expect(level.User, "GET /zone/get_active_zones", "", 200, "[]")
}

func TestAddressesOfZones(t *testing.T) {
	g := start(t, false)
	list := decode[struct {
		IPs []struct{ IP, MaxMind string }
	}](t, g.expect(level.User, "GET /zone/ips?zone=isp_demo", "", 200, `"ext":{"dbip":"us"`))
	if len(list.IPs) == 0 {
		t.Fatal("no addresses")
	}
	g.expect(level.User, "GET /zone/ips?zone=isp_demo&ip_per_country=1", "", 200, fmt.Sprintf(`{"us":%d}`, len(list.IPs)))
	g.expect(level.User, "GET /zone/count_available_ips?zone=isp_demo", "", 200, fmt.Sprintf(`{"count":%d}`, len(list.IPs)))
	g.expect(level.User, "GET /zone/route_ips?zone=isp_demo", "", 200, list.IPs[0].IP+"\n")
	g.expect(level.User, "GET /zone/ips/unavailable?zone=isp_demo", "", 200, `{"isp_demo":[]}`)
	g.expect(level.User, "GET /zone/proxies_pending_replacement?zone=isp_demo", "", 200, `{"isp_demo":[]}`)
	g.expect(level.User, "GET /zone/route_vips?zone=residential_demo", "", 422, "not dedicated")
	for _, path := range []string{"ips", "ips/unavailable", "route_ips", "count_available_ips"} {
		g.expect(level.User, "GET /zone/"+path+"?zone=residential_demo", "", 400, "Wrong zone plan")
	}
	g.expect(level.User, "GET /zone/permissions?zone=mobile_demo", "", 200, `"carrier"`)
	g.expect(level.User, "GET /countrieslist", "", 200, `"de"`)
	g.expect(level.User, "GET /cities?country=us", "", 200, `"newyork"`)
	g.expect(level.User, "GET /cities?country=USA", "", 400, "country")
	g.expect(level.User, "GET /zone/static/cities", "", 200, `{"cities":[]}`)
	g.expect(level.Finance, "GET /network_status/res", "", 200, `{"status":true}`)
	g.expect(level.Finance, "GET /network_status/moon", "", 404, "")
	g.expect(level.Finance, "GET /network_status/res?colour=red", "", 400, "query parameter colour is not allowed")
	for _, call := range []string{"POST /zone/ips", "DELETE /zone/ips", "POST /zone/ips/refresh", "POST /zone/ips/migrate", "DELETE /zone/vips", "POST /zone/switch_100uptime"} {
		g.expect(level.Ops, call, `{}`, 501, "is not there")
	}
}
