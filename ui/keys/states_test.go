package keys_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/radius"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// healthyKey breaks no rule.
func healthyKey() model.Key {
	return model.Key{
		Name: "prod", Level: model.LevelUser, Duty: model.DutyBatch, Created: fakeDay(-400), Expires: model.ExpiresAt(fakeDay(60)), Rotation: model.Rotation{Last: fakeDay(-20)},
		Secret: "keyring:acme/prod", Fingerprint: "feedface00000001", Last4: "9f91", UsedBy: []string{"nightly-etl"},
	}
}

// TestTheStatesOfTheList draws the list by what is known of its keys.
func TestTheStatesOfTheList(t *testing.T) {
	acme := kit.Session{ProfileName: "acme", Ready: true}
	unread, damaged := acme, acme
	unread.Unread, damaged.Unread = keystore.ErrKeysUnread, errors.New("keys.toml:3:1: level \"OPERATOR\" is not one of ADMIN, FINANCE, OPS, LIMIT, USER")
	due, past, unseen := healthyKey(), healthyKey(), healthyKey()
	due.Rotation.Last = fakeDay(-90)
	past.Expires, past.Rotation.Last = model.ExpiresAt(fakeDay(-3)), fakeDay(-120)
	unseen.Level, unseen.Duty, unseen.Fingerprint, unseen.Last4 = model.LevelAdmin, model.DutyHuman, "", ""
	for name, c := range map[string]struct {
		session kit.Session
		keys    []model.Key
		keys1   []string // that are pressed
		typed   string
		keys2   []string
		want    []string
	}{
		"list-healthy":      {acme, []model.Key{healthyKey()}, []string{"l"}, "", nil, []string{"the rules find nothing wrong"}},
		"list-due":          {acme, []model.Key{due}, nil, "", nil, []string{"due today"}},
		"list-past":         {acme, []model.Key{past}, nil, "", nil, []string{"✗ expired"}},
		"list-nothing":      {acme, []model.Key{{Name: "inherited"}}, nil, "", nil, []string{"? unknown", "age unknown"}},
		"list-admin-unseen": {acme, []model.Key{unseen}, []string{"l"}, "", nil, []string{"its value was never read"}},
		"list-no-match":     {acme, []model.Key{healthyKey()}, []string{"/"}, "level:admin", []string{"enter"}, []string{"nothing matches: esc shows all keys"}},
		"list-wrong-filter": {acme, []model.Key{healthyKey()}, []string{"/"}, "zone:x", nil, []string{"unknown term"}},
		"list-unread":       {unread, nil, nil, "", nil, []string{"reading keys…"}},
		"list-damaged":      {damaged, nil, nil, "", nil, []string{"the inventory could not be read", "keys.toml:3:1"}},
		"add-wrong":         {acme, []model.Key{healthyKey()}, []string{"a", "down", "down", "down", "enter"}, "soon", []string{"ctrl+s"}, []string{"✗"}},
		"copied":            {acme, []model.Key{healthyKey()}, []string{"y", "f"}, "", nil, []string{"sent fingerprint (16 B)"}},
		"forget-unknown":    {acme, []model.Key{{Name: "inherited"}}, []string{"X"}, "", nil, []string{"Forget the key?"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newRig(t, c.keys...).start(t, c.session, 120, 40)
				s.Press(c.keys1...)
				s.Type(c.typed)
				s.Press(c.keys2...)
				s.Expect(c.want...)
				s.Looks(name)
			})
		})
	}
}

// everyUse has a use of each kind, and a scan that a test leads.
type everyUse struct{ goes chan struct{} }

func (u everyUse) find(ctx context.Context, folders []string, progress func(radius.Progress)) (map[radius.KeyID][]radius.Use, []string, error) {
	id := radius.KeyID{Name: "prod"}
	found := []radius.Use{
		{Kind: radius.Profile, Name: "acme", Ref: "keyring:acme/prod", Last4: "9f91"},
		{Kind: radius.Profile, Name: "staging", Ref: "env:STAGING_KEY"},
		{Kind: radius.Profile, Name: "vault", Ref: "cmd:op read op://ops/prod"},
		{Kind: radius.Profile, Name: "wide", Ref: "keyring:acme/prod", Unmeasured: "a variable of the profile stands for it: only the requests with that variable use it"},
		{Kind: radius.SavedRequest, Name: "daily prices", Ref: "file:prod"},
		{Kind: radius.RunningJob, Name: "job-7 (running)", Place: "acme", Ref: "keyring:acme/prod", Unmeasured: "it runs with the value that it was begun with: wait for its end"},
		{Kind: radius.Recorded, Name: "nightly-etl", Unmeasured: "the inventory has only its name: whoever runs it has to check a call"},
	}
	if len(folders) == 0 {
		return map[radius.KeyID][]radius.Use{id: found}, nil, nil
	}
	progress(radius.Progress{Files: 1200, Bytes: 5 << 20, Path: "/srv/etl/node_modules/left-pad/index.js"})
	select {
	case <-u.goes:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	found = append(found,
		radius.Use{Kind: radius.EnvFile, Name: "/srv/etl/.env", Place: "/srv/etl/.env:4", Ref: "env:PROD_KEY", Last4: "9f91"},
		radius.Use{Kind: radius.EnvFile, Name: "/srv/etl/new.env", Place: "/srv/etl/new.env:1", Last4: "3b3b", Previous: true},
		radius.Use{Kind: radius.EnvFile, Name: "/srv/etl/old.env", Place: "/srv/etl/old.env:2", Last4: "0a0a", Ended: time.Now(), Unmeasured: "the value there has ended on 1999-12-30, and is refused: give it the present one"},
		radius.Use{Kind: radius.TrackedFile, Name: "/srv/etl/deploy.sh", Place: "/srv/etl/deploy.sh:12", Fingerprint: "feedface00000001", Last4: "9f91"})
	return map[radius.KeyID][]radius.Use{id: found}, []string{"/srv/etl/secret was not read: permission denied"}, nil
}

// TestTheStatesOfTheBlastRadius draws each kind of use, and a look through folders.
func TestTheStatesOfTheBlastRadius(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		find := everyUse{make(chan struct{})}
		s := newRig(t, healthyKey()).startFinding(t, kit.Session{ProfileName: "acme", Ready: true}, find.find)
		s.Press("b", "z")
		s.Expect("profile vault · cmd:op …", "job-7")
		s.Looks("radius-kinds")
		s.Press("s", "ctrl+s")
		s.Expect("left-pad")
		s.Looks("radius-scanning")
		close(find.goes)
		s.Settle()
		s.Expect("searched ")
		s.Looks("radius-scanned")
		s.Resize(80, 24)
		s.Press("G")
		uitest.Golden(t, "radius-scanned-end-80x24", s.Screen())
	})
}

// TestNothingIsKnownToUseAKey draws the blast radius of a key that nothing uses.
func TestNothingIsKnownToUseAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := healthyKey()
		k.UsedBy = nil
		s := newRig(t, k).start(t, kit.Session{ProfileName: "acme", Ready: true}, 120, 40)
		s.Press("b")
		s.Expect("nothing known uses it")
		s.Looks("radius-none")
	})
}
