package sandbox

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 4, 31, 0, time.UTC) }

// demo is a session like that of the embedded emulator.
func demo() kit.Session {
	user := model.Key{
		Name: "batch-user", Level: model.LevelUser, Duty: model.DutyBatch, Last4: "f2a1", Secret: "demo:batch-user",
		Expires: model.ExpiresAt(noon().AddDate(0, 0, 60)), Rotation: model.Rotation{Last: noon().AddDate(0, 0, -20)},
	}
	return kit.Session{
		ProfileName: "local", Profile: model.Profile{Dialect: "brightdata", Can: dialect.Abilities("brightdata")}, Local: true, Ready: true, Key: user,
		Keys: []model.Key{
			user,
			{
				Name: "finance-review", Level: model.LevelFinance, Duty: model.DutyHuman, Secret: "demo:finance-review", Last4: "aaaa",
				Expires: model.ExpiresAt(noon().AddDate(0, 0, 120)), Rotation: model.Rotation{Last: noon()},
			},
			{Name: "tracked", Level: model.LevelUser, Rotation: model.Rotation{Last: noon()}, Expires: model.ExpiresAt(noon().AddDate(0, 0, 120))},
		},
		Zones: []model.Zone{
			{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "demo:unlocker_demo"},
			{Name: "browser_demo", Product: model.ProductBrowser, Password: "demo:browser_demo"},
			{Name: "serp_demo", Product: model.ProductSERP, Password: "demo:serp_demo"},
			{Name: "bare", Product: model.ProductISP},
		},
	}
}

func TestTheFirstDraftCanBeSentAsItIs(t *testing.T) {
	r, probs := firstDraft().request(demo(), noon())
	if len(probs) > 0 {
		t.Fatalf("problems: %+v", probs)
	}
	want := model.FetchRequest{Zone: demo().Zones[0], URL: "http://lab.test/ok", Via: model.ViaAPI, Format: model.FormatRaw, Retries: -1}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("request %+v, want %+v", r, want)
	}
}

func TestAMissingKeyIsNamed(t *testing.T) {
	s := demo()
	s.Key = model.Key{}
	for key, want := range map[string]string{"": "the profile names no key", "etl-main": `"etl-main" is not in the key inventory`} {
		s.Profile.Key = key
		d := firstDraft()
		_, probs := d.request(s, noon())
		if len(probs) != 1 || probs[0].Field != fieldKey || !strings.Contains(probs[0].Text, want) {
			t.Errorf("key %q: problems %+v, want %q", key, probs, want)
		}
	}
}

