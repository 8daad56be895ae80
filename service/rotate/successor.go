package rotate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/service/rehearsal"
)

// names is how many names are tried.
const names = 8

// newKey has the account settings make a key of the same level. The chosen name is on disk before
// the key is made. If somebody else makes a key with that name first, it chooses another.
func (r *run) newKey(ctx context.Context, settings Settings) error {
	for range names {
		keys, err := settings.Keys(ctx)
		if err != nil {
			return err
		}
		old, ok := keyNamed(keys, r.plan.OldName)
		if !ok {
			return fmt.Errorf("the account has no key %s any more", r.plan.OldName)
		}
		made, there := keyNamed(keys, r.plan.NewName)
		lost := false // whether a killed run made the key and its value was lost
		if there {
			if lost, err = r.madeEarlier(ctx, settings, made, old); err != nil {
				return err
			}
		}
		if r.plan.NewName == "" || there && !lost {
			if err := r.chooseName(ctx, keys); err != nil {
				return err
			}
		}
		if lost { // nobody uses it: a refresh stops nothing
			made, err = settings.RefreshKey(ctx, r.plan.NewName)
		} else {
			made, err = settings.CreateKey(ctx, rehearsal.Key{Name: r.plan.NewName, Level: old.Level, Duty: old.Duty, Expires: r.plan.NewExpires})
		}
		var refused *rehearsal.RefusedError
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusConflict: // somebody was faster
			if err := r.chooseName(ctx, append(keys, rehearsal.Key{Name: r.plan.NewName})); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("creating %s: %w", r.plan.NewName, err)
		default: // the value is shown only once: do not cancel now
			return r.hold(context.WithoutCancel(ctx), keystore.NewSecret(made.Value))
		}
	}
	return fmt.Errorf("creating a key: somebody else took each of %d names", names)
}

// chooseName records the name and the expiry of the key before it is made.
func (r *run) chooseName(ctx context.Context, keys []rehearsal.Key) error {
	expires := r.c.Keys.Now(r.plan).UTC().AddDate(0, 0, r.c.Keys.Days(r.key().Level)).Truncate(time.Second).Format(time.RFC3339)
	return r.note(ctx, func(p *keystore.RotationPlan) { p.NewName, p.NewExpires = freeName(keys, p.OldName), expires })
}

// madeEarlier reports whether this rotation made the key with the chosen name before it was killed: the
// key is as planned, no other rotation has chosen its name, and nothing has called with it.
func (r *run) madeEarlier(ctx context.Context, settings Settings, made, old rehearsal.Key) (bool, error) {
	if made.Level != old.Level || made.Duty != old.Duty || made.Expires != r.plan.NewExpires {
		return false, nil
	}
	plans, err := r.c.Records.List()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(plans, func(p keystore.RotationPlan) bool {
		return p.ID != r.plan.ID && p.Profile == r.plan.Profile && p.NewName == made.Name && (!p.Over() || !p.Ended.Before(r.plan.Started))
	}) {
		return false, nil
	}
	page, err := settings.Newest(ctx, journalled)
	if err != nil {
		return false, err
	}
	used, _ := since(page, mark{}, func(q rehearsal.Request) bool { return q.Key == made.Name })
	return used == 0, nil
}
