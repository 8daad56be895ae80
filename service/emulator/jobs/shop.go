package jobs

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/PuerkitoBio/goquery"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/page"
	"zonedeck/service/emulator/serp"
)

func productsDataset(address Field) Dataset {
	return Dataset{
		ID: "gd_products", Name: "Lab shop: products", Domain: "lab.test", Category: "scraper", Description: "the products of the lab's shop",
		Fields: []Field{
			{Name: "url", Type: typeURL, Description: "the product's page"},
			{Name: "name", Type: typeText, Description: "its name"},
			{Name: "price", Type: typeNumber, Description: "in units of the currency"},
			{Name: "currency", Type: typeText, Description: "ISO 4217"},
			{Name: "sku", Type: typeText, Description: "the shop's number of it"},
			{Name: "in_stock", Type: typeBoolean, Description: "whether it can be had"},
		},
		Inputs: []Field{address},
		Discoveries: []Discovery{
			{
				By: "keyword", collect: byKeyword,
				Inputs: []Field{{Name: "keyword", Type: typeText, Description: "what to search the shop for", Required: true, Example: "lamp"}},
			},
			{
				By: "category_url", collect: byCategory,
				Inputs: []Field{{Name: "url", Type: typeURL, Description: "a category of the shop", Required: true, Example: "http://lab.test/shop/category/kitchen"}},
			},
			{
				By: "best_sellers_url", collect: byBestSellers,
				Inputs: []Field{{Name: "category_url", Type: typeURL, Description: "a page that lists best sellers", Required: true, Example: "http://lab.test/shop"}},
			},
		},
		collect: extract(products),
	}
}

func reviewsDataset(address Field) Dataset {
	return Dataset{
		ID: "gd_reviews", Name: "Lab shop: reviews", Domain: "lab.test", Category: "scraper", Description: "the reviews on a product's page",
		Fields: []Field{
			{Name: "url", Type: typeURL, Description: "the page"},
			{Name: "product", Type: typeText, Description: "the product's name"},
			{Name: "author", Type: typeText, Description: "who wrote it"},
			{Name: "rating", Type: typeNumber, Description: "of 5"},
			{Name: "text", Type: typeText, Description: "the review"},
		},
		Inputs: []Field{address}, Discoveries: []Discovery{},
		collect: extract(reviews),
	}
}

func pagesDataset(address Field) Dataset {
	return Dataset{
		ID: "gd_pages", Name: "Any page", Category: "scraper", Description: "title and text of a page, whatever its status",
		Fields: []Field{
			{Name: "url", Type: typeURL, Description: "the page"},
			{Name: "title", Type: typeText, Description: "its title"},
			{Name: "text", Type: typeText, Description: "its text on one line"},
			{Name: "status", Type: typeNumber, Description: "HTTP status"},
		},
		Inputs: []Field{address}, Discoveries: []Discovery{},
		collect: collectPage,
	}
}

type extractor func(Page, *goquery.Selection) []record

// extract collects the page that an input names.
func extract(ex extractor) collector {
	return func(ctx context.Context, v *visit) error { return v.extract(ctx, v.text("url"), ex) }
}

func (v *visit) extract(ctx context.Context, url string, ex extractor) error {
	p, err := v.page(ctx, url)
	if err != nil {
		return err
	}
	return v.records(p, ex)
}

// records keeps what an extractor finds on a page.
func (v *visit) records(p Page, ex extractor) error {
	doc, err := parse(p)
	if err != nil {
		return err
	}
	for _, r := range ex(p, doc) {
		if !v.record(r) {
			break
		}
	}
	return nil
}

func parse(p Page) (*goquery.Selection, error) {
	doc, err := page.Parse(p.Body)
	if err != nil {
		return nil, &FetchError{codeFailed, "The page cannot be read"}
	}
	return goquery.NewDocumentFromNode(doc).Selection, nil
}

// collectPage takes a page of any status.
func collectPage(ctx context.Context, v *visit) error {
	p, err := v.get(ctx, v.text("url"))
	if err != nil {
		return err
	}
	return v.records(p, pages)
}

func pages(p Page, doc *goquery.Selection) []record {
	r := record{"url": p.URL, "status": p.Status, "title": text(doc, "title")}
	if t := text(doc, "body"); t != "" {
		r["text"] = t
	}
	return []record{r}
}

