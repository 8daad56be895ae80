package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"zonedeck/model"
)

// engine is how a search engine is asked: the address of its results, the names of its
// parameters, and how it counts pages.
type engine struct {
	base, text, country, start string
	// first is the parameter's value for the first result, unit how many results it counts
	// as one; parsed says that the service reads its results as JSON.
	first, unit int
	parsed      bool
}

// pageSize is how many results a page has.
const pageSize = 10

// brightDataEngines are the engines of public documentation (Yandex has no JSON); how an
// engine counts is the engine's own.
var brightDataEngines = map[string]engine{
	"google":     {base: "https://www.google.com/search", text: "q", country: "gl", start: "start", unit: 1, parsed: true},
	"bing":       {base: "https://www.bing.com/search", text: "q", country: "cc", start: "first", first: 1, unit: 1, parsed: true},
	"duckduckgo": {base: "https://duckduckgo.com/", text: "q", start: "s", unit: 1, parsed: true},
	"yandex":     {base: "https://yandex.com/search/", text: "text", start: "p", unit: pageSize},
}

// searched is the engine of a request.
func (d Dialect) searched(r model.FetchRequest) (engine, error) {
	name := r.Options.Engine
	if name == "" {
		name = "google"
	}
	e, ok := d.engines[name]
	if !ok {
		return e, fmt.Errorf("%q is not an engine that the console knows", model.Cut(name, 20))
	}
	return e, nil
}

// Locate gives a request the address of its search; any other stays as it is, and so does
// one whose search the dialect does not know: NotSent of the request says why.
func (d Dialect) Locate(r model.FetchRequest) model.FetchRequest {
	o := r.Options
	query := strings.TrimSpace(o.Query)
	if query == "" || r.Via == model.ViaAgent {
		return r
	}
	e, err := d.searched(r)
	if err != nil {
		return r
	}
	pairs := [][2]string{{e.text, query}}
	if page, err := strconv.Atoi(o.Page); err == nil && page > 1 && page <= model.MaxPage {
		pairs = append(pairs, [2]string{e.start, strconv.Itoa((page-1)*pageSize/e.unit + e.first)})
	}
	if e.country != "" && model.ValidCountry(r.Country) {
		pairs = append(pairs, [2]string{e.country, r.Country})
	}
	r.URL = e.base
	for i, p := range pairs {
		sep := "&"
		if i == 0 {
			sep = "?"
		}
		r.URL += sep + p[0] + "=" + url.QueryEscape(p[1])
	}
	return r
}

// The words for the service in an address, a header and an answer (public documentation).
const (
	paramJSON  = "brd_json"
	headExpect = "X-Unblock-Expect"
)

// brightDataOption says why an option cannot be sent as a request asks, or nil.
func brightDataOption(o model.Option, r model.FetchRequest) error {
	value := o.Value(r.Options)
	switch o.Name {
	case model.OptionPage:
		if r.Options.Query == "" && value != "1" {
			return errors.New("a typed URL names its page itself: write what to search for, or clear it")
		}
	case model.OptionParsed:
		if e := brightDataEngines[r.Options.Engine]; r.Options.Query != "" && e.base != "" && !e.parsed {
			return fmt.Errorf("the results of %s are not read as JSON", r.Options.Engine)
		}
	case model.OptionWaitFor:
		if r.Header.Get(headExpect) != "" {
			return fmt.Errorf("the header %s is among the headers, too: keep one", strings.ToLower(headExpect))
		}
	}
	return nil
}

// Outgoing is a request with its options in the dialect's words: the address and the headers
// that go out; Params has those of the username. The address is the one that Locate gives.
func (d Dialect) Outgoing(r model.FetchRequest) model.FetchRequest {
	r = d.Locate(r)
	if d.sends.Option == nil || r.Via == model.ViaAgent {
		return r
	}
	if r.Options.Parsed != "" {
		r.URL = withJSON(r.URL)
	}
	if wait := strings.TrimSpace(r.Options.WaitFor); wait != "" && r.Header.Get(headExpect) == "" {
		r.Header = r.Header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set(headExpect, expectation(wait))
	}
	return r
}

// The parameters of the username that a fetch can ask for (public documentation).
const (
	paramCountry = "country"
	paramSession = "session"
	paramRender  = "render"
)

// Params are the parameters of the username that a request asks for; none where the
// dialect sends none.
func (d Dialect) Params(r model.FetchRequest) []model.Param {
	if !d.sends.Exit {
		return nil
	}
	var out []model.Param
	if r.Country != "" {
		out = append(out, model.Param{Name: paramCountry, Value: r.Country})
	}
	if r.Session != "" {
		out = append(out, model.Param{Name: paramSession, Value: r.Session})
	}
	if r.Options.Render != "" {
		out = append(out, model.Param{Name: paramRender})
	}
	return out
}

// withJSON asks for results as JSON in the address of a search, unless it says how.
func withJSON(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Query().Has(paramJSON) {
		return address
	}
	address, fragment, has := strings.Cut(address, "#")
	switch {
	case u.RawQuery != "":
		address += "&"
	case !u.ForceQuery:
		address += "?"
	}
	address += paramJSON + "=1"
	if has {
		address += "#" + fragment
	}
	return address
}

// expectation is {"element":"a selector"} or {"text":"words"}.
func expectation(wait string) string {
	name := "element"
	if text, ok := strings.CutPrefix(wait, model.WaitForText); ok {
		name, wait = "text", strings.TrimSpace(text)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]string{name: wait}) // a map of strings always encodes
	return ascii(strings.TrimSpace(b.String()))
}

// ascii writes what is not ASCII as escapes of JSON: a header's value has no other bytes
// that every receiver reads alike.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
