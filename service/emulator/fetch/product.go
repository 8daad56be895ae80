package fetch

import (
	"slices"
	"strings"

	"zonedeck/service/emulator/answer"
)

// What a product does with a page. The others fetch it through an exit: the proxy networks, and
// the products with separate endpoints (scrapers, data feeds, discovery, deep lookup, agent
// access).
type behaviour int

const (
	plain     behaviour = iota
	unlocking           // unlocker, SERP, crawl: redirects followed, blocks got past
	rendering           // browser: the page as Chromium has it after its scripts
)

type product struct {
	behaviour behaviour
	basis     string
	// forms are the values of data_format, and searchForms the further ones for search pages.
	forms, searchForms []string
}

var (
	network  = product{basis: answer.BasisFetch}
	products = map[string]product{
		"datacenter": network, "isp": network, "residential": network, "mobile": network,
		"unlocker": { // an unlocker zone serves search pages, too (public documentation)
			unlocking, answer.BasisUnlocker, []string{formMarkdown, formScreenshot}, []string{formLight, formBing, formHTML, formParsed},
		},
		"serp": {
			unlocking, answer.BasisUnlocker, []string{formMarkdown, formScreenshot, formHTML}, []string{formLight, formBing, formParsed},
		},
		"browser": {rendering, answer.BasisBrowserPage, []string{formMarkdown, formScreenshot, formHTML}, nil},
		"crawl":   {unlocking, answer.BasisCrawlPage, []string{formMarkdown, formHTML}, nil},
	}
)

// Forms of a page beyond the target's own bytes (data_format, x-unblock-data-format, brd_json).
const (
	formMarkdown   = "markdown"
	formScreenshot = "screenshot"
	formHTML       = "html"
	formLight      = "parsed_light"
	formBing       = "parsed_bing"
	formParsed     = "json"      // brd_json=1: the whole result page as JSON
	formParsedHTML = "json+html" // brd_json=html: the same with the page's HTML inside
)

// fits refuses a call with fields that have no meaning for the zone's product. search is whether
// its address is a search page's. The error is an [*answer.InvalidError].
func (c *call) fits(name string, search bool) error {
	bad := &answer.InvalidError{Details: c.unfit}
	p := products[name]
	allowed := p.forms
	if search {
		allowed = slices.Concat(p.forms, p.searchForms)
	}
	switch {
	case c.form == "", c.form == formParsedHTML, p.forms == nil, slices.Contains(allowed, c.form):
	case isParsed(c.form) && slices.Contains(p.searchForms, c.form):
		bad.Add("data_format: %s is for search pages", c.form)
	default:
		bad.Add("data_format: a zone of product %s takes %s", name, strings.Join(allowed, ", "))
	}
	if (p.behaviour == rendering || c.render || c.form == formScreenshot) && c.method != "GET" {
		bad.Add("method must be GET where the page is rendered")
	}
	if len(bad.Details) > 0 {
		return bad
	}
	return nil
}
