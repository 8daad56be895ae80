package model

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"
)

// verdict is what a page is, by its signs.
type verdict int

const (
	ordinary  verdict = iota
	challenge         // something is to be solved first
	refusal           // the site refuses, whatever the status says
)

// Bounds of what counts as a page with little on it, in bytes of visible text.
const (
	littleText    = 1500 // a challenge has a few sentences
	littleTextMax = 6000 // with a challenge's title and a widget it may explain itself
)

// maxCookies bounds the names of cookies that are looked at.
const maxCookies = 64

// The places of marks that are not in the body: a cookie, and none at all.
const (
	inCookie = "a cookie's name"
	nowhere  = ""
)

// weigh decides what the page is. One sign is enough when it stands on challenge
// pages only. Of the others it takes two that do not follow from each other: a
// title, a widget (or a picture with a field to type what it shows), a trace, what
// a text begins with, that nothing else is there. A title beside a trace is not
// enough: a defence leaves its traces on every page. A page on which a person has
// something else to fill in, or with more than a few sentences, is an ordinary one.
func (p *page) weigh(body []byte, cookies []string) {
	if p.seen.has(decides) {
		p.verdict = challenge
		return
	}
	if !p.html || p.cut || p.text >= littleTextMax || len(trimStart(body)) == 0 {
		return
	}
	picture := p.seen.has(picture) && (p.answer || p.typed > 0)
	fields := p.fields
	if picture && !p.answer {
		fields-- // where the picture's text is typed
	}
	if fields > 0 {
		return
	}
	p.cookies(cookies)
	asks, title, traced := p.seen.has(widget) || picture, p.seen.has(titled), p.seen.has(trace)
	if !asks && !title && !traced {
		return
	}
	if p.text < littleText && (!asks || !title) {
		p.words()
	}
	switch {
	case asks && title, p.seen.has(words):
	case p.text > p.aside || p.other || p.inline && !asks && !title:
		return
	default:
		p.keep(mark{text: "nothing else", where: nowhere, of: "nothing else is on the page: no text, link, picture or field"}, words)
	}
	p.verdict = challenge
	if p.refuses && !asks && !p.seen.has(trace) {
		p.verdict = refusal
	}
}

// cookies adds the traces that a defence leaves among the cookies.
func (p *page) cookies(names []string) {
	for _, name := range names[:min(len(names), maxCookies)] {
		for _, c := range challengeCookies {
			if strings.HasPrefix(name, c.name) {
				p.keep(mark{text: c.name, where: inCookie, of: c.of}, trace)
			}
		}
	}
}

// titleText compares the page's title.
func (s *scan) titleText(at int, raw []byte) {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) > maxQuote {
		trimmed = trimmed[:maxQuote]
	}
	s.title = plain(trimmed)
	for whole := s.title; ; {
		bare := strings.TrimRight(whole, ".!?… ")
		of := ""
		switch {
		case slices.Contains(challengeTitles, bare):
			of = "a challenge page"
		case slices.Contains(refusalTitles, bare):
			of = "a refusal"
		}
		if of != "" {
			length := len(trimmed)
			if hasPrefixFold(trimmed, bare) {
				length = len(bare)
			}
			s.add(mark{text: bare, where: "the title", of: of, offset: at + bytes.Index(raw, trimmed), length: length}, titled)
			return
		}
		cut := max(strings.LastIndex(whole, " | "), strings.LastIndex(whole, " - "), strings.LastIndex(whole, " – "))
		if cut < 0 {
			return
		}
		whole = whole[:cut]
	}
}

// plain is a text of a page in lower case, with single spaces and without entities.
func plain(b []byte) string {
	return strings.ToLower(strings.Join(strings.Fields(html.UnescapeString(string(b))), " "))
}

// words looks for texts that begin as those of challenge pages do. A heading that
// repeats the title is no second sign.
func (p *page) words() {
	solvable := false
	for _, run := range p.runs {
		text := plain(run.value)
		if text == p.title {
			continue
		}
		for _, w := range challengeWords {
			if !strings.HasPrefix(text, w.begins) || w.holds != nil && !slices.ContainsFunc(w.holds, func(h string) bool { return strings.Contains(text, h) }) {
				continue
			}
			p.refuses = p.refuses || w.refusal
			solvable = solvable || !w.refusal
			value := bytes.TrimSpace(run.value)
			length := len(value)
			if hasPrefixFold(value, w.begins) {
				length = len(w.begins)
			}
			p.keep(mark{text: w.begins, where: "the text", of: w.of, offset: run.at + bytes.Index(run.value, value), length: length}, words)
			break
		}
	}
	p.refuses = p.refuses && !solvable
}

// observed is a mark as evidence.
func (m mark) observed() Evidence {
	switch m.where {
	case nowhere:
		return Evidence{Kind: "body", Text: m.of}
	case inCookie:
		return Evidence{Kind: "header", Text: fmt.Sprintf("%q in %s: %s", m.text, m.where, m.of)}
	default:
		return Evidence{Kind: "body", Text: fmt.Sprintf("%q in %s: %s", m.text, m.where, m.of), Offset: int64(m.offset), Length: int64(m.length)}
	}
}
