package page

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The converter's time grows with the square of the children of one element, and its memory with
// the cells of a table, counted by its spans and its widest row. Pages are remote bytes, so they
// are changed to stay within these bounds. Ordinary pages do not exceed them.
const (
	// maxSiblings bounds the children of one element; more are put into groups.
	maxSiblings = 500
	// maxCells bounds the cells of all tables of a page (rows by widest row, with spans); further
	// tables become paragraphs.
	maxCells = 50_000
	maxSpan  = 100
)

func tame(n *html.Node) {
	cells := maxCells
	for _, t := range tables(n) {
		if cells -= size(t); cells < 0 {
			flatten(t)
		}
	}
	group(n)
}

// tables lists the outermost tables below n; a table's size includes those nested in it.
func tables(n *html.Node) []*html.Node {
	var out []*html.Node
	for c := range n.ChildNodes() {
		if c.DataAtom == atom.Table && c.Type == html.ElementNode {
			out = append(out, c)
		} else {
			out = append(out, tables(c)...)
		}
	}
	return out
}

// size is the number of rows times the width of the widest one, with nested tables. It also
// bounds the spans.
func size(table *html.Node) int {
	rows, widest, width, tall := 0, 0, 0, 0
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Tr:
			rows++
			width = 0
		case atom.Td, atom.Th:
			c, r := span(n, "colspan"), span(n, "rowspan")
			width += c
			tall += (r - 1) * c // a cell that hangs down makes other rows wider
			widest = max(widest, width)
		}
	}
	return min(rows, maxCells)*min(widest, maxCells) + min(tall, maxCells)
}

// span returns a cell's span and bounds it in the tree.
func span(n *html.Node, name string) int {
	for i, a := range n.Attr {
		if a.Key != name {
			continue
		}
		v, err := strconv.Atoi(a.Val)
		if err != nil || v < 1 || v > maxSpan {
			v = 1
		}
		n.Attr[i].Val = strconv.Itoa(v)
		return v
	}
	return 1
}

// flatten turns a table into paragraphs, one for each row.
func flatten(table *html.Node) {
	var cells []*html.Node
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Caption, atom.Colgroup, atom.Tr:
			rename(n, atom.Div)
		case atom.Td, atom.Th:
			cells = append(cells, n)
		}
	}
	rename(table, atom.Div)
	for _, c := range cells {
		rename(c, atom.Span)
		c.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
	}
}

func rename(n *html.Node, to atom.Atom) {
	if n.Type == html.ElementNode {
		n.DataAtom, n.Data, n.Attr = to, to.String(), nil
	}
}

// group puts the children of an element with very many of them into groups, and those
// into groups again, until none has more than maxSiblings. A list becomes several
// lists; cells and rows stay, because tables are bounded by maxCells.
func group(n *html.Node) {
	for c := range n.ChildNodes() {
		group(c)
	}
	var of atom.Atom
	switch n.DataAtom {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Html, atom.Select, atom.Pre, atom.Textarea:
		return
	case atom.Ul, atom.Ol:
		of = n.DataAtom
	default:
		of = atom.Div
	}
	for count(n) > maxSiblings {
		var groups []*html.Node
		for at := 0; n.FirstChild != nil; at += maxSiblings {
			g := &html.Node{Type: html.ElementNode, DataAtom: of, Data: of.String()}
			if of == atom.Ol {
				g.Attr = []html.Attribute{{Key: "start", Val: strconv.Itoa(at + 1)}}
			}
			for i := 0; i < maxSiblings && n.FirstChild != nil; i++ {
				c := n.FirstChild
				n.RemoveChild(c)
				g.AppendChild(c)
			}
			groups = append(groups, g)
		}
		for _, g := range groups {
			n.AppendChild(g)
		}
		if of != atom.Div { // the element around the lists is not a list
			rename(n, atom.Div)
			of = atom.Div
		}
	}
}

// count counts the children up to one more than maxSiblings.
func count(n *html.Node) int {
	i := 0
	for range n.ChildNodes() {
		if i++; i > maxSiblings {
			break
		}
	}
	return i
}
