package rotate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
)

// works reports whether the service takes a value, once its journal has the call: that is written after the answer.
func (p place) works(t *testing.T, value keystore.Secret) bool {
	t.Helper()
	began := time.Now()
	res := noerr.Try(p.config().Prove(t.Context(), rotate.Call{Key: p.Key, Value: value})).Must(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	has := func() bool { // an earlier call may be written just now
		page := noerr.Try(p.settings().Newest(t.Context(), 10)).Must(t)
		return slices.ContainsFunc(page.Requests, func(q rehearsal.Request) bool { return !q.Time.Before(began) })
	}
	for !has() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the service's journal does not have the call")
		}
	}
	return res.Diagnosis.OK()
}

// TestAKeyOfTheChosenNameThatOthersMadeIsLeftAlone records a name, as a killed run does, and lets
// somebody else make a key of that name.
func TestAKeyOfTheChosenNameThatOthersMadeIsLeftAlone(t *testing.T) {
	const chosen = "2027-02-20T12:00:00Z"
	for name, foreign := range map[string]rehearsal.Key{
		"level":  {Level: "USER", Duty: "batch job", Expires: chosen},
		"duty":   {Level: "OPS", Duty: "CI", Expires: chosen},
		"expiry": {Level: "OPS", Duty: "batch job", Expires: "2027-02-20T12:00:01Z"},
		"use":    {Level: "OPS", Duty: "batch job", Expires: chosen},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, start(t), "foreign")
			e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
			noerr.Must(t, noerr.From(p.records().Update(t.Context(), plan.ID, func(r keystore.RotationPlan) (keystore.RotationPlan, error) {
				r.NewName, r.NewExpires = "foreign-2", chosen
				return r, nil
			})))
			foreign.Name = "foreign-2"
			made, err := p.settings().CreateKey(t.Context(), foreign)
			noerr.Must(t, err)
			value := keystore.NewSecret(made.Value)
			if name == "use" && !p.works(t, value) {
				t.Fatal("the key of somebody else does not work")
			}
			plan, err = e.Run(t.Context(), plan.ID, "", nil)
			if err != nil || !plan.Over() || plan.NewName != "foreign-3" {
				t.Errorf("%v, made %s, want another name", err, plan.NewName)
			}
			if !p.works(t, value) {
				t.Error("the key of somebody else is refused")
			}
		})
	}
}

// raced are account settings in which others make a key just before one of that name is made.
type raced struct {
	*rehearsal.Client
	made rehearsal.Key
	err  error
}

func (r *raced) CreateKey(ctx context.Context, k rehearsal.Key) (rehearsal.Key, error) {
	if r.made.Name == "" {
		r.made, r.err = r.Client.CreateKey(ctx, k)
	}
	return r.Client.CreateKey(ctx, k)
}

// TestTwoRotationsChooseOneName lets a rotation find its name taken when it makes the key.
func TestTwoRotationsChooseOneName(t *testing.T) {
	p := newPlace(t, start(t), "etl-9")
	settings := &raced{Client: p.settings()}
	c := p.config()
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return settings }
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	noerr.Must(t, errors.Join(err, settings.err))
	if !p.works(t, keystore.NewSecret(settings.made.Value)) || plan.NewName == settings.made.Name || !strings.HasPrefix(plan.NewName, "etl-") || !plan.Over() {
		t.Errorf("made %s beside %s, whose value has to work", plan.NewName, settings.made.Name)
	}
}
