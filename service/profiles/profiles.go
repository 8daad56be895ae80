package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/config"
	"zonedeck/service/keys"
	"zonedeck/service/secrets"
)

// What faces name of the account and of moved secrets; see account and secrets.
type (
	// Facts is what is known of an account so far.
	Facts = account.Facts
	// Zone is a zone that the account has.
	Zone = account.Zone
	// Finding is the verdict on one value of a profile.
	Finding = account.Check
	// Verdict is what a check of one value said, in one line of text.
	Verdict = account.Verdict
	// State is how a check of one value came out.
	State = account.State
	// Use is a reference and what refers to it, a phrase each.
	Use = secrets.Use
	// Move is one secret on its way from a reference to another.
	Move = secrets.Move
	// LevelError says that a key is called by a level that what it was seen to be allowed leaves out.
	LevelError = account.LevelError
)

// The states of a verdict.
const (
	Unknown = account.Unknown
	OK      = account.OK
	Warning = account.Warning
	Failed  = account.Failed
)

// ErrRead says that the account could not be read, ErrNothing that no secret is to be moved.
var (
	ErrRead    = account.ErrRead
	ErrNothing = secrets.ErrNothing
)

// Account asks accounts what they have, as account.Config does.
type Account interface {
	Read(ctx context.Context, p model.Profile, key keystore.Secret, on func(Facts)) (Facts, error)
}

// Rotations are the records of rotations.
type Rotations interface {
	List() ([]keystore.RotationPlan, error)
	// Naming is List of the records that may name one of these.
	Naming(names ...string) ([]keystore.RotationPlan, error)
	// HoldingReference says which rotation holds a reference, "" for none.
	HoldingReference(ref string) string
}

// Config is what Profiles works with. All parts must be set.
type Config struct {
	InUse     *config.InUse
	Keys      *keys.Keys
	Secrets   *keystore.Resolver
	Account   Account
	Rotations Rotations
	Jobs      secrets.Jobs
	Paths     config.Paths
	// Getenv gives the profile that the environment names.
	Env keys.Environment
}

// Profiles are those of the configuration.
type Profiles struct {
	cfg       Config
	inventory *keystore.Inventory
}

// New does no I/O.
func New(c Config) *Profiles { return &Profiles{c, c.Keys.Inventory().Inventory} }

// EnvProfile names the profile of a run.
const EnvProfile = "ZONEDECK_PROFILE"

// What a read-only profile refuses of this machine's files.
const (
	changeConfig  = "change the configuration"
	changeKeys    = "change the key inventory"
	changeSecrets = "change its secrets"
)

// Configured are the profiles of the config file in the order of their names, and the default.
func (ps *Profiles) Configured() (profiles []model.Profile, byDefault string) {
	return ps.cfg.InUse.Configured(), ps.cfg.InUse.File().Default()
}

// Names are all known profiles as the file has them, the embedded emulator last.
func (ps *Profiles) Names() []string {
	return append(ps.cfg.InUse.File().InOrder(), model.LocalName)
}

// Current is the name of the profile in use.
func (ps *Profiles) Current() string { return ps.cfg.InUse.Base().Name }

// ByDefault is the profile that a command without --profile uses, empty if such a command is refused.
func (ps *Profiles) ByDefault() string {
	file := ps.cfg.InUse.File()
	name := cmp.Or(ps.cfg.Env.Getenv(EnvProfile), file.Default())
	if name == "" && len(file.Names()) == 0 {
		return model.LocalName
	}
	return name
}

// DefaultNow is the default of the config file as it is on disk, empty where there is none.
func (ps *Profiles) DefaultNow() (string, error) {
	file, err := ps.cfg.InUse.Read()
	return file.Default(), err
}

// Refusal is why no profile is added or changed, or nil: the keys are not known, or the profile in use is read-only
// (*model.ReadOnlyError). It waits for nothing.
func (ps *Profiles) Refusal() error {
	return cmp.Or(ps.cfg.Keys.Inventory().Unread(), ps.cfg.InUse.Refuse(changeConfig))
}

