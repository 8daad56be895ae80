package keys

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/rotate"
	"zonedeck/service/snippet"
)

// A key's value goes to the service of its own account, whichever profile is in use.
func TestAKeyUnderRotationIsSentToItsOwnAccountAlone(t *testing.T) {
	a := newServices(t)
	e := a.engine().engine()
	plan, err := e.Begin(t.Context(), rotate.Subject{Key: a.key(t, "acme"), Method: keystore.RotateByNewKey})
	noerr.Must(t, err)
	plan = noerr.Try(e.Give(t.Context(), plan.ID, keystore.NewSecret("new-value-0123456789"), "")).Must(t)
	var stop *rotate.StopError
	if plan, err = e.Run(t.Context(), plan.ID, "", nil); !errors.As(err, &stop) || stop.Step.Kind != keystore.StepSet {
		t.Fatalf("%v", err)
	}
	if made, _ := plan.Step(keystore.StepCreate, ""); !made.Done || made.Status != http.StatusOK {
		t.Errorf("create: %+v", made)
	}
	if want := []string{"Bearer new-value-0123456789"}; !slices.Equal(slices.Compact(a.seen["A"]), want) || len(a.seen["B"]) > 0 {
		t.Errorf("the services were sent %q", a.seen)
	}
}

// A profile of another service may have the value of a demo key: every emulator has the same.
func TestADemoKeyIsNotPutWhereAnotherServiceReadsIt(t *testing.T) {
	o := newOptions(t, map[string]string{"ZONEDECK_PROFILE": "local"})
	o.config = filepath.Join(t.TempDir(), "config.toml")
	noerr.Must(t, os.WriteFile(o.config, []byte("[profiles.acme]\nbase_url = \"http://127.0.0.1:1\"\nkey = \"acme\"\n[[profiles.acme.zones]]\nname = \"unl\"\nproduct = \"unlocker\"\n"), 0o600))
	s := open(t, o)
	defer func() { _ = s.close(t) }()
	noerr.Must(t, noerr.From(s.Profile(t.Context())))
	k, _ := s.Key("etl-main")
	value := noerr.Try(s.Resolver.Resolve(t.Context(), k.Secret)).Must(t)
	k.Fingerprint = value.Fingerprint()
	noerr.Must(t, s.Inventory.Add(t.Context(), model.Key{Name: "acme", Secret: "file:acme", Fingerprint: value.Fingerprint()}))
	users := noerr.Try(s.rotations().Users(t.Context(), k)).Must(t)
	i := slices.IndexFunc(users, func(u keystore.RotationUser) bool { return u.Name == "profile acme" })
	if i < 0 || users[i].Ref != "" || users[i].Profile == "acme" || users[i].Callable() || !strings.Contains(users[i].Reason, "http://127.0.0.1:1") {
		t.Errorf("%+v", users)
	}
	i = slices.IndexFunc(users, func(u keystore.RotationUser) bool { return u.Name == "key acme" })
	if i < 0 || users[i].Ref != "" || users[i].Callable() || !strings.Contains(users[i].Reason, "whose service it is for is not known") {
		t.Errorf("%+v", users)
	}
}

