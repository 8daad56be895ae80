package lab

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/serp"
)

// query is the search in an address, with the address's origin.
type query struct {
	serp.Query
	Scheme, Host string
}

func readQuery(r *http.Request) query {
	v := r.URL.Query()
	q := query{serp.Search(serp.Named(v.Get("engine")), v), "http", r.Host}
	if r.TLS != nil {
		q.Scheme = "https"
	}
	q.Text = strings.TrimSpace(repeatable(q.Text))
	q.Language, q.Country = twoLetters(q.Language), twoLetters(q.Country)
	return q
}

// Absolute is the origin of the visitor's request.
func (q query) Absolute() string { return q.Scheme + "://" + q.Host }

// maxQueryBytes bounds the part of a query that a page repeats.
const maxQueryBytes = 256

// repeatable is the part of a query that a page repeats.
func repeatable(s string) string {
	return answer.Cut(strings.ToValidUTF8(s, "\uFFFD"), maxQueryBytes)
}

// maxNumber bounds the numbers in addresses, which no page exceeds.
const maxNumber = 100_000

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxNumber)
}

func twoLetters(s string) string {
	s = strings.ToLower(s)
	if len(s) < 2 || s[0] < 'a' || s[0] > 'z' || s[1] < 'a' || s[1] > 'z' {
		return ""
	}
	return s[:2]
}

type labels struct{ Results, None, Ask, Related, Next, Ad string }

func labelsOf(language string) labels {
	switch language {
	case "de":
		return labels{"Ergebnisse", "Keine Dokumente passen zu", "Ähnliche Fragen", "Ähnliche Suchanfragen", "Weiter", "Anzeige"}
	case "fr":
		return labels{"résultats", "Aucun document ne correspond à", "Autres questions posées", "Recherches associées", "Suivant", "Annonce"}
	case "es":
		return labels{"resultados", "Ningún documento coincide con", "Otras preguntas", "Búsquedas relacionadas", "Siguiente", "Anuncio"}
	default:
		return labels{"results", "No document matches", "People also ask", "Related searches", "Next", "Ad"}
	}
}

func (s *site) searchPages(mux *http.ServeMux) {
	mux.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) {
		s.find(readQuery(r)).send(w)
	})
	mux.HandleFunc("/docs/{$}", s.documentList)
	mux.HandleFunc("/docs/{slug}", s.documentPage)
	mux.HandleFunc("/img/{name}", s.image)
}

// index finds articles by words: those with all words of the query, or else with any of them. A
// rare word counts more than a frequent one, and a title more than the text.
type index struct {
	articles []article
	bySlug   map[string]int
	postings map[string][]posting
}

type posting struct {
	article int
	weight  float64
}

// Weights of a word by its place.
const (
	inTitle       = 8
	inDescription = 3
	inText        = 1
)

func newIndex() *index {
	x := &index{articles: articles(), bySlug: map[string]int{}, postings: map[string][]posting{}}
	for i, a := range x.articles {
		x.bySlug[a.Slug] = i
		weights := map[string]float64{}
		for _, part := range [...]struct {
			text   string
			weight float64
		}{{a.Title, inTitle}, {a.Category, inDescription}, {a.Description, inDescription}, {a.Text, inText}} {
			for _, w := range words(part.text) {
				weights[stem(w)] += part.weight
			}
		}
		for w, weight := range weights {
			x.postings[w] = append(x.postings[w], posting{i, weight})
		}
	}
	return x
}

// stem removes the ending of a plural.
func stem(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

const maxQueryWords = 16

// find returns the positions of the articles that match a query and pass keep, best first.
func (x *index) find(query string, keep func(*article) bool) []int {
	terms := termsOf(query, false)
	if len(terms) == 0 {
		terms = termsOf(query, true)
	}
	score, matched := map[int]float64{}, map[int]int{}
	for _, w := range terms {
		list := x.postings[w]
		idf := math.Log(1 + float64(len(x.articles))/float64(1+len(list)))
		for _, p := range list {
			if keep(&x.articles[p.article]) {
				score[p.article] += idf * p.weight / (p.weight + 4)
				matched[p.article]++
			}
		}
	}
	most := 0
	for _, n := range matched {
		most = max(most, n)
	}
	var out []int
	for i := range score {
		if most < len(terms) || matched[i] == most {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	return out
}

// termsOf returns the different words of a query, and includes stop words if all is true.
func termsOf(query string, all bool) []string {
	var terms []string
	for _, w := range words(query) {
		if w = stem(w); (all || !stopWord(w)) && len(terms) < maxQueryWords && !slices.Contains(terms, w) {
			terms = append(terms, w)
		}
	}
	return terms
}

func stopWord(w string) bool {
	switch w {
	case "a", "an", "and", "are", "at", "by", "do", "doe", "for", "from", "how", "i", "in", "is", "it", "of", "on", "or",
		"the", "thi", "to", "what", "when", "which", "who", "with":
		return true
	}
	return false
}
