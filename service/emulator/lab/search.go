package lab

import (
	"net/http"
	"strconv"
	"strings"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/serp"
)

// query is a search as its address says it, and where the address points.
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

// Absolute is the beginning of the site's addresses as the visitor wrote them.
func (q query) Absolute() string { return q.Scheme + "://" + q.Host }

// maxQueryBytes bounds what of a query is repeated on the page.
const maxQueryBytes = 256

// repeatable is what a page repeats of a query.
func repeatable(s string) string {
	return answer.Cut(strings.ToValidUTF8(s, "\uFFFD"), maxQueryBytes)
}

// maxNumber bounds the numbers of pages; beyond it there is nothing, whatever is asked.
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

// labels are the words of the results page.
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
