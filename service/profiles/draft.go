package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/journal"
	"zonedeck/service/keys"
)

// Draft is a profile that is being added or changed. Begin and Edit make one.
type Draft struct {
	Profile model.Profile
	// Before is the profile as it was read, where one that is in the file is changed: what differs is
	// written, and what was changed there meanwhile stays. Nil for a new profile.
	Before *model.Profile
	// Level and Reference are what is said of the profile's key. A key that is recorded already has its own: another
	// level is a mistake, and so is another reference where it has one.
	Level     model.Level
	Reference string
	// Value is the key's value where it was typed. Without one it is where the key's reference says.
	Value keystore.Secret
	// Store takes what has no reference yet. Encrypted files do if it is none of keystore.StoreSchemes.
	Store string
	// Values are other secrets to store, by the references they go behind.
	Values map[string]keystore.Secret
	// Zones names the zones to add of those that the account lists; nil adds all.
	Zones []string
	// CA is written to a file that the profile then names; nil leaves the profile's CA.
	CA []byte
	// Facts is what the account said; the zero value where it was not asked.
	Facts Facts

	resolved keystore.Secret // what the key's reference gave
}

// Report is what Check found: the draft as it would be saved, and what a person has to answer first.
type Report struct {
	Draft
	// Key is the profile's key as the inventory will have it; the zero value where the profile names none with a value.
	Key model.Key
	// Recorded says that the inventory has the key already.
	Recorded bool
	// Valueless says that the key needs a value: none was typed, and no reference leads to one.
	Valueless bool
}

// Begin is the draft of a new profile.
func (ps *Profiles) Begin(name string) (Draft, error) {
	if slices.Contains(ps.cfg.InUse.File().Names(), name) {
		return Draft{}, config.Mistake("profile %q already exists: change it with 'zonedeck profiles edit', or choose another name", name)
	}
	return Draft{Profile: model.Profile{Name: name, Verify: true, APIVersion: model.DefaultAPIVersion, Can: dialect.Abilities("")}}, nil
}

// Edit is the draft of a change to a profile of the configuration.
func (ps *Profiles) Edit(name string) (Draft, error) {
	var names []string
	for _, p := range ps.cfg.InUse.Configured() {
		if p.Name == name {
			return Draft{Profile: p, Before: &p}, nil
		}
		names = append(names, p.Name)
	}
	return Draft{}, config.Mistake("no profile %q in the config file: it has %s", name, cmp.Or(strings.Join(names, ", "), "none"))
}

// chooses reports whether the draft gives the profile another key than it had.
func (d Draft) chooses() bool { return d.Before == nil || d.Before.Key != d.Profile.Key }

// RefOf is the reference that a secret of the profile gets in the draft's store: what is the key's name, or "zone-" and
// a zone's.
func (d Draft) RefOf(what string) string {
	if what == d.Profile.Name {
		what = "key"
	}
	return keystore.RefNamed(d.Store, d.Profile.Name+"-"+what)
}

// Findings are the verdicts on the profile by what its account said, in the order in which an operator reads them.
func (d Draft) Findings() []Finding { return account.Checks(d.Profile, d.Facts) }

// Refusal says why nothing can be asked of the profile's account, or is nil.
func (d Draft) Refusal() error { return account.Refusal(d.Profile) }

// Dialect is what is known of a kind of service.
type Dialect = dialect.Dialect

// Dialects lists those that a profile can have, the default first.
func Dialects() []Dialect { return dialect.All() }

// DialectNamed is one of Dialects, the default for an empty name.
func DialectNamed(name string) Dialect {
	d, _ := dialect.Find(name)
	return d
}

