package emulator

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/level"
)

// mayCall says for every endpoint which levels may call it, by their first letters; "*"
// is anyone, without a key. It is written out, not computed, on purpose: an endpoint
// that is added has to be added here by someone who looks at service.md 5.3.
func mayCall() map[string]string {
	return map[string]string{
		"GET /ca.pem":                                        "*",
		"GET /static/brightdata_proxy_ca.zip":                "*",
		"GET /zone":                                          "AFOLU",
		"POST /zone":                                         "AO",
		"DELETE /zone":                                       "AO",
		"GET /zone/get_active_zones":                         "AFOLU",
		"GET /zone/get_all_zones":                            "AFOLU",
		"GET /zone/status":                                   "AFOLU",
		"GET /zone/permissions":                              "AFOLU",
		"POST /zone/change_disable":                          "AO",
		"GET /zone/passwords":                                "AOL",
		"POST /zone/add_password":                            "AOL",
		"POST /zone/remove_password":                         "AOL",
		"GET /zone/whitelist":                                "AOL",
		"POST /zone/whitelist":                               "AOL",
		"DELETE /zone/whitelist":                             "AOL",
		"GET /zone/blacklist":                                "AOL",
		"POST /zone/blacklist":                               "AOL",
		"DELETE /zone/blacklist":                             "AOL",
		"GET /zone/recent_ips":                               "AOL",
		"POST /zone/domain_perm":                             "AO",
		"DELETE /zone/domain_perm":                           "AO",
		"GET /zone/ips":                                      "AOLU",
		"GET /zone/ips/unavailable":                          "AOLU",
		"GET /zone/proxies_pending_replacement":              "AOLU",
		"GET /zone/route_ips":                                "AOLU",
		"GET /zone/route_vips":                               "AOLU",
		"GET /zone/count_available_ips":                      "AOLU",
		"GET /zone/static/cities":                            "AFOLU",
		"GET /countrieslist":                                 "AFOLU",
		"GET /cities":                                        "AFOLU",
		"GET /network_status/{network}":                      "AFOLU",
		"POST /zone/ips":                                     "AO",
		"DELETE /zone/ips":                                   "AO",
		"POST /zone/ips/refresh":                             "AO",
		"POST /zone/ips/migrate":                             "AO",
		"DELETE /zone/vips":                                  "AO",
		"POST /zone/switch_100uptime":                        "AO",
		"GET /status":                                        "AFOLU",
		"PUT /status":                                        "A",
		"GET /customer/balance":                              "AF",
		"GET /zone/cost":                                     "AF",
		"GET /zone/bw":                                       "AFO",
		"GET /customer/bw":                                   "AFO",
		"GET /domains/{what}":                                "AFO",
		"POST /costs/export/{format}":                        "AF",
		"/mcp":                                               "AOLU",
		"GET /sse":                                           "AOLU",
		"POST /sse":                                          "AOLU",
		"POST /discover":                                     "AOLU",
		"GET /discover":                                      "AOLU",
		"POST /datasets/deep_lookup/v1/preview":              "AOLU",
		"GET /datasets/deep_lookup/v1/preview/{id}":          "AOLU",
		"POST /datasets/deep_lookup/v1/enhance_query":        "AOLU",
		"POST /datasets/deep_lookup/v1/trigger":              "AOLU",
		"GET /datasets/deep_lookup/v1/request/{id}/status":   "AOLU",
		"GET /datasets/deep_lookup/v1/request/{id}":          "AOLU",
		"GET /datasets/deep_lookup/v1/request/{id}/download": "AOLU",
		"POST /datasets/deep_lookup/v1/request/{id}/cancel":  "AOLU",
		"POST /datasets/deep_lookup/v1/request/{id}/enrich":  "AOLU",
		"GET /browser_sessions":                              "AOLU",
		"GET /browser_sessions/{id}":                         "AOLU",
		"POST /request":                                      "AOLU",
		"GET /request":                                       "AOLU",
		"GET /response":                                      "AOLU",
		"POST /unblocker/req":                                "AOLU",
		"GET /unblocker/get_result":                          "AOLU",
		"POST /serp/req":                                     "AOLU",
		"GET /serp/get_result":                               "AOLU",
		"POST /datasets/v3/trigger":                          "AOLU",
		"POST /datasets/v3/scrape":                           "AOLU",
		"GET /datasets/v3/progress/{id}":                     "AOLU",
		"GET /datasets/v3/snapshots":                         "AOLU",
		"GET /datasets/v3/snapshot/{id}":                     "AOLU",
		"GET /datasets/v3/snapshot/{id}/parts":               "AOLU",
		"GET /datasets/v3/snapshot/{id}/input":               "AOLU",
		"POST /datasets/v3/snapshot/{id}/cancel":             "AOLU",
		"POST /datasets/v3/snapshot/{id}/rerun":              "AOLU",
		"GET /datasets/v3/log/{id}":                          "AOLU",
		"GET /datasets/v3/scrapers":                          "AOLU",
		"POST /datasets/v3/deliver/{id}":                     "AOLU",
		"GET /datasets/v3/delivery/{id}":                     "AOLU",
		"GET /datasets/v3/deliveries":                        "AOLU",
		"GET /datasets/list":                                 "AOLU",
		"GET /datasets/{id}/{part}":                          "AOLU",
		"POST /datasets/filter":                              "AOLU",
		"POST /datasets/search/{id}":                         "AOLU",
		"GET /datasets/snapshots":                            "AOLU",
		"GET /datasets/snapshots/{id}/download":              "AOLU",
		"GET /datasets/snapshots/{id}/parts":                 "AOLU",
		"POST /datasets/snapshots/{id}/deliver":              "AOLU",
	}
}

