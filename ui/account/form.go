package account

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/profile"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// The form's fields.
const (
	fieldName    = "name"
	fieldBaseURL = "base_url"
	fieldPlain   = "plain" // the warning of an address without TLS
	fieldProxy   = "proxy_host"
	fieldPort    = "proxy_port"
	fieldPrefix  = "username_prefix"
	fieldAccount = "account"
	fieldDialect = "dialect"
	fieldKey     = "key"
	fieldLevel   = "level"
	fieldSecret  = "secret"
	fieldZones   = "zones"
)

// form is the overlay that adds an account.
type form struct {
	*widget.FormDialog
	deps Deps
}

func newForm(d Deps) *form {
	f := &form{deps: d}
	f.FormDialog = widget.NewFormDialog(d.Theme, "Add account", widget.NewForm(d.Theme, fields(d)...))
	f.Intro = "The key's value stays where it is: write a reference to it (env:NAME, keyring:service/name, file:NAME, cmd:…). Nothing is sent."
	f.Submit = "save and use"
	f.OnSubmit = f.save
	f.OnChange = f.follow
	return f
}

// plainText warns that the key would travel to this address unencrypted.
const plainText = "! http: the key travels in clear, and anyone on the way can read it; use https unless this is a test service"

// follow updates what depends on other fields: the warning about an address
// without TLS, and what the inventory knows about the named key.
func (f *form) follow(values *widget.Form) {
	values.SetHidden(fieldPlain, !inClear(values.Value(fieldBaseURL)))
	help := ""
	if k, ok := f.known(values.Value(fieldKey)); ok {
		help = "In the inventory already, " + k.Level.String() + ", " + where(k) + ": leave its level and reference as they are to use it."
	}
	values.SetHelp(fieldKey, help)
}

// inClear reports whether an address is plain http to another machine.
func inClear(address string) bool {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}

// known is the inventory's key of that name.
func (f *form) known(name string) (model.Key, bool) {
	if f.deps.Keys == nil {
		return model.Key{}, false
	}
	keys := f.deps.Keys()
	if i := slices.IndexFunc(keys, func(k model.Key) bool { return k.Name == strings.TrimSpace(name) }); i >= 0 {
		return keys[i], true
	}
	return model.Key{}, false
}

// where describes a key's reference for display.
func where(k model.Key) string { return cmp.Or(kit.RefLabel(k.Secret), "its value is not recorded") }

// settle compares the form's key with the inventory's key of the same name. Empty
// fields are taken from the inventory. If the two differ, nothing is written,
// because one of them would be lost.
func (f *form) settle(a *Account) (field string, err error) {
	k, ok := f.known(a.Key.Name)
	switch {
	case !ok && a.Key.Secret == "":
		return fieldSecret, errors.New("write where the key's value is, as in env:ACME_KEY")
	case !ok:
		return "", nil
	case a.Key.Secret == "" && k.Secret == "":
		return fieldSecret, fmt.Errorf("the inventory has %s without a reference to its value: record one in Keys (4, e), or write another key name", k.Name)
	case a.Key.Secret != "" && a.Key.Secret != k.Secret:
		return fieldKey, fmt.Errorf("the inventory already has a key of that name, %s: leave the reference empty to use it, or write another name", where(k))
	case a.Key.Level != "" && a.Key.Level != k.Level:
		return fieldLevel, fmt.Errorf("the inventory says %s for this key: correct it in Keys (4, e), or write another name", k.Level)
	}
	a.Key = k
	return "", nil
}

