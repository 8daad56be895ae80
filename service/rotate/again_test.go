package rotate_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/rotate"
)

// TestAReferenceThatLostTheNewValueIsSetAgain writes the old value back behind a reference after it was
// set, and after its user was seen to work.
func TestAReferenceThatLostTheNewValueIsSetAgain(t *testing.T) {
	demo := start(t)
	for _, method := range []keystore.RotationMethod{keystore.RotateByNewKey, keystore.RotateByRefresh} {
		for _, when := range []keystore.RotationWord{keystore.WordSet, keystore.WordTest} {
			t.Run(string(method)+" after "+string(when), func(t *testing.T) {
				p := newPlace(t, demo, "lost-"+string(method[:3])+"-"+string(when))
				old := noerr.Try(p.secrets().Resolve(t.Context(), p.Key.Secret)).Must(t)
				c := p.config()
				e, plan := p.begin(t, c, method)
				plan = noerr.Try(e.Run(t.Context(), plan.ID, when, nil)).Must(t)
				for _, u := range p.Users {
					noerr.Must(t, p.secrets().Store(t.Context(), u.Ref, old))
				}
				if res, err := c.Prove(t.Context(), rotate.Call{Key: p.Key, Value: old}); method == keystore.RotateByRefresh && (err != nil || res.ServiceStatus != http.StatusUnauthorized) {
					t.Errorf("the client: %d, %v", res.ServiceStatus, err)
				}
				plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
				p.wantDone(t, plan)
				for _, u := range p.Users {
					set, _ := plan.Step(keystore.StepSet, u.Ref)
					test, _ := plan.Step(keystore.StepTest, u.Name)
					again := "it gave the old value (••••" + old.Last4() + ") at "
					if !strings.Contains(set.Note, "written and read back; "+again) || !test.At.After(set.At) || strings.Contains(test.Note, again) != (when == keystore.WordTest) {
						t.Errorf("the record says %+v and %+v", set, test)
					}
				}
				if refused := plan.OutageRefused; refused != 0 && method == keystore.RotateByNewKey || refused != 1 && method == keystore.RotateByRefresh {
					t.Errorf("%d calls are counted as refused in the outage", refused)
				}
			})
		}
	}
}

// TestAFileThatLostTheNewValueIsForAPerson puts the old value back into a file after it was set.
func TestAFileThatLostTheNewValueIsForAPerson(t *testing.T) {
	p := newPlace(t, start(t), "fileback")
	old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
	noerr.Must(t, err)
	p = p.withFileAndJob(t)
	noerr.Must(t, os.Remove(p.jobFile()))
	e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
	plan, err = e.Run(t.Context(), plan.ID, "", nil)
	value, held := p.secrets().Resolve(t.Context(), plan.NewHeld)
	if stop := (*rotate.StopError)(nil); !errors.As(err, &stop) || held != nil {
		t.Fatal(err, held)
	}
	file := filepath.Join(p.Dir, "deploy.env")
	noerr.Must(t, p.writeEnv(file, value))
	plan = noerr.Try(e.Run(t.Context(), plan.ID, keystore.WordTest, nil)).Must(t)
	for _, lost := range []func() error{func() error { return p.writeEnv(file, old) }, func() error { return os.Remove(file) }} {
		noerr.Must(t, lost())
		var stop *rotate.StopError
		plan, err = e.Run(t.Context(), plan.ID, "", nil)
		if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepSet || stop.Step.Subject != file || stop.Vouch || stop.Step.Note == "" {
			t.Fatalf("%v, want that a person writes the file again", err)
		}
		noerr.Must(t, p.writeEnv(file, value))
		plan = noerr.Try(e.Run(t.Context(), plan.ID, keystore.WordTest, nil)).Must(t)
	}
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
}

// undone are secrets of which one gets its old value back each time after it was set and read back.
type undone struct {
	*keystore.Resolver
	ref    string
	old    keystore.Secret
	resets bool // before the next read but one
}

func (u *undone) Store(ctx context.Context, ref string, s keystore.Secret) error {
	u.resets = u.resets || ref == u.ref
	return u.Resolver.Store(ctx, ref, s)
}

func (u *undone) Resolve(ctx context.Context, ref string) (keystore.Secret, error) {
	s, err := u.Resolver.Resolve(ctx, ref)
	if ref == u.ref && u.resets {
		u.resets = false
		err = errors.Join(err, u.Resolver.Store(ctx, ref, u.old))
	}
	return s, err
}

// TestAReferenceThatIsWrittenBackAtOnceEndsTheRun has another program that writes the old value.
func TestAReferenceThatIsWrittenBackAtOnceEndsTheRun(t *testing.T) {
	p := newPlace(t, start(t), "fight")
	old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
	noerr.Must(t, err)
	c := p.config()
	c.Secrets = &undone{Resolver: p.secrets(), ref: p.Users[1].Ref, old: old}
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	steps := len(plan.Steps)
	for range 2 {
		plan, err = e.Run(t.Context(), plan.ID, "", nil)
		var stop *rotate.StopError
		if err == nil || errors.As(err, &stop) || !strings.Contains(err.Error(), "find what writes it") || len(plan.Steps) != steps {
			t.Fatalf("%v, %d steps of %d", err, len(plan.Steps), steps)
		}
	}
	plan = noerr.Try(p.config().engine().Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
}

// rereads are secrets where every second read of one reference gives another value, as if something wrote it
// between two reads.
type rereads struct {
	rotate.Secrets
	ref   string
	other keystore.Secret
	n     int
}

func (r *rereads) Resolve(ctx context.Context, ref string) (keystore.Secret, error) {
	if ref == r.ref {
		if r.n++; r.n%2 == 0 {
			return r.other, nil
		}
	}
	return r.Secrets.Resolve(ctx, ref)
}

func TestACallWithAnotherValueThanTheNewOneProvesNothing(t *testing.T) {
	p := newPlace(t, start(t), "reread")
	old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
	noerr.Must(t, err)
	c := p.config()
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	plan = noerr.Try(e.Run(t.Context(), plan.ID, keystore.WordSet, nil)).Must(t)
	c.Secrets = &rereads{Secrets: c.Secrets, ref: p.Users[1].Ref, other: old}
	plan, err = c.engine().Run(t.Context(), plan.ID, keystore.WordTest, nil)
	if err == nil || !strings.Contains(err.Error(), "reads another value than the new one") {
		t.Errorf("%v, want that another value is read", err)
	}
	if s, _ := plan.Step(keystore.StepTest, p.Users[1].Name); s.Done {
		t.Errorf("a call with the old value is taken for a proof: %+v", s)
	}
}

// stillListed are account settings that delete nothing.
type stillListed struct{ rotate.Settings }

func (stillListed) DeleteKey(context.Context, string) error { return nil }

func TestADeletedKeyThatIsStillListedIsNotGone(t *testing.T) {
	p := newPlace(t, start(t), "listed")
	c := p.config()
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return stillListed{p.settings()} }
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if err == nil || !strings.Contains(err.Error(), "is still listed") {
		t.Errorf("%v, want that it is still listed", err)
	}
	if s, _ := plan.Step(keystore.StepDelete, ""); s.Done {
		t.Errorf("the deletion is ticked: %+v", s)
	}
}