// Other keys may have the same value, behind a reference that the console sets or behind one that it does not.
func TestEveryRecordOfAValueIsRotated(t *testing.T) {
	a := newServices(t)
	old, renewed := keystore.NewSecret(a.env["ACME_KEY"]), keystore.NewSecret("new-value-0123456789")
	for _, k := range []model.Key{
		{Name: "copy", Level: model.LevelOps, Duty: model.DutyBatch, Secret: "file:copy", Fingerprint: old.Fingerprint()},
		{Name: "by-hand", Level: model.LevelUser, Secret: "env:BY_HAND", Fingerprint: old.Fingerprint()},
		{Name: "apart", Level: model.LevelUser, Secret: "file:apart", Fingerprint: "0123456789abcdef"},
	} {
		noerr.Must(t, a.Inventory.Add(t.Context(), k))
	}
	if err := a.Inventory.Update(t.Context(), "acme", func(k model.Key) (model.Key, error) {
		k.Fingerprint = old.Fingerprint()
		return k, nil
	}); err != nil {
		t.Fatal(err)
	}
	users := noerr.Try(a.rotations().Users(t.Context(), a.key(t, "acme"))).Must(t)
	p := keystore.PlanRotation(a.key(t, "acme"), keystore.RotateByNewKey, users, a.Now())
	for name, ref := range map[string]string{"key copy": "file:copy", "key by-hand": "env:BY_HAND"} {
		if u, ok := p.User(name); !ok || u.Ref != ref || u.Profile == "" {
			t.Errorf("%s: %+v, want one by %s", name, u, ref)
		}
	}
	for _, name := range []string{"key apart", keystore.ThisConsole} { // of another value; what reads the key's own reference is named
		if u, ok := p.User(name); ok {
			t.Errorf("%+v is among the users", u)
		}
	}

	p.NewFingerprint, p.NewLast4 = renewed.Fingerprint(), renewed.Last4()
	a.env["ACME_KEY"], a.env["BY_HAND"] = renewed.Reveal(), old.Reveal() // nobody has been at the second yet
	noerr.Must(t, a.Resolver.Store(t.Context(), "file:copy", renewed))
	for n := range p.Steps {
		p = noerr.Try(p.Record(n, keystore.Proof{By: keystore.Measured}, a.Now())).Must(t)
	}
	noerr.Must(t, errors.Join(a.rotations().Start(t.Context(), p), a.rotations().TookOver(t.Context(), p)))
	if k := a.key(t, "copy"); k.Fingerprint != renewed.Fingerprint() || k.Level != model.LevelOps || k.Duty != model.DutyBatch || k.Secret != "file:copy" || k.Rotation.Last.IsZero() {
		t.Errorf("%+v", k)
	}
	ended := func() []string {
		t.Helper()
		audit := noerr.Try(a.Keys.Inventory().Audit(t.Context(), true, 0, nil)).Must(t)
		var names []string
		for _, f := range audit.Findings {
			if f.Rule == "ended-value" {
				names = append(names, f.Key)
			}
		}
		return names
	}
	if got := ended(); !slices.Equal(got, []string{"by-hand"}) {
		t.Errorf("the value of %q has ended", got)
	}
	a.env["BY_HAND"] = renewed.Reveal()
	if got := ended(); len(got) > 0 {
		t.Errorf("the value of %q has ended, though it is the new one", got)
	}
}

func TestAKeyOfNoKnownAccountIsNotRotated(t *testing.T) {
	a := newServices(t)
	a.edit(t, `key = "acme"`, `key = "other"`)
	e := a.engine().engine()
	if _, err := e.Begin(t.Context(), rotate.Subject{Key: a.key(t, "acme"), Method: keystore.RotateByNewKey}); err == nil || !strings.Contains(err.Error(), "no profile uses acme") {
		t.Errorf("%v", err)
	}
	if _, err := a.rotations().Prove(t.Context(), rotate.Call{User: keystore.RotationUser{Name: "a script"}, Key: a.key(t, "acme"), Value: keystore.NewSecret("x")}); err == nil || len(a.seen) > 0 {
		t.Errorf("%v; the services were sent %q", err, a.seen)
	}
}

