package lab

import (
	"slices"
	"strings"
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

// resultsPage is a page of search results, which send draws.
type resultsPage struct {
	query
	Say labels
	x   *index
	all []int // positions of articles, best first
}

// link is an address with its text.
type link struct{ To, Text string }

// hit is an article among the results.
type hit struct {
	*article
	query
}

// Link is the absolute address of the article's page.
func (h hit) Link() string { return h.Absolute() + "/docs/" + h.Slug }

// Picture is the absolute address of its picture.
func (h hit) Picture() string { return h.Absolute() + "/img/" + h.Slug + ".svg" }

// find makes the results of a query.
func (s *site) find(q query) *resultsPage {
	r := &resultsPage{query: q, Say: labelsOf(q.Language), x: s.index()}
	category := map[string]string{"nws": "news", "vid": "videos", "lcl": "places", "shop": "reviews"}[q.Vertical] // one review for each product
	r.all = r.x.find(q.Text, func(a *article) bool { return category == "" || a.Category == category })
	return r
}

func (r *resultsPage) size() int {
	if r.Vertical == "isch" {
		return perImagePage
	}
	return perPage
}

func (r *resultsPage) at(i int) hit { return hit{&r.x.articles[i], r.query} }

// some lists the first n results that are wanted.
func (r *resultsPage) some(n int, wanted func(*article) bool) []hit {
	var out []hit
	for _, i := range r.all {
		if h := r.at(i); len(out) < n && wanted(h.article) {
			out = append(out, h)
		}
	}
	return out
}

// Shown are the results of this page.
func (r *resultsPage) Shown() []hit {
	var out []hit
	from := min(r.Start, len(r.all))
	for _, i := range r.all[from:min(from+r.size(), len(r.all))] {
		out = append(out, r.at(i))
	}
	return out
}

func (r *resultsPage) isFirst() bool { return r.Start == 0 }

// Best are the best hits of a category, for a row of their own.
func (r *resultsPage) Best(category string) []hit {
	return r.some(maxCarousel, func(a *article) bool { return a.Category == category })
}

// Questions are what people also ask.
func (r *resultsPage) Questions() []hit {
	return r.some(maxQuestions, func(a *article) bool { return a.Question != "" })
}

// Sitelinks are other articles about the topic of the first result.
func (r *resultsPage) Sitelinks(h hit) []hit {
	if !r.isFirst() || h.article != &r.x.articles[r.all[0]] {
		return nil
	}
	var out []hit
	for i := range r.x.articles {
		if o := r.at(i); o.Topic == h.Topic && o.Slug != h.Slug && o.Category != "news" {
			out = append(out, o)
		}
	}
	return out
}

// Ads are paid results: the shop's products that the query names.
func (r *resultsPage) Ads() []product {
	var out []product
	for _, i := range r.x.find(r.Text, func(a *article) bool { return a.Category == "reviews" }) {
		if p := r.x.articles[i].Product(); p != nil && p.Available() && len(out) < maxAds {
			out = append(out, *p)
		}
	}
	return out
}

// Panel is the article that a knowledge panel is about: a product or a place whose
// whole name is asked for.
func (r *resultsPage) Panel() *hit {
	asked := words(r.Text)
	for _, i := range r.all[:min(len(r.all), perPage)] {
		h := r.at(i)
		if h.Category != "places" && h.Category != "guides" {
			continue
		}
		missing := slices.ContainsFunc(words(h.Topic), func(w string) bool {
			return !stopWord(w) && !slices.ContainsFunc(asked, func(x string) bool { return stem(x) == stem(w) })
		})
		if !missing {
			return &h
		}
	}
	return nil
}

// Related are other queries that find something: topics of the best hits, with the
// words that go with their kind.
func (r *resultsPage) Related() []link {
	var out []link
	for _, i := range r.all[:min(len(r.all), perPage)] {
		a := &r.x.articles[i]
		texts := []string{a.Topic}
		switch a.Category {
		case "guides", "care", "reviews":
			texts = append(texts, a.Topic+" care", a.Topic+" review")
		case "recipes":
			texts = append(texts, a.Topic+" recipe")
		case "places":
			texts = append(texts, a.Topic+" hours")
		}
		for _, text := range texts {
			l := link{r.Address(text, 0, ""), text}
			if !strings.EqualFold(text, r.Text) && !slices.Contains(out, l) && len(out) < maxRelated {
				out = append(out, l)
			}
		}
	}
	return out
}
