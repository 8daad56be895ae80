package lab

import (
	"bytes"
	_ "embed" // of the documents
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Base is the site's address for clients of the emulator.
const Base = "http://lab.test"

// Document is a page of the site that can be searched.
type Document struct {
	URL, Title, Description string
	// Text is the article's text, with an empty line between paragraphs.
	Text string
	// Category is one of guides, care, reviews, recipes, docs, news, places, videos.
	Category  string
	Published time.Time // midnight UTC
	// Facts are facts about the subject, by a name in lower case: "price", "main ingredient". All
	// of them are on the article's page or in its search results.
	Facts map[string]string
}

// Documents lists every document of the site: the pages under /docs/, which /search finds.
func Documents() []Document {
	all := articles()
	out := make([]Document, len(all))
	for i, a := range all {
		out[i] = a.Document
	}
	return out
}

// article is a document with further parts of its page and its search results.
type article struct {
	Document
	Slug string
	// Topic is the subject in lower case: "brass desk lamp".
	Topic            string
	Question, Answer string
	// Source is the publisher: a site's name, a channel.
	Source string
	// PageFacts are the facts on its page.
	PageFacts []fact
	// Coordinates are those of a place.
	Coordinates string
	Rating      float64
	// Length is that of a video, m:ss.
	Length string
}

type fact struct{ Name, Value string }

// Paragraphs are those of the text.
func (a *article) Paragraphs() []string {
	return slices.DeleteFunc(strings.Split(a.Text, "\n\n"), func(p string) bool { return p == "" })
}

// Product is the product of the shop that the article is about, or nil.
func (a *article) Product() *product {
	if p, ok := productWhere(func(p product) bool { return strings.EqualFold(p.Name, a.Topic) }); ok {
		return &p
	}
	return nil
}

// documents are the articles, one JSON object a line.
//
//go:embed documents.ndjson
var documents []byte

// articles reads the documents in a millisecond or two.
func articles() []article {
	var out []article
	for d := json.NewDecoder(bytes.NewReader(documents)); d.More(); {
		var a article
		if err := d.Decode(&a); err != nil {
			panic(err) // the file is part of the program
		}
		a.Slug = strings.Join(words(a.Title), "-")
		a.URL = Base + "/docs/" + a.Slug
		if a.Facts == nil {
			a.Facts = map[string]string{}
		}
		a.Facts["topic"], a.Facts["publisher"] = a.Topic, a.Source
		for _, f := range a.PageFacts {
			a.Facts[strings.ToLower(f.Name)] = f.Value
		}
		if a.Rating > 0 {
			a.Facts["rating"] = stars(a.Rating)
		}
		out = append(out, a)
	}
	return out
}

// words splits a text into its lower-case words: runs of letters and digits.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r <= 127
	})
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func stars(rating float64) string { return strconv.FormatFloat(rating, 'f', 1, 64) }

func (s *site) documentList(w http.ResponseWriter, _ *http.Request) {
	var m markup
	m.head("Documents")
	m.add("<h1>Documents</h1>\n")
	category := ""
	for _, a := range s.index().articles {
		if a.Category != category {
			if category != "" {
				m.add("</ul>\n")
			}
			category = a.Category
			m.add("<h2>%v</h2>\n<ul>\n", capital(category))
		}
		m.links([]link{{"/docs/" + a.Slug, a.Title}})
	}
	m.add("</ul>\n")
	m.foot()
	m.send(w, http.StatusOK)
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
	var m markup
	x.articles[i].write(&m)
	m.add("<ul class=\"neighbours\">\n")
	for _, n := range neighbours {
		m.links([]link{{"/docs/" + n.Slug, n.Title}})
	}
	m.add("</ul>\n" + readingTime)
	m.foot()
	m.send(w, http.StatusOK)
}

// write begins the page of an article, up to what comes after its text.
func (a *article) write(m *markup) {
	m.add("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>%v</title>\n<meta name=\"description\" content=\"%v\">\n", a.Title, a.Description)
	m.add("<meta property=\"article:published_time\" content=\"%v\">\n<link rel=\"canonical\" href=\"%v\">\n</head>\n<body>\n", a.Published.Format("2006-01-02T15:04:05Z"), a.URL)
	m.add("<nav><a href=\"/\">The lab</a> / <a href=\"/docs/\">Documents</a> / %v</nav>\n<article data-category=\"%v\">\n<h1>%v</h1>\n", a.Category, a.Category, a.Title)
	m.add("<p class=\"byline\">%v, <time datetime=\"%v\">%v</time> <span id=\"reading-time\"></span></p>\n", a.Source, a.Published.Format(time.DateOnly), a.Published.Format("2 January 2006"))
	m.add("<img src=\"/img/%v.svg\" alt=\"%v\" width=\"640\" height=\"480\">\n", a.Slug, a.Topic)
	for _, p := range a.Paragraphs() {
		m.add("<p>%v</p>\n", p)
	}
	if len(a.PageFacts) > 0 {
		m.add("<table class=\"facts\">\n")
		for _, f := range a.PageFacts {
			m.add("<tr><th>%v</th><td>%v</td></tr>\n", f.Name, f.Value)
		}
		m.add("</table>\n")
	}
	m.add("</article>\n")
	if p := a.Product(); p != nil {
		m.add("<p><a href=\"/shop/product/%v\">%v in the shop</a></p>\n", p.SKU, p.Name)
	}
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
		h.Sum32()%360, html.EscapeString(x.articles[i].Title[:1]))
}