// The value that the console reads from a reference need not be the one that a program reads.
func TestWhatOthersReadIsVouchedFor(t *testing.T) {
	a := newServices(t)
	for name, text := range map[string]string{".env": "ACME_KEY=another-value-0123\n", "vars.env": "export OTHER=$ACME_KEY\n", "own.env": "K=old-value-0123456789\n"} {
		noerr.Must(t, os.WriteFile(filepath.Join(a.folder, name), []byte(text), 0o600))
	}
	a.edit(t, "[profiles.bbb]", "[profiles.ccc]\nbase_url = \"http://127.0.0.1:1\"\n[profiles.ccc.variables]\nTOKEN = \"env:ACME_KEY\"\n[profiles.bbb]")
	old := keystore.NewSecret("old-value-0123456789")
	k := a.key(t, "acme")
	k.Fingerprint, k.Last4 = old.Fingerprint(), old.Last4()
	users := noerr.Try(a.rotations(a.folder).Users(t.Context(), k)).Must(t)
	plan := keystore.PlanRotation(k, keystore.RotateByNewKey, users, a.Now())
	for name, callable := range map[string]bool{
		"profile aaa": true, "profile ccc": false,
		filepath.Join(a.folder, ".env:1"): false, filepath.Join(a.folder, "vars.env:1"): false, filepath.Join(a.folder, "own.env:1"): true,
	} {
		u, ok := plan.User(name)
		if !ok || u.Callable() != callable || !callable && u.Reason == "" || u.Profile == "" {
			t.Errorf("%s: %+v, want a call: %v", name, u, callable)
		}
		if strings.Contains(name, ":1") && u.Ref != "" {
			t.Errorf("%s is tested by what this console reads: %+v", name, u)
		}
	}
}

// Before the old value ends, its users are searched again, although the inventory has the new value by then.
func TestTheLastLookOfARotationIsForTheOldValue(t *testing.T) {
	a := newServices(t)
	old, fresh := keystore.NewSecret("old-value-0123456789"), keystore.NewSecret("new-value-0123456789")
	for name, value := range map[string]keystore.Secret{"late.env": old, "done.env": fresh} {
		noerr.Must(t, os.WriteFile(filepath.Join(a.folder, name), []byte("K="+value.Reveal()+"\n"), 0o600))
	}
	k := a.key(t, "acme")
	k.Fingerprint, k.Last4 = old.Fingerprint(), old.Last4()
	plan := keystore.PlanRotation(k, keystore.RotateByNewKey, nil, a.Now())
	noerr.Must(t, a.rotations().Start(t.Context(), plan))
	err := a.Inventory.Update(t.Context(), "acme", func(k model.Key) (model.Key, error) {
		k.Fingerprint, k.Last4, k.Secret = fresh.Fingerprint(), fresh.Last4(), "env:NEW_KEY"
		return k, nil
	})
	noerr.Must(t, err)
	k.Secret = "env:NEW_KEY"
	users := noerr.Try(a.rotations(a.folder).Users(t.Context(), k)).Must(t)
	var files []string
	for _, u := range users {
		if u.File != "" {
			files = append(files, filepath.Base(u.File))
		}
	}
	if !slices.Equal(files, []string{"late.env"}) {
		t.Errorf("the old value was found in %q", files)
	}
}

// A profile that cannot make a call is no dead end after the new key exists.
func TestAUserThatCannotBeTestedIsVouchedFor(t *testing.T) {
	a := newServices(t)
	a.edit(t, "[profiles.bbb]", "[profiles.nozone]\nbase_url = \"http://127.0.0.1:1\"\nkey = \"acme\"\ndialect = \"documented\"\n[profiles.bbb]")
	users, err := a.rotations().Users(t.Context(), a.key(t, "acme"))
	noerr.Must(t, err)
	i := slices.IndexFunc(users, func(u keystore.RotationUser) bool { return u.Name == "profile nozone" })
	if i < 0 || users[i].Ref != "env:ACME_KEY" || users[i].Callable() || !strings.Contains(users[i].Reason, "names no zone") {
		t.Errorf("%+v", users)
	}
	// A dialect that knows where an account shows its status needs no zone.
	a.edit(t, `dialect = "documented"`, `dialect = "brightdata"`)
	if users, err = a.rotations().Users(t.Context(), a.key(t, "acme")); err != nil || i >= len(users) || users[i].Name != "profile nozone" || !users[i].Callable() {
		t.Errorf("%+v, %v", users, err)
	}
	a.edit(t, "key = \"acme\"\ndialect = \"brightdata\"\n[profiles.bbb]", "key = \"acme\"\ndialect = \"documented\"\n[profiles.bbb]")
	// If no profile can make a call, a person vouches for what each user does.
	a.edit(t, `key = "acme"`, `key = "other"`)
	users, err = a.rotations().Users(t.Context(), a.key(t, "acme"))
	plan := keystore.PlanRotation(a.key(t, "acme"), keystore.RotateByNewKey, users, time.Now())
	if err != nil || !strings.HasPrefix(plan.Unproved(), "profile nozone names no zone") || slices.ContainsFunc(users, func(u keystore.RotationUser) bool { return u.Callable() || u.Profile == "" }) {
		t.Errorf("%+v, %v: %q", users, err, plan.Unproved())
	}
	if text := a.rotations().AccountText(plan); !strings.Contains(text, "profile nozone, http://127.0.0.1:1") {
		t.Error(text)
	}
}

