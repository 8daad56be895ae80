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

// shopPages are the shop. Its addresses: /shop (the first page as it always was),
// /shop?page=N, /shop/category/NAME, /shop/search?q=, /shop/product/SKU, /product/N.
//
// It comes in two markups of the same products. Version 2 is what a target does to a
// scraper without telling it: the product boxes and their names are still there, but
// price and stock moved to other elements (service.md 7, parsing drift).
func (s *site) shopPages(mux *http.ServeMux) {
	mux.HandleFunc("/json", jsonPage)
	mux.HandleFunc("/shop", s.shop)
	mux.HandleFunc("/product/{n}", s.productPage)
	mux.HandleFunc("/shop/product/{sku}", s.productPage)
	mux.HandleFunc("/shop/category/{name}", s.category)
	mux.HandleFunc("/shop/search", s.shopSearch)
}

// drifted reports whether a request gets the changed markup.
func (s *site) drifted(r *http.Request) bool { return r.URL.Query().Get("v") == "2" || s.Drifted(r) }

func (s *site) shop(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("page") {
		s.shelf(w, r, "The lab's shop", catalog())
		return
	}
	var b strings.Builder
	b.WriteString("<h1>The lab's shop</h1>\n")
	writeProducts(&b, catalog()[:Products], s.drifted(r))
	page(w, http.StatusOK, "The lab's shop", b.String())
}

func (s *site) category(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if !slices.Contains(categories(), name) {
		page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The shop has no such category.</p>\n")
		return
	}
	s.shelf(w, r, capital(name), slices.DeleteFunc(catalog(), func(p product) bool { return p.category != name }))
}

// shopSearch finds products that have every word of the query in their name or
// category.
func (s *site) shopSearch(w http.ResponseWriter, r *http.Request) {
	q := repeatable(r.URL.Query().Get("q"))
	asked := words(q)
	found := slices.DeleteFunc(catalog(), func(p product) bool {
		has := words(p.name + " " + p.category)
		return len(asked) == 0 || slices.ContainsFunc(asked, func(w string) bool {
			return !slices.ContainsFunc(has, func(h string) bool { return stem(h) == stem(w) })
		})
	})
	s.shelf(w, r, "Search: "+q, found)
}

// shelf is one page of products, with the way to the others.
func (s *site) shelf(w http.ResponseWriter, r *http.Request, title string, products []product) {
	n := max(number(r.URL.Query().Get("page")), 1)
	pages := max((len(products)+shopPage-1)/shopPage, 1)
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>%s</h1>\n<p class=\"count\">%d products, page %d of %d</p>\n<nav class=\"categories\">", esc(title), len(products), n, pages)
	for _, c := range categories() {
		fmt.Fprintf(&b, "<a href=\"/shop/category/%s\">%s</a> ", c, c)
	}
	b.WriteString("</nav>\n")
	from := min((n-1)*shopPage, len(products))
	writeProducts(&b, products[from:min(from+shopPage, len(products))], s.drifted(r))
	if n < pages {
		v := url.Values{"page": {strconv.Itoa(n + 1)}}
		for _, keep := range [...]string{"q", "v"} {
			if x := r.URL.Query().Get(keep); x != "" {
				v.Set(keep, x)
			}
		}
		fmt.Fprintf(&b, "<a class=\"next\" rel=\"next\" href=\"%s?%s\">Next page</a>\n", esc(r.URL.EscapedPath()), esc(v.Encode()))
	}
	page(w, http.StatusOK, title, b.String())
}

func writeProducts(b *strings.Builder, products []product, v2 bool) {
	b.WriteString("<ul class=\"products\">\n")
	for _, p := range products {
		b.WriteString("<li>")
		writeProduct(b, p, v2)
		b.WriteString("</li>\n")
	}
	b.WriteString("</ul>\n")
}

func (s *site) productPage(w http.ResponseWriter, r *http.Request) {
	p, found := productBySKU(r.PathValue("sku"))
	if n, err := strconv.Atoi(r.PathValue("n")); err == nil {
		p, found = productAt(n)
	}
	if !found {
		page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The shop has no such product.</p>\n")
		return
	}
	var b strings.Builder
	writeProduct(&b, p, s.drifted(r))
	b.WriteString("<section class=\"reviews\">\n")
	for _, rv := range p.reviews() {
		fmt.Fprintf(&b, "<div class=\"review\"><b class=\"author\">%s</b> <span class=\"rating\" data-rating=\"%d\">%d of 5</span><p class=\"text\">%s</p></div>\n",
			rv.author, rv.rating, rv.rating, rv.text)
	}
	b.WriteString("</section>\n")
	if r.PathValue("sku") != "" {
		fmt.Fprintf(&b, "<p>More in <a class=\"category\" href=\"/shop/category/%[1]s\">%[1]s</a></p>\n", p.category)
	}
	page(w, http.StatusOK, p.name, b.String())
}

func writeProduct(b *strings.Builder, p product, v2 bool) {
	id, link, as := strconv.Itoa(p.n), "/product/"+strconv.Itoa(p.n), "?v=2"
	if p.variant != "" {
		id, link = p.sku, "/shop/product/"+p.sku
	}
	if v2 {
		fmt.Fprintf(b, `<article class="card" data-product="%s"><h2 class="name"><a href="%s%s">%s</a></h2>`+
			`<div class="buy"><em>%d</em><sup>%02d</sup></div><i class="icon icon-%s"></i><small class="sku">%s</small></article>`,
			id, link, as, p.name, p.cents/100, p.cents%100, map[bool]string{true: "check", false: "cross"}[p.stock > 0], p.sku)
		return
	}
	fmt.Fprintf(b, `<div class="product" data-product="%s"><h2 class="name"><a href="%s">%s</a></h2>`+
		`<span class="price">%s</span> <span class="stock">%s</span> <small class="sku">%s</small></div>`,
		id, link, p.name, p.price(), p.availability(), p.sku)
}
