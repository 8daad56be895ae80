package page

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// MaxBytes bounds a page that is parsed; larger ones are [ErrTooLarge].
const MaxBytes = 8 << 20

// MaxLinks bounds the result of [LinksOf].
const MaxLinks = 10_000

// Bounds of one address and of all addresses of a page, in bytes: with a long base, each of very
// many short addresses becomes long.
const (
	maxAddress   = 8192
	maxAddresses = 4 * MaxBytes
)

// ErrTooLarge is a page above [MaxBytes].
var ErrTooLarge = errors.New("the page is too large to be read")

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

// Parse reads a page in UTF-8. Errors: [ErrTooLarge], and a nesting that the parser refuses.
func Parse(body []byte) (*html.Node, error) {
	if len(body) > MaxBytes {
		return nil, ErrTooLarge
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
// [MaxLinks], and of at most 8,192 bytes.
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
		if len(out) == MaxLinks {
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