// Complete is the draft with the service's address, the word its usernames begin with and the key's name, where none
// was given.
func (d Draft) Complete() (Draft, error) {
	spoken, err := dialect.Find(d.Profile.Dialect)
	if err != nil {
		return d, model.BadField("dialect", "%w", err)
	}
	d.Profile.Can = dialect.Abilities(d.Profile.Dialect)
	d.Profile.BaseURL = cmp.Or(d.Profile.BaseURL, spoken.BaseURL())
	if d.Profile.ProxyHost != "" || d.Profile.BrowserURL != "" {
		d.Profile.UsernamePrefix = cmp.Or(d.Profile.UsernamePrefix, spoken.UsernamePrefix())
	}
	if d.Profile.Key == "" && (d.Before == nil || !d.Value.Empty()) {
		d.Profile.Key = d.Profile.Name
	}
	return d, nil
}

// key is the draft's key: that of the inventory, or what is said of a new one.
func (ps *Profiles) key(d Draft) (k model.Key, recorded bool) {
	k = model.Key{Name: d.Profile.Key, Level: d.Level, Secret: d.Reference}
	known, recorded := ps.inventory.Get(d.Profile.Key)
	if recorded {
		k = known
		k.Secret = cmp.Or(known.Secret, d.Reference)
	}
	if !d.Value.Empty() {
		k.Secret = cmp.Or(k.Secret, d.RefOf(k.Name))
	}
	k.Level = cmp.Or(k.Level, d.Facts.Level())
	if value := d.value(); !recorded && !value.Empty() {
		k.Fingerprint, k.Last4 = value.Fingerprint(), value.Last4()
	}
	return k, recorded
}

// value is the key's value as far as it is known: typed, or taken by its reference.
func (d Draft) value() keystore.Secret {
	if d.Value.Empty() {
		return d.resolved
	}
	return d.Value
}

// Check judges a draft and completes it: the service's address and the key's name where none was given, and the key by
// the inventory. It reads no secret and asks nobody. A mistake names its field (*model.RequestError): "dialect",
// "value", "reference", "level" (a *LevelError where the account shows another). It does not refuse to switch read-only
// off.
func (ps *Profiles) Check(d Draft) (Report, error) {
	d, err := d.Complete()
	r := Report{Draft: d}
	r.Key, r.Recorded = ps.key(d)
	if err == nil {
		err = ps.refuse(d)
	}
	if err != nil {
		return r, err
	}
	known, _ := ps.inventory.Get(r.Key.Name)
	switch {
	case r.Recorded && d.Level != "" && known.Level != d.Level:
		return r, model.BadField("level", "the inventory says %s for key %s", known.Level, known.Name)
	case r.Recorded && d.Reference != "" && d.Reference != r.Key.Secret:
		return r, model.BadField("reference", "the inventory already has a key %s, %s", known.Name, keystore.Ref(known.Secret).Label())
	case !d.Value.Empty() && !keystore.Ref(r.Key.Secret).Storable():
		return r, model.BadField("value", "%s: the console cannot store a value there; set it where it lives", keystore.Ref(r.Key.Secret).Label())
	case !d.Value.Empty():
		r.Values = maps.Clone(d.Values)
		if r.Values == nil {
			r.Values = map[string]keystore.Secret{}
		}
		r.Values[r.Key.Secret] = d.Value
	case r.Key.Secret != "":
	case d.Before != nil && (r.Recorded || !d.chooses() || d.Profile.Key == ""): // its value is not needed
		if !r.Recorded {
			r.Key = model.Key{}
		}
	default:
		r.Valueless = true
	}
	if err := d.Facts.Disputes(r.Key); err != nil {
		return r, model.BadField("level", "%w", err)
	}
	return r, nil
}

