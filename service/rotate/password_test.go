package rotate_test

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/password"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/service/servicetest"
)

// zonePasswords works the emulator's zones, by the place's key.
type zonePasswords struct {
	*password.Changer
	p place
}

func (w zonePasswords) Check(ctx context.Context, _ keystore.RotationPlan) error {
	return w.Changer.Check(ctx, w.p.Profile, w.p.Zone, w.p.Key.Name)
}

func (w zonePasswords) Users(context.Context, keystore.RotationPlan) ([]keystore.RotationUser, error) {
	return slices.Clone(w.p.Users), nil
}

func (zonePasswords) Make() keystore.Secret { return keystore.NewSecret(rand.Text()) }

func (w zonePasswords) Add(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	return w.Changer.Add(ctx, w.p.Profile, r.Zone, r.ChangedBy, value)
}

func (w zonePasswords) Remove(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	return w.Changer.Remove(ctx, w.p.Profile, r.Zone, r.ChangedBy, value)
}

func (w zonePasswords) Login(ctx context.Context, _ keystore.RotationPlan, _ keystore.RotationUser, l exchange.LoginProof) (keystore.Proof, error) {
	return w.Changer.Login(ctx, w.p.Profile, w.p.Zone, l)
}

// changer changes passwords over sockets.
func (p place) changer(f *fetch.Fetcher) *password.Changer {
	return password.New(password.Config{
		Source: servicetest.Source{
			ProfileBy: func(context.Context) (model.Profile, error) { return p.Profile, nil },
			KeyBy:     func(string) (model.Key, bool) { return p.Key, true },
			SecretBy: func(ctx context.Context, ref string) (keystore.Secret, error) {
				return p.secrets().Resolve(ctx, ref)
			},
		},
		Wire: exchange.New(exchange.Config{}), Prover: f,
	})
}

func (p place) password() rotate.Subject {
	return rotate.Subject{Password: &rotate.Password{Zone: p.Zone, Account: p.Profile.Account, Key: p.Key.Name}}
}

// withPassword gives the place a password of its own of isp_demo, behind two references with a user
// each. The key of the place changes it.
func (p place) withPassword(t *testing.T) place {
	t.Helper()
	p.Zone, _ = p.Profile.Zone("isp_demo")
	p.Zone.Password = "file:" + p.Key.Name + "-zone"
	p.Users = []keystore.RotationUser{
		{Name: "profile acme", Ref: p.Zone.Password, Profile: "acme", Zone: "isp_demo"},
		{Name: "saved request shop", Ref: p.Zone.Password + "-copy", Profile: "acme", Zone: "isp_demo"},
	}
	value := keystore.NewSecret("password-of-" + p.Key.Name + "-0123456789")
	for _, u := range p.Users {
		noerr.Must(t, p.secrets().Store(t.Context(), u.Ref, value))
	}
	noerr.Must(t, p.config().Passwords.Add(t.Context(), keystore.RotationPlan{Zone: "isp_demo", ChangedBy: p.Key.Name}, value))
	return p
}

// logsIn checks whether the zone accepts a password.
func (p place) logsIn(t *testing.T, value string, want bool) {
	t.Helper()
	if _, err := p.config().Passwords.Login(t.Context(), keystore.RotationPlan{}, keystore.RotationUser{}, exchange.LoginProof{Password: keystore.NewSecret(value), Refusal: !want}); err != nil {
		t.Errorf("a login that is to be accepted (%v): %v", want, err)
	}
}

func (p place) old() string { return "password-of-" + p.Key.Name + "-0123456789" }

