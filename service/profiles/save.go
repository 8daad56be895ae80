package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/keys"
)

// files are where Save and Remove write.
type files struct {
	Config string
	// CADir takes the certificates of profiles.
	CADir     string
	Inventory inventory
	Secrets   store
}

// inventory is the part of keystore.Inventory that is used.
type inventory interface {
	Get(name string) (model.Key, bool)
	Add(ctx context.Context, k model.Key) error
	Update(ctx context.Context, name string, change func(model.Key) (model.Key, error)) error
	Remove(ctx context.Context, seen model.Key) error
}

// store is the part of keystore.Resolver that is used.
type store interface {
	Resolve(ctx context.Context, ref string) (keystore.Secret, error)
	Store(ctx context.Context, ref string, s keystore.Secret) error
	Remove(ctx context.Context, ref string) error
}

// Save writes what Check reported, with the answers to its questions: certificate, secrets, inventory, and the
// configuration last. Each secret is read back. When a step fails, the steps before it are undone, and the error says
// what that left behind, if anything. The profile is returned as it was saved. The errors are those of Check,
// *keys.OtherAccountError and *keys.AdminError for questions without an answer, and those of the files.
func (ps *Profiles) Save(ctx context.Context, r Report, a ask.Answers) (model.Profile, error) {
	// A mistake in the profile comes before its key is resolved, and before why it was chosen is recorded.
	if err := cmp.Or(ps.cfg.Keys.Inventory().Read(), ps.refuse(r.Draft), config.Validate(r.Profile)); err != nil {
		return r.Profile, err
	}
	switch {
	case r.Valueless:
		return r.Profile, model.BadField("value", "the key's value is missing: type it, or name the place where it is")
	case r.Key.Secret != "" && r.Values[r.Key.Secret].Empty() && !r.Recorded:
		if err := ps.stored(ctx, r.Key.Secret); err != nil {
			return r.Profile, err
		}
	}
	if q, refused := ps.otherAccount(r.Draft); refused != nil && !a.To(q).Yes {
		return r.Profile, refused
	}
	if err := ps.chooseKey(ctx, r, a.To(adminReason(r.Draft)).Text); err != nil {
		return r.Profile, err
	}
	return save(ctx, ps.files(r.Profile.Name), r)
}

// stored refuses a file: or keyring: reference to a secret that is not there. The other kinds are not asked: a variable
// may be set later, and a command may ask the operator.
func (ps *Profiles) stored(ctx context.Context, ref string) error {
	if !keystore.Ref(ref).Storable() {
		return nil
	}
	if _, err := ps.cfg.Secrets.Resolve(ctx, ref); errors.Is(err, keystore.ErrSecretMissing) {
		return err
	}
	return nil
}

// chooseKey refuses an ADMIN key that becomes that of a profile without a reason.
func (ps *Profiles) chooseKey(ctx context.Context, r Report, reason string) error {
	before, err := ps.cfg.InUse.File().Profile(r.Profile.Name)
	if err == nil && r.Before != nil && before.Key == r.Profile.Key {
		return nil
	}
	k := r.Key
	if k.Name != r.Profile.Key {
		k = model.Key{Name: r.Profile.Key}
	}
	return ps.cfg.Keys.Choose(ctx, keys.Choice{Profile: r.Profile.Name, Key: k, Value: r.Values[k.Secret], Reason: reason})
}

// save writes a profile.
func save(ctx context.Context, f files, r Report) (p model.Profile, err error) {
	s := saving{ctx: ctx, files: f, d: r}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.undo())
		}
	}()
	if err := s.check(); err != nil {
		return r.Profile, err
	}
	for _, step := range []func() error{s.certificate, s.secrets, s.key, s.config} {
		if err := step(); err != nil {
			return r.Profile, err
		}
	}
	return s.d.Profile, nil
}

// saving is one Save under way; undone are the ways back, the last step's last.
type saving struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one Save
	files  files
	d      Report
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
