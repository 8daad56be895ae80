package lab

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The shop comes in two markups of the same products. Version 2 is what a target
// does to a scraper without telling it: the product boxes and their names are still
// there, but price and stock moved to other elements (service.md 7, parsing drift).
func shop(w http.ResponseWriter, r *http.Request) {
	v2 := r.URL.Query().Get("v") == "2"
	var b strings.Builder
	b.WriteString("<h1>The lab's shop</h1>\n<ul class=\"products\">\n")
	for n := range Products {
		p, _ := productAt(n + 1)
		b.WriteString("<li>")
		writeProduct(&b, p, v2)
		b.WriteString("</li>\n")
	}
	b.WriteString("</ul>\n")
	page(w, http.StatusOK, "The lab's shop", b.String())
}

func productPage(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	p, found := productAt(n)
	if err != nil || !found {
		page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The shop has no such product.</p>\n")
		return
	}
	var b strings.Builder
	writeProduct(&b, p, r.URL.Query().Get("v") == "2")
	b.WriteString("<section class=\"reviews\">\n")
	for _, rv := range p.reviews() {
		fmt.Fprintf(&b, "<div class=\"review\"><b class=\"author\">%s</b> <span class=\"rating\" data-rating=\"%d\">%d of 5</span><p class=\"text\">%s</p></div>\n",
			rv.author, rv.rating, rv.rating, rv.text)
	}
	b.WriteString("</section>\n")
	page(w, http.StatusOK, p.name, b.String())
}

func writeProduct(b *strings.Builder, p product, v2 bool) {
	if v2 {
		fmt.Fprintf(b, `<article class="card" data-product="%d"><h2 class="name"><a href="/product/%d?v=2">%s</a></h2>`+
			`<div class="buy"><em>%d</em><sup>%02d</sup></div><i class="icon icon-%s"></i><small class="sku">%s</small></article>`,
			p.n, p.n, p.name, p.cents/100, p.cents%100, map[bool]string{true: "check", false: "cross"}[p.stock > 0], p.sku)
		return
	}
	fmt.Fprintf(b, `<div class="product" data-product="%d"><h2 class="name"><a href="/product/%d">%s</a></h2>`+
		`<span class="price">%s</span> <span class="stock">%s</span> <small class="sku">%s</small></div>`,
		p.n, p.n, p.name, p.price(), p.availability(), p.sku)
}
