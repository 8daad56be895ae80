package account_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/ui"
	"zonedeck/ui/account"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/uitest"
)

// blank is a tab with nothing in it, for the palette to open over.
type blank struct{}

func (blank) Init() tea.Cmd           { return nil }
func (blank) Update(tea.Msg) tea.Cmd  { return nil }
func (blank) Render(w, h int) string  { return widget.Block("", w, h) }
func (blank) Title() string           { return "Blank" }
func (blank) Bindings() []kit.Binding { return nil }

// rig is the form over real files.
type rig struct {
	config    string
	inventory *keystore.Inventory
	switched  []string
	adds      int
	fail      error
}

func newRig(t *testing.T, config string, keys ...model.Key) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{config: filepath.Join(dir, "config.toml")}
	if config != "" {
		if err := os.WriteFile(r.config, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if r.inventory, err = keystore.OpenInventory(filepath.Join(dir, "keys.toml")); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if err := r.inventory.Add(context.Background(), k); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// add writes both files, as the wiring does.
func (r *rig) add(ctx context.Context, a account.Account) error {
	r.adds++
	if r.fail != nil {
		return r.fail
	}
	if _, known := r.inventory.Get(a.Key.Name); !known {
		if err := r.inventory.Add(ctx, a.Key); err != nil {
			return err
		}
	}
	return profile.AddProfile(ctx, r.config, a.Profile)
}

func (r *rig) start(t *testing.T, w, h int) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	return uitest.Start(t, ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Sandbox, View: blank{}}},
		Session: kit.Session{ProfileName: "local", Local: true, Ready: true},
		Commands: account.Commands(account.Deps{
			Ctx: t.Context(), Theme: theme, Add: r.add, Profiles: []string{"old", "local"}, Current: "local", Keys: r.inventory.List,
			Switch: func(name string) tea.Cmd {
				return func() tea.Msg { r.switched = append(r.switched, name); return nil }
			},
		}),
	}), w, h)
}

func flow(t *testing.T, r *rig, w, h int, body func(s *uitest.Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := r.start(t, w, h)
		s.Press("ctrl+p")
		s.Type("add account")
		s.Press("enter")
		s.Expect("Add account", "›Profile")
		body(s)
	})
}

// typeAll types a line into each field from the focused one on; "" leaves a field.
func typeAll(s *uitest.Screen, lines ...string) {
	for i, l := range lines {
		if i > 0 {
			s.Press("tab")
		}
		if l != "" {
			s.Press("ctrl+u")
			s.Type(l)
		}
	}
}

const before = `# notes of the operator
default_profile = "old"  # the one in use

[profiles.old]
base_url = "https://old.example.com" # do not touch
`

func TestAddingAnAccountWritesItsFilesAndUsesIt(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		r := newRig(t, before)
		flow(t, r, size[0], size[1], func(s *uitest.Screen) {
			typeAll(s, "acme", "https://api.example.com/", "proxy.example.com", "44445", "brd", "hl_1234abcd", "", "etl-main")
			s.Press("tab", "space", "space", "space", "tab") // OPS
			s.Type("env:ACME_KEY")
			s.Press("tab")
			s.Paste("unlocker1 unlocker env:ZONE_PASSWORD\n\nserp1 serp\nplain")
			s.Press("ctrl+s")
			s.ExpectNot("Add account")
		})
		if len(r.switched) != 1 || r.switched[0] != "acme" {
			t.Errorf("switched to %v, want acme", r.switched)
		}
		text, err := os.ReadFile(r.config)
		if err != nil || !strings.HasPrefix(string(text), before) {
			t.Errorf("the previous content of the file is gone: %v\n%s", err, text)
		}
		f, err := profile.Load(r.config)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Profile("acme")
		want := model.Zone{Name: "unlocker1", Product: model.ProductUnlocker, Password: "env:ZONE_PASSWORD"}
		if err != nil || p.BaseURL != "https://api.example.com" || p.ProxyAddr() != "proxy.example.com:44445" || p.UsernamePrefix != "brd" || p.Account != "hl_1234abcd" ||
			p.Dialect != "documented" || p.Key != "etl-main" || !p.Verify || len(p.Zones) != 3 || p.Zones[0] != want || p.Zones[2].Product != model.ProductUnknown {
			t.Errorf("the profile is %+v", p)
		}
		k, ok := r.inventory.Get("etl-main")
		if !ok || k.Level != model.LevelOps || k.Secret != "env:ACME_KEY" {
			t.Errorf("the key is %+v", k)
		}
	}
}

