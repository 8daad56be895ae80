// Package page reads HTML pages: their markdown, text, title and links, and whether
// a page is a block or a CAPTCHA.
//
// The unlocker, the crawl, the scrapers, agent access and the SERP product call it. All functions
// are pure and safe for concurrent use. Pages are remote bytes: input above [MaxBytes] is refused
// or cut, nesting is bounded by the HTML parser, and nothing read here is used as a path.
package page

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// MaxBytes bounds a page that is parsed; larger ones are [errTooLarge].
const MaxBytes = 8 << 20

// maxLinks bounds the result of [LinksOf].
const maxLinks = 10_000

// Bounds of one address and of all addresses of a page, in bytes: with a long base, each of very
// many short addresses becomes long.
const (
	maxAddress   = 8192
	maxAddresses = 4 * MaxBytes
)

// errTooLarge is a page above [MaxBytes].
var errTooLarge = errors.New("the page is too large to be read")

// Decode converts a page to UTF-8, by its Content-Type, its byte order mark or its meta element,
// in the order of the HTML standard. Invalid bytes become U+FFFD. It cuts a page above
// [MaxBytes].
func Decode(body []byte, contentType string) []byte {
	body = body[:min(len(body), MaxBytes)]
	enc, name, _ := charset.DetermineEncoding(body, contentType)
	if name == "utf-8" {
		return bytes.ToValidUTF8(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), []byte("\uFFFD"))
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return out
}

// Parse reads a page in UTF-8. Errors: [errTooLarge], and a nesting that the parser refuses.
func Parse(body []byte) (*html.Node, error) {
	if len(body) > MaxBytes {
		return nil, errTooLarge
	}
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("parsing the page: %w", err)
	}
	return doc, nil
}

// TitleOf returns the page's title on one line, or "".
func TitleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.Type == html.ElementNode && n.Namespace == "" {
			var b strings.Builder
			for c := range n.ChildNodes() {
				b.WriteString(c.Data)
			}
			return strings.Join(strings.Fields(b.String()), " ")
		}
	}
	return ""
}

// LinksOf returns the http and https addresses of a page's links (a and area elements): absolute
// by base and the page's base element, without fragments, in order, each once, at most
// [maxLinks], and of at most 8,192 bytes.
func LinksOf(doc *html.Node, base string) []string {
	b := baseOf(doc, base)
	seen := map[string]bool{}
	var out []string
	left := maxAddresses
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || (n.DataAtom != atom.A && n.DataAtom != atom.Area) {
			continue
		}
		u := resolve(b, attribute(n, "href"))
		if u == nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			continue
		}
		u.Fragment, u.RawFragment = "", ""
		s := u.String()
		if _, err := url.Parse(s); err != nil {
			continue // a host that only holds unescaped
		}
		if left -= len(s); left < 0 {
			break
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
		if len(out) == maxLinks {
			break
		}
	}
	return out
}

func baseOf(doc *html.Node, base string) *url.URL {
	b, err := url.Parse(base)
	if err != nil {
		b = &url.URL{}
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == atom.Base {
			if u := resolve(b, attribute(n, "href")); u != nil && (u.Scheme == "http" || u.Scheme == "https") {
				return u
			}
			break
		}
	}
	return b
}

// resolve returns nil for a reference that is empty, invalid or too long.
func resolve(base *url.URL, ref string) *url.URL {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxAddress {
		return nil
	}
	u, err := base.Parse(ref)
	if err != nil {
		return nil
	}
	return u
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// TextOf returns the visible text below a node: one line for each block, with spaces collapsed,
// without scripts, styles, templates and hidden elements.
func TextOf(n *html.Node) string {
	w := &textWriter{}
	w.walk(n)
	return strings.TrimRight(w.b.String(), "\n ")
}

// textWriter collapses white space as a browser does: a run becomes one space, and it writes no
// space at the ends of a line and no empty line.
type textWriter struct {
	b     strings.Builder
	space bool // a space is due before the next word of the line
	line  bool // the line has words
}

func (w *textWriter) walk(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.text(n.Data)
		return
	case html.ElementNode:
		if invisible(n) {
			return
		}
	}
	block := n.Type == html.ElementNode && isBlock(n.DataAtom)
	if block {
		w.newline()
	} else if n.DataAtom == atom.Td || n.DataAtom == atom.Th {
		w.space = w.line
	}
	for c := range n.ChildNodes() {
		w.walk(c)
	}
	if block {
		w.newline()
	}
}

func (w *textWriter) text(s string) {
	for i, word := range strings.Fields(s) {
		if (i > 0 || w.space || startsBlank(s)) && w.line {
			w.b.WriteByte(' ')
		}
		w.b.WriteString(word)
		w.line, w.space = true, false
	}
	if s != "" && isBlank(s[len(s)-1]) {
		w.space = w.line
	}
}

func (w *textWriter) newline() {
	if w.line {
		w.b.WriteByte('\n')
	}
	w.line, w.space = false, false
}

func startsBlank(s string) bool { return s != "" && isBlank(s[0]) }

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

func invisible(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Iframe, atom.Object, atom.Svg, atom.Textarea:
		return true
	}
	for _, a := range n.Attr {
		if a.Key == "hidden" {
			return true
		}
		if a.Key == "style" && strings.Contains(strings.ReplaceAll(strings.ToLower(a.Val), " ", ""), "display:none") {
			return true
		}
	}
	return false
}

func isBlock(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Br, atom.Dd, atom.Details, atom.Dialog, atom.Div,
		atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hr, atom.Legend, atom.Li, atom.Main,
		atom.Nav, atom.Ol, atom.Option, atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Tr, atom.Ul,
		atom.Body, atom.Html:
		return true
	}
	return false
}

// Markdown converts a page to CommonMark with tables. Addresses are absolute, by base and the
// page's base element. Addresses with code (javascript:, data: in links) are left out. Errors:
// [errTooLarge], and a page that the parser refuses.
func Markdown(body []byte, base string) (string, error) {
	doc, err := Parse(body)
	if err != nil {
		return "", err
	}
	return MarkdownOf(doc, base)
}

// MarkdownOf is [Markdown] for a parsed page. It makes the addresses in doc absolute.
func MarkdownOf(doc *html.Node, pageURL string) (string, error) {
	absolute(doc, pageURL)
	tame(doc)
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin(),
	))
	out, err := conv.ConvertNode(doc)
	if err != nil {
		return "", fmt.Errorf("converting the page to markdown: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// absolute rewrites the addresses of links and images.
func absolute(doc *html.Node, pageURL string) {
	b := baseOf(doc, pageURL)
	left := maxAddresses
	schemes := []string{"", "http", "https", "mailto", "tel", "ftp"} // without code
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		var name string
		switch n.DataAtom {
		case atom.A:
			name = "href"
		case atom.Img:
			name = "src"
		default:
			continue
		}
		kept := n.Attr[:0]
		for _, a := range n.Attr {
			if a.Key == name {
				if left < 0 {
					continue
				}
				u := resolve(b, a.Val)
				if u == nil || !slices.Contains(schemes, u.Scheme) {
					continue
				}
				a.Val = u.String()
				left -= len(a.Val)
			}
			kept = append(kept, a)
		}
		n.Attr = kept
	}
}
