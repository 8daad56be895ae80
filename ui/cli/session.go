package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/journal"
	"zonedeck/service/profile"
	"zonedeck/ui/kit"
)

// Environment variables of the command line.
const (
	envKey      = "ZONEDECK_API_KEY"
	envProfile  = "ZONEDECK_PROFILE"
	envPassword = "ZONEDECK_ZONE_PASSWORD"
	// envEmulatorProxy is where the embedded emulator's proxy listens.
	envEmulatorProxy = "ZONEDECK_EMULATOR_PROXY"
)

// patience is how long the program is silent before it says what it waits for.
const patience = 500 * time.Millisecond

// session is what a command works with: the profile in use, its keys, the
// journal and the service. It is closed when the command ends.
type session struct {
	app       *app
	paths     profile.Paths
	base      profile.Profile // as configured; empty addresses for the emulator
	config    profile.File
	current   atomic.Pointer[profile.Profile] // base, with addresses once they are known
	embedded  *embedded                       // nil for a real account
	inventory *keystore.Inventory
	resolver  *keystore.Resolver
	journal   *journal.Journal
	client    *service.Client

	journalFault error    // why journal is nil
	notices      []string // what the operator must be told about the files
	implied      bool     // nothing was configured, so the embedded emulator is used
	console      bool     // stderr is the screen: notes are shown, not said
	spoken       sync.Once
	pruning      sync.WaitGroup
}

// sessionNeeds says what a command cannot do without.
type sessionNeeds struct {
	key     string // --key, or ""
	journal bool   // the history is read or written
	console bool   // stderr is the screen once the program runs
}

// openSession reads the configuration and opens the files. It does no network
// I/O: an embedded emulator is started by the first call that needs it.
func (a *app) openSession(ctx context.Context, needs sessionNeeds) (*session, error) {
	s := &session{app: a, paths: profile.FindPaths(a.Getenv), console: needs.console}
	if err := s.choose(needs); err != nil {
		return nil, err
	}
	if err := s.paths.Ensure(); err != nil {
		s.notices = append(s.notices, fmt.Sprintf("%v: nothing will be kept", err))
	}
	inventory, err := keystore.OpenInventory(s.paths.KeysFile())
	if err != nil {
		return nil, fail(exitState, "read the key inventory: %w", err)
	}
	s.inventory = inventory
	if needs.journal {
		if err := s.openJournal(ctx); err != nil {
			return nil, err
		}
		s.pruning.Go(s.prune)
	}
	s.resolver = keystore.NewResolver(keystore.ResolverOptions{
		Getenv: a.Getenv, Demo: s.demoSecret, SecretsDir: s.paths.SecretsDir(),
	})
	s.client = service.New(service.Options{
		Profile: s.profile, Secret: s.resolver.Resolve, Key: s.key, Journal: s.journal,
		BodiesDir: s.paths.BodiesDir(), DownloadsDir: s.paths.DownloadsDir(), Now: a.Now, Log: a.log,
	})
	return s, nil
}

// choose settles which profile is used: flags over environment over the config
// file, and the embedded emulator where nothing is configured. A key without an
// address is refused, so that a real key never goes to the emulator by accident.
func (s *session) choose(needs sessionNeeds) error {
	a := s.app
	override, err := a.override()
	if err != nil {
		return err
	}
	if f := a.flags.config; f != "" {
		if _, err := os.Stat(f); err != nil {
			return usage("--config: %w", err)
		}
	}
	file, err := profile.Load(s.configFile())
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	s.config = file
	asked := firstOf(a.flags.profile, a.Getenv(envProfile))
	name := firstOf(asked, file.Default())
	addressed := override.BaseURL != "" || override.ProxyHost != ""
	if addressed && asked == "" && name == emulatorProfile {
		name = "" // an address on the command line speaks louder than the default
	}
	switch {
	case name == emulatorProfile && addressed:
		return usage("--base-url and --proxy-host do not go with the profile %q, which has its own addresses", emulatorProfile)
	case name == emulatorProfile:
		s.base = profile.Profile{Name: emulatorProfile, Local: true}
	case name != "":
		if s.base, err = file.Profile(name); err == nil {
			s.base, err = s.base.With(override)
		}
	case addressed:
		s.base, err = profile.FromFlags(override)
	case len(file.Names()) > 0:
		return usage("several profiles are configured and none is the default: add --profile NAME (%s), or set default_profile in %s", strings.Join(s.profileNames(), ", "), s.configFile())
	case needs.key != "" || override.Key != "" || a.Getenv(envKey) != "":
		return usage("a key was given but no account to use it with: add --profile NAME or --base-url URL (a real key is never sent to the embedded emulator; its demo keys need --profile %s)", emulatorProfile)
	default:
		s.base, s.implied = profile.Profile{Name: emulatorProfile, Local: true}, true
	}
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	if s.base.Local {
		s.embedded = newEmbedded(a, s.paths)
		return nil
	}
	if a.Getenv(envKey) != "" {
		s.base.Key = envKey
	}
	if a.Getenv(envPassword) != "" {
		for i, z := range s.base.Zones {
			if z.Password == "" {
				s.base.Zones[i].Password = "env:" + envPassword
			}
		}
	}
	return nil
}

