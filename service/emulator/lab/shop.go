package lab

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

// shelf is a page of products.
type shelf struct {
	Title    string
	Products []product
	Drifted  bool
	// Numbered shelves show how many products there are, and the way to the others.
	Numbered           bool
	Count, Page, Pages int
	Categories         []string
	Next               string
}

func (s *site) shop(w http.ResponseWriter, r *http.Request) {
	const title = "The lab's shop"
	if r.URL.Query().Has("page") {
		s.shelf(w, r, title, catalog())
		return
	}
	show(w, http.StatusOK, "shop", shelf{Title: title, Products: catalog()[:Products], Drifted: s.drifted(r)})
}

func (s *site) category(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if !slices.Contains(categories(), name) {
		page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The shop has no such category.</p>\n")
		return
	}
	s.shelf(w, r, capital(name), slices.DeleteFunc(catalog(), func(p product) bool { return p.Category != name }))
}

// shopSearch finds products that have every word of the query in their name or
// category.
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

// shelf shows one page of products, with the way to the others.
func (s *site) shelf(w http.ResponseWriter, r *http.Request, title string, products []product) {
	n, pages := max(number(r.URL.Query().Get("page")), 1), max((len(products)+shopPage-1)/shopPage, 1)
	from := min((n-1)*shopPage, len(products))
	v := shelf{
		Title: title, Products: products[from:min(from+shopPage, len(products))], Drifted: s.drifted(r),
		Numbered: true, Count: len(products), Page: n, Pages: pages, Categories: categories(),
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
	show(w, http.StatusOK, "shop", v)
}

func (s *site) productPage(w http.ResponseWriter, r *http.Request) {
	sku := r.PathValue("sku")
	p, found := productWhere(func(p product) bool { return p.SKU == sku })
	if n, err := strconv.Atoi(r.PathValue("n")); err == nil {
		p, found = productAt(n)
	}
	if !found {
		page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The shop has no such product.</p>\n")
		return
	}
	show(w, http.StatusOK, "product page", struct {
		Product           product
		Drifted, Category bool
	}{p, s.drifted(r), sku != ""})
}
