package lab

import (
	"fmt"
	"html"
	"strings"
)

// resultsPage draws a page of search results.
type resultsPage struct {
	q    query
	x    *index
	hits hits
	say  labels
	b    strings.Builder
}

func esc(s string) string { return html.EscapeString(s) }

func (p *resultsPage) f(format string, a ...any) { fmt.Fprintf(&p.b, format, a...) }

func (p *resultsPage) render() string {
	p.f("<body class=\"serp\" data-engine=\"%s\" data-query=\"%s\" data-country=\"%s\" data-vertical=\"%s\">\n",
		p.q.engine, esc(p.q.text), p.q.country, p.q.vertical)
	p.f("<form class=\"search-box\" action=\"/search\"><input type=\"search\" name=\"q\" value=\"%s\"></form>\n", esc(p.q.text))
	if p.q.text == "" {
		p.b.WriteString("</body>\n")
		return p.b.String()
	}
	p.verticals()
	if len(p.hits.all) == 0 {
		p.f("<p class=\"count\">0 %s</p>\n<p class=\"no-results\">%s <q>%s</q>.</p>\n</body>\n", p.say.results, p.say.none, esc(p.q.text))
		return p.b.String()
	}
	p.f("<p class=\"count\" data-count=\"%d\">%d %s</p>\n", len(p.hits.all), len(p.hits.all), p.say.results)
	switch p.q.vertical {
	case "nws":
		p.each("news", p.news)
	case "isch":
		p.each("images", p.image)
	case "vid":
		p.each("videos", p.video)
	case "shop":
		p.each("products", p.product)
	case "lcl":
		p.each("places", p.place)
	default:
		p.general()
	}
	p.pages()
	p.b.WriteString("</body>\n")
	return p.b.String()
}

func (p *resultsPage) verticals() {
	if p.q.engine != "google" {
		return
	}
	p.b.WriteString("<nav class=\"verticals\">")
	for _, v := range [...][2]string{{"", "All"}, {"nws", "News"}, {"isch", "Images"}, {"vid", "Videos"}, {"shop", "Shopping"}, {"lcl", "Places"}} {
		if v[0] == p.q.vertical {
			p.f("<b>%s</b> ", v[1])
			continue
		}
		p.f("<a class=\"vertical\" href=\"%s\">%s</a> ", esc(p.q.address(p.q.text, 0, v[0])), v[1])
	}
	p.b.WriteString("</nav>\n")
}

// each draws the page's hits inside one section.
func (p *resultsPage) each(class string, draw func(*article)) {
	p.f("<section class=\"%s\">\n", class)
	for _, i := range p.hits.page {
		draw(&p.x.articles[i])
	}
	p.b.WriteString("</section>\n")
}

func (p *resultsPage) general() {
	first := p.q.start == 0
	if first {
		p.ads()
		p.panelBox()
	}
	p.f("<ol class=\"results\" start=\"%d\">\n", p.q.start+1)
	for n, i := range p.hits.page {
		p.organic(&p.x.articles[i], first && n == 0)
	}
	p.b.WriteString("</ol>\n")
	if first {
		p.questions()
		p.carousel("stories", "news", p.news)
		p.carousel("recipes", "recipes", p.recipe)
		p.carousel("videos", "videos", p.video)
	}
	if related := p.related(); len(related) > 0 {
		p.f("<section class=\"related\"><h2>%s</h2>\n", p.say.related)
		for _, r := range related {
			p.f("<a class=\"related-search\" href=\"%s\">%s</a>\n", esc(p.q.address(r, 0, "")), esc(r))
		}
		p.b.WriteString("</section>\n")
	}
}

// carousel draws the best hits of a category once more, as a row of their own.
func (p *resultsPage) carousel(class, category string, draw func(*article)) {
	n := 0
	for _, i := range p.hits.all {
		a := &p.x.articles[i]
		if a.Category != category || n == maxCarousel {
			continue
		}
		if n == 0 {
			p.f("<section class=\"%s\">\n", class)
		}
		n++
		draw(a)
	}
	if n > 0 {
		p.b.WriteString("</section>\n")
	}
}

