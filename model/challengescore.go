package model

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// verdict is what a page is, by its signs.
type verdict int

const (
	ordinary  verdict = iota
	challenge         // something is to be solved first
	refusal           // the site refuses, whatever the status says
	tooFast           // it says that requests come too fast
	waiting           // it lets people wait for their turn
	siteError         // it is an error page of the site
	leadsAway         // it shows nothing, and a script or a refresh leads to another address
)

// Bounds of what counts as a page with little on it, in bytes of visible text.
const (
	littleText    = 1500 // a challenge has a few sentences
	littleTextMax = 6000 // with a challenge's title and a widget it may explain itself
)

// maxQuoted bounds how much of a text is read as markup that is written out.
const maxQuoted = 4 << 10

// maxCookies bounds the names of cookies that are looked at.
const maxCookies = 64

// Places of marks; a cookie and no place at all are not in the body.
const (
	inClass  = "a class"
	inID     = "an id"
	inCookie = "a cookie's name"
	nowhere  = ""
)

// weigh decides what the page is. One sign is enough when it stands on challenge
// pages only. Of the others it takes two that do not follow from each other: a
// title, a widget (or a picture with a field to type what it shows), a trace, what
// a text says, that nothing else is there. A defence leaves its traces on every page,
// so one needs a page without links and pictures, and a title beside it is not
// enough. A page on which a person has something else to fill in, or with more than a
// few sentences, is an ordinary one; so is one that writes the markup of a CAPTCHA out.
func (p *page) weigh(body []byte, cookieNames []string) {
	p.weighSigns(body, cookieNames)
	if p.verdict != ordinary || !p.html {
		return
	}
	switch p.hear(cookies(cookieNames, queueCookies)...); {
	case p.verdict != ordinary:
	case p.shape.away.value != nil:
		p.lead()
	case len(trimStart(body)) > 0 && !p.cut && !p.inline && !p.shape.loads && p.shape.elements == 0 && p.blank():
		p.decide(leadsAway, mark{text: "nothing", place: nowhere, name: "nothing is on the page: no text, element or script"})
	}
}

// blank reports whether a page has no text, be it only for browsers without scripts.
func (p *page) blank() bool {
	return p.text < littleText && !slices.ContainsFunc(p.runs, run.visible)
}

// visible reports whether anything of it can be seen.
func (r run) visible() bool {
	before, entities, found := bytes.Cut(r.value, []byte("&"))
	return bytes.ContainsFunc(before, visible) || found && strings.ContainsFunc(html.UnescapeString("&"+string(entities)), visible)
}

// lead decides what a page is that leads to another address by itself, and shows nothing and loads nothing that could; or
// next to nothing, if the address is one for those who are kept out.
func (p *page) lead() {
	if p.cut || p.shape.loads || p.shape.pictures > 0 || p.fields > 0 || p.text >= tinyText {
		return
	}
	away := p.shape.away
	m := mark{text: Line(string(away.value), 80), place: "a script or a refresh", name: "it leads to another address, and nothing else is on the page", offset: away.at, length: len(away.value)}
	address, _, _ := bytes.Cut(bytes.ToLower(away.value), []byte("?"))
	kept := keptOut().FindSubmatch(address)
	switch {
	case waitingHost().Match(address):
		m.name = "it leads to a waiting room"
		p.decide(waiting, m)
	case kept != nil && p.shape.links <= tinyLinks:
		m.name = "it leads to where visitors are kept out"
		v := refusal
		if len(kept[1]) > 0 {
			m.name, v = "it leads to where a human is asked for", challenge
		}
		p.decide(v, m)
	case p.shape.links == 0 && len(p.blocks()) == 0:
		p.decide(leadsAway, m)
	}
}

// waitingHost is the address of a waiting room.
var waitingHost = Pattern(`\.queue-it\.net\b`)

// keptOut is an address, or a part of one, for those who are kept out of a site; its first group asks for a human.
var keptOut = Pattern(`[/=_.-](?:(captcha|recaptcha|challenge|bot-?check|human-?check|verify-?human|are-?you-?human|robot-?check)|blocked|block-?page|access-?_?denied|denied|forbidden|banned|ip-?blocked|geo-?block(?:ed)?|not-?allowed)(?:[/#._"'-]|$)`)

