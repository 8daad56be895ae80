package lab

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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
