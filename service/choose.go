package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/database"
	"zonedeck/service/export"
	"zonedeck/service/local"
	"zonedeck/service/profiles"
)

// Environment variables of the command line. EnvPassphrase unlocks the encrypted files of secrets.
const (
	EnvKey        = config.EnvKey
	EnvProfile    = profiles.EnvProfile
	EnvConfig     = "ZONEDECK_CONFIG"
	EnvPassword   = config.EnvPassword
	EnvPassphrase = "ZONEDECK_PASSPHRASE"
	EnvDatabase   = "ZONEDECK_DATABASE"
)

// errNoAccount refuses the demo account where nobody would notice that it is used.
var errNoAccount = config.Mistake("no account is configured, and with --no-input or in CI the demo account is not used in its place: add --profile NAME, or --profile %s for the embedded emulator", model.LocalName)

// AccountNamed refuses a run without a home folder, and one that would use the demo account for want of another, with
// --no-input or in CI. Open refuses both as well; faces ask before they check anything else.
func (o Options) AccountNamed() error {
	s := &Service{o: o, Paths: config.FindPaths(o.Getenv)}
	if err := s.Paths.HomeKnown(); err != nil {
		return err
	}
	if (o.NoInput || o.Getenv("CI") != "") && errors.Is(s.choose(), errNoAccount) {
		return errNoAccount
	}
	return nil
}

// choose decides which profile is used: flags override the environment, which
// overrides the config file. Without any configuration it is the embedded emulator,
// unless nobody is asked anything: with --no-input, or in CI.
// A key without an address is refused: a real key must never be sent to the
// emulator by accident.
func (s *Service) choose() error {
	o := s.o
	override, err := o.override()
	if err != nil {
		return err
	}
	if f := o.Config; f != "" && o.ConfigText == nil {
		if _, err := os.Stat(f); err != nil {
			return config.Mistake("--config: %w", err)
		}
	}
	file, err := s.readConfig()
	if err != nil {
		return config.Mistake("%w", err)
	}
	s.InUse = config.NewInUse(s.configFile(), file)
	if o.NoProfile {
		s.InUse.ChooseNone(cmp.Or(o.Profile, o.Getenv(EnvProfile)))
		s.Base = s.InUse.Base()
		return nil
	}
	defer func() { s.InUse.Choose(s.Base) }()
	asked := cmp.Or(o.Profile, o.Getenv(EnvProfile))
	name := cmp.Or(asked, file.Default())
	addressed := override.Addressed()
	if addressed && asked == "" && name == model.LocalName {
		name = "" // an address on the command line overrides the default
	}
	switch {
	case name == model.LocalName && addressed:
		return config.Mistake("--base-url and --proxy-host cannot be used with profile %q, which has its own addresses", model.LocalName)
	case name == model.LocalName:
		s.Base = config.Local()
	case name != "":
		if s.Base, err = file.Profile(name); err == nil {
			s.Base, err = override.On(s.Base)
		}
	case addressed:
		s.Base, err = config.FromFlags(override)
	case len(file.Names()) > 0:
		return config.Mistake("several profiles are configured and none is the default: add --profile NAME (%s), or set default_profile in %s", strings.Join(append(file.InOrder(), model.LocalName), ", "), s.configFile())
	case o.Key != "" || override["key"] != "" || o.Getenv(EnvKey) != "":
		return config.Mistake("a key was given but no account to use it with: add --profile NAME or --base-url URL (a real key is never sent to the embedded emulator; its demo keys need --profile %s)", model.LocalName)
	case o.NoInput || o.Getenv("CI") != "":
		return errNoAccount
	default:
		s.Base, s.Implied = config.Local(), true
	}
	if err != nil {
		return config.Mistake("%w", err)
	}
	if s.Base.Local {
		s.Local = o.emulator(s.Paths)
		return nil
	}
	s.Base, err = o.completed(s.Base)
	return err
}

// unknownVariables warns of variables that look like settings and are none: a misspelt name would change nothing,
// without a word. A name that the configuration or the inventory mentions is in use, as by a reference.
func (s *Service) unknownVariables() (warnings []string) {
	known := []string{EnvKey, EnvProfile, EnvConfig, EnvPassword, EnvPassphrase, EnvDatabase, local.EnvProxy, export.URLEnv}
	for _, v := range config.Variables() {
		known = append(known, v[0])
	}
	for _, set := range s.o.Environ {
		name, value, _ := strings.Cut(set, "=")
		if strings.HasPrefix(name, "ZONEDECK_") && value != "" && !slices.Contains(known, name) && !s.mentioned(name) {
			warnings = append(warnings, "the environment has "+name+", which is not a variable of zonedeck and changes nothing: check its spelling")
		}
	}
	return warnings
}