func (p *resultsPage) recipe(a *article) {
	p.f("<div class=\"recipe-result\"><a class=\"title\" href=\"%s\"><h3>%s</h3></a><span class=\"source\">%s</span><span class=\"time\">%s</span><span class=\"rating\" data-rating=\"%s\">%s of 5</span></div>\n",
		p.link(a), esc(a.Title), esc(a.source), esc(a.facts[0].value), stars(a.rating), stars(a.rating))
}

func (p *resultsPage) crumbs(a *article) string { return p.q.host + " › docs › " + a.slug }

func (p *resultsPage) link(a *article) string { return esc(p.q.absolute("/docs/" + a.slug)) }

func (p *resultsPage) organic(a *article, sitelinks bool) {
	p.f("<li class=\"result\"><a class=\"title\" href=\"%s\"><h3>%s</h3></a><cite>%s</cite>", p.link(a), esc(a.Title), esc(p.crumbs(a)))
	p.f("<time datetime=\"%s\">%s</time><p class=\"snippet\">%s</p>", a.Published.Format("2006-01-02"), a.Published.Format("2 Jan 2006"), esc(a.Description))
	if a.rating > 0 {
		p.f("<span class=\"rating\" data-rating=\"%s\">%s of 5</span>", stars(a.rating), stars(a.rating))
	}
	if sitelinks {
		for i := range p.x.articles {
			if o := &p.x.articles[i]; o.topic == a.topic && o.slug != a.slug && a.Category != "news" {
				p.f("<a class=\"sitelink\" href=\"%s\">%s</a>", p.link(o), esc(o.Title))
			}
		}
	}
	p.b.WriteString("</li>\n")
}

// ads are paid results: the shop's products that the query names.
func (p *resultsPage) ads() {
	n := 0
	for _, i := range p.x.find(p.q.text, func(a *article) bool { return a.Category == "reviews" }) {
		pr, ok := productOf(p.x.articles[i].topic)
		if !ok || pr.stock == 0 || n == maxAds {
			continue
		}
		if n == 0 {
			p.b.WriteString("<section class=\"ads\">\n")
		}
		n++
		p.f("<div class=\"ad\"><span class=\"label\">%s</span> <a class=\"title\" href=\"%s\"><h3>%s for %s</h3></a><cite>%s › shop</cite><p class=\"snippet\">%s, %s, sent today from the lab's shop.</p></div>\n",
			p.say.ad, esc(p.q.absolute("/shop/product/"+pr.sku+"?from=ad")), pr.name, pr.price(), esc(p.q.host), pr.name, strings.ToLower(pr.availability()))
	}
	if n > 0 {
		p.b.WriteString("</section>\n")
	}
}

func (p *resultsPage) panelBox() {
	a := p.panel()
	if a == nil {
		return
	}
	kind := a.Category
	if kind == "guides" {
		kind = "product"
	}
	p.f("<aside class=\"knowledge\"><h2>%s</h2><span class=\"subtitle\">%s</span><img src=\"/img/%s.svg\" alt=\"%s\"><p class=\"description\">%s</p><a class=\"source\" href=\"%s\">%s</a>\n<dl>\n",
		esc(capital(a.topic)), esc(kind), a.slug, esc(a.topic), esc(a.Description), p.link(a), esc(a.source))
	for _, f := range a.facts {
		p.f("<dt>%s</dt><dd>%s</dd>\n", esc(f.name), esc(f.value))
	}
	p.b.WriteString("</dl></aside>\n")
}

