package profiles_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/journal"
	"zonedeck/service/keys"
	service "zonedeck/service/profiles"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/profiles"
	"zonedeck/ui/uitest"
)

// blank is a tab with nothing in it, for the palette to open over.
type blank struct{}

func (blank) Init() tea.Cmd           { return nil }
func (blank) Update(tea.Msg) tea.Cmd  { return nil }
func (blank) Render(w, h int) string  { return widget.Block("", w, h) }
func (blank) Title() string           { return "Blank" }
func (blank) Bindings() []kit.Binding { return nil }

// rig is the form over real files and a scripted account.
type rig struct {
	*service.Profiles
	inUse     *config.InUse
	dir       string
	config    string
	inventory *keystore.Inventory
	secrets   *keystore.Resolver
	switched  []string
	said      string // by what is switched to
	saves     int
	fail      error
	noRing    error
	hold      chan struct{} // an account answers when it is closed
	stopped   int           // how often it was left without an answer
	asked     []string      // the values of keys that the account was asked by
	found     service.Facts
	refused   error
	reason    string // why an ADMIN key was chosen
	locked    string // why no profile can be changed
}

func newRig(t *testing.T, text string, recorded ...model.Key) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{dir: dir, config: filepath.Join(dir, "config.toml"), noRing: errors.New("there is no session bus")}
	if text != "" {
		if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths := config.Paths{Config: dir, Data: dir, State: dir, Cache: dir}
	r.inUse = config.NewInUse(r.config, r.load())
	r.inUse.Choose(model.Profile{Name: model.LocalName, Local: true})
	r.secrets = keystore.NewResolver(keystore.ResolverOptions{SecretsDir: paths.SecretsDir(), Getenv: r.Getenv})
	ks := keys.New(context.Background(), keys.Config{
		Profiles: r.inUse, Resolver: r.secrets, Values: r.secrets, Env: r, Clock: r, Voice: r, Paths: paths, Log: slog.New(slog.DiscardHandler),
	})
	ks.Connect(history{}, nil)
	r.inventory = ks.Inventory().Inventory
	r.Profiles = service.New(service.Config{InUse: r.inUse, Keys: ks, Secrets: r.secrets, Account: r, Rotations: r, Jobs: r, Paths: paths, Env: r})
	for _, k := range recorded {
		if err := r.inventory.Add(context.Background(), k); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// history keeps nothing.
type history struct{ keys.History }

func (history) PutKeyEvent(context.Context, journal.KeyEvent) error    { return nil }
func (history) PutKeyValues(context.Context, []journal.KeyValue) error { return nil }

func (r *rig) Getenv(name string) string {
	return map[string]string{"ACME_KEY": "value-of-the-variable"}[name]
}
func (r *rig) Now() time.Time     { return time.Now() }
func (r *rig) Machine() time.Time { return time.Now() }
func (r *rig) Say(string, ...any) {}

func (r *rig) HoldingReference(string) string                    { return "" }
func (r *rig) List() ([]keystore.RotationPlan, error)            { return nil, nil }
func (r *rig) Naming(...string) ([]keystore.RotationPlan, error) { return nil, nil }
func (r *rig) AuthUses(context.Context) ([]model.AuthUse, error) { return nil, nil }
func (r *rig) SwitchAuth(context.Context, string, string) error  { return nil }

// Read is what the account answers.
func (r *rig) Read(ctx context.Context, _ model.Profile, key keystore.Secret, _ func(service.Facts)) (service.Facts, error) {
	r.asked = append(r.asked, key.Reveal())
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			r.stopped++
			return service.Facts{}, ctx.Err()
		}
	}
	return r.found, r.refused
}

// load is the configuration as it is now.
func (r *rig) load() config.File {
	f, err := config.Load(r.config)
	if err != nil {
		panic(err)
	}
	return f
}

func (r *rig) Configured() ([]model.Profile, string) {
	r.inUse.SetFile(r.load())
	return r.Profiles.Configured()
}

func (r *rig) Names() []string {
	r.inUse.SetFile(r.load())
	return r.Profiles.Names()
}