// price is compiled when the first shop is read: no command should pay for it at its
// start.
var price = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([$€£])\s*([0-9]+(?:\.[0-9]{1,2})?)$`)
})

// products reads every product box of a page. Fields that the markup holds elsewhere are
// null: that is how drift looks from outside (service.md 7).
func products(p Page, doc *goquery.Selection) []record {
	var out []record
	for _, box := range doc.Find(`[data-product]:not([data-product=""])`).EachIter() {
		if len(out) == maxInputRecords {
			break
		}
		r := record{"name": text(box, ".name"), "sku": text(box, ".sku")}
		r["url"] = resolve(p.URL, box.Find(".name").First().Find("a").AttrOr("href", ""))
		if t, ok := text(box, ".price").(string); ok {
			if m := price().FindStringSubmatch(t); m != nil {
				r["price"] = json.Number(m[2])
				r["currency"] = map[string]string{"$": "USD", "€": "EUR", "£": "GBP"}[m[1]]
			}
		}
		if t, ok := text(box, ".stock").(string); ok {
			r["in_stock"] = strings.EqualFold(t, "in stock")
		}
		out = append(out, r)
	}
	return out
}

func reviews(p Page, doc *goquery.Selection) []record {
	product := text(doc, ".name")
	var out []record
	for _, box := range doc.Find(".review").EachIter() {
		if len(out) == maxInputRecords {
			break
		}
		r := record{"url": p.URL, "product": product, "author": text(box, ".author"), "text": text(box, ".text")}
		if n, err := strconv.Atoi(box.Find(".rating").AttrOr("data-rating", "")); err == nil {
			r["rating"] = n
		}
		out = append(out, r)
	}
	return out
}

const maxText = 64 << 10

// text is the visible text of the first element that a selector finds, on one line and at
// most maxText bytes; nil when it finds none.
func text(s *goquery.Selection, selector string) any {
	found := s.Find(selector).Nodes
	if len(found) == 0 {
		return nil
	}
	return answer.Cut(strings.Join(strings.Fields(page.TextOf(found[0])), " "), maxText)
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
	found, err := v.productLinks(ctx, list, turn)
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
		if !v.wantsMore() {
			break
		}
	}
	return nil
}

// productLinks gives the addresses of the products on a list, each once, and no more than the
// records that are wanted.
func (v *visit) productLinks(ctx context.Context, list string, turn bool) ([]string, error) {
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

const maxSearchPages = 10

// searchDataset gives the organic results of a search. Results can only be discovered, by
// a keyword.
func searchDataset() Dataset {
	return Dataset{
		ID: "gd_search", Name: "Lab search: results", Domain: "lab.test", Category: "search", Description: "the organic results of the lab's search",
		Fields: []Field{
			{Name: "keyword", Type: typeText, Description: "what was searched for"},
			{Name: "rank", Type: typeNumber, Description: "over all pages, from 1"},
			{Name: "title", Type: typeText, Description: "the result's title"},
			{Name: "link", Type: typeURL, Description: "where it leads"},
			{Name: "description", Type: typeText, Description: "its snippet"},
		},
		Inputs: []Field{},
		Discoveries: []Discovery{{By: "keyword", collect: search, Inputs: []Field{
			{Name: "keyword", Type: typeText, Description: "what to search for", Required: true, Example: "lamp"},
			{Name: "pages", Type: typeNumber, Min: 1, Max: maxSearchPages, Description: "pages of results; 1 when missing"},
		}}},
	}
}

func search(ctx context.Context, v *visit) error {
	rank, from := 0, 0
	for range v.number("pages", 1) {
		q := url.Values{"q": {v.text("keyword")}}
		if from > 0 {
			q.Set("start", strconv.Itoa(from))
		}
		address := v.job.engine.conf.Shop + "/search?" + q.Encode()
		p, err := v.page(ctx, address)
		if err != nil {
			return err
		}
		query, err := serp.Read(address)
		if err != nil {
			return &FetchError{codeFailed, "The search cannot be worded"}
		}
		found, err := serp.Parse(p.Body, query)
		if err != nil {
			return &FetchError{codeFailed, "The page cannot be read"}
		}
		for _, o := range found.Organic {
			rank++
			if !v.record(record{"keyword": v.text("keyword"), "rank": rank, "title": o.Title, "link": o.Link, "description": o.Description}) {
				return nil
			}
		}
		next := found.Pagination.NextPageStart
		if next <= from {
			break
		}
		from = next
	}
	if rank == 0 {
		return &FetchError{codeNoDiscovery, noDiscovery}
	}
	return nil
}