// wantPasswordDone checks a rotation that is over: every step measured, the references give the new
// password alone, which is accepted, the old one is refused, and nothing is held.
func (p place) wantPasswordDone(t *testing.T, plan keystore.RotationPlan) {
	t.Helper()
	if !plan.Over() || plan.Abandoned {
		t.Fatalf("it is not over: %+v", plan.Steps)
	}
	for _, s := range plan.Steps {
		if !s.Done || s.By != keystore.Measured || s.At.IsZero() {
			t.Errorf("%s: done %v, %q at %s", s.Name(), s.Done, s.By, s.At)
		}
	}
	for _, u := range p.Users {
		got, err := p.secrets().Resolve(t.Context(), u.Ref)
		if err != nil || got.Fingerprint() != plan.NewFingerprint {
			t.Fatalf("%s gives %s, %v, want the new password", u.Ref, got.Fingerprint(), err)
		}
		p.logsIn(t, got.Reveal(), true)
	}
	p.logsIn(t, p.old(), false)
	p.wantNothingHeld(t, plan)
}

func (p place) wantNothingHeld(t *testing.T, plan keystore.RotationPlan) {
	t.Helper()
	before, after := plan.References()
	for _, held := range []string{before, after} {
		if _, err := p.secrets().Resolve(t.Context(), held); !errors.Is(err, keystore.ErrSecretMissing) {
			t.Errorf("%s is still held: %v", held, err)
		}
	}
}

func (p place) beginPassword(t *testing.T, c setup) (*rotate.Engine, keystore.RotationPlan) {
	t.Helper()
	e := c.engine()
	plan := noerr.Try(e.Begin(t.Context(), p.password())).Must(t)
	return e, plan
}

// A look writes nothing, and a zone's password is rotated once at a time.
func TestAPasswordIsRotatedWithProof(t *testing.T) {
	p := newPlace(t, start(t), "zonekey").withPassword(t)
	e := p.config().engine()
	if plan, err := e.Plan(t.Context(), p.password()); err != nil || len(plan.Steps) != 8 {
		t.Fatalf("%+v, %v", plan.Steps, err)
	}
	if plans, err := p.records().List(); err != nil || len(plans) > 0 {
		t.Fatalf("a look wrote %d records, %v", len(plans), err)
	}
	c := p.config()
	proves := map[string]bool{} // what the logins are the proof for, and whether they are to be refused
	c.Passwords = broken{Passwords: c.Passwords, told: func(l exchange.LoginProof) { proves[l.Proves] = l.Refusal }}
	e, plan := p.beginPassword(t, c)
	if _, err := e.Begin(t.Context(), p.password()); !errors.Is(err, keystore.ErrRotationNow) {
		t.Errorf("a second one: %v", err)
	}
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantPasswordDone(t, plan)
	const of = "the rotation of the password of zone isp_demo, step "
	if want := map[string]bool{of + "create": false, of + "test profile acme": false, of + "test saved request shop": false, of + "delete": false, of + "refused, by the new password": false, of + "refused": true}; !maps.Equal(proves, want) {
		t.Errorf("the logins prove %v", proves)
	}
	report := rotate.Report(plan)
	if !strings.Contains(report, "# Rotation of the password of zone isp_demo\n\nBy an added password, through key zonekey, begun ") || !strings.Contains(report, "| | fingerprint | ends in |\n| --- | --- | --- |\n| old password | ") || strings.Contains(report, "old key") || strings.Contains(report, p.old()) {
		t.Error(report)
	}
	for _, s := range plan.Steps {
		if s.Kind == keystore.StepTest && (s.Status == 0 || s.Duration == 0) {
			t.Errorf("%s: no call was measured: %+v", s.Name(), s)
		}
	}
}

// broken fails, or changes what it does, at one place.
type broken struct {
	rotate.Passwords
	login  func(value keystore.Secret, accepted bool) error
	remove error
	told   func(l exchange.LoginProof)
}

func (b broken) Login(ctx context.Context, r keystore.RotationPlan, u keystore.RotationUser, l exchange.LoginProof) (keystore.Proof, error) {
	if b.told != nil {
		b.told(l)
	}
	if b.login != nil {
		if err := b.login(l.Password, !l.Refusal); err != nil {
			return keystore.Proof{}, err
		}
	}
	return b.Passwords.Login(ctx, r, u, l)
}

