package jobs

import (
	"context"
	"net/url"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"zonedeck/service/emulator/page"
)

// Ways to discover products (public documentation: discover_by).
const (
	byKeyword     = "keyword"
	byCategory    = "category_url"
	byBestSellers = "best_sellers_url"
)

// maxListPages bounds the pages of a listing that one discovery turns.
const maxListPages = 50

// discoverProducts finds products on the shop's lists and then collects each from its
// own page, as the public service does.
func discoverProducts() map[string]func(context.Context, *visit) error {
	return map[string]func(context.Context, *visit) error{
		byKeyword: func(ctx context.Context, v *visit) error {
			return v.discover(ctx, v.job.engine.conf.Shop+"/shop/search?q="+url.QueryEscape(v.text("keyword")), true)
		},
		byCategory: func(ctx context.Context, v *visit) error { return v.discover(ctx, v.text("url"), true) },
		// A list of best sellers is one page, in their order.
		byBestSellers: func(ctx context.Context, v *visit) error { return v.discover(ctx, v.text("category_url"), false) },
	}
}

// discover reads a list, and the pages that follow it where turn is set, until there
// are as many products as are wanted; then it collects them. A product that cannot be
// had becomes an error row.
func (v *visit) discover(ctx context.Context, list string, turn bool) error {
	found, err := v.listed(ctx, list, turn)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return &FetchError{codeNoDiscovery, noDiscovery}
	}
	for _, u := range found {
		if err := v.extract(ctx, u, products, false); err != nil {
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

// listed are the addresses of the products on a list, each once, at most as many as
// records are wanted.
func (v *visit) listed(ctx context.Context, list string, turn bool) ([]string, error) {
	var found []string
	have, seen := map[string]bool{}, map[string]bool{list: true}
	for range maxListPages {
		p, err := v.get(ctx, list)
		if err == nil {
			err = pageError(p)
		}
		if err != nil {
			return nil, err
		}
		doc, err := page.Parse(p.Body)
		if err != nil {
			return nil, &FetchError{codeFailed, "The page cannot be read"}
		}
		for _, r := range products(p, doc) {
			if u, ok := r["url"].(string); ok && !have[u] && u != p.URL && len(u) <= maxURLBytes {
				have[u] = true
				found = append(found, u)
			}
			if len(found) == v.limit {
				return found, nil
			}
		}
		next := nextPage(doc, p.URL)
		if !turn || next == "" || seen[next] {
			break
		}
		seen[next], list = true, next
	}
	return found, nil
}

// nextPage is where a list goes on, on the same site, or "".
func nextPage(doc *html.Node, base string) string {
	n := find(doc, func(n *html.Node) bool {
		return (n.DataAtom == atom.A || n.DataAtom == atom.Link) && (attr(n, "rel") == "next" || hasClass(n, "next"))
	})
	if n == nil {
		return ""
	}
	from, err := url.Parse(base)
	if err != nil {
		return ""
	}
	to, err := from.Parse(attr(n, "href"))
	if err != nil || to.Host != from.Host {
		return ""
	}
	return to.String()
}