// mayControl is the same for the control API with an acting key.
func mayControl() map[string]string {
	return map[string]string{
		"GET /ready":                  "A",
		"GET /keys":                   "A",
		"POST /keys":                  "A",
		"POST /keys/{name}/refresh":   "A",
		"DELETE /keys/{name}":         "A",
		"GET /zones":                  "AOL",
		"POST /zones/{name}/limit":    "AO",
		"POST /zones/{name}/password": "AOL",
		"GET /time":                   "AOLU",
		"POST /time":                  "AO",
		"GET /faults":                 "AOLU",
		"POST /faults":                "AO",
		"DELETE /faults":              "AO",
		"GET /faults/{id}":            "AOLU",
		"PUT /faults/{id}":            "AO",
		"DELETE /faults/{id}":         "AO",
		"POST /faults/{id}/on":        "AO",
		"POST /faults/{id}/off":       "AO",
		"GET /requests":               "AOLU",
	}
}

var pathValue = regexp.MustCompile(`\{[^}]*\}`)

// knock calls an endpoint with what it cannot take (names of nothing, half a JSON
// object), so that only the permission is decided, and reads the start of the answer.
func (g *rig) knock(base string, e endpoint, header http.Header) reply {
	g.t.Helper()
	method, path, ok := strings.Cut(e.pattern, " ")
	if !ok {
		method, path = http.MethodGet, e.pattern
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel() // a stream ends here
	var body io.Reader
	if method != http.MethodGet && method != http.MethodHead {
		body = strings.NewReader("{")
	}
	req, err := http.NewRequestWithContext(ctx, method, base+pathValue.ReplaceAllString(path, "no-such"), body)
	noerr.Must(g.t, err)
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.client.Do(req)
	if err != nil {
		g.t.Fatalf("%s: %v", e.pattern, err)
	}
	defer resp.Body.Close()
	b := make([]byte, 200)
	n := 0
	if resp.StatusCode == http.StatusForbidden {
		n, _ = io.ReadFull(resp.Body, b) // shorter, mostly
	}
	return reply{resp.StatusCode, resp.Header, string(b[:n])}
}

func (g *rig) keyOf(l level.Level) string {
	for _, k := range g.r.Keys {
		if k.Level == l && k.Name != "expired-user" {
			return k.Value
		}
	}
	g.t.Fatalf("no key of level %s", l)
	return ""
}

func TestEveryEndpointByEveryLevel(t *testing.T) {
	g := start(t, Options{})
	for _, server := range []struct {
		name, base string
		endpoints  []endpoint
		may        map[string]string
		header     func(key string) http.Header
	}{
		{"API", g.r.API, g.apiEndpoints(), mayCall(), func(key string) http.Header {
			return http.Header{"Authorization": {"Bearer " + key}}
		}},
		{"control", g.r.Control, g.controlEndpoints(), mayControl(), func(key string) http.Header {
			return http.Header{"Authorization": {"Bearer " + g.r.ControlToken}, "X-Acting-Key": {key}}
		}},
	} {
		known := map[string]bool{}
		for _, e := range server.endpoints {
			known[e.pattern] = true
			may, ok := server.may[e.pattern]
			if !ok {
				t.Errorf("%s: %q is in no table: who may call it (contract 5.3)?", server.name, e.pattern)
				continue
			}
			for _, l := range level.All() {
				a := g.knock(server.base, e, server.header(g.keyOf(l)))
				refused := a.status == 401 || a.status == 403 && (strings.Contains(a.body, "lacks the required permissions") || strings.Contains(a.body, "does not permit"))
				if want := may == "*" || strings.Contains(may, string(l[:1])); refused == want {
					t.Errorf("%s: %s as %s: %d %s", server.name, e.pattern, l, a.status, a.body)
				}
				if a.header.Get("x-emulator-basis") == "" {
					t.Errorf("%s: %s as %s does not say its basis", server.name, e.pattern, l)
				}
				if path, get := strings.CutPrefix(e.pattern, "GET "); get && path != "/sse" { // a stream has no end
					if h := g.knock(server.base, endpoint{pattern: "HEAD " + path}, server.header(g.keyOf(l))); h.status != a.status {
						t.Errorf("%s: HEAD of %s as %s: %d, want %d", server.name, e.pattern, l, h.status, a.status)
					}
				}
			}
			for name, key := range map[string]string{"an unknown key": strings.Repeat("0", 64), "an expired key": g.key("expired-user")} {
				if a := g.knock(server.base, e, server.header(key)); (a.status == 401) != (may != "*") {
					t.Errorf("%s: %s with %s: %d", server.name, e.pattern, name, a.status)
				}
			}
			if a := g.knock(server.base, e, http.Header{}); (a.status == 401) != (may != "*") {
				t.Errorf("%s: %s without a key: %d", server.name, e.pattern, a.status)
			}
		}
		for pattern := range server.may {
			if !known[pattern] {
				t.Errorf("%s: %q is in the table and not there", server.name, pattern)
			}
		}
	}
}
