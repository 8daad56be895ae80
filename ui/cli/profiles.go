package cli

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/keys"
	"zonedeck/service/view"
)

func (a *app) profilesCommand() *cobra.Command {
	return group("profiles", "Add, edit, remove and check accounts",
		a.profilesListCommand(), a.profilesAddCommand(), a.profilesEditCommand(), a.profilesRemoveCommand(), a.profilesCheckCommand())
}

// profileFlags describe an account on the command line.
type profileFlags struct {
	name, dialect, key, level, keyRef, store, account, prefix, ca, color string
	zones, allow                                                         []string
	noZones, noCA, readOnly, readOnlySaid, unchecked, json               bool
	adminReason                                                          string
	maxJobCost                                                           dollarsFlag
}

func (f *profileFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.dialect, "dialect", "", "what the service is known to do beyond the contract: "+strings.Join(dialect.Names(), " or "))
	fl.StringVar(&f.key, "key", "", "name of the key in the inventory (default: the profile's key; for a new profile, its name)")
	fl.StringVar(&f.level, "level", "", "level of the key: ADMIN, FINANCE, OPS, LIMIT or USER (default: judged by what the service lets it do)")
	fl.StringVar(&f.keyRef, "key-ref", "", "for a key that the inventory does not have: reference to its value, env:NAME, cmd:…, keyring:service/name or file:NAME (default: the value is read from standard input and stored)")
	fl.StringVar(&f.store, "store", "", "where to store secrets: keyring or file (default: the keyring if it answers, else encrypted files)")
	fl.StringVar(&f.account, "account", "", "account id (default: what the service says)")
	fl.StringVar(&f.prefix, "prefix", "", "first word of proxy usernames (default: the dialect's)")
	fl.StringVar(&f.ca, "ca", "", "file with the proxy's CA certificate (default: what the service publishes)")
	fl.StringVar(&f.color, "color", "", "colour of the name on the screen: "+strings.Join(config.Colors(), ", "))
	fl.StringSliceVar(&f.zones, "zones", nil, "zones to add (default: every zone that the account lists)")
	fl.StringSliceVar(&f.allow, "allow-domain", nil, "target that may be fetched, for example shop.example.com or *.example.com (default: every target)")
	fl.Var(&f.maxJobCost, "max-job-cost", "refuse jobs if the upper end of their estimate is above this many dollars, or unknown (default: no cap)")
	fl.BoolVar(&f.noZones, "no-zones", false, "add no zones")
	fl.BoolVar(&f.noCA, "no-ca", false, "save no CA certificate")
	fl.BoolVar(&f.readOnly, "read-only", false, "refuse everything that changes something; =false switches this off")
	fl.BoolVar(&f.unchecked, "unchecked", false, "save what the flags say without asking the service")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	adminFlag(cmd, &f.adminReason)
}

func (a *app) profilesAddCommand() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add an account from a key and an address",
		Long: `Adds a profile to the config file. With a dialect that lists accounts, a key and
--base-url are enough (by default, --base-url is that dialect's public address).
The service is then asked for the account id, the zones with their products,
rates and passwords, and the proxy's certificate, and each is checked.
--proxy-host HOST:PORT names the proxy if the dialect does not.

The value of the key is read from standard input, never from an argument. It
goes into the keyring or an encrypted file, unless --key-ref says where it is.

Nothing is written before all answers are there, and a key that the service
refuses is not saved. If the config file cannot be written, what was written
before it is undone. Exit code 1: the account was saved, but a check failed.`,
		Args: usageArgs(oneArg("the name of the new profile")),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name, f.readOnlySaid = args[0], cmd.Flags().Changed("read-only")
			return a.withSession(cmd.Context(), needs{none: true, journal: true, reason: f.adminReason}, func(t *task) error { return t.addProfile(cmd.Context(), f) })
		},
	}
	f.register(cmd)
	return cmd
}

func (t *task) addProfile(ctx context.Context, f profileFlags) error {
	p := config.Profile{Name: f.name, Verify: true, APIVersion: config.DefaultAPIVersion}
	known, _ := t.Configured()
	for _, k := range known {
		if k.Name == f.name {
			return usage("profile %q already exists: change it with 'zonedeck profiles edit', or choose another name", f.name)
		}
	}
	return t.saveProfile(ctx, f, account.Draft{Profile: p})
}

