package cli

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/keys"
	"zonedeck/service/profiles"
	"zonedeck/service/view"
)

// profileFlags describe a profile on the command line.
type profileFlags struct {
	Given       givenFlags  `flag:"*"`
	Dialect     string      `flag:"dialect" takes:"dialect"`
	Key         string      `flag:"key" takes:"key" help:"name of the key in the inventory (default: the profile's key; for a new profile, its name)"`
	Level       string      `flag:"level" takes:"ADMIN|FINANCE|OPS|LIMIT|USER" help:"level of the key: ADMIN, FINANCE, OPS, LIMIT or USER (default: judged by what the service lets it do)"`
	KeyRef      string      `flag:"key-ref" help:"for a key that the inventory does not have: reference to its value, env:NAME, cmd:…, keyring:service/name or file:NAME (default: the value is read from standard input and stored)"`
	Store       string      `flag:"store" takes:"keyring|file" help:"where to store secrets: keyring or file (default: the keyring if it answers, else encrypted files)"`
	Account     string      `flag:"account" help:"account id (default: what the service says)"`
	Prefix      string      `flag:"prefix" help:"first word of proxy usernames (default: the dialect's)"`
	CA          string      `flag:"ca" takes:"file" help:"file with the proxy's CA certificate (default: what the service publishes)"`
	Color       string      `flag:"color" takes:"color"`
	Zones       []string    `flag:"zones" list:"comma" help:"zones to add (default: every zone that the account lists)"`
	AllowDomain []string    `flag:"allow-domain" list:"comma" help:"target that may be fetched, for example shop.example.com or *.example.com (default: every target)"`
	KeyRate     float64     `flag:"key-rate" help:"calls a second that one key may make, if your account allows more or fewer than the usual 16"`
	MaxJobCost  dollarsFlag `flag:"max-job-cost" help:"refuse jobs if the upper end of their estimate is above this many dollars, or unknown (default: no cap)"`
	TestURL     string      `flag:"test-url" help:"page that shows the text of --test-text: by it a rotation proves keys and passwords (default: the dialect's, if it knows one)"`
	TestText    string      `flag:"test-text" help:"text that only the page of --test-url shows"`
	Timeouts    []string    `flag:"product-timeout" list:"comma" help:"longest time for one attempt through zones of a product, for example unlocker=4m (repeatable; default: the product's)"`
	NoZones     bool        `flag:"no-zones" help:"add no zones"`
	NoCA        bool        `flag:"no-ca" help:"save no CA certificate"`
	ReadOnly    bool        `flag:"read-only" help:"refuse everything that changes something; =false switches this off"`
	Unchecked   bool        `flag:"unchecked" help:"save what the flags say without asking the service"`
	reasonFlag
	jsonFlag
}

func (f profileFlags) needs() needs { return needs{none: true, journal: true, reason: f.Reason} }

// profileHelp has the help of flags whose valid values are listed at run time.
func profileHelp() map[string]string {
	return map[string]string{
		"dialect": "what the service is known to do beyond the contract: " + strings.Join(dialect.Names(), " or "),
		"color":   "colour of the name on the screen: " + strings.Join(model.Colors(), ", "),
	}
}

func (a *app) profilesAddCommand() *cobra.Command {
	return command(a, spec[profileFlags]{
		use:   "add NAME",
		short: "Add a profile from a key and an address",
		long: `Adds a profile to the config file. With a dialect that lists accounts, a key and
--base-url are enough (by default, --base-url is that dialect's public address).
The service is then asked for the account id, the zones with their products,
rates and passwords, and the proxy's certificate, and each is checked.
--proxy-host HOST:PORT names the proxy if the dialect does not.

The value of the key is read from standard input, never from an argument. It
goes into the keyring or an encrypted file, unless --key-ref says where it is.

Nothing is written before all answers are there, and a key that the service
refuses is not saved. If the config file cannot be written, what was written
before it is undone. Exit code 1: the profile was saved, but a check failed.`,
		help: profileHelp(),
		run: func(ctx context.Context, t *task, f profileFlags, args []string) (printed, error) {
			d, err := t.Profiles.Begin(args[0])
			if err != nil {
				return printed{}, err
			}
			return t.saveProfile(ctx, f, d)
		},
	})
}

type profilesEditFlags struct {
	profileFlags
	Clear []string `flag:"clear" takes:"field" list:"comma"`
}

