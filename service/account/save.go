package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
)

// Draft is an account that is to be saved.
type Draft struct {
	Profile config.Profile
	// Key is the profile's key as the inventory records it, with a reference. A key of that name
	// that is recorded already stays as it is, but for the fingerprint of another value.
	Key model.Key
	// Values are the secrets to store, by the references they go behind; those of other references
	// stay where they are.
	Values map[string]keystore.Secret
	// CA is written to a file that the profile then names; nil leaves the profile's CA.
	CA []byte
	// Before is the profile as it was read, where one that is in the file is changed: what differs is
	// written, and what was changed there meanwhile stays. Nil for a new profile.
	Before *config.Profile
	// AdminReason is why the key is an ADMIN key; empty for another one.
	AdminReason string
}

// Files are where Save and Remove write. All fields must be set.
type Files struct {
	Config string
	// CADir takes the certificates of profiles.
	CADir     string
	Inventory Inventory
	Secrets   Secrets
}

// Inventory is the part of keystore.Inventory that is used.
type Inventory interface {
	Get(name string) (model.Key, bool)
	Add(ctx context.Context, k model.Key) error
	Update(ctx context.Context, name string, change func(model.Key) (model.Key, error)) error
	Remove(ctx context.Context, seen model.Key) error
}

// Secrets is the part of keystore.Resolver that is used.
type Secrets interface {
	Resolve(ctx context.Context, ref string) (keystore.Secret, error)
	Store(ctx context.Context, ref string, s keystore.Secret) error
	Remove(ctx context.Context, ref string) error
}

// Save writes an account: certificate, secrets, inventory, and the configuration last. Each secret
// is read back. When a step fails, the steps before it are undone, and the error says what that
// left behind, if anything. The profile is returned as it was saved.
func Save(ctx context.Context, files Files, d Draft) (p config.Profile, err error) {
	s := saving{ctx: ctx, files: files, d: d}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.undo())
		}
	}()
	if err := s.check(); err != nil {
		return d.Profile, err
	}
	for _, step := range []func() error{s.certificate, s.secrets, s.key, s.config} {
		if err := step(); err != nil {
			return d.Profile, err
		}
	}
	return s.d.Profile, nil
}

// saving is one Save under way; undone are the ways back, the last step's last.
type saving struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one Save
	files  Files
	d      Draft
	undone []func(context.Context) error
}

