package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/radius"
)

// Removal is what goes with a profile.
type Removal struct {
	Profile model.Profile
	// Key is the profile's key in the inventory, if nothing else of the configuration names it.
	Key model.Key
	// Secrets are the references of the profile that lead to a store of the console and that
	// nothing else refers to. CA is the certificate that was saved with the profile, or empty.
	Secrets []string
	CA      string
}

// Removal says what Remove can remove with a profile of the configuration, and refuses a read-only one.
func (ps *Profiles) Removal(name string) (Removal, error) {
	d, err := ps.Edit(name)
	if err == nil {
		err = ps.refuseRemoval(d.Profile)
	}
	if err == nil {
		err = ps.cfg.Keys.Inventory().Read() // it is not known what else needs a secret
	}
	if err != nil {
		return Removal{}, err
	}
	return whatGoes(ps.files(name), name, ps.inventory.List())
}

func (ps *Profiles) refuseRemoval(p model.Profile) error {
	return cmp.Or(ps.cfg.InUse.Refuse(changeConfig), p.Refuse(changeConfig))
}

// Remove takes a profile out of the configuration, first of all, and the certificate that was saved
// with it; withKey the record of its key, withSecrets what lies behind its references. What a rotation, a job under way
// or a saved request needs is refused. What fails after the configuration was written is joined into the error.
func (ps *Profiles) Remove(ctx context.Context, r Removal, withKey, withSecrets bool) error {
	if err := cmp.Or(ps.cfg.Keys.Inventory().Read(), ps.refuseRemoval(r.Profile)); err != nil {
		return err
	}
	if err := ps.neededByRotation(r, withKey, withSecrets); err != nil {
		return err
	}
	if err := ps.keyNeeded(ctx, r, withKey); err != nil {
		return err
	}
	if err := ps.neededByJobs(ctx, r, withKey, withSecrets); err != nil {
		return err
	}
	return remove(ctx, ps.files(r.Profile.Name), r, withKey, withSecrets)
}

// neededByRotation refuses to remove what a rotation under way needs: it could not go on.
func (ps *Profiles) neededByRotation(r Removal, withKey, withSecrets bool) error {
	plans, err := ps.cfg.Rotations.Naming(append([]string{r.Profile.Name, "profile " + r.Profile.Name, r.Key.Name}, r.Secrets...)...)
	if err != nil {
		return fmt.Errorf("nothing was removed: it is not known what rotations need: %w", err)
	}
	for _, p := range plans {
		if p.Over() {
			continue
		}
		needs := p.Calls(r.Profile.Name) || withKey && p.OfKey("", r.Key.Name) || withSecrets && slices.ContainsFunc(r.Secrets, p.NeedsReference)
		if needs {
			return fmt.Errorf("nothing was removed: the rotation of %s needs it. Go on with that one, or end it: zonedeck keys rotate %s --abandon", p.Subject(), p.ID)
		}
	}
	return nil
}

// keyNeeded refuses to remove the record of a key that a job in flight or a saved request needs.
func (ps *Profiles) keyNeeded(ctx context.Context, r Removal, withKey bool) error {
	if !withKey || r.Key.Name == "" {
		return nil
	}
	report, err := ps.cfg.Keys.Inventory().Radius(ctx, []radius.Subject{radius.KeySubject(r.Key, "")}, nil, nil)
	if err != nil {
		return err
	}
	for _, u := range report.Uses[0] {
		if u.Kind == radius.RunningJob || u.Kind == radius.SavedRequest {
			return fmt.Errorf("nothing was removed: %s needs key %s", u, r.Key.Name)
		}
	}
	if len(report.Problems) > 0 {
		return fmt.Errorf("nothing was removed: it is not known what needs key %s: %s", r.Key.Name, report.Problems[0])
	}
	return nil
}

