package emulator

import (
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/state/statetest"
)

func (g *rig) usable(value string) bool {
	return g.do("GET", g.r.API+"/datasets/list", value, nil).status == 200
}

func TestKeysAreCreatedRefreshedAndDeletedAtOnce(t *testing.T) {
	dir := t.TempDir()
	g := start(t, Options{StateDir: dir})
	a := g.control("POST", "/keys", map[string]string{"name": "new-one", "level": "USER", "expires": "2030-01-31", "duty": "CI"})
	k := decode[account.Key](t, a)
	if a.status != 201 || len(k.Value) != 64 || k.Expires != "2030-01-31T00:00:00Z" || k.Rotated == "" || !g.usable(k.Value) {
		t.Fatalf("%+v", a)
	}
	r := decode[account.Key](t, g.control("POST", "/keys/new-one/refresh", nil))
	if r.Value == k.Value || g.usable(k.Value) || !g.usable(r.Value) {
		t.Errorf("refresh: %+v", r)
	}
	old := g.key("etl-main")
	e := decode[account.Key](t, g.control("POST", "/keys/etl-main/refresh", nil))
	if g.usable(old) || !g.usable(e.Value) || e.Expires != "Unlimited" {
		t.Errorf("refresh of a scenario key: %+v", e)
	}
	if x := decode[account.Key](t, g.control("POST", "/keys/expired-user/refresh", nil)); !g.usable(x.Value) {
		t.Errorf("refresh of an expired key: %+v", x)
	}
	if a := g.control("DELETE", "/keys/ops-zones", nil); a.status != 200 || g.usable(g.key("ops-zones")) {
		t.Errorf("%+v", a)
	}
	for _, value := range []string{k.Value, r.Value, e.Value} {
		if statetest.Holds(t, g.state, value) {
			t.Error("the value is on disk")
		}
		if a := g.control("GET", "/keys", nil); strings.Contains(a.body, value) {
			t.Error("a value is listed after its creation")
		}
	}
	noerr.Must(t, g.Shutdown(t.Context()))

	h := start(t, Options{StateDir: dir})
	if !h.usable(r.Value) || !h.usable(e.Value) || h.usable(old) || h.usable(g.key("ops-zones")) || !h.usable(g.key("ci-fetch")) {
		t.Error("after a restart the keys are not what they were")
	}
	for _, k := range h.r.Keys {
		if k.Name == "ops-zones" || (k.Name == "etl-main" && (k.Value != "" || k.Rotated != e.Rotated)) {
			t.Errorf("%+v", k)
		}
	}
	if a := h.control("DELETE", "/keys/new-one", nil); a.status != 200 || h.usable(r.Value) {
		t.Errorf("%+v", a)
	}
}

func TestAPasswordIsRegeneratedAtOnceAndKept(t *testing.T) {
	dir := t.TempDir()
	g := start(t, Options{StateDir: dir})
	old := g.through("isp_demo")
	if a := g.get(old, "http://lab.test/ok"); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	z := decode[account.Zone](t, g.control("POST", "/zones/isp_demo/password", nil))
	if a := g.get(old, "http://lab.test/ok"); a.status != 407 {
		t.Errorf("the old password: %+v", a)
	}
	if a := g.get(g.through("isp_demo"), "http://lab.test/ok"); a.status != 200 || g.password("isp_demo") != z.Password {
		t.Errorf("the new password: %+v", a)
	}
	noerr.Must(t, g.Shutdown(t.Context()))
	if h := start(t, Options{StateDir: dir}); h.password("isp_demo") != z.Password {
		t.Error("after a restart the password is another")
	}
}

func TestControlRefuses(t *testing.T) {
	g := start(t, Options{})
	for _, token := range []string{"", "wrong", g.key("old-admin")} {
		if a := g.do("GET", g.r.Control+"/keys", token, nil); a.status != 401 {
			t.Errorf("token %q: %+v", token, a)
		}
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"POST", "/keys", `{"name":"x","level":"ROOT","expires":"Unlimited"}`, 400, "level"},
		{"POST", "/keys", `{"name":"../x","level":"USER","expires":"Unlimited"}`, 400, "name"},
		{"POST", "/keys", `{"name":"x","level":"USER"}`, 400, "expires"},
		{"POST", "/keys", `{"name":"x","level":"USER","expires":"soon"}`, 400, "expires"},
		{"POST", "/keys", `{"name":"x","level":"USER","expires":"0001-01-01"}`, 400, "expires"},
		{"POST", "/keys", `{"name":"x","level":"USER","expires":"Unlimited","colour":"red"}`, 400, "colour"},
		{"POST", "/keys", `{"name":"etl-main","level":"USER","expires":"Unlimited"}`, 409, "exists"},
		{"POST", "/keys", `[`, 400, "JSON"},
		{"POST", "/keys/nobody/refresh", ``, 404, "no such key"},
		{"DELETE", "/keys/nobody", ``, 404, "no such key"},
		{"POST", "/zones/nowhere/password", ``, 404, "no such zone"},
	} {
		if a := g.control(c.method, c.path, c.body); a.status != c.status || !strings.Contains(a.body, c.text) {
			t.Errorf("%s %s %s: %+v", c.method, c.path, c.body, a)
		}
	}
	if a := g.control("GET", "/ready", nil); decode[Ready](t, a).API != g.r.API {
		t.Errorf("%+v", a)
	}
}