// refuse says why a draft is not saved, or is nil.
func (ps *Profiles) refuse(d Draft) error {
	if err := keystore.CheckKeyValue(d.Value); err != nil {
		return model.BadField("value", "%w", err)
	}
	if own := ps.cfg.InUse.Profile(); own.Local && own.BaseURL != "" && strings.Replace(d.Profile.BaseURL, "//localhost:", "//127.0.0.1:", 1) == own.BaseURL {
		return model.BadField("base_url", "this is the console's own emulator, which listens elsewhere after the next start: use the profile %s for it, "+
			"or 'zonedeck emulate --api 127.0.0.1:8099 --proxy 127.0.0.1:8098' for one whose address stays", model.LocalName)
	}
	before, err := ps.cfg.InUse.File().Profile(d.Profile.Name)
	known := err == nil && d.Before != nil
	if !known || before.Key != d.Profile.Key {
		if err := ps.cfg.Keys.CheckName(d.Profile.Key, d.Value); err != nil {
			return err
		}
	}
	switch {
	case !known || !before.ReadOnly:
		return ps.cfg.InUse.Refuse(changeConfig)
	case d.Profile.ReadOnly || !d.Before.ReadOnly: // a form that was opened before does not switch off what it has not read
		return before.Refuse(changeConfig)
	}
	return nil
}

// Questions are what a person has to answer before a draft is saved. They are known from the records alone: Save may
// find by its value that a key is ADMIN.
func (ps *Profiles) Questions(d Draft) (out []ask.Question) {
	known, recorded := ps.inventory.Get(d.Profile.Key)
	if q, refused := ps.otherAccount(d); refused != nil {
		out = append(out, q)
	}
	level := d.Level
	if recorded {
		level = known.Level
	}
	if level == model.LevelAdmin && d.chooses() {
		out = append(out, adminReason(d))
	}
	return out
}

func adminReason(d Draft) ask.Question {
	return ask.Question{
		Kind: ask.AdminReason, About: d.Profile.Key, Want: ask.Reason,
		Text: "ADMIN is for people, and programs use the key of a profile (contract 5.4): pick a USER key, or say why it must be this one",
	}
}

// otherAccount is the question before a key that is recorded as another account's is sent to the draft's service, or
// saved with it, also with a typed value. The error is the refusal without an answer; nil if there is no question.
func (ps *Profiles) otherAccount(d Draft) (ask.Question, error) {
	known, recorded := ps.inventory.Get(d.Profile.Key)
	if !recorded || !d.chooses() {
		return ask.Question{}, nil
	}
	err := ps.cfg.Keys.Owners().Refuse(ps.before(d.Profile), known)
	refused, is := errors.AsType[*keys.OtherAccountError](err)
	if !is {
		return ask.Question{}, err
	}
	owners := make([]string, len(refused.Profiles))
	for i, p := range refused.Profiles {
		owners[i] = fmt.Sprintf("profile %s (%s)", p.Name, p.BaseURL)
	}
	return ask.Question{
		Kind: ask.OtherAccount, About: d.Profile.Key + "=" + d.Profile.BaseURL,
		Text:  fmt.Sprintf("key %s is that of %s", d.Profile.Key, strings.Join(owners, " and ")),
		Facts: []ask.Fact{{Text: strings.Join(owners, " and ")}},
	}, err
}

// before is a profile with the key that the configuration gives it, not the key that is being chosen.
func (ps *Profiles) before(p model.Profile) model.Profile {
	known, _ := ps.cfg.InUse.File().Profile(p.Name)
	p.Key = known.Key
	return p
}

// Resolve takes the value of a draft's key by its reference, where none was typed. A key of another account is refused
// until that question is answered.
func (ps *Profiles) Resolve(ctx context.Context, d Draft, a ask.Answers) (Draft, error) {
	d, err := d.Complete()
	k, _ := ps.key(d)
	if err != nil || !d.value().Empty() || k.Secret == "" {
		return d, err
	}
	before := ps.before(d.Profile)
	if q, refused := ps.otherAccount(d); refused != nil && a.To(q).Yes {
		before = d.Profile
	}
	d.resolved, err = ps.cfg.Keys.ValueOfDraft(ctx, d.Profile, before, k)
	return d, err
}

// Probe asks the account of a draft what it has, and returns the draft with what it lacked. on receives what is known
// after each step, on the calling goroutine; it may be nil. The error is that of Resolve, Refusal's, the context's, or
// wraps ErrRead: the draft's findings then say what was refused. Nothing is written but that the key was used.
func (ps *Profiles) Probe(ctx context.Context, d Draft, a ask.Answers, on func(Facts)) (Draft, error) {
	d, err := ps.Resolve(ctx, d, a)
	if err != nil {
		return d, err
	}
	if d.Facts, err = ps.read(ctx, d.Profile, d.value(), on); err != nil {
		return d, err
	}
	return d.adopt()
}

