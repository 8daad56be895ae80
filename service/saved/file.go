package saved

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// errSecretInURL refuses a URL that carries a login: a saved request is a plain
// file, and its URL is the one part that cannot be saved without it.
var errSecretInURL = errors.New("the URL holds a login (user:password@host); take it out before saving")

// document is the file's form. Durations are written as Go writes them ("30s").
type document struct {
	Zone    string `toml:"zone"`
	URL     string `toml:"url"`
	Via     string `toml:"via,omitempty"`
	Format  string `toml:"format,omitempty"`
	Method  string `toml:"method,omitempty"`
	Country string `toml:"country,omitempty"`
	Session string `toml:"session,omitempty"`
	Key     string `toml:"key,omitempty"`
	Timeout string `toml:"timeout,omitempty"`
	Retries *int   `toml:"retries,omitempty"`
	Tool    string `toml:"tool,omitempty"`
	Args    string `toml:"args,omitempty,multiline"`
	// Options are what the product adds, by name.
	Options map[string]string `toml:"options,omitempty"`
	// Required are the fields a good answer holds.
	Required []string            `toml:"required,omitempty"`
	Body     string              `toml:"body,omitempty,multiline"`
	Headers  map[string][]string `toml:"headers,omitempty"`
}

// encode writes r as a file; omitted names the headers left out because their
// value is a secret by its nature.
func encode(r model.FetchRequest) (file []byte, omitted []string, err error) {
	if hasLogin(r.URL) {
		return nil, nil, errSecretInURL
	}
	doc := document{
		Zone: string(r.Zone.Name), URL: r.URL, Via: string(r.Via), Format: string(r.Format),
		Method: r.Method, Country: r.Country, Session: r.Session, Key: r.Key, Body: r.Body,
		Required: r.Required, Tool: r.Tool, Args: r.Args,
	}
	for _, o := range model.AllOptions() {
		if value := o.Value(r.Options); value != "" {
			if doc.Options == nil {
				doc.Options = make(map[string]string)
			}
			doc.Options[o.Name] = value
		}
	}
	if r.Timeout > 0 {
		doc.Timeout = r.Timeout.String()
	}
	if r.Retries >= 0 {
		doc.Retries = &r.Retries
	}
	for name, values := range r.Header {
		if model.SecretName(name) && slices.ContainsFunc(values, func(v string) bool { return !model.OnlyVariable(v) }) {
			omitted = append(omitted, name)
			continue
		}
		if doc.Headers == nil {
			doc.Headers = make(map[string][]string)
		}
		doc.Headers[name] = values
	}
	slices.Sort(omitted)
	file, err = toml.Marshal(doc)
	if err != nil {
		return nil, nil, fmt.Errorf("writing a saved request: %w", err)
	}
	return file, omitted, nil
}

// hasLogin reports whether an address, be it finished or not, may hold a login.
func hasLogin(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" { // as in user:password@host
		return strings.Contains(address, "@")
	}
	return u.User != nil
}

// Decode reads a file, whose name errors say. Fields that are not known are refused
// by name, so that a misspelt one is not silently another request.
func Decode(file string, content io.Reader) (model.FetchRequest, error) {
	var d document
	doc, err := textfile.ReadFrom(file, content, &d)
	if err != nil {
		return model.FetchRequest{}, err
	}
	r := model.FetchRequest{
		Zone: model.Zone{Name: model.ZoneName(d.Zone)}, URL: d.URL, Via: model.Via(d.Via),
		Format: model.Format(d.Format), Method: d.Method, Country: d.Country,
		Session: d.Session, Key: d.Key, Body: d.Body, Retries: -1,
		Required: d.Required, Header: d.Headers, Tool: d.Tool, Args: d.Args,
	}
	if r.Via == "" {
		r.Via = model.ViaAPI
	}
	if _, err := model.ParseVia(string(r.Via)); err != nil {
		return model.FetchRequest{}, doc.Fault(textfile.At("via"), fmt.Sprintf("via is %q", d.Via), `"api", "native", "agent" or "browser"`)
	}
	for _, o := range model.AllOptions() {
		o.Set(&r.Options, d.Options[o.Name])
		delete(d.Options, o.Name)
	}
	if names := slices.Sorted(maps.Keys(d.Options)); len(names) > 0 {
		return model.FetchRequest{}, doc.Fault(textfile.At("options", names[0]), fmt.Sprintf("unknown option %q", names[0]), "one of "+strings.Join(optionNames(), ", "))
	}
	if r.Format == "" {
		r.Format = model.FormatRaw
	}
	if d.Retries != nil {
		r.Retries = *d.Retries
	}
	if d.Timeout != "" {
		r.Timeout, err = time.ParseDuration(d.Timeout)
		if err != nil || r.Timeout < 0 {
			return model.FetchRequest{}, doc.Fault(textfile.At("timeout"), fmt.Sprintf("timeout is %q", d.Timeout), "a time like 30s or 2m")
		}
	}
	return r, nil
}

func optionNames() []string {
	var names []string
	for _, o := range model.AllOptions() {
		names = append(names, o.Name)
	}
	return names
}

// ErrName is wrapped by every refusal of a name.
var ErrName = errors.New("name of a saved request")

// The bounds of a name: of each of its parts in bytes, because file systems stop at 255 and
// screens earlier, and how many folders it may lead through.
const (
	maxName    = 64
	maxFolders = 4
)

// CheckName refuses what cannot be a file's name on every system the console
// runs on: the name is the file's, so a request saved on Linux opens on Windows. Folders
// stand before it, each with a "/" after it.
func CheckName(name string) error {
	parts := strings.Split(name, "/")
	if len(parts)-1 > maxFolders {
		return fmt.Errorf("%w is in more than %d folders", ErrName, maxFolders)
	}
	for _, part := range parts {
		if part == "" && len(parts) > 1 {
			return fmt.Errorf("%w: write folder/name, with both", ErrName)
		}
		if err := checkPart(part); err != nil {
			return err
		}
	}
	return nil
}

func checkPart(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w is empty", ErrName)
	case len(name) > maxName:
		return fmt.Errorf("%w is longer than %d characters", ErrName, maxName)
	case !alnum(name[0]):
		return fmt.Errorf("%w %q: it must start with a letter or a digit", ErrName, name)
	case !alnum(name[len(name)-1]):
		return fmt.Errorf("%w %q: it must end with a letter or a digit", ErrName, name)
	}
	for i := range len(name) {
		if b := name[i]; !alnum(b) && b != '-' && b != '_' && b != '.' && b != ' ' {
			return fmt.Errorf("%w %q: use letters, digits, spaces, \"-\", \"_\" and \".\"", ErrName, name)
		}
	}
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	if reserved(strings.TrimSpace(stem)) {
		return fmt.Errorf("%w %q: Windows keeps this name for a device", ErrName, name)
	}
	return nil
}

func alnum(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func reserved(stem string) bool {
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	if len(stem) != 4 {
		return false
	}
	device := stem[:3]
	return (device == "com" || device == "lpt") && stem[3] >= '0' && stem[3] <= '9'
}