func (r *rig) Stores(context.Context) []service.Store {
	return []service.Store{{Scheme: keystore.SchemeKeyring, Err: r.noRing}, {Scheme: keystore.SchemeFile}}
}

func (r *rig) Save(ctx context.Context, report service.Report, a ask.Answers) (model.Profile, error) {
	r.saves++
	r.reason = a.To(ask.Question{Kind: ask.AdminReason}).Text
	if r.fail != nil {
		return report.Profile, r.fail
	}
	return r.Profiles.Save(ctx, report, a)
}

func (r *rig) Switch(name, said string) tea.Cmd {
	return func() tea.Msg { r.switched, r.said = append(r.switched, name), said; return nil }
}

func (r *rig) deps(t *testing.T, theme *kit.Theme) profiles.Deps {
	return profiles.Deps{Ctx: t.Context(), Theme: theme, Profiles: r, Program: r, Refused: r.locked}
}

func (r *rig) start(t *testing.T, w, h int) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	d := r.deps(t, theme)
	return uitest.Start(t, ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs:     []ui.Tab{{ID: kit.Sandbox, View: blank{}}},
		Session:  kit.Session{ProfileName: "local", Local: true, Ready: true},
		Commands: func() []kit.Binding { return profiles.Commands(d) },
		Switch:   func() tea.Cmd { return profiles.Switcher(d) },
	}), w, h)
}

// flow opens a command of the palette.
func flow(t *testing.T, r *rig, w, h int, command string, body func(s *uitest.Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := r.start(t, w, h)
		s.Press("ctrl+p")
		s.Type(command)
		s.Press("enter")
		body(s)
	})
}

// adding opens the form for a new account.
func adding(t *testing.T, r *rig, w, h int, body func(s *uitest.Screen)) {
	t.Helper()
	flow(t, r, w, h, "add profile", func(s *uitest.Screen) {
		s.Expect("Add profile", "›Profile")
		body(s)
	})
}

// fill types into the form from the name on: the dialect is the second option, the key the third
// line.
func fill(s *uitest.Screen, name, address, key string) {
	s.Type(name)
	s.Press("tab", "space", "tab")
	s.Type(address)
	s.Press("tab", "tab")
	if key != "" {
		s.Paste(key)
	}
	s.Press("tab")
}

const typedKey = "0123456789abcdef0123456789abf2a1"

// shown is what the account of the tests has.
func shown() service.Facts {
	ok := func(text string) service.Verdict { return service.Verdict{State: service.OK, Text: text} }
	return service.Facts{
		ID: "hl_x1", Levels: []model.Level{model.LevelUser}, Prefix: "brd", Host: "brd.superproxy.io", Port: 44445, CA: []byte("a certificate"),
		Zones: []service.Zone{
			{Zone: model.Zone{Name: "u1", Product: model.ProductUnlocker, Rate: model.Rate{Per1000: 1.5}}, Password: keystore.NewSecret("the-password-of-u1"), Verdict: ok("active")},
			{Zone: model.Zone{Name: "old", Product: model.ProductISP}, Verdict: service.Verdict{State: service.Warning, Text: "the service calls it disabled"}},
		},
		Key: ok("api.test accepts it (GET /status)"), Account: ok("hl_x1, active"), Listing: ok("2 zones"), Rates: ok("1 of 2 measured by the account's cost"),
		Passwords: ok("1 of 2 zones with a proxy login"), Proxy: ok("brd.superproxy.io:44445 by zone u1"), Certificates: ok("root.crt, valid until 2046-07-18"),
	}
}

const before = `# notes of the operator
default_profile = "old"  # the one in use

[profiles.old]
base_url = "https://old.example.com" # do not touch
`

