package jobs

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"zonedeck/service/emulator/page"
)

func productsDataset(address Field) dataset {
	return dataset{
		Dataset: Dataset{
			ID: "gd_products", Name: "Lab shop: products", Domain: "lab.test", Description: "the products of the lab's shop",
			Fields: []Field{
				{Name: "url", Type: TypeURL, Description: "the product's page"},
				{Name: "name", Type: TypeText, Description: "its name"},
				{Name: "price", Type: TypeNumber, Description: "in units of the currency"},
				{Name: "currency", Type: TypeText, Description: "ISO 4217"},
				{Name: "sku", Type: TypeText, Description: "the shop's number of it"},
				{Name: "in_stock", Type: TypeBoolean, Description: "whether it can be had"},
			},
			Inputs: []Field{address},
			Discoveries: []Discovery{
				{By: byKeyword, Inputs: []Field{{Name: "keyword", Type: TypeText, Description: "what to search the shop for", Required: true}}},
				{By: byCategory, Inputs: []Field{{Name: "url", Type: TypeURL, Description: "a category of the shop", Required: true}}},
				{By: byBestSellers, Inputs: []Field{{Name: "category_url", Type: TypeURL, Description: "a page that lists best sellers", Required: true}}},
			},
		},
		collect:  extract(products),
		discover: discoverProducts(),
	}
}

func reviewsDataset(address Field) dataset {
	return dataset{
		Dataset: Dataset{
			ID: "gd_reviews", Name: "Lab shop: reviews", Domain: "lab.test", Description: "the reviews on a product's page",
			Fields: []Field{
				{Name: "url", Type: TypeURL, Description: "the page"},
				{Name: "product", Type: TypeText, Description: "the product's name"},
				{Name: "author", Type: TypeText, Description: "who wrote it"},
				{Name: "rating", Type: TypeNumber, Description: "of 5"},
				{Name: "text", Type: TypeText, Description: "the review"},
			},
			Inputs: []Field{address},
		},
		collect: extract(reviews),
	}
}

func pagesDataset(address Field) dataset {
	return dataset{
		Dataset: Dataset{
			ID: "gd_pages", Name: "Any page", Description: "title and text of a page, whatever its status",
			Fields: []Field{
				{Name: "url", Type: TypeURL, Description: "the page"},
				{Name: "title", Type: TypeText, Description: "its title"},
				{Name: "text", Type: TypeText, Description: "its text on one line"},
				{Name: "status", Type: TypeNumber, Description: "HTTP status"},
			},
			Inputs: []Field{address},
		},
		collect: func(ctx context.Context, v *visit) error { return v.extract(ctx, v.text("url"), pages, true) },
	}
}

// extractor gives the records of a page.
type extractor func(Page, *html.Node) []record

// extract collects the page that an input names.
func extract(ex extractor) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error { return v.extract(ctx, v.text("url"), ex, false) }
}

func (v *visit) extract(ctx context.Context, url string, ex extractor, anyStatus bool) error {
	p, err := v.get(ctx, url)
	if err != nil {
		return err
	}
	if !anyStatus {
		if err := pageError(p); err != nil {
			return err
		}
	}
	doc, err := page.Parse(p.Body)
	if err != nil {
		return &FetchError{codeFailed, "The page cannot be read"}
	}
	for _, r := range ex(p, doc) {
		if !v.record(r) {
			break
		}
	}
	return nil
}

func pages(p Page, doc *html.Node) []record {
	r := record{"url": p.URL, "status": p.Status}
	if t := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Title }); t != nil {
		r["title"] = text(t)
	}
	if b := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Body }); b != nil {
		if t := text(b); t != "" {
			r["text"] = t
		}
	}
	return []record{r}
}

// price is compiled when the first shop is read: no command should pay for it at its
// start.
var price = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([$€£])\s*([0-9]+(?:\.[0-9]{1,2})?)$`)
})

// products reads every product box of a page. What moved elsewhere in the markup
// comes out as null: that is how drift looks from outside (service.md 7).
func products(p Page, doc *html.Node) []record {
	var out []record
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || attr(n, "data-product") == "" {
			continue
		}
		if len(out) == maxInputRecords {
			break
		}
		r := record{"url": p.URL}
		if name := byClass(n, "name"); name != nil {
			r["name"] = text(name)
			if a := find(name, func(n *html.Node) bool { return n.DataAtom == atom.A }); a != nil {
				r["url"] = resolve(p.URL, attr(a, "href"))
			}
		}
		if c := byClass(n, "price"); c != nil {
			if m := price().FindStringSubmatch(text(c)); m != nil {
				r["price"] = json.Number(m[2])
				r["currency"] = map[string]string{"$": "USD", "€": "EUR", "£": "GBP"}[m[1]]
			}
		}
		if c := byClass(n, "sku"); c != nil {
			r["sku"] = text(c)
		}
		if c := byClass(n, "stock"); c != nil {
			r["in_stock"] = strings.EqualFold(text(c), "in stock")
		}
		out = append(out, r)
	}
	return out
}

func reviews(p Page, doc *html.Node) []record {
	var name any
	if n := byClass(doc, "name"); n != nil {
		name = text(n)
	}
	var out []record
	for n := range doc.Descendants() {
		if !hasClass(n, "review") {
			continue
		}
		if len(out) == maxInputRecords {
			break
		}
		r := record{"url": p.URL, "product": name}
		if c := byClass(n, "author"); c != nil {
			r["author"] = text(c)
		}
		if c := byClass(n, "rating"); c != nil {
			if v, err := strconv.Atoi(attr(c, "data-rating")); err == nil {
				r["rating"] = v
			}
		}
		if c := byClass(n, "text"); c != nil {
			r["text"] = text(c)
		}
		out = append(out, r)
	}
	return out
}

func find(n *html.Node, ok func(*html.Node) bool) *html.Node {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && ok(c) {
			return c
		}
	}
	return nil
}

func byClass(n *html.Node, class string) *html.Node {
	return find(n, func(c *html.Node) bool { return hasClass(c, class) })
}

func hasClass(n *html.Node, class string) bool {
	return n.Type == html.ElementNode && slices.Contains(strings.Fields(attr(n, "class")), class)
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

const maxText = 64 << 10

// text is what a reader sees of a node, with runs of white space as one space, at most
// maxText bytes.
func text(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type != html.TextNode || c.Parent.DataAtom == atom.Script || c.Parent.DataAtom == atom.Style {
			continue
		}
		for _, w := range strings.Fields(c.Data) {
			if b.Len()+len(w)+1 > maxText {
				return b.String()
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
	}
	return b.String()
}

func resolve(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	u, err := b.Parse(ref)
	if err != nil {
		return ref
	}
	return u.String()
}
