package keys

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
)

func TestAValueIsRecordedBesideTheCallThatUsesIt(t *testing.T) {
	env := map[string]string{"ETL": "a-value-of-etl-0123456789"}
	o := newOptions(t, env)
	s := open(t, o)
	k := model.Key{Name: "etl", Level: model.LevelUser, Secret: "env:ETL"}
	noerr.Must(t, s.Inventory.Add(t.Context(), k))
	unlock := noerr.Try(textfile.Lock(t.Context(), s.Paths.KeysFile())).Must(t)
	value, err := s.Value(t.Context(), s.inUse.Profile(), k) // it returns although the inventory is locked
	noerr.Must(t, err)
	if known := named(s.Keys.Inventory().Recorded(), "etl"); known.Fingerprint != value.Fingerprint() {
		t.Errorf("in this run it is %q", known.Fingerprint)
	}
	unlock()
	noerr.Must(t, s.close(t))
	kept := noerr.Try(keystore.OpenInventory(s.Paths.KeysFile())).Must(t)
	if known, _ := kept.Get("etl"); known.Fingerprint != value.Fingerprint() || known.Last4 != value.Last4() {
		t.Errorf("recorded: %+v", known)
	}
}

func TestAValueThatARotationHoldsIsNotRecorded(t *testing.T) {
	a := newServices(t)
	a.env["OTHER"] = "a-new-value-0123456789"
	k, _ := a.Inventory.Get("other")
	k.Fingerprint = keystore.NewSecret("the-old-value-0123456789").Fingerprint()
	noerr.Must(t, a.rotations().Start(t.Context(), keystore.PlanRotation(k, keystore.RotateByNewKey, nil, a.Now())))
	noerr.Must(t, noerr.From(a.Value(t.Context(), a.inUse.Profile(), k)))
	noerr.Must(t, a.close(t))
	if now, _ := a.Inventory.Get("other"); now.Fingerprint != "" {
		t.Errorf("the rotation's new value was recorded: %+v", now)
	}
}

// The environment may give a value that only a rotation under way shows to be a key's.
func TestTheEnvironmentsKeyIsKnownByARotationUnderWay(t *testing.T) {
	a := newServices(t)
	value := keystore.NewSecret("the-new-value-0123456789")
	a.env[config.EnvKey] = value.Reveal()
	plan := noerr.Try(keystore.PlanRotation(a.key(t, "acme"), keystore.RotateByNewKey, nil, a.Now()).RecordNewValue(value, "file:new")).Must(t)
	noerr.Must(t, a.rotations().Start(t.Context(), plan))
	level := func() model.Level {
		a.lookForKeyOf(t.Context(), a.Inventory.List())
		return a.key(t, config.EnvKey).Level
	}
	if got := level(); got != model.LevelUser {
		t.Errorf("its level is %q, want that of acme", got)
	}
	noerr.Must(t, noerr.From(a.rotations().Update(t.Context(), plan.ID, func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Abandon(a.Now()) })))
	if got := level(); got != model.LevelUnknown {
		t.Errorf("after the rotation its level is %q", got)
	}
}

func TestTheScanOfARotationRecognisesAValueThatWasNeverUsed(t *testing.T) {
	a := newServices(t)
	noerr.Must(t, os.WriteFile(filepath.Join(a.folder, "deploy.env"), []byte("TOKEN=old-value-0123456789\n"), 0o600))
	k, _ := a.Inventory.Get("acme")
	users := noerr.Try(a.rotations(a.folder).Users(t.Context(), k)).Must(t)
	if !slices.ContainsFunc(users, func(u keystore.RotationUser) bool { return u.File != "" }) {
		t.Errorf("the file that holds the value is not among %+v", users)
	}
}

func TestARotationKnowsAProfileThatHasTheValueBehindAnotherReference(t *testing.T) {
	a := newServices(t)
	a.env["OTHER"] = a.env["ACME_KEY"]
	k, _ := a.Inventory.Get("acme")
	k.Fingerprint = keystore.NewSecret("a-value-before-0123456789").Fingerprint() // as it was when it was last used
	users := noerr.Try(a.rotations().Users(t.Context(), k)).Must(t)
	if !slices.ContainsFunc(users, func(u keystore.RotationUser) bool { return u.Profile == "bbb" && u.Ref == "env:OTHER" }) {
		t.Errorf("profile bbb, which has the same value, is not among %+v", users)
	}
}
