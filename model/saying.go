package model

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// phrases.tsv has what pages say in place of the page, by language.
//
//go:embed phrases.tsv
var phraseTable string

// saying is what a page says in place of the page, by what it says it with.
type saying struct {
	verdict  verdict
	language string // "de"
	text     string
	status   bool // it names a status of HTTP
}

// sayings are the rows of the table: titles by their text, and parts of texts.
type sayings struct {
	titles map[string]saying
	texts  []saying
}

var readSayings = sync.OnceValue(func() sayings {
	all := sayings{titles: map[string]saying{}}
	verdicts := map[string]verdict{"refused": refusal, "fast": tooFast, "human": challenge, "wait": waiting, "error": siteError}
	for line := range strings.Lines(phraseTable) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 4 {
			continue // a comment, or between two sources
		}
		for text := range strings.SplitSeq(cells[3], " | ") {
			s := saying{verdict: verdicts[cells[0]], language: cells[2], text: text}
			if cells[1] == "text" {
				all.texts = append(all.texts, s)
			} else if _, ok := all.titles[text]; !ok { // English, which comes first, has what several languages spell alike
				all.titles[text] = s
			}
		}
	}
	slices.SortStableFunc(all.texts, func(a, b saying) int { return len(b.text) - len(a.text) }) // the longest says the most
	return all
})

// opening is the text of the table with which a title begins, if it is a good part of it: "your access to this site has been
// limited by the site owner".
func (all sayings) opening(title string) (saying, bool) {
	if len(title) < shortestOpening {
		return saying{}, false
	}
	for _, n := range readPlaces().startingWith(startOf(title)) {
		if s := all.texts[n]; strings.HasPrefix(title, s.text) && len(s.text) >= shortestOpening && len(s.text)*3 >= len(title) && s.verdict != challenge {
			return s, true
		}
	}
	return saying{}, false
}

// shortestOpening is the least length of such a text, in bytes.
const shortestOpening = 15

// Bounds of a page that says something in place of the page, beside littleText.
const (
	tinyText  = 500 // bytes of visible text: a title and its heading are enough
	tinyLinks = 2
	// tinyHeading is a heading that says nothing, as "Sorry", in bytes.
	tinyHeading = 20
)

// sayingOrder is the order in which verdicts are looked for when a page says several things: one that waits for its turn
// or asks for a person may speak of a refusal, too.
var sayingOrder = []verdict{waiting, challenge, tooFast, refusal, siteError}

// hear decides what a page says that has little on it, in place of being the page. It takes two signs: a title or a heading, and
// a sentence; or a title that the heading repeats and next to nothing else. A sentence alone is enough where it is all there
// is, but for one that asks for a person. A page that waits may have queue as a sign, the cookies of a waiting room.
func (p *page) hear(queue ...mark) {
	if p.cut || p.quoted || p.text >= littleText || p.fields > p.shape.searches {
		return
	}
	p.shape.byWords = true
	h := p.listen()
	for _, v := range sayingOrder {
		if marks := h.signs(p, v); marks != nil {
			p.decide(v, marks...)
			return
		}
	}
	text, head := h.texts[waiting], h.heads[waiting]
	if len(queue) > 0 && (text.text != "" || head.text != "" || p.shape.reloads && p.text < tinyText && p.bare()) {
		p.decide(waiting, append(queue, head, text)...)
	}
}

// pageWords is what was found in a page's title, headings and sentences.
type pageWords struct {
	title        saying
	whole        bool // the title says nothing else
	heads, texts map[verdict]mark
	repeated     bool // a heading says what the title says
	blocks       []block
	rest         int     // bytes of the other texts
	first        verdict // of the first sentence, if it says hardly anything else
}

// listen finds what a page with little on it says.
func (p *page) listen() *pageWords {
	h := &pageWords{heads: map[verdict]mark{}, texts: map[verdict]mark{}, blocks: p.blocks(), first: -1}
	h.title, h.whole = p.titleSaying()
	for _, b := range h.blocks {
		switch s, ok := titleSays(b.text, b.heading && p.bare()); {
		case ok && (b.heading || h.rest == 0):
			if before, ok := h.heads[s.verdict]; !ok || strings.Contains(p.title, before.text) {
				h.heads[s.verdict] = b.mark(s, "a heading")
			}
			sentence, _ := readSayings().opening(b.text)
			if (len(sentence.text)*5 >= len(b.text)*3 || !b.heading && len(b.text) >= shortestOpening) && h.rest == 0 && h.first < 0 {
				h.first = s.verdict
			}
			h.repeated = h.repeated || s.verdict == h.title.verdict
		case strings.Contains(p.title, b.text): // a heading that repeats the title is no second sign
		default:
			h.read(b)
			if !b.heading || len(b.text) > tinyHeading {
				h.rest += len(b.text)
			}
		}
	}
	return h
}