// override is what flags and environment say over the profile, flags first.
func (a *app) override() (profile.Override, error) {
	env, err := profile.EnvOverride(a.Getenv)
	if err != nil {
		return profile.Override{}, usage("%w", err)
	}
	flags := profile.Override{BaseURL: a.flags.baseURL, ProxyHost: a.flags.proxyHost}
	if host, port, err := splitPort(a.flags.proxyHost); err == nil {
		flags.ProxyHost, flags.ProxyPort = host, port
	}
	return flags.Or(env), nil
}

// openJournal opens the history. The program works without it, and says so. A
// file that another process has locked is waited for, which is said too.
func (s *session) openJournal(ctx context.Context) error {
	type opened struct {
		j      *journal.Journal
		notice journal.Notice
		err    error
	}
	done := make(chan opened, 1)
	go func() {
		j, notice, err := journal.Open(ctx, s.paths.JournalFile(), s.app.Now)
		done <- opened{j, notice, err}
	}()
	slow := time.NewTimer(patience)
	defer slow.Stop()
	for {
		select {
		case o := <-done:
			if o.notice.Text != "" {
				s.notices = append(s.notices, o.notice.Text)
			}
			if s.journal, s.journalFault = o.j, o.err; o.err != nil {
				s.notices = append(s.notices, fmt.Sprintf("no history is kept: %v", o.err))
			}
			return nil
		case <-slow.C:
			s.app.say("zonedeck: waiting for the journal %s", s.paths.JournalFile())
		case <-ctx.Done():
			// SQLite's wait cannot be cut short; it ends by itself within seconds.
			go func() {
				if o := <-done; o.err == nil {
					_ = o.j.Close() // nothing was written to it
				}
			}()
			return ctx.Err()
		}
	}
}

// prune keeps the folder of bodies in bounds, beside the command's own work.
func (s *session) prune() {
	freed, err := profile.PruneBodies(context.Background(), s.paths.BodiesDir(), s.app.Now())
	if err != nil {
		s.app.log.Warn("the folder of bodies could not be pruned", "error", err)
	}
	if freed > 0 {
		s.app.log.Info("old bodies were deleted", "bytes", freed)
	}
}

// profile is the profile in use with addresses that answer.
func (s *session) profile(ctx context.Context) (profile.Profile, error) {
	if s.embedded == nil {
		return s.base, nil
	}
	ready, err := s.embedded.ensure(ctx)
	if err != nil {
		return profile.Profile{}, err
	}
	if !s.console {
		s.spoken.Do(func() {
			for _, n := range s.embedded.stateNotes() {
				s.app.say("zonedeck: %s", sanitizeLine(n))
			}
		})
	}
	p, err := demoProfile(ready)
	if err == nil {
		s.current.Store(&p)
	}
	return p, err
}

// currentProfile is the profile as it is known now, without any I/O.
func (s *session) currentProfile() profile.Profile {
	if p := s.current.Load(); p != nil {
		return *p
	}
	return s.base
}

// configFile is the config file in use.
func (s *session) configFile() string { return firstOf(s.app.flags.config, s.paths.ConfigFile()) }

// profileNames are the profiles there are, the embedded emulator last.
func (s *session) profileNames() []string { return append(s.config.Names(), emulatorProfile) }

