package rotate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/emulator"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/radius"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/service/servicetest"
)

// place is an account and a folder with the files of a console.
type place struct {
	Profile        model.Profile
	Control, Token string
	Dir            string
	Key            model.Key
	Users          []keystore.RotationUser
	// Zone has the password that is rotated, where one is.
	Zone model.Zone
}

// newPlace makes a key on an emulator, whose value is behind two references, with a user each.
func newPlace(t *testing.T, demo servicetest.Demo, name string) place {
	t.Helper()
	p := place{Profile: demo.Profile, Control: demo.Control, Token: demo.Token, Dir: memory(t)}
	made := noerr.Try(p.settings().CreateKey(t.Context(), rehearsal.Key{Name: name, Level: "OPS", Duty: "batch job", Expires: "Unlimited"})).Must(t)
	value := keystore.NewSecret(made.Value)
	p.Key = model.Key{Name: name, Level: model.LevelOps, Secret: "file:" + name, Fingerprint: value.Fingerprint(), Last4: value.Last4()}
	p.Users = []keystore.RotationUser{
		{Name: "profile acme", Ref: p.Key.Secret},
		{Name: "saved request shop", Ref: "file:" + name + "-copy"},
	}
	for _, u := range p.Users {
		noerr.Must(t, p.secrets().Store(t.Context(), u.Ref, value))
	}
	return p
}

func start(t *testing.T) servicetest.Demo {
	return servicetest.Emulator(t, emulator.Options{StateDir: memory(t)})
}

// memory is a folder that needs no disk, where there is one: every record is synced, and a test would wait for
// that and nothing else. What a killed process wrote stays there, too.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rotate-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { noerr.Want(t, os.RemoveAll(dir)) })
	return dir
}

func (p place) settings() *rehearsal.Client {
	return rehearsal.New(func(context.Context) (rehearsal.Place, error) {
		return rehearsal.Place{URL: p.Control, Token: keystore.NewSecret(p.Token)}, nil
	})
}

func (p place) secrets() *keystore.Resolver {
	return keystore.NewResolver(keystore.ResolverOptions{SecretsDir: filepath.Join(p.Dir, "secrets")})
}

func (p place) records() *keystore.Rotations {
	return keystore.OpenRotations(filepath.Join(p.Dir, "rotations"))
}

// setup is a Config whose keys, accounts, calls and files are functions, so that a test can change one of them.
// A nil one does nothing.
type setup struct {
	rotate.Config
	Refuse       func(p keystore.RotationPlan) error
	Settings     func(p keystore.RotationPlan) rotate.Settings
	Users        func(ctx context.Context, k model.Key) ([]keystore.RotationUser, error)
	Prove        func(ctx context.Context, c rotate.Call) (model.FetchResult, error)
	Levels       func(ctx context.Context, u keystore.RotationUser, value keystore.Secret) ([]model.Level, error)
	Holds        func(file, fingerprint string) (bool, error)
	TookOver     func(ctx context.Context, p keystore.RotationPlan) error
	UsedAfterEnd func(ctx context.Context, p keystore.RotationPlan, used []string)
	Now          func(p keystore.RotationPlan) time.Time
	Days         func(level model.Level) int
	Reach        []ask.Question // what is asked before a key is sent
	Refused      error          // why it is not
}

// whole is the Config with the functions as they are now.
func (s setup) whole() rotate.Config {
	f := console{s}
	s.Keys, s.Accounts, s.Prover = f, f, f
	if s.Holds != nil {
		s.Files = f
	}
	return s.Config
}

func (s setup) engine() *rotate.Engine { return rotate.New(s.whole()) }

// console answers with the functions of a setup.
type console struct{ s setup }

func (c console) Refuse(p keystore.RotationPlan) error {
	if c.s.Refuse == nil {
		return nil
	}
	return c.s.Refuse(p)
}

func (c console) Settings(p keystore.RotationPlan) rotate.Settings {
	if c.s.Settings == nil {
		return nil
	}
	return c.s.Settings(p)
}

func (console) OwnerText(model.Key) string { return "the key of profile acme" }

func (console) AccountText(keystore.RotationPlan) string {
	return "account hl_1, profile acme, https://api.example.com"
}

func (c console) Reach(_ keystore.RotationPlan, a ask.Answers) (open []ask.Question, err error) {
	for _, q := range c.s.Reach {
		if !a.To(q).Yes {
			open = append(open, q)
		}
	}
	return open, c.s.Refused
}

func (c console) Users(ctx context.Context, k model.Key) ([]keystore.RotationUser, error) {
	return c.s.Users(ctx, k)
}

func (c console) Prove(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
	return c.s.Prove(ctx, call)
}

func (c console) Levels(ctx context.Context, u keystore.RotationUser, value keystore.Secret) ([]model.Level, error) {
	if c.s.Levels == nil {
		return nil, errors.New("nothing that is known of the service tells it")
	}
	return c.s.Levels(ctx, u, value)
}

func (c console) Holds(file, fingerprint string) (bool, error) { return c.s.Holds(file, fingerprint) }

func (c console) TookOver(ctx context.Context, p keystore.RotationPlan) error {
	if c.s.TookOver == nil {
		return nil
	}
	return c.s.TookOver(ctx, p)
}

