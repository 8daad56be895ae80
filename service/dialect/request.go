package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"

	"zonedeck/model"
)

// RequestPath is the path of POST request (service.md 4.1).
const RequestPath = "/request"

// notShownError refuses what the contract does not show and a dialect therefore
// does not send. It wraps ErrNotShown.
type notShownError struct {
	Feature string
	// Able names the dialects that send it.
	Able []string
}

func (e *notShownError) Error() string {
	return fmt.Sprintf("%s is not shown by the contract; choose dialect %s to send it", e.Feature, strings.Join(e.Able, " or "))
}

// Unwrap gives ErrNotShown.
func (e *notShownError) Unwrap() error { return ErrNotShown }

// notShown is the refusal of what the contract does not show. A dialect that goes
// beyond the contract sends all of it.
func notShown(what string) error {
	return &notShownError{Feature: what, Able: names(func(d Dialect) bool { return d.sends.Target })}
}

// wireRequest is the body of POST /request in the order it is written.
type wireRequest struct {
	Zone    string            `json:"zone"`
	URL     string            `json:"url"`
	Format  string            `json:"format"`
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Country string            `json:"country,omitempty"`
	Session string            `json:"session,omitempty"`
	Render  bool              `json:"render,omitempty"`
}

// Request makes the bytes of the body of POST /request, which are what a preview
// shows and what is written. What the dialect does not send is refused with a
// *model.RequestError.
func (d Dialect) Request(r model.FetchRequest) ([]byte, error) {
	if refused := r.NotSent(d.sends); len(refused) > 0 {
		return nil, &model.RequestError{Problems: refused}
	}
	r = d.Outgoing(r)
	w := wireRequest{Zone: string(r.Zone.Name), URL: r.URL, Format: string(r.Format)}
	if w.Format == "" {
		w.Format = string(model.FormatRaw)
	}
	if m := strings.ToUpper(r.Method); m != "" && m != http.MethodGet {
		w.Method = m
	}
	for name, values := range r.Header {
		if w.Headers == nil {
			w.Headers = map[string]string{}
		}
		w.Headers[http.CanonicalHeaderKey(name)] = strings.Join(values, ", ")
	}
	w.Body, w.Country, w.Session = r.Body, strings.ToLower(r.Country), r.Session
	w.Render = r.Options.Render != ""
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "&" in an address stays readable
	if err := enc.Encode(w); err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// RefuseParams is the refusal of the first parameter of a proxy username that the
// dialect does not send, or nil.
func (d Dialect) RefuseParams(params []model.Param) error {
	if d.sends.Exit || len(params) == 0 {
		return nil
	}
	return d.sends.NotShown("the username parameter " + params[0].Name)
}

// TestPage is a page that answers a test of a key or of a proxy login: the one that the profile names, the lab's on the
// embedded emulator, the provider's public one where the dialect knows it, else none.
func (d Dialect) TestPage(p model.Profile) string {
	switch {
	case p.TestURL != "":
		return p.TestURL
	case p.Local:
		return "https://lab.test/whoami"
	}
	return d.testPage
}

// IsTestPage reports whether a text is that of TestPage: it shows what the profile says, or is JSON with what the lab saw,
// or where it was asked from.
func (Dialect) IsTestPage(p model.Profile, text []byte) bool {
	if p.TestURL != "" {
		return strings.Contains(words(html.UnescapeString(string(text))), words(p.TestText))
	}
	var page struct{ Headers, ASN, Geo map[string]any }
	err := json.Unmarshal(text, &page)
	return err == nil && (p.Local && page.Headers != nil || !p.Local && page.ASN != nil && page.Geo != nil)
}

// words is a text with one space between its words: a page may break its lines anywhere.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// PlacePage is a page that tells the country of its caller, or "" where none is known.
func (d Dialect) PlacePage(local bool) string {
	if local {
		return "https://lab.test/mygeo.json"
	}
	return d.placePage
}
