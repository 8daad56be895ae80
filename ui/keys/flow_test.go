package keys_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/radius"
	"zonedeck/ui"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeSecrets is a place for secrets that is only in memory.
type fakeSecrets struct {
	mu     sync.Mutex
	values map[string]string
	gate   <-chan struct{} // that every Resolve waits for; nil for none
	fails  error           // of every Resolve
	// afterStore is what fails becomes by the next Store.
	afterStore error
}

func (f *fakeSecrets) Resolve(_ context.Context, ref string) (keystore.Secret, error) {
	if f.gate != nil {
		<-f.gate
	}
	if f.fails != nil {
		return keystore.Secret{}, f.fails
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.values[ref]
	if !ok {
		return keystore.Secret{}, errors.New("secret missing: " + ref)
	}
	return keystore.NewSecret(v), nil
}

func (f *fakeSecrets) Store(_ context.Context, ref string, s keystore.Secret) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.values[ref], f.fails = s.Reveal(), f.afterStore
	f.afterStore = nil
	return nil
}

// rig is the tab over real files.
type rig struct {
	inventory *keystore.Inventory
	rotations *keystore.Rotations
	secrets   *fakeSecrets
	prover    fakeProver
	dir       string
	changed   int
}

type keysChanged struct{}

func newRig(t *testing.T, own ...model.Key) *rig {
	t.Helper()
	dir := t.TempDir()
	inv, err := keystore.OpenInventory(filepath.Join(dir, "keys.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range own {
		if err := inv.Add(context.Background(), k); err != nil {
			t.Fatal(err)
		}
	}
	return &rig{inventory: inv, rotations: keystore.OpenRotations(filepath.Join(dir, "rotations")), secrets: &fakeSecrets{values: map[string]string{}}, dir: dir}
}

func (r *rig) start(t *testing.T, session kit.Session, w, h int) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	view := keys.New(keys.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, Inventory: r.inventory, Rotations: r.rotations, Secrets: r.secrets, Prover: &r.prover,
		Uses: func(context.Context, []string, func(radius.Progress)) (map[radius.KeyID][]radius.Use, []string, error) {
			id := radius.KeyID{Name: session.Key.Name, Profile: session.ProfileName}
			return map[radius.KeyID][]radius.Use{id: {{Kind: radius.Profile, Name: session.ProfileName}}}, nil, nil
		},
		Changed: func() tea.Msg { r.changed++; return keysChanged{} },
	})
	return uitest.Start(t, ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs: []ui.Tab{{ID: kit.Keys, View: view}}, Session: session,
	}), w, h)
}

// The fake clock starts at 2000-01-01 UTC.
func fakeDay(n int) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n)
}

func demoSession() kit.Session {
	all := []model.Key{
		{Name: "batch-user", Level: model.LevelUser, Duty: model.DutyBatch, Expires: model.ExpiresAt(fakeDay(60)), Rotation: model.Rotation{Last: fakeDay(-20)}, Secret: "demo:key/batch-user", Last4: "f2a1"},
		{Name: "etl-main", Level: model.LevelOps, Duty: model.DutyBatch, Expires: model.Unlimited(), Rotation: model.Rotation{Last: fakeDay(-112)}, UsedBy: []string{"nightly-etl"}},
		{Name: "ci-fetch", Level: model.LevelUser, Duty: model.DutyCI, Expires: model.ExpiresAt(fakeDay(7)), Rotation: model.Rotation{Last: fakeDay(-52)}},
		{Name: "old-admin", Level: model.LevelAdmin, Duty: model.DutyBatch, Expires: model.ExpiresAt(fakeDay(41))},
		{Name: "gone", Level: model.LevelLimit, Duty: model.DutyHuman, Expires: model.ExpiresAt(fakeDay(-3)), Rotation: model.Rotation{Last: fakeDay(-80)}},
	}
	return kit.Session{ProfileName: "local", Local: true, Ready: true, Given: all, Key: all[0]}
}