func TestAKeyAndAnAddressAreEnough(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		r := newRig(t, before)
		r.found = shown()
		adding(t, r, size[0], size[1], func(s *uitest.Screen) {
			fill(s, "acme", "https://api.test/", typedKey)
			s.Expect("••••f2a1, stored when you save")
			s.ExpectNot(typedKey)
			s.Press("ctrl+r")
			if size[1] == 40 {
				s.Expect("✓ api.test accepts it", "✓ hl_x1, active", "✓ brd.superproxy.io:44445 by zone u1", "✓ root.crt, valid until", "u1 unlocker file:acme-zone-u1", "old isp")
				s.Expect("! 2 zones; rates: 1 of 2 measured")
			}
			s.ExpectNot("the-password-of-u1")
			if r.saves != 0 || len(r.inventory.List()) != 0 {
				t.Error("something was written before it was saved")
			}
			if text, _ := os.ReadFile(r.config); string(text) != before {
				t.Errorf("the file was written: %s", text)
			}
			s.Press("ctrl+s")
			s.ExpectNot("Add profile")
		})
		if r.said != "saved acme: requests, jobs and proxy" {
			t.Errorf("said %q", r.said)
		}
		if len(r.switched) != 1 || r.switched[0] != "acme" || len(r.asked) != 1 || r.asked[0] != typedKey {
			t.Errorf("switched to %v, asked by %d keys", r.switched, len(r.asked))
		}
		text, err := os.ReadFile(r.config)
		if err != nil || !strings.HasPrefix(string(text), before) || strings.Contains(string(text), typedKey) {
			t.Errorf("%v\n%s", err, text)
		}
		p, err := r.load().Profile("acme")
		want := model.Zone{Name: "u1", Product: model.ProductUnlocker, Password: "file:acme-zone-u1", Rate: model.Rate{Per1000: 1.5}}
		if err != nil || p.BaseURL != "https://api.test" || p.ProxyAddr() != "brd.superproxy.io:44445" || p.UsernamePrefix != "brd" || p.Account != "hl_x1" ||
			p.Dialect != "brightdata" || p.Key != "acme" || !p.Verify || len(p.Zones) != 2 || p.Zones[0] != want || p.CA != filepath.Join(r.dir, "ca", "acme.pem") {
			t.Errorf("the profile is %+v, %v", p, err)
		}
		k, _ := r.inventory.Get("acme")
		if k.Level != model.LevelUser || k.Secret != "file:acme-key" || k.Last4 != "f2a1" {
			t.Errorf("the key is %+v", k)
		}
		for ref, want := range map[string]string{"file:acme-key": typedKey, "file:acme-zone-u1": "the-password-of-u1"} {
			if got, err := r.secrets.Resolve(t.Context(), ref); err != nil || got.Reveal() != want {
				t.Errorf("%s holds another value: %v", ref, err)
			}
		}
	}
}

func TestNothingIsAskedWithoutAKeyOrADialect(t *testing.T) {
	r := newRig(t, "")
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		s.Type("acme")
		s.Press("ctrl+r")
		s.Expect("the contract shows no call that lists an account")
		s.Press("tab", "space", "ctrl+r")
		s.Expect("type or paste the key")
	})
	if len(r.asked) != 0 {
		t.Errorf("asked %d times", len(r.asked))
	}
}

func TestAKeyThatStaysWhereItIs(t *testing.T) {
	r := newRig(t, "")
	r.found = shown()
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		s.Type("acme")
		s.Press("tab", "space", "tab", "tab", "space") // from age file to environment
		s.Expect("(•) environment", "Reference")
		s.Press("tab")
		s.Type("env:ACME_KEY")
		s.Press("ctrl+r")
		s.Expect("✓ api.test accepts it")
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
	k, _ := r.inventory.Get("acme")
	p, err := r.load().Profile("acme")
	if k.Secret != "env:ACME_KEY" || len(r.asked) != 1 || r.asked[0] != "value-of-the-variable" || err != nil || p.BaseURL != "https://api.brightdata.com" {
		t.Errorf("%+v, %+v, %v", k, p, err)
	}
}

