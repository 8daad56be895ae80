package rotate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/password"
	"zonedeck/service/rehearsal"
)

// A zone may have several passwords at once, and a call of the account's dialect changes them. So the
// console makes the new one itself. It holds and records it before the service gets it. If a step fails
// before a reference was set, the new password is taken back.

// Passwords changes and proves the proxy passwords of zones. Errors hold no password.
type Passwords interface {
	// Check refuses a rotation that could not be completed. Nothing is sent.
	Check(ctx context.Context, p keystore.RotationPlan) error
	// Users are the users of the old password.
	Users(ctx context.Context, p keystore.RotationPlan) ([]keystore.RotationUser, error)
	// Make makes a password.
	Make() keystore.Secret
	// Add adds a password to those that the zone accepts, Remove removes one.
	Add(ctx context.Context, p keystore.RotationPlan, value keystore.Secret) error
	Remove(ctx context.Context, p keystore.RotationPlan, value keystore.Secret) error
	// Login logs in as a user does. l says whether that must be accepted or refused. It waits for changes
	// that take a moment to reach the proxy.
	Login(ctx context.Context, p keystore.RotationPlan, u keystore.RotationUser, l exchange.LoginProof) (keystore.Proof, error)
	// Leads waits until a reference that follows the service gives this value.
	Leads(ctx context.Context, ref string, value keystore.Secret) error
}

// Password is the proxy password of a zone.
type Password struct {
	Zone    model.Zone
	Account model.AccountID
	Profile string // the profile that the zone comes with; empty for a zone of the configuration
	Key     string // the key that changes the password
}

// planPassword is the rotation of a zone's password as it would begin now. Nothing is written.
func (e *Engine) planPassword(ctx context.Context, w Password) (keystore.RotationPlan, error) {
	z := keystore.ZonePassword{Zone: string(w.Zone.Name), Account: string(w.Account), Profile: w.Profile, Ref: w.Zone.Password, ChangedBy: w.Key}
	now := e.c.Keys.Now(keystore.RotationPlan{Profile: w.Profile})
	p := keystore.PlanPassword(z, nil, now)
	if err := e.c.Passwords.Check(ctx, p); err != nil {
		return p, err
	}
	old, err := e.c.Secrets.Resolve(ctx, z.Ref)
	if err != nil {
		return p, err
	}
	z.Fingerprint, z.Last4 = old.Fingerprint(), old.Last4()
	users, err := e.c.Passwords.Users(ctx, keystore.PlanPassword(z, nil, now))
	if err != nil {
		return p, fmt.Errorf("finding out what uses the %s: %w", p.Key, err)
	}
	return keystore.PlanPassword(z, users, now), nil
}

// addPassword adds the new password and logs in with it. If that fails, it takes the password back.
func (r *run) addPassword(ctx context.Context) (keystore.Proof, error) {
	if err := r.holdOld(ctx); err != nil {
		return keystore.Proof{}, err
	}
	again := r.plan.NewFingerprint != "" // a killed run may have added it
	if !again {
		value, err := r.c.Secrets.Resolve(ctx, r.heldNew())
		switch {
		case errors.Is(err, keystore.ErrSecretMissing):
			value = r.c.Passwords.Make()
		case err != nil:
			return keystore.Proof{}, fmt.Errorf("looking for a new password of an earlier run: %w", err)
		}
		if err := r.hold(ctx, value); err != nil {
			return keystore.Proof{}, err
		}
	}
	value, err := r.newValue(ctx)
	if err != nil {
		return keystore.Proof{}, err
	}
	if err := r.c.Passwords.Add(ctx, r.plan, value); err != nil {
		if !again || !r.logsIn(ctx, value) {
			return keystore.Proof{}, r.takeBack(ctx, fmt.Errorf("adding the new password: %w", err))
		}
	}
	proof, err := r.accepted(ctx, keystore.RotationUser{}, value)
	if err != nil {
		return proof, r.takeBack(ctx, fmt.Errorf("the login with the new password: %w", err))
	}
	proof.Note += ", ••••" + value.Last4()
	return proof, nil
}

func (r *run) logsIn(ctx context.Context, value keystore.Secret) bool {
	_, err := r.accepted(ctx, keystore.RotationUser{}, value)
	return err == nil
}

// takeBack removes the new password, puts the old one back where a reference was written, and ends the
// rotation. If that fails, the rotation stays open, and the next run goes on.
func (r *run) takeBack(ctx context.Context, cause error) error {
	if ctx.Err() != nil { // it was only stopped: the next run goes on
		return cause
	}
	if err := r.undo(ctx); err != nil {
		return fmt.Errorf("%w; the new password could not be taken back (%w) and may be valid beside the old one: the same again goes on", cause, err)
	}
	return fmt.Errorf("%w; the new password was taken back, and the old one stays", cause)
}

// undo first records that it has begun: after a kill the next run completes it, and does not go on with a
// password that is gone.
func (r *run) undo(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	begun := r.plan.Undone // by a run that was killed
	if err := r.note(ctx, func(p *keystore.RotationPlan) { p.Undone = true }); err != nil {
		return err
	}
	if !begun || !r.heldLost(ctx) { // else a killed run had done that, and was removing the held values
		if err := r.unadd(ctx); err != nil {
			if !begun { // the next run goes on with the rotation
				err = errors.Join(err, r.note(ctx, func(p *keystore.RotationPlan) { p.Undone = false }))
			}
			return err
		}
	}
	if err := r.release(ctx, false); err != nil {
		return err
	}
	return r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Abandon(r.c.Keys.Now(p)) })
}

