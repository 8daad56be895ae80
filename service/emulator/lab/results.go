package lab

import (
	"cmp"
	"net/http"
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
	Say     labels
	x       *index
	matches []int // positions of articles, best first
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
	r.matches = r.x.find(q.Text, func(a *article) bool { return category == "" || a.Category == category })
	return r
}

func (r *resultsPage) size() int {
	if r.Vertical == "isch" {
		return perImagePage
	}
	return perPage
}

func (r *resultsPage) hitAt(i int) hit { return hit{&r.x.articles[i], r.query} }

// firstHits lists the first n results that are wanted.
func (r *resultsPage) firstHits(n int, wanted func(*article) bool) []hit {
	var out []hit
	for _, i := range r.matches {
		if h := r.hitAt(i); len(out) < n && wanted(h.article) {
			out = append(out, h)
		}
	}
	return out
}

// PageHits are the results of this page.
func (r *resultsPage) PageHits() []hit {
	var out []hit
	from := min(r.Start, len(r.matches))
	for _, i := range r.matches[from:min(from+r.size(), len(r.matches))] {
		out = append(out, r.hitAt(i))
	}
	return out
}

func (r *resultsPage) isFirst() bool { return r.Start == 0 }

// Best are the best hits of a category.
func (r *resultsPage) Best(category string) []hit {
	return r.firstHits(maxCarousel, func(a *article) bool { return a.Category == category })
}

// Questions are the results that answer a question.
func (r *resultsPage) Questions() []hit {
	return r.firstHits(maxQuestions, func(a *article) bool { return a.Question != "" })
}

// Sitelinks are other articles about the topic of the first result.
func (r *resultsPage) Sitelinks(h hit) []hit {
	if !r.isFirst() || h.article != &r.x.articles[r.matches[0]] {
		return nil
	}
	var out []hit
	for i := range r.x.articles {
		if o := r.hitAt(i); o.Topic == h.Topic && o.Slug != h.Slug && o.Category != "news" {
			out = append(out, o)
		}
	}
	return out
}

// Ads are paid results: the products of the shop that match the query.
func (r *resultsPage) Ads() []product {
	var out []product
	for _, i := range r.x.find(r.Text, func(a *article) bool { return a.Category == "reviews" }) {
		if p := r.x.articles[i].Product(); p != nil && p.Available() && len(out) < maxAds {
			out = append(out, *p)
		}
	}
	return out
}

