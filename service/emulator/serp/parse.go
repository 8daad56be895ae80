package serp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/page"
)

// Bounds of what is taken from a page.
const (
	maxItems = 200     // in each section
	maxText  = 4 << 10 // bytes of one text
)

// Render gives a page of results in the query's mode: the body and its content type.
// Errors: a page that is too large or nested too deeply, and [ErrNoJSON].
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

// Parse reads a page of results, which is UTF-8. Any other page gives empty
// sections; the errors are those of [page.Parse].
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
	p.full.Organic = []Organic{}
	p.general()
	p.items()
	p.knowledge()
	p.pagination()
	return p.full, nil
}

type parser struct {
	base *url.URL
	q    Query
	doc  *goquery.Document
	full Full
	seen int // items with a rank so far
}

func (p *parser) general() {
	body := p.doc.Find("body").First()
	g := General{
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
	p.doc.Find(".ad, .result, .question, .related-search, .news-result, .image-result, .video-result, .product-result, .place-result, .recipe-result").
		EachWithBreak(func(_ int, s *goquery.Selection) bool {
			if p.seen >= maxItems*4 {
				return false
			}
			p.item(s)
			return true
		})
}

func (p *parser) item(s *goquery.Selection) {
	f := &p.full
	switch {
	case s.HasClass("ad"):
		add(p, &f.Paid, p.organic(s), func(o *Organic) (*Rank, string) { return &o.Rank, o.Link })
	case s.HasClass("result"):
		add(p, &f.Organic, p.organic(s), func(o *Organic) (*Rank, string) { return &o.Rank, o.Link })
	case s.HasClass("question"):
		add(p, &f.PeopleAlsoAsk, Question{
			Question: text(s, "summary"), Answer: text(s, ".answer"), Source: text(s, "a.source"), Link: p.link(s.Find("a.source"), "href"),
		}, func(o *Question) (*Rank, string) { return &o.Rank, o.Link })
	case s.HasClass("related-search"):
		add(p, &f.RelatedSearches, Related{Text: clean(s.Text()), Link: p.link(s, "href")}, func(o *Related) (*Rank, string) { return &o.Rank, o.Link })
	case s.HasClass("news-result"):
		add(p, &f.News, News{
			Title: text(s, "h3"), Link: p.title(s), Source: text(s, ".source"), Date: text(s, "time"),
			Description: text(s, ".snippet"), Image: p.link(s.Find("img"), "src"),
		}, func(o *News) (*Rank, string) { return &o.Rank, o.Link })
	case s.HasClass("image-result"):
		img := s.Find("img").First()
		add(p, &f.Images, Image{
			Title: text(s, "figcaption"), Link: p.link(s.Find("a"), "href"), Image: p.link(img, "src"), Alt: cut(img.AttrOr("alt", "")),
			Source: text(s, "cite"), Width: max(integer(img.AttrOr("width", "")), 0), Height: max(integer(img.AttrOr("height", "")), 0),
		}, func(o *Image) (*Rank, string) { return &o.Rank, o.Link })
	default:
		p.rich(s)
	}
}

// rich reads the items with prices, lengths, places and times.
func (p *parser) rich(s *goquery.Selection) {
	f := &p.full
	switch {
	case s.HasClass("video-result"):
		add(p, &f.Videos, Video{
			Title: text(s, "h3"), Link: p.title(s), Author: text(s, ".channel"), Duration: text(s, ".length"), Date: text(s, "time"),
			Description: text(s, ".snippet"),
		}, func(o *Video) (*Rank, string) { return &o.Rank, o.Link })
	case s.HasClass("product-result"):
		add(p, &f.Shopping, Product{
			Title: text(s, "h3"), Link: p.title(s), Price: text(s, ".price"), Shop: text(s, ".seller"), Rating: rating(s),
			Reviews: max(integer(s.Find(".rating").AttrOr("data-reviews", "")), 0), Stock: text(s, ".stock"), Image: p.link(s.Find("img"), "src"),
		}, func(o *Product) (*Rank, string) { return &o.Rank, o.Link })
	case s.HasClass("place-result"):
		lat, lon, _ := strings.Cut(s.AttrOr("data-coordinates", ""), ",")
		add(p, &f.Maps, Place{
			Title: text(s, "h3"), Link: p.title(s), Category: text(s, ".kind"), Address: text(s, ".address"), Hours: text(s, ".hours"),
			Rating: rating(s), Latitude: decimal(lat), Longitude: decimal(lon), Description: text(s, ".snippet"),
		}, func(o *Place) (*Rank, string) { return &o.Rank, o.Link })
	case s.HasClass("recipe-result"):
		add(p, &f.Recipes, Recipe{
			Title: text(s, "h3"), Link: p.title(s), Source: text(s, ".source"), Time: text(s, ".time"), Rating: rating(s),
		}, func(o *Recipe) (*Rank, string) { return &o.Rank, o.Link })
	}
}

// add ranks an item and keeps it, where it has a link and the section has room.
func add[T any](p *parser, to *[]T, item T, of func(*T) (*Rank, string)) {
	rank, link := of(&item)
	if len(*to) >= maxItems || link == "" {
		return
	}
	p.seen++
	*rank = Rank{len(*to) + 1, p.seen}
	*to = append(*to, item)
}

func (p *parser) organic(s *goquery.Selection) Organic {
	o := Organic{
		Title: text(s, "h3"), Link: p.title(s), DisplayLink: text(s, "cite"), Description: text(s, ".snippet"),
		Date: text(s, "time"), Rating: rating(s),
	}
	s.Find("a.sitelink").EachWithBreak(func(i int, l *goquery.Selection) bool {
		if link := p.link(l, "href"); link != "" {
			o.Extensions = append(o.Extensions, Extension{"site_link", link, clean(l.Text())})
		}
		return i < maxItems
	})
	return o
}

func (p *parser) knowledge() {
	s := p.doc.Find(".knowledge").First()
	if s.Length() == 0 {
		return
	}
	k := &Knowledge{
		Name: text(s, "h2"), Subtitle: text(s, ".subtitle"), Description: text(s, ".description"),
		Source: text(s, "a.source"), Link: p.link(s.Find("a.source"), "href"), Image: p.link(s.Find("img"), "src"),
	}
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
		if link := p.link(a, "href"); link != "" {
			out.Pages = append(out.Pages, Page{max(integer(clean(a.Text())), 0), p.startOf(link), link})
		}
		return i < maxItems
	})
	if link := p.link(p.doc.Find(".pages a.next"), "href"); link != "" {
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

func (p *parser) title(s *goquery.Selection) string { return p.link(s.Find("a.title"), "href") }

// link is the absolute address in an attribute of the first element, or "".
func (p *parser) link(s *goquery.Selection, name string) string {
	ref := strings.TrimSpace(s.First().AttrOr(name, ""))
	if ref == "" || len(ref) > maxText {
		return ""
	}
	u, err := p.base.Parse(ref)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return u.String()
}

func text(s *goquery.Selection, selector string) string {
	return clean(s.Find(selector).First().Text())
}

// clean puts a text on one line.
func clean(s string) string { return strings.Join(strings.Fields(cut(s)), " ") }

func cut(s string) string {
	return strings.ToValidUTF8(answer.Cut(s, maxText), "")
}

func rating(s *goquery.Selection) float64 {
	return decimal(s.Find(".rating").First().AttrOr("data-rating", ""))
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