func (a *app) profilesEditCommand() *cobra.Command {
	help := profileHelp()
	help["clear"] = "fields to empty: " + profiles.Clearable
	return command(a, spec[profilesEditFlags]{
		use:   "edit PROFILE",
		short: "Change a profile, and add zones that its account now has",
		long: `Changes the lines of a profile that differ from the flags, and leaves the rest of
the config file as it is. --zones adds zones that the account lists and the
profile lacks, with their passwords. --clear empties fields. A read-only profile
is not changed, unless the same command gives --read-only=false.

The value of a key in the inventory is not changed: 'zonedeck secrets set' puts
another value behind its reference. --key can name another key. If the inventory
does not have it, it is added.`,
		help: help,
		run: func(ctx context.Context, t *task, f profilesEditFlags, args []string) (printed, error) {
			d, err := t.Profiles.Edit(args[0])
			if err != nil {
				return printed{}, err
			}
			if err := d.Clear(f.Clear); err != nil {
				return printed{}, usage("--clear: %w", err)
			}
			f.NoZones, f.NoCA = f.NoZones || f.Zones == nil, true
			f.Unchecked = f.Unchecked || f.NoZones // the account's own data is not needed
			return t.saveProfile(ctx, f.profileFlags, d)
		},
	})
}

// saveProfile applies the flags to a draft, asks the service about the account, and writes the profile.
func (t *task) saveProfile(ctx context.Context, f profileFlags, d profiles.Draft) (printed, error) {
	if err := f.describe(t.app.flags, &d); err != nil {
		return printed{}, err
	}
	r, err := t.Profiles.Check(d)
	if err != nil {
		return printed{}, profileError(r, err)
	}
	refused := r.Refusal()
	probes := refused == nil && !f.Unchecked
	if refused != nil && !f.Unchecked {
		t.app.say("zonedeck: the service is not asked: %s", refused)
	}
	if r.Valueless || probes && r.Key.Secret == "" {
		if d.Value, err = t.app.readSecret("the API key"); err != nil {
			return printed{}, err
		}
	}
	if !d.Value.Empty() || probes && !f.NoZones {
		if d.Store, err = t.store(ctx, f.Store); err != nil {
			return printed{}, err
		}
	}
	answers := ask.Answers{}.AlwaysWith(ask.AdminReason, ask.Answer{Text: f.Reason})
	if r, err = t.Profiles.Check(d); err == nil && (probes || d.Before == nil || f.KeyRef != "" || f.Key != "" && !r.Recorded) {
		d, err = t.Profiles.Resolve(ctx, d, answers)
	}
	if err != nil {
		return printed{}, keyError(ctx, r, err)
	}
	if probes {
		if d, err = t.Profiles.Probe(ctx, d, answers, nil); err != nil {
			return profileRead(ctx, r, d, err)
		}
		if f.NoCA {
			d.CA = nil
		}
	}
	if r, err = t.Profiles.Check(d); err != nil {
		return printed{}, profileError(r, err)
	}
	saved, err := t.Profiles.Save(ctx, r, answers)
	if err != nil {
		return printed{}, profileError(r, err)
	}
	return t.savedProfile(r, saved)
}

// profileRead is the output for a profile whose account could not be read completely. Nothing was saved.
func profileRead(ctx context.Context, r profiles.Report, d profiles.Draft, err error) (printed, error) {
	if !errors.Is(err, profiles.ErrRead) && ctx.Err() == nil {
		return printed{}, profileError(r, err)
	}
	p := profilePrinted(view.NewProfile(d.Profile, r.Key, d.Facts, false))
	p.note = "profile " + d.Profile.Name + " is not saved"
	return p.withError(readError(ctx, d.Facts, err))
}

// savedProfile says what was saved and what that changes.
func (t *task) savedProfile(r profiles.Report, saved model.Profile) (printed, error) {
	switch {
	case r.Before == nil || saved.ReadOnly == r.Before.ReadOnly:
	case saved.ReadOnly:
		t.app.say("zonedeck: profile %s is now read-only", saved.Name)
	default:
		t.app.say("zonedeck: profile %s is no longer read-only: it may change things", saved.Name)
	}
	if err := t.sayDefault(); err != nil {
		return printed{}, err
	}
	if r.Key.Level == model.LevelAdmin {
		t.app.warn("key %s is ADMIN, which is for people: commands refuse it without --admin-reason (contract 5.4)", r.Key.Name)
	}
	out := view.NewProfile(saved, r.Key, r.Facts, true)
	p := profilePrinted(out)
	p.note, p.code = "profile "+saved.Name+" is saved", checksCode(out)
	return p, nil
}

