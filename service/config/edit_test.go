package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

const edits = `# of the operator
default_profile = "acme" # in use

# the real one
[profiles.acme]
base_url = "https://a.example"   # api
account = "hl_1"
username_prefix = "brd"
proxy_host = "p.example"
allowed_domains = [ # of the contract
  "shop.example",
  "*.shop.example",
]
[[profiles.acme.zones]]
name = "u1"   # the unlocker
product = "unlocker"
password = "env:U1"

[[profiles.acme.zones]]
PROXY_NAME = "i1" # dropped soon
# of the old plan
product = "isp"
[profiles.acme.variables]
shop = "7"

# the other one
[profiles.other]
base_url = "https://b.example"
[[profiles.other.zones]]
name = "u1"`

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func profileOf(t *testing.T, path, name string) model.Profile {
	t.Helper()
	f, err := Load(path)
	noerr.Must(t, err)
	p, err := f.Profile(name)
	noerr.Must(t, err)
	return p
}

func TestOnlyTheLinesThatDifferAreWritten(t *testing.T) {
	path := written(t, edits)
	p := profileOf(t, path, "acme")
	p.BaseURL, p.ProxyPort, p.Key, p.ReadOnly = "https://c.example", 44445, "etl", true
	p.AllowedDomains = []string{"shop.example"}
	p.Zones = []model.Zone{
		{Name: "new1", Product: model.ProductSERP, Password: "file:new1"},
		{Name: "u1", Product: model.ProductUnlocker, Password: "file:u1", Rate: model.Rate{Per1000: 1.5}},
	}
	noerr.Must(t, noerr.From(EditProfile(t.Context(), path, profileOf(t, path, "acme"), p)))
	want := strings.NewReplacer(
		`base_url = "https://a.example"   # api`, `base_url = "https://c.example"   # api`,
		"allowed_domains = [ # of the contract\n  \"shop.example\",\n  \"*.shop.example\",\n]\n",
		"allowed_domains = [\"shop.example\"]\nproxy_port = 44445\nkey = \"etl\"\nread_only = true\n",
		"password = \"env:U1\"\n", "password = \"file:u1\"\nrate_per_1000 = 1.5\n",
		"[[profiles.acme.zones]]\nPROXY_NAME = \"i1\" # dropped soon\n# of the old plan\nproduct = \"isp\"\n", "\n[[profiles.acme.zones]]\nname = \"new1\"\nproduct = \"serp\"\npassword = \"file:new1\"\n",
	).Replace(edits)
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s\n%v\nwant\n%s", got, err, want)
	}
	if got := profileOf(t, path, "acme"); !equalProfiles(got, func() model.Profile { p.Variables = map[string]string{"shop": "7"}; return p }()) {
		t.Errorf("%+v", got)
	}
}

func TestAnEditThatChangesNothingWritesNothing(t *testing.T) {
	path := written(t, edits)
	for _, name := range []string{"acme", "other"} {
		noerr.Want(t, noerr.From(EditProfile(t.Context(), path, profileOf(t, path, name), profileOf(t, path, name))))
	}
	if got, _ := os.ReadFile(path); string(got) != edits {
		t.Errorf("%s", got)
	}
}

// What is written is the change, not the profile as whoever changes it has read it.
func TestWhatAnotherChangedMeanwhileStays(t *testing.T) {
	path := written(t, edits)
	opened := profileOf(t, path, "acme")
	theirs := opened
	theirs.Color, theirs.MaxJobCost, theirs.AllowedDomains = "red", 3, []string{"a.example"}
	theirs.Zones = []model.Zone{{Name: "u1", Product: model.ProductUnlocker, Password: "env:U1", Rate: model.Rate{Per1000: 2}}, {Name: "new1"}}
	noerr.Must(t, noerr.From(EditProfile(t.Context(), path, opened, theirs)))
	ours := opened
	ours.ReadOnly, ours.Zones = true, []model.Zone{{Name: "u1", Product: model.ProductUnlocker, Password: "file:u1"}, opened.Zones[1], {Name: "new2"}}
	got, err := EditProfile(t.Context(), path, opened, ours)
	want := theirs
	want.ReadOnly, want.Zones = true, []model.Zone{{Name: "u1", Product: model.ProductUnlocker, Password: "file:u1", Rate: model.Rate{Per1000: 2}}, {Name: "new1"}, {Name: "new2"}}
	if err != nil || !equalProfiles(got, want) || !equalProfiles(profileOf(t, path, "acme"), want) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, profileOf(t, path, "acme"), want)
	}
}

func TestWhatTwoChangeDifferentlyIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		theirs, ours func(p *model.Profile)
		want         string
	}{
		"a value":          {func(p *model.Profile) { p.Color = "red" }, func(p *model.Profile) { p.Color = "blue" }, "color is red now"},
		"a list":           {func(p *model.Profile) { p.AllowedDomains = []string{"a.example", "b.example"} }, func(p *model.Profile) { p.AllowedDomains = nil }, "allowed_domains is a.example b.example now"},
		"an emptied one":   {func(p *model.Profile) { p.AllowedDomains = nil }, func(p *model.Profile) { p.AllowedDomains = []string{"x.example"} }, "allowed_domains is empty now"},
		"a zone's rate":    {func(p *model.Profile) { p.Zones[0].Rate.PerGB = 3 }, func(p *model.Profile) { p.Zones[0].Rate.PerGB = 4 }, "zone u1: rate_per_gb is 3 now"},
		"a zone they drop": {func(p *model.Profile) { p.Zones = p.Zones[1:] }, func(p *model.Profile) { p.Zones[0].Password = "env:X" }, "zone u1 is not there any more"},
		"a zone we drop":   {func(p *model.Profile) { p.Zones[0].Password = "env:X" }, func(p *model.Profile) { p.Zones = p.Zones[1:] }, "zone u1 has other settings now"},
		"an added zone":    {func(p *model.Profile) { p.Zones = append(p.Zones, model.Zone{Name: "n", Password: "env:A"}) }, func(p *model.Profile) { p.Zones = append(p.Zones, model.Zone{Name: "n", Password: "env:B"}) }, "zone n: password is env:A now"},
	} {
		t.Run(name, func(t *testing.T) {
			path := written(t, edits)
			opened, theirs, ours := profileOf(t, path, "acme"), profileOf(t, path, "acme"), profileOf(t, path, "acme")
			tt.theirs(&theirs)
			tt.ours(&ours)
			noerr.Must(t, noerr.From(EditProfile(t.Context(), path, opened, theirs)))
			text, _ := os.ReadFile(path)
			_, err := EditProfile(t.Context(), path, opened, ours)
			want := `changing profile "acme": it was changed in the config file meanwhile, and nothing was saved: ` + tt.want + ". Open it anew to change it"
			if now, _ := os.ReadFile(path); !errors.Is(err, errChanged) || err.Error() != want || string(now) != string(text) {
				t.Errorf("%v\nwant\n%s\n%s", err, want, now)
			}
		})
	}
}

func TestWhatCannotBeEditedIsLeftAlone(t *testing.T) {
	for text, want := range map[string]error{
		"[profiles]\nacme = {base_url = \"https://a.example\"}\n":    errOtherForm,
		"profiles.acme.base_url = \"https://a.example\"\n":           errOtherForm,
		"[profiles.other]\nbase_url = \"https://a.example\"\n":       ErrNoSuchProfile,
		"[profiles.acme]\nbase_url = \"\"\"https://\\\na.test\"\"\"": errOtherForm,
	} {
		path := written(t, text)
		before := model.Profile{Name: "acme", BaseURL: "https://a.example", Verify: true}
		if f, err := Load(path); err == nil && f.profiles["acme"].Name != "" {
			before = profileOf(t, path, "acme")
		}
		_, err := EditProfile(t.Context(), path, before, model.Profile{Name: "acme", BaseURL: "https://c.example", Verify: true})
		if got, _ := os.ReadFile(path); !errors.Is(err, want) || string(got) != text {
			t.Errorf("%s\n%v\n%s", text, err, got)
		}
	}
	path := written(t, edits)
	if _, err := EditProfile(t.Context(), path, profileOf(t, path, "acme"), model.Profile{Name: "acme"}); !errors.Is(err, ErrProfile) {
		t.Errorf("a profile without an address: %v", err)
	}
}

