package account

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/ui/kit"
)

// The form's fields.
const (
	fieldName    = "name"
	fieldBaseURL = "base_url"
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
	*kit.FormDialog
	deps Deps
}

// added is what the command that writes the files ends with.
type added struct {
	name string
	err  error
}

func newForm(d Deps) *form {
	f := &form{deps: d}
	f.FormDialog = kit.NewFormDialog(d.Theme, "Add account", kit.NewForm(d.Theme, fields(d)...))
	f.Intro = "The key's value stays where it is: write a reference to it (env:NAME, keyring:service/name, file:NAME, cmd:…). Nothing is sent."
	f.Submit = "save and use"
	f.OnSubmit = f.save
	return f
}

func fields(d Deps) []kit.Field {
	levels := []kit.Option{{Value: "", Label: "unknown"}}
	for _, l := range model.Levels() {
		levels = append(levels, kit.Option{Value: string(l), Note: l.IntendedUse()})
	}
	dialects := make([]kit.Option, 0, len(profile.Dialects()))
	for _, name := range profile.Dialects() {
		dialects = append(dialects, kit.Option{Value: name})
	}
	return []kit.Field{
		{Name: fieldName, Label: "Profile", Placeholder: "acme", Check: func(v string) error { return checkName(v, d.Profiles) }},
		{Name: fieldBaseURL, Label: "Base URL", Placeholder: "https://api.example.com", Check: checkURL},
		{Name: fieldProxy, Label: "Proxy host", Placeholder: "proxy.example.com"},
		{Name: fieldPort, Label: "Proxy port", Value: strconv.Itoa(profile.DefaultProxyPort), Check: checkPort},
		{Name: fieldPrefix, Label: "User prefix", Help: "The fixed word that the proxy usernames of the service begin with."},
		{Name: fieldAccount, Label: "Account id", Placeholder: "hl_1234abcd", Check: checkAccount},
		{Name: fieldDialect, Label: "Dialect", Kind: kit.FieldChoice, Options: dialects, Value: profile.DefaultDialect, Help: "documented sends and reads what the contract shows and nothing more."},
		{Name: fieldKey, Label: "Key name", Placeholder: "etl-main", Check: needed("a name for the key in the inventory")},
		{Name: fieldLevel, Label: "Key level", Kind: kit.FieldChoice, Options: levels},
		{Name: fieldSecret, Label: "Key is in", Placeholder: "env:ACME_KEY", Check: checkRef},
		{Name: fieldZones, Label: "Zones", Kind: kit.FieldArea, Rows: 3, Placeholder: "one a line: name product password-reference", Check: checkZones},
	}
}

func needed(what string) func(string) error {
	return func(v string) error {
		if strings.TrimSpace(v) == "" {
			return errors.New("write " + what)
		}
		return nil
	}
}

func checkName(v string, taken []string) error {
	if err := needed("a name for the profile")(v); err != nil {
		return err
	}
	if slices.Contains(taken, strings.TrimSpace(v)) {
		return fmt.Errorf("there is a profile %q already", v)
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

func checkRef(v string) error {
	_, err := keystore.ParseRef(strings.TrimSpace(v))
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

// account is what a form whose checks have passed describes.
func account(f *kit.Form) (Account, error) {
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

// save writes the account in a command; the dialog stays until it is written.
func (f *form) save(values *kit.Form) tea.Cmd {
	a, err := account(values)
	if err != nil {
		f.Problem = err.Error()
		return nil
	}
	f.Busy = true
	ctx, add := f.deps.Ctx, f.deps.Add
	return func() tea.Msg {
		return kit.ForOverlay{Overlay: f, Msg: added{name: a.Profile.Name, err: add(ctx, a)}}
	}
}

// Update takes the end of the writing, and leaves the rest to the dialog.
func (f *form) Update(msg tea.Msg) tea.Cmd {
	done, ok := msg.(added)
	if !ok {
		return f.FormDialog.Update(msg)
	}
	f.Busy = false
	if done.err != nil {
		f.Problem = done.err.Error()
		return nil
	}
	return tea.Batch(func() tea.Msg { return kit.Close{Overlay: f} }, f.deps.Switch(done.name))
}