// The configuration is read again while a console is open: the new folders and intervals apply.
func TestARotationFollowsTheConfiguration(t *testing.T) {
	a := newServices(t)
	e := a.engine().engine()
	file := filepath.Join(a.folder, "own.env")
	old := keystore.NewSecret("old-value-0123456789")
	noerr.Must(t, os.WriteFile(file, []byte("K="+old.Reveal()+"\n"), 0o600))
	a.edit(t, "[profiles.aaa]", fmt.Sprintf("[keys]\nscan = [%q]\nrotation_days = {USER = 14}\n[profiles.aaa]", a.folder))
	read := noerr.Try(config.Load(a.config)).Must(t)
	a.inUse.SetFile(read) // as the console does when it has changed
	k := a.key(t, "acme")
	k.Fingerprint, k.Last4 = old.Fingerprint(), old.Last4()
	plan := noerr.Try(e.Begin(t.Context(), rotate.Subject{Key: k, Method: keystore.RotateByNewKey})).Must(t)
	if u, ok := plan.User(file + ":1"); !ok || u.File != file {
		t.Errorf("the file is not found: %+v", plan.Users)
	}
	for i, s := range a.Keys.Inventory().Snippets(SnippetOptions{}) { // a runner has no configuration of its own
		if program := snippet.Kinds(snippet.Keys)[i].Name; (program == "github" || program == "gitlab") != strings.Contains(s.Text, "USER = 14") {
			t.Errorf("the check for %s is %s", program, s.Text)
		}
	}
	if days := a.engine().Days(model.LevelUser); days != 14 {
		t.Errorf("a new USER key lives %d days", days)
	}
}

// A profile of another account may read the same reference. Before a new key is made, a person is asked whether the
// key may be sent there; a command is refused.
func TestWhereARotationSendsAKeyIsJudgedBeforeItBegins(t *testing.T) {
	a := newServices(t)
	p := keystore.RotationPlan{Key: "acme", Ref: "env:ACME_KEY", Users: []keystore.RotationUser{
		{Name: "profile aaa", Ref: "env:ACME_KEY", Profile: "aaa"}, {Name: "profile bbb", Ref: "env:ACME_KEY", Profile: "bbb"},
	}}
	r := a.engine()
	open, err := r.Reach(p, nil)
	if err != nil || len(open) != 1 || open[0].Kind != ask.OtherAccount || !strings.Contains(open[0].Text, "acme is the key of profile aaa") {
		t.Fatalf("a person is asked %+v, %v", open, err)
	}
	if err := a.Owners().Refuse(a.profile(t, "bbb"), a.key(t, "acme")); !errors.Is(err, ErrOtherAccount) {
		t.Fatalf("before a yes: %v", err)
	}
	if left, err := r.Reach(p, ask.Answers{}.With(open[0], ask.Agreed)); err != nil || len(left) != 0 {
		t.Fatalf("after a yes: %+v, %v", left, err)
	}
	if err := a.Owners().Refuse(a.profile(t, "bbb"), a.key(t, "acme")); err != nil {
		t.Errorf("after a yes it is not sent: %v", err)
	}
	after := a.key(t, "acme")
	after.Name = model.NewValueOf(after.Name)
	if err := a.Owners().Refuse(a.profile(t, "bbb"), after); err != nil {
		t.Errorf("after a yes its new value is not sent: %v", err)
	}
	b := newServices(t)
	p.Users[1].Reason = "a program takes it from there"
	if open, err := b.engine().Reach(p, nil); err != nil || len(open) > 0 {
		t.Errorf("a profile that nothing is sent by: %+v, %v", open, err)
	}
	p.Users[1].Reason = ""
	b.as(Caller{Kind: Command})
	if _, err := b.engine().Reach(p, nil); !errors.Is(err, ErrOtherAccount) {
		t.Errorf("a command: %v", err)
	}
	p.Users[1].Profile = "ccc"
	if _, err := a.engine().Reach(p, nil); !errors.Is(err, config.ErrNoSuchProfile) {
		t.Errorf("a profile that is not there: %v", err)
	}
	p.NewFingerprint = "made already"
	if open, err := b.engine().Reach(p, nil); err != nil || open != nil {
		t.Errorf("once a key is made: %+v, %v", open, err)
	}
}

