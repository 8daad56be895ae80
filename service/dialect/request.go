package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"zonedeck/model"
)

// RequestPath is the path of POST request (service.md 4.1).
const RequestPath = "/request"

// NotShownError refuses a field of a request that the dialect does not send. It
// wraps ErrNotShown.
type NotShownError struct {
	Field string // "format", "method", "headers", "body", "country", "session"
	What  string
}

func (e *NotShownError) Error() string {
	return fmt.Sprintf("%s is not shown by the contract; choose dialect %s to send it", e.What, BrightData)
}

// Unwrap gives ErrNotShown.
func (e *NotShownError) Unwrap() error { return ErrNotShown }

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
}

// Request makes the bytes of the body of POST /request, which are what a preview
// shows and what is written. Documented sends zone, url and format raw.
func (d Dialect) Request(r model.FetchRequest) ([]byte, error) {
	if err := d.Sends(r); err != nil {
		return nil, err
	}
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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "&" in an address stays readable
	if err := enc.Encode(w); err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Sends reports with a NotShownError what of a fetch the dialect does not send.
// What goes to the target through a proxy is the caller's own, so by native
// access only the parameters of the username count.
func (d Dialect) Sends(r model.FetchRequest) error {
	if d.brightdata {
		return nil
	}
	refuse := func(field, what string) error { return &NotShownError{Field: field, What: what} }
	method := strings.ToUpper(r.Method)
	switch {
	case r.Country != "":
		return refuse("country", "a country")
	case r.Session != "":
		return refuse("session", "a session")
	case r.Via == model.ViaNative:
		return nil
	case r.Format != "" && r.Format != model.FormatRaw:
		return refuse("format", fmt.Sprintf("format %q", r.Format))
	case method != "" && method != http.MethodGet:
		return refuse("method", "method "+method)
	case len(r.Header) > 0:
		return refuse("headers", "a header for the target")
	case r.Body != "":
		return refuse("body", "a body for the target")
	}
	return nil
}

// SendsParams is Sends for the parameters of a proxy username.
func (d Dialect) SendsParams(params []model.Param) error {
	if d.brightdata || len(params) == 0 {
		return nil
	}
	field := params[0].Name
	return &NotShownError{Field: field, What: "the username parameter " + field}
}

// NativeAccess reports whether the dialect addresses a product through the
// proxy. The contract names the products (service.md 5.2); BrightData leaves it
// to the service to refuse.
func (d Dialect) NativeAccess(p model.Product) bool { return d.brightdata || p.NativeAccess() }

// TestPage is a page that answers a test of a proxy login: the lab's on the
// embedded emulator, the provider's public one where the dialect knows it, else
// none.
func (d Dialect) TestPage(local bool) string {
	switch {
	case local:
		return "https://lab.test/whoami"
	case d.brightdata:
		return "https://geo.brdtest.com/mygeo.json"
	default:
		return ""
	}
}
