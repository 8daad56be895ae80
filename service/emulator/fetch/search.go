package fetch

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/serp"
)

// complete finishes a call once its zone is known: it reads a search address, and refuses what has
// no meaning for the product. Errors: an [*answer.InvalidError], or serp.ErrNoJSON.
func (f *Fetcher) complete(z account.Zone, c *call) error {
	search := false
	if z.Product == "unlocker" || z.Product == "serp" {
		var err error
		if search, err = c.readSearch(); err != nil {
			return err
		}
	}
	if err := c.checkProduct(z.Product, search); err != nil {
		return err
	}
	if search {
		c.query.Mode = modes[c.form]
		return c.query.Check()
	}
	return nil
}

// standFor lets the lab answer for a search engine, with a note.
func (f *Fetcher) standFor(c *call) {
	if c.query.Engine == "" {
		return
	}
	if at := f.standIn(c.url); at != nil {
		c.labPage, c.query.Target = at, at.String()
		c.notes = append(c.notes, c.url.Hostname()+" is not asked: these are results of "+at.Host)
	}
}

// standIn is the lab's page for a search engine's page of results; nil for other addresses. The
// API never sends requests to a search engine, which could block this machine as a robot. A
// scenario's target with the engine's name has precedence.
func (f *Fetcher) standIn(u *url.URL) *url.URL {
	if f.conf.Route.Dialer.Serves(u.Hostname()) || !serp.IsResultPage(u) {
		return nil
	}
	at := *searchPage()
	at.RawQuery = "engine=" + serp.Engine(u)
	if u.RawQuery != "" {
		at.RawQuery += "&" + u.RawQuery
	}
	return &at
}

// engineless sends a request for a search engine's page to the lab's.
type engineless struct {
	f    *Fetcher
	next http.RoundTripper
}

func (e engineless) RoundTrip(req *http.Request) (*http.Response, error) {
	if at := e.f.standIn(req.URL); at != nil {
		req = req.WithContext(req.Context()) // a shallow copy
		req.URL, req.Host = at, at.Host
	}
	return e.next.RoundTrip(req)
}

// readSearch reads the address of a result page (public documentation): which engine's
// it is, which form it takes, and which parameters are the service's.
func (c *call) readSearch() (bool, error) {
	if serp.Engine(c.url) == "" {
		return false, nil
	}
	q, err := serp.Read(c.url.String())
	switch {
	case errors.Is(err, serp.ErrNoJSON):
		return true, err
	case err != nil:
		return true, answer.Invalid("url: " + err.Error())
	}
	target, err := url.Parse(q.Target)
	if err != nil {
		return true, answer.Invalid("url must be an absolute http or https address")
	}
	params := c.url.Query()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch {
		case !strings.HasPrefix(name, "brd_"), name == "brd_json", name == "brd_mobile":
		default:
			c.notes = append(c.notes, name+" has no effect here")
		}
	}
	if q.Device != serp.Desktop && c.header.Get("User-Agent") == "" {
		c.header.Set("User-Agent", q.UserAgent())
	}
	c.url, c.query = target, q
	if c.form == "" {
		c.form = modeForms[q.Mode]
	}
	return true, nil
}

// modes are the modes of the forms that are parsed pages of results, and modeForms their forms.
var (
	modes     = map[string]serp.Mode{formParsed: serp.JSON, formBing: serp.JSON, formParsedHTML: serp.WithHTML, formLight: serp.Parsed}
	modeForms = map[serp.Mode]string{serp.JSON: formParsed, serp.WithHTML: formParsedHTML, serp.Parsed: formLight}
)

func isParsed(form string) bool { return modes[form] != serp.Raw }

// parsed turns a page of results into JSON. It leaves an error page unchanged.
func (t *task) parsed(resp *http.Response, body []byte) (*http.Response, error) {
	if resp.StatusCode >= http.StatusBadRequest {
		return replaced(resp, body, ""), nil
	}
	if t.call.labPage == nil && !exits.IsLab(t.call.url.Hostname()) {
		return nil, answer.NewRefusal(http.StatusBadRequest, "feature_not_active",
			"this emulator parses the result pages of "+exits.LabHost+" only", answer.BasisNoProduct)
	}
	out, contentType, err := serp.Render(body, "text/html; charset=utf-8", t.call.query)
	if err != nil {
		return nil, answer.NewRefusal(http.StatusBadGateway, "document_load_failed", fmt.Sprintf("the page of results cannot be read: %v", err), answer.BasisSearch)
	}
	return replaced(resp, out, contentType), nil
}
