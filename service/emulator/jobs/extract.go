package jobs

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Dataset is a ready-made extraction.
type Dataset struct {
	ID, Name string
	// Fields are the columns of its records, in order.
	Fields []string
}

type dataset struct {
	Dataset
	// extract gives the records of a page as field to value; nil values are fields
	// that the page does not have where they are looked for.
	extract func(Page, *html.Node) []record
	// anyStatus takes error pages, too.
	anyStatus bool
}

type record map[string]any

// Datasets lists what a job can be started for. The ids are the emulator's own.
func Datasets() []Dataset {
	var out []Dataset
	for _, d := range datasets() {
		out = append(out, d.Dataset)
	}
	return out
}

func datasets() []dataset {
	return []dataset{
		{Dataset{"gd_products", "Lab shop: products", []string{"url", "name", "price", "currency", "sku", "in_stock"}}, products, false},
		{Dataset{"gd_reviews", "Lab shop: reviews", []string{"url", "product", "author", "rating", "text"}}, reviews, false},
		{Dataset{"gd_pages", "Any page", []string{"url", "title", "text", "status"}}, pages, true},
	}
}

func datasetOf(id string) (dataset, bool) {
	all := datasets()
	i := slices.IndexFunc(all, func(d dataset) bool { return d.ID == id })
	if i < 0 {
		return dataset{}, false
	}
	return all[i], true
}

// extract turns a page into encoded records with the dataset's fields in order.
func (j *job) extract(p Page) ([]json.RawMessage, error) {
	d, _ := datasetOf(j.shape.dataset)
	if !d.anyStatus {
		if err := pageError(p); err != nil {
			return nil, err
		}
	}
	// The HTML5 parser takes any bytes; it fails only when its reader does.
	doc, err := html.Parse(bytes.NewReader(p.Body))
	if err != nil {
		return nil, err
	}
	recs := d.extract(p, doc)
	if len(recs) == 0 {
		return nil, &FetchError{"no_records", "No data found on the page"}
	}
	if n := j.shape.limit; n > 0 && len(recs) > n {
		recs = recs[:n]
	}
	fields := d.Fields
	if len(j.shape.fields) > 0 {
		fields = slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return !slices.Contains(j.shape.fields, f) })
	}
	out := make([]json.RawMessage, len(recs))
	for i, r := range recs {
		if out[i], err = r.encode(fields); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r record) encode(fields []string) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		v, err := json.Marshal(r[f])
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(f) + ":")
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// pageError is the error record of a page that is not the one that was asked for.
func pageError(p Page) error {
	switch {
	case p.Status == http.StatusNotFound || p.Status == http.StatusGone:
		return &FetchError{"dead_page", "Page not found (" + strconv.Itoa(p.Status) + ")"}
	case p.Status < 200 || p.Status > 299:
		return &FetchError{"http_status", "The page answered " + strconv.Itoa(p.Status)}
	case len(bytes.TrimSpace(p.Body)) == 0:
		return &FetchError{"empty_page", "The page has no content"}
	case bytes.Contains(p.Body, []byte("g-recaptcha")):
		return &FetchError{"captcha", "The page is a CAPTCHA"}
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

var price = regexp.MustCompile(`^([$€£])\s*([0-9]+(?:\.[0-9]{1,2})?)$`)

// products reads every product box of a page. What moved elsewhere in the markup
// comes out as null: that is how drift looks from outside (service.md 7).
func products(p Page, doc *html.Node) []record {
	var out []record
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || attr(n, "data-product") == "" {
			continue
		}
		r := record{"url": p.URL}
		if name := byClass(n, "name"); name != nil {
			r["name"] = text(name)
			if a := find(name, func(n *html.Node) bool { return n.DataAtom == atom.A }); a != nil {
				r["url"] = resolve(p.URL, attr(a, "href"))
			}
		}
		if c := byClass(n, "price"); c != nil {
			if m := price.FindStringSubmatch(text(c)); m != nil {
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
