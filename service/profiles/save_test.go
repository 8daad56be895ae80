package profiles

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/servicetest"
)

const keyValue = "value-of-etl-0123456789"

// failing is a store of secrets that fails from a call on.
type failing struct {
	store
	left int // stores that still work
}

var errFull = errors.New("the disk is full")

func (f *failing) Store(ctx context.Context, ref string, s keystore.Secret) error {
	if f.left--; f.left < 0 {
		return errFull
	}
	return f.store.Store(ctx, ref, s)
}

// place is a configuration with its files.
type place struct {
	files
	dir       string
	inventory *keystore.Inventory
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	inventory, err := keystore.OpenInventory(filepath.Join(dir, "keys.toml"))
	noerr.Must(t, err)
	secrets := keystore.NewResolver(keystore.ResolverOptions{SecretsDir: filepath.Join(dir, "secrets")})
	return place{files{filepath.Join(dir, "config.toml"), filepath.Join(dir, "ca"), inventory, secrets}, dir, inventory}
}

// holds lists the files that hold something of an account.
func (p place) holds(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"config.toml", "ca/*.pem", "secrets/*.age"} {
		found, err := filepath.Glob(filepath.Join(p.dir, pattern))
		noerr.Must(t, err)
		for _, f := range found {
			name, _ := filepath.Rel(p.dir, f)
			names = append(names, filepath.ToSlash(name))
		}
	}
	for _, k := range p.inventory.List() {
		names = append(names, "key "+k.Name)
	}
	slices.Sort(names)
	return names
}

func draft() Report {
	return Report{Draft: Draft{
		Profile: model.Profile{
			Name: "acme", BaseURL: "https://a.example", Dialect: "brightdata", Verify: true, Key: "etl",
			Zones: []model.Zone{{Name: "z1", Product: model.ProductISP, Password: "file:acme-zone-z1"}},
		},
		Values: map[string]keystore.Secret{"file:acme-etl": keystore.NewSecret(keyValue), "file:acme-zone-z1": keystore.NewSecret("zone-password-1")},
		CA:     []byte("a certificate"),
	}, Key: model.Key{Name: "etl", Level: model.LevelUser, Secret: "file:acme-etl"}}
}

