package lab

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zonedeck/service/emulator/answer"
)

const (
	perPage      = 10
	perImagePage = 20
	maxAds       = 2
	maxQuestions = 4
	maxRelated   = 8
	maxCarousel  = 3
	// maxPages bounds the numbered pages that are linked.
	maxPages = 10
)

// query is how a search address is read. The engines name the same things differently:
// google q, start, hl, gl, tbm, udm; bing q, first (from 1), setLang, cc; yandex text, p
// (pages from 0), lang; duckduckgo q, s, kl.
type query struct {
	engine, text      string
	start             int
	language, country string
	vertical          string // "", nws, isch, vid, shop, lcl
	scheme, host      string
}

func readQuery(r *http.Request) query {
	v := r.URL.Query()
	q := query{engine: "google", scheme: "http", host: r.Host}
	if r.TLS != nil {
		q.scheme = "https"
	}
	switch e := v.Get("engine"); e {
	case "bing":
		q.engine, q.text = e, v.Get("q")
		q.start = max(number(v.Get("first"))-1, 0)
		q.language, q.country = v.Get("setLang"), v.Get("cc")
		if c, _, ok := strings.Cut(v.Get("mkt"), "-"); ok && q.language == "" {
			q.language = c
		}
	case "duckduckgo":
		q.engine, q.text, q.start = e, v.Get("q"), number(v.Get("s"))
		// A region and a language: us-en.
		country, language, _ := strings.Cut(v.Get("kl"), "-")
		q.country, q.language = country, language
	case "yandex":
		q.engine, q.text = e, orElse(v.Get("text"), v.Get("q"))
		q.start = number(v.Get("p")) * perPage
		q.language = v.Get("lang")
	default:
		q.text, q.start = v.Get("q"), number(v.Get("start"))
		q.language, q.country = v.Get("hl"), v.Get("gl")
		q.vertical = verticalOf(v)
	}
	q.text = strings.TrimSpace(repeatable(q.text))
	q.language, q.country = twoLetters(q.language), twoLetters(q.country)
	return q
}

// maxQueryBytes bounds what of a query is repeated on the page.
const maxQueryBytes = 256

// repeatable is what a page repeats of a query.
func repeatable(s string) string {
	return answer.Cut(strings.ToValidUTF8(s, "\uFFFD"), maxQueryBytes)
}

// maxStart bounds the offset; beyond it there is nothing, whatever is asked.
const maxStart = 100_000

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxStart)
}

func twoLetters(s string) string {
	s = strings.ToLower(s)
	if len(s) < 2 || s[0] < 'a' || s[0] > 'z' || s[1] < 'a' || s[1] > 'z' {
		return ""
	}
	return s[:2]
}

func verticalOf(v url.Values) string {
	switch t := v.Get("tbm"); t {
	case "nws", "isch", "vid", "shop", "lcl":
		return t
	}
	switch v.Get("udm") {
	case "2":
		return "isch"
	case "28":
		return "shop"
	case "39":
		return "vid"
	}
	return ""
}

// address is the search for another text, page or vertical.
func (q query) address(text string, start int, vertical string) string {
	var pairs [][2]string
	switch q.engine {
	case "bing":
		pairs = [][2]string{{"engine", q.engine}, {"q", text}, {"setLang", q.language}, {"cc", q.country}}
		if start > 0 {
			pairs = append(pairs, [2]string{"first", strconv.Itoa(start + 1)})
		}
	case "duckduckgo":
		pairs = [][2]string{{"engine", q.engine}, {"q", text}}
		if q.country != "" && q.language != "" {
			pairs = append(pairs, [2]string{"kl", q.country + "-" + q.language})
		}
		if start > 0 {
			pairs = append(pairs, [2]string{"s", strconv.Itoa(start)})
		}
	case "yandex":
		pairs = [][2]string{{"engine", q.engine}, {"text", text}, {"lang", q.language}}
		if start > 0 {
			pairs = append(pairs, [2]string{"p", strconv.Itoa(start / perPage)})
		}
	default:
		pairs = [][2]string{{"q", text}, {"hl", q.language}, {"gl", q.country}, {"tbm", vertical}}
		if start > 0 {
			pairs = append(pairs, [2]string{"start", strconv.Itoa(start)})
		}
	}
	var b strings.Builder
	b.WriteString("/search")
	sep := byte('?')
	for _, p := range pairs {
		if p[1] != "" {
			b.WriteByte(sep)
			b.WriteString(p[0] + "=" + url.QueryEscape(p[1]))
			sep = '&'
		}
	}
	return b.String()
}