// Key is a key of the inventory.
func (ps *Profiles) Key(name string) (model.Key, bool) {
	return ps.inventory.Get(strings.TrimSpace(name))
}

// ErrOwnRates is why no rates are written for the embedded emulator.
var ErrOwnRates = errors.New("the embedded emulator announces the rates of its zones, so there is nothing to save")

// RefuseRates is why no rates are written into the profile in use, or nil: ErrOwnRates, or it is read-only
// (*model.ReadOnlyError).
func (ps *Profiles) RefuseRates() error {
	if ps.cfg.InUse.Profile().Local {
		return ErrOwnRates
	}
	return ps.cfg.InUse.Refuse("write rates")
}

// SaveRates writes the rates of zones into the profile in use, unless RefuseRates says why not.
func (ps *Profiles) SaveRates(ctx context.Context, rates map[model.ZoneName]model.Rate) error {
	if err := ps.RefuseRates(); err != nil {
		return err
	}
	return config.SetRates(ctx, ps.cfg.InUse.Path(), ps.Current(), rates)
}

// SetTimeout writes the timeout of a product into the profile in use, unless that is read-only or the emulator's.
func (ps *Profiles) SetTimeout(ctx context.Context, product model.Product, d time.Duration) error {
	before, err := ps.cfg.InUse.File().Profile(ps.Current())
	if err = cmp.Or(ps.cfg.InUse.Refuse(changeConfig), err); err != nil {
		return err
	}
	p := before
	if p.Timeouts, err = before.Timeouts.Set(product.String() + "=" + d.String()); err == nil {
		_, err = config.EditProfile(ctx, ps.cfg.InUse.Path(), before, p)
	}
	return err
}

// Store is a place for secrets, one of keystore.StoreSchemes, and what its probe said: nil is good. Note says
// more of a good one. Unlocked says that only file permissions protect it.
type Store struct {
	Scheme   string
	Err      error
	Note     string
	Unlocked bool
}

// Stores probes the places where secrets can be stored, the one to prefer first.
func (ps *Profiles) Stores(ctx context.Context) []Store {
	err := ps.cfg.Secrets.ProbeKeyring(ctx)
	if failed, ok := errors.AsType[*keystore.SecretError](err); ok {
		err = fmt.Errorf("%s: %w", failed.Problem, cmp.Or(failed.Err, failed.Kind))
	}
	files := Store{Scheme: keystore.SchemeFile, Note: "age file: without a passphrase"}
	protection, unread := ps.cfg.Secrets.Protection()
	if files.Unlocked = unread != nil || protection == keystore.Unprotected; protection == keystore.ByPassphrase {
		files.Note = "age file: opened by a passphrase"
	}
	return []Store{{Scheme: keystore.SchemeKeyring, Err: err}, files}
}

// files are where a profile is written.
func (ps *Profiles) files(name string) files {
	path := ps.cfg.InUse.Path()
	return files{path, filepath.Join(filepath.Dir(path), "ca"), recorded{ps.inventory, ps.cfg.Keys, name}, ps.cfg.Secrets}
}

// recorded is the inventory; its changes are written into the history of the profile that is saved, which need not be
// the one in use.
type recorded struct {
	*keystore.Inventory
	keys    *keys.Keys
	profile string
}

// Add records a key.
func (r recorded) Add(ctx context.Context, added model.Key) error {
	err := r.Inventory.Add(ctx, added)
	if err == nil {
		r.keys.Events().Recorded(ctx, r.profile, added, "in the inventory with its account, level "+added.Level.String())
	}
	return err
}

// Update changes a key.
func (r recorded) Update(ctx context.Context, name string, change func(model.Key) (model.Key, error)) error {
	err := r.Inventory.Update(ctx, name, change)
	if err == nil {
		r.keys.Events().Put(ctx, r.profile, name, "changed", "in the inventory with its account: its value or its reference")
	}
	return err
}

// Remove drops a key.
func (r recorded) Remove(ctx context.Context, known model.Key) error {
	err := r.Inventory.Remove(ctx, known)
	if err == nil {
		r.keys.Events().Put(ctx, r.profile, known.Name, "removed", "from the inventory with its account; it is still valid at the service")
	}
	return err
}
