package lab

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
)

// documentList links to every document, by category.
func (s *site) documentList(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	b.WriteString("<h1>Documents</h1>\n")
	category := ""
	for _, a := range s.index().articles {
		if a.Category != category {
			if category != "" {
				b.WriteString("</ul>\n")
			}
			category = a.Category
			fmt.Fprintf(&b, "<h2>%s</h2>\n<ul>\n", capital(category))
		}
		fmt.Fprintf(&b, "<li><a href=\"/docs/%s\">%s</a></li>\n", a.slug, esc(a.Title))
	}
	b.WriteString("</ul>\n")
	page(w, http.StatusOK, "Documents", b.String())
}

// documentPage is an article with what such pages carry: a description, an author, a
// date, facts, links to its neighbours, and a reading time that only a script writes.
func (s *site) documentPage(w http.ResponseWriter, r *http.Request) {
	x := s.index()
	i, found := x.bySlug[r.PathValue("slug")]
	if !found {
		notFound(w, r)
		return
	}
	a := &x.articles[i]
	var b strings.Builder
	f := func(format string, v ...any) { fmt.Fprintf(&b, format, v...) }
	f("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>%s</title>\n", esc(a.Title))
	f("<meta name=\"description\" content=\"%s\">\n<meta property=\"article:published_time\" content=\"%s\">\n", esc(a.Description), a.Published.Format("2006-01-02T15:04:05Z"))
	f("<link rel=\"canonical\" href=\"%s\">\n</head>\n<body>\n", esc(a.URL))
	f("<nav><a href=\"/\">The lab</a> / <a href=\"/docs/\">Documents</a> / %s</nav>\n", a.Category)
	f("<article data-category=\"%s\">\n<h1>%s</h1>\n<p class=\"byline\">%s, <time datetime=\"%s\">%s</time> <span id=\"reading-time\"></span></p>\n",
		a.Category, esc(a.Title), esc(a.source), a.Published.Format("2006-01-02"), a.Published.Format("2 January 2006"))
	f("<img src=\"/img/%s.svg\" alt=\"%s\" width=\"640\" height=\"480\">\n", a.slug, esc(a.topic))
	for paragraph := range strings.SplitSeq(a.Text, "\n\n") {
		if paragraph != "" {
			f("<p>%s</p>\n", esc(paragraph))
		}
	}
	if len(a.facts) > 0 {
		b.WriteString("<table class=\"facts\">\n")
		for _, ft := range a.facts {
			f("<tr><th>%s</th><td>%s</td></tr>\n", esc(ft.name), esc(ft.value))
		}
		b.WriteString("</table>\n")
	}
	b.WriteString("</article>\n")
	if p, ok := productOf(a.topic); ok {
		f("<p><a href=\"/shop/product/%s\">%s in the shop</a></p>\n", p.sku, p.name)
	}
	b.WriteString("<ul class=\"neighbours\">\n")
	for _, n := range [...]int{i - 1, i + 1, (i + 40) % len(x.articles)} {
		if n >= 0 && n < len(x.articles) {
			f("<li><a href=\"/docs/%s\">%s</a></li>\n", x.articles[n].slug, esc(x.articles[n].Title))
		}
	}
	b.WriteString("</ul>\n" + readingTime + "</body>\n</html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(b.String()))
}

const readingTime = `<script>
var n = document.querySelector("article").textContent.trim().split(/\s+/).length;
document.getElementById("reading-time").textContent = Math.max(1, Math.round(n / 200)) + " min read";
</script>
`

// image draws a picture for a document: its first letter on its own colour.
func (s *site) image(w http.ResponseWriter, r *http.Request) {
	slug, svg := strings.CutSuffix(r.PathValue("name"), ".svg")
	x := s.index()
	i, found := x.bySlug[slug]
	if !svg || !found {
		notFound(w, r)
		return
	}
	h := fnv.New32a()
	h.Write([]byte(slug))
	w.Header().Set("Content-Type", "image/svg+xml")
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"480\" viewBox=\"0 0 640 480\"><rect width=\"640\" height=\"480\" fill=\"hsl(%d,40%%,60%%)\"/><text x=\"320\" y=\"300\" font-size=\"220\" text-anchor=\"middle\" fill=\"white\">%s</text></svg>\n",
		h.Sum32()%360, esc(x.articles[i].Title[:1]))
}
