package rotate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zonedeck/keystore"
)

// places checks places that were set: somebody may have written the old value back since. At the first place
// that no longer gives the new value, its setting and calls are reopened. If a place loses the value twice in
// one run, something writes it: that is an error.
func (r *run) places(ctx context.Context, which func(place string) bool) (more bool, err error) {
	for _, s := range r.plan.Steps {
		if s.Kind != keystore.StepSet || !s.Done || !which(s.Subject) {
			continue
		}
		seen, err := r.otherValue(ctx, s.Subject)
		switch {
		case err != nil:
			return false, fmt.Errorf("%s: %w", label(s.Subject), err)
		case seen == "":
			continue
		case slices.Contains(r.reopened, s.Subject):
			return false, fmt.Errorf("%s was set again in this run, and %s again: find what writes it, and go on", label(s.Subject), seen)
		}
		r.reopened = append(r.reopened, s.Subject)
		note := seen + " at " + r.c.Keys.Now(r.plan).UTC().Format(minute) + ", after it was set"
		return true, r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Reopen(s.Subject, note), nil })
	}
	return false, nil
}

// otherValue says what a place gives instead of the new value; empty if it gives the new value, or if there is
// nothing to read there.
func (r *run) otherValue(ctx context.Context, place string) (string, error) {
	i := slices.IndexFunc(r.plan.Users, func(u keystore.RotationUser) bool { return u.Place() == place })
	if i >= 0 && r.plan.Users[i].File != "" {
		if fresh, err := r.c.Files.Holds(place, r.plan.NewFingerprint); fresh && err == nil {
			return "", nil
		}
		return "it held the new " + r.plan.Value() + " no more", nil // the setting will say why it cannot be read
	}
	if i >= 0 && r.plan.Users[i].Manual() || keystore.Ref(place).Scheme() == keystore.SchemeDemo {
		return "", nil
	}
	value, err := r.c.Secrets.Resolve(ctx, place)
	switch {
	case errors.Is(err, keystore.ErrSecretMissing):
		return "it gave nothing", nil
	case err != nil:
		return "", err
	case value.Fingerprint() == r.plan.NewFingerprint:
		return "", nil
	case value.Fingerprint() == r.plan.OldFingerprint:
		return "it gave the old " + r.plan.Value() + " (••••" + value.Last4() + ")", nil
	}
	return "it gave another " + r.plan.Value() + " (••••" + value.Last4() + ")", nil
}
