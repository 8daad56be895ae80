package jobs

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/page"
)

// Bounds of one crawl. They are assumptions: public documentation names none.
const (
	maxCrawlDepth     = 10
	defaultCrawlDepth = 3
	maxCrawlPages     = 1000 // fetched, with or without a record
	defaultCrawlPages = 100  // records without limit_per_input
	maxFrontierBytes  = 16 << 20
)

// crawlDataset follows a site's links. The fields url, markdown, html2text and
// page_html are public documentation.
func crawlDataset() Dataset {
	return Dataset{
		ID: CrawlDataset, Name: "Crawl", Category: "crawl", Description: "the pages of a site, as far as its links lead",
		Fields: []Field{
			{Name: "url", Type: typeURL, Description: "the page's address"},
			{Name: "page_title", Type: typeText, Description: "its title"},
			{Name: "markdown", Type: typeText, Description: "the page as Markdown"},
			{Name: "html2text", Type: typeText, Description: "its visible text"},
			{Name: "page_html", Type: typeText, Description: "its HTML"},
			{Name: "status", Type: typeNumber, Description: "HTTP status"},
			{Name: "depth", Type: typeNumber, Description: "links from the start"},
			{Name: "timestamp", Type: typeText, Description: "when it was fetched, RFC 3339"},
		},
		Inputs: []Field{
			{Name: "url", Type: typeURL, Description: "where the crawl starts", Required: true, Example: "http://lab.test/"},
			{Name: "depth", Type: typeNumber, Max: maxCrawlDepth, Description: "links to follow from the start; 0 is the page alone"},
			{Name: "filter", Type: typePattern, Description: "addresses to follow; all when missing"},
			{Name: "exclude_filter", Type: typePattern, Description: "addresses not to follow"},
		},
		Discoveries: []Discovery{},
		collect:     crawl,
	}
}

type hop struct {
	url   *url.URL
	depth int
}

// frontier is the state of a crawl: the pages to fetch, in the order they were found, and
// the pages it has seen.
type frontier struct {
	host            string
	depth           int
	include, except *regexp.Regexp
	robots          robots
	visited         map[string]bool
	queue           []hop
	bytes           int // of the seen addresses
}

func crawl(ctx context.Context, v *visit) error {
	start, err := url.Parse(v.text("url"))
	if err != nil {
		return &FetchError{codeFailed, "The address cannot be read"}
	}
	if v.job.spec.LimitPerInput == 0 {
		v.limit = defaultCrawlPages
	}
	f := &frontier{
		host: start.Host, depth: v.number("depth", defaultCrawlDepth), visited: map[string]bool{},
		include: pattern(v.text("filter")), except: pattern(v.text("exclude_filter")),
	}
	if f.robots, err = robotsOf(ctx, v, start); err != nil {
		return err
	}
	if !f.robots.allows(start.RequestURI()) {
		return &FetchError{"robots_txt", "The site's robots.txt does not allow the page"}
	}
	f.visited[canonical(start)] = true
	f.queue = []hop{{start, 0}}
	for n := 0; len(f.queue) > 0 && n < maxCrawlPages && v.wantsMore(); n++ {
		h := f.queue[0]
		f.queue = f.queue[1:]
		if err := f.page(ctx, v, h); err != nil {
			return err
		}
	}
	return nil
}

// page fetches one page, records it and queues its links. An error ends the crawl.
func (f *frontier) page(ctx context.Context, v *visit, h hop) error {
	p, err := v.get(ctx, h.url.String())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && p.Status >= 300 && p.Status < 400 && p.Location != "" {
		if to, perr := h.url.Parse(p.Location); perr == nil {
			f.add(to, h.depth)
		}
		return nil
	}
	if err == nil {
		err = pageError(p)
	}
	if err == nil && !isHTML(p.ContentType) {
		if h.depth > 0 {
			return nil // a link to a file, not a page
		}
		err = &FetchError{"not_html", "The page is not HTML"}
	}
	var doc *html.Node
	if err == nil {
		if doc, err = page.Parse(p.Body); err != nil {
			err = &FetchError{codeFailed, "The page cannot be read"}
		}
	}
	if err != nil {
		v.failedPage(h.url.String(), err)
		return nil
	}
	r := record{
		"url": h.url.String(), "status": p.Status, "depth": h.depth, "timestamp": v.now().Format("2006-01-02T15:04:05.000Z07:00"),
		"page_html": string(p.Body), "html2text": page.TextOf(doc),
	}
	if t := page.TitleOf(doc); t != "" {
		r["page_title"] = t
	}
	if h.depth < f.depth {
		for _, l := range page.LinksOf(doc, h.url.String()) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if u, err := url.Parse(l); err == nil {
				f.add(u, h.depth+1)
			}
		}
	}
	// Last, because it changes doc.
	if r["markdown"], err = page.MarkdownOf(doc, h.url.String()); err != nil {
		r["markdown"] = nil
	}
	v.record(r)
	return nil
}

