package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/journal"
	"zonedeck/service/local"
	"zonedeck/service/password"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options are those of a run with an empty home and env for its environment.
type options struct {
	home    string
	env     map[string]string
	now     func() time.Time
	profile string // "": the environment's, else the embedded emulator's
	config  string // the file, "" for that of the home
	caller  Caller
	journal bool
}

func newOptions(t *testing.T, env map[string]string) options {
	t.Helper()
	return options{home: t.TempDir(), env: env, now: time.Now}
}

func (o options) Getenv(name string) string {
	if kind, ok := strings.CutPrefix(name, "XDG_"); ok {
		return filepath.Join(o.home, strings.ToLower(kind))
	}
	if name == "HOME" {
		return o.home
	}
	return o.env[name]
}

// rig is the use case with everything below it.
type rig struct {
	*Keys
	Inventory *keystore.Inventory
	Resolver  *keystore.Resolver
	Paths     config.Paths
	inUse     *config.InUse
	fetcher   *fetch.Fetcher
	calls     calls
	passwords *password.Changer
	journal   *journal.Journal
	emulator  *local.Emulator
	now       func() time.Time
}

// calls are those of a rotation.
type calls struct {
	*fetch.Fetcher
	wire *exchange.Wire
}

func (c calls) KeyLevels(ctx context.Context, p model.Profile, value keystore.Secret) ([]model.Level, error) {
	return account.Config{Wire: c.wire, Now: time.Now}.KeyLevels(ctx, p, value)
}

func (r *rig) Now() time.Time {
	if r.emulator == nil {
		return r.now()
	}
	return r.emulator.Now()
}

func (r *rig) Machine() time.Time { return r.now() }

type silent struct{}

func (silent) Say(string, ...any) {}

type demoEmulator struct{ *local.Emulator }

func (demoEmulator) Users(key string) []string { return local.KeyUsers(key) }
func (demoEmulator) Time() string              { return "ahead of the machine's" }

// open begins a run. It ends with close.
func open(t *testing.T, o options) *rig {
	t.Helper()
	r := &rig{Paths: config.FindPaths(o.Getenv), now: o.now}
	path := cmp.Or(o.config, r.Paths.ConfigFile())
	file, err := config.Load(path)
	noerr.Must(t, err)
	r.inUse = config.NewInUse(path, file)
	log := slog.New(slog.DiscardHandler)
	p := model.Profile{Name: model.LocalName, Local: true}
	switch name := cmp.Or(o.profile, o.env["ZONEDECK_PROFILE"], file.Default()); {
	case o.env["ZONEDECK_BASE_URL"] != "":
		p = noerr.Try(config.FromFlags(config.Override{"base_url": o.env["ZONEDECK_BASE_URL"]})).Must(t)
	case name != "" && name != model.LocalName:
		p = noerr.Try(file.Profile(name)).Must(t)
	}
	c := Config{Profiles: r.inUse, Env: o, Clock: r, Voice: silent{}, Caller: o.caller, Paths: r.Paths, Log: log}
	demo := func(string) (keystore.Secret, bool) { return keystore.Secret{}, false }
	if p.Local {
		r.emulator = local.New(r.Paths, o.Getenv, o.now, log)
		c.Emulator, demo = demoEmulator{r.emulator}, r.emulator.Secret
	} else if o.env[config.EnvKey] != "" {
		p.Key = config.EnvKey
	}
	r.inUse.Choose(p)
	noerr.Must(t, r.Paths.Ensure())
	r.Resolver = keystore.NewResolver(keystore.ResolverOptions{Getenv: o.Getenv, Demo: demo, SecretsDir: r.Paths.SecretsDir()})
	c.Resolver, c.Values = r.Resolver, r.Resolver
	r.Keys = New(t.Context(), c)
	r.Inventory = r.inventory
	noerr.Must(t, r.Inventory.Read())
	if o.journal {
		if r.journal, _, err = journal.Open(t.Context(), r.Paths.JournalFile(), r.Now); err != nil {
			t.Fatal(err)
		}
		r.Connect(r.journal, nil)
	}
	wire := exchange.New(exchange.Config{Now: r.Now, Timer: o.now, Used: r.Events().Sent})
	r.fetcher = fetch.New(fetch.Config{Source: r.Keys, Wire: wire, Bodies: exchange.Bodies{Dir: r.Paths.BodiesDir()}, Now: r.Now, Timer: o.now, Log: log})
	r.calls = calls{r.fetcher, wire}
	r.passwords = password.New(password.Config{Source: r.Keys, Wire: wire, Prover: r.fetcher})
	return r
}

