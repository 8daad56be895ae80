package keys

import (
	"context"
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/journal"
	"zonedeck/service/radius"
)

// Audit is what is known of the keys at one time.
type Audit struct {
	Keys     []model.Key               // the worst first, each with what uses it
	Now      func(model.Key) time.Time // the present time by the clock that applies to a key
	Findings []keystore.Finding
	Due      int      // the number of keys that are due within checks.Within
	Problems []string // what could not be searched or read
	Files    int      // the number of files that were searched for values

	passwords     []keystore.Finding // of zones, in files
	used          map[radius.KeyID]journal.KeyUse
	origins       map[string]string // by auditKey; only for keys that come with the emulator
	otherProfiles func(model.Key) []model.Profile
	checks        keystore.Checks
	rules         []model.Key                  // Keys as the rules see them: only with the recorded users
	uses          map[string]keystore.KeyUsage // by auditKey
}

// Rotating is the state of a key's unfinished rotation, such as "rotating 3 of 9"; empty if there is none.
func (a Audit) Rotating(k model.Key) string { return a.usage(k).Rotation.UnfinishedState() }

// Only is the audit of the keys that keep accepts, as if there were no others.
func (a Audit) Only(keep func(model.Key) bool) Audit {
	a.Keys, a.rules, a.Due = slices.Clone(a.Keys), slices.Clone(a.rules), 0
	drop := func(k model.Key) bool { return !keep(k) }
	a.Keys, a.rules = slices.DeleteFunc(a.Keys, drop), slices.DeleteFunc(a.rules, drop)
	return a.judged()
}

// Recorded are the keys as they are recorded: without the users that were found.
func (a Audit) Recorded() []model.Key { return a.rules }

// judged fills in Due and Findings.
func (a Audit) judged() Audit {
	a.Findings = append(a.checks.Lint(a.rules), a.passwords...)
	for _, k := range a.Keys {
		if k.DueWithin(a.Now(k), a.checks.Within) {
			a.Due++
		}
	}
	return a
}

// Used is when this console first saw and last used a key, as far back as the history goes.
func (a Audit) Used(k model.Key) journal.KeyUse {
	return a.used[radius.KeyID{Name: k.Name, Profile: a.Origin(k)}]
}

// OtherProfiles names the profiles that a key belongs to if they are of another account than the profile in use.
func (a Audit) OtherProfiles(k model.Key) (names []string) {
	for _, p := range a.otherProfiles(k) {
		names = append(names, p.Name)
	}
	return names
}

// Origin is the emulator's profile for a key that comes with it; empty for every other key.
func (a Audit) Origin(k model.Key) string { return a.origins[auditKey(k)] }

// usage is what was seen of a key, for the rules.
func (a Audit) usage(k model.Key) keystore.KeyUsage { return a.uses[auditKey(k)] }

// auditKey tells the keys of an audit apart.
func auditKey(k model.Key) string { return k.Name + "\x00" + k.Secret + "\x00" + k.Fingerprint }

// Audit reads the keys, finds what uses them, also in the given folders, and checks them against the
// rules. With recorded it leaves out the keys that come with the profile. The error is that of ctx.
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
		_, _ = v.LookUp(ctx) // the reference may give a new value by now; if it cannot be read, the record stays
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
	for _, p := range found.Passwords {
		a.passwords = append(a.passwords, keystore.PasswordFinding("zone "+p.Zone, p.What, p.Place, p.Tracked))
	}
	add := func(k model.Key, origin string) {
		found := uses[radius.KeyID{Name: k.Name, Profile: origin}]
		sees := radius.KeyUsage(k, found)
		if origin == "" {
			sees.EndedBy = endedBy(k.Fingerprint)
		}
		sees.Rotation, _ = unfinished(origin, k.Name)
		a.uses[auditKey(k)] = sees
		if origin == model.LocalName {
			a.origins[auditKey(k)] = origin
		}
		k.UsedBy = radius.Names(k, found)
		a.Keys = append(a.Keys, k)
	}
	// The rules count only the recorded users as users. They get everything that was found as KeyUsage.
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
