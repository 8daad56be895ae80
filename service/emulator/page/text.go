package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

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