func (b broken) Remove(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	if b.remove != nil {
		return b.remove
	}
	return b.Passwords.Remove(ctx, r, value)
}

// failing is a store that fails to write, or changes, one reference.
type failing struct {
	*keystore.Resolver
	ref   string
	write func(keystore.Secret) (keystore.Secret, error)
}

func (s failing) Store(ctx context.Context, ref string, v keystore.Secret) error {
	if ref == s.ref {
		var err error
		if v, err = s.write(v); err != nil {
			return err
		}
	}
	return s.Resolver.Store(ctx, ref, v)
}

// A failure before a reference was set takes the new password back: the old one stays, and nothing is
// held.
func TestANewPasswordThatDoesNotWorkIsTakenBack(t *testing.T) {
	demo := start(t)
	for name, change := range map[string]func(p place, c *setup){
		"refused": func(_ place, c *setup) {
			c.Passwords = broken{Passwords: c.Passwords, login: func(_ keystore.Secret, accepted bool) error {
				if accepted {
					return password.ErrNotAccepted
				}
				return nil
			}}
		},
		"unkept": func(p place, c *setup) {
			c.Secrets = failing{p.secrets(), p.Zone.Password, func(v keystore.Secret) (keystore.Secret, error) { return v, errors.New("no space left") }}
		},
		"changed": func(p place, c *setup) {
			once := false
			c.Secrets = failing{p.secrets(), p.Zone.Password, func(v keystore.Secret) (keystore.Secret, error) {
				if once { // the old one is put back
					return v, nil
				}
				once = true
				return keystore.NewSecret("NEWPASS-of-nobody"), nil
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, demo, "back-"+name).withPassword(t)
			c := p.config()
			var made keystore.Secret
			change(p, &c)
			store := c.Secrets
			c.Secrets = seeing{store, &made}
			e, plan := p.beginPassword(t, c)
			plan, err := e.Run(t.Context(), plan.ID, "", nil)
			if err == nil || !strings.Contains(err.Error(), "was taken back") || !plan.Undone || !plan.Over() || strings.Contains(err.Error(), made.Reveal()) {
				t.Fatalf("%v, undone %v", err, plan.Undone)
			}
			p.logsIn(t, p.old(), true)
			p.logsIn(t, made.Reveal(), false)
			for _, u := range p.Users {
				if got, err := p.secrets().Resolve(t.Context(), u.Ref); err != nil || got.Reveal() != p.old() {
					t.Errorf("%s does not give the old password: %v", u.Ref, err)
				}
			}
			p.wantNothingHeld(t, plan)
		})
	}
}

// seeing remembers the new value that is held.
type seeing struct {
	rotate.Secrets
	made *keystore.Secret
}

func (s seeing) Store(ctx context.Context, ref string, v keystore.Secret) error {
	if strings.HasSuffix(ref, "-new") {
		*s.made = v
	}
	return s.Secrets.Store(ctx, ref, v)
}

// A value that somebody else wrote to a reference stays, and the new password is taken back.
func TestAPasswordThatWasSetByOthersStays(t *testing.T) {
	p := newPlace(t, start(t), "others").withPassword(t)
	other := keystore.NewSecret("written-by-another-0123456789")
	c := p.config()
	c.Passwords = broken{Passwords: c.Passwords, login: func(keystore.Secret, bool) error {
		return p.secrets().Store(context.Background(), p.Zone.Password, other)
	}}
	e, plan := p.beginPassword(t, c)
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if err == nil || !plan.Undone || !strings.Contains(err.Error(), "left alone") {
		t.Fatalf("%v, %+v", err, plan)
	}
	if got, err := p.secrets().Resolve(t.Context(), p.Zone.Password); err != nil || !got.Equal(other) {
		t.Errorf("what others wrote is gone: %v", err)
	}
	p.logsIn(t, p.old(), true)
}

// silent are account settings that do not answer.
type silent struct{ *rehearsal.Client }

