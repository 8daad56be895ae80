package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	service "zonedeck/service/profiles"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// The form's fields.
const (
	fieldName     = "name"
	fieldDialect  = "dialect"
	fieldBaseURL  = "base_url"
	fieldPlain    = "plain" // the warning of an address without TLS
	fieldStore    = "store"
	fieldValue    = "value"
	fieldSecret   = "secret"
	fieldKey      = "key"
	fieldLevel    = "level"
	fieldReason   = "reason" // why it is an ADMIN key
	fieldAccount  = "account"
	fieldEntry    = "entry"
	fieldProxy    = "proxy_host"
	fieldPort     = "proxy_port"
	fieldPrefix   = "username_prefix"
	fieldCA       = "ca"
	fieldZones    = "zones"
	fieldAllowed  = "allowed_domains"
	fieldMostCost = "max_job_cost"
	fieldTimeouts = "timeouts"
	fieldTestURL  = "test_url"
	fieldTestText = "test_text"
	fieldReadOnly = "read_only"
	fieldColor    = "color"
)

// fields are the form's, with the values of the profile that is edited. What may be a key's value is
// masked in each of them: it may have been pasted into the wrong one.
func fields(f *form) []widget.Field {
	out := f.named()
	for i, fd := range out {
		if fd.Kind == widget.FieldText && !fd.Secret && fd.Mask == nil {
			out[i].Mask = maskKey(fd.Check)
		}
	}
	return out
}

func (f *form) named() []widget.Field {
	p := model.Profile{ProxyPort: model.DefaultProxyPort, Can: service.DialectNamed("")}
	if f.edits != nil {
		p = *f.edits
	}
	readOnly := ""
	if p.ReadOnly {
		readOnly = "true"
	}
	return []widget.Field{
		{Name: fieldName, Label: "Profile", Value: p.Name, Hidden: f.edits != nil, Placeholder: "such as acme", Check: f.checkName},
		{Name: fieldDialect, Label: "Dialect", Kind: widget.FieldChoice, Options: dialects(), Value: p.DialectName()},
		{Name: fieldBaseURL, Label: "Base URL", Value: p.BaseURL, Check: f.checkURL},
		{Name: fieldPlain, Kind: widget.FieldNote, Value: plainText, Hidden: true},
		{
			Name: fieldStore, Label: "Key is in", Kind: widget.FieldChoice, Options: storeOptions(), Value: keystore.SchemeFile,
			Help: "The keyring and the age file store the key and the zones' passwords; for a variable or a command only the reference is kept. Nothing is stored in plain text.",
		},
		{
			Name: fieldValue, Label: "API key", Secret: true, Placeholder: "type or paste it, once", Check: f.checkValue,
			Help: "It is masked, goes into the store when you save, and is never shown again.",
		},
		{Name: fieldSecret, Label: "Reference", Hidden: true, Check: kit.CheckRef},
		{Name: fieldKey, Label: "Key name", Value: p.Key, Placeholder: "as the profile", Help: "Its name in Keys.", Check: f.checkKey, Mask: widget.MaskIf(f.checkKey)},
		{Name: fieldLevel, Label: "Key level", Kind: widget.FieldChoice, Options: levels()},
		{
			Name: fieldReason, Label: "Why ADMIN", Hidden: true, Placeholder: "why it must be this key; it stands in History",
			Help: "ADMIN is for people, and programs use the key of a profile (contract 5.4): pick a USER key, or say why.",
		},
		{Name: fieldAccount, Label: "Account id", Value: string(p.Account), Placeholder: "such as hl_1234abcd", Check: f.checkAccount},
		{Name: fieldEntry, Label: "Proxy preset", Kind: widget.FieldPick, Options: entries(), Placeholder: "the published addresses", Hidden: true},
		{Name: fieldProxy, Label: "Proxy host", Value: p.ProxyHost, Placeholder: "such as proxy.example.com"},
		{Name: fieldPort, Label: "Proxy port", Value: strconv.Itoa(p.ProxyPort), Check: checkPort},
		{Name: fieldPrefix, Label: "User prefix", Value: p.UsernamePrefix, Help: "The fixed word that the service's proxy usernames begin with."},
		{Name: fieldCA, Label: "CA file", Value: p.CA, Mask: maskPath(), Placeholder: "none, or what the service publishes", Help: "A PEM file to trust besides the system's: networks without identity check and the unlocker need it (contract 5.2)."},
		{
			Name: fieldZones, Label: "Zones", Kind: widget.FieldArea, Rows: 4, Value: zoneLines(p.Zones), Placeholder: "one per line: name product password", Check: checkZones, Mask: masked,
			Help: "A password or a reference to one. A password is masked and goes into the key's store when you save.",
		},
		{Name: fieldAllowed, Label: "Domains", Value: strings.Join(p.AllowedDomains, " "), Placeholder: "every target; or such as shop.example.com *.example.com", Help: "The only targets that this profile fetches."},
		{Name: fieldReadOnly, Label: "Read-only", Kind: widget.FieldToggle, Value: readOnly, Placeholder: "refuse everything that changes something"},
		{Name: fieldMostCost, Label: "Job cap, $", Value: costText(p.MaxJobCost), Placeholder: "none", Check: checkCost, Help: "A job is refused if its highest estimate is more than this, or unknown."},
		{Name: fieldTimeouts, Label: "Timeouts", Value: p.Timeouts.String(), Placeholder: "the products'; such as unlocker=4m browser=6m", Check: checkTimeouts, Help: "How long one attempt may take through the zones of a product."},
		{Name: fieldTestURL, Label: "Test page", Value: p.TestURL, Placeholder: "none; such as https://example.com/", Help: "A rotation proves keys and passwords with this page."},
		{Name: fieldTestText, Label: "It shows", Value: p.TestText, Placeholder: "text that only the test page shows", Help: "Without this text in the answer nothing is proved, whatever the status."},
		{Name: fieldColor, Label: "Colour", Kind: widget.FieldChoice, Options: colors(), Value: p.Color, Help: "The color of the profile's name on every screen."},
	}
}

