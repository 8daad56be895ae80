package lab

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// shopPage is how many products a numbered page has.
const shopPage = 12

// shopPages are the shop. Its addresses: /shop (the first page), /shop?page=N,
// /shop/category/NAME, /shop/search?q=, /shop/product/SKU, /product/N.
//
// It has two versions of its markup. Version 2 is parsing drift (service.md 7): the product boxes
// and their names are unchanged, but price and stock have moved to other elements.
func (s *site) shopPages(mux *http.ServeMux) {
	mux.HandleFunc("/json", jsonPage)
	mux.HandleFunc("/shop", s.shop)
	mux.HandleFunc("/product/{n}", s.productPage)
	mux.HandleFunc("/shop/product/{sku}", s.productPage)
	mux.HandleFunc("/shop/category/{name}", s.category)
	mux.HandleFunc("/shop/search", s.shopSearch)
}

func (s *site) drifted(r *http.Request) bool { return r.URL.Query().Get("v") == "2" || s.Drifted(r) }

type shelf struct {
	Title    string
	Products []product
	Drifted  bool
	// Numbered shelves show the number of products, and link to the next page.
	Numbered           bool
	Count, Page, Pages int
	Next               string // the address of the next page, or ""
}

func (s *site) shop(w http.ResponseWriter, r *http.Request) {
	const title = "The lab's shop"
	if r.URL.Query().Has("page") {
		s.shelf(w, r, title, catalog())
		return
	}
	shelf{Title: title, Products: catalog()[:Products], Drifted: s.drifted(r)}.send(w)
}

func (s *site) category(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if !slices.Contains(categories(), name) {
		page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The shop has no such category.</p>\n")
		return
	}
	s.shelf(w, r, capital(name), slices.DeleteFunc(catalog(), func(p product) bool { return p.Category != name }))
}

// shopSearch finds products that have every word of the query in their name or category.
func (s *site) shopSearch(w http.ResponseWriter, r *http.Request) {
	q := repeatable(r.URL.Query().Get("q"))
	asked := words(q)
	found := slices.DeleteFunc(catalog(), func(p product) bool {
		has := words(p.Name + " " + p.Category)
		return len(asked) == 0 || slices.ContainsFunc(asked, func(w string) bool {
			return !slices.ContainsFunc(has, func(h string) bool { return stem(h) == stem(w) })
		})
	})
	s.shelf(w, r, "Search: "+q, found)
}

// shelf shows one page of products, with a link to the next.
func (s *site) shelf(w http.ResponseWriter, r *http.Request, title string, products []product) {
	n, pages := max(number(r.URL.Query().Get("page")), 1), max((len(products)+shopPage-1)/shopPage, 1)
	from := min((n-1)*shopPage, len(products))
	v := shelf{
		Title: title, Products: products[from:min(from+shopPage, len(products))], Drifted: s.drifted(r),
		Numbered: true, Count: len(products), Page: n, Pages: pages,
	}
	if n < pages {
		next := url.Values{"page": {strconv.Itoa(n + 1)}}
		for _, keep := range [...]string{"q", "v"} {
			if x := r.URL.Query().Get(keep); x != "" {
				next.Set(keep, x)
			}
		}
		v.Next = r.URL.EscapedPath() + "?" + next.Encode()
	}
	v.send(w)
}

func (s *site) productPage(w http.ResponseWriter, r *http.Request) {
	sku := r.PathValue("sku")
	p, found := productWhere(func(p product) bool { return p.SKU == sku })
	if n, err := strconv.Atoi(r.PathValue("n")); err == nil {
		p, found = productWhere(func(p product) bool { return p.N == n })
	}
	if !found {
		page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The shop has no such product.</p>\n")
		return
	}
	var m markup
	m.head(p.Name)
	m.product(p, s.drifted(r))
	m.add("<section class=\"reviews\">\n")
	for _, v := range p.Reviews() {
		m.add("<div class=\"review\"><b class=\"author\">%v</b> <span class=\"rating\" data-rating=\"%v\">%v of 5</span><p class=\"text\">%v</p></div>\n", v.Author, v.Rating, v.Rating, v.Text)
	}
	m.add("</section>\n")
	if sku != "" {
		m.add("<p>More in <a class=\"category\" href=\"/shop/category/%v\">%v</a></p>\n", p.Category, p.Category)
	}
	m.foot()
	m.send(w, http.StatusOK)
}

// send answers with the shelf as a page.
func (v shelf) send(w http.ResponseWriter) {
	var m markup
	m.head(v.Title)
	m.add("<h1>%v</h1>\n", v.Title)
	if v.Numbered {
		m.add("<p class=\"count\">%v products, page %v of %v</p>\n<nav class=\"categories\">", v.Count, v.Page, v.Pages)
		for _, c := range categories() {
			m.add(`<a href="/shop/category/%v">%v</a> `, c, c)
		}
		m.add("</nav>\n")
	}
	m.add("<ul class=\"products\">\n")
	for _, p := range v.Products {
		m.add("<li>")
		m.product(p, v.Drifted)
		m.add("</li>\n")
	}
	m.add("</ul>\n")
	if v.Next != "" {
		m.add("<a class=\"next\" rel=\"next\" href=\"%v\">Next page</a>\n", v.Next)
	}
	m.foot()
	m.send(w, http.StatusOK)
}

