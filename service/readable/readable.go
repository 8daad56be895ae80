// Package readable turns an HTML page into text that is read: Markdown with links and
// tables, as far as the page's first bytes go. It is pure and safe for concurrent use.
package readable

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// MaxInput bounds a conversion, in bytes.
const MaxInput = 4 << 20

// Text is a page as Markdown.
type Text struct {
	Markdown string
	// Cut says that only the first MaxInput bytes of the page were converted; Tables that
	// there were too many cells, so that tables are left as their words.
	Cut, Tables bool
}

// Markdown converts a page of size bytes in UTF-8. Addresses in the text are made absolute by pageURL.
func Markdown(r io.ReaderAt, size int64, pageURL string) (Text, error) {
	t := Text{Cut: size > MaxInput}
	doc, err := html.Parse(io.NewSectionReader(r, 0, min(size, MaxInput)))
	if err != nil {
		return t, fmt.Errorf("read the page: %w", err)
	}
	t.Tables = tame(doc)
	plugins := []converter.Plugin{base.NewBasePlugin(), commonmark.NewCommonmarkPlugin()}
	if !t.Tables {
		plugins = append(plugins, table.NewTablePlugin())
	}
	var options []converter.ConvertOptionFunc
	if u, err := url.Parse(pageURL); err == nil && u.Host != "" {
		options = append(options, converter.WithDomain(u.Scheme+"://"+u.Host))
	}
	out, err := converter.NewConverter(converter.WithPlugins(plugins...)).ConvertNode(doc, options...)
	if err != nil {
		return t, fmt.Errorf("converting the page to text: %w", err)
	}
	t.Markdown = strings.TrimSpace(string(out))
	return t, nil
}

// The converter's time grows with the square of the children of one element, and its
// memory with rows times columns of a table. Pages are remote bytes, so they are changed
// to stay within these bounds; ordinary pages do not exceed them.
const (
	maxSiblings = 500    // children of one element; more are put into groups
	maxCells    = 20_000 // of all tables, counted as rows by the widest row
)

// tame bounds a page, and reports whether its tables are too large to be drawn as tables.
// Cells that span several columns or rows count and show as one.
func tame(doc *html.Node) (tables bool) {
	rows, widest, width := 0, 0, 0
	for n := range doc.Descendants() {
		switch n.DataAtom {
		case atom.Tr:
			rows++
			width = 0
		case atom.Td, atom.Th:
			width++
			widest = max(widest, width)
			n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "colspan" || a.Key == "rowspan" })
		}
	}
	group(doc)
	return widest > 0 && rows > maxCells/widest
}

// group puts the children of an element with very many of them into groups, and those
// into groups again, until none has more than maxSiblings. A list becomes lists.
func group(n *html.Node) {
	for c := range n.ChildNodes() {
		group(c)
	}
	of := atom.Div
	switch n.DataAtom {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Html, atom.Select, atom.Pre, atom.Textarea:
		return
	case atom.Ul, atom.Ol:
		of = n.DataAtom
	}
	for crowded(n) {
		var groups []*html.Node
		for item := first(n); n.FirstChild != nil; {
			g := &html.Node{Type: html.ElementNode, DataAtom: of, Data: of.String()}
			if of == atom.Ol {
				g.Attr = []html.Attribute{{Key: "start", Val: strconv.Itoa(item)}}
			}
			for i := 0; i < maxSiblings && n.FirstChild != nil; i++ {
				c := n.FirstChild
				n.RemoveChild(c)
				g.AppendChild(c)
				if c.DataAtom == atom.Li {
					item++
				}
			}
			groups = append(groups, g)
		}
		for _, g := range groups {
			n.AppendChild(g)
		}
		if of != atom.Div && n.Type == html.ElementNode { // the element around the lists is no list
			of, n.DataAtom, n.Data, n.Attr = atom.Div, atom.Div, "div", nil
		}
	}
}

// first is the number of a list's first item.
func first(n *html.Node) int {
	for _, a := range n.Attr {
		if start, err := strconv.Atoi(a.Val); a.Key == "start" && err == nil {
			return start
		}
	}
	return 1
}

func crowded(n *html.Node) bool {
	i := 0
	for range n.ChildNodes() {
		if i++; i > maxSiblings {
			return true
		}
	}
	return false
}
