package service

import (
	"cmp"
	"os"
	"strconv"
	"strings"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/profiles"
)

// Environment variables of the command line. EnvPassphrase unlocks the encrypted files of secrets.
const (
	EnvKey        = config.EnvKey
	EnvProfile    = profiles.EnvProfile
	EnvPassword   = config.EnvPassword
	EnvPassphrase = "ZONEDECK_PASSPHRASE"
)

// choose decides which profile is used: flags override the environment, which
// overrides the config file. Without any configuration it is the embedded emulator.
// A key without an address is refused: a real key must never be sent to the
// emulator by accident.
func (s *Service) choose() error {
	o := s.o
	override, err := o.override()
	if err != nil {
		return err
	}
	if f := o.Config; f != "" {
		if _, err := os.Stat(f); err != nil {
			return config.Mistake("--config: %w", err)
		}
	}
	file, err := config.Load(s.configFile())
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

// completed adds the environment's key and password to the profile of a real account.
func (o Options) completed(p model.Profile) (model.Profile, error) {
	if p.CA != "" {
		if _, err := os.Stat(p.CA); err != nil {
			return p, config.Mistake("ca of profile %q: %w", p.Name, err)
		}
	}
	if o.Getenv(EnvKey) != "" {
		p.Key = EnvKey
	}
	if o.Getenv(EnvPassword) != "" {
		for i, z := range p.Zones {
			if z.Password == "" {
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
