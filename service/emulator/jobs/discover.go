package jobs

import (
	"context"
	"net/url"

	"github.com/PuerkitoBio/goquery"
)

// maxListPages bounds the pages of a list that one discovery reads.
const maxListPages = 50

func byKeyword(ctx context.Context, v *visit) error {
	return v.discover(ctx, v.job.engine.conf.Shop+"/shop/search?q="+url.QueryEscape(v.text("keyword")), true)
}

func byCategory(ctx context.Context, v *visit) error { return v.discover(ctx, v.text("url"), true) }

// byBestSellers reads one page: a list of best sellers has no second.
func byBestSellers(ctx context.Context, v *visit) error {
	return v.discover(ctx, v.text("category_url"), false)
}

// discover finds products on a list of the shop, then collects each from its own page, as
// the public service does. With turn it follows the list to its next pages, until it has
// found as many products as are wanted. A product that fails becomes an error row.
func (v *visit) discover(ctx context.Context, list string, turn bool) error {
	found, err := v.listed(ctx, list, turn)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return &FetchError{codeNoDiscovery, noDiscovery}
	}
	for _, u := range found {
		if err := v.extract(ctx, u, products); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			v.failedPage(u, err)
		}
		if !v.more() {
			break
		}
	}
	return nil
}

// listed gives the addresses of the products on a list, each once, and no more than the
// records that are wanted.
func (v *visit) listed(ctx context.Context, list string, turn bool) ([]string, error) {
	var found []string
	known, read := map[string]bool{}, map[string]bool{list: true}
	for range maxListPages {
		p, err := v.page(ctx, list)
		if err != nil {
			return nil, err
		}
		doc, err := parse(p)
		if err != nil {
			return nil, err
		}
		for _, r := range products(p, doc) {
			if u, ok := r["url"].(string); ok && !known[u] && u != p.URL && len(u) <= maxURLBytes {
				known[u] = true
				found = append(found, u)
			}
			if len(found) == v.limit {
				return found, nil
			}
		}
		next := nextPage(doc, p.URL)
		if !turn || next == "" || read[next] {
			break
		}
		read[next], list = true, next
	}
	return found, nil
}

// nextPage is the address of the list's next page, on the same site, or "".
func nextPage(doc *goquery.Selection, base string) string {
	link := doc.Find("a[rel=next], a.next, link[rel=next], link.next")
	if link.Length() == 0 {
		return ""
	}
	from, err := url.Parse(base)
	if err != nil {
		return ""
	}
	to, err := from.Parse(link.AttrOr("href", ""))
	if err != nil || to.Host != from.Host {
		return ""
	}
	return to.String()
}