// neededByJobs refuses to remove a secret with which the addresses of a job under way are called: launching the job
// again would need it.
func (ps *Profiles) neededByJobs(ctx context.Context, r Removal, withKey, withSecrets bool) error {
	if !withSecrets || len(r.Secrets) == 0 {
		return nil
	}
	uses, err := ps.cfg.Jobs.AuthUses(ctx)
	if err != nil {
		return fmt.Errorf("nothing was removed: it is not known what the jobs of the ledger need: %w", err)
	}
	for _, u := range uses {
		if !u.State.Final() && slices.Contains(r.Secrets, u.Ref) && (withKey || u.Ref != r.Key.Secret) {
			return fmt.Errorf("nothing was removed: %s (%s) needs %s, the Authorization header of its delivery. Wait for its end, or keep the secrets", u.Job, u.State.Label(), keystore.Ref(u.Ref).Label())
		}
	}
	return nil
}

// whatGoes says what Remove can remove with a profile of the configuration. keys are those of the
// inventory.
func whatGoes(files files, name string, keys []model.Key) (Removal, error) {
	f, err := config.Load(files.Config)
	if err != nil {
		return Removal{}, err
	}
	p, err := f.Profile(name)
	if err != nil {
		return Removal{}, err
	}
	r := Removal{Profile: p}
	kept := map[string]bool{} // references of others
	shared := false
	for _, other := range f.Names() {
		q, err := f.Profile(other)
		if err != nil || other == name {
			continue
		}
		shared = shared || q.Key == p.Key
		for _, ref := range references(q) {
			kept[ref] = true
		}
	}
	for _, k := range keys {
		if k.Name == p.Key && !shared && p.Key != "" {
			r.Key = k
		} else {
			kept[k.Secret] = true
		}
	}
	for _, ref := range append(references(p), r.Key.Secret) {
		if keystore.Ref(ref).Storable() && !kept[ref] {
			r.Secrets, kept[ref] = append(r.Secrets, ref), true
		}
	}
	if p.CA == filepath.Join(files.CADir, name+".pem") {
		r.CA = p.CA
	}
	return r, nil
}

// References are the references to secrets in a profile.
func references(p model.Profile) (refs []string) {
	for _, z := range p.Zones {
		if z.Password != "" {
			refs = append(refs, z.Password)
		}
	}
	for _, v := range p.Variables {
		if _, err := keystore.ParseRef(v); err == nil {
			refs = append(refs, v)
		}
	}
	return refs
}

// remove takes a profile out of the configuration, first of all.
func remove(ctx context.Context, files files, r Removal, withKey, withSecrets bool) error {
	if err := config.RemoveProfile(ctx, files.Config, r.Profile.Name); err != nil {
		return err
	}
	var errs []error
	if r.CA != "" {
		if err := os.Remove(r.CA); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if withKey && r.Key.Name != "" {
		errs = append(errs, files.Inventory.Remove(ctx, r.Key))
	}
	if withSecrets {
		for _, ref := range r.unused(withKey) {
			errs = append(errs, files.Secrets.Remove(ctx, ref))
		}
	}
	return errors.Join(errs...)
}

// Describe names what Remove removes, a phrase each.
func (r Removal) Describe(withKey, withSecrets bool) []string {
	out := []string{fmt.Sprintf("profile %s (%s) from the configuration", r.Profile.Name, model.Counted(len(r.Profile.Zones), "zone"))}
	if r.CA != "" {
		out = append(out, "the certificate "+r.CA)
	}
	if withKey && r.Key.Name != "" {
		out = append(out, "the record of key "+r.Key.Name)
	}
	if withSecrets {
		for _, ref := range r.unused(withKey) {
			out = append(out, "the secret behind "+keystore.Ref(ref).Label())
		}
	}
	return out
}

// Leaves names the references whose secrets Remove leaves in their stores, although neither a profile nor a key
// names them afterwards.
func (r Removal) Leaves(withKey, withSecrets bool) []string {
	left := []string{}
	if !withSecrets {
		for _, ref := range r.unused(withKey) {
			left = append(left, keystore.Ref(ref).Label())
		}
	}
	return left
}

// unused are the references that neither a profile nor a key names after the removal.
func (r Removal) unused(withKey bool) []string {
	return slices.DeleteFunc(slices.Clone(r.Secrets), func(ref string) bool { return !withKey && ref == r.Key.Secret })
}
