package keys

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/journal"
	"zonedeck/service/radius"
	"zonedeck/service/rehearsal"
)

// Profiles are the profile in use and the configuration, as config.InUse has them.
type Profiles interface {
	// Base is the profile in use as configured, Profile the same with live addresses.
	Base() model.Profile
	Profile() model.Profile
	SetProfile(p model.Profile)
	// Withdrawn is why nothing may be sent with the profile in use any more; else nil.
	Withdrawn() error
	// File is the configuration as last read, Read as on disk now.
	File() config.File
	Read() (config.File, error)
	// Named is the profile in use, or another one as on disk now.
	Named(name string) (model.Profile, error)
	// Configured are the profiles of File in the order of their names.
	Configured() []model.Profile
	// Refuse is an error if the profile is read-only: this machine's files are not changed then.
	Refuse(what string) error
}

// Emulator is the embedded emulator.
type Emulator interface {
	// Profile is the demo account's. It starts the emulator if necessary.
	Profile(ctx context.Context) (model.Profile, error)
	// Keys are the demo account's, nil before the emulator was found. firstStart is when its folder was first used.
	Keys() (keys []model.Key, firstStart time.Time)
	// Users are the users of a key that the console does not find by itself.
	Users(key string) []string
	// Ahead is how far its time is ahead of the machine's. Time says it in words: "2h ahead of the machine's".
	Ahead() time.Duration
	Time() string
	// Control is where its settings are changed.
	Control(ctx context.Context) (rehearsal.Place, error)
}

// Clock tells the time of the service in use (Now) and of this machine (Machine).
type Clock interface {
	Now() time.Time
	Machine() time.Time
}

// Values gives the values of references.
type Values interface {
	Resolve(ctx context.Context, ref string) (keystore.Secret, error)
}

// Environment gives the variables of the environment.
type Environment interface {
	Getenv(name string) string
}

// Voice prints one line for the operator. It makes arguments safe for a terminal.
type Voice interface {
	Say(format string, args ...any)
}

// History keeps the events and uses of keys, as journal.Journal does.
type History interface {
	PutKeyEvent(ctx context.Context, e journal.KeyEvent) error
	KeyEvents(ctx context.Context, key string, limit int) ([]journal.KeyEvent, error)
	Flush(ctx context.Context) error
	PutKeyUsed(ctx context.Context, at time.Time, profile, key, fingerprint string) error
	KeyUses(ctx context.Context) ([]journal.KeyUse, error)
	KeyValues(ctx context.Context) ([]journal.KeyValue, error)
	PutKeysSeen(ctx context.Context, uses []journal.KeyUse) error
	PutKeyValues(ctx context.Context, values []journal.KeyValue) error
}

// errNoHistory says that an event cannot be recorded.
var errNoHistory = errors.New("no history is kept in this run")

// CallerKind is who decides on a call.
type CallerKind int

// The kinds of callers.
const (
	Person  CallerKind = iota // decides on each call
	Command                   // runs unattended
	Agent
)

// Caller is who uses the keys in this run.
type Caller struct {
	Kind CallerKind
	// AdminReason is why a command or an agent may use an ADMIN key; empty means that it may not.
	AdminReason string
	// Allowed are the keys of other accounts that may still be sent, as NAME=ADDRESS.
	Allowed []string
}

// Config is what Keys works with. All parts but Emulator must be set.
type Config struct {
	Profiles Profiles
	Emulator Emulator // nil with a real account
	Resolver *keystore.Resolver
	Values   Values // the values of Resolver, and typed ones
	Env      Environment
	Clock    Clock
	Voice    Voice
	Caller   Caller
	Paths    config.Paths
	Log      *slog.Logger
}

// Keys decides which key may go where. It is the exchange.Source of the profile in use.
type Keys struct {
	cfg       Config
	inventory *keystore.Inventory
	history   History // nil keeps nothing
	jobs      radius.Jobs

	marks     marks
	confirmed confirmed
	reasons   reasons
	scrubbed  scrubbed
	replaced  sync.Once
	warned    sync.Map // what was told against keys
}

// New makes Keys and reads nothing yet. ctx ends the look-up of values at the first read of the inventory.
func New(ctx context.Context, c Config) *Keys {
	ks := &Keys{cfg: c}
	ks.inventory = keystore.LaterInventory(c.Paths.KeysFile(), func(keys []model.Key) { ks.lookForKeyOf(ctx, keys) })
	for _, named := range c.Caller.Allowed {
		ks.confirm(named)
	}
	return ks
}