func ownKey() model.Key {
	return model.Key{
		Name: "prod", Level: model.LevelUser, Duty: model.DutyBatch, Expires: model.ExpiresAt(fakeDay(30)),
		Rotation: model.Rotation{Last: fakeDay(-100)}, Secret: "keyring:acme/prod", UsedBy: []string{"etl", "scraper"},
	}
}

func TestBothClocksTheWorstFirst(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}} {
		synctest.Test(t, func(t *testing.T) {
			s := newRig(t).start(t, demoSession(), size[0], size[1])
			t.Log("\n" + s.Screen())
			s.Expect("✗ expired", "✗ overdue")
			s.Press("z")
			s.Expect("! expires", "? unknown", "✓ ok")
			lines := s.Screen()
			if strings.Index(lines, "gone") > strings.LastIndex(lines, "✓ ok") {
				t.Error("the worst key is not first")
			}
		})
	}
}

func TestLintAndLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRig(t).start(t, demoSession(), 80, 24)
		s.Press("l", "z", "G")
		s.Expect("Lint (", "ADMIN is used for batch job (admin-automated)", "fix: issue a USER key", "contract 5.4")
		t.Log("\n" + s.Screen())
		s.Press("z", "v")
		s.Expect("BILLING", "FINANCE", "partial")
		t.Log("\n" + s.Screen())
		s.Press("esc")
		s.Expect("Details")
	})
}

func TestMotionKeysAreNotTypedIntoTheDialog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s := r.start(t, kit.Session{ProfileName: "acme", Ready: true}, 100, 30)
		s.Press("a", "down") // from the name to the level
		s.Press("j", "j", "j", "j", "k", "k", "k", "k", "j", "j", "j")
		s.Expect("Record a key", "›Made on")
		for _, line := range strings.Split(s.Screen(), "\n") {
			if strings.Contains(line, "Expires") && !strings.Contains(line, "e.g. 2027-01-31") || strings.Contains(line, "Made on") && !strings.Contains(line, "e.g. 2026-11-21") {
				t.Errorf("something was typed:\n%s", line)
			}
		}
		s.Press("enter")
		s.Type("j")
		s.Expect("›Made on      j")
	})
}

func TestRecordingAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s := r.start(t, kit.Session{ProfileName: "acme", Ready: true}, 100, 30)
		s.Expect("no keys yet: a records one")
		s.Press("a")
		s.Type("etl")
		s.Press("tab", "space", "tab", "space", "space", "tab")
		s.Expect("ADMIN is used for batch job")
		s.Type("soon")
		s.Press("ctrl+s")
		s.Expect("write a date like 2027-01-31, or Unlimited")
		s.Press("ctrl+u")
		s.Type("Unlimited")
		s.Press("tab", "tab")
		s.Type("hunter2-the-key-itself")
		s.Press("ctrl+s")
		s.Expect("a secret", "itself is never kept here")
		t.Log("\n" + s.Screen())
		s.Press("ctrl+u")
		s.Type("env:ETL_KEY")
		s.Press("ctrl+s")
		s.ExpectNot("Record a key")
		s.Expect("etl", "ADMIN", "Unlimited !", "unknown")
		k, ok := r.inventory.Get("etl")
		if !ok || k.Level != model.LevelAdmin || k.Duty != model.DutyBatch || k.Secret != "env:ETL_KEY" || k.Expires.Kind != model.ExpiryUnlimited || !k.Rotation.Last.IsZero() {
			t.Errorf("recorded %+v", k)
		}
		if r.changed != 1 {
			t.Errorf("the wiring was told %d times, want 1", r.changed)
		}
		s.AllowError("the inventory has a key of that name")
		s.Press("a")
		s.Type("etl")
		s.Press("ctrl+s")
		s.Expect("the inventory has a key of that name")
	})
}

func TestARotationIsLeftAndContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		session := kit.Session{ProfileName: "acme", Ready: true}
		s := r.start(t, session, 100, 36)
		s.Press("R")
		s.Expect("Rotate prod by new key", "Blast radius", "etl  not seen", "[›] look at what uses the key")
		s.Press("enter")
		s.Expect("[›] issue a new key")
		s.Press("esc")
		s.Expect("Rotating  1 of 7 steps done, next: issue a", "continue rotation")

		s.Press("R", "enter")
		s.Expect("[›] store the new value")
		s.Press("enter")
		s.Expect("Where is the new value?")
		s.Press("ctrl+u")
		s.Type("keyring:acme/prod-2")
		s.Press("ctrl+s")
		s.Expect("secret missing: keyring:acme/prod-2")
		s.Press("tab")
		s.Type("a-brand-new-value-9f9f")
		s.ExpectNot("a-brand-new-value")
		s.Press("ctrl+s")
		s.Expect("keyring:acme/prod-2 · ••••9f9f", "[›] make one call")
		if got := r.secrets.values["keyring:acme/prod-2"]; got != "a-brand-new-value-9f9f" {
			t.Fatalf("stored %q", got)
		}
		if k, _ := r.inventory.Get("prod"); k.Secret != "keyring:acme/prod" {
			t.Fatalf("the inventory switched before the users: %+v", k)
		}
		s.Press("enter", "enter") // prove, switch
		k, _ := r.inventory.Get("prod")
		if k.Secret != "keyring:acme/prod-2" || k.Last4 != "9f9f" || k.Expires.Kind != model.ExpiryUnknown {
			t.Fatalf("after the switch: %+v", k)
		}
		if age, ok := k.Rotation.AgeDays(time.Now()); !ok || age != 0 {
			t.Fatalf("age %d %v after the rotation", age, ok)
		}
		t.Log("\n" + s.Screen())
		s.Press("enter")
		// Nothing claims what the console did not see.
		s.Expect("etl  ~ you vouch for a call", "scraper  not seen", "[✓] store the new value behind a reference of its own · measured", "[~] make one call with the new value · vouched for")
		s.ExpectNot("a call worked")
		s.Press("enter", "enter", "enter") // scraper, each, delete
		s.Expect("the rotation of prod is done: steps measured 1, vouched for 6")
		plans, err := r.rotations.List()
		if err != nil || len(plans) != 1 || plans[0].Users[0].By != keystore.Vouched {
			t.Fatalf("the record: %+v, %v", plans, err)
		}
		for _, step := range plans[0].Steps {
			if measured := step.Kind == keystore.StepStore; measured != (step.By == keystore.Measured) {
				t.Errorf("step %s is by %q", step.Kind, step.By)
			}
		}
		s.ExpectNot("Blast radius")
		if _, running, err := r.rotations.Running("", "prod"); running || err != nil {
			t.Fatalf("still running: %v", err)
		}
	})
}

func TestManyUsesLeaveTheStepsInView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := ownKey()
		k.UsedBy = nil
		for i := range 12 {
			k.UsedBy = append(k.UsedBy, fmt.Sprintf("job-%02d", i))
		}
		r := newRig(t, k)
		s := r.start(t, kit.Session{ProfileName: "acme", Ready: true}, 80, 24)
		s.Press("R")
		s.Expect("[ ] delete the old key", "job-00", "… and")
		s.ExpectNot("job-11")
		p := s.Screen()
		if len(strings.Split(p, "job-")) > 9 {
			t.Errorf("it shows too much:\n%s", p)
		}
		plan, _, err := r.rotations.Running("", "prod")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.rotations.Update(t.Context(), plan.ID, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
			for _, kind := range []keystore.RotationStepKind{keystore.StepReview, keystore.StepIssue, keystore.StepStore, keystore.StepProve, keystore.StepSwitch} {
				var err error
				if p, err = p.Tick(kind, keystore.Vouched, "", time.Now()); err != nil {
					return p, err
				}
			}
			return p, nil
		}); err != nil {
			t.Fatal(err)
		}
		s.Press("esc", "ctrl+r", "R")
		s.Press("down", "down", "down", "down", "down", "down", "down", "down", "down", "down", "down")
		s.Expect("› job-11", "[ ] delete the old key")
	})
}

