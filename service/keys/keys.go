package keys

import (
	"context"
	"errors"
	"log/slog"
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
	// Base is the profile in use as it is configured, Profile as it is known now, with live addresses.
	Base() config.Profile
	Profile() config.Profile
	SetProfile(p config.Profile)
	// Withdrawn is why nothing is sent by the profile in use any more, nil while it is.
	Withdrawn() error
	// File is the configuration as last read, Read as it is on disk.
	File() config.File
	Read() (config.File, error)
	// Named is the profile in use, or another one as it is on disk.
	Named(name string) (config.Profile, error)
	// Configured are the profiles of File in the order of their names.
	Configured() []config.Profile
	// Refuse is why this machine's files are not changed: the profile is read-only.
	Refuse(what string) error
}

// Emulator is the embedded emulator.
type Emulator interface {
	// Profile is that of the demo account. It starts the emulator if necessary.
	Profile(ctx context.Context) (config.Profile, error)
	// Keys are the demo account's, none before the emulator was found, and when its folder was first used.
	Keys() (keys []model.Key, firstStart time.Time)
	// Users are what uses one of them besides what the console finds.
	Users(key string) []string
	// Ahead is how far its time is ahead of the machine's, and Time says so: "2h ahead of the machine's".
	Ahead() time.Duration
	Time() string
	// Control is where its settings are changed.
	Control(ctx context.Context) (rehearsal.Place, error)
}

// Clock tells the time of the service in use, and this machine's.
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

// History keeps what happens to keys, as journal.Journal does.
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

// errNoHistory says that a line cannot be kept.
var errNoHistory = errors.New("no history is kept in this run")

// CallerKind is who decides on a call.
type CallerKind int

// The kinds of callers.
const (
	Person  CallerKind = iota // decides on each call
	Command                   // runs unattended
	Agent
)

// Caller is who works with the keys in this run.
type Caller struct {
	Kind CallerKind
	// AdminReason is why a command or an agent may use an ADMIN key; empty means that it may not.
	AdminReason string
	// Allowed are keys of other accounts that may be sent nevertheless, as NAME=ADDRESS.
	Allowed []string
}

// Config is what Keys works with. All parts but Emulator must be set.
type Config struct {
	Profiles Profiles
	Emulator Emulator // nil with a real account
	Resolver *keystore.Resolver
	Values   Values // those of Resolver, and what was typed
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
}

// New reads nothing yet. What is looked for when the inventory is first read ends with ctx.
func New(ctx context.Context, c Config) *Keys {
	ks := &Keys{cfg: c}
	ks.inventory = keystore.LaterInventory(c.Paths.KeysFile(), func(keys []model.Key) { ks.lookForKeyOf(ctx, keys) })
	for _, named := range c.Caller.Allowed {
		ks.confirm(named)
	}
	return ks
}

// Connect has events kept in a history, and jobs in flight looked through as uses; nil for none. It is called before
// anything is sent.
func (ks *Keys) Connect(h History, jobs radius.Jobs) { ks.history, ks.jobs = h, jobs }

// Close waits until everything is written. Nothing is recorded afterwards.
func (ks *Keys) Close() {
	ks.marks.end()
	ks.inventory.Settle()
}

// Inventory is the list of the keys.
func (ks *Keys) Inventory() Inventory { return Inventory{ks.inventory, ks} }

// UnknownRotations is why it is not known whether the environment's key is one that is being rotated, or empty.
func (ks *Keys) UnknownRotations() string { return ks.marks.notKnown() }

func (ks *Keys) unattended() bool { return ks.cfg.Caller.Kind != Person }

// Profile gives the profile in use, with live addresses. Without a readable inventory there is none with a real account.
func (ks *Keys) Profile(ctx context.Context) (config.Profile, error) {
	if ks.cfg.Emulator == nil {
		if err := ks.cfg.Profiles.Withdrawn(); err != nil {
			return config.Profile{}, err
		}
		return ks.cfg.Profiles.Profile(), ks.Inventory().Read()
	}
	p, err := ks.cfg.Emulator.Profile(ctx)
	if err == nil {
		ks.cfg.Profiles.SetProfile(p)
	}
	return p, err
}

// Secret gives the value of a reference. While the call for it goes on, it records at the keys with that
// reference what the value is recognised by.
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

// OtherProfile is the Source of another profile of the configuration. It has the keys of the inventory alone: one from the
// environment belongs to the profile in use. Nobody is asked for a passphrase: the person at the terminal works with
// another profile.
func (ks *Keys) OtherProfile(profile string) exchange.Source { return otherProfile{ks, profile} }

type otherProfile struct {
	ks   *Keys
	name string
}

func (o otherProfile) Profile(context.Context) (config.Profile, error) {
	if err := o.ks.Inventory().Read(); err != nil {
		return config.Profile{}, err
	}
	if o.name == o.ks.cfg.Profiles.Base().Name {
		return config.Profile{}, errors.New("profile " + o.name + " is the one in use")
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

// Permit is that of Keys, but a reason counts only for the keys of the profile in use.
func (o otherProfile) Permit(ctx context.Context, p config.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	if err := o.ks.refuseSharedVariable(p, k); err != nil {
		return keystore.Secret{}, err
	}
	value, err := o.ks.permit(ctx, p, k, take, "")
	if refused := (*AdminError)(nil); errors.As(err, &refused) {
		refused.OtherProfile = p.Name
	}
	return value, err
}

// scrubbed are the secrets that were used in a run for an agent.
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

// Scrub masks every secret that was used in this run for an agent, in place.
func (ks *Keys) Scrub(b []byte) []byte {
	ks.scrubbed.mu.Lock()
	mask := ks.scrubbed.mask
	ks.scrubbed.mu.Unlock()
	return mask.Bytes(b)
}
