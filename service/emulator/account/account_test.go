package account

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

var start = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

func now() time.Time { return start }

// folder is a state folder; an account can be opened over it again and again, as after a
// kill, since every change is on disk when it is answered.
func folder(t testing.TB) *state.Dir {
	t.Helper()
	s, err := state.Open(t.TempDir(), now)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, s.Close()) })
	return s
}

func open(t testing.TB, s *state.Dir, sc *scenario.Scenario) *Account {
	t.Helper()
	a, err := Open(sc, s, now, now())
	noerr.Must(t, err)
	return a
}

func plan(t testing.TB, text string) Plan {
	t.Helper()
	var p Plan
	noerr.Must(t, json.Unmarshal([]byte(text), &p))
	return p
}

func TestRecipesMakeTheProductTheySay(t *testing.T) {
	for _, c := range []struct{ plan, product, wire, refused string }{
		{`{"type":"unblocker"}`, "unlocker", "unblocker", ""},
		{`{"type":"unblocker","ub_premium":true}`, "unlocker", "unblocker", ""},
		{`{"type":"unblocker","serp":true}`, "serp", "serp", ""},
		{`{"type":"unblocker","serp":false}`, "unlocker", "unblocker", ""},
		{`{"type":"serp"}`, "serp", "serp", ""},
		{`{"type":"resident","serp":true}`, "serp", "serp", ""},
		{`{"type":"browser_api"}`, "browser", "browser_api", ""},
		{`{"type":"static","ips_type":"shared","ip_alloc_preset":"shared_block"}`, "datacenter", "dc", ""},
		{`{"type":"static","pool_ip_type":"static_res","country":"us"}`, "isp", "isp", ""},
		{`{"type":"static","pool_ip_type":"static_res","bandwidth":"unlimited","unl_bw_tiers":"std"}`, "isp", "isp", ""},
		{`{"type":"static","pool_ip_type":"static_res","bandwidth":"unlimited"}`, "", "", "plan.unl_bw_tiers"},
		{`{"type":"static","pool_ip_type":"static_res","country":"US"}`, "", "", "no IPs available"},
		{`{"type":"resident","vips_type":"shared"}`, "residential", "res_rotating", ""},
		{`{"type":"resident","mobile":true}`, "mobile", "mobile", ""},
		{`{"type":"resident","mobile":1}`, "mobile", "mobile", ""},
		{`{"type":"crawl"}`, "crawl", "crawl", ""},
		{`{}`, "", "", "plan.type is required"},
		{`{"type":"teleport"}`, "", "", `plan.type "teleport"`},
		{`{"type":"unblocker","colour":"red"}`, "", "", "plan.colour is not allowed"},
		{`{"type":7}`, "", "", "plan.type must be a string"},
		{`{"type":"static","ips":"many"}`, "", "", "plan.ips must be a number"},
		{`{"type":"unblocker","serp":"yes"}`, "", "", "plan.serp must be true or false"},
	} {
		a := open(t, folder(t), &scenario.Scenario{Account: "hl_1", Prefix: "brd"})
		z, err := a.CreateZone(NewZone{Name: "new_zone", Plan: plan(t, c.plan)})
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.plan, err, c.refused)
			}
			continue
		}
		if err != nil || z.Product != c.product || z.Type() != c.wire || len(z.Password) != 20 || !z.Accepts(z.Password) {
			t.Errorf("%s: %+v, %v", c.plan, z, err)
		}
	}
}