func (p *resultsPage) questions() {
	n := 0
	for _, i := range p.hits.all {
		a := &p.x.articles[i]
		if a.question == "" || n == maxQuestions {
			continue
		}
		if n == 0 {
			p.f("<section class=\"questions\"><h2>%s</h2>\n", p.say.ask)
		}
		n++
		p.f("<details class=\"question\"><summary>%s</summary><p class=\"answer\">%s</p><a class=\"source\" href=\"%s\">%s</a></details>\n",
			esc(a.question), esc(a.answer), p.link(a), esc(a.Title))
	}
	if n > 0 {
		p.b.WriteString("</section>\n")
	}
}

// pages are the links to the other pages of results.
func (p *resultsPage) pages() {
	size := p.hits.size
	p.b.WriteString("<nav class=\"pages\">\n")
	for n := range min((len(p.hits.all)+size-1)/size, maxPages) {
		if n*size == p.q.start {
			p.f("<b class=\"current\">%d</b>\n", n+1)
			continue
		}
		p.f("<a class=\"page\" href=\"%s\">%d</a>\n", esc(p.q.address(p.q.text, n*size, p.q.vertical)), n+1)
	}
	if p.hits.next > 0 {
		p.f("<a class=\"next\" href=\"%s\">%s</a>\n", esc(p.q.address(p.q.text, p.hits.next, p.q.vertical)), p.say.next)
	}
	p.b.WriteString("</nav>\n")
}

func (p *resultsPage) news(a *article) {
	p.f("<article class=\"news-result\"><a class=\"title\" href=\"%s\"><h3>%s</h3></a><span class=\"source\">%s</span><time datetime=\"%s\">%s</time><p class=\"snippet\">%s</p><img src=\"/img/%s.svg\" alt=\"\"></article>\n",
		p.link(a), esc(a.Title), esc(a.source), a.Published.Format("2006-01-02"), a.Published.Format("2 Jan 2006"), esc(a.Description), a.slug)
}

func (p *resultsPage) image(a *article) {
	p.f("<figure class=\"image-result\"><a href=\"%s\"><img src=\"%s\" alt=\"%s\" width=\"640\" height=\"480\"></a><figcaption>%s</figcaption><cite>%s</cite></figure>\n",
		p.link(a), esc(p.q.absolute("/img/"+a.slug+".svg")), esc(a.topic), esc(a.Title), esc(a.source))
}

func (p *resultsPage) video(a *article) {
	p.f("<div class=\"video-result\"><a class=\"title\" href=\"%s\"><h3>%s</h3></a><span class=\"channel\">%s</span><span class=\"length\">%s</span><time datetime=\"%s\">%s</time><p class=\"snippet\">%s</p></div>\n",
		p.link(a), esc(a.Title), esc(a.source), a.length, a.Published.Format("2006-01-02"), a.Published.Format("2 Jan 2006"), esc(a.Description))
}

func (p *resultsPage) product(a *article) {
	pr, ok := productOf(a.topic)
	if !ok {
		return
	}
	p.f("<div class=\"product-result\" data-sku=\"%s\"><a class=\"title\" href=\"%s\"><h3>%s</h3></a><span class=\"price\">%s</span><span class=\"seller\">The lab's shop</span><span class=\"rating\" data-rating=\"%s\" data-reviews=\"%d\">%s of 5</span><span class=\"stock\">%s</span><img src=\"/img/%s.svg\" alt=\"\"></div>\n",
		pr.sku, esc(p.q.absolute("/shop/product/"+pr.sku)), pr.name, pr.price(), stars(a.rating), len(pr.reviews()), stars(a.rating), pr.availability(), a.slug)
}

func (p *resultsPage) place(a *article) {
	p.f("<div class=\"place-result\" data-coordinates=\"%s\"><a class=\"title\" href=\"%s\"><h3>%s</h3></a><span class=\"rating\" data-rating=\"%s\">%s of 5</span>",
		a.coordinates, p.link(a), esc(a.Title), stars(a.rating), stars(a.rating))
	for _, f := range a.facts {
		p.f("<span class=\"%s\">%s</span>", strings.ToLower(f.name), esc(f.value))
	}
	p.f("<p class=\"snippet\">%s</p></div>\n", esc(a.Description))
}