func TestTheStoresSayHowTheyAnswered(t *testing.T) {
	r := newRig(t, "")
	adding(t, r, 120, 40, func(s *uitest.Screen) { s.Expect("(-) keyring", "(•) age file", "! (-) there is no session bus") })
	r.noRing = nil
	adding(t, r, 120, 40, func(s *uitest.Screen) { s.Expect("(•) keyring", "✓ the keyring answers") })
}

func TestAMistakeIsShownAtItsFieldAndNothingIsWritten(t *testing.T) {
	tests := map[string]struct {
		do   func(s *uitest.Screen)
		want string
	}{
		"nothing filled in":         {func(*uitest.Screen) {}, "write a name for the profile"},
		"a profile there is":        {func(s *uitest.Screen) { s.Type("old") }, `profile "old" already exists`},
		"the emulator's name":       {func(s *uitest.Screen) { s.Type("local") }, `profile "local" already exists`},
		"an address without scheme": {func(s *uitest.Screen) { fill(s, "acme", "api.example.com", typedKey) }, "write an address like https://api.example.com"},
		"no key":                    {func(s *uitest.Screen) { fill(s, "acme", "https://a.test", "") }, "type the key, or choose another place"},
		"a login in the address":    {func(s *uitest.Screen) { fill(s, "acme", "https://u:hunter2@a.test", typedKey) }, "a login cannot stand in the address"},
		"a profile name with a dot": {func(s *uitest.Screen) { fill(s, "ac.me", "https://a.test", typedKey) }, "cannot name a profile"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, before)
			adding(t, r, 120, 40, func(s *uitest.Screen) {
				tt.do(s)
				s.Press("ctrl+s", "ctrl+s") // unasked
				s.Expect("Add profile", tt.want)
			})
			if text, _ := os.ReadFile(r.config); string(text) != before || len(r.inventory.List()) != 0 || len(r.switched) != 0 {
				t.Errorf("%d keys, switched %v, the file:\n%s", len(r.inventory.List()), r.switched, text)
			}
			if _, err := os.Stat(filepath.Join(r.dir, "secrets")); err == nil {
				t.Error("a secret was stored")
			}
		})
	}
}

// The key leaves its field as soon as it is typed, and counts as filled in all the same.
func TestATypedKeyIsNotThrownAwayWithoutAsking(t *testing.T) {
	r := newRig(t, before)
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		s.Press("tab", "tab", "tab", "tab")
		s.Paste(typedKey)
		s.Press("tab")
		s.Expect("stored when you save")
		s.Press("esc", "esc")
		s.Expect("Discard what you filled in?")
		for range 4 { // esc is no, and does not ask again while it is pressed on
			s.Press("esc")
			s.Expect("Add profile", "stored when you save")
			s.ExpectNot("Discard")
		}
	})
}

func TestPlainHTTPToAnotherMachineGetsAWarning(t *testing.T) {
	for address, warned := range map[string]bool{
		"http://api.example.com": true, "http://10.0.0.7:8080": true,
		"https://api.example.com": false, "http://127.0.0.1:8080": false, "http://localhost:8080": false, "http://[::1]:8080": false, "http://": false,
	} {
		adding(t, newRig(t, ""), 120, 40, func(s *uitest.Screen) {
			fill(s, "acme", address, "")
			if got := strings.Contains(s.Screen(), "the key travels in clear"); got != warned {
				t.Errorf("%s: warned %v, want %v\n%s", address, got, warned, s.Screen())
			}
		})
	}
}

