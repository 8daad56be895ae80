package rotate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"zonedeck/keystore"
	"zonedeck/service/rehearsal"
)

// UsesAfterEnd is where the old value of a finished rotation was seen.
type UsesAfterEnd struct {
	// Used says what has sent the old value since, or gives it again; empty if nothing was seen.
	Used []string
	// Blind says what could not be checked.
	Blind []string
}

// UsesAfterEnd looks for uses of the old value of a finished rotation: refused calls in the service's journal since
// the end, and places of its users that give the old value again. The record stays as it is.
func (e *Engine) UsesAfterEnd(ctx context.Context, p keystore.RotationPlan) UsesAfterEnd {
	var l UsesAfterEnd
	r := &run{e: e, c: e.c, plan: p}
	r.callsAfterEnd(ctx, &l)
	seen := map[string]bool{}
	for _, u := range p.Users {
		if place := u.Place(); !u.InFlight && !u.Manual() && !seen[place] {
			seen[place] = true
			r.givesOld(ctx, u, &l)
		}
	}
	if len(l.Used) > 0 {
		e.c.Keys.UsedAfterEnd(ctx, p, l.Used)
	}
	return l
}

func (r *run) callsAfterEnd(ctx context.Context, l *UsesAfterEnd) {
	settings := r.c.Accounts.Settings(r.plan)
	if settings == nil {
		l.Blind = append(l.Blind, "calls of others: the service shows no journal of them")
		return
	}
	page, err := settings.Newest(ctx, journalled)
	if err != nil {
		l.Blind = append(l.Blind, "calls of others: "+err.Error())
		return
	}
	mark, own := r.mark(), 0
	before, _ := since(page, mark, func(q rehearsal.Request) bool { return r.stranger(q) && q.Time.Before(r.plan.Ended) })
	n, last := since(page, mark, func(q rehearsal.Request) bool { return r.stranger(q) && !q.Time.Before(r.plan.Ended) })
	if !mark.anew(page) { // the end may be cut to the second: own calls may seem to come after it
		own = max(r.plan.OwnRefused-before, 0)
	}
	n -= own
	if n > 0 {
		l.Used = append(l.Used, fmt.Sprintf("refused since it ended: %s; something may still send the old %s (••••%s)", lastOf(n, last), r.plan.Value(), r.plan.OldLast4))
	}
}

// givesOld checks whether the place of a user gives the old value.
func (r *run) givesOld(ctx context.Context, u keystore.RotationUser, l *UsesAfterEnd) {
	if r.plan.OldFingerprint == "" {
		l.Blind = append(l.Blind, u.Name+": the old "+r.plan.Value()+" is not known")
		return
	}
	var old bool
	var err error
	if u.File != "" {
		old, err = r.c.Files.Holds(u.File, r.plan.OldFingerprint)
	} else {
		var now keystore.Secret
		now, err = r.c.Secrets.Resolve(ctx, u.Ref)
		old = err == nil && now.Fingerprint() == r.plan.OldFingerprint
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, keystore.ErrSecretMissing): // nothing is there
	case err != nil:
		l.Blind = append(l.Blind, u.Name+": "+err.Error())
	case old:
		l.Used = append(l.Used, fmt.Sprintf("%s gives the old %s again (••••%s)", u.Name, r.plan.Value(), r.plan.OldLast4))
	}
}