func TestAMistakeIsShownAtItsFieldAndNothingIsWritten(t *testing.T) {
	tests := map[string]struct {
		lines []string
		want  string
	}{
		"nothing filled in":           {nil, "write a name for the profile"},
		"a profile there is":          {[]string{"old"}, `profile "old" already exists`},
		"the emulator's name":         {[]string{"local"}, `profile "local" already exists`},
		"an address without scheme":   {[]string{"acme", "api.example.com"}, "write an address like https://api.example.com"},
		"a port too high":             {[]string{"acme", "https://a.test", "p.test", "70000"}, "a port is a number from 1 to 65535"},
		"an account id of another":    {[]string{"acme", "https://a.test", "p.test", "", "brd", "xy_1"}, "hl_"},
		"a secret instead of a place": {[]string{"acme", "https://a.test", "p.test", "", "brd", "hl_1", "", "k", "", "d41d8cd98f00b204"}, "not a secret reference"},
		"no place for a new key":      {[]string{"acme", "https://a.test", "p.test", "", "brd", "hl_1", "", "k"}, "write where the key's value is"},
		"a login in the address":      {[]string{"acme", "https://u:hunter2@a.test", "p.test", "", "brd", "hl_1", "", "k", "", "env:K"}, "a login cannot stand in the address"},
		"a profile name with a dot":   {[]string{"ac.me", "https://a.test", "p.test", "", "brd", "hl_1", "", "k", "", "env:K"}, "cannot name a profile"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, before)
			flow(t, r, 120, 40, func(s *uitest.Screen) {
				typeAll(s, tt.lines...)
				s.Press("ctrl+s")
				s.Expect("Add account", tt.want)
			})
			if text, _ := os.ReadFile(r.config); string(text) != before || r.adds != 0 || len(r.inventory.List()) != 0 || len(r.switched) != 0 {
				t.Errorf("%d writes, %d keys, switched %v, the file:\n%s", r.adds, len(r.inventory.List()), r.switched, text)
			}
		})
	}
}

func TestAZoneLineThatIsWrongNamesTheZone(t *testing.T) {
	r := newRig(t, "")
	flow(t, r, 120, 40, func(s *uitest.Screen) {
		typeAll(s, "acme", "https://a.test", "p.test", "", "brd", "hl_1", "", "k", "", "env:K")
		s.Press("tab")
		s.Paste("good unlocker\nbad nonsense")
		s.Press("ctrl+s")
		s.Expect(`✗ zone bad: product "nonsense"`)
		if r.adds != 0 {
			t.Error("it was written")
		}
	})
}

func TestPlainHTTPToAnotherMachineGetsAWarning(t *testing.T) {
	for address, warned := range map[string]bool{
		"http://api.example.com": true, "http://10.0.0.7:8080": true,
		"https://api.example.com": false, "http://127.0.0.1:8080": false, "http://localhost:8080": false, "http://[::1]:8080": false, "http://": false,
	} {
		flow(t, newRig(t, ""), 120, 40, func(s *uitest.Screen) {
			typeAll(s, "acme", address, "")
			if got := strings.Contains(s.Screen(), "the key travels in clear"); got != warned {
				t.Errorf("%s: warned %v, want %v\n%s", address, got, warned, s.Screen())
			}
		})
	}
}

func TestAKeyOfTheInventoryIsUsedAsRecorded(t *testing.T) {
	have := model.Key{Name: "etl-main", Level: model.LevelUser, Secret: "keyring:acme/etl"}
	fill := []string{"acme", "https://a.test", "p.test", "", "brd", "hl_1", "", "etl-main"}
	tests := map[string]struct {
		level  int // presses of space on the level
		secret string
		want   string // what is refused, or empty
	}{
		"left as it is":  {},
		"the same place": {secret: "keyring:acme/etl"},
		"the same level": {level: 5},
		"another place":  {secret: "env:OTHER", want: "the inventory already has a key of that name"},
		"another level":  {level: 1, want: "the inventory says USER for this key"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", have)
			flow(t, r, 120, 40, func(s *uitest.Screen) {
				typeAll(s, fill...)
				s.Expect("In the inventory already, USER, keyring:acme/etl")
				s.Press("tab")
				for range tt.level {
					s.Press("space")
				}
				typeAll(s, "", tt.secret)
				s.Press("ctrl+s")
				if tt.want != "" {
					s.Expect("Add account", tt.want)
				} else {
					s.ExpectNot("Add account")
				}
			})
			if wrote := r.adds == 1; wrote != (tt.want == "") {
				t.Errorf("%d writes", r.adds)
			}
			if k, _ := r.inventory.Get("etl-main"); k.Secret != have.Secret || k.Level != have.Level {
				t.Errorf("the recorded key became %+v", k)
			}
		})
	}
}

func TestAFileThatCannotBeWrittenKeepsTheForm(t *testing.T) {
	r := newRig(t, "")
	r.fail = errors.New("adding profile \"acme\": permission denied")
	flow(t, r, 80, 24, func(s *uitest.Screen) {
		typeAll(s, "acme", "https://a.test", "p.test", "", "brd", "hl_1", "", "k", "", "env:K")
		s.Press("ctrl+s")
		s.Expect("Add account", "✗ adding profile", "permission denied", "acme")
		r.fail = nil
		s.Press("ctrl+s")
		s.ExpectNot("Add account")
	})
	if r.adds != 2 || len(r.switched) != 1 {
		t.Errorf("%d writes, switched %v", r.adds, r.switched)
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
