package proxy

import (
	"strings"
	"unicode/utf8"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
)

// explained is one line of the live explanation: a part of the username, the brackets
// below it, and the rows of labels below those.
type explained struct {
	name     string
	brackets string
	labels   []string
	// spans are the parts in name, for their colours.
	spans []span
}

// span is a part on a line, in cells from its left edge.
type span struct {
	from, to int // to is exclusive
	label    string
	kind     model.PartKind
	bad      bool
}

// explain splits a username into lines of at most width cells and labels its parts.
// Lines break at the "-" between parts if possible.
func explain(parts []model.UsernamePart, width int) []explained {
	if width < 8 {
		return nil
	}
	var lines []explained
	var cur explained
	flush := func() {
		if cur.name != "" {
			lines = append(lines, cur)
		}
		cur = explained{}
	}
	for i, p := range parts {
		words := text.Clean(p.Text)
		if words == "" {
			words = "?"
		}
		if i < len(parts)-1 {
			words += "-"
		}
		if w := text.Width(cur.name); w > 0 && w+text.Width(words) > width {
			flush()
		}
		for words != "" {
			room := width - text.Width(cur.name)
			chunk := head(words, room)
			if chunk == "" { // nothing more fits on this line
				flush()
				continue
			}
			from := text.Width(cur.name)
			cur.name += chunk
			words = words[len(chunk):]
			to := text.Width(cur.name)
			if words == "" && i < len(parts)-1 {
				to-- // without the "-"
			}
			if to > from {
				cur.spans = append(cur.spans, span{from: from, to: to, label: label(p), kind: p.Kind, bad: p.Problem != nil})
			}
			if words != "" {
				flush()
			}
		}
	}
	flush()
	for i := range lines {
		lines[i].bracket(width)
	}
	return lines
}

// head is the longest prefix of s, in whole runes, of at most room cells.
func head(s string, room int) string {
	if text.Width(s) <= room {
		return s
	}
	end := 0
	for i, r := range s {
		next := i + utf8.RuneLen(r)
		if text.Width(s[:next]) > room {
			break
		}
		end = next
	}
	return s[:end]
}

// label is the word below a part. Fixed words and the names of parameters with a value
// have none; the value has the label.
func label(p model.UsernamePart) string {
	switch p.Kind {
	case model.PartWord:
		return ""
	case model.PartParam:
		if p.Problem == nil {
			return ""
		}
		return p.Name
	default:
		return text.Clean(p.Name)
	}
}

// bracket draws the brackets and places each label below the middle of its bracket, on
// the first row where it does not touch its neighbour.
func (e *explained) bracket(width int) {
	row := blank(width)
	var ends []int // per label row: the first cell that is free
	var labels [][]rune
	for _, s := range e.spans {
		if s.label == "" {
			continue
		}
		mid := drawBracket(row, s.from, s.to)
		text := []rune(text.Cut(s.label, width))
		start := max(0, min(mid-len(text)/2, width-len(text)))
		line := 0
		for line < len(ends) && ends[line] > start {
			line++
		}
		if line == len(ends) {
			ends, labels = append(ends, 0), append(labels, blank(width))
		}
		copy(labels[line][start:], text)
		ends[line] = start + len(text) + 1
		for above := range line { // connect it to its bracket
			if labels[above][mid] == ' ' {
				labels[above][mid] = '│'
			}
			ends[above] = max(ends[above], mid+2)
		}
	}
	e.brackets = strings.TrimRight(string(row), " ")
	for _, l := range labels {
		e.labels = append(e.labels, strings.TrimRight(string(l), " "))
	}
}

// drawBracket draws ╰─┬─╯ from from to to and returns the cell of its stem.
func drawBracket(row []rune, from, to int) int {
	switch w := to - from; w {
	case 1:
		row[from] = '│'
		return from
	case 2:
		row[from], row[from+1] = '╰', '┬'
		return from + 1
	default:
		for i := from + 1; i < to-1; i++ {
			row[i] = '─'
		}
		mid := from + w/2
		row[from], row[mid], row[to-1] = '╰', '┬', '╯'
		return mid
	}
}

func blank(n int) []rune { return []rune(strings.Repeat(" ", n)) }