// saveProfile puts the flags over a draft, asks the account, and writes it.
func (t *task) saveProfile(ctx context.Context, f profileFlags, d account.Draft) error {
	if err := t.describeDraft(f, &d); err != nil {
		return err
	}
	if err := t.RefuseAccount(d); err != nil {
		return cmp.Or(nameError(err), err)
	}
	d.AdminReason = f.adminReason
	var value keystore.Secret
	var err error
	known, recorded := t.Inventory.Get(d.Profile.Key)
	if d.Before != nil && f.unchecked && f.keyRef == "" && (recorded || f.key == "") { // its value is not needed, and may be out of reach
		d.Key = known
	} else if value, err = t.draftKey(ctx, &f, &d); err != nil {
		return err
	}
	if !recorded {
		d.Key.Fingerprint, d.Key.Last4 = value.Fingerprint(), value.Last4()
	}
	var found account.Found
	if refused := account.Refusal(d.Profile); refused == nil && !f.unchecked && !value.Empty() {
		found, err = t.ReadAccount(ctx, d.Profile, value)
		if err := nameError(err); err != nil {
			return err
		}
		if err != nil {
			return errors.Join(t.printProfile(f, view.NewProfile(d, found, false)), readError(ctx, found, err))
		}
		if err := t.takeFound(ctx, &f, &d, found); err != nil {
			return err
		}
	} else if refused != nil && !f.unchecked {
		t.app.say("zonedeck: the service is not asked: %s", oneLine(refused))
	}
	if err := d.Profile.Validate(); err != nil {
		return usage("%w", err)
	}
	if d.Profile, err = t.SaveAccount(ctx, d); err != nil {
		return saveError(err)
	}
	t.sayReadOnly(d.Profile)
	if before, _ := t.Configured(); d.Before == nil && len(before) == 0 { // as they were read
		t.app.say("zonedeck: profile %s is now the default: commands and the console use it unless another is named", d.Profile.Name)
	}
	if d.Key.Level == model.LevelAdmin {
		t.app.warn("key %s is ADMIN, which is for people: commands refuse it without --admin-reason (contract 5.4)", d.Key.Name)
	}
	out := view.NewProfile(d, found, true)
	if err := t.printProfile(f, out); err != nil {
		return err
	}
	return checksExit(out)
}

// saveError gives an error of writing an account its exit code.
func saveError(err error) error {
	if admin := (*keys.AdminError)(nil); errors.As(err, &admin) {
		return fail(exitLint, "%w", err)
	}
	if mistake := (*config.MistakeError)(nil); errors.As(err, &mistake) {
		return err
	}
	if errors.Is(err, config.ErrProfile) || errors.Is(err, config.ErrProfileExists) {
		return usage("%w", err)
	}
	return cmp.Or(nameError(err), fail(exitState, "%w", err))
}

// readError gives an error of reading an account its exit code.
func readError(ctx context.Context, found account.Found, err error) error {
	switch {
	case ctx.Err() != nil:
		return fail(exitInterrupted, "interrupted: %w", err)
	case found.Key.State == account.Failed:
		return fail(exitRejected, "%w", err)
	case !found.Answered:
		return fail(exitNetwork, "%w", err)
	default:
		return fail(exitChecksFailed, "%w", err)
	}
}

// describeDraft puts what the flags say into a draft.
func (t *task) describeDraft(f profileFlags, d *account.Draft) error {
	p := &d.Profile
	p.Dialect = cmp.Or(f.dialect, p.Dialect)
	spoken, err := dialect.Find(p.Dialect)
	if err != nil {
		return usage("--dialect: %w", err)
	}
	p.BaseURL = cmp.Or(t.app.flags.baseURL, p.BaseURL, spoken.BaseURL())
	if t.app.flags.proxyHost != "" {
		p.ProxyHost = t.app.flags.proxyHost
		if host, port, err := net.SplitHostPort(p.ProxyHost); err == nil {
			if p.ProxyHost = host; port != "" {
				if p.ProxyPort, err = strconv.Atoi(port); err != nil {
					return usage("--proxy-host: %q is not a port", port)
				}
			}
		}
	}
	p.Account = model.AccountID(cmp.Or(f.account, string(p.Account)))
	p.UsernamePrefix = cmp.Or(f.prefix, p.UsernamePrefix)
	p.CA, p.Color = cmp.Or(f.ca, p.CA), cmp.Or(f.color, p.Color)
	if p.Key = cmp.Or(f.key, p.Key); p.Key == "" && d.Before == nil {
		p.Key = p.Name
	}
	if f.readOnlySaid {
		p.ReadOnly = f.readOnly
	}
	switch {
	case f.allow != nil && len(f.allow) == 0: // for example from an empty variable
		return usage("--allow-domain is empty: name a target; to allow every target, leave it out of 'profiles add', or give 'profiles edit' --clear allow-domain")
	case f.allow != nil:
		p.AllowedDomains = f.allow
	}
	p.MaxJobCost = cmp.Or(f.maxJobCost.dollars, p.MaxJobCost)
	switch f.store {
	case "", keystore.SchemeKeyring, keystore.SchemeFile:
	default:
		return usage("--store %q: give keyring or file", f.store)
	}
	if _, err := model.ParseLevel(f.level); err != nil {
		return usage("--level: %w", err)
	}
	return nil
}