// weighSigns looks at the signs of defences.
func (p *page) weighSigns(body []byte, cookieNames []string) {
	if p.strengths.has(decides) {
		p.verdict = challenge
		return
	}
	if !p.html || p.cut || p.quoted || p.text >= littleTextMax || len(trimStart(body)) == 0 {
		return
	}
	if p.typed == 1 && p.fields == 1 { // it may be for what a picture shows, whatever the picture's address is
		p.markTexts()
	}
	picture := p.strengths.has(picture) && (p.answer || p.typed > 0)
	fields := p.fields
	if picture && !p.answer {
		fields-- // where the picture's text is typed
	}
	if fields > 0 {
		return
	}
	for _, m := range cookies(cookieNames, challengeCookies) { // traces that a defence leaves
		p.keep(m, trace)
	}
	asks, title, traced := p.strengths.has(widget) || picture, p.strengths.has(titled), p.strengths.has(trace)
	if !asks && !title && !traced {
		return
	}
	if !asks || !title {
		p.markTexts()
	}
	says := p.strengths.has(words) || p.strengths.has(refusing)
	switch {
	case asks && title, says && (asks || title || !p.otherContent):
	case p.text > p.onButtons || p.otherContent || p.inline && !asks && !title:
		return
	default:
		p.keep(mark{text: "nothing else", place: nowhere, name: "nothing else is on the page: no text, link, picture or field"}, words)
	}
	p.verdict = challenge
	if p.strengths.has(refusing) && !p.strengths.has(words) && !asks {
		p.verdict = refusal
	}
}

// quotes reports whether a text of a page is markup with a CAPTCHA in it, as documentation shows
// it: it begins with a tag, and holds a class or an id of elementMarks. A text that has a tag further
// on may be an address that a challenge page repeats.
func quotes(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '&' {
		return false
	}
	s := scan{body: []byte(html.UnescapeString(string(text[:min(len(text), maxQuoted)])))}
	if s.body[0] != '<' {
		return false
	}
	s.quoted = true // what is written out in it is not read once more
	s.markup()
	return slices.ContainsFunc(s.marks, func(m mark) bool { return m.place == inClass || m.place == inID })
}

// cookies finds some among the names of cookies.
func cookies(names []string, known []cookieMark) (out []mark) {
	for _, name := range names[:min(len(names), maxCookies)] {
		for _, c := range known {
			if strings.HasPrefix(name, c.name) {
				out = append(out, mark{text: c.name, place: inCookie, name: c.defence})
			}
		}
	}
	return out
}

// titleText compares the page's title, and its parts.
func (s *scan) titleText(at int, raw []byte) {
	at += bytes.Index(raw, bytes.TrimSpace(raw))
	raw = bytes.TrimSpace(raw)
	raw = raw[:min(len(raw), maxQuote)]
	s.title, s.shape.titleAt = plain(raw), span{at, raw}
	for _, part := range strings.Split(titleMarks.Replace(s.title), " | ") {
		part = strings.TrimRight(part, ".!?… ")
		of := ""
		switch {
		case slices.Contains(challengeTitles, part):
			of = "a challenge page"
		case slices.Contains(refusalTitles, part):
			of = "a refusal"
		default:
			continue
		}
		from, length := find(raw, part)
		s.add(mark{text: part, place: "the title", name: of, offset: at + from, length: length}, titled)
	}
}

// titleMarks makes what sets off parts of a title the same.
var titleMarks = strings.NewReplacer(" · ", " | ", " - ", " | ", " – ", " | ", " — ", " | ")

// find gives the place of a text in lower case, or all of b when it is written
// otherwise there.
func find(b []byte, text string) (from, length int) {
	for i := range b {
		if hasPrefixFold(b[i:], text) {
			return i, len(text)
		}
	}
	return 0, len(b)
}

// plain is a text of a page in lower case, with single spaces and straight
// apostrophes, and without entities.
func plain(b []byte) string {
	text := html.UnescapeString(string(b))
	var out strings.Builder
	out.Grow(len(text))
	apart := false // from what is before it
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			apart = out.Len() > 0
			continue
		case apart:
			out.WriteByte(' ')
			apart = false
		}
		switch {
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r == '’':
			r = '\''
		case r >= utf8.RuneSelf:
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

// markTexts looks for texts that read as those of challenge pages do. A heading that
// repeats the title is no second sign.
func (p *page) markTexts() {
	if p.read {
		return
	}
	p.read = true
	for _, run := range p.runs {
		text := plain(run.value)
		if text == p.title {
			continue
		}
		for _, w := range wordings {
			if begins, holds, ok := w.reads(text); ok {
				from, length := find(run.value, begins)
				if holds != "" {
					holds = "…" + holds
				}
				p.keep(mark{text: begins + holds, place: "the text", name: w.name, offset: run.at + from, length: length}, w.strength)
				break
			}
		}
	}
}

// observed is a mark as evidence.
func (m mark) observed() Evidence {
	switch m.place {
	case nowhere:
		return Evidence{Kind: "body", Text: m.name}
	case inCookie:
		return Evidence{Kind: "header", Text: fmt.Sprintf("%q in %s: %s", m.text, m.place, m.name)}
	default:
		return Evidence{Kind: "body", Text: fmt.Sprintf("%q in %s: %s", m.text, m.place, m.name), Offset: int64(m.offset), Length: int64(m.length)}
	}
}