// profileError gives an error of checking or writing a profile its exit code, and says which flag helps.
func profileError(r profiles.Report, err error) error {
	var mistake *config.MistakeError
	var admin *keys.AdminError
	var disputed *profiles.LevelError
	var field *model.RequestError
	switch {
	case errors.As(err, &mistake), errors.Is(err, model.ErrReadOnly):
		return err
	case errors.As(err, &admin):
		return fail(exitLint, "%w", err)
	case errors.As(err, &disputed):
		way := "give --level " + disputed.Allows
		if r.Recorded {
			way = "correct it in keys.toml, or in the Keys tab of the console"
		}
		return fail(exitLint, "%w: %s. Nothing was saved", disputed, way)
	case errors.As(err, &field):
		way := map[string]string{
			"level": ": leave out --level, or name another key", "reference": ": leave out --key-ref to use it, or name another key",
		}
		return usage("%w%s", field.Problems[0].Err, way[field.Field()])
	case errors.Is(err, config.ErrProfile), errors.Is(err, config.ErrProfileExists), errors.Is(err, keystore.ErrKeyFields), errors.Is(err, keystore.ErrKeyValue):
		return usage("%w", err)
	default:
		return fail(exitState, "%w", err)
	}
}

// keyError gives an error of reading a key's value its exit code.
func keyError(ctx context.Context, r profiles.Report, err error) error {
	if ctx.Err() != nil {
		return err
	}
	err = profileError(r, err)
	if e := (*exitError)(nil); errors.As(err, &e) && e.code == exitState {
		return fail(exitState, "key %s: %w", r.Key.Name, e.cause)
	}
	return err
}

// readError gives an error of reading an account its exit code.
func readError(ctx context.Context, found profiles.Facts, err error) error {
	switch {
	case ctx.Err() != nil:
		return fail(ExitInterrupted, "interrupted: %w", err)
	case found.Key.State == profiles.Failed:
		return fail(exitRejected, "%w", err)
	case !found.Answered:
		return fail(exitNetwork, "%w", err)
	default:
		return fail(exitChecksFailed, "%w", err)
	}
}

// describe applies the flags to a draft.
func (f profileFlags) describe(global globalFlags, d *profiles.Draft) error {
	p := &d.Profile
	p.Dialect = cmp.Or(f.Dialect, p.Dialect)
	if _, err := dialect.Find(p.Dialect); err != nil {
		return usage("--dialect: %w", err)
	}
	p.BaseURL = cmp.Or(global.baseURL, p.BaseURL)
	if global.proxyHost != "" {
		p.ProxyHost = global.proxyHost
		if host, port, err := net.SplitHostPort(p.ProxyHost); err == nil {
			if p.ProxyHost = host; port != "" {
				if p.ProxyPort, err = strconv.Atoi(port); err != nil {
					return usage("--proxy-host: %q is not a port", port)
				}
			}
		}
	}
	p.Account = model.AccountID(cmp.Or(f.Account, string(p.Account)))
	p.UsernamePrefix = cmp.Or(f.Prefix, p.UsernamePrefix)
	p.CA, p.Color, p.Key = cmp.Or(f.CA, p.CA), cmp.Or(f.Color, p.Color), cmp.Or(f.Key, p.Key)
	if f.Given.has("read-only") {
		p.ReadOnly = f.ReadOnly
	}
	switch {
	case f.AllowDomain != nil && len(f.AllowDomain) == 0: // an empty variable, for example
		return usage("--allow-domain is empty: name a target; to allow every target, leave it out of 'profiles add', or give 'profiles edit' --clear allow-domain")
	case f.AllowDomain != nil:
		p.AllowedDomains = f.AllowDomain
	}
	p.MaxJobCost, p.KeyRate = cmp.Or(f.MaxJobCost.dollars, p.MaxJobCost), cmp.Or(f.KeyRate, p.KeyRate)
	var err error
	if p.Timeouts, err = p.Timeouts.Set(strings.Join(f.Timeouts, ",")); err != nil {
		return usage("--product-timeout: %w", err)
	}
	p.TestURL, p.TestText = cmp.Or(f.TestURL, p.TestURL), cmp.Or(f.TestText, p.TestText)
	if stores := keystore.StoreSchemes(); f.Store != "" && !slices.Contains(stores, f.Store) {
		return usage("--store %q: give %s", f.Store, strings.Join(stores, " or "))
	}
	if _, err := model.ParseLevel(f.Level); err != nil {
		return usage("--level: %w", err)
	}
	d.Level, d.Reference = model.Level(f.Level), f.KeyRef
	if d.Zones = append([]string(nil), f.Zones...); f.NoZones { // an empty list names none: every zone is added
		d.Zones = []string{}
	}
	return nil
}

// store is the store for secrets: the named one, else the keyring if it answers, else encrypted files, with a warning.
func (t *task) store(ctx context.Context, named string) (scheme string, err error) {
	if named != "" {
		return named, nil
	}
	stores := t.Profiles.Stores(ctx)
	keyring, files := stores[0], stores[1]
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case keyring.Err == nil:
		return keyring.Scheme, nil
	}
	t.app.warn("secrets go into encrypted files, because the keyring does not answer: %s", keyring.Err)
	if files.Unlocked {
		t.app.warn("only file permissions protect the key to those files: 'zonedeck secrets protect' locks it")
	}
	return files.Scheme, nil
}
