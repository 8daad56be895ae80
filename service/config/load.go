package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// FileError is a fault in config.toml: file, line, column, what is wrong and
// what was expected.
type FileError = textfile.Error

// What a caller of File.Profile may decide on.
var (
	// errNoProfiles: the configuration has none, so the embedded emulator is used.
	errNoProfiles = errors.New("no profile is configured")
	// ErrNoSuchProfile: the name is not in the configuration.
	ErrNoSuchProfile = errors.New("no such profile")
)

// File is what config.toml says. The zero value is an empty configuration.
type File struct {
	path     string
	fallback string // default_profile
	profiles map[string]model.Profile
	keys     Keys
	order    []string // the names as the file has them
	webhook  Webhook
	notify   bool
	bindings Bindings
}

type configFile struct {
	DefaultProfile string                  `toml:"default_profile"`
	Profiles       map[string]profileEntry `toml:"profiles"`
	Keys           keysEntry               `toml:"keys"`
	Webhook        webhookEntry            `toml:"webhook"`
	Terminal       terminalEntry           `toml:"terminal"`
	Bindings       map[string]any          `toml:"bindings"`
}

type terminalEntry struct {
	Notify bool `toml:"notify"`
}

// Notify says that the terminal is told how far jobs are and that they have ended.
func (f File) Notify() bool { return f.notify }

// Bindings is the [bindings] table.
func (f File) Bindings() Bindings { return f.bindings }

type profileEntry struct {
	BaseURL        string      `toml:"base_url"`
	ProxyHost      string      `toml:"proxy_host"`
	ProxyPort      *int        `toml:"proxy_port"`
	AgentURL       string      `toml:"agent_url"`
	BrowserURL     string      `toml:"browser_url"`
	UsernamePrefix string      `toml:"username_prefix"`
	Account        string      `toml:"account"`
	Dialect        string      `toml:"dialect"`
	Key            string      `toml:"key"`
	APIVersion     string      `toml:"api_version"`
	CA             string      `toml:"ca"`
	Verify         *bool       `toml:"verify"`
	ReadOnly       bool        `toml:"read_only"`
	Color          string      `toml:"color"`
	AllowedDomains []string    `toml:"allowed_domains"`
	MaxJobCost     *float64    `toml:"max_job_cost"`
	KeyRate        *float64    `toml:"key_rate"`
	TestURL        string      `toml:"test_url"`
	TestText       string      `toml:"test_text"`
	Database       string      `toml:"database"`
	Zones          []zoneEntry `toml:"zones"`

	Timeouts  map[string]string `toml:"timeouts"`
	Variables map[string]string `toml:"variables"`
}

// maxRate is no price that anybody pays: it keeps sums finite.
const maxRate = 1e6

// zoneEntry knows a zone's name by its three names (service.md 2.2).
type zoneEntry struct {
	Name             string   `toml:"name"`
	ProxyName        string   `toml:"PROXY_NAME"`
	ProductName      string   `toml:"PRODUCT_NAME"`
	Product          string   `toml:"product"`
	IdentityVerified bool     `toml:"identity_verified"`
	Password         string   `toml:"password"`
	RatePer1000      *float64 `toml:"rate_per_1000"`
	RatePerGB        *float64 `toml:"rate_per_gb"`
}

// Load reads config.toml strictly and checks every profile in it. A missing file
// is an empty File and no error; a fault is a *FileError, and the file stays
// as it is. One that others may have written is a *textfile.UntrustedError.
func Load(path string) (File, error) {
	f, _, err := loadText(path)
	return f, err
}

// loadText gives the file's text, too.
func loadText(path string) (File, []byte, error) {
	var c configFile
	if err := textfile.Trusted(path); err != nil {
		return File{}, nil, err
	}
	doc, err := textfile.Read(path, &c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{path: path}, nil, nil
	case err != nil:
		return File{}, nil, err
	}
	f, err := c.file(path, doc)
	return f, doc.Source(), err
}

// Parse reads the text of a config file. Paths in it are relative to the folder of path.
func Parse(path string, b []byte) (File, error) {
	var c configFile
	doc, err := textfile.Decode(path, b, &c)
	if err != nil {
		return File{}, err
	}
	return c.file(path, doc)
}