func (silent) Newest(context.Context, int) (rehearsal.Page, error) {
	return rehearsal.Page{}, errors.New("no answer")
}

// Whether the old password is removed is not known without what the settings say, so the step is not done.
func TestAnOldPasswordIsNotCalledRemovedWithoutTheSettings(t *testing.T) {
	p := newPlace(t, start(t), "unseen").withPassword(t)
	c := p.config()
	deleting := false
	c.Passwords = broken{Passwords: c.Passwords, told: func(l exchange.LoginProof) { deleting = strings.HasSuffix(l.Proves, "step delete") }}
	c.Settings = func(keystore.RotationPlan) rotate.Settings {
		if deleting {
			return silent{p.settings()}
		}
		return p.settings()
	}
	e, plan := p.beginPassword(t, c)
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if err == nil || !strings.Contains(err.Error(), "no answer") || plan.Over() {
		t.Fatalf("%v, %+v", err, plan.Steps)
	}
	if s, _ := plan.Step(keystore.StepDelete, ""); s.Done {
		t.Errorf("%+v", s)
	}
	p.logsIn(t, p.old(), true)
	p.wantPasswordDone(t, noerr.Try(p.config().engine().Run(t.Context(), plan.ID, "", nil)).Must(t))
}

// If a password cannot be taken back, it stays held, and the next run goes on with it.
func TestAPasswordThatCannotBeTakenBackGoesOn(t *testing.T) {
	p := newPlace(t, start(t), "stuck").withPassword(t)
	c := p.config()
	c.Passwords = broken{Passwords: c.Passwords, login: func(keystore.Secret, bool) error { return errors.New("no proxy") }, remove: errors.New("no service")}
	e, plan := p.beginPassword(t, c)
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if err == nil || plan.Over() || plan.NewHeld == "" || !strings.Contains(err.Error(), "may be valid beside the old one") {
		t.Fatalf("%v, %+v", err, plan)
	}
	first := plan.NewFingerprint
	if plan, err = p.config().engine().Run(t.Context(), plan.ID, "", nil); err != nil || plan.NewFingerprint != first {
		t.Fatalf("%v, another password: %v", err, plan.NewFingerprint != first)
	}
	p.wantPasswordDone(t, plan)
}

