package keys_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/radius"
	"zonedeck/ui"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// rig is the tab over real files.
type rig struct {
	inventory *keystore.Inventory
	rotations *keystore.Rotations
	service   *fakeService
	dir       string
	changed   atomic.Int32
	reading   atomic.Pointer[func()] // called while records are read, after those of rotations
	writing   chan struct{}          // that a removal waits for; nil for none
}

// heldInventory is the rig's, whose removals may wait, as for another process's lock.
type heldInventory struct {
	*keystore.Inventory
	gate chan struct{}
}

func (h heldInventory) Remove(ctx context.Context, k model.Key) error {
	if h.gate != nil {
		select {
		case <-h.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return h.Inventory.Remove(ctx, k)
}

type keysChanged struct{}

func newRig(t *testing.T, own ...model.Key) *rig {
	t.Helper()
	dir := t.TempDir()
	inv := noerr.Try(keystore.OpenInventory(filepath.Join(dir, "keys.toml"))).Must(t)
	for _, k := range own {
		noerr.Must(t, inv.Add(context.Background(), k))
	}
	return &rig{inventory: inv, rotations: keystore.OpenRotations(filepath.Join(dir, "rotations")), service: newFakeService(), dir: dir}
}

func (r *rig) start(t *testing.T, session kit.Session, w, h int) *uitest.Screen {
	t.Helper()
	return r.open(t, session, w, h, func(d *keys.Deps) {
		d.Inventory = heldInventory{r.inventory, r.writing}
		d.Uses = fakeUses{find: func(context.Context, []string, func(radius.Progress)) (map[radius.KeyID][]radius.Use, []string, error) {
			if f := r.reading.Swap(nil); f != nil {
				(*f)()
			}
			id := radius.KeyID{Name: session.Key.Name, Profile: session.ProfileName}
			return map[radius.KeyID][]radius.Use{id: {{Kind: radius.Profile, Name: session.ProfileName}}}, nil, nil
		}}
		d.Changed = func() tea.Msg { r.changed.Add(1); return keysChanged{} }
	})
}

// open starts the tab with what a test changes in its parts.
func (r *rig) open(t *testing.T, session kit.Session, w, h int, change func(d *keys.Deps)) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	d := keys.Deps{Ctx: t.Context(), Now: time.Now, Theme: theme, Inventory: r.inventory, Rotations: r.kept(), Uses: fakeUses{}}
	change(&d)
	return uitest.Start(t, ui.New(ui.Deps{
		Ctx: t.Context(), Now: d.Now, Theme: theme, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Keys, View: keys.New(d)}}, Session: session,
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
	return kit.Session{ProfileName: "local", Local: true, Ready: true, ProfileKeys: all, Key: all[0]}
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
		s.Expect("Lint (", "ADMIN is used for batch job (admin-automated)", "fix: create a USER key", "contract 5.4")
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
			if !strings.Contains(line, "│") { // the footer
				continue
			}
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
		s.Type("4f8a2c7e91d04b6c")
		s.Press("ctrl+s")
		s.Expect("its name may be a key's value")
		s.Press("ctrl+u")
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
		if n := r.changed.Load(); n != 1 {
			t.Errorf("the wiring was told %d times, want 1", n)
		}
		s.AllowError("the inventory has a key of that name")
		s.Press("a")
		s.Type("etl")
		s.Press("ctrl+s")
		s.Expect("the inventory has a key of that name")
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
		namesake := ownKey()
		namesake.Name = "batch-user"
		r := newRig(t, namesake)
		s := r.start(t, demoSession(), 120, 40)
		s.Expect("Keys (6)", "✗ overdue     batch-user ", "✓ ok          batch-user (local)")
		s.Send(kit.Goto{View: kit.Keys, Msg: kit.OpenKey{Name: "batch-user"}})
		s.Expect("✓ ok  batch-user (local)  USER", "demo:key/batch-user")
		s.Press("R")
		s.Expect("the inventory also has a key batch-user")
		s.Press("!")
		s.ExpectNot("Rotation of")
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

func TestThePaletteFindsWhatPeopleType(t *testing.T) {
	for typed, want := range map[string]string{"new key": "›record a key", "schedule": "›automate", "delete": "›forget", "regenerate": "›rotate"} {
		synctest.Test(t, func(t *testing.T) {
			s := newRig(t).start(t, demoSession(), 120, 40)
			s.Press("ctrl+p")
			s.Type(typed)
			s.Expect(want)
		})
	}
}
