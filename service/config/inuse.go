package config

import (
	"cmp"
	"errors"
	"sync/atomic"

	"zonedeck/model"
	"zonedeck/service/dialect"
)

// Variables of the environment that stand in for what a profile names: a key's value, and a zone's password.
const (
	EnvKey      = "ZONEDECK_API_KEY"
	EnvPassword = "ZONEDECK_ZONE_PASSWORD"
)

// InUse is the profile that a run works with, and the configuration as it was last read. Use NewInUse. It is safe for
// concurrent use once the profile is chosen.
type InUse struct {
	path     string
	base     model.Profile
	fallback string // the profile whose read-only counts where none is in use
	noneUsed bool
	file     atomic.Pointer[File]
	current  atomic.Pointer[model.Profile] // base, with addresses once they are known
	unusable atomic.Pointer[string]        // why the profile cannot be used any more; nil while it can
}

// NewInUse has read a configuration. Choose comes next.
func NewInUse(path string, file File) *InUse {
	u := &InUse{path: path}
	u.file.Store(&file)
	return u
}

// Local is the profile of the embedded emulator before its addresses are known.
func Local() model.Profile {
	return model.Profile{Name: model.LocalName, Local: true, Can: dialect.Abilities("")}
}

// Choose has a profile used, as flags and environment make it.
func (u *InUse) Choose(p model.Profile) { u.base = p }

// ChooseNone is for what needs no profile. Whether files are changed, the profile says that would be in use: the one
// that is named, else the default.
func (u *InUse) ChooseNone(named string) {
	u.base, u.noneUsed, u.fallback = Local(), true, named
}

// Path is the config file.
func (u *InUse) Path() string { return u.path }

// Base is the profile in use as it was configured at the start.
func (u *InUse) Base() model.Profile { return u.base }

// Profile is the profile in use as known now; it does no I/O.
func (u *InUse) Profile() model.Profile {
	if p := u.current.Load(); p != nil {
		return *p
	}
	return u.base
}

// Known reports whether the profile was set since the start: the embedded emulator's, once its addresses are known.
func (u *InUse) Known() bool { return u.current.Load() != nil }

// SetProfile has the profile in use as it is now.
func (u *InUse) SetProfile(p model.Profile) { u.current.Store(&p) }

// Withdraw ends the use of the profile, with the reason.
func (u *InUse) Withdraw(reason string) { u.unusable.Store(&reason) }

// Restore begins the use of a profile again, and reports whether it had been withdrawn.
func (u *InUse) Restore() bool { return u.unusable.Swap(nil) != nil }

// Withdrawn is why nothing is sent by the profile any more, nil while it is used.
func (u *InUse) Withdrawn() error {
	if reason := u.unusable.Load(); reason != nil {
		return errors.New(*reason)
	}
	return nil
}

// File is the configuration as last read without a fault.
func (u *InUse) File() File { return *u.file.Load() }

// SetFile has the configuration as it was read again.
func (u *InUse) SetFile(f File) { u.file.Store(&f) }

// Read reads the configuration as it is on disk. File stays.
func (u *InUse) Read() (File, error) { return Load(u.path) }

// Named is the profile in use, or another one of the configuration as it is on disk.
func (u *InUse) Named(name string) (model.Profile, error) {
	if p := u.Profile(); p.Name == name {
		return p, nil
	}
	file, err := u.Read()
	if err != nil {
		return model.Profile{}, err
	}
	return file.Profile(name)
}

// Configured are the profiles of File in the order of their names.
func (u *InUse) Configured() (profiles []model.Profile) {
	file := u.File()
	for _, name := range file.Names() {
		if p, err := file.Profile(name); err == nil {
			profiles = append(profiles, p)
		}
	}
	return profiles
}

// Refuse says why this machine's files are not changed: the profile in use is read-only, or the one that would be in
// use.
func (u *InUse) Refuse(what string) error {
	p := u.Profile()
	if u.noneUsed {
		p, _ = u.File().Profile(cmp.Or(u.fallback, u.File().Default()))
	}
	return p.Refuse(what)
}