func (c configFile) file(path string, doc textfile.Doc) (File, error) {
	keys, err := c.Keys.keys(filepath.Dir(path), doc)
	if err != nil {
		return File{}, err
	}
	hook, err := c.Webhook.webhook(doc)
	if err != nil {
		return File{}, err
	}
	own, err := bindings(c.Bindings, doc)
	if err != nil {
		return File{}, err
	}
	f := File{path: path, bindings: own, fallback: c.DefaultProfile, profiles: map[string]model.Profile{}, keys: keys, webhook: hook, notify: c.Terminal.Notify}
	// In the order of names, so that the same file always gives the same error.
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p, err := c.Profiles[name].profile(name, filepath.Dir(path), doc)
		if err != nil {
			return File{}, err
		}
		f.profiles[name] = p
		f.order = append(f.order, name)
	}
	stands := doc.Fields(textfile.At("profiles"))
	slices.SortStableFunc(f.order, func(a, b string) int { return cmp.Compare(at(stands, a), at(stands, b)) })
	if c.DefaultProfile != "" && c.DefaultProfile != model.LocalName {
		if _, ok := f.profiles[c.DefaultProfile]; !ok {
			return File{}, doc.Fault(textfile.At("default_profile"), fmt.Sprintf("there is no profile %q", c.DefaultProfile), f.choices())
		}
	}
	return f, nil
}

// at is where a profile's table stands; -1 for one that has none, because only tables in it do.
func at(stands map[string]int, name string) int {
	if off, ok := stands[name]; ok {
		return off
	}
	return -1
}

func (e profileEntry) profile(name, dir string, doc textfile.Doc) (model.Profile, error) {
	p := model.Profile{
		Name: name, BaseURL: e.BaseURL, ProxyHost: e.ProxyHost, UsernamePrefix: e.UsernamePrefix,
		Account: model.AccountID(e.Account), Dialect: e.Dialect, Key: e.Key, APIVersion: e.APIVersion,
		AgentURL: e.AgentURL, BrowserURL: e.BrowserURL, CA: e.CA, Verify: e.Verify == nil || *e.Verify, ReadOnly: e.ReadOnly, Color: e.Color,
		AllowedDomains: e.AllowedDomains, Variables: e.Variables, TestURL: e.TestURL, TestText: e.TestText, Database: e.Database,
	}
	for _, product := range slices.Sorted(maps.Keys(e.Timeouts)) {
		var err error
		if p.Timeouts, err = p.Timeouts.Set(product + "=" + e.Timeouts[product]); err != nil {
			return model.Profile{}, doc.Fault(textfile.At("profiles", name, timeouts, product), err.Error(), "")
		}
	}
	if e.MaxJobCost != nil {
		p.MaxJobCost = *e.MaxJobCost
		if p.MaxJobCost == 0 { // 0 is "no cap" in a Profile, and a fault in a file
			return model.Profile{}, doc.Fault(textfile.At("profiles", name, "max_job_cost"), "0 would refuse every job, or none", "dollars, more than 0, or no line for no cap")
		}
	}
	if e.KeyRate != nil {
		p.KeyRate = *e.KeyRate
		if p.KeyRate == 0 { // 0 is the usual rate in a Profile, and a fault in a file
			return model.Profile{}, doc.Fault(textfile.At("profiles", name, "key_rate"), "0 would let no call go", "calls a second, more than 0, or no line for the usual rate")
		}
	}
	if e.AllowedDomains != nil && len(e.AllowedDomains) == 0 { // it could mean every target, or none
		return model.Profile{}, doc.Fault(textfile.At("profiles", name, "allowed_domains"), "the list is empty, which would allow every target, or none", "the targets that may be fetched, or no line for every target")
	}
	if e.ProxyPort != nil {
		p.ProxyPort = *e.ProxyPort
		if p.ProxyPort == 0 { // 0 is "not set" in a Profile, and a fault in a file
			return model.Profile{}, doc.Fault(textfile.At("profiles", name, "proxy_port"), "the port 0 does not exist", "a number from 1 to 65535")
		}
	}
	if p.CA != "" && !filepath.IsAbs(p.CA) {
		p.CA = filepath.Join(dir, p.CA)
	}
	for i, z := range e.Zones {
		zone, fe := z.zone()
		if fe != nil {
			return model.Profile{}, doc.Fault(textfile.At("profiles", name, "zones", i, fe.field), fe.msg, fe.expected)
		}
		if _, twice := p.Zone(string(zone.Name)); twice {
			return model.Profile{}, doc.Fault(textfile.At("profiles", name, "zones", i), fmt.Sprintf("a second zone is named %q", zone.Name), "every zone once")
		}
		p.Zones = append(p.Zones, zone)
	}
	p, err := checked(p)
	if fe, ok := errors.AsType[*fieldError](err); ok {
		return model.Profile{}, doc.Fault(textfile.At("profiles", name, fe.field), fe.msg, fe.expected)
	}
	return p, err
}

