// Package serp turns a page of search results into the JSON of the SERP product (public
// documentation: general, organic, paid, knowledge_graph, people_also_ask, related_searches,
// pagination and the verticals), and reads the search addresses of several engines.
//
// The SERP product and agent access call it. It reads the markup of the lab's search page,
// whatever engine the address names, because only lab pages can be fetched here:
// lab.test/search?engine=bing (or yandex) chooses which engine's parameters and rules hold. All
// functions are pure and safe for concurrent use. Pages are remote bytes: size, number of items
// and length of texts are bounded, links are http or https.
package serp

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// The engines.
const (
	google     = "google"
	bing       = "bing"
	yandex     = "yandex"
	duckDuckGo = "duckduckgo"
)

// Mode is the form of a page of results.
type Mode string

// The modes (public documentation: brd_json=1, html, parsed_light).
const (
	Raw      Mode = ""             // the page as it is
	JSON     Mode = "1"            // [Full]
	WithHTML Mode = "html"         // [Full] with the page in "html"
	Parsed   Mode = "parsed_light" // [light]
)

// ErrNoJSON refuses brd_json for an engine whose results are not parsed. The service answers 400
// with its text (public documentation).
var ErrNoJSON = errors.New("JSON output is not supported")

// Query is the search in an address.
type Query struct {
	// Engine is google, bing, yandex or duckduckgo; "" for other addresses.
	Engine string
	Text   string
	// Language and Country are the parameters hl and gl, setLang and cc, or lang and lr.
	Language, Country string
	// Device is desktop, mobile or a device of brd_mobile.
	Device string
	// Vertical is "", nws, isch, vid, shop or lcl.
	Vertical string
	// Start is the offset of the first result, from 0 for every engine.
	Start int
	Mode  Mode
	// Target is the address to fetch, without the parameters for the service.
	Target string
}

// Desktop is the default device.
const Desktop = "desktop"

const maxStart = 1_000_000

// Engine returns the engine of an address, or "". The lab's search page is google unless ?engine=
// names another.
func Engine(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if host == "lab.test" || host == "www.lab.test" {
		if u.Path != "/search" {
			return ""
		}
		return Named(u.Query().Get("engine"))
	}
	host = strings.TrimPrefix(host, "www.")
	for _, e := range [...]string{google, bing, yandex, duckDuckGo} {
		// The engine's name, then a country's ending: google.com, google.co.uk.
		if rest, ok := strings.CutPrefix(host, e+"."); ok && rest != "" && strings.Count(rest, ".") < 2 && len(rest) <= len("com.xx") {
			return e
		}
	}
	return ""
}

// Named returns the engine with a name; google is the default.
func Named(name string) string {
	switch name {
	case bing, yandex, duckDuckGo:
		return name
	}
	return google
}

// grammar names the parameters of an engine's addresses. The first result has the number first,
// and start counts in units of unit results.
type grammar struct {
	text, start, language, country string
	first, unit                    int
}

func grammarOf(engine string) grammar {
	switch engine {
	case bing:
		return grammar{"q", "first", "setLang", "cc", 1, 1}
	case yandex:
		return grammar{"text", "p", "lang", "lr", 0, pageSize("")}
	case duckDuckGo:
		return grammar{"q", "s", "", "", 0, 1}
	default:
		return grammar{"q", "start", "hl", "gl", 0, 1}
	}
}

// Search reads the parameters of an engine's address, except device, mode and target.
func Search(engine string, v url.Values) Query {
	g := grammarOf(engine)
	q := Query{
		Engine: engine, Text: v.Get(g.text), Language: v.Get(g.language), Country: v.Get(g.country),
		Start: max(number(v.Get(g.start))-g.first, 0) * g.unit,
	}
	switch engine {
	case bing:
		if language, country, ok := strings.Cut(v.Get("mkt"), "-"); ok {
			q.Language, q.Country = cmp.Or(q.Language, language), cmp.Or(q.Country, country)
		}
	case yandex:
		q.Text = cmp.Or(q.Text, v.Get("q"))
	case duckDuckGo:
		q.Country, q.Language, _ = strings.Cut(v.Get("kl"), "-") // a region and a language: us-en
	default:
		q.Vertical = vertical(v)
	}
	return q
}

