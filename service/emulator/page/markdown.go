package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Markdown converts a page to CommonMark with tables. Addresses are absolute, by base and the
// page's base element. Addresses with code (javascript:, data: in links) are left out. Errors:
// [ErrTooLarge], and a page that the parser refuses.
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
