package rotate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
)

// An accepted value may still have too few rights: a key of a lower level passes every call of a rotation, and
// its users stop when the old key is deleted.

// levelTime limits how long a level is measured: during a refresh everything stands still.
const levelTime = 10 * time.Second

// seeLevel checks that the new value may do what the old one may, as far as that can be measured, and says what
// was found. proof is the call that accepted the value.
func (r *run) seeLevel(ctx context.Context, n int, proof keystore.Proof, value keystore.Secret) (words string, err error) {
	levels, why := r.levels(ctx, r.plan.NewName, proof, value)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	want := []model.Level{r.key().Level}
	if want[0] == model.LevelUnknown {
		var unseen error
		if want, unseen = r.oldLevels(ctx); unseen != nil && why == nil {
			return "level " + among(levels) + ", that of the old one is not known", context.Cause(ctx)
		}
	}
	switch fits := slices.ContainsFunc(levels, func(l model.Level) bool { return slices.Contains(want, l) }); {
	case fits && why != nil:
		return "level not measured (" + why.Error() + ")", r.notLevel(ctx, "")
	case fits:
		return "level " + among(levels), r.notLevel(ctx, "")
	}
	if err := r.notLevel(ctx, among(levels)); err != nil {
		return "", err
	}
	stop := r.stop(n, "the new value (••••%s) is accepted, but by what it may do it is %s, and %s is %s", value.Last4(), among(levels), r.plan.Key, among(want))
	stop.Value = r.c.Accounts.Settings(r.plan) == nil
	switch {
	case stop.Value && r.plan.Method == keystore.RotateByRefresh:
		stop.Advice += ": give the value that the refresh showed in place of this one"
	case stop.Value:
		stop.Advice += ": create a key of that level, and give its value here in place of this one"
	}
	stop.Advice += "; or vouch for it: then the inventory says what was seen"
	if stop.Value && r.plan.Method != keystore.RotateByRefresh {
		stop.Advice += ". The key of a value that is not taken stays valid until it is deleted in the account settings"
	}
	return "", stop
}

// notLevel records the level that was measured for the new value; "" if it is the key's.
func (r *run) notLevel(ctx context.Context, words string) error {
	if r.plan.NewLevel == words {
		return nil
	}
	return r.note(ctx, func(p *keystore.RotationPlan) { p.NewLevel = words })
}

// oldLevels are the levels that fit what the old value may do. The error says why they could not be measured.
func (r *run) oldLevels(ctx context.Context) ([]model.Level, error) {
	if r.plan.OldHeld == "" {
		return model.Levels(), errors.New("it is not at hand")
	}
	old, err := r.oldValue(ctx)
	if err != nil {
		return model.Levels(), err
	}
	return r.levels(ctx, r.plan.OldName, keystore.Proof{}, old)
}

// levels are the levels that fit what a value may do. The account settings list its level. Without them, the calls
// of the account's dialect and a successful fetch narrow it down. The error says why those calls or the settings
// gave nothing.
func (r *run) levels(ctx context.Context, name string, proof keystore.Proof, value keystore.Secret) ([]model.Level, error) {
	ctx, cancel := context.WithTimeout(ctx, levelTime)
	defer cancel()
	if settings := r.c.Accounts.Settings(r.plan); settings != nil {
		keys, err := settings.Keys(ctx)
		if err != nil {
			return model.Levels(), err
		}
		k, _ := keyNamed(keys, name)
		if level, err := model.ParseLevel(k.Level); err == nil && level != model.LevelUnknown {
			return []model.Level{level}, nil
		}
		return model.Levels(), fmt.Errorf("the account settings show no level of %s", name)
	}
	home, _ := r.plan.Home()
	levels, err := r.c.Prover.Levels(ctx, home, value)
	if err != nil {
		levels = model.Levels()
	}
	if proof.Status/100 == 2 { // it fetches, which FINANCE may not
		levels = slices.DeleteFunc(slices.Clone(levels), func(l model.Level) bool { return l.Permission(model.CapUse) == model.PermNo })
	}
	if len(levels) == 0 {
		return model.Levels(), errors.New("what it may do fits no level of contract 5.3")
	}
	return levels, err
}

// among lists one level or several alternatives: "OPS or LIMIT".
func among(levels []model.Level) string {
	words := make([]string, len(levels))
	for i, l := range levels {
		words[i] = l.String()
	}
	return strings.Join(words, " or ")
}
