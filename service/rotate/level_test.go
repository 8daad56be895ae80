package rotate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/exchange"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
)

// byHand is the config of an account whose settings a person works, with a dialect that tells what a key
// may see.
func (p place) byHand(dialect string) setup {
	p.Profile.Dialect = dialect
	c := p.config()
	c.Settings = nil
	c.Levels = func(ctx context.Context, _ keystore.RotationUser, value keystore.Secret) ([]model.Level, error) {
		return account.Config{Wire: exchange.New(exchange.Config{})}.KeyLevels(ctx, p.Profile, value)
	}
	return c
}

// give makes a key of a level in the account settings, and gives its value.
func (p place) give(t *testing.T, e *rotate.Engine, id, name string, level model.Level) {
	t.Helper()
	made := noerr.Try(p.settings().CreateKey(t.Context(), rehearsal.Key{Name: name, Level: level.String(), Duty: "batch job", Expires: "Unlimited"})).Must(t)
	noerr.Must(t, noerr.From(e.Give(t.Context(), id, keystore.NewSecret(made.Value), "")))
}

// TestAValueOfAnotherLevelIsNotTaken gives values that are accepted, and may do something else than the
// old one; then the right one, or a person's word.
func TestAValueOfAnotherLevelIsNotTaken(t *testing.T) {
	demo := start(t)
	for _, given := range []model.Level{model.LevelUser, model.LevelAdmin} {
		t.Run(given.String(), func(t *testing.T) {
			p := newPlace(t, demo, "level-"+strings.ToLower(given.String()))
			e, plan := p.begin(t, p.byHand("brightdata"), keystore.RotateByNewKey)
			p.give(t, e, plan.ID, p.Key.Name+"-wrong", given)
			var stop *rotate.StopError
			plan, err := e.Run(t.Context(), plan.ID, "", nil)
			if !errors.As(err, &stop) || !stop.Value || !stop.Vouch || !strings.Contains(stop.Advice, "it is "+given.String()+", and "+p.Key.Name+" is OPS") || !strings.Contains(stop.Advice, "stays valid until it is deleted in the account settings") {
				t.Fatalf("%v", err)
			}
			if now, err := p.secrets().Resolve(t.Context(), p.Key.Secret); err != nil || now.Fingerprint() != p.Key.Fingerprint || plan.Steps[0].Done {
				t.Fatalf("the reference gives ••••%s, %v; %+v", now.Last4(), err, plan.Steps[0])
			}
			p.give(t, e, plan.ID, p.Key.Name+"-2", model.LevelOps)
			plan, err = e.Run(t.Context(), plan.ID, keystore.WordTest, nil)
			if err != nil || plan.Steps[0].By != keystore.Measured || !strings.Contains(plan.Steps[0].Note, "level OPS or LIMIT") || plan.NewLevel != "" {
				t.Errorf("%v: %+v", err, plan.Steps[0])
			}
		})
	}
}

func TestAnotherLevelIsTakenOnAPersonsWord(t *testing.T) {
	p := newPlace(t, start(t), "downgraded")
	c := p.byHand("brightdata")
	var renewed model.Key
	c.TookOver = func(_ context.Context, plan keystore.RotationPlan) error { renewed = plan.Rotated(p.Key); return nil }
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	p.give(t, e, plan.ID, p.Key.Name+"-2", model.LevelUser)
	create := plan.Steps[0]
	if _, err := e.Vouch(t.Context(), plan.ID, create, "unseen"); err == nil {
		t.Fatal("vouched for before it was accepted")
	}
	if _, err := e.Run(t.Context(), plan.ID, "", nil); err == nil {
		t.Fatal("no stop")
	}
	plan, err := e.Vouch(t.Context(), plan.ID, create, "meant so")
	if err != nil || plan.Steps[0].By != keystore.Vouched || plan.Steps[0].Note != "it is USER: meant so" {
		t.Fatalf("%v: %+v", err, plan.Steps[0])
	}
	if _, err = e.Run(t.Context(), plan.ID, keystore.WordTest, nil); err != nil || renewed.Level != model.LevelUser {
		t.Errorf("%v; the inventory says %s", err, renewed.Level)
	}
}

// TestWhatTellsNoLevelIsSaid has accounts that tell less, or nothing.
func TestWhatTellsNoLevelIsSaid(t *testing.T) {
	demo := start(t)
	tests := map[string]struct {
		dialect       string
		recorded, new model.Level
		note, stop    string
	}{
		"no call is known":          {"documented", model.LevelOps, model.LevelUser, "level not measured (the contract shows no call", ""},
		"a FINANCE key fetches":     {"documented", model.LevelFinance, model.LevelUser, "", "it is ADMIN or OPS or LIMIT or USER, and "},
		"no level is recorded":      {"brightdata", model.LevelUnknown, model.LevelOps, "level OPS or LIMIT", ""},
		"none, and the old is more": {"brightdata", model.LevelUnknown, model.LevelUser, "", " is OPS or LIMIT"},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, demo, strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(name, ",", "")), " ", "-"))
			p.Key.Level = want.recorded
			e, plan := p.begin(t, p.byHand(want.dialect), keystore.RotateByNewKey)
			p.give(t, e, plan.ID, p.Key.Name+"-2", want.new)
			plan, err := e.Run(t.Context(), plan.ID, keystore.WordCreate, nil)
			if want.stop == "" && (err != nil || !strings.Contains(plan.Steps[0].Note, want.note)) {
				t.Errorf("%v: %+v", err, plan.Steps[0])
			}
			if want.stop != "" && (err == nil || !strings.Contains(err.Error(), want.stop)) {
				t.Errorf("%v: %+v", err, plan.Steps[0])
			}
		})
	}
}

// TestTheAccountSettingsTellTheLevel has an inventory that says another level than the account.
func TestTheAccountSettingsTellTheLevel(t *testing.T) {
	p := newPlace(t, start(t), "listed")
	p.Key.Level = model.LevelUser
	e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
	var stop *rotate.StopError
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if !errors.As(err, &stop) || stop.Value || !stop.Vouch || !strings.Contains(stop.Advice, "it is OPS, and listed is USER") {
		t.Fatalf("%v", err)
	}
	if plan, err = e.Vouch(t.Context(), plan.ID, stop.Step, ""); err != nil || plan.Steps[0].Note != "it is OPS" {
		t.Errorf("%v: %+v", err, plan.Steps[0])
	}
}

// A value of another level is not that of the refreshed key: none was made that is to be deleted.
func TestARefreshAsksForItsOwnValue(t *testing.T) {
	p := newPlace(t, start(t), "refreshed")
	e, plan := p.begin(t, p.byHand("brightdata"), keystore.RotateByRefresh)
	p.give(t, e, plan.ID, p.Key.Name+"-wrong", model.LevelUser)
	_, err := e.Run(t.Context(), plan.ID, "", nil)
	if err == nil || !strings.Contains(err.Error(), "it is USER, and "+p.Key.Name+" is OPS: give the value that the refresh showed") || strings.Contains(err.Error(), "deleted") {
		t.Errorf("%v", err)
	}
}