// Verify asks the account of the profile in use what it has, and judges the profile by that.
func (ps *Profiles) Verify(ctx context.Context, p model.Profile, value keystore.Secret) (Draft, error) {
	found, err := ps.read(ctx, p, value, nil)
	return Draft{Profile: p, Facts: found}, err
}

// read asks an account what it has. It records in the history that it used the profile's key, unless a profile is
// read-only, or a key that is recorded nowhere was refused.
func (ps *Profiles) read(ctx context.Context, p model.Profile, value keystore.Secret, on func(Facts)) (Facts, error) {
	_, known := ps.cfg.Keys.Key(p.Key)
	if err := cmp.Or(keystore.CheckKeyValue(value), ps.cfg.Keys.CheckName(p.Key, value)); err != nil {
		return Facts{}, err
	}
	found, err := ps.cfg.Account.Read(ctx, p, value, on)
	used := found.Key.State == OK || known && found.Key.State == Failed
	if p.Key != "" && used && cmp.Or(ps.cfg.InUse.Refuse(changeKeys), p.Refuse(changeKeys)) == nil {
		ps.cfg.Keys.Events().Put(ctx, p.Name, p.Key, journal.EventUsed, "to ask what its account has: "+found.Key.Text)
	}
	return found, err
}

// adopt puts what the account said into a draft: what it lacks, and the zones that are wanted. Zones that the profile
// already has keep their references.
func (d Draft) adopt() (Draft, error) {
	p := &d.Profile
	p.Account = d.Facts.ID
	if p.ProxyHost == "" && d.Facts.Host != "" {
		p.ProxyHost, p.ProxyPort = d.Facts.Host, d.Facts.Port
	}
	p.UsernamePrefix = cmp.Or(p.UsernamePrefix, d.Facts.Prefix)
	if p.CA == "" {
		d.CA = d.Facts.CA
	}
	p.Zones, d.Values = slices.Clone(p.Zones), maps.Clone(d.Values)
	for _, z := range d.Facts.Zones {
		zone, name := z.Zone, string(z.Zone.Name)
		if _, has := p.Zone(name); has || d.Zones != nil && !slices.Contains(d.Zones, name) {
			continue
		}
		if !z.Password.Empty() {
			zone.Password = d.RefOf("zone-" + name)
			if d.Values == nil {
				d.Values = map[string]keystore.Secret{}
			}
			d.Values[zone.Password] = z.Password
		}
		p.Zones = append(p.Zones, zone)
	}
	for _, name := range d.Zones {
		if _, has := p.Zone(name); !has {
			return d, model.BadField("zones", "the account lists no zone %q", name)
		}
	}
	return d, nil
}

// Clearable are the names of the fields that Clear empties.
const Clearable = "ca, color, read-only, allow-domain, zones, proxy-host, max-job-cost, key-rate, test-url, product-timeout"

// Clear empties fields of the profile.
func (d *Draft) Clear(names []string) error {
	p := &d.Profile
	for _, name := range names {
		switch name {
		case "ca":
			p.CA = ""
		case "color":
			p.Color = ""
		case "read-only":
			p.ReadOnly = false
		case "allow-domain":
			p.AllowedDomains = nil
		case "max-job-cost":
			p.MaxJobCost = 0
		case "key-rate":
			p.KeyRate = 0
		case "product-timeout":
			p.Timeouts = nil
		case "test-url":
			p.TestURL, p.TestText = "", ""
		case "zones":
			p.Zones = nil
		case "proxy-host":
			p.ProxyHost = ""
		default:
			return fmt.Errorf("%q cannot be emptied; these can: %s", name, Clearable)
		}
	}
	return nil
}
