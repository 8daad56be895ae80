package rotate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/rehearsal"
)

// Rehearse takes every step of a rotation with copies: a new key in the settings of c, which must be
// an emulator's, and values in memory. It reads the references of the key and its users. It writes
// nothing real, and keeps no record. The steps of a person are taken with the copies; the returned plan
// has them as vouched for, because they will stop a real run. byHand says that a person works the real
// account's settings: then making the new value and deleting the old one are such steps. An error says
// which step could not be taken.
func Rehearse(ctx context.Context, c Config, k model.Key, method keystore.RotationMethod, byHand bool) (plan keystore.RotationPlan, err error) {
	users, err := c.Keys.Users(ctx, k)
	if err != nil {
		return plan, fmt.Errorf("finding out what uses %s: %w", k.Name, err)
	}
	settings := c.Accounts.Settings(plan)
	if settings == nil {
		return plan, errors.New("a rehearsal needs the account settings of an emulator")
	}
	dir, err := os.MkdirTemp("", "zonedeck-rehearsal-")
	if err != nil {
		return plan, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // records of copies, without values
	name := "rehearsal-" + strings.ToLower(rand.Text()[:12])
	level := k.Level.String()
	if k.Level == model.LevelUnknown {
		level = model.LevelUser.String()
	}
	made, err := settings.CreateKey(ctx, rehearsal.Key{Name: name, Level: level, Expires: "Unlimited"})
	if err != nil {
		return plan, err
	}
	defer func() { // the keys may be gone already
		for _, left := range []string{name, name + "-2"} {
			_ = settings.DeleteKey(context.WithoutCancel(ctx), left)
		}
	}()
	old := keystore.NewSecret(made.Value)
	copies := &copies{values: map[string]keystore.Secret{}, old: old, settings: byHand}
	for _, ref := range references(k, users) {
		value, err := c.Secrets.Resolve(ctx, ref)
		switch {
		case err != nil:
			return plan, fmt.Errorf("a rotation could not begin: %w", err)
		case k.Fingerprint != "" && value.Fingerprint() != k.Fingerprint:
			return plan, fmt.Errorf("a rotation would stop: %s does not give the recorded value of %s", label(ref), k.Name)
		}
		copies.values[ref] = old
	}
	c.rehearsed = k.Name
	c.Records, c.Keys, c.Secrets, c.Files, c.LockDir = keystore.OpenRotations(dir), rehearsedKeys{c.Keys, users}, copies, copies, dir
	copied := k
	copied.Name, copied.Fingerprint, copied.Last4 = name, old.Fingerprint(), old.Last4()
	return rehearsed(ctx, New(c), copies, copied, k, method)
}

// rehearsed runs the rotation of the copy, and takes the steps of a person.
func rehearsed(ctx context.Context, e *Engine, values *copies, copied, k model.Key, method keystore.RotationMethod) (keystore.RotationPlan, error) {
	plan, err := e.Begin(ctx, Subject{Key: copied, Method: method})
	for err == nil && !plan.Over() {
		var stop *StopError
		if plan, err = e.Run(ctx, plan.ID, "", nil); !errors.As(err, &stop) {
			break
		}
		if !stop.Vouch { // a file, a variable, a command: the copy gets the new value
			fresh, held := values.values[plan.NewHeld]
			if stop.Step.Kind != keystore.StepSet || !held || values.valueAt(stop.Step.Subject).Equal(fresh) {
				break
			}
			values.values[stop.Step.Subject], err = fresh, nil
			values.byHand = append(values.byHand, stop.Step.Subject)
			continue
		}
		plan, err = e.Vouch(ctx, plan.ID, stop.Step, yours)
	}
	plan.Key = k.Name
	for i, s := range plan.Steps {
		if s.Done && values.person(s) {
			plan.Steps[i].By, plan.Steps[i].Note, plan.Steps[i].Status, plan.Steps[i].Duration = keystore.Vouched, yours, 0, 0
		}
	}
	return plan, err
}

// yours is the note of a step that a rehearsal took for a person.
const yours = "in the rehearsal; yours to do in a rotation"

// person reports whether a person takes a step of the real rotation.
func (c *copies) person(s keystore.RotationStep) bool {
	switch s.Kind {
	case keystore.StepSet:
		return slices.Contains(c.byHand, s.Subject)
	case keystore.StepCreate, keystore.StepRefresh, keystore.StepDelete:
		return c.settings
	default:
		return false
	}
}

// references are the references that give a key and its users the value.
func references(k model.Key, users []keystore.RotationUser) []string {
	out, seen := []string{}, map[string]bool{"": true}
	for _, ref := range append([]string{k.Secret}, refsOf(users)...) {
		if !seen[ref] {
			seen[ref] = true
			out = append(out, ref)
		}
	}
	return out
}

func refsOf(users []keystore.RotationUser) (out []string) {
	for _, u := range users {
		if u.File == "" && !u.InFlight {
			out = append(out, u.Ref)
		}
	}
	return out
}

// rehearsedKeys are the Keys of a rehearsal. They leave the real keys as they are.
type rehearsedKeys struct {
	Keys
	users []keystore.RotationUser
}

func (rehearsedKeys) Refuse(keystore.RotationPlan) error { return nil }

func (k rehearsedKeys) Users(context.Context, model.Key) ([]keystore.RotationUser, error) {
	return k.users, nil
}

// Reach asks nothing: only a copy is sent.
func (rehearsedKeys) Reach(keystore.RotationPlan, ask.Answers) ([]ask.Question, error) {
	return nil, nil
}

func (rehearsedKeys) TookOver(context.Context, keystore.RotationPlan) error { return nil }

// copies are secrets in memory, for one rehearsal on one goroutine.
type copies struct {
	values map[string]keystore.Secret
	old    keystore.Secret // the value of a place that was not written
	byHand []string        // the places that a person would write
	// settings says that a person works the real account's settings.
	settings bool
}

// valueAt is the value that a file or a reference gives.
func (c *copies) valueAt(place string) keystore.Secret {
	if v, ok := c.values[place]; ok {
		return v
	}
	return c.old
}

// Holds reports whether the copy of a file holds the value with this fingerprint.
func (c *copies) Holds(file, fingerprint string) (bool, error) {
	return c.valueAt(file).Fingerprint() == fingerprint, nil
}

func (c *copies) Resolve(_ context.Context, ref string) (keystore.Secret, error) {
	if v, ok := c.values[ref]; ok {
		return v, nil
	}
	return keystore.Secret{}, fmt.Errorf("%s: %w", label(ref), keystore.ErrSecretMissing)
}

func (c *copies) Store(_ context.Context, ref string, s keystore.Secret) error {
	c.values[ref] = s
	return nil
}

func (c *copies) Remove(_ context.Context, ref string) error {
	delete(c.values, ref)
	return nil
}