// product shows a product, in the changed markup if drifted is true.
func (m *markup) product(p product, drifted bool) {
	if !drifted {
		m.add(`<div class="product" data-product="%v"><h2 class="name"><a href="%v">%v</a></h2><span class="price">%v</span> <span class="stock">%v</span> <small class="sku">%v</small></div>`,
			p.ID(), p.Link(), p.Name, p.Price(), p.Availability(), p.SKU)
		return
	}
	icon := "cross"
	if p.Available() {
		icon = "check"
	}
	m.add(`<article class="card" data-product="%v"><h2 class="name"><a href="%v?v=2">%v</a></h2><div class="buy"><em>%v</em><sup>%v</sup></div><i class="icon icon-%v"></i><small class="sku">%v</small></article>`,
		p.ID(), p.Link(), p.Name, p.Dollars(), fmt.Sprintf("%02d", p.Cents%100), icon, p.SKU)
}

type product struct {
	N        int // of the product that it is a variant of
	SKU      string
	Name     string
	variant  string // "" for the product itself
	Category string
	Cents    int
	stock    int
}

type review struct {
	Author string
	Rating int
	Text   string
}

// Products is the number of products on the shop's first page; /product/1 to
// /product/N exist. With its variants the shop has five times as many.
const Products = 12

// variants come after the products, in this order.
const variants = 4

func categories() []string {
	return []string{"lighting", "kitchen", "paper", "outdoor", "home", "workshop"}
}

// catalog is everything in the shop: the products, then their variants.
func catalog() []product {
	out := make([]product, 0, Products*(1+variants))
	for i, p := range [Products]product{
		{Name: "Brass desk lamp", Category: "lighting"},
		{Name: "Walnut tray", Category: "kitchen"},
		{Name: "Linen notebook", Category: "paper"},
		{Name: "Steel water bottle", Category: "outdoor"},
		{Name: "Ceramic pour-over", Category: "kitchen"},
		{Name: "Wool blanket", Category: "home"},
		{Name: "Cork yoga block", Category: "outdoor"},
		{Name: "Enamel camping mug", Category: "outdoor"},
		{Name: "Oak picture frame", Category: "home"},
		{Name: "Copper measuring cup", Category: "kitchen"},
		{Name: "Canvas tool roll", Category: "workshop"},
		{Name: "Glass storage jar", Category: "kitchen"},
	} {
		p.N, p.SKU = i+1, fmt.Sprintf("LAB-%04d", 1007+i*7)
		p.Cents = 1250 + p.N*p.N*175%9000
		p.stock = p.N * 5 % 6 // two of the twelve are sold out
		out = append(out, p)
	}
	for v, name := range [variants]string{"small", "large", "pair", "imperfect"} {
		for _, p := range out[:Products] {
			p.variant = name
			p.SKU += "-" + strings.ToUpper(name[:1])
			p.Name += ", " + name
			p.Cents = p.Cents * [variants]int{80, 130, 190, 60}[v] / 100
			p.stock = (p.stock + v + 1) % 5
			out = append(out, p)
		}
	}
	return out
}

// productWhere finds the first wanted product or variant.
func productWhere(is func(product) bool) (product, bool) {
	all := catalog()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return product{}, false
}

// ID is how the shop's boxes name a product: its number, or the article number of a variant.
func (p product) ID() string {
	if p.variant != "" {
		return p.SKU
	}
	return fmt.Sprint(p.N)
}

// Link is the product's page.
func (p product) Link() string {
	if p.variant != "" {
		return "/shop/product/" + p.SKU
	}
	return fmt.Sprintf("/product/%d", p.N)
}

// Price is the price in dollars, as the page shows it.
func (p product) Price() string { return fmt.Sprintf("$%d.%02d", p.Cents/100, p.Cents%100) }

// Dollars are the price without its cents.
func (p product) Dollars() int { return p.Cents / 100 }

// Available reports whether it is in stock.
func (p product) Available() bool { return p.stock > 0 }

// Availability is the text of Available.
func (p product) Availability() string {
	if p.Available() {
		return "In stock"
	}
	return "Sold out"
}

// Reviews returns two or three reviews.
func (p product) Reviews() []review {
	authors := [...]string{"R. Okafor", "M. Lindqvist", "T. Sato", "A. Moreau"}
	texts := [...]string{
		"Does what it should; the finish is better than the picture.",
		"Arrived quickly, one corner was dented.",
		"Bought a second one for the office.",
		"Smaller than I expected, read the measures first.",
	}
	rs := make([]review, 2+p.N%2)
	for i := range rs {
		rs[i] = review{authors[(p.N+i)%len(authors)], 3 + (p.N+i)%3, texts[(p.N*3+i)%len(texts)]}
	}
	return rs
}