// openTest is a run that ends with the test.
func openTest(t *testing.T, o options) *rig {
	t.Helper()
	r := open(t, o)
	t.Cleanup(func() {
		noerr.Want(t, r.close(t))
	})
	return r
}

func (r *rig) close(t *testing.T) (err error) {
	t.Helper()
	r.Close()
	if r.journal != nil {
		err = r.journal.Close()
	}
	if r.emulator != nil {
		err = errors.Join(err, r.emulator.Close(context.WithoutCancel(t.Context())))
	}
	return err
}

// rotations are those that look into folders.
func (r *rig) rotations(folders ...string) Rotations {
	return r.Rotations(r.calls, r.passwords, Scan(folders))
}

// engine drives rotations that look where the configuration says.
func (r *rig) engine() Rotations { return r.Rotations(r.calls, r.passwords, r.Keys.Inventory()) }

// reload reads the configuration again, as the console does when it has changed.
func (r *rig) reload(t *testing.T) {
	t.Helper()
	file := noerr.Try(r.inUse.Read()).Must(t)
	r.inUse.SetFile(file)
	if p, err := file.Profile(r.inUse.Base().Name); err == nil {
		r.inUse.SetProfile(p)
	}
}

// as makes the run that of another caller.
func (r *rig) as(c Caller) { r.cfg.Caller = c }

// twoServices is a run with profiles of two services, in a folder with files that name the key.
type twoServices struct {
	*rig
	config, folder string
	env            map[string]string
	mu             sync.Mutex
	seen           map[string][]string // the keys that each service was sent
}

// newServices has the profiles aaa, whose key is acme, and bbb, which is in use.
func newServices(t *testing.T) *twoServices {
	t.Helper()
	a := &twoServices{seen: map[string][]string{}}
	serve := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.seen[name] = append(a.seen[name], r.Header.Get("Authorization"))
			page := "ok"
			if r.URL.Path == "/request" { // the proof asks for the test page
				page = `{"country":"DE","asn":{"asnum":1},"geo":{"city":"Ulm"}}`
			}
			_, _ = io.WriteString(w, page)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	a.folder = t.TempDir()
	a.config = filepath.Join(a.folder, "config.toml")
	text := "default_profile = \"bbb\"\n"
	for _, p := range []struct{ name, base, key string }{{"aaa", serve("A"), "acme"}, {"bbb", serve("B"), "other"}} {
		text += fmt.Sprintf("[profiles.%s]\nbase_url = %q\nkey = %q\ndialect = \"brightdata\"\n[[profiles.%[1]s.zones]]\nname = \"unl\"\nproduct = \"unlocker\"\n", p.name, p.base, p.key)
	}
	a.write(t, text)
	a.env = map[string]string{"ACME_KEY": "old-value-0123456789"}
	o := newOptions(t, a.env)
	o.config = a.config
	a.rig = open(t, o)
	t.Cleanup(func() { _ = a.close(t) })
	for _, k := range []model.Key{{Name: "acme", Level: model.LevelUser, Secret: "env:ACME_KEY"}, {Name: "other", Level: model.LevelUser, Secret: "env:OTHER"}} {
		noerr.Must(t, a.Inventory.Add(t.Context(), k))
	}
	return a
}

func (a *twoServices) write(t *testing.T, text string) {
	t.Helper()
	noerr.Must(t, os.WriteFile(a.config, []byte(text), 0o600))
}

func (a *twoServices) edit(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(a.config)
	if err != nil || !strings.Contains(string(b), from) {
		t.Fatalf("%s has no %q: %v", a.config, from, err)
	}
	a.write(t, strings.Replace(string(b), from, to, 1))
}

// profile is one of the configuration.
func (a *twoServices) profile(t *testing.T, name string) model.Profile {
	t.Helper()
	p := noerr.Try(a.inUse.File().Profile(name)).Must(t)
	return p
}

func (a *twoServices) key(t *testing.T, name string) model.Key {
	t.Helper()
	k, ok := a.Key(name)
	if !ok {
		t.Fatalf("there is no key %s", name)
	}
	return k
}

// keyLines are the lines of the timeline about keys, the oldest first.
func keyLines(t *testing.T, r *rig) []string {
	t.Helper()
	lines := noerr.Try(r.journal.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryKey})).Must(t)
	var out []string
	for _, a := range slices.Backward(lines) {
		out = append(out, a.Key+": "+a.Text)
	}
	return out
}