// A run that is stopped undoes nothing: it goes on later.
func TestAPasswordRotationThatIsStoppedGoesOn(t *testing.T) {
	p := newPlace(t, start(t), "stopped").withPassword(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := p.config()
	c.Passwords = broken{Passwords: c.Passwords, login: func(keystore.Secret, bool) error { cancel(); return ctx.Err() }}
	e, plan := p.beginPassword(t, c)
	plan, err := e.Run(ctx, plan.ID, "", nil)
	if !errors.Is(err, context.Canceled) || plan.Over() {
		t.Fatalf("%v, %+v", err, plan)
	}
	plan = noerr.Try(p.config().engine().Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantPasswordDone(t, plan)
}

// Giving up takes back a new password that no reference gives; once set, it stays valid like the old one.
func TestGivingUpAPassword(t *testing.T) {
	demo := start(t)
	for _, until := range []keystore.RotationWord{keystore.WordCreate, keystore.WordSet} {
		p := newPlace(t, demo, "giveup-"+string(until)).withPassword(t)
		e, plan := p.beginPassword(t, p.config())
		plan = noerr.Try(e.Run(t.Context(), plan.ID, until, nil)).Must(t)
		fresh, err := p.secrets().Resolve(t.Context(), plan.NewHeld)
		noerr.Must(t, err)
		if plan, err = e.Abandon(t.Context(), plan.ID); err != nil || !plan.Abandoned || plan.Undone != (until == keystore.WordCreate) {
			t.Fatalf("after %s: %v, %+v", until, err, plan)
		}
		p.logsIn(t, p.old(), true)
		p.logsIn(t, fresh.Reveal(), until == keystore.WordSet)
		if _, err := p.secrets().Resolve(t.Context(), filepath.ToSlash(plan.OldHeld)); !errors.Is(err, keystore.ErrSecretMissing) {
			t.Errorf("after %s the old one is still held: %v", until, err)
		}
	}
}

// waitForRefusals waits until the service's journal shows refused logins of a zone.
func (p place) waitForRefusals(t *testing.T, zone string, want int) {
	t.Helper()
	hangs := time.After(time.Minute)
	for {
		page := noerr.Try(p.settings().Newest(t.Context(), 5000)).Must(t)
		n := 0
		for _, q := range page.Requests {
			if strings.HasSuffix(q.User, "-zone-"+zone) && q.Status == http.StatusProxyAuthRequired {
				n++
			}
		}
		if n >= want {
			return
		}
		select {
		case <-hangs:
			t.Fatalf("the journal shows %d refused logins, want %d", n, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A client that is still refused after the end is seen in the service's journal.
func TestALoginThatIsRefusedAfterwardsIsSeen(t *testing.T) {
	p := newPlace(t, start(t), "watched").withPassword(t)
	c := p.config()
	proofs := 0
	c.Passwords = broken{Passwords: c.Passwords, login: func(_ keystore.Secret, accepted bool) error {
		if !accepted {
			if proofs++; proofs == 1 { // a client that holds the old password
				p.logsIn(t, p.old(), false)
				p.waitForRefusals(t, "isp_demo", 1)
			}
		}
		return nil
	}}
	e, plan := p.beginPassword(t, c)
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	var stop *rotate.StopError
	if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepWatch || plan.Over() {
		t.Errorf("%v, over %v", err, plan.Over())
	}
}

// Where no call changes a password, a person regenerates it and gives it: the old one has ended, and is seen refused.
func TestAPasswordThatAPersonRegeneratesIsSeenInPlace(t *testing.T) {
	p := newPlace(t, start(t), "regenerated").withPassword(t)
	c := p.config()
	c.Settings = nil
	e, subject := c.engine(), p.password()
	subject.Password.Key = ""
	plan := noerr.Try(e.Begin(t.Context(), subject)).Must(t)
	var stop *rotate.StopError
	if plan, err := e.Run(t.Context(), plan.ID, "", nil); !errors.As(err, &stop) || !stop.Value || stop.Vouch || plan.LastOld.IsZero() ||
		!strings.HasPrefix(stop.Advice, "in the access details of zone isp_demo, regenerate the password and give the new one here at once") {
		t.Fatalf("%v, %+v", err, plan)
	}
	noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, keystore.NewSecret("mistyped-password-1"), "")))
	if _, err := e.Run(t.Context(), plan.ID, "", nil); !errors.As(err, &stop) || !strings.Contains(stop.Advice, "does not accept the value that was given (••••rd-1)") {
		t.Fatal(err)
	}
	value, by := keystore.NewSecret("regenerated-password-0123456789"), keystore.RotationPlan{Zone: "isp_demo", ChangedBy: p.Key.Name}
	noerr.Must(t, errors.Join(c.Passwords.Add(t.Context(), by, value), c.Passwords.Remove(t.Context(), by, keystore.NewSecret(p.old()))))
	noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, value, "")))
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantPasswordDone(t, plan)
	if report := rotate.Report(plan); !strings.Contains(report, "By regeneration in the access details of the zone, begun") || !strings.Contains(report, "no value worked everywhere for") {
		t.Error(report)
	}
	again := noerr.Try(e.Begin(t.Context(), subject)).Must(t)
	r := e.Resume(again)
	if words := "password of zone isp_demo: what was regenerated at the service stays, and references keep what they give now."; r.Abandoning() != words || !r.WorkedByPerson() {
		t.Errorf("giving up: %s", r.Abandoning())
	}
	if again, err := e.Abandon(t.Context(), again.ID); err != nil || again.Undone || !again.Abandoned {
		t.Errorf("%+v, %v", again, err)
	}
	p.logsIn(t, value.Reveal(), true)
}
