package config

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/dialect"
)

const acme = `default_profile = "acme"
[profiles.acme]
base_url = "https://api.example.com/"
proxy_host = "proxy.example.com"
username_prefix = "abc"
account = "hl_1234abcd"
key = "etl-main"
ca = "certs/root.pem"
[[profiles.acme.zones]]
name = "unlocker1"
product = "unlocker"
password = "keyring:acme/unlocker1"
rate_per_1000 = 1.5
[[profiles.acme.zones]]
PROXY_NAME = "dc1"
identity_verified = true
rate_per_1000 = 1
rate_per_gb = 0.6
[[profiles.acme.zones]]
PRODUCT_NAME = "serp1"
product = "serp"

[profiles.staging]
base_url = "http://127.0.0.1:8080"
dialect = "brightdata"
api_version = "v4"
verify = false
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func load(t *testing.T, path string) File {
	t.Helper()
	f, err := Load(path)
	noerr.Must(t, err)
	return f
}

func acmeProfile(dir string) model.Profile {
	return model.Profile{
		Name: "acme", BaseURL: "https://api.example.com", ProxyHost: "proxy.example.com", ProxyPort: 33335,
		UsernamePrefix: "abc", Account: "hl_1234abcd", Key: "etl-main", APIVersion: "v3", Can: dialect.Abilities(""),
		CA: filepath.Join(dir, "certs", "root.pem"), Verify: true,
		Zones: []model.Zone{
			{Name: "unlocker1", Product: model.ProductUnlocker, Password: "keyring:acme/unlocker1", Rate: model.Rate{Per1000: 1.5}},
			{Name: "dc1", IdentityVerified: true, Rate: model.Rate{Per1000: 1, PerGB: 0.6}},
			{Name: "serp1", Product: model.ProductSERP},
		},
	}
}

func TestLoadReadsProfilesWithTheirDefaults(t *testing.T) {
	path := write(t, acme)
	f := load(t, path)
	if got := f.Names(); !slices.Equal(got, []string{"acme", "staging"}) {
		t.Errorf("names %v", got)
	}
	want := acmeProfile(filepath.Dir(path))
	for _, name := range []string{"", "acme"} {
		if got, err := f.Profile(name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("profile %q:\n%+v, %v\nwant\n%+v", name, got, err, want)
		}
	}
	got, err := f.Profile("staging")
	if err != nil || got.Verify || got.Dialect != "brightdata" || got.APIVersion != "v4" || got.ProxyAddr() != "" || got.ProxyPort != model.DefaultProxyPort {
		t.Errorf("staging: %+v, %v", got, err)
	}
	if want.ProxyAddr() != "proxy.example.com:33335" {
		t.Errorf("proxy address %s", want.ProxyAddr())
	}
	if z, ok := want.Zone("dc1"); !ok || !z.IdentityVerified {
		t.Errorf("zone %+v, %v", z, ok)
	}
	if _, ok := want.Zone("none"); ok {
		t.Error("found a zone that is not there")
	}
}

func TestAMissingFileIsAnEmptyConfiguration(t *testing.T) {
	f := load(t, filepath.Join(t.TempDir(), "none", "config.toml"))
	if _, err := f.Profile(""); !errors.Is(err, errNoProfiles) || len(f.Names()) != 0 || f.Default() != "" {
		t.Errorf("error %v, names %v", err, f.Names())
	}
	if _, err := f.Profile("acme"); !errors.Is(err, ErrNoSuchProfile) {
		t.Errorf("error %v", err)
	}
}

func TestTheDefaultIsNamedOrTheOnlyOne(t *testing.T) {
	one := "[profiles.a]\nbase_url = \"https://a.example\"\n"
	two := one + "[profiles.b]\nbase_url = \"https://b.example\"\n"
	for text, want := range map[string]string{one: "a", two: "", "default_profile = 'b'\n" + two: "b", "default_profile = 'local'\n" + one: "local"} {
		if got := load(t, write(t, text)).Default(); got != want {
			t.Errorf("default %q, want %q in\n%s", got, want, text)
		}
	}
	if _, err := load(t, write(t, two)).Profile(""); !errors.Is(err, ErrNoSuchProfile) || !strings.Contains(err.Error(), "a, b, local") {
		t.Errorf("error %v", err)
	}
	for _, f := range []File{load(t, write(t, "default_profile = 'local'\n"+one)), load(t, write(t, two))} {
		if _, err := f.Profile(model.LocalName); !errors.Is(err, errNoProfiles) {
			t.Errorf("the emulator's profile: %v", err)
		}
	}
}

func TestAFaultyConfigurationIsNamedByLineAndExpectation(t *testing.T) {
	const head = "[profiles.a]\nbase_url = \"https://a.example\"\n"
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"unknown field":          {"[profiles.a]\nbaseurl = 'x'\n", 2, "one of account, agent_url, allowed_domains, api_version, base_url"},
		"unknown zone field":     {head + "[[profiles.a.zones]]\nzone = 'x'\n", 4, "one of PRODUCT_NAME, PROXY_NAME, identity_verified, name, password, product, rate_per_1000, rate_per_gb"},
		"unknown top field":      {"[profile.a]\n", 1, "one of bindings, default_profile, keys, profiles"},
		"port in quotes":         {head + "proxy_port = \"33335\"\n", 3, "a whole number"},
		"port 0":                 {head + "proxy_port = 0\n", 3, "1 to 65535"},
		"port 70000":             {head + "proxy_port = 70000\n", 3, "1 to 65535"},
		"negative port":          {head + "proxy_port = -1\n", 3, "1 to 65535"},
		"verify in quotes":       {head + "verify = \"no\"\n", 3, "true or false"},
		"no address":             {"[profiles.a]\nkey = 'x'\n", 1, "at least one"},
		"relative address":       {"[profiles.a]\nbase_url = 'api.example.com'\n", 2, "https://api.example.com"},
		"other scheme":           {"[profiles.a]\nbase_url = 'ftp://api.example.com'\n", 2, "http or https"},
		"login in the address":   {"[profiles.a]\nbase_url = 'https://me:hunter2@api.example.com'\n", 2, "a login cannot stand"},
		"login without a scheme": {"[profiles.a]\nbase_url = 'me:hunter2@api.example.com'\n", 2, "a login cannot stand"},
		"broken address":         {"[profiles.a]\nbase_url = 'https://me:hunter2@%zz'\n", 2, "not an address"},
		"query":                  {"[profiles.a]\nbase_url = 'https://a.example/?k=hunter2'\n", 2, "a query"},
		"port of the address":    {"[profiles.a]\nbase_url = 'https://a.example:99999'\n", 2, "port 99999"},
		"proxy with a port":      {head + "proxy_host = 'p.example:33335'\n", 3, "proxy_port"},
		"proxy with a scheme":    {head + "proxy_host = 'http://p.example'\n", 3, "without scheme"},
		"proxy with a path":      {head + "proxy_host = 'p.example/x'\n", 3, "not the name of a host"},
		"proxy with a space":     {head + "proxy_host = 'p. example'\n", 3, "not the name of a host"},
		"proxy with a login":     {head + "proxy_host = 'u:hunter2@p.example'\n", 3, "without scheme"},
		"proxy, no account":      {head + "proxy_host = 'p.example'\n", 1, "hl_1234abcd"},
		"proxy, no prefix":       {head + "proxy_host = 'p.example'\naccount = 'hl_1'\n", 1, "-customer-"},
		"account":                {head + "account = 'c_123'\n", 3, "hl_"},
		"prefix":                 {head + "username_prefix = 'a-b'\n", 3, "one word"},
		"dialect":                {head + "dialect = 'luminati'\n", 3, "one of documented, brightdata"},
		"test page, no text":     {head + "test_url = 'https://t.example/'\n", 1, "without a text to look for"},
		"test text, no page":     {head + "test_text = 'it works'\n", 1, "target's address"},
		"test text of two lines": {head + "test_url = 'https://t.example/'\ntest_text = " + `"it\nworks"` + "\n", 4, "one line of plain text"},
		"test page, scheme":      {head + "test_url = 'ftp://t.example/'\ntest_text = 'it works'\n", 3, "use http or https"},
		"test page with a key":   {head + "test_url = 'https://t.example/?token=hunter2'\ntest_text = 'it works'\n", 3, "take token out"},
		"test page not allowed":  {head + "allowed_domains = ['a.example']\ntest_url = 'https://t.example/'\ntest_text = 'it works'\n", 4, "a page of a.example"},
		"timeout of no product":  {head + "[profiles.a.timeouts]\nmagic = '4m'\n", 4, "a product and a time"},
		"timeout without a unit": {head + "[profiles.a.timeouts]\nisp = '4m'\nunlocker = '240'\n", 5, "the timeout of unlocker is"},
		"version":                {head + "api_version = '3'\n", 3, "v3"},
		"version with a path":    {head + "api_version = 'v3/../x'\n", 3, "v3"},
		"zone without a name":    {head + "[[profiles.a.zones]]\nproduct = 'isp'\n", 3, "created with"},
		"zone with two names":    {head + "[[profiles.a.zones]]\nname = 'x'\nPROXY_NAME = 'y'\n", 5, "two names"},
		"zone name":              {head + "[[profiles.a.zones]]\nPRODUCT_NAME = 'a:b'\n", 4, "separates"},
		"zone twice":             {head + "[[profiles.a.zones]]\nname = 'x'\n[[profiles.a.zones]]\nname = 'x'\n", 5, "every zone once"},
		"product":                {head + "[[profiles.a.zones]]\nname = 'x'\nproduct = 'magic'\n", 5, "residential"},
		"password in clear":      {head + "[[profiles.a.zones]]\nname = 'x'\npassword = 'hunter2'\n", 5, "env:NAME"},
		"free of charge":         {head + "[[profiles.a.zones]]\nname = 'x'\nrate_per_1000 = 0\n", 5, "more than 0, or no line"},
		"rate below zero":        {head + "[[profiles.a.zones]]\nname = 'x'\nrate_per_gb = -1.5\n", 5, "more than 0, or no line"},
		"rate without an end":    {head + "[[profiles.a.zones]]\nname = 'x'\nrate_per_gb = inf\n", 5, "more than 0, or no line"},
		"rate that is no number": {head + "[[profiles.a.zones]]\nname = 'x'\nrate_per_1000 = nan\n", 5, "more than 0, or no line"},
		"rate in quotes":         {head + "[[profiles.a.zones]]\nname = 'x'\nrate_per_1000 = '1.5'\n", 5, ""},
		"default":                {"default_profile = 'b'\n" + head, 1, "one of a, local"},
		"reserved name":          {"[profiles.local]\nbase_url = 'https://a.example'\n", 1, "emulator"},
		"odd name":               {"[profiles.'a b']\nbase_url = 'https://a.example'\n", 1, "cannot name a profile"},
		"inline":                 {"profiles = {a = {base_url = 'x'}}\n", 1, "absolute"},
		"not TOML":               {head + "key: x\n", 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.text)
			_, err := Load(path)
			ce, ok := errors.AsType[*FileError](err)
			if !ok {
				t.Fatalf("error %v, want a *FileError", err)
			}
			if ce.File != path || ce.Line != c.line || ce.Column < 1 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want line %d and %q", err, c.line, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a secret: %v", err)
			}
			if err := AddProfile(t.Context(), path, model.Profile{Name: "new", BaseURL: "https://n.example", Verify: true}); err == nil {
				t.Error("a profile was added to a file with a fault")
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != c.text {
				t.Errorf("the file became %q (%v)", b, err)
			}
		})
	}
}

func TestNotesSayWhatIsNotSafe(t *testing.T) {
	for name, c := range map[string]struct {
		p    model.Profile
		want int
	}{
		"https":           {model.Profile{BaseURL: "https://a.example", Verify: true}, 0},
		"http":            {model.Profile{BaseURL: "http://a.example", Verify: true}, 1},
		"http, localhost": {model.Profile{BaseURL: "http://localhost:1", Verify: true}, 0},
		"http, loopback":  {model.Profile{BaseURL: "http://[::1]:1", Verify: true}, 0},
		"no checks":       {model.Profile{BaseURL: "http://a.example"}, 2},
	} {
		if got := c.p.Notes(); len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAddProfileKeepsTheRestOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", "config.toml")
	first := acmeProfile(filepath.Dir(path))
	noerr.Must(t, AddProfile(t.Context(), path, first))
	if f := load(t, path); f.Default() != "acme" {
		t.Errorf("default %q", f.Default())
	}
	if fi, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	before, err := os.ReadFile(path)
	noerr.Must(t, err)
	commented := "# mine\n" + string(before) + "# the end, no line break"
	noerr.Must(t, os.WriteFile(path, []byte(commented), 0o600))
	second := model.Profile{
		Name: "odd-1", ProxyHost: "::1", ProxyPort: 44445, UsernamePrefix: "p\"q", Account: "hl_x", Dialect: "brightdata", Can: dialect.Abilities("brightdata"),
		APIVersion: "v4", Key: "a \"key\"\\", Zones: []model.Zone{{Name: "z\\1", IdentityVerified: true, Product: model.ProductISP, Password: "cmd:op \"read x\""}},
	}
	noerr.Must(t, AddProfile(t.Context(), path, second))
	after, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(after), commented+"\n") {
		t.Errorf("the file became (%v)\n%s", err, after)
	}
	f := load(t, path)
	for _, want := range []model.Profile{first, second} {
		if got, err := f.Profile(want.Name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v\nwant\n%+v", got, err, want)
		}
	}
	if f.Default() != "acme" {
		t.Errorf("the default became %q", f.Default())
	}
	if err := AddProfile(t.Context(), path, second); !errors.Is(err, ErrProfileExists) {
		t.Errorf("adding it twice: %v", err)
	}
}

func TestAProfileIsAddedOnALineOfItsOwn(t *testing.T) {
	first, err := checked(model.Profile{Name: "first", BaseURL: "https://a.example", Verify: true})
	noerr.Must(t, err)
	second, err := checked(model.Profile{Name: "second", BaseURL: "https://b.example", Verify: true})
	noerr.Must(t, err)
	old := strings.TrimRight(string(render(first)), "\n")
	for _, end := range []string{"", "\n", "\n\n"} {
		path := filepath.Join(t.TempDir(), "config.toml")
		noerr.Must(t, os.WriteFile(path, []byte(old+end), 0o600))
		noerr.Must(t, AddProfile(t.Context(), path, second))
		want := old + cmp.Or(end, "\n") + string(render(second))
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("after %q:\n%s\nwant\n%s (%v)", end, got, want, err)
		}
	}
}

func TestAddProfileRefusesWhatLoadWould(t *testing.T) {
	for name, p := range map[string]model.Profile{
		"no address":  {Name: "a"},
		"no name":     {BaseURL: "https://a.example"},
		"the local":   {Name: "local", BaseURL: "https://a.example"},
		"a secret":    {Name: "a", BaseURL: "https://a.example", Zones: []model.Zone{{Name: "z", Password: "hunter2"}}},
		"a bad zone":  {Name: "a", BaseURL: "https://a.example", Zones: []model.Zone{{Name: "z z"}}},
		"a zone pair": {Name: "a", BaseURL: "https://a.example", Zones: []model.Zone{{Name: "z"}, {Name: "z"}}},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := AddProfile(t.Context(), path, p); !errors.Is(err, ErrProfile) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was made", name)
		}
	}
	inline := write(t, "profiles = {a = {base_url = 'https://a.example'}}\n")
	if err := AddProfile(t.Context(), inline, model.Profile{Name: "b", BaseURL: "https://b.example", Verify: true}); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("a form that cannot be appended to: %v", err)
	}
}

func env(m map[string]string) func(string) string { return func(n string) string { return m[n] } }

func TestOverridesTakePrecedenceOverTheFile(t *testing.T) {
	base := acmeProfile(t.TempDir())
	fromEnv, err := EnvOverride(env(map[string]string{
		"ZONEDECK_BASE_URL": "https://env.example", "ZONEDECK_PROXY_PORT": "44445", "ZONEDECK_KEY": "env-key", "ZONEDECK_VERIFY": "false",
	}))
	noerr.Must(t, err)
	flags := Override{"base_url": "https://flag.example/x/"}
	got, err := flags.Or(fromEnv).On(base)
	noerr.Must(t, err)
	want := base
	want.BaseURL, want.ProxyPort, want.Key, want.Verify, want.Redirected = "https://flag.example/x", 44445, "env-key", false, model.Redirected{API: true, Logins: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if got, err := (Override{}).On(base); err != nil || !reflect.DeepEqual(got, base) {
		t.Errorf("an empty override: %+v, %v", got, err)
	}
	for _, o := range []Override{{"base_url": "x"}, {"proxy_host": "a:1"}, {"account": "x"}, {"dialect": "x"}, {"api_version": "x"}, {"username_prefix": "a-b"}, {"proxy_port": "-1"}} {
		if _, err := o.On(base); !errors.Is(err, ErrProfile) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for name, value := range map[string]string{"ZONEDECK_PROXY_PORT": "0", "ZONEDECK_VERIFY": "perhaps"} {
		if _, err := EnvOverride(env(map[string]string{name: value})); !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func TestEveryVariableIsRead(t *testing.T) {
	values := map[string]string{"ZONEDECK_PROXY_PORT": "1", "ZONEDECK_VERIFY": "true"}
	for _, v := range Variables() {
		value := values[v[0]]
		if value == "" {
			value = "x"
		}
		if o, err := EnvOverride(env(map[string]string{v[0]: value})); err != nil || len(o) == 0 {
			t.Errorf("%s changes nothing (%v)", v[0], err)
		}
	}
	for _, v := range Variables() {
		if !slices.ContainsFunc(settings(&model.Profile{}), func(s setting) bool { return s.name == v[1] }) {
			t.Errorf("%s gives %s, which no profile has", v[0], v[1])
		}
	}
}

func TestAnOverriddenAddressGetsNothingOfTheDemoAccount(t *testing.T) {
	local := model.Profile{
		Name: model.LocalName, BaseURL: "http://127.0.0.1:1", ProxyHost: "127.0.0.1", ProxyPort: 2, UsernamePrefix: "brd",
		Account: "hl_demo01", Key: "batch-user", Verify: true, Local: true, Zones: []model.Zone{{Name: "z", Password: "demo:z"}},
	}
	got, err := Override{"base_url": "https://api.example.com"}.On(local)
	want := model.Profile{Name: "flags", BaseURL: "https://api.example.com", ProxyPort: 33335, APIVersion: "v3", Can: dialect.Abilities(""), Verify: true, Redirected: model.Redirected{API: true}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := (Override{"key": "other"}).On(local); err != nil || !got.Local || got.Key != "other" {
		t.Errorf("another demo key: %+v, %v", got, err)
	}
}

func FuzzConfigNeverPanicsAndStaysWhenBroken(f *testing.F) {
	f.Add([]byte(acme))
	for _, s := range []string{"", "profiles={a={base_url='http://x'}}", "[profiles]", "[profiles.a]\n[profiles.a.zones]", "[[profiles.a.zones]]\nname='x'", "default_profile='local'", "default_profile = '''\nlocal'''", "[profiles.\"\"]\nbase_url='http://x'"} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, "config.toml")
		noerr.Must(t, os.WriteFile(path, b, 0o600))
		before, err := Load(path)
		if err != nil {
			if _, ok := errors.AsType[*FileError](err); !ok {
				t.Errorf("%q: error %v is no *FileError", b, err)
			}
		}
		added := AddProfile(t.Context(), path, model.Profile{Name: "fuzzed-new", BaseURL: "https://n.example", Verify: true})
		now, readErr := os.ReadFile(path)
		noerr.Must(t, readErr)
		if added != nil {
			if string(now) != string(b) {
				t.Errorf("%q became %q after %v", b, now, added)
			}
			return
		}
		if err != nil {
			t.Errorf("%q has a fault (%v) and was written to", b, err)
		}
		after, err := Load(path)
		if err != nil || !strings.Contains(string(now), strings.TrimSuffix(string(b), "\n")) && before.Default() == after.Default() {
			t.Errorf("%q became %q (%v)", b, now, err)
		}
		for _, name := range before.Names() {
			was, _ := before.Profile(name)
			if is, err := after.Profile(name); err != nil || !reflect.DeepEqual(is, was) {
				t.Errorf("%q: profile %s became %+v (%v)", b, name, is, err)
			}
		}
	})
}

func TestTheEdgesOfAProfilesName(t *testing.T) {
	for name, fine := range map[string]bool{
		"a": true, "z": true, "A": true, "Z": true, "0": true, "9": true, "_-": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "`": false, "{": false, "@": false, "[": false, "/": false, ":": false, "ä": false,
	} {
		if problem := checkName(&model.Profile{Name: name}); (problem == nil) != fine {
			t.Errorf("%q: %v", name, problem)
		}
	}
}