func (q query) absolute(path string) string { return q.scheme + "://" + q.host + path }

// hits is one page of what was found.
type hits struct {
	all  []int // positions of articles, best first
	page []int
	next int // offset of the next page, 0 where there is none
	size int
}

func (s *site) lookUp(q query) hits {
	x := s.index()
	h := hits{size: perPage}
	var keep func(*article) bool
	switch q.vertical {
	case "nws":
		keep = func(a *article) bool { return a.Category == "news" }
	case "vid":
		keep = func(a *article) bool { return a.Category == "videos" }
	case "lcl":
		keep = func(a *article) bool { return a.Category == "places" }
	case "shop":
		keep = func(a *article) bool { return a.Category == "reviews" } // one for each product
	case "isch":
		h.size = perImagePage
	}
	h.all = x.find(q.text, keep)
	if q.start < len(h.all) {
		end := min(q.start+h.size, len(h.all))
		h.page = h.all[q.start:end]
		if end < len(h.all) {
			h.next = end
		}
	}
	return h
}

// labels are the words of the results page.
type labels struct{ results, none, ask, related, next, ad string }

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
	mux.HandleFunc("/search", s.search)
	mux.HandleFunc("/docs/{$}", s.documentList)
	mux.HandleFunc("/docs/{slug}", s.documentPage)
	mux.HandleFunc("/img/{name}", s.image)
}

func (s *site) search(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r)
	p := &resultsPage{q: q, x: s.index(), say: labelsOf(q.language)}
	title := q.text + " - Lab search"
	if q.text == "" {
		title = "Lab search"
	} else {
		p.hits = s.lookUp(q)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!doctype html>\n<html lang=\"" + orElse(q.language, "en") + "\">\n<head><meta charset=\"utf-8\"><title>" +
		html.EscapeString(title) + "</title></head>\n" + p.render() + "</html>\n"))
}

// related gives other queries that find something: topics of the best hits, with the
// words that go with their kind.
func (p *resultsPage) related() []string {
	var out []string
	add := func(s string) {
		if !strings.EqualFold(s, p.q.text) && !slices.Contains(out, s) && len(out) < maxRelated {
			out = append(out, s)
		}
	}
	for _, i := range p.hits.all[:min(len(p.hits.all), perPage)] {
		a := &p.x.articles[i]
		add(a.topic)
		switch a.Category {
		case "guides", "care", "reviews":
			add(a.topic + " care")
			add(a.topic + " review")
		case "recipes":
			add(a.topic + " recipe")
		case "places":
			add(a.topic + " hours")
		}
	}
	return out
}

// panel is the article that a knowledge panel is about: a product or a place whose
// whole name is asked for.
func (p *resultsPage) panel() *article {
	asked := words(p.q.text)
	for _, i := range p.hits.all[:min(len(p.hits.all), perPage)] {
		a := &p.x.articles[i]
		if a.Category != "places" && a.Category != "guides" {
			continue
		}
		missing := slices.ContainsFunc(words(a.topic), func(w string) bool {
			return !stopWord(w) && !slices.ContainsFunc(asked, func(x string) bool { return stem(x) == stem(w) })
		})
		if !missing {
			return a
		}
	}
	return nil
}