// What profiles of one service have in common is a service that may see a key which none of them uses.
func TestAKeyThatNoProfileUsesIsSentWhereAllProfilesSend(t *testing.T) {
	a := newServices(t)
	a.edit(t, `key = "acme"`, `key = "other"`)
	b, err := os.ReadFile(a.config)
	noerr.Must(t, err)
	a.write(t, strings.ReplaceAll(string(b), a.profile(t, "aaa").BaseURL, a.profile(t, "bbb").BaseURL))
	a.inUse.SetFile(noerr.Try(config.Load(a.config)).Must(t))
	users := noerr.Try(a.rotations().Users(t.Context(), a.key(t, "acme"))).Must(t)
	for _, u := range users {
		if u.Profile != "bbb" {
			t.Errorf("%+v, want the profile in use", u)
		}
	}
	if len(users) == 0 {
		t.Error("it has no user, not even this console")
	}
}

// The settings of the embedded emulator are for the keys that come with it.
func TestOnlyKeysOfTheEmulatorHaveItsSettings(t *testing.T) {
	s := open(t, newOptions(t, map[string]string{"ZONEDECK_PROFILE": "local"}))
	defer func() { _ = s.close(t) }()
	for profile, want := range map[string]bool{"local": true, "acme": false} {
		if got := s.rotations().Settings(keystore.RotationPlan{Profile: profile}); (got != nil) != want {
			t.Errorf("profile %s: %v", profile, got)
		}
	}
	a := newServices(t)
	if got := a.rotations().Settings(keystore.RotationPlan{Profile: a.profile(t, "bbb").Name}); got != nil {
		t.Errorf("without the emulator: %v", got)
	}
}

// Before a password is added it is certain that the key is there.
func TestAPasswordIsChangedByAKeyThatIsThere(t *testing.T) {
	a := newServices(t)
	a.edit(t, "[profiles.aaa]", "[profiles.aaa]\naccount = \"hl_1234abcd\"")
	a.inUse.SetFile(noerr.Try(config.Load(a.config)).Must(t)) // as the console does when it has changed
	for key, ok := range map[string]bool{"acme": true, "other": false} {
		noerr.Must(t, a.Inventory.Update(t.Context(), key, func(k model.Key) (model.Key, error) { k.Level = model.LevelOps; return k, nil }))
		plan := keystore.PlanPassword(keystore.ZonePassword{Zone: "unl", Account: "hl_1234abcd", Ref: "file:unl", ChangedBy: key}, []keystore.RotationUser{{Name: "profile aaa", Profile: "aaa", Ref: "file:unl"}}, a.Now())
		if err := (zonePasswords{a.engine()}).Check(t.Context(), plan); ok != (err == nil) {
			t.Errorf("by %s: %v", key, err)
		}
	}
}