func TestADraftIsCompletedByItsDialect(t *testing.T) {
	for name, tt := range map[string]struct {
		p                 model.Profile
		base, prefix, key string
	}{
		"nothing given":       {model.Profile{Name: "acme", Dialect: "brightdata"}, "https://api.brightdata.com", "", "acme"},
		"a proxy":             {model.Profile{Name: "acme", Dialect: "brightdata", ProxyHost: "p.example"}, "https://api.brightdata.com", "brd", "acme"},
		"its own word":        {model.Profile{Name: "acme", Dialect: "brightdata", ProxyHost: "p.example", UsernamePrefix: "abc", Key: "etl"}, "https://api.brightdata.com", "abc", "etl"},
		"the contract, alone": {model.Profile{Name: "acme", BaseURL: "https://a.example", ProxyHost: "p.example"}, "https://a.example", "", "acme"},
	} {
		d, err := Draft{Profile: tt.p}.Complete()
		if got := d.Profile; err != nil || got.BaseURL != tt.base || got.UsernamePrefix != tt.prefix || got.Key != tt.key {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

var everything = []string{"ca/acme.pem", "config.toml", "key etl", "secrets/acme-etl.age", "secrets/acme-zone-z1.age"}

func TestAnAccountIsSavedWhole(t *testing.T) {
	at := newPlace(t)
	p, err := save(t.Context(), at.files, draft())
	if err != nil || p.CA != filepath.Join(at.CADir, "acme.pem") {
		t.Fatalf("%+v, %v", p, err)
	}
	if got := at.holds(t); !slices.Equal(got, everything) {
		t.Errorf("%v", got)
	}
	k, _ := at.inventory.Get("etl")
	value := keystore.NewSecret(keyValue)
	if k.Fingerprint != value.Fingerprint() || k.Last4 != value.Last4() {
		t.Errorf("%+v", k)
	}
	servicetest.NoSecretUnder(t, at.dir)
	if _, err := save(t.Context(), at.files, draft()); !errors.Is(err, config.ErrProfileExists) {
		t.Errorf("a second time: %v", err)
	}
}

func TestWhatWasWrittenIsUndoneWhenTheRestCannotBe(t *testing.T) {
	tests := map[string]func(at *place, d *Report){
		"the first secret":         func(at *place, _ *Report) { at.Secrets = &failing{at.Secrets, 0} },
		"the second secret":        func(at *place, _ *Report) { at.Secrets = &failing{at.Secrets, 1} },
		"the key":                  func(_ *place, d *Report) { d.Key.Level = "BOSS" },
		"the configuration's name": func(_ *place, d *Report) { d.Profile.Name = "ac.me" },
		"a place that takes none":  func(_ *place, d *Report) { d.Values["env:X"] = keystore.NewSecret("x") },
	}
	for name, breaks := range tests {
		t.Run(name, func(t *testing.T) {
			at, d := newPlace(t), draft()
			breaks(&at, &d)
			if _, err := save(t.Context(), at.files, d); err == nil {
				t.Error("it was saved")
			}
			if got := at.holds(t); len(got) != 0 {
				t.Errorf("left behind: %v", got)
			}
		})
	}
}

func TestAConfigurationThatCannotBeWrittenLeavesEarlierSecretsAsTheyWere(t *testing.T) {
	at, d := newPlace(t), draft()
	// A valid file that no profile can be appended to.
	noerr.Must(t, os.WriteFile(at.Config, []byte("profiles = {old = {base_url = \"https://b.example\"}}\n"), 0o600))
	earlier := keystore.NewSecret("the-value-from-before")
	noerr.Must(t, at.Secrets.Store(t.Context(), "file:acme-etl", earlier))
	if _, err := save(t.Context(), at.files, d); err == nil {
		t.Fatal("it was saved")
	}
	if got, err := at.Secrets.Resolve(t.Context(), "file:acme-etl"); err != nil || !got.Equal(earlier) {
		t.Errorf("the earlier value is gone: %v", err)
	}
	if got := at.holds(t); !slices.Equal(got, []string{"config.toml", "secrets/acme-etl.age"}) {
		t.Errorf("left behind: %v", got)
	}
}

func TestAnEditedAccountKeepsWhatWasNotTouched(t *testing.T) {
	at := newPlace(t)
	saved, err := save(t.Context(), at.files, draft())
	noerr.Must(t, err)
	before := saved
	saved.ReadOnly = true
	value := keystore.NewSecret("another-value-of-the-key")
	d := Report{Draft: Draft{Profile: saved, Values: map[string]keystore.Secret{"file:acme-etl": value}, Before: &before}, Key: model.Key{Name: "etl", Secret: "file:acme-etl"}}
	noerr.Must(t, noerr.From(save(t.Context(), at.files, d)))
	k, _ := at.inventory.Get("etl")
	got, err := at.Secrets.Resolve(t.Context(), "file:acme-etl")
	if err != nil || !got.Equal(value) || k.Fingerprint != value.Fingerprint() || k.Level != model.LevelUser {
		t.Errorf("%+v, %v", k, err)
	}
	f, err := config.Load(at.Config)
	noerr.Must(t, err)
	if p, err := f.Profile("acme"); err != nil || !p.ReadOnly || p.CA != saved.CA || len(p.Zones) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	d.Profile.Name = "gone"
	if _, err := save(t.Context(), at.files, d); !errors.Is(err, config.ErrNoSuchProfile) {
		t.Errorf("a profile that is not there: %v", err)
	}
}

func TestOnlyWhatBelongsToTheProfileGoesWithIt(t *testing.T) {
	for name, want := range map[string]struct {
		withKey, withSecrets bool
		beside               string // what shares the key or its value: a profile or a key
		left                 []string
		stays                []string // references that nothing names any more
	}{
		"the profile alone":         {false, false, "", []string{"config.toml", "key etl", "secrets/acme-etl.age", "secrets/acme-zone-z1.age"}, []string{"file:acme-zone-z1"}},
		"with its key":              {true, false, "", []string{"config.toml", "secrets/acme-etl.age", "secrets/acme-zone-z1.age"}, []string{"file:acme-zone-z1", "file:acme-etl"}},
		"with its secrets":          {false, true, "", []string{"config.toml", "key etl", "secrets/acme-etl.age"}, nil},
		"with everything":           {true, true, "", []string{"config.toml"}, nil},
		"beside one that shares it": {true, true, "profile", []string{"config.toml", "key etl", "secrets/acme-etl.age", "secrets/acme-zone-z1.age"}, nil},
		"beside a key of its value": {true, true, "key", []string{"config.toml", "key same", "secrets/acme-etl.age"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			at := newPlace(t)
			noerr.Must(t, noerr.From(save(t.Context(), at.files, draft())))
			switch want.beside {
			case "profile":
				other := draft().Profile
				other.Name = "staging"
				noerr.Must(t, config.AddProfile(t.Context(), at.Config, other))
			case "key":
				noerr.Must(t, at.inventory.Add(t.Context(), model.Key{Name: "same", Secret: "file:acme-etl"}))
			}
			r, err := whatGoes(at.files, "acme", at.inventory.List())
			noerr.Must(t, err)
			said := strings.Join(r.Describe(want.withKey, want.withSecrets), "; ")
			noerr.Must(t, remove(t.Context(), at.files, r, want.withKey, want.withSecrets))
			if got := at.holds(t); !slices.Equal(got, want.left) {
				t.Errorf("left %v, want %v", got, want.left)
			}
			if strings.Contains(said, "zone-z1") != !slices.Contains(want.left, "secrets/acme-zone-z1.age") {
				t.Errorf("the question said %s", said)
			}
			if stays := r.Leaves(want.withKey, want.withSecrets); !slices.Equal(stays, want.stays) {
				t.Errorf("it said that %q stay, want %q", stays, want.stays)
			}
		})
	}
}

func TestReferencesOfDifferentNamesDiffer(t *testing.T) {
	long := strings.Repeat("z", 100)
	seen := map[string]bool{}
	ref := func(scheme, profile, what string) string {
		return Draft{Profile: model.Profile{Name: profile}, Store: scheme}.RefOf(what)
	}
	for _, ref := range []string{
		ref("file", "acme", "acme"), ref("file", "acme", "etl"), ref("file", "acme", "zone-a b"), ref("file", "acme", "zone-a_b"),
		ref("file", "acme", long), ref("file", "acme", long+"z"), ref("keyring", "acme", "etl"), ref("file", "_", "ü"),
	} {
		if _, err := keystore.ParseRef(ref); err != nil || seen[ref] {
			t.Errorf("%s: seen %v, %v", ref, seen[ref], err)
		}
		seen[ref] = true
	}
}

func TestAReferenceToASecretThatIsNotThereIsRefused(t *testing.T) {
	ps := &Profiles{cfg: Config{Secrets: keystore.NewResolver(keystore.ResolverOptions{
		SecretsDir: t.TempDir(), Getenv: func(string) string { return "" },
	})}}
	if err := ps.stored(t.Context(), "file:unl"); !errors.Is(err, keystore.ErrSecretMissing) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := ps.cfg.Secrets.Store(t.Context(), "file:unl", keystore.NewSecret("some-value")); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"file:unl", "env:SET_LATER", ""} {
		if err := ps.stored(t.Context(), ref); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
}
