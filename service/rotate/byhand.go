package rotate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zonedeck/keystore"
)

// If no program can work the account settings, a person makes the new value there and gives it to the console.

// askForValue tells a person what to do in the account settings.
func (r *run) askForValue(ctx context.Context, n int) error {
	words := fmt.Sprintf("in the account settings, create a key of the same level as %s, with an expiry, and give its value here", r.plan.Key)
	if r.plan.ByHand() {
		words = fmt.Sprintf("in the access details of zone %s, regenerate the password and give the new one here at once: it takes effect immediately (contract 2.2)", r.plan.Zone)
	} else if r.plan.Method == keystore.RotateByRefresh {
		words = fmt.Sprintf("in the account settings, refresh %s and give the new value here at once: the old one is invalid from that moment", r.plan.Key)
	}
	if r.plan.Method == keystore.RotateByRefresh {
		if err := r.lastOld(ctx); err != nil {
			return err
		}
		if r.plan.LastOld.IsZero() {
			words += "; no call with the old one works now, so the outage cannot be measured"
		}
	}
	return &StopError{Step: r.plan.Steps[n], Advice: words, Value: true, Vouch: r.mayVouch(n)}
}

// unproved stops before a step that no call can show.
func (r *run) unproved(why string, value keystore.Secret) *StopError {
	step := r.plan.Steps[r.at]
	words := step.Text
	switch step.Kind {
	case keystore.StepCreate, keystore.StepRefresh:
		words = fmt.Sprintf("make a %s of your own with the %s that was given (••••%s) and see it accepted, or give another one", r.call(), r.plan.Value(), value.Last4())
	case keystore.StepDelete:
		words = fmt.Sprintf("in the account settings, delete the old key of %s (••••%s)", r.plan.Key, r.plan.OldLast4)
	case keystore.StepRefused:
		words = fmt.Sprintf("make a %s of your own with the old %s (••••%s) and see it refused", r.call(), r.plan.Value(), r.plan.OldLast4)
	}
	stop := r.stop(r.at, "%s; then vouch for it. The console cannot measure it: %s", words, why)
	stop.Value = r.createsValue(r.at)
	return stop
}

// askAgain asks for the new value again, because the service refused the one that was given.
func (r *run) askAgain(ctx context.Context, n int, value keystore.Secret, refused error) error {
	words := fmt.Sprintf("the service does not accept the value that was given (••••%s): %s Give the new value here again: it takes the place of that one",
		value.Last4(), strings.TrimRight(refused.Error(), ".")+".")
	if r.plan.Method == keystore.RotateByRefresh {
		if err := r.lastOld(ctx); err != nil {
			return err
		}
		words += "; until then everything that uses a refreshed " + r.plan.Key + " stops working: " + outage(r.plan)
	}
	return &StopError{Step: r.plan.Steps[n], Advice: words, Value: true, Vouch: r.mayVouch(n)}
}

// lastOld records when a call with the old value last worked. It records nothing if the old value is
// refused already or is not at hand.
func (r *run) lastOld(ctx context.Context) error {
	if r.plan.OldHeld == "" {
		return nil
	}
	old, err := r.oldValue(ctx)
	if err != nil {
		return err
	}
	at := r.c.Keys.Now(r.plan).UTC().Truncate(time.Millisecond)
	if _, err := r.accepted(ctx, keystore.RotationUser{}, old); err != nil {
		return ctx.Err() // the advice will say that no call worked
	}
	return r.note(ctx, func(p *keystore.RotationPlan) { p.LastOld = at })
}

// outage says for how long no value of a refreshed key worked, as far as that was measured.
func outage(p keystore.RotationPlan) string {
	switch {
	case p.LastOld.IsZero():
		return "it is not measured, because no call with the old value was seen to work"
	case p.FirstNew.IsZero():
		return "the last call with the old value that worked was at " + p.LastOld.Format(time.DateTime) + " UTC, and none with a new one has worked yet"
	}
	end, event := p.FirstNew, "first with the new one"
	for _, s := range p.Steps {
		switch {
		case s.Kind != keystore.StepSet:
		case !s.Done:
			return "the last call with the old value that worked was at " + p.LastOld.Format(time.DateTime) + " UTC, and not every reference gives the new one yet"
		case s.At.After(end):
			end, event = s.At, "last reference set"
		}
	}
	words := fmt.Sprintf("no value worked everywhere for %s at most (last call with the old one %s, %s %s)",
		end.Sub(p.LastOld), p.LastOld.Format(clock), event, end.Format(clock))
	if p.OutageRefused > 0 {
		words += fmt.Sprintf("; calls refused meanwhile: %d", p.OutageRefused)
	}
	return words
}