// add queues a new page of the same site if robots.txt and the filters allow it.
func (f *frontier) add(u *url.URL, depth int) {
	u.Fragment, u.RawFragment = "", ""
	if !strings.EqualFold(u.Host, f.host) || len(f.visited) >= 10*maxCrawlPages || f.bytes >= maxFrontierBytes {
		return
	}
	s, c := u.String(), canonical(u)
	if len(s) > maxURLBytes || f.visited[c] {
		return
	}
	f.visited[c] = true
	f.bytes += len(c)
	if f.include != nil && !f.include.MatchString(s) || f.except != nil && f.except.MatchString(s) {
		return
	}
	if !f.robots.allows(u.RequestURI()) {
		return
	}
	f.queue = append(f.queue, hop{u, depth})
}

// canonical is equal for addresses of the same page: host in lower case, the query in
// order, no fragment.
func canonical(u *url.URL) string {
	c := *u
	c.Host = strings.ToLower(c.Host)
	c.Fragment, c.RawFragment = "", ""
	c.Path = cmp.Or(c.Path, "/")
	if q, err := url.ParseQuery(c.RawQuery); err == nil {
		c.RawQuery = q.Encode()
	}
	return c.String()
}

// robotsOf reads a site's robots.txt. A missing one allows everything; one that the site
// fails to serve allows nothing (RFC 9309 2.3.1).
func robotsOf(ctx context.Context, v *visit, u *url.URL) (robots, error) {
	p, err := v.get(ctx, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}).String())
	switch {
	case err != nil:
		return robots{}, err // a page would fail in the same way
	case p.Status >= http.StatusInternalServerError:
		return robots{none: true}, nil
	case p.Status != http.StatusOK:
		return robots{}, nil
	}
	return parseRobots(p.Body), nil
}

// pattern is nil for an empty text. CheckInput refused patterns that do not compile.
func pattern(s string) *regexp.Regexp {
	if s == "" {
		return nil
	}
	re, _ := regexp.Compile(s)
	return re
}

func isHTML(contentType string) bool {
	t, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	t = strings.TrimSpace(t)
	return t == "" || t == "text/html" || t == "application/xhtml+xml"
}

const (
	maxRobotsBytes = 500 << 10 // RFC 9309 2.5
	// A file may be written to make matching slow: rules times lengths are bounded.
	maxRobotsRules   = 1000
	maxRobotsPattern = 512
	maxRobotsPath    = 2048
)

// robots are the rules of a robots.txt for every crawler ("*", RFC 9309): no target knows
// the emulator's by name. The zero value allows everything.
type robots struct {
	rules []robotsRule
	none  bool // nothing is allowed
}

type robotsRule struct {
	pattern string
	allow   bool
}

// parseRobots takes any bytes and skips lines it does not know.
func parseRobots(b []byte) robots {
	b = b[:min(len(b), maxRobotsBytes)]
	var r robots
	forAll, inAgents := false, false
	for l := range bytes.Lines(b) {
		l, _, _ := strings.Cut(string(l), "#")
		name, value, ok := strings.Cut(l, ":")
		if !ok || len(r.rules) == maxRobotsRules {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "user-agent":
			if !inAgents {
				forAll = false
			}
			inAgents = true
			forAll = forAll || value == "*"
		case "allow", "disallow":
			inAgents = false
			if forAll && value != "" && len(value) <= maxRobotsPattern {
				r.rules = append(r.rules, robotsRule{value, strings.EqualFold(strings.TrimSpace(name), "allow")})
			}
		}
	}
	return r
}

// allows decides by the longest pattern that matches, and for allowing where two are as
// long (RFC 9309 2.2.2). path includes the query.
func (r robots) allows(path string) bool {
	if r.none {
		return false
	}
	path = path[:min(len(path), maxRobotsPath)]
	longest, allow := -1, true
	for _, rule := range r.rules {
		n := len(rule.pattern)
		if n < longest || n == longest && allow || !robotsMatch(rule.pattern, path) {
			continue
		}
		longest, allow = n, rule.allow
	}
	return allow
}

// robotsMatch matches from the path's beginning: "*" is any bytes, "$" at the end is the
// end of the path.
func robotsMatch(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	switch {
	case !whole:
		pattern += "*"
	case pattern == "":
		return path == ""
	}
	return fault.Glob(pattern, path)
}
