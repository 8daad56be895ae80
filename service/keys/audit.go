package keys

import (
	"context"
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/journal"
	"zonedeck/service/radius"
)

// Audit is what is known of the keys at a moment.
type Audit struct {
	Keys     []model.Key               // the worst first, each with what uses it
	Now      func(model.Key) time.Time // the time by which a key's clocks run
	Findings []keystore.Finding
	Due      int      // keys that are due within the time that was asked for
	Problems []string // what could not be looked through
	Files    int      // files of folders that were searched for values

	used          map[radius.KeyID]journal.KeyUse
	origins       map[string]string // by auditKey; without one, a key is of the inventory
	otherProfiles func(model.Key) []config.Profile
	checks        keystore.Checks
	rules         []model.Key                  // Keys as the rules see them: with the users that are recorded
	uses          map[string]keystore.KeyUsage // by auditKey
}

// Rotating is the state of an unfinished rotation of a key, such as "rotating 3 of 9"; empty if there is
// none.
func (a Audit) Rotating(k model.Key) string { return a.usage(k).Rotation.UnfinishedState() }

// Only is the audit of some keys, as if there were no others.
func (a Audit) Only(keep func(model.Key) bool) Audit {
	a.Keys, a.rules, a.Due = slices.Clone(a.Keys), slices.Clone(a.rules), 0
	drop := func(k model.Key) bool { return !keep(k) }
	a.Keys, a.rules = slices.DeleteFunc(a.Keys, drop), slices.DeleteFunc(a.rules, drop)
	return a.judged()
}

// judged has the count and the findings of the keys.
func (a Audit) judged() Audit {
	a.Findings = a.checks.Lint(a.rules)
	for _, k := range a.Keys {
		if k.DueWithin(a.Now(k), a.checks.Within) {
			a.Due++
		}
	}
	return a
}

// Used is when a key was first seen and last used from this console, as far as the history goes
// back.
func (a Audit) Used(k model.Key) journal.KeyUse {
	return a.used[radius.KeyID{Name: k.Name, Profile: a.Origin(k)}]
}

// Elsewhere are the profiles that a key belongs to, if the profile in use is of another account.
func (a Audit) Elsewhere(k model.Key) (names []string) {
	for _, p := range a.otherProfiles(k) {
		names = append(names, p.Name)
	}
	return names
}

// Origin is the profile that a key comes with; empty for one of the inventory.
func (a Audit) Origin(k model.Key) string { return a.origins[auditKey(k)] }

// usage is what was seen of a key, for the rules.
func (a Audit) usage(k model.Key) keystore.KeyUsage { return a.uses[auditKey(k)] }

// auditKey tells the keys of an audit apart.
func auditKey(k model.Key) string { return k.Name + "\x00" + k.Secret + "\x00" + k.Fingerprint }

// Audit reads the keys, finds what uses them, in folders too if some are given, and holds
// them against the rules. With recorded, the keys that come with the profile are left out. The
// error is that of ctx.
func (v Inventory) Audit(ctx context.Context, recorded bool, within time.Duration, folders []string) (Audit, error) {
	uses, found, err := v.Uses(ctx, folders, nil)
	problems := found.Problems
	plans, unread := v.ks.rotations().List()
	if unread != nil {
		problems = append(problems, unread.Error())
	}
	unfinished, endedBy := keystore.Unfinished(plans), keystore.EndedBy(plans)
	inventory := v.Recorded()
	if slices.ContainsFunc(inventory, func(k model.Key) bool { return endedBy(k.Fingerprint) != "" }) {
		_, _ = v.LookUp(ctx) // a value that was put there since is no ended one; what cannot be read stays as it is recorded
		inventory = v.Recorded()
	}
	var given []model.Key
	if !recorded {
		given = v.Supplied(inventory)
	}
	now := v.Clock()
	a := Audit{Problems: problems, Files: found.Files, Now: now, origins: map[string]string{}, uses: map[string]keystore.KeyUsage{}, otherProfiles: v.ks.otherAccounts(v.ks.cfg.Profiles.Profile())}
	if err == nil {
		var unread error
		if a.used, unread = v.Used(ctx); unread != nil {
			a.Problems = append(a.Problems, unread.Error())
		}
	}
	add := func(k model.Key, origin string) {
		found := uses[radius.KeyID{Name: k.Name, Profile: origin}]
		sees := radius.KeyUsage(k, found)
		if origin == "" {
			sees.EndedBy = endedBy(k.Fingerprint)
		}
		sees.Rotation, _ = unfinished(origin, k.Name)
		a.uses[auditKey(k)] = sees
		if origin == config.LocalName {
			a.origins[auditKey(k)] = origin
		}
		k.UsedBy = radius.Names(k, found)
		a.Keys = append(a.Keys, k)
	}
	// The rules count the users that are recorded; what was found besides is theirs as KeyUsage.
	a.rules = make([]model.Key, 0, len(given)+len(inventory))
	for _, k := range given {
		a.rules = append(a.rules, k)
		add(k, v.ks.cfg.Profiles.Base().Name)
	}
	for _, k := range inventory {
		a.rules = append(a.rules, k)
		add(k, "")
	}
	model.SortKeys(a.Keys, now, within)
	model.SortKeys(a.rules, now, within)
	a.checks = keystore.Checks{Now: now, Within: within, Usage: a.usage}
	return a.judged(), err
}