func TestAProfileIsRemovedWithWhatIsItsOwn(t *testing.T) {
	path := written(t, edits)
	noerr.Must(t, RemoveProfile(t.Context(), path, "acme"))
	want := "# of the operator\ndefault_profile = \"other\" # in use\n\n# the real one\n\n# the other one\n" + edits[strings.Index(edits, "[profiles.other]"):]
	got, _ := os.ReadFile(path)
	if string(got) != strings.Replace(want, "# the real one\n\n", "# the real one\n", 1) && string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if err := AddProfile(t.Context(), path, model.Profile{Name: "third", BaseURL: "https://d.example"}); err != nil { // it stays the default
		t.Fatal(err)
	}
	if f, err := Load(path); err != nil || f.Default() != "other" {
		t.Errorf("the default is %q, %v", f.Default(), err)
	}
	if err := RemoveProfile(t.Context(), path, "acme"); !errors.Is(err, ErrNoSuchProfile) {
		t.Errorf("a second time: %v", err)
	}
}

func TestOfSeveralProfilesNoneBecomesTheDefaultByItself(t *testing.T) {
	path := written(t, edits+"\n[profiles.third]\nbase_url = \"https://d.example\"\n")
	noerr.Must(t, RemoveProfile(t.Context(), path, "acme"))
	if f, err := Load(path); err != nil || f.Default() != model.LocalName {
		t.Errorf("the default is %q, %v", f.Default(), err)
	}
}

