package dialect

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

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
	} {
		bad = append(bad, naming{body: body})
	}
	for _, c := range zoneCalls {
		_, path, _ := strings.Cut(c, " ")
		for _, p := range []string{path, path + "/", strings.TrimPrefix(path, "/"), "/" + path} {
			for _, b := range bad {
				if err := NamesZone(p, b.query, []byte(b.body)); !errors.Is(err, model.ErrRequest) {
					t.Errorf("%s at %s ?%s %s is sent: %v", c, p, b.query.Encode(), b.body, err)
				}
			}
		}
		if err := NamesZone(path, url.Values{"zone": {"z1"}}, nil); err != nil {
			t.Errorf("%s of a zone is refused: %v", c, err)
		}
		if err := NamesZone(path, nil, []byte(`{"zone":"z1","ip":"10.0.0.1"}`)); err != nil {
			t.Errorf("%s of a zone is refused: %v", c, err)
		}
	}
	for _, path := range []string{"/request", "/zones", "/status", "/datasets/v3/trigger", "/zone/get_all_zones", "/zone/get_active_zones", ""} {
		if err := NamesZone(path, nil, nil); err != nil {
			t.Errorf("%q is refused: %v", path, err)
		}
	}
}

func TestWhatTheDialectAsksAboutAZoneNamesIt(t *testing.T) {
	d := Embedded()
	for zone, ok := range map[model.ZoneName]bool{"z1": true, "": false} {
		var all []error
		for _, c := range []func(model.ZoneName) (string, url.Values){d.Costs, d.AccountZone, d.AccountPasswords} {
			path, query := c(zone)
			all = append(all, NamesZone(path, query, nil))
		}
		for _, c := range []PasswordCall{d.AddPassword(string(zone), "p"), d.RemovePassword(string(zone), "p")} {
			if c.Method != http.MethodPost {
				t.Errorf("%s %s", c.Method, c.Path)
			}
			all = append(all, NamesZone(c.Path, nil, c.Body))
		}
		for i, err := range all {
			if (err == nil) != ok {
				t.Errorf("call %d for zone %q: %v", i, zone, err)
			}
		}
	}
}

func FuzzNamesZone(f *testing.F) {
	f.Add("/zone", "", `{"zone":"z1"}`)
	f.Add("/zone/whitelist", "zone=z1", "")
	f.Fuzz(func(t *testing.T, path, query, body string) {
		q, err := url.ParseQuery(query)
		if err != nil || NamesZone(path, q, []byte(body)) != nil {
			return
		}
		if below := strings.Trim(path, "/"); (below == "zone" || strings.HasPrefix(below, "zone/")) && q.Get("zone") == "" && q.Get("zones") == "" && !strings.Contains(strings.ToLower(body), "zone") &&
			!strings.Contains(body, `\u`) && !strings.HasPrefix(below, "zone/get_") && below != "zone/static/cities" && below != "zone/count_available_ips" {
			t.Errorf("%s ?%s %s is sent", path, query, body)
		}
	})
}