// Connect sets the history that keeps events, and the jobs in flight that count as uses. Either may be nil. It must
// be called before anything is sent.
func (ks *Keys) Connect(h History, jobs radius.Jobs) { ks.history, ks.jobs = h, jobs }

// Close waits until everything is written. Nothing is recorded afterwards.
func (ks *Keys) Close() {
	ks.marks.end()
	ks.inventory.Settle()
}

// Inventory is the list of the keys.
func (ks *Keys) Inventory() Inventory { return Inventory{ks.inventory, ks} }

// UnknownRotations says why the environment's key may be under rotation without the console knowing; empty if not.
func (ks *Keys) UnknownRotations() string { return ks.marks.notKnown() }

func (ks *Keys) unattended() bool { return ks.cfg.Caller.Kind != Person }

// Profile returns the profile in use, with live addresses. With a real account, an unreadable inventory is an error.
func (ks *Keys) Profile(ctx context.Context) (model.Profile, error) {
	if ks.cfg.Emulator == nil {
		if err := ks.cfg.Profiles.Withdrawn(); err != nil {
			return model.Profile{}, err
		}
		return ks.cfg.Profiles.Profile(), ks.Inventory().Read()
	}
	p, err := ks.cfg.Emulator.Profile(ctx)
	if err == nil {
		ks.cfg.Profiles.SetProfile(p)
	}
	return p, err
}

// Secret returns the value of a reference. In the background it records the value's fingerprint for the
// keys with that reference.
func (ks *Keys) Secret(ctx context.Context, ref string) (keystore.Secret, error) {
	value, err := ks.resolve(ctx, ref)
	if err == nil && ks.cfg.Caller.Kind == Agent {
		ks.scrubbed.add(value)
	}
	return value, err
}

// Key finds a key by name.
func (ks *Keys) Key(name string) (model.Key, bool) {
	k := named(ks.Inventory().All(), name)
	return k, k.Name != ""
}

// OtherProfiles returns the profiles now configured except the one in use.
func (ks *Keys) OtherProfiles() []model.Profile {
	return slices.DeleteFunc(ks.cfg.Profiles.Configured(), func(p model.Profile) bool { return p.Name == ks.cfg.Profiles.Base().Name })
}

// OtherProfile is the Source of another profile of the configuration. It has only the keys of the inventory: the
// environment's key belongs to the profile in use. Nobody is asked for a passphrase, because the person at the
// terminal works with the profile in use.
func (ks *Keys) OtherProfile(profile string) exchange.Source { return otherProfile{ks, profile} }

type otherProfile struct {
	ks   *Keys
	name string
}

func (o otherProfile) Profile(context.Context) (model.Profile, error) {
	if err := o.ks.Inventory().Read(); err != nil {
		return model.Profile{}, err
	}
	if o.name == o.ks.cfg.Profiles.Base().Name {
		return model.Profile{}, errors.New("profile " + o.name + " is the one in use")
	}
	return o.ks.cfg.Profiles.File().Profile(o.name)
}

func (o otherProfile) Secret(ctx context.Context, ref string) (keystore.Secret, error) {
	return o.ks.Secret(ask.By(ctx, ask.Nobody), ref)
}

func (o otherProfile) Key(name string) (model.Key, bool) {
	k := named(o.ks.Inventory().Recorded(), name)
	return k, k.Name != ""
}

// Permit is Keys.Permit without a reason: a reason counts only for the keys of the profile in use.
func (o otherProfile) Permit(ctx context.Context, p model.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	if err := o.ks.refuseSharedVariable(p, k); err != nil {
		return keystore.Secret{}, err
	}
	value, err := o.ks.permit(ctx, p, k, take, "")
	if refused := (*AdminError)(nil); errors.As(err, &refused) {
		refused.OtherProfile = p.Name
	}
	return value, err
}

// scrubbed are the secrets that a run for an agent has used.
type scrubbed struct {
	mu      sync.Mutex
	secrets []keystore.Secret
	mask    exchange.Mask
}

func (u *scrubbed) add(value keystore.Secret) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, known := range u.secrets {
		if known.Fingerprint() == value.Fingerprint() {
			return
		}
	}
	u.secrets = append(u.secrets, value)
	u.mask = exchange.MaskOf(keystore.Secret{}, exchange.Login{}, u.secrets...)
}

// Scrub masks every secret that this run has used for an agent, in place.
func (ks *Keys) Scrub(b []byte) []byte {
	ks.scrubbed.mu.Lock()
	mask := ks.scrubbed.mask
	ks.scrubbed.mu.Unlock()
	return mask.Bytes(b)
}
