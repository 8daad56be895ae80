package password

import (
	"context"
	"errors"
	"path/filepath"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/service/account"
)

// A renewal holds both passwords behind references of its own until it is over, in the store of the
// zone's reference: that shows that the store can be written before there is a new password, and one
// that was cut short goes on with the same passwords, so that none stays valid unknown.

// lock keeps other renewals of the zone out, of this process and of others.
func (r *renewal) lock(ctx context.Context) (unlock func(), err error) {
	name := "renewal-" + string(r.p.Account) + "-" + string(r.z.Name)
	scheme := keystore.Ref(r.z.Password).Scheme()
	r.heldNew, r.heldOld = account.RefNamed(scheme, name+"-new"), account.RefNamed(scheme, name+"-old")
	file := keystore.Ref(account.RefNamed(keystore.SchemeFile, name)).Target()
	return textfile.Lock(ctx, filepath.Join(r.rn.cfg.Dir, file)) //nolint:wrapcheck // it says which file
}

// choose decides which passwords this renewal is about: a new one, or those of one that was cut short.
func (r *renewal) choose(ctx context.Context) error {
	if r.rn.cfg.Follows(r.z.Password) {
		r.now = keystore.NewSecret(r.rn.cfg.New())
		return nil
	}
	held, err := r.held(ctx, r.heldNew)
	if err != nil {
		return err
	}
	old, err := r.held(ctx, r.heldOld)
	switch {
	case err != nil:
		return err
	case !held.Empty() && r.old.Equal(held) && !old.Empty(): // it was kept already
		r.now, r.old, r.goesOn, r.kept = held, old, true, true
	case !held.Empty() && r.old.Equal(old):
		r.now, r.goesOn = held, true
	default:
		r.now = keystore.NewSecret(r.rn.cfg.New())
		if !r.old.Equal(held) { // the reference has been given another value since
			r.orphan = held
		}
	}
	return nil
}

func (r *renewal) held(ctx context.Context, ref string) (keystore.Secret, error) {
	s, err := r.rn.cfg.Access.Secret(ctx, ref)
	if errors.Is(err, keystore.ErrSecretMissing) {
		return keystore.Secret{}, nil
	}
	return s, err
}

// hold writes both passwords where they stay until the end, the new one last: it is what a renewal
// that was cut short is known by.
func (r *renewal) hold(ctx context.Context) error {
	if r.goesOn {
		return nil
	}
	for _, h := range []struct {
		ref   string
		value keystore.Secret
	}{{r.heldOld, r.old}, {r.heldNew, r.now}} {
		if err := r.rn.cfg.Store(ctx, h.ref, h.value); err != nil {
			return err
		}
		if got, err := r.held(ctx, h.ref); err != nil || !got.Equal(h.value) {
			return errors.Join(errors.New("it gives another value than was stored"), err)
		}
	}
	return nil
}

// release removes what is held.
func (r *renewal) release(ctx context.Context) error {
	if r.rn.cfg.Follows(r.z.Password) {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.rn.cfg.Remove(ctx, r.heldNew); err != nil {
		return err
	}
	return r.rn.cfg.Remove(ctx, r.heldOld)
}

// forget takes the new password of a renewal that was cut short back from the service, where the
// reference has been given another value since.
func (r *renewal) forget(ctx context.Context) error {
	err := r.call(ctx, r.d.RemovePassword(string(r.z.Name), r.orphan.Reveal()))
	if err != nil && r.prove(ctx, r.orphan, false) == nil { // it was never added, or is gone
		err = nil
	}
	return err
}