func fields(d Deps) []widget.Field {
	levels := []widget.Option{{Value: "", Label: "unknown"}}
	for _, l := range model.Levels() {
		levels = append(levels, widget.Option{Value: string(l), Note: l.IntendedUse()})
	}
	dialects := make([]widget.Option, 0, len(dialect.Names()))
	for _, name := range dialect.Names() {
		dialects = append(dialects, widget.Option{Value: name})
	}
	return []widget.Field{
		{Name: fieldName, Label: "Profile", Placeholder: "such as acme", Check: func(v string) error { return checkName(v, d.Profiles) }},
		{Name: fieldBaseURL, Label: "Base URL", Placeholder: "such as https://api.example.com", Check: checkURL},
		{Name: fieldPlain, Kind: widget.FieldNote, Value: plainText, Hidden: true},
		{Name: fieldProxy, Label: "Proxy host", Placeholder: "such as proxy.example.com"},
		{Name: fieldPort, Label: "Proxy port", Value: strconv.Itoa(profile.DefaultProxyPort), Check: checkPort},
		{Name: fieldPrefix, Label: "User prefix", Help: "The fixed word that the proxy usernames of the service begin with."},
		{Name: fieldAccount, Label: "Account id", Placeholder: "such as hl_1234abcd", Check: checkAccount},
		{Name: fieldDialect, Label: "Dialect", Kind: widget.FieldChoice, Options: dialects, Value: dialect.Default().Name(), Help: dialect.Default().Name() + " sends and reads what the contract shows and nothing more."},
		{Name: fieldKey, Label: "Key name", Placeholder: "such as etl-main", Check: widget.Required("write a name for the key in the inventory")},
		{Name: fieldLevel, Label: "Key level", Kind: widget.FieldChoice, Options: levels},
		{Name: fieldSecret, Label: "Key is in", Placeholder: "such as env:ACME_KEY", Check: kit.CheckRef},
		{Name: fieldZones, Label: "Zones", Kind: widget.FieldArea, Rows: 3, Placeholder: "one a line: name product password-reference", Check: checkZones},
	}
}

func checkName(v string, taken []string) error {
	if err := widget.Required("write a name for the profile")(v); err != nil {
		return err
	}
	if slices.Contains(taken, strings.TrimSpace(v)) {
		return fmt.Errorf("profile %q already exists", v)
	}
	return nil
}

func checkURL(v string) error {
	u, err := url.Parse(strings.TrimSpace(v))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("write an address like https://api.example.com")
	}
	return nil
}

func checkPort(v string) error {
	if n, err := strconv.Atoi(strings.TrimSpace(v)); err != nil || n < 1 || n > 65535 {
		return errors.New("a port is a number from 1 to 65535")
	}
	return nil
}

func checkAccount(v string) error {
	if strings.TrimSpace(v) == "" {
		return nil
	}
	_, err := model.ParseAccountID(strings.TrimSpace(v))
	return err
}

func checkZones(v string) error {
	_, err := parseZones(v)
	return err
}

// parseZones reads lines of a name, a product and a password reference; the
// last two may be left out.
func parseZones(text string) ([]model.Zone, error) {
	var zones []model.Zone
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		words := strings.Fields(sc.Text())
		if len(words) == 0 {
			continue
		}
		name, err := model.ParseZoneName(words[0])
		if err != nil {
			return nil, err
		}
		z := model.Zone{Name: name}
		if len(words) > 1 {
			if z.Product, err = model.ParseProduct(words[1]); err != nil {
				return nil, fmt.Errorf("zone %s: %w", name, err)
			}
		}
		if len(words) > 2 {
			z.Password = strings.Join(words[2:], " ")
			if _, err := keystore.ParseRef(z.Password); err != nil {
				return nil, fmt.Errorf("zone %s: %w", name, err)
			}
		}
		zones = append(zones, z)
	}
	return zones, nil
}

// account returns the account that a valid form describes.
func account(f *widget.Form) (Account, error) {
	value := func(name string) string { return strings.TrimSpace(f.Value(name)) }
	port, err := strconv.Atoi(value(fieldPort))
	if err != nil {
		return Account{}, err
	}
	zones, err := parseZones(f.Value(fieldZones))
	if err != nil {
		return Account{}, err
	}
	p := profile.Profile{
		Name: value(fieldName), BaseURL: value(fieldBaseURL), ProxyHost: value(fieldProxy), ProxyPort: port,
		UsernamePrefix: value(fieldPrefix), Account: model.AccountID(value(fieldAccount)), Dialect: value(fieldDialect),
		Key: value(fieldKey), APIVersion: profile.DefaultAPIVersion, Verify: true, Zones: zones,
	}
	if err := p.Validate(); err != nil {
		return Account{}, err
	}
	return Account{Profile: p, Key: model.Key{Name: p.Key, Level: model.Level(value(fieldLevel)), Secret: value(fieldSecret)}}, nil
}

// save writes the account and switches to it.
func (f *form) save(values *widget.Form) tea.Cmd {
	a, err := account(values)
	if err != nil {
		f.Problem = err.Error()
		return nil
	}
	if field, err := f.settle(&a); err != nil {
		values.SetError(field, err.Error())
		return values.FocusOn(field, field != fieldLevel)
	}
	return f.Run(func() (tea.Msg, error) {
		if err := f.deps.Add(f.deps.Ctx, a); err != nil {
			return nil, err
		}
		return f.deps.Switch(a.Profile.Name), nil
	})
}