// describe is what the views are told of the session.
func (s *session) describe() kit.Session {
	p := s.currentProfile()
	key, _ := s.key(p.Key)
	var notes []string
	if s.embedded != nil {
		notes = s.embedded.notes()
	}
	return kit.Session{
		ProfileName: p.Name, Notes: notes, Local: p.Local, Ready: s.embedded == nil || s.current.Load() != nil,
		Unverified: !p.Verify && !p.Local, Zones: p.Zones, Keys: s.keys(), Key: key, Profile: p,
	}
}

// zonePassword is a zone's proxy password.
func (s *session) zonePassword(ctx context.Context, z model.Zone) (keystore.Secret, error) {
	if z.Password == "" {
		return keystore.Secret{}, fmt.Errorf("zone %q has no password reference: set password in the config file, or %s in the environment", z.Name, envPassword)
	}
	return s.resolver.Resolve(ctx, z.Password)
}

// proxyInEnvironment reports whether the environment names a proxy for other
// programs. The console does not use it, and says so.
func (a *app) proxyInEnvironment() bool {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"} {
		if a.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// keys are the keys of the inventory, and the demo account's while the emulator
// is in use.
func (s *session) keys() []model.Key {
	var keys []model.Key
	if s.embedded != nil {
		s.embedded.mu.Lock()
		ready, known := s.embedded.ready, s.embedded.known
		s.embedded.mu.Unlock()
		if known {
			keys = demoKeys(ready)
		}
	} else if s.app.Getenv(envKey) != "" {
		secret := keystore.NewSecret(s.app.Getenv(envKey))
		keys = append(keys, model.Key{
			Name: envKey, Secret: "env:" + envKey, Fingerprint: secret.Fingerprint(), Last4: secret.Last4(),
			Note: "from the environment: level and age are not known",
		})
	}
	return append(keys, s.inventory.List()...)
}

// key finds a key by name.
func (s *session) key(name string) (model.Key, bool) {
	keys := s.keys()
	if i := slices.IndexFunc(keys, func(k model.Key) bool { return k.Name == name }); i >= 0 {
		return keys[i], true
	}
	return model.Key{}, false
}

func (s *session) demoSecret(name string) (keystore.Secret, bool) {
	if s.embedded == nil {
		return keystore.Secret{}, false
	}
	return s.embedded.demoSecret(name)
}

// zone finds the zone a command names. A profile that lists its zones knows
// them all; one that lists none takes the name as it is.
func (s *session) zone(p profile.Profile, name string) (model.Zone, error) {
	if z, ok := p.Zone(name); ok {
		return z, nil
	}
	if len(p.Zones) > 0 {
		return model.Zone{}, usage("zone %q is not in profile %q: it has %s", name, p.Name, zoneNames(p.Zones))
	}
	zone, err := model.ParseZoneName(name)
	if err != nil {
		return model.Zone{}, usage("%w", err)
	}
	z := model.Zone{Name: zone}
	if s.app.Getenv(envPassword) != "" {
		z.Password = "env:" + envPassword
	}
	return z, nil
}

func zoneNames(zones []model.Zone) string {
	names := ""
	for i, z := range zones {
		if i > 0 {
			names += ", "
		}
		names += string(z.Name)
	}
	return names
}

// close ends the session: the service first, then the history, then the emulator.
func (s *session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := s.client.Close()
	s.pruning.Wait()
	if s.journal != nil {
		err = errors.Join(err, s.journal.Close())
	}
	if s.embedded != nil {
		err = errors.Join(err, s.embedded.close(ctx))
	}
	if err != nil {
		return fail(exitState, "%w", err)
	}
	return nil
}

// withSession opens a session, runs f, and closes it whatever f did. What goes
// wrong at the end is said, but it does not turn done work into a failure.
func (a *app) withSession(ctx context.Context, needs sessionNeeds, f func(*session) error) error {
	s, err := a.openSession(ctx, needs)
	if err != nil {
		return err
	}
	for _, n := range s.notices {
		a.say("zonedeck: %s", sanitizeLine(n))
	}
	if s.implied {
		a.say("zonedeck: no account is configured: using the embedded emulator with its demo key (zonedeck paths shows where a config file goes)")
	}
	err = f(s)
	if cerr := s.close(ctx); cerr != nil {
		a.warn("%s", oneLine(cerr))
	}
	return err
}

// oneLine is an error for the terminal; joined errors stand behind each other.
func oneLine(err error) string {
	return sanitizeLine(strings.ReplaceAll(err.Error(), "\n", "; "))
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