// Address is the lab's search by the same engine, in the same language and country, for
// another text, offset or vertical.
func (q Query) Address(text string, start int, vertical string) string {
	g := grammarOf(q.Engine)
	pairs := [][2]string{{"engine", q.Engine}, {g.text, text}, {g.language, q.Language}, {g.country, q.Country}, {"tbm", vertical}}
	if q.Engine == google {
		pairs = pairs[1:]
	}
	if q.Engine == duckDuckGo && q.Country != "" && q.Language != "" {
		pairs = append(pairs, [2]string{"kl", q.Country + "-" + q.Language})
	}
	if start > 0 {
		pairs = append(pairs, [2]string{g.start, strconv.Itoa(start/g.unit + g.first)})
	}
	var b strings.Builder
	b.WriteString("/search")
	sep := "?"
	for _, p := range pairs {
		if p[0] != "" && p[1] != "" {
			b.WriteString(sep + p[0] + "=" + url.QueryEscape(p[1]))
			sep = "&"
		}
	}
	return b.String()
}

// IsResultPage reports whether an address is a search engine's page of results.
func IsResultPage(u *url.URL) bool {
	path := strings.TrimSuffix(u.Path, "/")
	if Engine(u) == duckDuckGo {
		return path == "" || path == "/html"
	}
	return Engine(u) != "" && path == "/search"
}

// Read reads a search address. Errors: an address that cannot be parsed, an unknown brd_json, or
// [ErrNoJSON].
func Read(address string) (Query, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Query{}, fmt.Errorf("reading the search address: %w", err)
	}
	v := u.Query()
	q := Search(Engine(u), v)
	q.Device = device(v.Get("brd_mobile"))
	switch m := Mode(v.Get("brd_json")); m {
	case Raw, JSON, WithHTML, Parsed:
		q.Mode = m
	case "0":
	default:
		return Query{}, fmt.Errorf("brd_json has to be 1, html or parsed_light, not %.20q", string(m))
	}
	q.Target = strip(u)
	return q, q.Check()
}

// Check returns [ErrNoJSON] if the mode needs JSON that the engine does not have.
func (q Query) Check() error {
	if q.Engine == yandex && (q.Mode == JSON || q.Mode == WithHTML || q.Mode == Parsed) {
		return ErrNoJSON
	}
	return nil
}

// strip removes the parameters for the service, and keeps the order of the others.
func strip(u *url.URL) string {
	t := *u
	t.Fragment, t.RawFragment = "", ""
	var kept []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if !strings.HasPrefix(pair, "brd_") && pair != "" {
			kept = append(kept, pair)
		}
	}
	t.RawQuery = strings.Join(kept, "&")
	return t.String()
}

func vertical(v url.Values) string {
	switch t := v.Get("tbm"); t {
	case "nws", "isch", "vid", "shop", "lcl":
		return t
	}
	return map[string]string{"2": "isch", "28": "shop", "39": "vid"}[v.Get("udm")]
}

// device reads brd_mobile (public documentation: 0, 1, ios, ipad, android, …).
func device(s string) string {
	switch strings.ToLower(s) {
	case "", "0":
		return Desktop
	case "ios", "iphone", "ipad", "android", "android_tablet":
		return strings.ToLower(s)
	}
	return "mobile"
}

// UserAgent is that of a browser on the query's device, which is not [Desktop].
func (q Query) UserAgent() string {
	switch q.Device {
	case "ios", "iphone":
		return "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
	case "ipad":
		return "Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
	default:
		return "Mozilla/5.0 (Linux; Android 15; Mobile) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"
	}
}

// pageSize is the number of results on a page.
func pageSize(vertical string) int {
	if vertical == "isch" {
		return 20
	}
	return 10
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxStart)
}
