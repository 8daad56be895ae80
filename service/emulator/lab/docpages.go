package lab

import (
	"fmt"
	"hash/fnv"
	"html"
	"net/http"
	"strings"
)

// documentList links to every document, by category.
func (s *site) documentList(w http.ResponseWriter, _ *http.Request) {
	type section struct {
		Category string
		Articles []article
	}
	var out []section
	for _, a := range s.index().articles {
		if n := len(out); n == 0 || out[n-1].Category != a.Category {
			out = append(out, section{Category: a.Category})
		}
		last := &out[len(out)-1]
		last.Articles = append(last.Articles, a)
	}
	show(w, http.StatusOK, "documents", out)
}

// documentPage is an article as news sites show one: with a description, an author, a
// date, facts, links to its neighbours, and a reading time that only a script writes.
func (s *site) documentPage(w http.ResponseWriter, r *http.Request) {
	x := s.index()
	i, found := x.bySlug[r.PathValue("slug")]
	if !found {
		notFound(w, r)
		return
	}
	var neighbours []article
	for _, n := range [...]int{i - 1, i + 1, (i + 40) % len(x.articles)} {
		if n >= 0 && n < len(x.articles) {
			neighbours = append(neighbours, x.articles[n])
		}
	}
	show(w, http.StatusOK, "document", struct {
		*article
		Neighbours []article
	}{&x.articles[i], neighbours})
}

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
		h.Sum32()%360, html.EscapeString(x.articles[i].Title[:1]))
}
