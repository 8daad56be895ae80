package serp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/page"
)

// Bounds of the results of a page.
const (
	maxItems = 200     // in each section
	maxText  = 4 << 10 // bytes of one text
)

// Render converts a page of results to the query's mode. It returns the body and its content
// type. Errors: a page that is too large or nested too deeply, and [ErrNoJSON].
func Render(body []byte, contentType string, q Query) ([]byte, string, error) {
	if err := q.Check(); err != nil {
		return nil, "", err
	}
	if q.Mode == Raw {
		return body, contentType, nil
	}
	decoded := page.Decode(body, contentType)
	full, err := Parse(decoded, q)
	if err != nil {
		return nil, "", err
	}
	var v any = full
	switch q.Mode {
	case Parsed:
		v = full.Light()
	case WithHTML:
		full.HTML = string(decoded)
		v = full
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, "", fmt.Errorf("encoding the results: %w", err)
	}
	return b.Bytes(), "application/json; charset=utf-8", nil
}

// Parse reads a page of results in UTF-8. Other pages have empty sections. The errors are those
// of [page.Parse].
func Parse(body []byte, q Query) (Full, error) {
	root, err := page.Parse(body)
	if err != nil {
		return Full{}, fmt.Errorf("reading the results: %w", err)
	}
	base, err := url.Parse(q.Target)
	if err != nil {
		base = &url.URL{}
	}
	p := &parser{base: base, q: q, doc: goquery.NewDocumentFromNode(root)}
	p.full.Organic = []organic{}
	p.general()
	p.items()
	p.knowledge()
	p.pagination()
	return p.full, nil
}

type parser struct {
	base   *url.URL
	q      Query
	doc    *goquery.Document
	full   Full
	ranked int // items with a rank so far
}

func (p *parser) general() {
	body := p.doc.Find("body").First()
	g := general{
		SearchEngine: cmp.Or(p.q.Engine, body.AttrOr("data-engine", "")),
		Query:        p.q.Text,
		Language:     cmp.Or(cut(p.doc.Find("html").First().AttrOr("lang", "")), p.q.Language),
		Country:      strings.ToLower(cut(p.q.Country)),
		Device:       cmp.Or(p.q.Device, Desktop),
		SearchType:   cmp.Or(p.q.Vertical, "text"),
		PageTitle:    cut(page.TitleOf(p.doc.Nodes[0])),
	}
	g.ResultsCount = max(integer(p.doc.Find(".count").First().AttrOr("data-count", "")), 0)
	p.full.General = g
}

// items reads everything that has a rank, in the page's order.
func (p *parser) items() {
	var classes []string
	sections := map[string]reflect.Value{}
	for f, section := range reflect.ValueOf(&p.full).Elem().Fields() {
		if class := f.Tag.Get("class"); class != "" {
			classes = append(classes, class)
			sections[class] = section
		}
	}
	p.doc.Find("." + strings.Join(classes, ",.")).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		if p.ranked >= maxItems*4 {
			return false
		}
		p.item(s, sections[classes[slices.IndexFunc(classes, s.HasClass)]])
		return true
	})
}

// item ranks an item and adds it to its section, if it has a link and the section has room.
func (p *parser) item(s *goquery.Selection, section reflect.Value) {
	v := reflect.New(section.Type().Elem()).Elem()
	p.read(s, v)
	if section.Len() >= maxItems || v.FieldByName("Link").String() == "" {
		return
	}
	switch item := v.Addr().Interface().(type) {
	case *organic:
		item.Extensions = p.sitelinks(s)
	case *place:
		lat, lon, _ := strings.Cut(s.AttrOr("data-coordinates", ""), ",")
		item.Latitude, item.Longitude = decimal(lat), decimal(lon)
	}
	p.ranked++
	v.FieldByName("Rank").Set(reflect.ValueOf(Rank{section.Len() + 1, p.ranked}))
	section.Set(reflect.Append(section, v))
}

// read fills the fields of a struct that have a css tag from the elements below s, or from s
// itself without a selector. A field is the text of the first element that the selector finds,
// or the attribute behind "@".
func (p *parser) read(s *goquery.Selection, into reflect.Value) {
	for f, v := range into.Fields() {
		tag, ok := f.Tag.Lookup("css")
		if !ok {
			continue
		}
		selector, attribute, isAttribute := strings.Cut(tag, "@")
		from := s
		if selector != "" {
			from = s.Find(selector).First()
		}
		raw := from.AttrOr(attribute, "")
		switch {
		case v.Kind() == reflect.Float64:
			v.SetFloat(decimal(raw))
		case v.Kind() == reflect.Int:
			v.SetInt(int64(max(integer(raw), 0)))
		case attribute == "href", attribute == "src":
			v.SetString(p.link(raw))
		case isAttribute:
			v.SetString(cut(raw))
		default:
			v.SetString(clean(from.Text()))
		}
	}
}

func (p *parser) sitelinks(s *goquery.Selection) (links []Extension) {
	s.Find("a.sitelink").EachWithBreak(func(i int, l *goquery.Selection) bool {
		if link := p.link(l.AttrOr("href", "")); link != "" {
			links = append(links, Extension{"site_link", link, clean(l.Text())})
		}
		return i < maxItems
	})
	return links
}

func (p *parser) knowledge() {
	s := p.doc.Find(".knowledge").First()
	if s.Length() == 0 {
		return
	}
	k := &knowledge{}
	p.read(s, reflect.ValueOf(k).Elem())
	s.Find("dt").EachWithBreak(func(i int, dt *goquery.Selection) bool {
		k.Facts = append(k.Facts, Fact{clean(dt.Text()), clean(dt.NextFiltered("dd").Text())})
		return i < maxItems
	})
	p.full.KnowledgeGraph = k
}

func (p *parser) pagination() {
	out := &p.full.Pagination
	out.CurrentPage = 1 + p.q.Start/pageSize(p.q.Vertical)
	p.doc.Find(".pages a.page").EachWithBreak(func(i int, a *goquery.Selection) bool {
		if link := p.link(a.AttrOr("href", "")); link != "" {
			out.Pages = append(out.Pages, Page{max(integer(clean(a.Text())), 0), p.startOf(link), link})
		}
		return i < maxItems
	})
	if link := p.link(p.doc.Find(".pages a.next").AttrOr("href", "")); link != "" {
		out.NextPage, out.NextPageStart, out.NextPageLink = out.CurrentPage+1, p.startOf(link), link
	}
}

// startOf is the number in the paging parameter of a link.
func (p *parser) startOf(link string) int {
	u, err := url.Parse(link)
	if err != nil {
		return 0
	}
	return number(u.Query().Get(grammarOf(p.q.Engine).start))
}

// link is the absolute address for a reference, or "".
func (p *parser) link(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxText {
		return ""
	}
	u, err := p.base.Parse(ref)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return u.String()
}

func clean(s string) string { return strings.Join(strings.Fields(cut(s)), " ") }

func cut(s string) string {
	return strings.ToValidUTF8(answer.Cut(s, maxText), "")
}

func decimal(s string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1e6 {
		return 0
	}
	return f
}

func integer(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n > 1e9 {
		return 0
	}
	return n
}
