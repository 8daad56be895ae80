package saved

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"zonedeck/model"
)

// ErrSecretInURL refuses a URL that carries a login: a saved request is a plain
// file, and its URL is the one part that cannot be saved without it.
var ErrSecretInURL = errors.New("the URL holds a login (user:password@host); take it out before saving")

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
	// Required are the fields a good answer holds.
	Required []string            `toml:"required,omitempty"`
	Body     string              `toml:"body,omitempty,multiline"`
	Headers  map[string][]string `toml:"headers,omitempty"`
}

// encode writes r as a file; omitted names the headers left out because their
// value is a secret by its nature.
func encode(r model.FetchRequest) (file []byte, omitted []string, err error) {
	if u, err := url.Parse(r.URL); err == nil && u.User != nil {
		return nil, nil, ErrSecretInURL
	}
	doc := document{
		Zone: string(r.Zone.Name), URL: r.URL, Via: string(r.Via), Format: string(r.Format),
		Method: r.Method, Country: r.Country, Session: r.Session, Key: r.Key, Body: r.Body,
		Required: r.Required,
	}
	if r.Timeout > 0 {
		doc.Timeout = r.Timeout.String()
	}
	if r.Retries >= 0 {
		doc.Retries = &r.Retries
	}
	for name, values := range r.Header {
		if SecretHeader(name) {
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

// decode reads a file. Fields that are not known are refused by name, so that a
// misspelt one is not silently another request.
func decode(file []byte) (model.FetchRequest, error) {
	var doc document
	dec := toml.NewDecoder(bytes.NewReader(file)).DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return model.FetchRequest{}, describe(err)
	}
	r := model.FetchRequest{
		Zone: model.Zone{Name: model.ZoneName(doc.Zone)}, URL: doc.URL, Via: model.Via(doc.Via),
		Format: model.Format(doc.Format), Method: doc.Method, Country: doc.Country,
		Session: doc.Session, Key: doc.Key, Body: doc.Body, Retries: -1,
		Required: doc.Required,
	}
	switch r.Via {
	case "":
		r.Via = model.ViaAPI
	case model.ViaAPI, model.ViaNative:
	default:
		return model.FetchRequest{}, fmt.Errorf("via %q is neither \"api\" nor \"native\"", doc.Via)
	}
	if r.Format == "" {
		r.Format = model.FormatRaw
	}
	if doc.Retries != nil {
		r.Retries = *doc.Retries
	}
	if doc.Timeout != "" {
		d, err := time.ParseDuration(doc.Timeout)
		if err != nil || d < 0 {
			return model.FetchRequest{}, fmt.Errorf("timeout %q: write it like 30s or 2m", doc.Timeout)
		}
		r.Timeout = d
	}
	for name, values := range doc.Headers {
		if r.Header == nil {
			r.Header = make(http.Header)
		}
		r.Header[name] = values
	}
	return r, nil
}

// describe turns the decoder's error into place and expectation.
func describe(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Errorf("line %d: %q is not a field of a saved request", row, strings.Join(strict.Errors[0].Key(), "."))
	}
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		row, col := syntax.Position()
		return fmt.Errorf("line %d, column %d: %w", row, col, err)
	}
	return err
}

// SecretHeader is model.SecretHeader: such a header belongs neither in a file nor
// on the clipboard.
func SecretHeader(name string) bool { return model.SecretHeader(name) }