// unadd puts the old password back, and removes the new one.
func (r *run) unadd(ctx context.Context) error {
	if r.plan.NewHeld == "" {
		return nil
	}
	old, err := r.oldValue(ctx)
	if err != nil {
		return err
	}
	value, err := r.newValue(ctx)
	if err != nil {
		return err
	}
	if err := r.putBack(ctx, old, value); err != nil {
		return err
	}
	if err := r.c.Passwords.Remove(ctx, r.plan, value); err != nil {
		home, _ := r.plan.Home()
		if _, still := r.c.Passwords.Login(ctx, r.plan, home, r.login(value, false)); still != nil { // a refused login means that it was never added, or is gone
			return fmt.Errorf("removing it: %w", err)
		}
	}
	return nil
}

// heldLost reports whether a value is gone that should be held according to the record.
func (r *run) heldLost(ctx context.Context) bool {
	return slices.ContainsFunc([]string{r.plan.OldHeld, r.plan.NewHeld}, func(held string) bool {
		if held == "" {
			return false
		}
		_, err := r.c.Secrets.Resolve(ctx, held)
		return errors.Is(err, keystore.ErrSecretMissing)
	})
}

// putBack writes the old value back to the references that the rotation wrote. If somebody else has
// written another value there, it stays.
func (r *run) putBack(ctx context.Context, old, value keystore.Secret) error {
	for _, s := range r.plan.Steps {
		if s.Kind != keystore.StepSet || !keystore.Ref(s.Subject).Storable() {
			continue
		}
		now, err := r.c.Secrets.Resolve(ctx, s.Subject)
		if err == nil && (now.Equal(value) || r.wrote == s.Subject && !now.Equal(old)) {
			err = r.c.Secrets.Store(ctx, s.Subject, old)
		}
		if err != nil && !errors.Is(err, keystore.ErrSecretMissing) {
			return err
		}
	}
	return nil
}

// nothingSet reports whether no place was set yet, according to the record.
func (r *run) nothingSet() bool {
	return !slices.ContainsFunc(r.plan.Steps, func(s keystore.RotationStep) bool { return s.Kind == keystore.StepSet && s.Done })
}

// removePassword removes the old password, and checks that references which follow the service give the new one.
func (r *run) removePassword(ctx context.Context) (keystore.Proof, error) {
	old, err := r.oldValue(ctx)
	if err != nil {
		return keystore.Proof{}, err
	}
	value, err := r.newValue(ctx)
	if err != nil {
		return keystore.Proof{}, err
	}
	if _, err := r.accepted(ctx, keystore.RotationUser{}, value); err != nil { // the last test may be days old
		return keystore.Proof{}, fmt.Errorf("the login with the new password: %w; the old one is not removed by this", err)
	}
	again := r.plan.DeletedSeq != 0 // a killed run may have removed it
	if !again {
		if err := r.markDeleted(ctx, r.c.Accounts.Settings(r.plan)); err != nil {
			return keystore.Proof{}, err
		}
	}
	if err := r.c.Passwords.Remove(ctx, r.plan, old); err != nil {
		if !again {
			return keystore.Proof{}, fmt.Errorf("removing the old password: %w; it may still be valid, and the same again goes on from here", err)
		}
		if _, accepted, tried := r.tryOld(ctx); tried != nil || accepted {
			return keystore.Proof{}, fmt.Errorf("removing the old password: %w; it may still be valid, and the same again goes on from here", err)
		}
	}
	note := "it is gone from the zone"
	for _, s := range r.plan.Steps {
		if s.Kind == keystore.StepSet && keystore.Ref(s.Subject).Scheme() == keystore.SchemeDemo {
			if err := r.c.Passwords.Leads(ctx, s.Subject, value); err != nil {
				return keystore.Proof{}, fmt.Errorf("%s does not give the new password: %w", label(s.Subject), err)
			}
			note += ", and " + label(s.Subject) + " gives the new one"
		}
	}
	return keystore.Proof{Note: note}, nil
}

// call is the word for a use of the value: "call" or "login".
func (r *run) call() string {
	if r.plan.Zone != "" {
		return "login"
	}
	return "call"
}

// login is a login that should be accepted, or else refused.
func (r *run) login(value keystore.Secret, accepted bool) exchange.LoginProof {
	return exchange.LoginProof{Password: value, Proves: r.proves(), Refusal: !accepted}
}

// tryOldPassword logs in with the old password, which should be refused.
func (r *run) tryOldPassword(ctx context.Context, home keystore.RotationUser, old keystore.Secret) (proof keystore.Proof, accepted bool, err error) {
	counted := r.ownRefusal(ctx, func() bool {
		proof, err = r.c.Passwords.Login(ctx, r.plan, home, r.login(old, false))
		return err == nil
	})
	switch {
	case errors.Is(err, password.ErrAccepted):
		return proof, true, nil
	case err != nil:
		return proof, false, fmt.Errorf("the login with the old password: %w", err)
	}
	return proof, false, counted
}

// stranger reports whether a request in the service's journal was refused as calls with the old value are.
func (r *run) stranger(q rehearsal.Request) bool {
	if r.plan.Zone != "" {
		_, rest, named := strings.Cut(q.User, "-zone-"+r.plan.Zone) // for a refused login the journal has only the user name
		return q.Status == http.StatusProxyAuthRequired && named && (rest == "" || rest[0] == '-')
	}
	return q.Point == "api" && q.Status == http.StatusUnauthorized
}