func TestProblemsAreShownAtTheirField(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*draft)
		field  field
		sev    severity
		want   string
	}{
		"no address":                   {func(d *draft) { d.URL = "" }, fieldURL, stop, "type the target's address"},
		"relative address":             {func(d *draft) { d.URL = "lab.test/ok" }, fieldURL, stop, "absolute address"},
		"host and port":                {func(d *draft) { d.URL = "lab.test:80/ok" }, fieldURL, stop, "absolute address"},
		"other scheme":                 {func(d *draft) { d.URL = "ftp://lab.test/" }, fieldURL, stop, "use http or https"},
		"a port that is none":          {func(d *draft) { d.URL = "http://lab.test:99999/" }, fieldURL, stop, "from 1 to 65535"},
		"no host":                      {func(d *draft) { d.URL = "http:///ok" }, fieldURL, stop, "host is missing"},
		"space":                        {func(d *draft) { d.URL = "http://lab.test/a b" }, fieldURL, stop, "no spaces"},
		"login in the address":         {func(d *draft) { d.URL = "http://me:pw@lab.test/" }, fieldURL, stop, "send it as a header"},
		"bad escape":                   {func(d *draft) { d.URL = "http://lab.test/%zz" }, fieldURL, stop, "not an address"},
		"bad host":                     {func(d *draft) { d.URL = "http://a..b/" }, fieldURL, stop, "not a host name"},
		"no zone":                      {func(d *draft) { d.Zone = "" }, fieldZone, stop, "choose a zone"},
		"unknown zone":                 {func(d *draft) { d.Zone = "nope" }, fieldZone, stop, "not in profile local"},
		"zone with colon":              {func(d *draft) { d.Zone = "a:b" }, fieldZone, stop, "separates the username"},
		"product not native":           {func(d *draft) { d.Zone, d.Via = "serp_demo", "native" }, fieldVia, stop, "no native access (contract 5.2)"},
		"no password":                  {func(d *draft) { d.Zone, d.Via = "bare", "native" }, fieldZone, stop, "no password is configured"},
		"unknown key":                  {func(d *draft) { d.Key = "nope" }, fieldKey, stop, `"nope" is not in the key inventory`},
		"key without a value":          {func(d *draft) { d.Key = "tracked" }, fieldKey, stop, "only tracks tracked"},
		"level without the permission": {func(d *draft) { d.Key = "finance-review" }, fieldKey, ask, "FINANCE has no proxy and API use"},
		"header without colon":         {func(d *draft) { d.Headers = "Accept: a\nnonsense" }, fieldHeaders, stop, "line 2"},
		"header name":                  {func(d *draft) { d.Headers = "X Y: a" }, fieldHeaders, stop, "line 1"},
		"control in header":            {func(d *draft) { d.Headers = "X: a\x01" }, fieldHeaders, stop, "control characters"},
		"country in words":             {func(d *draft) { d.Country = "Germany" }, fieldCountry, stop, "two small letters"},
		"timeout in words":             {func(d *draft) { d.Timeout = "soon" }, fieldTimeout, stop, "like 30s"},
		"timeout below nothing":        {func(d *draft) { d.Timeout = "-3s" }, fieldTimeout, stop, "like 30s"},
		"body without a method":        {func(d *draft) { d.Body = "x" }, fieldBody, note, "a method like POST"},
	} {
		t.Run(name, func(t *testing.T) {
			d := firstDraft()
			c.change(&d)
			_, probs := d.request(demo(), noon())
			if len(probs) != 1 {
				t.Fatalf("problems %+v, want one", probs)
			}
			if p := probs[0]; p.Field != c.field || p.Severity != c.sev || !strings.Contains(p.Text, c.want) {
				t.Errorf("problem %+v, want %s, severity %d, %q", p, c.field, c.sev, c.want)
			}
		})
	}
}

func TestUnknownZonesAreAcceptedIfTheProfileListsNone(t *testing.T) {
	s := demo()
	s.Zones = nil
	d := firstDraft()
	d.Zone = "mine"
	r, probs := d.request(s, noon())
	if len(probs) > 0 || r.Zone.Name != "mine" {
		t.Errorf("request %+v, problems %+v", r, probs)
	}
}

func TestZonesAndKeysThatAreNotKnownYetAreNotReported(t *testing.T) {
	if _, probs := firstDraft().request(kit.Session{Local: true, Profile: model.Profile{Can: dialect.Abilities("")}}, noon()); len(probs) > 0 {
		t.Errorf("problems before the session is ready: %+v", probs)
	}
}

func TestADraftGoesToARequestAndBack(t *testing.T) {
	d := draft{
		Zone: "unlocker_demo", URL: "https://lab.test/shop?v=2", Via: "api", Format: "json", Key: "batch-user", Method: "POST",
		Headers: "Accept: */*\nX-A: 1\nX-A: 2", Body: "x=1", Country: "de", Session: "a1", Timeout: "45s",
	}
	r, probs := d.request(demo(), noon())
	if len(probs) > 0 {
		t.Fatalf("problems %+v", probs)
	}
	if got := draftOf(r); got != d {
		t.Errorf("the draft becomes %+v, want %+v", got, d)
	}
	want := []string{"POST", "3 headers", "body 3 B", "country de", "session a1", "timeout 45s"}
	if got := d.extras(); !slices.Equal(got, want) || len(firstDraft().extras()) > 0 {
		t.Errorf("the folded fields hold %q, want %q; at first %q", got, want, firstDraft().extras())
	}
}

// FuzzHeaders: what is read of typed headers and written again is read the same.
func FuzzHeaders(f *testing.F) {
	f.Add("Accept: */*\nX-A: 1")
	f.Add("X:\n\n : \nY:é")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := parseHeaders(s)
		if err != nil {
			return
		}
		again, err := parseHeaders(strings.Join(text.HeaderLines(h), "\n"))
		if err != nil || !reflect.DeepEqual(h, again) {
			t.Errorf("%q reads as %q, which reads as %q, %v", s, h, again, err)
		}
	})
}
