package lab

import (
	"bytes"
	_ "embed" // of the documents
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Base is the site's address as clients of the emulator write it.
const Base = "http://lab.test"

// Document is a page of the site that can be searched.
type Document struct {
	URL, Title, Description string
	// Text is the article's text, paragraphs apart by an empty line.
	Text string
	// Category is one of guides, care, reviews, recipes, docs, news, places, videos.
	Category  string
	Published time.Time // midnight UTC
	// Facts are what the article says of its subject, by a name in lower case: "price",
	// "main ingredient". All of them can be read on the article's page, or stand beside it
	// in the search results.
	Facts map[string]string
}

// Documents lists every document of the site, the same at every call. They are the pages
// under /docs/, and what /search finds.
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
	// Topic is what it is about, in lower case: "brass desk lamp".
	Topic            string
	Question, Answer string
	// Source is who published it: a site's name, a channel.
	Source string
	// Shown are the facts on its page.
	Shown []fact
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
	if p, ok := productOf(a.Topic); ok {
		return &p
	}
	return nil
}

// documents are the articles, one JSON object a line.
//
//go:embed documents.ndjson
var documents []byte

// articles reads them all; it takes a millisecond or two.
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
		for _, f := range a.Shown {
			a.Facts[strings.ToLower(f.Name)] = f.Value
		}
		if a.Rating > 0 {
			a.Facts["rating"] = stars(a.Rating)
		}
		out = append(out, a)
	}
	return out
}

// words gives the lower-case words of a text: runs of letters and digits.
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