func (s *saving) undo() error {
	ctx := context.WithoutCancel(s.ctx)
	var errs []error
	for i := len(s.undone) - 1; i >= 0; i-- {
		if err := s.undone[i](ctx); err != nil {
			errs = append(errs, fmt.Errorf("and undoing it: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (s *saving) check() error {
	p := s.d.Profile
	if err := p.Validate(); err != nil {
		return err
	}
	f, err := config.Load(s.files.Config)
	if err != nil {
		return err
	}
	_, err = f.Profile(p.Name)
	switch {
	case err == nil && s.d.Before == nil:
		return fmt.Errorf("adding profile %q: %w", p.Name, config.ErrProfileExists)
	case err != nil && s.d.Before != nil:
		return err
	}
	for ref := range s.d.Values {
		if !keystore.Ref(ref).Storable() {
			return fmt.Errorf("%s: a secret cannot be stored there by the console", keystore.Ref(ref).Label())
		}
	}
	return nil
}

// certificate writes the CA beside the configuration.
func (s *saving) certificate() error {
	if s.d.CA == nil {
		return nil
	}
	name := filepath.Join(s.files.CADir, s.d.Profile.Name+".pem")
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing the certificate: %w", err)
	}
	if err := os.MkdirAll(s.files.CADir, 0o700); err != nil {
		return fmt.Errorf("writing the certificate: %w", err)
	}
	was := before != nil
	s.undone = append(s.undone, func(context.Context) error {
		if was {
			return textfile.Write(name, before)
		}
		return os.Remove(name)
	})
	if err := textfile.Write(name, s.d.CA); err != nil {
		return fmt.Errorf("writing the certificate: %w", err)
	}
	s.d.Profile.CA = name
	return nil
}

// secrets stores each value and reads it back.
func (s *saving) secrets() error {
	for ref, value := range s.d.Values {
		before, err := s.files.Secrets.Resolve(s.ctx, ref)
		switch {
		case err == nil && before.Equal(value):
			continue
		case err != nil && !errors.Is(err, keystore.ErrSecretMissing):
			return err
		}
		s.undone = append(s.undone, func(ctx context.Context) error {
			if before.Empty() {
				return s.files.Secrets.Remove(ctx, ref)
			}
			return s.files.Secrets.Store(ctx, ref, before)
		})
		if err := s.files.Secrets.Store(s.ctx, ref, value); err != nil {
			return err
		}
		if got, err := s.files.Secrets.Resolve(s.ctx, ref); err != nil || !got.Equal(value) {
			return errors.Join(fmt.Errorf("%s gives another value than was stored", keystore.Ref(ref).Label()), err)
		}
	}
	return nil
}

// key records the key, or the fingerprint of its new value.
func (s *saving) key() error {
	k := s.d.Key
	if k.Name == "" {
		return nil
	}
	value := s.d.Values[k.Secret]
	known, ok := s.files.Inventory.Get(k.Name)
	if !ok {
		if !value.Empty() {
			k.Fingerprint, k.Last4 = value.Fingerprint(), value.Last4()
		}
		if err := s.files.Inventory.Add(s.ctx, k); err != nil {
			return err
		}
		s.undone = append(s.undone, func(ctx context.Context) error {
			added, _ := s.files.Inventory.Get(k.Name)
			return s.files.Inventory.Remove(ctx, added)
		})
		return nil
	}
	after := known
	if !value.Empty() {
		after.Fingerprint, after.Last4 = value.Fingerprint(), value.Last4()
	}
	if k.Secret != "" && known.Secret == "" {
		after.Secret = k.Secret
	}
	if after.Fingerprint == known.Fingerprint && after.Secret == known.Secret {
		return nil
	}
	put := func(ctx context.Context, as model.Key) error {
		return s.files.Inventory.Update(ctx, k.Name, func(now model.Key) (model.Key, error) {
			now.Fingerprint, now.Last4, now.Secret = as.Fingerprint, as.Last4, as.Secret
			return now, nil
		})
	}
	if err := put(s.ctx, after); err != nil {
		return err
	}
	s.undone = append(s.undone, func(ctx context.Context) error { return put(ctx, known) })
	return nil
}

func (s *saving) config() (err error) {
	if s.d.Before != nil {
		s.d.Profile, err = config.EditProfile(s.ctx, s.files.Config, *s.d.Before, s.d.Profile)
		return err
	}
	return config.AddProfile(s.ctx, s.files.Config, s.d.Profile)
}

// Removal is what goes with a profile.
type Removal struct {
	Profile config.Profile
	// Key is the profile's key in the inventory, if nothing else of the configuration names it.
	Key model.Key
	// Secrets are the references of the profile that lead to a store of the console and that
	// nothing else refers to. CA is the certificate that was saved with the profile, or empty.
	Secrets []string
	CA      string
}

// WhatGoes says what Remove can remove with a profile of the configuration. keys are those of the
// inventory.
func WhatGoes(files Files, name string, keys []model.Key) (Removal, error) {
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
		for _, ref := range References(q) {
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
	for _, ref := range append(References(p), r.Key.Secret) {
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
func References(p config.Profile) (refs []string) {
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

// Remove takes a profile out of the configuration, first of all, and the certificate that was saved
// with it; withKey the record of its key, withSecrets what lies behind its references. What fails
// after the configuration was written is joined into the error.
func Remove(ctx context.Context, files Files, r Removal, withKey, withSecrets bool) error {
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

// RefFor is the reference that a secret of a profile gets in a store ("keyring" or "file"): what is
// the key's name or "zone-" and a zone's.
func RefFor(scheme, profileName, what string) string {
	if what == profileName {
		what = "key"
	}
	return RefNamed(scheme, profileName+"-"+what)
}

// RefNamed is a reference of a name in a store. Names that cannot be a file's are brought into a form
// that can, and stay different.
func RefNamed(scheme, name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
			return r
		}
		return '_'
	}, name)
	if clean = strings.TrimLeft(clean, "._-"); clean != name || len(clean) > 64 { // another name must not meet it
		sum := sha256.Sum256([]byte(name))
		clean = strings.TrimLeft(clean[:min(len(clean), 55)]+"-"+hex.EncodeToString(sum[:4]), "-")
	}
	if scheme == keystore.SchemeKeyring {
		return "keyring:zonedeck/" + clean
	}
	return "file:" + clean
}

// counted is a number of things in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Describe names what Remove removes, a phrase each.
func (r Removal) Describe(withKey, withSecrets bool) []string {
	out := []string{fmt.Sprintf("profile %s (%s) from the configuration", r.Profile.Name, counted(len(r.Profile.Zones), "zone"))}
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
