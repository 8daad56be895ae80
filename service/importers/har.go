package importers

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"zonedeck/model"
)

// The bounds of a HAR file, in bytes and in entries.
const (
	maxHAR     = 64 << 20
	maxEntries = 10_000
)

// HAREntry is one request of a HAR file.
type HAREntry struct {
	Method, URL string
	Status      int // 0 when there was no answer

	entry harRaw
	marks string
}

type (
	harPair struct{ Name, Value string }
	harPost struct {
		MimeType string
		Text     *string
		Encoding string
		Params   []struct {
			Name, Value, FileName string
		}
	}
	harOwn struct{ Zone, Via, Country, Session string }
	harRaw struct {
		Request *struct {
			Method, URL      string
			Headers, Cookies []harPair
			BodySize         float64
			PostData         *harPost
		}
		Response  struct{ Status int }
		Extension harOwn `json:"_zonedeck"`
	}
	harLog struct {
		Log *struct{ Entries harEntries }
	}
	// harEntries are at most maxEntries and one more: the rest is not decoded.
	harEntries []harRaw
)

// UnmarshalJSON reads no more entries than are taken.
func (es *harEntries) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t == nil {
		return err
	} else if t != json.Delim('[') {
		return &json.UnmarshalTypeError{Value: "value", Type: reflect.TypeFor[harEntries]()}
	}
	*es = nil // the last of two counts
	for len(*es) <= maxEntries && d.More() {
		var e harRaw
		if err := d.Decode(&e); err != nil {
			return err
		}
		*es = append(*es, e)
	}
	return nil
}

// IsHAR reports whether a pasted text begins like a HAR file, or an entry of one.
func IsHAR(text string) bool {
	text, _ = model.TrimMarks(text)
	head := text[:min(len(text), 4096)]
	return strings.HasPrefix(head, "{") && (strings.Contains(head, `"log"`) && strings.Contains(text, `"entries"`) ||
		strings.Contains(text, `"request"`) && strings.Contains(head, `"startedDateTime"`) && strings.Contains(text, `"headers"`))
}

// HAR reads the requests of a HAR 1.2 file of at most maxHAR bytes, or of one entry alone.
// Errors wrap errImport, or are those of r.
func HAR(r io.Reader) ([]HAREntry, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxHAR+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxHAR:
		return nil, refuse("it has more than %d MiB", maxHAR>>20)
	}
	text, marks := model.TrimMarks(string(b))
	if len(text) < len(b) {
		b = []byte(text)
	}
	var f harLog
	err = json.Unmarshal(b, &f)
	if err == nil && f.Log == nil { // one entry, as developer tools copy it
		err = json.Unmarshal(slices.Concat([]byte(`{"log":{"entries":[`), b, []byte(`]}}`)), &f)
	}
	if err != nil {
		return nil, refuse("%s", jsonFault(err))
	}
	if len(f.Log.Entries) > maxEntries {
		return nil, refuse("it has more than %d entries", maxEntries)
	}
	var out []HAREntry
	for i, e := range f.Log.Entries {
		q := e.Request
		if q == nil || q.URL == "" {
			return nil, refuse("entry %d has no request with a url", i+1)
		}
		out = append(out, HAREntry{Method: q.Method, URL: q.URL, Status: e.Response.Status, entry: e, marks: marks})
	}
	if len(out) == 0 {
		return nil, refuse("there is no request in it")
	}
	return out, nil
}

// jsonFault is why it is no HAR file, without its text.
func jsonFault(err error) string {
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "it is not a HAR file: a " + te.Value + " stands where the format has none"
	}
	return "it is not JSON, or ends early"
}

// Import is the request as the form holds it.
func (e HAREntry) Import(known Known) (Imported, error) {
	c := &call{out: &Imported{Source: "HAR entry"}, retries: -1, globoff: true, method: cleared(e.Method)}
	c.out.Request.Retries = -1
	c.out.marks(e.marks)
	c.urls = []string{cleared(e.URL)}
	host := ""
	if u, err := url.Parse(c.urls[0]); err == nil {
		host = u.Host
	}
	for _, h := range e.entry.Request.Headers {
		name, value := cleared(h.Name), cleared(h.Value)
		if strings.HasPrefix(name, ":") || strings.EqualFold(name, "Host") && strings.EqualFold(value, host) {
			continue // says again what the method and the URL say
		}
		line := name + ": " + value
		if value == "" {
			line = name + ";"
		}
		c.headers = append(c.headers, line)
	}
	var cookies []string
	for _, k := range e.entry.Request.Cookies {
		cookies = append(cookies, cleared(k.Name)+"="+cleared(k.Value))
	}
	if !c.has("Cookie") && cookies != nil {
		c.headers = append(c.headers, "Cookie: "+strings.Join(cookies, "; "))
	}
	err := c.body(e.entry.Request.PostData, e.entry.Request.BodySize)
	if err == nil {
		err = c.assemble(known)
	}
	if err != nil {
		return Imported{}, err
	}
	r := &c.out.Request
	if own := e.entry.Extension; own.Zone != "" && r.Zone.Name == "" { // it was exported by this console
		plain := func(s string) string { return model.WithoutVariables(cleared(s)) }
		r.Zone.Name = model.ZoneName(plain(own.Zone))
		if via, err := model.ParseVia(own.Via); err == nil {
			r.Via = via
		}
		r.Country, r.Session = plain(own.Country), plain(own.Session)
	}
	return *c.out, nil
}

// body takes the data of an entry, and their type where no header says it.
func (c *call) body(post *harPost, size float64) error {
	if post == nil {
		post = &harPost{}
	}
	switch {
	case post.Text != nil && *post.Text != "":
		text := *post.Text
		if post.Encoding == "base64" {
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return refuse("its body is not the base64 that it says it is")
			}
			text = string(b)
		}
		c.data = []string{cleared(text)}
	case len(post.Params) > 0:
		var pairs []string
		for _, p := range post.Params {
			if p.FileName != "" || strings.HasPrefix(strings.ToLower(post.MimeType), "multipart/") {
				return refuse("of its multipart body it holds the parts alone: record it with the text of the body")
			}
			pairs = append(pairs, url.QueryEscape(cleared(p.Name))+"="+url.QueryEscape(cleared(p.Value)))
		}
		c.data = []string{strings.Join(pairs, "&")}
		post.MimeType = cmp.Or(post.MimeType, "application/x-www-form-urlencoded")
	case max(size, c.contentLength()) > 0:
		return refuse("its body of %.0f bytes is not in the file: record it with the bodies", max(size, c.contentLength()))
	default:
		return nil
	}
	if post.MimeType != "" && !c.has("Content-Type") {
		c.headers = append(c.headers, "Content-Type: "+cleared(post.MimeType))
	}
	return nil
}

// contentLength is what a header says of the size of the body, 0 without one.
func (c *call) contentLength() (size float64) {
	for _, line := range c.headers {
		if name, value := header(line); strings.EqualFold(name, "Content-Length") {
			size, _ = strconv.ParseFloat(value, 64)
		}
	}
	return size
}

// cleared takes out the characters that mark variables.
func cleared(s string) string { return strings.ReplaceAll(s, markEnv, "") }