// read finds what the sentences of a text say.
func (h *pageWords) read(b block) {
	for i, sentence := range sentences(b.text) {
		note := func(s saying, all bool) {
			h.texts[s.verdict] = b.mark(s, "the text")
			if all && h.rest == 0 && i == 0 && h.first < 0 {
				h.first = s.verdict
			}
		}
		begins := sentence
		for _, mark := range clauseEnds {
			begins, _, _ = strings.Cut(begins, mark)
		}
		if s, ok := titleSays(begins, false); ok && !s.isCode() {
			note(s, true)
		}
		for _, s := range readSayings().within(sentence) {
			if _, ok := h.texts[s.verdict]; !ok && s.in(sentence) {
				note(s, len(s.text)*5 >= len(sentence))
			}
		}
	}
}

// signs are the marks that are enough for a verdict; nil for too few.
func (h *pageWords) signs(p *page, v verdict) []mark {
	text, says := h.texts[v]
	head, headed := h.heads[v]
	about := h.title.text != "" && (h.title.verdict == v || v != siteError && h.title.verdict != siteError)
	tiny := p.text < tinyText && p.bare() && p.shape.pictures == 0
	plainly := v != challenge && v != waiting
	switch {
	case says && about:
		return []mark{p.titleMark(h.title), text}
	case says && headed:
		return []mark{head, text}
	case says && v == challenge && (p.strengths.has(widget) || p.strengths.has(picture)),
		says && v != challenge && tiny && h.first == v && len(h.blocks) <= 4:
		return []mark{text}
	case about && headed && h.title.verdict == v && !strings.Contains(p.title, head.text):
		return []mark{p.titleMark(h.title), head}
	case headed && plainly && h.rest == 0 && (p.title == "" || v == siteError && tiny) && len(head.text) > len("404"):
		return []mark{head}
	case plainly && h.whole && h.repeated && tiny && h.title.verdict == v && (h.title.status || h.rest == 0 || speakOfAccess(h.blocks)):
		return []mark{p.titleMark(h.title), head}
	case headed && plainly && tiny && h.first == v && len(h.blocks) <= 4 && !strings.Contains(p.title, head.text):
		return []mark{head}
	}
	return nil
}

// in reports whether a sentence says it: English, of which there is much to read about such pages, at its beginning or
// behind a few words, another language anywhere.
func (s saying) in(sentence string) bool {
	at := strings.Index(sentence, s.text)
	if at < 0 || s.language != "en" || s.verdict == siteError {
		return at >= 0
	}
	clause := strings.LastIndex(sentence[:at], ", ") + 1
	return at-clause <= fewWords
}

// isCode reports whether it is nothing but a status.
func (s saying) isCode() bool { return len(s.text) <= len("404") }

// clauseEnds end the first words of a sentence, as in "too many requests, please try again".
var clauseEnds = []string{",", ";", ":", "–", "—", "(", " -"}

// fewWords is how much of a sentence may stand before what it says, in bytes: "sorry, ", "error: ", "unfortunately, ".
const fewWords = 16

// sentences are those of a text, as plain gives it, that state something: without quotes, and no questions.
func sentences(text string) []string {
	var out []string
	for s := range strings.SplitSeq(sentenceEnds.Replace(text), "\n") {
		s = strings.TrimSpace(s)
		if s != "" && !strings.ContainsFunc(s, quotationMark) && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "？") {
			out = append(out, s)
		}
	}
	return out
}

func quotationMark(r rune) bool {
	switch r {
	case '"', '“', '”', '„', '«', '»', '「', '」':
		return true
	default:
		return false
	}
}

var sentenceEnds = strings.NewReplacer(". ", "\n", "! ", "\n", "? ", "?\n", "。", "\n", "！", "\n")

// speakOfAccess reports whether the texts of a page speak of its reader and of access, as a refusal does and a page of that
// title does not.
func speakOfAccess(blocks []block) bool {
	for _, b := range blocks {
		if !b.heading && accessWords().MatchString(b.text) {
			return true
		}
	}
	return false
}

var accessWords = Pattern(`\b(your (ip|request|browser|access|network|account|connection|location)|not (allowed|permitted|authorized|authorised)|permission|administrator|contact us|incident|support id|ray id|reference (id|number|#)|event id|try again|denied|blocked|forbidden|nginx|apache|openresty|cloudfront|server at)\b`)

// decide makes it the verdict of the page, by these marks.
func (p *page) decide(v verdict, marks ...mark) {
	p.verdict = v
	for _, m := range marks {
		known := slices.ContainsFunc(p.marks, func(o mark) bool { return o.place == m.place && o.offset == m.offset })
		if m.text != "" && !known {
			p.keep(m, words)
		}
	}
}