// mentioned reports whether the configuration or the inventory has a name in its text.
func (s *Service) mentioned(name string) bool {
	return slices.ContainsFunc([]string{s.configFile(), s.Paths.KeysFile()}, func(file string) bool {
		text, err := textfile.ReadBounded(file, textfile.MaxSize)
		return err == nil && bytes.Contains(text, []byte(name))
	})
}

// database is what names the server that has batches, jobs and webhooks: the flag, the environment or the profile; "" for
// files of this machine.
func (s *Service) database() string {
	return cmp.Or(s.o.Database, s.o.Getenv(EnvDatabase), s.Base.Database)
}

// OnServer reports whether a database is named.
func (s *Service) OnServer() bool { return s.database() != "" }

// Database is the address of the server. A text that is no address is a reference to one.
func (s *Service) Database(ctx context.Context) (string, error) {
	text := s.database()
	if database.IsAddress(text) {
		return text, nil
	}
	secret, err := s.Resolver.Resolve(ctx, text)
	if err != nil {
		return "", fmt.Errorf("the address of the database: %w", err)
	}
	return secret.Reveal(), nil
}

// checkDatabase refuses what names no database.
func (s *Service) checkDatabase() error {
	if text := s.database(); text != "" && !database.IsAddress(text) {
		if _, err := keystore.ParseRef(text); err != nil {
			return config.Mistake("--database or %s: %w", EnvDatabase, database.ErrAddress)
		}
	}
	return CheckDatabase(s.o.Database)
}

// CheckDatabase refuses an argument of --database with a password.
func CheckDatabase(text string) error {
	if database.IsAddress(text) && database.HoldsPassword(text) {
		return config.Mistake("--database: a password in an argument can be seen by everybody on this machine: set %s, name a reference such as env:NAME or keyring:NAME, or leave it to ~/.pgpass", EnvDatabase)
	}
	return nil
}

// namedDatabase is what --database takes for the database that the command or the environment has named; "" where
// neither has.
func (s *Service) namedDatabase() string {
	if s.o.Database == "" && s.o.Getenv(EnvDatabase) != "" {
		return "env:" + EnvDatabase
	}
	return s.o.Database
}

// completed adds the environment's key and password to the profile of a real account.
func (o Options) completed(p model.Profile) (model.Profile, error) {
	if p.CA != "" {
		if err := textfile.Trusted(p.CA); err != nil { // whoever writes it can read what is sent
			return p, err
		}
		if _, err := os.Stat(p.CA); err != nil {
			return p, config.Mistake("ca of profile %q: %w", p.Name, err)
		}
	}
	if o.Getenv(EnvKey) != "" {
		p.Key = EnvKey
	}
	if o.Getenv(EnvPassword) != "" {
		for i, z := range p.Zones {
			if z.Password == "" || p.Redirected.Logins {
				p.Zones[i].Password = "env:" + EnvPassword
			}
		}
	}
	return p, nil
}

// override merges the overrides of flags and environment; flags win.
func (o Options) override() (config.Override, error) {
	env, err := config.EnvOverride(o.Getenv)
	if err != nil {
		return config.Override{}, config.Mistake("%w", err)
	}
	flags := config.Override{}
	if o.BaseURL != "" {
		flags["base_url"] = o.BaseURL
	}
	if o.ProxyHost != "" {
		flags["proxy_host"] = o.ProxyHost
	}
	if host, port, err := config.SplitPort(o.ProxyHost); err == nil {
		flags["proxy_host"], flags["proxy_port"] = host, strconv.Itoa(port)
	}
	return flags.Or(env), nil
}

// Configuration is the config file as last read without an error.
func (s *Service) Configuration() config.File {
	return s.InUse.File()
}

// configFile is the config file in use.
func (s *Service) configFile() string { return cmp.Or(s.o.Config, s.Paths.ConfigFile()) }

func (s *Service) readConfig() (config.File, error) {
	if s.o.ConfigText != nil {
		return config.Parse("the configuration from a pipe", s.o.ConfigText)
	}
	return config.Load(s.configFile())
}