func TestAllowedDomains(t *testing.T) {
	p, err := checked(model.Profile{Name: "acme", BaseURL: "https://a.example", AllowedDomains: []string{"Shop.example", "*.shop.example", "bücher.example", "10.0.0.1"}})
	noerr.Must(t, err)
	for address, allowed := range map[string]bool{
		"https://shop.example/a": true, "http://SHOP.example.:8080": true, "https://a.b.shop.example": true, "https://xn--bcher-kva.example/": true,
		"https://bücher.example": true, "http://10.0.0.1/": true, "https://evilshop.example": false, "https://shop.example.evil.test": false,
		"https://shop.example@evil.test/": false, "https://other.example": false, "": false, "::": false, "https://10.0.0.2": false,
	} {
		err := RefuseTarget(p, address)
		if (err == nil) != allowed || err != nil && !errors.Is(err, ErrDomain) {
			t.Errorf("%s: %v", address, err)
		}
	}
	want := "other.example is outside the allowed domains of profile acme (shop.example, *.shop.example, xn--bcher-kva.example, 10.0.0.1): add it to allowed_domains in config.toml, or use another profile"
	if err := RefuseTarget(p, "https://other.example"); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := RefuseTarget(model.Profile{Name: "acme"}, "https://anything.example"); err != nil {
		t.Errorf("a profile without allowed domains: %v", err)
	}
	for _, pattern := range []string{"", "*", "*.", "a.*.example", "https://a.example", "a.example:80", "a example", ".example", "a..example"} {
		if err := Validate(model.Profile{Name: "acme", BaseURL: "https://a.example", AllowedDomains: []string{pattern}}); !errors.Is(err, ErrProfile) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func FuzzEditProfile(f *testing.F) {
	f.Add(edits, "https://c.example", "shop.example", true)
	f.Add("[profiles.acme]\nbase_url='https://a.example' # '", "https://c.example", "*.a.example", false)
	f.Add("[profiles]\n[profiles.acme] # [x\nbase_url=\"https://a.example\"\ncolor=\"red\"#\"", "https://c.example", "a.example", false)
	f.Fuzz(func(t *testing.T, text, base, allowed string, readOnly bool) {
		file, err := Parse("config.toml", []byte(text))
		if err != nil {
			return
		}
		before, ok := file.profiles["acme"]
		if !ok {
			return
		}
		p := before
		p.BaseURL, p.AllowedDomains, p.ReadOnly = base, []string{allowed}, readOnly
		if p, err = checked(p); err != nil {
			return
		}
		got, err := edited("config.toml", []byte(text), before, p)
		if err != nil {
			return
		}
		after, err := Parse("config.toml", got)
		if err != nil || !equalProfiles(after.profiles["acme"], p) || len(after.profiles) != len(file.profiles) {
			t.Errorf("%v\n%s\nbecame\n%s", err, text, got)
		}
	})
}

func TestTimeoutsAreATableThatIsEdited(t *testing.T) {
	path := written(t, edits)
	set := func(timeouts model.Timeouts) string {
		t.Helper()
		p := profileOf(t, path, "acme")
		p.Timeouts = timeouts
		noerr.Must(t, noerr.From(EditProfile(t.Context(), path, profileOf(t, path, "acme"), p)))
		if got := profileOf(t, path, "acme"); got.Timeouts.String() != timeouts.String() {
			t.Errorf("%v, want %v", got.Timeouts, timeouts)
		}
		b, err := os.ReadFile(path)
		noerr.Must(t, err)
		return string(b)
	}
	const head = "\n[profiles.acme.timeouts]\n"
	for _, step := range []struct {
		timeouts model.Timeouts
		want     string
	}{
		{model.Timeouts{model.ProductUnlocker: 4 * time.Minute}, head + "unlocker = \"4m0s\"\n[profiles.acme.variables]"},
		{model.Timeouts{model.ProductUnlocker: 5 * time.Minute, model.ProductUnknown: time.Minute}, head + "unlocker = \"5m0s\"\nunknown = \"1m0s\"\n[profiles.acme.variables]"},
		{model.Timeouts{model.ProductUnknown: time.Minute}, head + "unknown = \"1m0s\"\n[profiles.acme.variables]"},
	} {
		if got := set(step.timeouts); !strings.Contains(got, step.want) || strings.Replace(got, got[strings.Index(got, head):strings.Index(got, "[profiles.acme.variables]")], "", 1) != edits {
			t.Errorf("%s\nlacks %q, or more was changed", got, step.want)
		}
	}
	before, theirs, mine := profileOf(t, path, "acme"), profileOf(t, path, "acme"), profileOf(t, path, "acme")
	theirs.Timeouts = model.Timeouts{model.ProductISP: time.Minute}
	noerr.Must(t, noerr.From(EditProfile(t.Context(), path, before, theirs)))
	mine.Timeouts = model.Timeouts{model.ProductSERP: time.Minute}
	if _, err := EditProfile(t.Context(), path, before, mine); !errors.Is(err, errChanged) || !strings.Contains(err.Error(), "timeouts is isp=1m0s now") {
		t.Errorf("changed by two: %v", err)
	}
	if got := set(nil); strings.Contains(got, "timeouts") {
		t.Errorf("%s", got)
	}
	set(model.Timeouts{model.ProductISP: time.Minute})
	noerr.Must(t, RemoveProfile(t.Context(), path, "acme"))
	if b, _ := os.ReadFile(path); strings.Contains(string(b), "acme.timeouts") {
		t.Errorf("%s", b)
	}
	noerr.Must(t, AddProfile(t.Context(), path, model.Profile{Name: "new", BaseURL: "https://n.example", Verify: true, Timeouts: model.Timeouts{model.ProductISP: time.Minute}}))
	if got := profileOf(t, path, "new"); got.Timeouts[model.ProductISP] != time.Minute {
		t.Errorf("%+v", got)
	}
}