func TestFlagsAndNumbersOfAPlanMayComeAsText(t *testing.T) {
	for _, c := range []struct{ sent, plain, spelled string }{
		{`{"type":"unblocker","serp":"true"}`, `{"serp":true,"type":"unblocker"}`, "serp"},
		{`{"mobile":"false","vips":"0","ips":"12","city":"1"}`, `{"city":1,"ips":12,"mobile":false,"vips":0}`, "city ips mobile vips"},
		{`{"serp":true,"vips":0,"mobile":1}`, `{"mobile":1,"serp":true,"vips":0}`, ""},
		// What is text stays text, what is neither is refused later, as it came.
		{`{"type":"0","country":"true","bandwidth":"1"}`, `{"bandwidth":"1","country":"true","type":"0"}`, ""},
		{`{"serp":"yes","mobile":"","vips":"many","ips":"","asn":"null"}`, `{"asn":"null","ips":"","mobile":"","serp":"yes","vips":"many"}`, ""},
		{`{"vips":"null","ips":"[1]","colour":"true"}`, `{"colour":"true","ips":"[1]","vips":"null"}`, ""},
	} {
		sent := plan(t, c.sent)
		got, spelled := sent.Plain()
		if b, err := json.Marshal(got); err != nil || string(b) != c.plain || strings.Join(spelled, " ") != c.spelled {
			t.Errorf("%s: %s, %q; want %s, %q", c.sent, b, spelled, c.plain, c.spelled)
		}
	}
	if p, spelled := Plan(nil).Plain(); p != nil || spelled != nil {
		t.Errorf("no plan: %s %q", p, spelled)
	}
}

func TestScenarioProductsKeepTheirRecipes(t *testing.T) {
	for _, z := range scenario.Demo().Zones {
		bad := &answer.InvalidError{}
		p := planOf(z.Product)
		p.check(false, bad)
		if got := p.product(bad); got != z.Product || len(bad.Details) > 0 {
			t.Errorf("%s: %s gives %q, %q", z.Product, p, got, bad.Details)
		}
	}
}

