package sandbox

import (
	"slices"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 4, 31, 0, time.UTC) }

// demo is a session like that of the embedded emulator.
func demo() kit.Session {
	user := model.Key{
		Name: "batch-user", Level: model.LevelUser, Duty: model.DutyBatch, Last4: "f2a1", Secret: "demo:batch-user",
		Expires: model.ExpiresAt(noon().AddDate(0, 0, 60)), Rotation: model.Rotation{Last: noon().AddDate(0, 0, -20)},
	}
	zones := []model.Zone{
		{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "demo:unlocker_demo"},
		{Name: "serp_demo", Product: model.ProductSERP, Password: "demo:serp_demo"},
		{Name: "bare", Product: model.ProductISP},
	}
	return kit.Session{
		ProfileName: "local", Local: true, Ready: true, Key: user, Zones: zones,
		Profile: model.Profile{Name: "local", Dialect: "brightdata", BaseURL: "http://127.0.0.1:8080", ProxyHost: "127.0.0.1", ProxyPort: 33335, Zones: zones},
		Keys: []model.Key{
			user,
			{
				Name: "finance-review", Level: model.LevelFinance, Duty: model.DutyHuman, Secret: "demo:finance-review", Last4: "aaaa",
				Expires: model.ExpiresAt(noon().AddDate(0, 0, 120)), Rotation: model.Rotation{Last: noon()},
			},
		},
	}
}

// drafting is a tab in a session.
func drafting(s kit.Session) *Model {
	return &Model{session: s, deps: Deps{Profile: theProfile(s.Profile)}}
}

func TestProblemsAreShownAtTheirField(t *testing.T) {
	noKey := demo()
	noKey.Key, noKey.Profile.Key = model.Key{}, "etl-main"
	for name, c := range map[string]struct {
		session kit.Session
		change  func(*draft)
		want    []problem
	}{
		"none":                  {demo(), func(*draft) {}, nil},
		"a profile without key": {noKey, func(*draft) {}, []problem{{fieldKey, stop, `"etl-main" is not in the key inventory: add it in Keys, or choose another`}}},
		"not ready":             {kit.Session{Local: true}, func(*draft) {}, nil},
		"product not native": {
			demo(), func(d *draft) { d.Zone, d.Via = "serp_demo", "native" },
			[]problem{{fieldVia, stop, "search results (SERP) has no native access (contract 5.2): use API"}},
		},
		"no password": {
			demo(), func(d *draft) { d.Zone, d.Via = "bare", "native" },
			[]problem{{fieldZone, stop, "no password is configured for zone bare: add a reference to the profile (env:, keyring:, file:, cmd:)"}},
		},
		"unfit key":             {demo(), func(d *draft) { d.Key = "finance-review" }, []problem{{fieldKey, doubt, "FINANCE has no proxy and API use: pick a key of level USER or OPS"}}},
		"timeout in words":      {demo(), func(d *draft) { d.Timeout = "soon" }, []problem{{fieldTimeout, stop, "write it like 30s or 2m"}}},
		"timeout below nothing": {demo(), func(d *draft) { d.Timeout = "-3s" }, []problem{{fieldTimeout, stop, "write it like 30s or 2m"}}},
		"body without a method": {demo(), func(d *draft) { d.Body = "x" }, []problem{{fieldBody, note, "a body needs a method like POST"}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := firstDraft()
			c.change(&d)
			if _, got := drafting(c.session).check(d); !slices.Equal(got, c.want) {
				t.Errorf("problems %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestADraftGoesToARequestAndBack(t *testing.T) {
	d := draft{
		Zone: "unlocker_demo", URL: "https://lab.test/shop?v=2", Via: "api", Format: "json", Key: "batch-user", Method: "POST",
		Headers: "Accept: */*\nX-A: 1\nX-A: 2", Body: "x=1", Country: "de", Session: "a1", Timeout: "45s",
	}
	report, probs := drafting(demo()).check(d)
	if len(probs) > 0 {
		t.Fatalf("problems %+v", probs)
	}
	if got := draftOf(report.Request); got != d {
		t.Errorf("the draft becomes %+v, want %+v", got, d)
	}
	want := []string{"POST", "3 headers", "body 3 B", "country de", "session a1", "timeout 45s"}
	if got := d.extras(); !slices.Equal(got, want) || len(firstDraft().extras()) > 0 {
		t.Errorf("the folded fields hold %q, want %q; at first %q", got, want, firstDraft().extras())
	}
}
