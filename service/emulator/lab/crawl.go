package lab

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The site to crawl: /site/, six sections, four topics each, one or two pages below each topic,
// 65 pages that link up, down and around in circles. It also has the traps of crawlers:
// fragments, one page under several orders of a query, another host, a redirect, a dead link,
// drafts with noindex, a part that robots.txt excludes, an endless calendar, and files that are
// not HTML.

const (
	siteTopics   = 4
	calendarLast = 10_000 // the last month of the calendar, which no crawl should reach
)

func siteSections() []string {
	return []string{"guides", "reference", "stories", "people", "places", "archive"}
}

// leaves is how many pages lie below a topic.
func leaves(section, topic int) int { return 1 + (section+topic)%2*[...]int{1, 1, 1, 1, 1, 0}[section] }

func (s *site) crawlPages(mux *http.ServeMux) {
	mux.HandleFunc("/robots.txt", robots)
	mux.HandleFunc("/sitemap.xml", sitemap)
	mux.HandleFunc("/site/{$}", s.siteHome)
	mux.HandleFunc("/site/{section}/{$}", s.siteSection)
	mux.HandleFunc("/site/{section}", func(w http.ResponseWriter, r *http.Request) {
		if sectionAt(r.PathValue("section")) < 0 {
			notFound(w, r)
			return
		}
		http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
	})
	mux.HandleFunc("/site/{section}/{topic}", s.siteTopic)
	mux.HandleFunc("/site/{section}/{topic}/{leaf}", s.siteLeaf)
	mux.Handle("/site/old", http.RedirectHandler("/site/guides/", http.StatusMovedPermanently))
	mux.HandleFunc("/site/list", s.siteList)
	mux.HandleFunc("/site/calendar", calendar)
	mux.HandleFunc("/site/drafts/{$}", drafts)
	mux.Handle("/site/private/{$}", file("private.html", typeHTML)) // which a crawler that follows robots.txt never reads
	mux.Handle("/site/files/report.pdf", file("report.pdf", "application/pdf"))
	mux.Handle("/site/files/plan.svg", file("plan.svg", "image/svg+xml"))
	mux.HandleFunc("/site/files/prices.csv", prices)
}

func robots(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "User-agent: *\nDisallow: /site/private/\nDisallow: /site/calendar\nAllow: /site/\nDisallow: /challenge\n\nSitemap: %s/sitemap.xml\n", origin(r))
}

// origin is the site's address in the visitor's request.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// sitePaths are the addresses of the site's pages without the traps, in order.
func sitePaths() []string {
	out := []string{"/site/"}
	for i, sec := range siteSections() {
		out = append(out, "/site/"+sec+"/")
		for t := 1; t <= siteTopics; t++ {
			topic := fmt.Sprintf("/site/%s/%d", sec, t)
			out = append(out, topic)
			for l := 1; l <= leaves(i, t); l++ {
				out = append(out, topic+"/"+strconv.Itoa(l))
			}
		}
	}
	return out
}

func sitemap(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	for _, p := range sitePaths() {
		fmt.Fprintf(&b, "<url><loc>%s</loc></url>\n", html.EscapeString(origin(r)+p))
	}
	b.WriteString("</urlset>\n")
	_, _ = w.Write([]byte(b.String()))
}

// sitePage writes a page of the site: the text of the article number n, and links.
func (s *site) sitePage(w http.ResponseWriter, n int, title string, links []link) {
	all := s.index().articles
	var m markup
	m.head(title)
	m.add("<nav id=\"top\"><a href=\"/site/\">Site</a></nav>\n<main>\n<h1>%v</h1>\n", title)
	for _, p := range all[n%len(all)].Paragraphs() {
		m.add("<p>%v</p>\n", p)
	}
	m.add("</main>\n<ul class=\"links\">\n")
	m.links(links)
	m.add("</ul>\n<p><a href=\"#top\">Back to the top</a></p>\n")
	m.foot()
	m.send(w, http.StatusOK)
}

