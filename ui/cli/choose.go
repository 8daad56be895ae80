package cli

import (
	"os"
	"strings"

	"zonedeck/service/profile"
)

// Environment variables of the command line.
const (
	envKey      = "ZONEDECK_API_KEY"
	envProfile  = "ZONEDECK_PROFILE"
	envPassword = "ZONEDECK_ZONE_PASSWORD"
	// envEmulatorProxy is where the embedded emulator's proxy listens.
	envEmulatorProxy = "ZONEDECK_EMULATOR_PROXY"
	// envChromium names the browser that the emulator runs, as it does for other programs.
	envChromium = "CHROME_PATH"
)

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
	if s.base.CA != "" {
		if _, err := os.Stat(s.base.CA); err != nil {
			return usage("ca of profile %q: %w", s.base.Name, err)
		}
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

// configFile is the config file in use.
func (s *session) configFile() string { return firstOf(s.app.flags.config, s.paths.ConfigFile()) }

// profileNames are the profiles there are, the embedded emulator last.
func (s *session) profileNames() []string { return append(s.config.Names(), emulatorProfile) }