// block is a stretch of text without an element in it that begins a new line.
type block struct {
	span
	text    string // as plain gives it
	heading bool
}

// mark is the place of a saying in a block.
func (b block) mark(s saying, place string) mark {
	from, length := find(b.value, s.text)
	return mark{text: s.text, place: place, name: s.about(), offset: b.at + from, length: length}
}

// blocks are the texts of a page with little on it.
func (p *page) blocks() []block {
	var out []block
	var raw []byte
	flush := func() {
		if len(out) > 0 {
			out[len(out)-1].text = plain(raw)
		}
		raw = raw[:0]
	}
	for _, r := range p.runs {
		if r.hidden {
			continue
		}
		if len(out) == 0 || r.begins || out[len(out)-1].heading != r.heading {
			flush()
			out = append(out, block{span: r.span, heading: r.heading})
		}
		raw = append(raw, r.value...)
	}
	flush()
	return slices.DeleteFunc(out, func(b block) bool { return b.text == "" })
}

// endMarks end a title without a meaning.
const endMarks = ".!?…:。！？： "

// titleSaying is what the title says, and whether all of it does.
func (p *page) titleSaying() (s saying, whole bool) {
	if s, ok := titleSays(p.title, p.bare()); ok {
		return s, true
	}
	for _, part := range strings.Split(titleMarks.Replace(p.title), " | ") {
		if s, ok := titleSays(part, p.bare()); ok && (s.status || len(s.text) > len("forbidden")) { // one word may be a name
			return s, false
		}
	}
	return saying{}, false
}

func (p *page) titleMark(s saying) mark {
	if s.text == "" {
		return mark{}
	}
	from, length := find(p.shape.titleAt.value, s.text)
	return mark{text: s.text, place: "the title", name: s.about(), offset: p.shape.titleAt.at + from, length: length}
}

// codeFirst is a title that begins with a status, or ends with one in brackets.
var (
	codeFirst = Pattern(`^(?:(?:http|https|status|error|code|fehler|erreur|errore|erro|fout|błąd|hata|lỗi|ошибка|エラー|错误|錯誤|오류|خطا|خطأ)[ /:#]*){0,3}([45][0-9]{2})(?:[ .:–—-]+(.*))?$`)
	codeLast  = Pattern(`^(?:error )?(.*?)[ :-]*(?:error )?\(?([45][0-9]{2})\)?$`)
)

// bare reports whether a page has hardly a link, so that its title may go on behind what it says.
func (p *page) bare() bool { return p.shape.links <= tinyLinks }

// titleSays is what a title or a heading says, which is no question but for one that asks for a human: a phrase of the table, or a status of HTTP, alone or with
// one. A loose one may begin with a text of the table.
func titleSays(text string, loose bool) (saying, bool) {
	question := strings.HasSuffix(strings.TrimSpace(text), "?")
	text = strings.Trim(text, endMarks)
	if s, ok := readSayings().titles[text]; ok {
		return s, !question || s.verdict == challenge
	}
	if question {
		return saying{}, false
	}
	code, rest := "", ""
	if !loose && !mayHaveCode(text) {
		return saying{}, false
	}
	if m := codeFirst().FindStringSubmatch(text); m != nil {
		code, rest = m[1], m[2]
	} else if m := codeLast().FindStringSubmatch(text); m != nil && m[1] != "" {
		code, rest = m[2], m[1]
	} else if s, ok := readSayings().opening(text); ok && loose {
		return s, true
	} else {
		return saying{}, false
	}
	rest = strings.Trim(rest, endMarks+"()")
	known, ok := readSayings().titles[rest]
	if !ok {
		known, ok = readSayings().titles[strings.TrimSuffix(strings.TrimPrefix(rest, "error "), " error")]
	}
	if !ok && loose {
		known, ok = readSayings().opening(rest)
	}
	if !ok && rest != "" {
		return saying{}, false
	}
	s := saying{verdict: siteError, language: known.language, text: text, status: rest != ""}
	switch code {
	case "401", "403", "406", "451":
		s.verdict = refusal
	case "429":
		s.verdict = tooFast
	}
	return s, true
}

// about says what a saying is evidence of, and in which language.
func (s saying) about() string {
	about := map[verdict]string{
		refusal: "it refuses the request", tooFast: "it says that requests come too fast", challenge: "it asks for a human",
		waiting: "it asks to wait in a queue", siteError: "it is an error page of the site",
	}[s.verdict]
	if name := languages[s.language]; name != "" {
		about += inLanguage + name
	}
	return about
}

// inLanguage stands before the name of a language in what a saying is evidence of.
const inLanguage = ", in "

// languages are those of phrases.tsv.
var languages = map[string]string{
	"ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean",
	"nb": "Norwegian", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}
