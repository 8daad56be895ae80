package password

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/profile"
)

// A change may take a moment to reach the proxy: what may pass with time is tried again, and
// nothing else is.
func TestAPasswordIsTriedAgainWhileThatMayHelp(t *testing.T) {
	var (
		ok       = model.Diagnosis{Class: model.ClassOK}
		rejected = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseLoginRejected, Summary: "the login was rejected"}
		page     = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseTargetError, Summary: "the target answered with an error"}
		broken   = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseNetwork, Summary: "no connection"}
	)
	for name, c := range map[string]struct {
		accepted bool
		answers  []model.Diagnosis
		took     time.Duration
		says     string
	}{
		"works at once":             {true, []model.Diagnosis{ok}, 0, ""},
		"works in the end":          {true, []model.Diagnosis{rejected, rejected, rejected, ok}, 9 * time.Second, ""},
		"works, not the page":       {true, []model.Diagnosis{rejected, page}, time.Second, ""},
		"old gets to the page":      {false, []model.Diagnosis{page, page, page, page}, 9 * time.Second, "it is still accepted"},
		"old got to the page":       {false, []model.Diagnosis{page, rejected}, time.Second, ""},
		"never works":               {true, []model.Diagnosis{rejected, rejected, rejected, rejected}, 9 * time.Second, "the login was rejected"},
		"cannot be tried":           {true, []model.Diagnosis{broken}, 0, "no connection"},
		"cannot be tried any more":  {true, []model.Diagnosis{rejected, broken}, time.Second, "no connection"},
		"is refused at once":        {false, []model.Diagnosis{rejected}, 0, ""},
		"is refused after a moment": {false, []model.Diagnosis{ok, ok, rejected}, 4 * time.Second, ""},
		"is never refused":          {false, []model.Diagnosis{ok, ok, ok, ok}, 9 * time.Second, "it is still accepted"},
		"nobody can say":            {false, []model.Diagnosis{broken}, 0, "not known: no connection"},
	} {
		synctest.Test(t, func(t *testing.T) {
			left := c.answers
			r := renewal{rn: New(Config{Prove: func(context.Context, model.Zone, keystore.Secret) (model.ProbeResult, error) {
				if len(left) == 0 {
					t.Errorf("%s: one more call", name)
					return model.ProbeResult{Diagnosis: ok}, nil
				}
				d := left[0]
				left = left[1:]
				return model.ProbeResult{Diagnosis: d}, nil
			}})}
			began := time.Now()
			err := r.prove(t.Context(), keystore.NewSecret("value"), c.accepted)
			if took := time.Since(began); len(left) > 0 || took != c.took || c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
				t.Errorf("%s: %v after %s, %d answers left", name, err, took, len(left))
			}
		})
	}
	failed := errors.New("no proxy")
	r := renewal{rn: New(Config{Prove: func(context.Context, model.Zone, keystore.Secret) (model.ProbeResult, error) {
		return model.ProbeResult{}, failed
	}})}
	if err := r.prove(t.Context(), keystore.NewSecret("value"), true); !errors.Is(err, failed) {
		t.Errorf("without a call: %v", err)
	}
}

// A reference that follows the service may need a moment, another one does not.
func TestAReferenceIsReadAgainWhileThatMayHelp(t *testing.T) {
	unreadable := errors.New("unreadable")
	for name, c := range map[string]struct {
		follows bool
		values  []string
		fails   string // "profile" or "secret"
		took    time.Duration
		says    string
	}{
		"it leads there":        {false, []string{"new"}, "", 0, ""},
		"it does not":           {false, []string{"old"}, "", 0, "it gives another value"},
		"it follows at once":    {true, []string{"new"}, "", 0, ""},
		"it follows later":      {true, []string{"old", "old", "new"}, "", 4 * time.Second, ""},
		"it never follows":      {true, []string{"old", "old", "old", "old"}, "", 9 * time.Second, "it gives another value"},
		"there is no profile":   {true, nil, "profile", 0, "unreadable"},
		"it cannot be resolved": {true, nil, "secret", 0, "unreadable"},
	} {
		synctest.Test(t, func(t *testing.T) {
			left := c.values
			access := exchange.Access{
				Profile: func(context.Context) (profile.Profile, error) {
					if c.fails == "profile" {
						return profile.Profile{}, unreadable
					}
					return profile.Profile{}, nil
				},
				Secret: func(context.Context, string) (keystore.Secret, error) {
					if c.fails == "profile" {
						return keystore.NewSecret("new"), nil
					}
					if len(left) == 0 {
						return keystore.Secret{}, unreadable
					}
					v := left[0]
					left = left[1:]
					return keystore.NewSecret(v), nil
				},
			}
			r := renewal{rn: New(Config{Access: access, Follows: func(string) bool { return c.follows }}), now: keystore.NewSecret("new")}
			began := time.Now()
			err := r.leads(t.Context())
			if took := time.Since(began); len(left) > 0 || took != c.took || c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
				t.Errorf("%s: %v after %s, %d values left", name, err, took, len(left))
			}
		})
	}
}