func TestAStepCanBeUndoneUntilTheRotationIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		s := r.start(t, kit.Session{ProfileName: "acme", Ready: true}, 100, 36)
		s.Press("R", "u")
		s.Expect("no step is done yet")
		s.Press("enter")
		s.Expect("[›] issue a new key")
		s.Press("u")
		s.Expect("[›] look at what uses the key")
		s.Press("enter")
		plan, _, err := r.rotations.Running("", "prod")
		if err != nil {
			t.Fatal(err)
		}
		// Another console gives it up while this one shows it.
		if _, err := r.rotations.Update(t.Context(), plan.ID, func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Abandon(time.Now()) }); err != nil {
			t.Fatal(err)
		}
		s.Press("u")
		s.Expect("the rotation is over")
		plans, err := r.rotations.List()
		if err != nil || len(plans) != 1 || !plans[0].Over() || !plans[0].Steps[0].Done {
			t.Errorf("the record is %+v, %v", plans, err)
		}
	})
}

func TestARefreshNamesWhatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		s := r.start(t, kit.Session{ProfileName: "acme", Ready: true}, 100, 36)
		s.Press("r")
		s.Expect("the old one is invalid", "These stop at that moment: etl, scraper")
		s.Press("n")
		if plans, _ := r.rotations.List(); len(plans) != 0 {
			t.Fatal("a rotation was begun after no")
		}
		s.Press("r", "y")
		s.Expect("Rotate prod by refresh", "stop or drain what uses it")
		s.Press("X")
		s.Expect("Give up the rotation?")
		s.Press("y")
		s.Expect("was abandoned")
	})
}

func TestARefreshBeginsBesideAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		gate := make(chan struct{})
		r.secrets.gate = gate
		s := r.start(t, kit.Session{ProfileName: "acme", Ready: true}, 100, 36)
		s.Press("r")
		s.Expect("The console reads the old value now", "keyring:acme/prod (this may")
		s.Press("y", "R")
		s.Expect("a rotation is being begun")
		s.Press("ctrl+r")
		close(gate)
		s.Settle()
		s.Expect("Rotate prod by refresh")
	})
}

func TestAKeyOfTheProfileCannotBeForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRig(t).start(t, demoSession(), 100, 30)
		s.Press("X")
		s.Expect("is not in the inventory: it comes with the profile")
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		s := r.start(t, kit.Session{ProfileName: "acme", Ready: true}, 100, 30)
		s.Press("X")
		s.Expect("It is used by: etl, scraper", "stays valid at the service")
		s.Press("y")
		s.Expect("prod is removed from the inventory")
		if _, ok := r.inventory.Get("prod"); ok {
			t.Error("it is still there")
		}
	})
}

func TestTwoKeysOfOneNameAreBothShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		twin := ownKey()
		twin.Name = "batch-user"
		r := newRig(t, twin)
		s := r.start(t, demoSession(), 120, 40)
		s.Expect("Keys (6)", "✗ overdue     batch-user ", "✓ ok          batch-user (local)")
		s.Send(kit.Goto{View: kit.Keys, Msg: kit.OpenKey{Name: "batch-user"}})
		s.Expect("✓ ok  batch-user (local)  USER", "demo:key/batch-user")
		s.Press("R")
		s.Expect("the inventory has a key batch-user, too")
		s.Press("r")
		s.ExpectNot("Begin a refresh?")
		s.Press("X")
		s.Expect("it comes with the profile")
		if plans, err := r.rotations.List(); len(plans) != 0 || err != nil {
			t.Errorf("a rotation was begun: %+v, %v", plans, err)
		}
	})
}

func TestAnotherTabOpensAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRig(t).start(t, demoSession(), 120, 40)
		s.Send(kit.Goto{View: kit.Keys, Msg: kit.OpenKey{Name: "old-admin"}})
		s.Expect("? unknown  old-admin  ADMIN")
		s.Send(kit.Goto{View: kit.Keys, Msg: kit.OpenKey{Name: "nobody"}})
		s.Expect("key nobody is not recorded")
	})
}