func dialects() []widget.Option {
	var options []widget.Option
	for _, d := range service.Dialects() {
		options = append(options, widget.Option{Value: d.Name()})
	}
	return options
}

func levels() []widget.Option {
	options := []widget.Option{{Value: "", Label: "unknown"}}
	for _, l := range model.Levels() {
		options = append(options, widget.Option{Value: string(l), Note: l.IntendedUse()})
	}
	return options
}

func colors() []widget.Option {
	options := []widget.Option{{Value: "", Label: "none"}}
	for _, c := range model.Colors() {
		options = append(options, widget.Option{Value: c})
	}
	return options
}

// entries are the published addresses of the proxy, of every dialect: the field is hidden for one
// that has none.
func entries() (options []widget.Option) {
	for _, d := range slices.SortedFunc(slices.Values(service.Dialects()), func(a, b service.Dialect) int { return cmp.Compare(a.Name(), b.Name()) }) {
		for _, e := range d.ProxyEntries() {
			options = append(options, widget.Option{Value: e.Host + ":" + strconv.Itoa(e.Port), Note: e.Note})
		}
	}
	return options
}

func (f *form) checkName(v string) error {
	if err := widget.Required("write a name for the profile")(v); err != nil {
		return err
	}
	if f.edits == nil && slices.Contains(f.deps.Profiles.Names(), strings.TrimSpace(v)) {
		return fmt.Errorf("profile %q already exists", v)
	}
	if f.edits != nil {
		return nil
	}
	return f.checkKey(v) // it is shown in plain text, too
}

// checkURL takes an empty address where the dialect has one.
func (f *form) checkURL(v string) error {
	d := f.dialect()
	u, err := url.Parse(strings.TrimSpace(cmp.Or(v, d.BaseURL())))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("write an address like https://api.example.com")
	}
	return nil
}

// leastKey is the length from which on what is typed replaces a key that is held: a key that was pressed to move about
// does not.
const leastKey = 8

func (f *form) checkValue(v string) error {
	if err := keystore.CheckKeyValue(keystore.NewSecret(v)); err != nil {
		return err
	}
	if v != "" && len(v) < leastKey && !f.value.Empty() {
		return fmt.Errorf("too short to replace %s, which stays; empty the field to go on", f.value)
	}
	if known, ok := f.deps.Profiles.Key(cmp.Or(f.text(fieldKey), f.text(fieldName))); strings.TrimSpace(v) != "" || !f.value.Empty() || f.edits != nil || ok && known.Secret != "" {
		return nil
	}
	return errors.New("type the key, or choose another place where it is")
}

// checkKey refuses a new key's name that may be its value.
func (f *form) checkKey(v string) error {
	if _, recorded := f.deps.Profiles.Key(v); recorded {
		return nil
	}
	return keystore.CheckName(strings.TrimSpace(v), f.value)
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

func checkPort(v string) error {
	if n, err := strconv.Atoi(strings.TrimSpace(v)); err != nil || n < 1 || n > 65535 {
		return errors.New("a port is a number from 1 to 65535")
	}
	return nil
}

// costText is a cap on the cost of a job as it is typed.
func costText(most float64) string {
	if most == 0 {
		return ""
	}
	return strconv.FormatFloat(most, 'f', -1, 64)
}

func checkCost(v string) error {
	if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); strings.TrimSpace(v) != "" && (err != nil || !(n > 0) || math.IsInf(n, 0)) {
		return errors.New("type dollars above 0, or leave it empty for no cap")
	}
	return nil
}

func checkTimeouts(v string) error {
	_, err := model.Timeouts{}.Set(v)
	return err
}

func (f *form) checkAccount(v string) error {
	if strings.TrimSpace(v) == "" {
		return nil
	}
	d := f.dialect()
	_, err := d.ParseAccount(strings.TrimSpace(v))
	if err != nil && model.MayBeToken(v) {
		return errors.New("this may be a key's value, because it has a long word of letters and digits: an account id looks like hl_1234abcd")
	}
	return err
}

// maskPath hides what may be a key's value and does not look like the path of a certificate.
func maskPath() func(string) string {
	return maskKey(func(v string) error {
		for _, begin := range []string{"/", "./", "../", "~/"} {
			if strings.HasPrefix(v, begin) {
				return nil
			}
		}
		if filepath.IsAbs(v) || slices.Contains([]string{".pem", ".crt", ".cer"}, filepath.Ext(v)) {
			return nil
		}
		return errors.New("it may be a key's value")
	})
}

// maskKey hides what may be a key's value and is nothing that a field takes: without a check nothing is.
func maskKey(check func(string) error) func(string) string {
	return widget.MaskIf(func(v string) error {
		switch {
		case !model.MayBeToken(v):
			return nil
		case check != nil:
			return check(v)
		}
		return errors.New("it may be a key's value")
	})
}

func checkZones(v string) error {
	_, _, err := readZones(v)
	return err
}