func (e zoneEntry) zone() (model.Zone, *fieldError) {
	field, name := "name", ""
	for _, alias := range []struct{ field, value string }{{"name", e.Name}, {"PROXY_NAME", e.ProxyName}, {"PRODUCT_NAME", e.ProductName}} {
		switch {
		case alias.value == "" || alias.value == name:
		case name != "":
			return model.Zone{}, &fieldError{alias.field, fmt.Sprintf("the zone has two names, %q and %q", name, alias.value), "one of name, PROXY_NAME and PRODUCT_NAME"}
		default:
			field, name = alias.field, alias.value
		}
	}
	zn, err := model.ParseZoneName(name)
	if err != nil {
		return model.Zone{}, &fieldError{field, err.Error(), "the name the zone was created with"}
	}
	product, err := model.ParseProduct(e.Product)
	if err != nil {
		return model.Zone{}, &fieldError{"product", err.Error(), "a product, or no line when it is not known"}
	}
	if e.Password != "" {
		if _, err := keystore.ParseRef(e.Password); err != nil {
			return model.Zone{}, &fieldError{"password", "password is " + err.Error(), ""}
		}
	}
	rate, fe := e.rate()
	return model.Zone{Name: zn, Product: product, IdentityVerified: e.IdentityVerified, Password: e.Password, Rate: rate}, fe
}

func (e zoneEntry) rate() (rate model.Rate, fe *fieldError) {
	for _, r := range []struct {
		field string
		value *float64
		into  *float64
	}{{"rate_per_1000", e.RatePer1000, &rate.Per1000}, {"rate_per_gb", e.RatePerGB, &rate.PerGB}} {
		if r.value == nil {
			continue
		}
		if !(*r.value > 0 && *r.value <= maxRate) {
			return model.Rate{}, &fieldError{r.field, fmt.Sprintf("%s cannot be %v", r.field, *r.value), "dollars, more than 0, or no line when the zone is unpriced"}
		}
		*r.into = *r.value
	}
	return rate, nil
}

// Path is where the file was looked for.
func (f File) Path() string { return f.path }

// Names lists the configured profiles in the order of their names.
func (f File) Names() []string { return slices.Sorted(maps.Keys(f.profiles)) }

// InOrder lists the configured profiles as the file has them: one that is added comes last.
func (f File) InOrder() []string { return slices.Clone(f.order) }

// Default is the name that Profile("") stands for: default_profile, or the only
// profile; empty when there are several, or none.
func (f File) Default() string {
	if f.fallback != "" {
		return f.fallback
	}
	if names := f.Names(); len(names) == 1 {
		return names[0]
	}
	return ""
}

// Profile finds a profile; the empty name is the default. Errors wrap
// errNoProfiles (also for the name "local", whose profile the embedded emulator
// makes) or ErrNoSuchProfile.
func (f File) Profile(name string) (model.Profile, error) {
	if name == "" {
		name = f.Default()
	}
	switch p, ok := f.profiles[name]; {
	case ok:
		p.Zones, p.Variables, p.AllowedDomains = slices.Clone(p.Zones), maps.Clone(p.Variables), slices.Clone(p.AllowedDomains)
		p.Timeouts = maps.Clone(p.Timeouts)
		return p, nil
	case name == model.LocalName, name == "" && len(f.profiles) == 0:
		return model.Profile{}, errNoProfiles
	case name == "":
		return model.Profile{}, fmt.Errorf("%w was named, and %s sets no default_profile; expected %s", ErrNoSuchProfile, f.path, f.choices())
	default:
		return model.Profile{}, fmt.Errorf("%w %q in %s; expected %s", ErrNoSuchProfile, name, f.path, f.choices())
	}
}

func (f File) choices() string {
	return "one of " + strings.Join(append(f.Names(), model.LocalName), ", ")
}