func TestACAFlagIsMadeAbsolute(t *testing.T) {
	want, err := filepath.Abs("ca.pem")
	noerr.Must(t, err)
	got, err := Override{"ca": "ca.pem"}.On(acmeProfile(t.TempDir()))
	if err != nil || got.CA != want {
		t.Errorf("CA %q, %v; want %q", got.CA, err, want)
	}
}

// The digits that choose a profile stay when one is added.
func TestProfilesAreInTheOrderOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for _, name := range []string{"prod", "acme", "zoo", "beta"} {
		noerr.Must(t, AddProfile(t.Context(), path, model.Profile{Name: name, BaseURL: "https://api.example.com", Verify: true, Zones: []model.Zone{{Name: "z"}}}))
	}
	edited := profileOf(t, path, "prod")
	edited.BaseURL, edited.Zones = "https://other.example.com", nil
	noerr.Must(t, noerr.From(EditProfile(t.Context(), path, profileOf(t, path, "prod"), edited)))
	f, err := Load(path)
	if got := f.InOrder(); err != nil || !slices.Equal(got, []string{"prod", "acme", "zoo", "beta"}) {
		t.Errorf("%v, %v", got, err)
	}
	f, err = Parse("config.toml", []byte("profiles.b.base_url = \"https://b.test\"\nprofiles.a = {base_url = \"https://a.test\"}\n"))
	if got := f.InOrder(); err != nil || !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("in another form: %v, %v", got, err)
	}
}
