package fetch

import (
	"fmt"
	"slices"
	"strings"

	"zonedeck/service/emulator/answer"
)

// What a product does with a page. Everything else is a plain fetch by an exit: the
// proxy networks, and the products whose work has endpoints of its own (scrapers, data
// feeds, discovery, deep lookup, agent access).
type behaviour int

const (
	plain     behaviour = iota
	unlocking           // unlocker, SERP, crawl: redirects followed, blocks got past
	rendering           // browser: the page as Chromium has it after its scripts
)

func behaviourOf(product string) behaviour {
	switch product {
	case "unlocker", "serp", "crawl":
		return unlocking
	case "browser":
		return rendering
	default:
		return plain
	}
}

func isNetwork(product string) bool {
	switch product {
	case "datacenter", "isp", "residential", "mobile":
		return true
	default:
		return false
	}
}

// Forms of a page beyond the target's own bytes (data_format, x-unblock-data-format,
// brd_json).
const (
	formMarkdown   = "markdown"
	formScreenshot = "screenshot"
	formHTML       = "html"
	formLight      = "parsed_light"
	formBing       = "parsed_bing"
	formParsed     = "json"      // brd_json=1: the whole result page as JSON
	formParsedHTML = "json+html" // brd_json=html: the same with the page's HTML inside
)

// forms are the values that data_format can have for a product. A parsed form wants
// a search page.
func forms(product string, searchPage bool) []string {
	var out []string
	switch product {
	case "unlocker":
		out = []string{formMarkdown, formScreenshot}
		if searchPage { // an unlocker zone serves search pages, too (public documentation)
			out = append(out, formLight, formBing, formHTML, formParsed)
		}
	case "serp":
		out = []string{formMarkdown, formScreenshot, formHTML}
		if searchPage {
			out = append(out, formLight, formBing, formParsed)
		}
	case "browser":
		out = []string{formMarkdown, formScreenshot, formHTML}
	case "crawl":
		out = []string{formMarkdown, formHTML}
	}
	return out
}

func isParsed(form string) bool {
	switch form {
	case formLight, formBing, formParsed, formParsedHTML:
		return true
	default:
		return false
	}
}

// meaning says where a field has a meaning, for the text of its refusal; ok is whether
// the product gives it one. Which product takes which field is public documentation;
// that headers and body reach the target on every network is an assumption.
func meaning(product, field string) (where string, ok bool) {
	switch field {
	case "data_format":
		return "unlocker, SERP, browser and crawl zones", forms(product, false) != nil
	case "render":
		return "unlocker and browser zones", product == "unlocker" || product == "browser"
	case "body":
		return "zones other than SERP and browser", product != "serp" && product != "browser"
	case "state", "city", "zip", "ASN", "gip":
		return "residential and mobile zones", product == "residential" || product == "mobile"
	case "os":
		return "residential zones", product == "residential"
	case "carrier":
		return "mobile zones", product == "mobile"
	case "ip":
		return "datacenter and ISP zones", product == "datacenter" || product == "isp"
	case "dns", "direct":
		return "zones of the proxy networks", isNetwork(product)
	case "x-unblock-expect", "x-unblock-city", "x-unblock-zipcode":
		return "unlocker zones", product == "unlocker"
	case "x-unblock-data-format":
		return "unlocker and SERP zones", product == "unlocker" || product == "serp"
	default:
		return "", true
	}
}

// fits holds a call to what the zone's product gives a meaning to. In a loose service
// what means nothing is left out and noted; the error is an [*answer.InvalidError].
func (c *call) fits(product string, search bool, loose bool) error {
	bad := &answer.InvalidError{}
	for _, field := range c.given {
		where, ok := meaning(product, field)
		switch {
		case ok:
		case loose && c.drop(field):
			c.notes = append(c.notes, field+" is ignored: it is for "+where)
		case strings.HasPrefix(field, "x-unblock-"):
			bad.Add("headers: %s is for %s", field, where)
		default:
			bad.Add("%s is for %s", field, where)
		}
	}
	if c.form != "" && !isParsed(c.form) || c.form == formLight || c.form == formBing || c.form == formParsed {
		if allowed := forms(product, search); allowed != nil && !slices.Contains(allowed, c.form) {
			bad.Add("data_format: %s", wrongForm(product, c.form, allowed))
		}
	}
	if (behaviourOf(product) == rendering || c.render || c.form == formScreenshot) && c.method != "GET" {
		bad.Add("method must be GET where the page is rendered")
	}
	if len(bad.Details) > 0 {
		return bad
	}
	return nil
}

func wrongForm(product, form string, allowed []string) string {
	if isParsed(form) && slices.Contains(forms(product, true), form) {
		return form + " is for search pages"
	}
	return fmt.Sprintf("a zone of product %s takes %s", product, strings.Join(allowed, ", "))
}

// drop takes back a field that means nothing to the product; false where it cannot.
func (c *call) drop(field string) bool {
	if dst := c.text(field); dst != nil {
		*dst = ""
		return true
	}
	switch field {
	case "data_format", "x-unblock-data-format":
		c.form = ""
	case "render":
		c.render = false
	case "body":
		c.body = nil
	case "direct":
		c.flags.Direct = false
	case "x-unblock-expect":
		c.expect = expectation{}
	case "x-unblock-city":
		c.city = ""
	case "x-unblock-zipcode":
		c.zipcode = ""
	default:
		return false
	}
	return true
}