func TestZonesSurviveARestart(t *testing.T) {
	s, sc := folder(t), scenario.Demo()
	a := open(t, s, sc)
	made, err := a.CreateZone(NewZone{Name: "made", Plan: plan(t, `{"type":"unblocker","serp":true}`), Passwords: []string{"one", "two"}, AllowIPs: []string{"10.0.0.0/8"}})
	noerr.Must(t, err)
	for what, err := range map[string]error{
		"disable": noerr.From(a.DisableZone("isp_demo", true)),
		"delete":  noerr.From(a.DeleteZones([]string{"crawl_demo"})),
		"deny":    noerr.From(a.EditIPs([]string{"made"}, Deny, []string{"10.1.0.0-10.1.0.9"}, false)),
		"domains": noerr.From(a.EditDomains("made", Allow, []string{"example.com"}, false)),
		"limit":   noerr.From(a.LimitZone("made", &Limit{Value: 5, Cycle: "d"})),
		"suspend": a.Suspend(true),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	b := open(t, s, sc)
	z, err := b.Zone("made")
	noerr.Must(t, err)
	d := z.Settings()
	if z.Product != "serp" || !slices.Equal(z.Settings().Passwords, []string{"one", "two"}) || !z.Accepts("two") || !d.Created.Equal(made.Settings().Created) ||
		!slices.Equal(d.AllowIPs, []string{"10.0.0.0/8"}) || !slices.Equal(d.DenyIPs, []string{"10.1.0.0-10.1.0.9"}) ||
		!slices.Equal(d.AllowDomains, []string{"example.com"}) || d.Limit == nil || *d.Limit != (Limit{5, "d"}) || string(z.Plan()["serp"]) != "true" {
		t.Errorf("%+v %+v", z, d)
	}
	if z, err := b.Zone("isp_demo"); err != nil || z.Settings().Status != Disabled {
		t.Errorf("%+v, %v", z, err)
	}
	if _, err := b.Zone("crawl_demo"); !errors.Is(err, ErrNoSuchZone) || !b.Suspended() {
		t.Errorf("%v, suspended %v", err, b.Suspended())
	}
	if n, all := len(b.Zones()), len(b.AllZones()); n != 13 || all != 14 {
		t.Errorf("%d zones, %d with the deleted", n, all)
	}
	if z, err := b.CreateZone(NewZone{Name: "crawl_demo", Plan: plan(t, `{"type":"unblocker"}`)}); err != nil || z.Product != "unlocker" {
		t.Errorf("the name of a deleted zone: %+v, %v", z, err)
	}
	if _, err := b.CreateZone(NewZone{Name: "made", Plan: plan(t, `{"type":"unblocker"}`)}); !errors.Is(err, ErrZoneExists) {
		t.Errorf("a second one of a name: %v", err)
	}
}

func TestNamesOfZones(t *testing.T) {
	a := open(t, folder(t), scenario.Demo())
	for name, ok := range map[string]bool{
		"a": true, "web_unlocker1": true, "my-zone": true, "A9": true, strings.Repeat("z", 64): true,
		"": false, "-a": false, "a b": false, "a.b": false, "../x": false, "ä": false, strings.Repeat("z", 65): false,
		"my-country-zone": false, "x-session": false, "\x00jobs": false,
	} {
		_, err := a.CreateZone(NewZone{Name: name, Plan: plan(t, `{"type":"unblocker"}`)})
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestPasswordsAreAddedAndRemovedAndNeverNone(t *testing.T) {
	a := open(t, folder(t), scenario.Demo())
	z, err := a.Zone("isp_demo")
	noerr.Must(t, err)
	first := z.Password
	if _, err := a.RemovePasswords("isp_demo", []string{first}); !errors.Is(err, ErrOnePassword) {
		t.Errorf("the last one: %v", err)
	}
	z, err = a.AddPasswords("isp_demo", []string{"p1", "p2", "p1"})
	if err != nil || !slices.Equal(z.Settings().Passwords, []string{first, "p1", "p2"}) {
		t.Errorf("%v, %v", z.Settings().Passwords, err)
	}
	if _, err := a.RemovePasswords("isp_demo", []string{"p1", "nothing"}); !errors.Is(err, ErrNoPassword) {
		t.Errorf("one that is not there: %v", err)
	}
	z, err = a.RemovePasswords("isp_demo", []string{first, "p1"})
	if err != nil || !slices.Equal(z.Settings().Passwords, []string{"p2"}) || z.Accepts(first) || z.Accepts("p1") || !z.Accepts("p2") || z.Accepts("") {
		t.Errorf("%v, %v", z.Settings().Passwords, err)
	}
	for _, p := range []string{"", "a b", "ü", strings.Repeat("x", 129), "a\nb"} {
		if _, err := a.AddPasswords("isp_demo", []string{p}); err == nil {
			t.Errorf("%q was taken", p)
		}
	}
	for what, err := range map[string]error{
		"add": noerr.From(a.AddPasswords("nowhere", []string{"x"})), "remove": noerr.From(a.RemovePasswords("nowhere", []string{"x"})),
		"regenerate": noerr.From(a.NewPassword("nowhere")), "disable": noerr.From(a.DisableZone("nowhere", true)),
	} {
		if !errors.Is(err, ErrNoSuchZone) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnUnreadableZoneIsLeftOutWithANote(t *testing.T) {
	s := folder(t)
	err := s.Update(func(tx *state.Tx) error {
		return zonesTable.Put(tx, "w", record{Name: "w", Product: "isp", Settings: Settings{Passwords: []string{"p"}, DenyIPs: []string{"nonsense"}}})
	})
	noerr.Must(t, err)
	a := open(t, s, scenario.Demo())
	if n := s.Notes(); len(n) != 1 || !strings.HasPrefix(n[0], `"w" of zones is left out: it cannot be read (`) || len(a.Zones()) != 13 {
		t.Errorf("%q, %d zones", n, len(a.Zones()))
	}
}

func TestAnAccountWithoutKeysGetsADefaultKeyShownOnce(t *testing.T) {
	s := folder(t)
	sc := &scenario.Scenario{Account: "hl_1", Prefix: "brd"}
	a := open(t, s, sc)
	keys := a.HandOut()
	if len(keys) != 1 || keys[0].Name != defaultKey || keys[0].Level != level.Admin || len(keys[0].Value) != 64 || keys[0].Expires != "Unlimited" {
		t.Fatalf("%+v", keys)
	}
	value := keys[0].Value
	if k := a.HandOut(); k[0].Value != "" {
		t.Error("it is shown twice")
	}
	noerr.Want(t, noerr.From(a.Authenticate(value)))
	if statetest.Holds(t, s, value) {
		t.Error("the value is on disk")
	}
	b := open(t, s, sc)
	if k := b.HandOut(); len(k) != 1 || k[0].Value != "" {
		t.Errorf("after a restart: %+v", k)
	}
	if _, err := b.Authenticate(value); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	noerr.Must(t, b.DeleteKey(defaultKey))
	if k := open(t, s, sc).Keys(); len(k) != 0 {
		t.Errorf("a deleted one comes back: %+v", k)
	}
}

func TestAChangeThatCannotBeStoredIsNotMade(t *testing.T) {
	s := folder(t)
	a := open(t, s, scenario.Demo())
	defer statetest.Refuse(t, s.Path("."), "zones")()
	z, err := a.Zone("isp_demo")
	noerr.Must(t, err)
	if _, err := a.NewPassword("isp_demo"); err == nil {
		t.Error("no error")
	}
	if after, err := a.Zone("isp_demo"); err != nil || !after.Accepts(z.Password) {
		t.Errorf("the password changed: %v", err)
	}
	s = folder(t)
	a = open(t, s, scenario.Demo())
	defer statetest.Refuse(t, s.Path("."), "keys")()
	if _, err := a.CreateKey("k", level.User, "", time.Time{}); err == nil || len(a.Keys()) != 8 {
		t.Errorf("%v, %d keys", err, len(a.Keys()))
	}
}

func TestReadersDoNotWaitForAChangeThatIsBeingWritten(t *testing.T) {
	s := statetest.Open(t, t.TempDir())
	a := open(t, s, scenario.Demo())
	begun, release := statetest.Hold(t, s, "zones")
	changed := make(chan error, 1)
	go func() { changed <- noerr.From(a.NewPassword("isp_demo")) }()
	<-begun
	z, err := a.Zone("isp_demo")
	if err != nil || !z.Accepts(z.Password) || a.Admit("isp_demo", netip.Addr{}, "lab.test") != nil || len(a.HandOut()) != 8 || len(a.Secrets()) == 0 {
		t.Errorf("%+v, %v", z, err)
	}
	select {
	case err := <-changed:
		t.Errorf("the change did not wait for the disk: %v", err)
		changed <- err
	default:
	}
	release()
	noerr.Must(t, <-changed)
}

// TestChangesUnderLoad has readers see every password and key either before or after a
// change, and never one that was answered as gone.
func TestChangesUnderLoad(t *testing.T) {
	a := open(t, folder(t), scenario.Demo())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				z, err := a.Zone("isp_demo")
				if err != nil || len(z.Settings().Passwords) == 0 || !z.Accepts(z.Password) {
					t.Errorf("%+v, %v", z, err)
					return
				}
				if r := a.Admit("isp_demo", netip.MustParseAddr("127.0.0.1"), "lab.test"); r != nil {
					t.Errorf("%+v", r)
					return
				}
			}
		})
	}
	value := ""
	for i := range 12 {
		noerr.Must(t, noerr.From(a.AddPasswords("isp_demo", []string{"next"})))
		if z, _ := a.Zone("isp_demo"); !z.Accepts("next") {
			t.Error("a password that was added is refused")
		}
		noerr.Must(t, noerr.From(a.RemovePasswords("isp_demo", []string{"next"})))
		if z, _ := a.Zone("isp_demo"); z.Accepts("next") {
			t.Error("a password that was removed is taken")
		}
		k, err := a.RefreshKey("etl-main")
		noerr.Must(t, err)
		if _, err := a.Authenticate(value); i > 0 && !errors.Is(err, errKeyUnknown) {
			t.Errorf("the old value: %v", err)
		}
		if _, err := a.Authenticate(k.Value); err != nil {
			t.Errorf("the new value: %v", err)
		}
		value = k.Value
	}
	close(stop)
	wg.Wait()
}
