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

// A zone may have several passwords at once, and their change is a call of the account's dialect. So
// the console makes the new one itself: it is held and recorded before the service hears of it, and
// what fails before a reference was set is taken back.

// Passwords works the proxy passwords of zones. Errors hold no password.
type Passwords interface {
	// Check refuses a rotation that could not come to its end. Nothing is sent.
	Check(ctx context.Context, p keystore.RotationPlan) error
	// Users are what uses the old password.
	Users(ctx context.Context, p keystore.RotationPlan) ([]keystore.RotationUser, error)
	// Make makes a password.
	Make() keystore.Secret
	// Add lets the zone accept a password besides its others, Remove ends that of one.
	Add(ctx context.Context, p keystore.RotationPlan, value keystore.Secret) error
	Remove(ctx context.Context, p keystore.RotationPlan, value keystore.Secret) error
	// Login logs in as a user does, which has to be accepted or refused. A change that may take a
	// moment to reach the proxy is waited for.
	Login(ctx context.Context, p keystore.RotationPlan, u keystore.RotationUser, l exchange.LoginProof) (keystore.Proof, error)
	// Leads waits until a reference that follows the service gives a value.
	Leads(ctx context.Context, ref string, value keystore.Secret) error
}

// Password is the proxy password of a zone.
type Password struct {
	Zone    model.Zone
	Account model.AccountID
	Profile string // that the zone comes with; empty for one of the configuration
	Key     string // by which it is changed
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

// addPassword adds the new password and logs in with it. What fails is taken back.
func (r *run) addPassword(ctx context.Context) (keystore.Proof, error) {
	if err := r.holdOld(ctx); err != nil {
		return keystore.Proof{}, err
	}
	again := r.plan.NewFingerprint != "" // what was cut short may have added it
	if !again {
		value, err := r.c.Secrets.Resolve(ctx, r.heldNew())
		switch {
		case errors.Is(err, keystore.ErrSecretMissing):
			value = r.c.Passwords.Make()
		case err != nil:
			return keystore.Proof{}, fmt.Errorf("looking for a new password that is held already: %w", err)
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

// takeBack removes the new password again, puts the old one back where a reference was written, and
// ends the rotation. What cannot be taken back stands in the record, and the same again goes on.
func (r *run) takeBack(ctx context.Context, cause error) error {
	if ctx.Err() != nil { // it was stopped, and goes on
		return cause
	}
	if err := r.undo(ctx); err != nil {
		return fmt.Errorf("%w; the new password could not be taken back (%w) and may be valid beside the old one: the same again goes on", cause, err)
	}
	return fmt.Errorf("%w; the new password was taken back, and the old one stays", cause)
}

// undo says in the record that it has begun, before anything: a run that is killed ends it, and does
// not go on with a password that is gone.
func (r *run) undo(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	begun := r.plan.Undone // by a run that was killed
	if err := r.markUndone(ctx, true); err != nil {
		return err
	}
	if !begun || !r.heldLost(ctx) { // else the references and the zone are done, and what is held was going
		if err := r.unadd(ctx); err != nil {
			if !begun { // the same again goes on
				err = errors.Join(err, r.markUndone(ctx, false))
			}
			return err
		}
	}
	if err := r.release(ctx, false); err != nil {
		return err
	}
	return r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Abandon(r.c.Keys.Now(p)) })
}

func (r *run) markUndone(ctx context.Context, undone bool) error {
	return r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		p.Undone = undone
		return p, nil
	})
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
		if _, still := r.c.Passwords.Login(ctx, r.plan, home, r.login(value, false)); still != nil { // else it was never added, or is gone
			return fmt.Errorf("removing it: %w", err)
		}
	}
	return nil
}

// heldLost reports whether a value that the record says is held is gone.
func (r *run) heldLost(ctx context.Context) bool {
	return slices.ContainsFunc([]string{r.plan.OldHeld, r.plan.NewHeld}, func(held string) bool {
		if held == "" {
			return false
		}
		_, err := r.c.Secrets.Resolve(ctx, held)
		return errors.Is(err, keystore.ErrSecretMissing)
	})
}

// putBack gives the references that were written the old value again. What something else has put
// there stays.
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

// nothingSet reports whether no place gives the new value yet, as far as the record tells.
func (r *run) nothingSet() bool {
	return !slices.ContainsFunc(r.plan.Steps, func(s keystore.RotationStep) bool { return s.Kind == keystore.StepSet && s.Done })
}

// removePassword removes the old password, and sees that what follows the service gives the new one.
func (r *run) removePassword(ctx context.Context) (keystore.Proof, error) {
	old, err := r.oldValue(ctx)
	if err != nil {
		return keystore.Proof{}, err
	}
	value, err := r.newValue(ctx)
	if err != nil {
		return keystore.Proof{}, err
	}
	if _, err := r.accepted(ctx, keystore.RotationUser{}, value); err != nil { // the test may be days ago
		return keystore.Proof{}, fmt.Errorf("the login with the new password: %w; the old one is not removed by this", err)
	}
	again := r.plan.DeletedSeq != 0 // what was cut short may have removed it
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

// call is what a user's use of the value is, in a word.
func (r *run) call() string {
	if r.plan.Zone != "" {
		return "login"
	}
	return "call"
}

// login is a login that is to be accepted, or refused.
func (r *run) login(value keystore.Secret, accepted bool) exchange.LoginProof {
	return exchange.LoginProof{Password: value, Proves: r.proves(), Refusal: !accepted}
}

// tryOldPassword logs in with the old password, which is to be refused.
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

// stranger reports whether a request of the service's journal was refused as one with the old value is.
func (r *run) stranger(q rehearsal.Request) bool {
	if r.plan.Zone != "" {
		_, rest, named := strings.Cut(q.User, "-zone-"+r.plan.Zone) // of a refused login the journal names the user alone
		return q.Status == http.StatusProxyAuthRequired && named && (rest == "" || rest[0] == '-')
	}
	return q.Point == "api" && q.Status == http.StatusUnauthorized
}