func (s *site) siteHome(w http.ResponseWriter, _ *http.Request) {
	links := []link{}
	for _, sec := range siteSections() {
		links = append(links, link{"/site/" + sec + "/", capital(sec)})
	}
	links = append(links,
		link{"/site/list?sort=name&dir=up", "All pages"}, link{"/site/list?dir=up&sort=name", "All pages again"},
		link{"/site/old", "The old guides"}, link{"/site/gone", "A page that went"},
		link{"/site/drafts/", "Drafts"}, link{"/site/private/", "Private"}, link{"/site/calendar?month=1", "Calendar"},
		link{"/site/files/report.pdf", "Report"}, link{"/site/files/prices.csv", "Prices"}, link{"/site/files/plan.svg", "Plan"},
		link{"https://example.org/", "Another site"}, link{"mailto:post@lab.test", "Write to us"})
	s.sitePage(w, 0, "The site", links)
}

// sectionAt is the number of a section, or -1.
func sectionAt(name string) int { return slices.Index(siteSections(), name) }

func (s *site) siteSection(w http.ResponseWriter, r *http.Request) {
	i := sectionAt(r.PathValue("section"))
	if i < 0 {
		notFound(w, r)
		return
	}
	secs := siteSections()
	var links []link
	for t := 1; t <= siteTopics; t++ {
		links = append(links, link{strconv.Itoa(t), fmt.Sprintf("%s, topic %d", capital(secs[i]), t)})
	}
	next := secs[(i+1)%len(secs)] // the sections are a circle
	links = append(links, link{"../" + next + "/", capital(next)}, link{"/site/#top", "Home"})
	s.sitePage(w, 1+i, capital(secs[i]), links)
}

func (s *site) siteTopic(w http.ResponseWriter, r *http.Request) {
	i := sectionAt(r.PathValue("section"))
	t := number(r.PathValue("topic"))
	if i < 0 || t < 1 || t > siteTopics {
		notFound(w, r)
		return
	}
	here := fmt.Sprintf("/site/%s/%d", siteSections()[i], t)
	var links []link
	for l := 1; l <= leaves(i, t); l++ {
		links = append(links, link{here + "/" + strconv.Itoa(l), fmt.Sprintf("Page %d", l)})
	}
	links = append(links, link{strconv.Itoa(t%siteTopics + 1), "Next topic"}, link{"./", "Up"}, link{here + "#links", "This page"})
	s.sitePage(w, 7+i*siteTopics+t, fmt.Sprintf("%s, topic %d", capital(siteSections()[i]), t), links)
}

func (s *site) siteLeaf(w http.ResponseWriter, r *http.Request) {
	i := sectionAt(r.PathValue("section"))
	t, l := number(r.PathValue("topic")), number(r.PathValue("leaf"))
	if i < 0 || t < 1 || t > siteTopics || l < 1 || l > leaves(i, t) {
		notFound(w, r)
		return
	}
	sec := siteSections()[i]
	links := []link{
		{fmt.Sprintf("/site/%s/%d", sec, t), "Up"},
		{fmt.Sprintf("/site/%s/%d/%d", sec, t%siteTopics+1, 1), "Across"},
		{"/site/", "Home"},
	}
	s.sitePage(w, 32+i*8+t*2+l, fmt.Sprintf("%s, topic %d, page %d", capital(sec), t, l), links)
}

// siteList is the same page whatever the order of its query.
func (s *site) siteList(w http.ResponseWriter, _ *http.Request) {
	var links []link
	for _, p := range sitePaths() {
		links = append(links, link{p, p})
	}
	s.sitePage(w, 5, "All pages", links)
}

// calendar always has a next month.
func calendar(w http.ResponseWriter, r *http.Request) {
	n := max(number(r.URL.Query().Get("month")), 1)
	if n > calendarLast {
		notFound(w, r)
		return
	}
	month := time.Date(2026, time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	page(w, http.StatusOK, month.Format("January 2006"), fmt.Sprintf("<h1>%s</h1>\n<p>Nothing is planned.</p>\n<a rel=\"nofollow\" href=\"/site/calendar?month=%d\">Next month</a>\n",
		month.Format("January 2006"), n+1))
}

func drafts(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Robots-Tag", "noindex")
	file("drafts.html", typeHTML)(w, r)
}

// prices lists the products of the shop.
func prices(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	fmt.Fprintln(w, "sku,name,price")
	for _, p := range catalog() {
		fmt.Fprintf(w, "%s,%q,%s\n", p.SKU, p.Name, p.Price()[1:])
	}
}
