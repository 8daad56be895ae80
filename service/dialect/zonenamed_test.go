package dialect

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

// zoneCalls are the publicly documented calls that concern every zone when they name none, or
// are refused then: nobody should have to find out which.
var zoneCalls = []string{
	"DELETE /zone", "GET /zone", "POST /zone", "POST /zone/change_disable", "GET /zone/status", "GET /zone/permissions",
	"GET /zone/passwords", "POST /zone/add_password", "POST /zone/remove_password",
	"GET /zone/whitelist", "POST /zone/whitelist", "DELETE /zone/whitelist",
	"GET /zone/blacklist", "POST /zone/blacklist", "DELETE /zone/blacklist",
	"POST /zone/domain_perm", "DELETE /zone/domain_perm",
	"GET /zone/ips", "POST /zone/ips", "DELETE /zone/ips", "POST /zone/ips/refresh", "POST /zone/ips/migrate", "DELETE /zone/vips",
	"GET /zone/ips/unavailable", "GET /zone/recent_ips", "GET /zone/proxies_pending_replacement", "GET /zone/route_ips", "GET /zone/route_vips",
	"POST /zone/switch_100uptime", "GET /zone/cost", "GET /zone/bw",
}

func TestNoCallMayConcernEveryZone(t *testing.T) {
	type naming struct {
		query url.Values
		body  string
	}
	bad := []naming{{url.Values{"zone": {"z1"}}, `{"zone":"z2"}`}, {url.Values{"zone": {"z1", "z2"}}, ""}, {url.Values{"zones": {"*"}}, ""}}
	for _, zone := range []string{"", "*", "a,b", " ", "a b"} {
		bad = append(bad, naming{query: url.Values{"zone": {zone}}})
	}
	for _, body := range []string{
		"", "{}", `{"zone":""}`, `{"zone":null}`, `{"zone":["z1"]}`, `{"zone":{}}`, `{"zone":{"name":""}}`, `{"Zones":"z1"}`, "not JSON", `[{"zone":"z1"}]`, `{"zone":"*"}`,
		`{"Zone":"z1"}`, `{"ZONE":"z1"}`, `{"zone":"z1","zone":""}`, `{"zone":"","zone":"z1"}`, `{"zone":"z1","Zone":"z2"}`, `{"zone":{"Name":"z1"}}`, `{"zone":"z1"} {}`, `{"zone":"z1"`, `{"in":{"zone":"z1"}}`,
	} {
		bad = append(bad, naming{body: body})
	}
	for _, c := range zoneCalls {
		method, path, _ := strings.Cut(c, " ")
		for _, p := range []string{path, path + "/", strings.TrimPrefix(path, "/"), "/" + path, "/x/.." + path, "/." + path, strings.ToUpper(path), strings.Replace(path, "z", "%7a", 1), path + "?zone=z1", path + ";a", strings.ReplaceAll(path, "/", "\\")} {
			for _, b := range bad {
				if err := NamesZone(method, p, b.query, []byte(b.body)); !errors.Is(err, model.ErrRequest) {
					t.Errorf("%s at %s ?%s %s is sent: %v", c, p, b.query.Encode(), b.body, err)
				}
			}
		}
		query, body := naming{query: url.Values{"zone": {"z1"}}}, naming{body: `{"zone":"z1","ip":"10.0.0.1"}`}
		good, other := query, body // where the service looks for it, and where it does not
		if method != http.MethodGet {
			good, other = body, query
		}
		if err := NamesZone(method, path, good.query, []byte(good.body)); err != nil {
			t.Errorf("%s of a zone is refused: %v", c, err)
		}
		if err := NamesZone(method, path, other.query, []byte(other.body)); !errors.Is(err, model.ErrRequest) {
			t.Errorf("%s that names its zone where the service does not look is sent: %v", c, err)
		}
	}
	makes := []byte(`{"zone":{"name":"z1","type":"unblocker"},"plan":{}}`)
	if err := NamesZone(http.MethodPost, "/zone", nil, makes); err != nil {
		t.Errorf("a zone cannot be made: %v", err)
	}
	if err := NamesZone(http.MethodDelete, "/zone", nil, makes); !errors.Is(err, model.ErrRequest) {
		t.Errorf("an object names a zone that is deleted: %v", err)
	}
	for _, path := range []string{"/request", "/zones", "/status", "/datasets/v3/trigger", "/zone/get_all_zones", "/zone/get_active_zones", ""} {
		if err := NamesZone(http.MethodGet, path, nil, nil); err != nil {
			t.Errorf("%q is refused: %v", path, err)
		}
	}
	if err := NamesZone(http.MethodPost, "/zone/get_all_zones", nil, nil); !errors.Is(err, model.ErrRequest) {
		t.Errorf("what only reads is posted to: %v", err)
	}
}

func TestWhatTheDialectAsksAboutAZoneNamesIt(t *testing.T) {
	d := Embedded()
	for zone, ok := range map[model.ZoneName]bool{"z1": true, "": false} {
		var all []error
		get := http.MethodGet
		for _, c := range []func(model.ZoneName) (string, url.Values){d.Costs, d.AccountZone, d.AccountPasswords, d.ZoneState, d.ZoneCallers, trafficOf(d)} {
			path, query := c(zone)
			all = append(all, NamesZone(get, path, query, nil))
		}
		for _, c := range []PasswordCall{d.AddPassword(string(zone), "p"), d.RemovePassword(string(zone), "p")} {
			if c.Method != http.MethodPost {
				t.Errorf("%s %s", c.Method, c.Path)
			}
			all = append(all, NamesZone(c.Method, c.Path, nil, c.Body))
		}
		for i, err := range all {
			if (err == nil) != ok {
				t.Errorf("call %d for zone %q: %v", i, zone, err)
			}
		}
	}
}

func FuzzNamesZone(f *testing.F) {
	f.Add("GET", "/zone", "zone=z1", "")
	f.Add("POST", "/zone/whitelist", "", `{"zone":"z1"}`)
	f.Add("DELETE", "/zone/whitelist", "", `{"Zone":"z1"}`)
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		q, err := url.ParseQuery(query)
		if err != nil || NamesZone(method, path, q, []byte(body)) != nil {
			return
		}
		below := strings.Trim(path, "/")
		if below != "zone" && !strings.HasPrefix(below, "zone/") || strings.Contains(below, "..") || slices.Contains(zoneless, tidyPath(path)) {
			return
		}
		var in map[string]any
		if _ = json.Unmarshal([]byte(body), &in); q.Get("zone") == "" && q.Get("zones") == "" && in["zone"] == nil {
			t.Errorf("%s %s ?%s %s is sent", method, path, query, body)
		}
	})
}

// trafficOf is ZoneTraffic for some days.
func trafficOf(d Dialect) func(model.ZoneName) (string, url.Values) {
	return func(z model.ZoneName) (string, url.Values) {
		return d.ZoneTraffic(z, time.Unix(0, 0), time.Unix(1e6, 0))
	}
}