func (c console) UsedAfterEnd(ctx context.Context, p keystore.RotationPlan, used []string) {
	if c.s.UsedAfterEnd != nil {
		c.s.UsedAfterEnd(ctx, p, used)
	}
}

func (c console) Now(p keystore.RotationPlan) time.Time { return c.s.Now(p) }

func (c console) Days(level model.Level) int {
	if c.s.Days == nil {
		return model.RotationDays
	}
	return c.s.Days(level)
}

// config is an engine's, with calls over sockets.
func (p place) config() setup {
	f := fetch.New(fetch.Config{
		Source: servicetest.Source{ProfileBy: func(context.Context) (model.Profile, error) { return p.Profile, nil }},
		Wire:   exchange.New(exchange.Config{}), Bodies: exchange.Bodies{Dir: filepath.Join(p.Dir, "bodies")},
	})
	return setup{
		Config: rotate.Config{
			Records: p.records(), Secrets: p.secrets(), LockDir: filepath.Join(p.Dir, "rotations"),
			Passwords: zonePasswords{p.changer(f), p},
		},
		Settings: func(keystore.RotationPlan) rotate.Settings { return p.settings() },
		Users: func(context.Context, model.Key) ([]keystore.RotationUser, error) {
			return slices.DeleteFunc(slices.Clone(p.Users), func(u keystore.RotationUser) bool {
				_, err := os.Stat(p.jobFile())
				return u.InFlight && err != nil
			}), nil
		},
		Prove: func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
			return f.ProveKey(ctx, p.Profile, call.User.Zone, call.Key, call.Value, call.Proves)
		},
		Now: func(keystore.RotationPlan) time.Time { return time.Now() },
	}
}

// jobFile is there while the job of a place is in flight.
func (p place) jobFile() string { return filepath.Join(p.Dir, "job-7.running") }

// withFileAndJob adds an env file that holds the value, and a job that was begun with it.
func (p place) withFileAndJob(t *testing.T) place {
	t.Helper()
	value := noerr.Try(p.secrets().Resolve(t.Context(), p.Key.Secret)).Must(t)
	file := filepath.Join(p.Dir, "deploy.env")
	noerr.Must(t, errors.Join(p.writeEnv(file, value), os.WriteFile(p.jobFile(), nil, 0o600)))
	p.Users = append(p.Users, keystore.RotationUser{Name: file + ":1", File: file}, keystore.RotationUser{Name: "job-7", InFlight: true})
	return p
}

// writeEnv is what a person does with an env file.
func (p place) writeEnv(file string, value keystore.Secret) error {
	return textfile.Write(file, []byte("ZONEDECK_API_KEY="+value.Reveal()+"\n"))
}

// begin begins a rotation.
func (p place) begin(t *testing.T, c setup, method keystore.RotationMethod) (*rotate.Engine, keystore.RotationPlan) {
	t.Helper()
	e := c.engine()
	plan := noerr.Try(e.Begin(t.Context(), rotate.Subject{Key: p.Key, Method: method})).Must(t)
	return e, plan
}

// wantDone checks a rotation that is over: every step measured, the old key gone and refused, one
// new key, which every reference gives, and nothing held.
func (p place) wantDone(t *testing.T, plan keystore.RotationPlan) {
	t.Helper()
	if !plan.Over() || plan.Abandoned {
		t.Fatalf("it is not over: %+v", plan.Steps)
	}
	for _, s := range plan.Steps {
		if !s.Done || s.By != keystore.Measured || s.At.IsZero() {
			t.Errorf("%s: done %v, %q at %s", s.Name(), s.Done, s.By, s.At)
		}
	}
	keys := noerr.Try(p.settings().Keys(t.Context())).Must(t)
	var named []string
	for _, k := range keys {
		if len(k.Name) >= len(p.Key.Name) && k.Name[:len(p.Key.Name)] == p.Key.Name {
			named = append(named, k.Name)
		}
	}
	want := []string{p.Key.Name + "-2"}
	if plan.Method == keystore.RotateByRefresh {
		want = []string{p.Key.Name}
	}
	if !slices.Equal(named, want) {
		t.Errorf("the account has the keys %q, want %q", named, want)
	}
	for _, u := range p.Users {
		if u.InFlight {
			continue
		}
		if u.File != "" {
			if fresh, err := radius.Holds(u.File, plan.NewFingerprint); err != nil || !fresh {
				t.Errorf("%s does not hold the new value: %v", u.File, err)
			}
			continue
		}
		got, err := p.secrets().Resolve(t.Context(), u.Ref)
		if err != nil || got.Fingerprint() != plan.NewFingerprint || got.Fingerprint() == p.Key.Fingerprint {
			t.Errorf("%s gives %s, %v, want the new value", u.Ref, got.Fingerprint(), err)
		}
	}
	for _, held := range []string{plan.OldHeld, plan.NewHeld} {
		if _, err := p.secrets().Resolve(t.Context(), held); !errors.Is(err, keystore.ErrSecretMissing) {
			t.Errorf("%s is still held: %v", held, err)
		}
	}
}