// draftKey finds the key's value: behind its reference, or on standard input.
func (t *task) draftKey(ctx context.Context, f *profileFlags, d *account.Draft) (value keystore.Secret, err error) {
	known, recorded := t.Inventory.Get(d.Profile.Key)
	d.Key = model.Key{Name: d.Profile.Key, Level: model.Level(f.level), Secret: f.keyRef}
	switch {
	case recorded && f.keyRef != "" && f.keyRef != known.Secret:
		return value, usage("the inventory already has a key %s, %s: leave out --key-ref to use it, or name another key", known.Name, cmp.Or(keystore.Ref(known.Secret).Label(), "without a reference"))
	case recorded && f.level != "" && known.Level != d.Key.Level:
		return value, usage("the inventory has level %s for key %s: leave out --level, or name another key", known.Level, known.Name)
	case recorded:
		d.Key = known
	}
	if d.Key.Secret != "" {
		value, err = t.DraftKey(ctx, *d)
		return value, keyError(ctx, d.Key, err)
	}
	if value, err = t.app.readSecret("the API key"); err != nil {
		return value, err
	}
	scheme, err := t.store(ctx, f)
	if err != nil {
		return value, err
	}
	d.Key.Secret = account.RefFor(scheme, d.Profile.Name, d.Key.Name)
	d.Values = map[string]keystore.Secret{d.Key.Secret: value}
	return value, nil
}

// nameError turns a refusal of a key's name, or of its value as it stands, into a usage error. It is nil for any other error.
func nameError(err error) error {
	if errors.Is(err, keystore.ErrKeyFields) || errors.Is(err, keystore.ErrKeyValue) {
		return usage("%w", err)
	}
	return nil
}

// keyError gives an error of taking a key's value its exit code.
func keyError(ctx context.Context, k model.Key, err error) error {
	var admin *keys.AdminError
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case nameError(err) != nil:
		return nameError(err)
	case errors.As(err, &admin):
		return fail(exitLint, "%w", err)
	default:
		return fail(exitState, "key %s: %w", k.Name, err)
	}
}

// store is where secrets go. It warns if that is not the keyring and the operator did not choose.
func (t *task) store(ctx context.Context, f *profileFlags) (scheme string, err error) {
	if f.store != "" {
		return f.store, nil
	}
	f.store = keystore.SchemeKeyring
	if err := t.Resolver.ProbeKeyring(ctx); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		f.store = keystore.SchemeFile
		t.app.warn("secrets go into encrypted files, because the keyring does not answer: %s", oneLine(err))
		if p, err := t.Resolver.Protection(); err != nil || p == keystore.Unprotected {
			t.app.warn("only file permissions protect the key to those files: 'zonedeck secrets protect' locks it")
		}
	}
	return f.store, nil
}

// takeFound puts what the account said into a draft.
func (t *task) takeFound(ctx context.Context, f *profileFlags, d *account.Draft, found account.Found) error {
	if err := found.Disputes(d.Key); err != nil {
		way := "give --level " + found.LevelNames()
		if _, recorded := t.Inventory.Get(d.Key.Name); recorded {
			way = "correct it in keys.toml, or in the Keys tab of the console"
		}
		return fail(exitLint, "%w: %s. Nothing was saved", err, way)
	}
	p := &d.Profile
	p.Account = found.ID
	if p.ProxyHost == "" {
		p.ProxyHost, p.ProxyPort = found.Host, found.Port
	}
	p.UsernamePrefix = cmp.Or(p.UsernamePrefix, found.Prefix)
	if d.Key.Level == "" {
		d.Key.Level = found.Level()
	}
	if p.CA == "" && !f.noCA {
		d.CA = found.CA
	}
	if f.noZones {
		return nil
	}
	scheme, err := t.store(ctx, f)
	if err != nil {
		return err
	}
	return takeZones(d, found, f.zones, scheme)
}

// takeZones puts zones of the account into a draft: the named ones or, without names, all. Zones that
// the profile already has keep their references.
func takeZones(d *account.Draft, found account.Found, names []string, scheme string) error {
	p := &d.Profile
	missing := map[string]bool{}
	for _, n := range names {
		missing[n] = true
	}
	for _, z := range found.Zones {
		if len(names) > 0 && !missing[string(z.Zone.Name)] {
			continue
		}
		delete(missing, string(z.Zone.Name))
		if _, known := p.Zone(string(z.Zone.Name)); known {
			continue
		}
		zone := z.Zone
		if !z.Password.Empty() {
			zone.Password = account.RefFor(scheme, p.Name, "zone-"+string(zone.Name))
			if d.Values == nil {
				d.Values = map[string]keystore.Secret{}
			}
			d.Values[zone.Password] = z.Password
		}
		p.Zones = append(p.Zones, zone)
	}
	for n := range missing {
		if _, known := p.Zone(n); !known {
			return usage("--zones: the account lists no zone %q", n)
		}
	}
	return nil
}