// Panel is the article for the knowledge panel: a product or a place whose whole name is in the
// query. It is nil without one.
func (r *resultsPage) Panel() *hit {
	asked := words(r.Text)
	for _, i := range r.matches[:min(len(r.matches), perPage)] {
		h := r.hitAt(i)
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

// Related are other queries with results: topics of the best hits, some with a word for their
// category.
func (r *resultsPage) Related() []link {
	var out []link
	for _, i := range r.matches[:min(len(r.matches), perPage)] {
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

func (r *resultsPage) send(w http.ResponseWriter) {
	var m markup
	title := "Lab search"
	if r.Text != "" {
		title = r.Text + " - " + title
	}
	m.add("<!doctype html>\n<html lang=\"%v\">\n<head><meta charset=\"utf-8\"><title>%v</title></head>\n", cmp.Or(r.Language, "en"), title)
	m.add("<body class=\"serp\" data-engine=\"%v\" data-query=\"%v\" data-country=\"%v\" data-vertical=\"%v\">\n", r.Engine, r.Text, r.Country, r.Vertical)
	m.add("<form class=\"search-box\" action=\"/search\"><input type=\"search\" name=\"q\" value=\"%v\"></form>\n", r.Text)
	if r.Text != "" {
		r.verticalsOn(&m)
		if len(r.matches) > 0 {
			r.resultsOn(&m)
		} else {
			m.add("<p class=\"count\">0 %v</p>\n<p class=\"no-results\">%v <q>%v</q>.</p>\n", r.Say.Results, r.Say.None, r.Text)
		}
	}
	m.foot()
	m.send(w, http.StatusOK)
}

// verticalsOn links to the searches of one kind, if the engine has them.
func (r *resultsPage) verticalsOn(m *markup) {
	if r.Engine != "google" {
		return
	}
	m.add(`<nav class="verticals">`)
	for _, v := range [...][2]string{{"", "All"}, {"nws", "News"}, {"isch", "Images"}, {"vid", "Videos"}, {"shop", "Shopping"}, {"lcl", "Places"}} {
		if v[0] == r.Vertical {
			m.add("<b>%v</b> ", v[1])
		} else {
			m.add(`<a class="vertical" href="%v">%v</a> `, r.Address(r.Text, 0, v[0]), v[1])
		}
	}
	m.add("</nav>\n")
}

func (r *resultsPage) resultsOn(m *markup) {
	m.add("<p class=\"count\" data-count=\"%v\">%v %v</p>\n", len(r.matches), len(r.matches), r.Say.Results)
	class, draw := "", (*markup).news
	switch r.Vertical {
	case "nws":
		class = "news"
	case "isch":
		class, draw = "images", (*markup).picture
	case "vid":
		class, draw = "videos", (*markup).video
	case "shop":
		class, draw = "products", (*markup).goods
	case "lcl":
		class, draw = "places", (*markup).place
	}
	if class == "" {
		r.generalOn(m)
	} else {
		m.section(class, r.PageHits(), draw)
	}
	r.pagesOn(m)
}

// section draws results in a separate section.
func (m *markup) section(class string, hits []hit, draw func(*markup, hit)) {
	m.add("<section class=\"%v\">\n", class)
	for _, h := range hits {
		draw(m, h)
	}
	m.add("</section>\n")
}

// generalOn draws the results of the general search: on its first page with ads, a
// panel, questions and rows of the best of some kinds.
func (r *resultsPage) generalOn(m *markup) {
	if r.isFirst() {
		r.adsOn(m)
		r.panelOn(m)
	}
	m.add("<ol class=\"results\" start=\"%v\">\n", r.Start+1)
	for _, h := range r.PageHits() {
		m.add(`<li class="result"><a class="title" href="%v"><h3>%v</h3></a><cite>%v › docs › %v</cite>`, h.Link(), h.Title, r.Host, h.Slug)
		m.published(h.Published)
		m.add(`<p class="snippet">%v</p>`, h.Description)
		if h.Rating != 0 {
			m.rating(h.Rating)
		}
		for _, below := range r.Sitelinks(h) {
			m.add(`<a class="sitelink" href="%v">%v</a>`, below.Link(), below.Title)
		}
		m.add("</li>\n")
	}
	m.add("</ol>\n")
	if r.isFirst() {
		r.questionsOn(m)
		for _, row := range [...]struct {
			category, class string
			draw            func(*markup, hit)
		}{{"news", "stories", (*markup).news}, {"recipes", "recipes", (*markup).recipe}, {"videos", "videos", (*markup).video}} {
			if best := r.Best(row.category); len(best) > 0 {
				m.section(row.class, best, row.draw)
			}
		}
	}
	if related := r.Related(); len(related) > 0 {
		m.add("<section class=\"related\"><h2>%v</h2>\n", r.Say.Related)
		for _, l := range related {
			m.add("<a class=\"related-search\" href=\"%v\">%v</a>\n", l.To, l.Text)
		}
		m.add("</section>\n")
	}
}

func (r *resultsPage) adsOn(m *markup) {
	ads := r.Ads()
	if len(ads) == 0 {
		return
	}
	m.add("<section class=\"ads\">\n")
	for _, p := range ads {
		m.add(`<div class="ad"><span class="label">%v</span> <a class="title" href="%v/shop/product/%v?from=ad"><h3>%v for %v</h3></a><cite>%v › shop</cite>`,
			r.Say.Ad, r.Absolute(), p.SKU, p.Name, p.Price(), r.Host)
		m.add("<p class=\"snippet\">%v, %v, sent today from the lab's shop.</p></div>\n", p.Name, strings.ToLower(p.Availability()))
	}
	m.add("</section>\n")
}

func (r *resultsPage) panelOn(m *markup) {
	p := r.Panel()
	if p == nil {
		return
	}
	kind := p.Category
	if kind == "guides" {
		kind = "product"
	}
	m.add(`<aside class="knowledge"><h2>%v</h2><span class="subtitle">%v</span><img src="/img/%v.svg" alt="%v">`, capital(p.Topic), kind, p.Slug, p.Topic)
	m.add("<p class=\"description\">%v</p><a class=\"source\" href=\"%v\">%v</a>\n<dl>\n", p.Description, p.Link(), p.Source)
	for _, f := range p.PageFacts {
		m.add("<dt>%v</dt><dd>%v</dd>\n", f.Name, f.Value)
	}
	m.add("</dl></aside>\n")
}

func (r *resultsPage) questionsOn(m *markup) {
	questions := r.Questions()
	if len(questions) == 0 {
		return
	}
	m.add("<section class=\"questions\"><h2>%v</h2>\n", r.Say.Ask)
	for _, q := range questions {
		m.add("<details class=\"question\"><summary>%v</summary><p class=\"answer\">%v</p><a class=\"source\" href=\"%v\">%v</a></details>\n", q.Question, q.Answer, q.Link(), q.Title)
	}
	m.add("</section>\n")
}

func (r *resultsPage) pagesOn(m *markup) {
	m.add("<nav class=\"pages\">\n")
	for n := range min((len(r.matches)+r.size()-1)/r.size(), maxPages) {
		if start := n * r.size(); start == r.Start {
			m.add("<b class=\"current\">%v</b>\n", n+1)
		} else {
			m.add("<a class=\"page\" href=\"%v\">%v</a>\n", r.Address(r.Text, start, r.Vertical), n+1)
		}
	}
	if end := r.Start + r.size(); end < len(r.matches) {
		m.add("<a class=\"next\" href=\"%v\">%v</a>\n", r.Address(r.Text, end, r.Vertical), r.Say.Next)
	}
	m.add("</nav>\n")
}

func (m *markup) news(h hit) {
	m.add(`<article class="news-result"><a class="title" href="%v"><h3>%v</h3></a><span class="source">%v</span>`, h.Link(), h.Title, h.Source)
	m.published(h.Published)
	m.add("<p class=\"snippet\">%v</p><img src=\"/img/%v.svg\" alt=\"\"></article>\n", h.Description, h.Slug)
}

func (m *markup) picture(h hit) {
	m.add("<figure class=\"image-result\"><a href=\"%v\"><img src=\"%v\" alt=\"%v\" width=\"640\" height=\"480\"></a><figcaption>%v</figcaption><cite>%v</cite></figure>\n",
		h.Link(), h.Picture(), h.Topic, h.Title, h.Source)
}

func (m *markup) video(h hit) {
	m.add(`<div class="video-result"><a class="title" href="%v"><h3>%v</h3></a><span class="channel">%v</span><span class="length">%v</span>`, h.Link(), h.Title, h.Source, h.Length)
	m.published(h.Published)
	m.add("<p class=\"snippet\">%v</p></div>\n", h.Description)
}

func (m *markup) recipe(h hit) {
	m.add(`<div class="recipe-result"><a class="title" href="%v"><h3>%v</h3></a><span class="source">%v</span><span class="time">%v</span>`, h.Link(), h.Title, h.Source, h.PageFacts[0].Value)
	m.rating(h.Rating)
	m.add("</div>\n")
}

func (m *markup) goods(h hit) {
	p := h.Product()
	if p == nil {
		return
	}
	m.add(`<div class="product-result" data-sku="%v"><a class="title" href="%v/shop/product/%v"><h3>%v</h3></a><span class="price">%v</span>`, p.SKU, h.Absolute(), p.SKU, p.Name, p.Price())
	m.add(`<span class="seller">The lab's shop</span><span class="rating" data-rating="%v" data-reviews="%v">%v of 5</span>`, stars(h.Rating), len(p.Reviews()), stars(h.Rating))
	m.add("<span class=\"stock\">%v</span><img src=\"/img/%v.svg\" alt=\"\"></div>\n", p.Availability(), h.Slug)
}

func (m *markup) place(h hit) {
	m.add(`<div class="place-result" data-coordinates="%v"><a class="title" href="%v"><h3>%v</h3></a>`, h.Coordinates, h.Link(), h.Title)
	m.rating(h.Rating)
	for _, f := range h.PageFacts {
		m.add(`<span class="%v">%v</span>`, strings.ToLower(f.Name), f.Value)
	}
	m.add("<p class=\"snippet\">%v</p></div>\n", h.Description)
}