func TestAFileThatCannotBeWrittenKeepsTheForm(t *testing.T) {
	r := newRig(t, "")
	r.fail = errors.New("adding profile \"acme\": permission denied")
	adding(t, r, 80, 24, func(s *uitest.Screen) {
		fill(s, "acme", "https://a.test", typedKey)
		s.Press("ctrl+s", "ctrl+s")
		s.Expect("Add profile", "✗ adding profile", "permission denied")
		r.fail = nil
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
	if r.saves != 2 || len(r.switched) != 1 || r.said != "saved acme: jobs; no zone yet, ctrl+p edit profile adds one" {
		t.Errorf("%d writes, switched %v, said %q", r.saves, r.switched, r.said)
	}
}

func TestAnAccountIsEdited(t *testing.T) {
	r := newRig(t, before+"account = \"hl_1\" # ours\nkey = \"etl\"\n", model.Key{Name: "etl", Level: model.LevelUser, Secret: "env:ACME_KEY"})
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		s.Expect("Edit profile old", "https://old.example.com", "hl_1", "in the inventory already, USER, env:ACME_KEY")
		s.Press("ctrl+s")
		s.Expect("saved old: jobs; no zone yet, ctrl+p edit profile adds one")
	})
	text, _ := os.ReadFile(r.config)
	if !strings.HasPrefix(string(text), before+"account = \"hl_1\" # ours\n") || len(r.switched) != 0 {
		t.Errorf("switched %v\n%s", r.switched, text)
	}
	if k, _ := r.inventory.Get("etl"); k.Secret != "env:ACME_KEY" || k.Level != model.LevelUser {
		t.Errorf("the key became %+v", k)
	}
}

func TestAnAccountWithoutAKeyIsEditedWithoutOne(t *testing.T) {
	r := newRig(t, before)
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		s.Press("tab")
		s.Press("ctrl+u")
		s.Type("https://new.example.com")
		s.Press("ctrl+s")
		s.Expect("saved old: no requests and no jobs; no key yet")
	})
	if p, err := r.load().Profile("old"); err != nil || p.Key != "" || p.BaseURL != "https://new.example.com" || len(r.inventory.List()) != 0 {
		t.Errorf("%+v, %v, %d keys", p, err, len(r.inventory.List()))
	}
}

func TestWhatGoesIsNamedBeforeAnAccountIsRemoved(t *testing.T) {
	r := newRig(t, before)
	r.found = shown()
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r", "ctrl+s")
	})
	flow(t, r, 120, 40, "remove profile acme", func(s *uitest.Screen) {
		s.Expect("Remove profile acme", "Goes: profile acme (2 zones) from the configuration; the certificate")
		named := func(want string, not ...string) { // the path of the certificate decides where lines end
			t.Helper()
			text := strings.NewReplacer(" ", "", "\n", "", "│", "").Replace(s.Screen())
			if !strings.Contains(text, strings.ReplaceAll(want, " ", "")) || slices.ContainsFunc(not, func(n string) bool { return strings.Contains(text, n) }) {
				t.Errorf("want %q and none of %q:\n%s", want, not, s.Screen())
			}
		}
		named("Stays in its store: the secret behind file:acme-zone-u1 (zonedeck secrets remove", "file:acme-key")
		s.Press("space")
		named("Stays in its store: the secret behind file:acme-zone-u1, file:acme-key (zonedeck secrets remove")
		s.Press("down", "space")
		named("the record of key acme; the secret behind file:acme-zone-u1; the secret behind file:acme-key", "Staysin")
		s.Press("ctrl+s")
		s.Expect("removed: profile acme")
	})
	if text, _ := os.ReadFile(r.config); strings.TrimSpace(string(text)) != strings.TrimSpace(before) {
		t.Errorf("the file is\n%s", text)
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, "secrets", "*.age")); len(left) != 0 || len(r.inventory.List()) != 0 {
		t.Errorf("left: %v, %v", left, r.inventory.List())
	}
}

func TestThePaletteSwitchesProfiles(t *testing.T) {
	r := newRig(t, before)
	synctest.Test(t, func(t *testing.T) {
		s := r.start(t, 80, 24)
		s.Press("ctrl+p")
		s.Type("use profile")
		s.Expect("use profile old", "use profile local")
		s.Press("esc", "ctrl+p")
		s.Type("use profile local")
		s.Press("enter")
		s.Expect("local is the profile in use")
		if len(r.switched) != 0 {
			t.Fatalf("switched to %v", r.switched)
		}
		s.Press("esc", "ctrl+p")
		s.Type("use profile old")
		s.Press("enter")
		if len(r.switched) != 1 || r.switched[0] != "old" {
			t.Errorf("switched to %v, want old", r.switched)
		}
	})
}
