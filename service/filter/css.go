package filter

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"zonedeck/model"
)

// maxSteps bounds the nodes that a selector may have to look at to decide about one
// element. Between elements a run can be stopped, within one it cannot.
const maxSteps = 300_000_000

// errSteps says that a selector may take too long on a page of this shape.
var errSteps = errors.New("the selector may take too long on this page: use fewer ~, :has and descendants")

func (d *Document) css(ctx context.Context, expr string, selector cascadia.Selector) (Result, error) {
	if d.shape.steps(expr) > maxSteps {
		return Result{}, errSteps
	}
	ctx, stop := bounded(ctx)
	defer stop()
	res := Result{Type: "text/html", Note: d.note}
	var out bytes.Buffer
	for n := range d.page.Nodes[0].Descendants() {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if !selector.Match(n) {
			continue
		}
		var text bytes.Buffer
		if err := html.Render(&text, n); err != nil {
			return Result{}, err
		}
		if res.Matches == maxMatches || out.Len()+text.Len() >= maxOutput {
			res.Note = d.cutNote(res.Matches)
			break
		}
		out.WriteString(strings.TrimSpace(text.String()) + "\n")
		res.Matches++
	}
	res.Text = out.Bytes()
	return res, nil
}

// shape is how large a page is, in nodes: all of them, the most that have one parent, and
// the longest chain of ancestors.
type shape struct{ size, width, depth int }

func shapeOf(page *goquery.Document) shape {
	var s shape
	depth := 0
	for n := page.Nodes[0]; n != nil; {
		s.size++
		s.depth = max(s.depth, depth)
		if n.FirstChild != nil {
			width := 0
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				width++
			}
			s.width = max(s.width, width)
			n, depth = n.FirstChild, depth+1
			continue
		}
		for n != nil && n.NextSibling == nil {
			n, depth = n.Parent, depth-1
		}
		if n != nil {
			n = n.NextSibling
		}
	}
	return s
}

// The parts of a selector that look further than at the element, its parent and the element
// before it.
var (
	tight   = model.Pattern(`\s*([>+~,])\s*`)
	farther = model.Pattern(`(?i)^:(has|haschild|contains|containsown|matches|matchesown|nth-[a-z-]+)\($`)
	part    = model.Pattern(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[|\]|:?[\w-]*\(|\)|~|\s+`)
)

// steps is about how many nodes a selector looks at, at worst, to decide about one element:
// each choice of ancestors and of siblings before, and what is below for each of them.
func (s shape) steps(expr string) float64 {
	ancestors, siblings, below, deepest := 0, 0, 0, 0
	var open []bool // for each bracket whether it looks below
	for _, word := range part().FindAllString(tight().ReplaceAllString(strings.TrimSpace(expr), "$1"), -1) {
		switch {
		case word == "[" || strings.HasSuffix(word, "("):
			open = append(open, farther().MatchString(word))
			if open[len(open)-1] {
				below++
				deepest = max(deepest, below)
			}
		case word == "]" || word == ")":
			if n := len(open); n > 0 {
				if open[n-1] {
					below--
				}
				open = open[:n-1]
			}
		case word == "~":
			siblings++
		case strings.TrimSpace(word) == "":
			ancestors++
		}
	}
	steps := choices(s.depth, ancestors) * choices(s.width, siblings)
	for range deepest {
		steps *= float64(s.size)
	}
	return steps
}

// choices is in how many ways k of n things can be chosen.
func choices(n, k int) float64 {
	out := 1.0
	for i := range min(k, n/2) {
		out *= float64(n-i) / float64(i+1)
	}
	return out
}
