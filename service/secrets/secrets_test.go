package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
)

const (
	envDir  = "SECRETS_TEST_DIR"  // the folder of a migration in another process
	envStep = "SECRETS_TEST_STEP" // after how many steps it kills itself
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		left := 0
		fmt.Sscan(os.Getenv(envStep), &left) // 0 kills at once
		f, err := files(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		f.step = func(string) {
			if left--; left < 0 {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				if err != nil {
					panic(err)
				}
				select {}
			}
		}
		if _, err := Migrate(context.Background(), f, "file", nil, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// ring is a keyring in a file, so that several processes share it.
type ring struct {
	path string
	mu   *sync.Mutex
}

func (r ring) with(change func(map[string]string) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries := map[string]string{}
	b, err := os.ReadFile(r.path)
	if err == nil {
		err = json.Unmarshal(b, &entries)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before := maps.Clone(entries)
	if err := change(entries); err != nil || maps.Equal(before, entries) {
		return err
	}
	b, err = json.Marshal(entries)
	if err != nil {
		return err
	}
	return textfile.Write(r.path, b)
}

func (r ring) Get(service, name string) (value string, err error) {
	err = r.with(func(e map[string]string) error {
		v, ok := e[service+"/"+name]
		if value = v; !ok {
			return keystore.ErrSecretMissing
		}
		return nil
	})
	return value, err
}

func (r ring) Set(service, name, value string) error {
	return r.with(func(e map[string]string) error { e[service+"/"+name] = value; return nil })
}

func (r ring) Delete(service, name string) error {
	return r.with(func(e map[string]string) error {
		if _, ok := e[service+"/"+name]; !ok {
			return keystore.ErrSecretMissing
		}
		delete(e, service+"/"+name)
		return nil
	})
}

// guard is a Guard in a function.
type guard func(ref string) error

func (g guard) Busy(ref string) error { return g(ref) }

func files(dir string) (Files, error) {
	inventory, err := keystore.OpenInventory(filepath.Join(dir, "keys.toml"))
	return Files{
		Config: filepath.Join(dir, "config.toml"), Journal: filepath.Join(dir, "migration.json"), Keys: inventory,
		Store: keystore.NewResolver(keystore.ResolverOptions{
			SecretsDir: filepath.Join(dir, "secrets"), Keyring: ring{filepath.Join(dir, "ring.json"), new(sync.Mutex)},
			Getenv: func(name string) string { return map[string]string{"ETL": "value-of-the-variable"}[name] },
		}),
		Guard: guard(func(string) error { return nil }),
		Jobs:  asked{ring{filepath.Join(dir, "jobs.json"), new(sync.Mutex)}},
	}, err
}

const configText = `[profiles.acme]
base_url = "https://a.example" # ours
[[profiles.acme.zones]]
name = "z1"
password = "keyring:zonedeck/acme-zone-z1" # in the keyring
[[profiles.acme.zones]]
name = "z2"
password = "file:z2"
[profiles.acme.variables]
shop = "keyring:shop/token"
market = "de"
[profiles.beta]
base_url = "https://b.example"
[[profiles.beta.zones]]
name = "z1"
password = "keyring:zonedeck/acme-zone-z1"
`

const inventory = `version = 1
[[keys]]
name = "etl"
secret = "keyring:zonedeck/acme-etl"
[[keys]]
name = "other"
secret = "env:ETL"
`

// values are what has to be behind the references, whatever happens.
var values = map[string]string{
	"keyring:zonedeck/acme-zone-z1": "password-of-z1", "keyring:shop/token": "token-of-the-shop", "keyring:zonedeck/acme-etl": "value-of-etl", "file:z2": "password-of-z2",
	"keyring:hooks/auth": "header-of-hooks", "keyring:hooks/old": "header-of-old-hooks",
}

// moved are the references after a migration to files.
var moved = map[string]string{
	"keyring:zonedeck/acme-zone-z1": "file:acme-zone-z1", "keyring:shop/token": "file:shop-token", "keyring:zonedeck/acme-etl": "file:acme-etl",
	"keyring:hooks/auth": "file:hooks-auth", "keyring:hooks/old": "file:hooks-old",
}

func prepared(t *testing.T) (Files, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"config.toml": configText, "keys.toml": inventory, "jobs.json": askedFor} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for ref, value := range values {
		if err := f.Store.Store(t.Context(), ref, keystore.NewSecret(value)); err != nil {
			t.Fatal(err)
		}
	}
	return f, dir
}

// whole fails unless every reference of the files gives its secret.
func whole(t *testing.T, f Files) {
	t.Helper()
	if err := f.Keys.Reload(); err != nil {
		t.Fatal(err)
	}
	uses, err := Uses(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range uses {
		if u.Ref == "env:ETL" {
			continue
		}
		want := values[u.Ref]
		for from, to := range moved {
			if u.Ref == to {
				want = values[from]
			}
		}
		if got, err := f.Store.Resolve(t.Context(), u.Ref); err != nil || got.Reveal() != want {
			t.Errorf("%s of %v gives another value: %v", u.Ref, u.Uses, err)
		}
	}
}

// settled fails unless everything is in files.
func settled(t *testing.T, f Files) {
	t.Helper()
	whole(t, f)
	text, err := os.ReadFile(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("keyring:zonedeck/acme-zone-z1", "file:acme-zone-z1", "keyring:shop/token", "file:shop-token").Replace(configText)
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if k, _ := f.Keys.Get("etl"); k.Secret != "file:acme-etl" {
		t.Errorf("%+v", k)
	}
	uses, err := f.Jobs.AuthUses(t.Context())
	if err != nil || slices.ContainsFunc(uses, func(u model.AuthUse) bool { return moved[u.Ref] != "" }) {
		t.Errorf("jobs: %v, %v", uses, err)
	}
	for ref := range moved {
		if _, err := f.Store.Resolve(t.Context(), ref); !errors.Is(err, keystore.ErrSecretMissing) {
			t.Errorf("%s is still there: %v", ref, err)
		}
	}
	if _, err := os.Stat(f.Journal); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
}

func TestAMigrationMovesSecretsAndTheirReferences(t *testing.T) {
	f, _ := prepared(t)
	var told []Move
	moves, err := Migrate(t.Context(), f, "file", nil, func(m Move) { told = append(told, m) })
	if err != nil || len(moves) != 5 || !slices.Equal(moves, told) {
		t.Fatalf("%+v, told %+v, %v", moves, told, err)
	}
	settled(t, f)
	if _, err := Migrate(t.Context(), f, "file", nil, nil); !errors.Is(err, ErrNothing) {
		t.Errorf("a second time: %v", err)
	}
}

func TestAKilledMigrationLosesNothingAndGoesOn(t *testing.T) {
	for step := 0; ; step++ {
		f, dir := prepared(t)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), envDir+"="+dir, fmt.Sprint(envStep, "=", step), "GORACE=atexit_sleep_ms=0") // else a child under the race detector waits a second before it ends
		out, err := cmd.CombinedOutput()
		exit, killed := errors.AsType[*exec.ExitError](err)
		if killed && exit.ExitCode() == 1 || err != nil && !killed {
			t.Fatalf("%v: %s", err, out)
		}
		whole(t, f)
		if _, err := Migrate(t.Context(), f, "keyring", []string{"ignored"}, nil); killed && err != nil && !errors.Is(err, ErrNothing) && !strings.HasPrefix(err.Error(), "nothing refers to") {
			t.Errorf("after %d steps: %v", step, err)
		}
		settled(t, f)
		if !killed {
			if step < 5*7+2 {
				t.Errorf("only %d steps", step)
			}
			return
		}
	}
}

func TestWhatCannotBeMovedStaysAsItIs(t *testing.T) {
	for name, breaks := range map[string]func(t *testing.T, f *Files){
		"another secret is there": func(t *testing.T, f *Files) {
			if err := f.Store.Store(t.Context(), "file:acme-etl", keystore.NewSecret("something-else")); err != nil {
				t.Fatal(err)
			}
		},
		"a rotation holds one": func(_ *testing.T, f *Files) {
			f.Guard = guard(func(ref string) error {
				return map[string]error{"keyring:zonedeck/acme-etl": errors.New("it is rotated")}[ref]
			})
		},
		"one is missing": func(t *testing.T, f *Files) {
			if err := f.Store.Remove(t.Context(), "keyring:shop/token"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := prepared(t)
			breaks(t, &f)
			if _, err := Migrate(t.Context(), f, "file", nil, nil); err == nil || errors.Is(err, ErrNothing) {
				t.Errorf("%v", err)
			}
			if text, _ := os.ReadFile(f.Config); string(text) != configText {
				t.Errorf("%s", text)
			}
			if _, err := os.Stat(f.Journal); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a journal: %v", err)
			}
		})
	}
	f, _ := prepared(t)
	for _, refs := range [][]string{{"env:NOBODY"}, nil} {
		if _, err := Migrate(t.Context(), f, map[bool]string{true: "env", false: "file"}[refs == nil], refs, nil); err == nil {
			t.Errorf("%v", refs)
		}
	}
}

// What is put behind the old reference while it is moved is not deleted with it.
func TestWhatIsStoredDuringAMigrationIsNotLost(t *testing.T) {
	const ref, to = "keyring:zonedeck/acme-etl", "file:acme-etl"
	newer := keystore.NewSecret("a-newer-value-of-etl")
	for name, meanwhile := range map[string]func(f *Files) error{
		"another value": func(f *Files) error { return f.Store.Store(context.Background(), ref, newer) },
		"a rotation": func(f *Files) error {
			f.Guard = guard(func(string) error { return errors.New("a rotation holds it") })
			return nil
		},
	} {
		f, _ := prepared(t)
		now := &f
		f.Guard = guard(func(string) error { return nil })
		begun := f
		begun.Guard = guard(func(ref string) error { return now.Guard.Busy(ref) })
		begun.step = func(step string) {
			if step == "switched the inventory" {
				if err := meanwhile(now); err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := Migrate(t.Context(), begun, "file", []string{ref}, nil); err == nil {
			t.Errorf("%s: it says nothing", name)
		}
		want := "value-of-etl"
		if name == "another value" {
			want = newer.Reveal()
		}
		if got, err := f.Store.Resolve(t.Context(), ref); err != nil || got.Reveal() != want {
			t.Errorf("%s: the old reference gives %v", name, err)
		}
		if name == "another value" { // neither is written over by the same again
			if _, err := Migrate(t.Context(), f, "file", nil, nil); err == nil || !strings.Contains(err.Error(), "different values") {
				t.Errorf("again: %v", err)
			}
			if err := f.Store.Store(t.Context(), to, newer); err != nil {
				t.Fatal(err)
			}
		}
		f.Guard = guard(func(string) error { return nil })
		if _, err := Migrate(t.Context(), f, "file", nil, nil); err != nil {
			t.Errorf("%s, in the end: %v", name, err)
		}
		if got, err := f.Store.Resolve(t.Context(), to); err != nil || got.Reveal() != want {
			t.Errorf("%s: the new reference gives %v", name, err)
		}
		if _, err := f.Store.Resolve(t.Context(), ref); !errors.Is(err, keystore.ErrSecretMissing) {
			t.Errorf("%s: the old one is still there: %v", name, err)
		}
	}
}

func TestAVariableIsMovedByName(t *testing.T) {
	f, _ := prepared(t)
	moves, err := Migrate(t.Context(), f, "keyring", []string{"env:ETL"}, nil)
	if err != nil || len(moves) != 1 || moves[0].Deletes {
		t.Fatalf("%+v, %v", moves, err)
	}
	k, _ := f.Keys.Get("other")
	if got, err := f.Store.Resolve(t.Context(), k.Secret); err != nil || k.Secret != "keyring:zonedeck/ETL" || got.Reveal() != "value-of-the-variable" {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestASetValueIsReadBackAndRecorded(t *testing.T) {
	f, _ := prepared(t)
	value := keystore.NewSecret("another-value-of-etl")
	if err := Set(t.Context(), f, "keyring:zonedeck/acme-etl", value); err != nil {
		t.Fatal(err)
	}
	k, _ := f.Keys.Get("etl")
	if got, err := f.Store.Resolve(t.Context(), k.Secret); err != nil || !got.Equal(value) || k.Fingerprint != value.Fingerprint() {
		t.Errorf("%+v, %v", k, err)
	}
	headed := keystore.NewSecret("Bearer another-value-of-etl")
	if err := Set(t.Context(), f, "keyring:zonedeck/acme-etl", headed); !errors.Is(err, keystore.ErrKeyValue) {
		t.Errorf("a header behind a key's reference: %v", err)
	}
	if err := Set(t.Context(), f, "keyring:zonedeck/no-key", headed); err != nil { // such as the header of a delivery
		t.Error(err)
	}
	if err := Set(t.Context(), f, "env:X", value); !errors.Is(err, keystore.ErrNotStorable) {
		t.Errorf("%v", err)
	}
}

func TestAJournalOfSomethingElseIsLeftAlone(t *testing.T) {
	f, _ := prepared(t)
	for _, text := range []string{"nonsense", `{"version":2}`, `{"version":1,"moves":[{"from":"keyring:a/b","to":"env:X"}]}`, `{"version":1,"moves":[{"from":"x","to":"file:x"}]}`} {
		if err := os.WriteFile(f.Journal, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Migrate(t.Context(), f, "file", nil, nil); err == nil || !strings.Contains(err.Error(), "does not hold a migration") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if text, _ := os.ReadFile(f.Config); string(text) != configText {
		t.Errorf("%s", text)
	}
}

func TestReferencesInAnotherFormAreNotHalfSwitched(t *testing.T) {
	f, _ := prepared(t)
	const text = "profiles = {acme = {base_url = \"https://a.example\", zones = [{name = \"z1\", password = \"keyring:zonedeck/acme-zone-z1\"}]}}\n"
	if err := os.WriteFile(f.Config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Migrate(t.Context(), f, "file", []string{"keyring:zonedeck/acme-zone-z1"}, nil); err == nil {
		t.Error("it was moved")
	}
	if got, _ := os.ReadFile(f.Config); string(got) != text {
		t.Errorf("%s", got)
	}
	if _, err := config.Load(f.Config); err != nil {
		t.Error(err)
	}
	if got, err := f.Store.Resolve(t.Context(), "keyring:zonedeck/acme-zone-z1"); err != nil || got.Reveal() != "password-of-z1" {
		t.Errorf("the old one: %v", err)
	}
}

func TestOnlyWhatNothingNeedsIsRemoved(t *testing.T) {
	f, _ := prepared(t)
	const left = "file:rotation-1-old"
	if err := f.Store.Store(t.Context(), left, keystore.NewSecret("what-a-rotation-left")); err != nil {
		t.Fatal(err)
	}
	f.Guard = guard(func(ref string) error { return map[string]error{left: errors.New("a rotation holds it")}[ref] })
	for ref, want := range map[string]string{
		left:                            "file:rotation-1-old stays: a rotation holds it",
		"keyring:zonedeck/acme-zone-z1": "keyring:zonedeck/acme-zone-z1 stays: it is used by profile acme, zone z1; profile beta, zone z1",
		"keyring:shop/token":            "keyring:shop/token stays: it is used by profile acme, variable shop",
	} {
		if err := Remove(t.Context(), f, ref); err == nil || err.Error() != want {
			t.Errorf("%s: %v", ref, err)
		}
	}
	whole(t, f)
	f.Guard = guard(func(string) error { return nil })
	if err := Remove(t.Context(), f, left); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), f, left); !errors.Is(err, keystore.ErrSecretMissing) {
		t.Errorf("a second time: %v", err)
	}
	whole(t, f)
}