// What follows the service and cannot be read afterwards is no renewal.
func TestAReferenceThatDoesNotFollowIsTold(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Follows = func(string) bool { return true } })
	secret, read := r.cfg.Access.Secret, 0
	r.cfg.Access.Secret = func(ctx context.Context, ref string) (keystore.Secret, error) {
		if read++; ref == "file:isp_demo" && slices.Contains(r.calls, "removed") {
			return keystore.Secret{}, errors.New("unreadable")
		}
		return secret(ctx, ref)
	}
	res, err := New(r.cfg).Renew(t.Context(), r.zone("isp_demo"), "etl-main", func(now model.PasswordRenewal) {
		if now.Steps[len(now.Steps)-1].Name == "remove" {
			r.calls = append(r.calls, "removed")
		}
	})
	last := res.Steps[len(res.Steps)-1]
	if err == nil || res.Renewed || res.OldRefused || last.Name != "keep" || last.OK || !strings.Contains(last.Text, "unreadable") {
		t.Errorf("%+v, %v after %d readings", res, err, read)
	}
}

// Before the new password is kept an interruption takes it back, and afterwards the old one
// is removed all the same.
func TestAnInterruptionLeavesNothingHalfDone(t *testing.T) {
	for step, want := range map[string][]string{
		"add":  {"store true", "add true", "prove false", "undo true"},
		"keep": {"store true", "add true", "prove true", "keep true", "remove true", "refused false"},
	} {
		r := newRig(t)
		before := r.store["file:isp_demo"].Reveal()
		ctx, cancel := context.WithCancel(t.Context())
		res, err := New(r.cfg).Renew(ctx, r.zone("isp_demo"), "etl-main", func(now model.PasswordRenewal) {
			if now.Steps[len(now.Steps)-1].Name == step {
				cancel()
			}
		})
		cancel()
		var steps []string
		for _, s := range res.Steps {
			steps = append(steps, fmt.Sprintf("%s %v", s.Name, s.OK))
		}
		kept := step == "keep"
		if err == nil || res.Renewed != kept || !slices.Equal(steps, want) || r.accepts(t, "isp_demo", newPassword) != kept || r.accepts(t, "isp_demo", before) == kept {
			t.Errorf("after %s: %q, %+v, %v", step, steps, res, err)
		}
	}
}

// lines is a timeline that keeps its lines, and fails.
type lines []model.Activity

func (l *lines) PutActivity(_ context.Context, a model.Activity) error {
	*l = append(*l, a)
	return errors.New("the disk is full")
}

// The key that was used is named, a password is made, and the line of the timeline has a time.
func TestWhatIsNotGivenIsChosen(t *testing.T) {
	kept := lines{}
	r := newRig(t, func(c *Config) { c.New, c.Journal = nil, &kept })
	r.p.Key = "etl-main"
	began := time.Now()
	res, err := r.renew(t, "isp_demo", "")
	if err != nil || res.KeyName != "etl-main" {
		t.Errorf("%+v, %v", res, err)
	}
	if value := r.store["file:isp_demo"].Reveal(); len(value) < 26 || !r.accepts(t, "isp_demo", value) {
		t.Errorf("a password of %d letters", len(value))
	}
	if len(kept) != 1 || kept[0].Key != "etl-main" || kept[0].At.Before(began) {
		t.Errorf("%+v", kept)
	}
	z := r.zone("isp_demo")
	z.Password = "nowhere:x"
	_, parse := keystore.ParseRef(z.Password)
	if err := New(r.cfg).Refusal(r.p, z, model.Key{}); err == nil || parse == nil || fmt.Sprint(err) != fmt.Sprint(parse) {
		t.Errorf("a reference of another kind: %v, want %v", err, parse)
	}
}
