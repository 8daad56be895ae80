package model

import (
	"bytes"
	"slices"
	"strings"
)

// page is what one pass over a body found. It reads HTML as far as it must: tags
// and their attributes, inline scripts, the title, and how much text is left.
type page struct {
	marks        []mark
	strengths    strengths
	html         bool
	title        string // as plain gives it; only the first one counts
	text         int    // bytes of visible text, spaces left out; counted up to littleTextMax
	onButtons    int    // how many of them stand on buttons or are for browsers without scripts
	otherContent bool   // something is linked to, shown or run that is no CAPTCHA's, or the page leads on
	// inline says that there is a script in the page that is no mark.
	inline bool
	fields int  // fields that ask a person for something
	typed  int  // how many of them could take what a picture shows
	answer bool // there is a field that is named as a CAPTCHA's
	quoted bool // the markup of a CAPTCHA is written out, for people to copy
	cut    bool // the body goes on beyond what was scanned

	read bool  // the texts have been looked at
	runs []run // the texts, as long as there is little of it

	verdict verdict // by weigh
	shape   shape
}

// shape is what else is on a page.
type shape struct {
	titleAt  span
	links    int
	elements int  // that may show something
	pictures int  // whatever shows more than text: pictures, films, frames, drawings
	searches int  // fields that search
	loads    bool // a script of an address
	reloads  bool // it is loaded again after a while
	away     span // where a script or a refresh leads
	// byWords says that the verdict is by what the page says alone, which is not a defence's own sign.
	byWords bool
}

// strengths is a set of them.
type strengths uint8

func (s strengths) has(w strength) bool { return s&(1<<w) != 0 }

// mark is a place in the body that speaks of a challenge.
type mark struct {
	text   string
	place  string
	name   string
	offset int
	length int
}

// Bounds of the scan.
const (
	maxScan    = 256 << 10
	maxMarks   = 8
	maxScript  = 64 << 10 // bytes of an inline script that are looked at
	maxAddress = 512      // bytes of an address that are looked at
	maxJSON    = 8 << 10
	maxProse   = 600
)

// scanPage looks for the marks of challenge.go. It takes time linear in the body
// whatever the body holds.
func scanPage(contentType string, body []byte, more bool) page {
	s := scan{body: body}
	if len(s.body) > maxScan {
		s.body = s.body[:maxScan]
	}
	s.cut = more || len(body) > len(s.body)
	switch kind, _, _ := strings.Cut(strings.ToLower(contentType), ";"); strings.TrimSpace(kind) {
	case "text/html", "application/xhtml+xml":
		if looksLikeJSON(s.body) {
			s.json()
		} else {
			s.markup()
		}
	case "application/json", "text/json", "application/problem+json":
		s.json()
	case "application/javascript", "text/javascript", "text/css", "text/markdown":
	default:
		// Raw answers may come without the target's type.
		if looksLikeHTML(s.body) {
			s.markup()
		} else if looksLikeJSON(s.body) {
			s.json()
		} else if strings.HasPrefix(strings.TrimSpace(kind), "text/") || kind == "" {
			s.prose()
		}
	}
	return s.page
}

const byteOrderMark = "\xef\xbb\xbf"

func trimStart(b []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(b, []byte(byteOrderMark)), " \t\r\n")
}

func looksLikeHTML(b []byte) bool {
	b = trimStart(b)
	return hasPrefixFold(b, "<!doctype html") || hasPrefixFold(b, "<html") || hasPrefixFold(b, "<head")
}

func looksLikeJSON(b []byte) bool { return bytes.HasPrefix(trimStart(b), []byte("{")) }

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && strings.EqualFold(string(b[:len(prefix)]), prefix)
}

// scan is a pass over a body.
type scan struct {
	page
	body []byte
	// inside is the element whose text does not count as shown, or "".
	inside string
	// heading says that a heading is open, begins that what comes begins a line.
	heading, begins bool
	// unseen is the element that is not shown to anybody, depth how many of its name are open in it.
	unseen string
	depth  int
}

func (s *scan) json() {
	if len(s.body) <= maxJSON && !s.cut {
		s.parts("the JSON", jsonMarks, 0, s.body)
	}
	s.jsonSays()
}

// prose looks at a short text that is no markup: what a defence answers in plain words.
func (s *scan) prose() {
	if len(s.body) > maxProse || s.cut {
		return
	}
	s.begins = true
	s.visible(0, len(s.body))
	s.hear()
}

func (s *scan) markup() {
	s.html = true
	b := s.body
	i := 0
	if bytes.HasPrefix(b, []byte(byteOrderMark)) {
		i = len(byteOrderMark)
	}
	for i < len(b) {
		lt := bytes.IndexByte(b[i:], '<')
		if lt < 0 {
			s.visible(i, len(b))
			return
		}
		s.visible(i, i+lt)
		i += lt
		switch {
		case bytes.HasPrefix(b[i:], []byte("<!--")):
			end := bytes.Index(b[i+4:], []byte("-->"))
			if end < 0 {
				return
			}
			i += 4 + end + 3
		case i+1 < len(b) && isLetter(b[i+1]):
			i = s.element(i + 1)
		case i+1 < len(b) && (b[i+1] == '/' || b[i+1] == '!' || b[i+1] == '?'):
			end := bytes.IndexByte(b[i:], '>')
			if end < 0 {
				return
			}
			if b[i+1] == '/' {
				s.closed(b[i+2 : i+end])
			}
			i += end + 1
		default:
			s.visible(i, i+1)
			i++
		}
	}
}

// visible counts text, as long as the count can still decide something.
func (s *scan) visible(from, to int) {
	if s.text >= littleTextMax {
		return
	}
	before := s.text
	for _, c := range s.body[from:to] {
		if s.text >= littleTextMax {
			break
		}
		if !isBlank(c) {
			s.text++
		}
	}
	if s.inside != "" {
		s.onButtons += s.text - before
	} else if s.text > before && !s.quoted {
		s.quoted = quotes(s.body[from:to])
	}
	switch {
	case s.text >= littleText:
		s.runs = nil
	case s.text > before:
		s.runs = append(s.runs, run{span{from, s.body[from:to]}, s.heading, s.begins, s.inside == "noscript" || s.unseen != ""})
		s.begins = false
	default: // blanks between two words
		s.runs = append(s.runs, run{span{from, s.body[from:to]}, s.heading, false, s.inside == "noscript" || s.unseen != ""})
	}
}

// element reads the start tag whose name begins at i and, for an element whose
// content is not markup, that content. It returns where to go on.
func (s *scan) element(i int) int {
	b := s.body
	start := i
	for i < len(b) && !isBlank(b[i]) && b[i] != '/' && b[i] != '>' {
		i++
	}
	e := element{tag: lowerName(b[start:i]), kind: "text"}
	for i < len(b) && b[i] != '>' {
		var name string
		var from, to int
		name, from, to, i = s.attribute(i)
		e.see(name, from, b[from:to])
	}
	if i < len(b) {
		i++
	}
	s.opened(&e)
	switch e.tag {
	case "script", "style", "textarea", "title", "xmp":
		end, next := s.rawText(i, e.tag)
		switch {
		case e.tag == "script" && !e.json:
			script := b[i:min(end, i+maxScript)]
			if at := leading().FindIndex(script[:min(len(script), maxLeading)]); at != nil && s.shape.away.value == nil {
				s.shape.away = span{i + at[0], script[at[0]:min(len(script), at[0]+maxAddress)]}
			}
			if !s.parts("an inline script", scriptMarks, i, script) && len(bytes.TrimSpace(script)) > 0 {
				s.inline = true
			}
		case e.tag == "title" && s.title == "":
			s.titleText(i, b[i:end])
		}
		return next
	}
	return i
}

// attribute reads one attribute at i: its name in lower case, where its value
// lies, and where to go on.
func (s *scan) attribute(i int) (name string, from, to, next int) {
	b := s.body
	start := i
	for i < len(b) && !isBlank(b[i]) && b[i] != '=' && b[i] != '>' && b[i] != '/' {
		i++
	}
	if i == start { // between two attributes, or a stray "="
		return "", i, i, i + 1
	}
	name = lowerName(b[start:i])
	j := i
	for j < len(b) && isBlank(b[j]) {
		j++
	}
	if j >= len(b) || b[j] != '=' {
		return name, i, i, j
	}
	j++
	for j < len(b) && isBlank(b[j]) {
		j++
	}
	if j >= len(b) {
		return name, j, j, j
	}
	if q := b[j]; q == '"' || q == '\'' {
		end := bytes.IndexByte(b[j+1:], q)
		if end < 0 {
			return name, len(b), len(b), len(b)
		}
		return name, j + 1, j + 1 + end, j + 1 + end + 1
	}
	start = j
	for j < len(b) && !isBlank(b[j]) && b[j] != '>' {
		j++
	}
	return name, start, j, j
}

// rawText finds the end of an element whose content is not markup.
func (s *scan) rawText(i int, tag string) (end, next int) {
	b := s.body
	for j := i; ; {
		k := bytes.Index(b[j:], []byte("</"))
		if k < 0 {
			return len(b), len(b)
		}
		j += k
		if hasPrefixFold(b[j+2:], tag) {
			return j, j
		}
		j += 2
	}
}

// tokens looks up the words of a class or an id. A widget that is not shown to
// anybody does not count.
func (s *scan) tokens(where string, t span, hidden bool) {
	var low [32]byte
	for i := 0; i < len(t.value); {
		for i < len(t.value) && isBlank(t.value[i]) {
			i++
		}
		start := i
		for i < len(t.value) && !isBlank(t.value[i]) {
			i++
		}
		n := i - start
		if n < shortestElementMark || n > len(low) {
			continue
		}
		for k := range n {
			low[k] = lowerByte(t.value[start+k])
		}
		text := low[:n]
		g, ok := elementMarks[string(text)]
		if !ok {
			for k := range elementPrefixes {
				if p := &elementPrefixes[k]; len(text) > len(p.text) && string(text[:len(p.text)]) == p.text {
					g, ok, text = p.sign, true, text[:len(p.text)]
				}
			}
		}
		if ok && (!hidden || g.strength != widget) {
			s.add(mark{text: string(text), place: where, name: g.name, offset: t.at + start, length: len(text)}, g.strength)
		}
	}
}

// places are the addresses that are looked at, by their element.
var places = map[string]string{
	"script": "a script's address", "iframe": "a frame's address", "img": "a picture's address", "form": "a form's action",
}

// address looks at an address on an element.
func (s *scan) address(tag string, t span) {
	where := places[tag]
	if len(t.value) == 0 {
		return
	}
	value := t.value[:min(len(t.value), maxAddress)]
	var buf [maxAddress]byte
	for i, c := range value {
		buf[i] = lowerByte(c)
	}
	low, found := buf[:len(value)], false
	for _, m := range addressMarks {
		if slices.Contains(m.tags, tag) && s.part(where, m, t.at, low) {
			found = true
		}
	}
	if !found && tag != "form" && !slices.ContainsFunc(loaders, func(l string) bool { return bytes.Contains(low, []byte(l)) }) {
		s.otherContent = true
	}
}

// leading is how a script leads to another address; maxLeading is how much of a script is looked at.
var leading = Pattern(`location(?:\.href)?\s*=[^=]|location\.(?:replace|assign)\s*\(|\.submit\(\)`)

const maxLeading = 4 << 10

// refresh looks at where a page leads by itself.
func (s *scan) refresh(t span) {
	content := string(t.value[:min(len(t.value), maxAddress)])
	_, address, _ := strings.Cut(content, ";")
	address = strings.TrimSpace(address)
	if hasPrefixFold([]byte(address), "url=") {
		address = address[len("url="):]
	}
	address = strings.Trim(address, "'\" ")
	of, at, length, ok := leadsTo(address)
	if !ok {
		s.otherContent = s.otherContent || address != ""
		s.shape.reloads = address == ""
		if s.shape.away.value == nil {
			s.shape.away = t
		}
		return
	}
	at += strings.Index(content, address)
	m := mark{text: strings.ToLower(content[at : at+length]), place: "a refresh's address", name: of.name, offset: t.at + at, length: length}
	if of.waits {
		s.decide(waiting, m)
		return
	}
	s.add(m, decides)
}

func (s *scan) parts(where string, marks []partMark, at int, text []byte) (found bool) {
	for _, m := range marks {
		if s.part(where, m, at, text) {
			found = true
		}
	}
	return found
}

// part adds a mark when all its parts are in text; its place is the first one.
func (s *scan) part(where string, m partMark, at int, text []byte) bool {
	first := bytes.Index(text, []byte(m.parts[0]))
	if first < 0 {
		return false
	}
	for _, p := range m.parts[1:] {
		if !bytes.Contains(text, []byte(p)) {
			return false
		}
	}
	if m.without != "" && bytes.Contains(text, []byte(m.without)) {
		return false
	}
	s.add(mark{text: m.parts[0], place: where, name: m.name, offset: at + first, length: len(m.parts[0])}, m.strength)
	return true
}

// add keeps a mark once; a page may repeat it many times.
func (p *page) add(m mark, w strength) {
	p.strengths |= 1 << w
	if len(p.marks) < maxMarks {
		p.keep(m, w)
	}
}

// keep is add beyond the bound, for signs that are looked for once a page has some.
func (p *page) keep(m mark, w strength) {
	p.strengths |= 1 << w
	if !slices.ContainsFunc(p.marks, func(o mark) bool { return o.text == m.text && o.name == m.name }) {
		p.marks = append(p.marks, m)
	}
}

// run is a text between two tags.
type run struct {
	span
	heading bool // in a heading
	begins  bool // an element before it begins a new line
	hidden  bool // for browsers without scripts, or not shown
}

// span is a value and where it begins.
type span struct {
	at    int
	value []byte
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// knownNames are the names of elements, attributes and kinds of fields that the
// scan tells apart.
var knownNames = func() map[string]string {
	names := map[string]string{}
	for _, n := range []string{
		"a", "button", "form", "iframe", "img", "input", "meta", "noscript", "script", "select", "style", "textarea", "title", "xmp",
		"html", "head", "body", "link", "div", "section", "template", "hidden", "onload", "radio", "file",
		"h1", "h2", "h3", "svg", "canvas", "video", "audio", "object", "embed", "frame",
		"b", "strong", "i", "em", "u", "s", "span", "font", "code", "small", "big", "mark", "tt", "bdi", "bdo", "abbr", "label", "wbr", "br",
		"action", "class", "content", "data", "data-size", "href", "http-equiv", "id", "name", "src", "style", "type",
		"", "text", "email", "password", "search", "tel", "number", "url", "refresh", "invisible",
	} {
		names[n] = n
	}
	return names
}()

// lowerName gives a name that the scan knows, in lower case, or "?". It does not
// allocate: names come from the page.
func lowerName(b []byte) string {
	var low [16]byte
	if len(b) > len(low) {
		return "?"
	}
	for i, c := range b {
		low[i] = lowerByte(c)
	}
	if name, ok := knownNames[string(low[:len(b)])]; ok {
		return name
	}
	return "?"
}

// element is what the attributes of a start tag say.
type element struct {
	tag     string
	kind    string // of a field
	class   span
	id      span
	address span // src, action, data
	content span
	json    bool // a script that holds data
	link    bool
	refresh bool
	hidden  bool // a widget that shows nothing
	unseen  bool // neither it nor what is in it is shown
	onload  span
	captcha bool // named as a CAPTCHA's
	search  bool // named as a search
}

func (e *element) see(name string, at int, value []byte) {
	switch name {
	case "class":
		e.class = span{at, value}
		e.named(value)
	case "id":
		e.id = span{at, value}
		e.named(value)
	case "name":
		e.named(value)
		switch string(value) {
		case "q", "s", "search", "query":
			e.search = true
		}
	case "src", "action", "data":
		e.address = span{at, value}
	case "href":
		e.link = true
	case "type":
		e.kind = lowerName(value)
		e.json = bytes.Contains(value, []byte("json"))
	case "content":
		e.content = span{at, value}
	case "http-equiv":
		e.refresh = lowerName(value) == "refresh"
	case "data-size":
		e.hidden = lowerName(value) == "invisible"
	case "hidden":
		e.unseen = true
	case "style":
		e.unseen = e.unseen || notShown().Match(value[:min(len(value), maxAddress)])
	case "onload":
		e.onload = span{at, value}
	}
}

// notShown is a style by which an element and what is in it is not shown.
var notShown = Pattern(`(?i)(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)`)

// named sees a field that takes the answer to a CAPTCHA.
func (e *element) named(value []byte) {
	switch e.tag {
	case "input", "select", "textarea":
	default:
		return
	}
	if len(value) < 64 && bytes.Contains(bytes.ToLower(value), []byte("captcha")) {
		e.captcha = true
	}
}

// inline are elements that do not begin a new line of text.
var inline = func() map[string]bool {
	out := map[string]bool{}
	for _, n := range []string{
		"a", "b", "strong", "i", "em", "u", "s", "span", "font", "code", "small", "big", "mark", "tt", "bdi", "bdo", "abbr", "label", "wbr", "br",
	} {
		out[n] = true
	}
	return out
}()

// structural are elements that show nothing by themselves.
var structural = map[string]bool{"html": true, "head": true, "body": true, "meta": true, "title": true, "link": true, "script": true, "noscript": true, "style": true, "br": true}

// closed is what an end tag changes; b begins with its name.
func (s *scan) closed(b []byte) {
	if s.inside != "" && hasPrefixFold(b, s.inside) {
		s.inside = ""
	}
	if s.unseen != "" && hasPrefixFold(b, s.unseen) {
		if s.depth--; s.depth == 0 {
			s.unseen = ""
		}
	}
	end := bytes.IndexFunc(b, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '/' })
	if end < 0 {
		end = len(b)
	}
	name := lowerName(b[:end])
	s.begins = s.begins || !inline[name]
	if name == "h1" || name == "h2" || name == "h3" {
		s.heading = false
	}
}

// opened is what a start tag adds to the page.
func (s *scan) opened(e *element) {
	s.begins = s.begins || !inline[e.tag]
	switch {
	case s.unseen != "" && s.unseen == e.tag:
		s.depth++
	case s.unseen == "" && (e.unseen && (e.tag == "div" || e.tag == "section" || e.tag == "form") || e.tag == "template"):
		s.unseen, s.depth = e.tag, 1
	}
	hidden := e.hidden || e.tag == "button" || e.tag == "input" || s.unseen != ""
	styled := len(e.id.value)+len(e.class.value) > 0
	if !structural[e.tag] && (styled || e.tag != "div" && e.tag != "section" && e.tag != "span") {
		s.shape.elements++
	}
	s.tokens(inClass, e.class, hidden)
	s.tokens(inID, e.id, hidden)
	s.address(e.tag, e.address)
	switch e.tag {
	case "meta":
		if e.refresh {
			s.refresh(e.content)
		}
	case "a":
		s.otherContent = s.otherContent || e.link
		if e.link {
			s.shape.links++
		}
	case "body":
		if at := leading().FindIndex(e.onload.value[:min(len(e.onload.value), maxAddress)]); at != nil && s.shape.away.value == nil {
			s.shape.away = span{e.onload.at + at[0], e.onload.value[at[0]:]}
		}
	case "h1", "h2", "h3":
		s.heading = true
	case "img", "svg", "canvas", "video", "audio", "object", "embed", "iframe", "frame":
		s.shape.pictures++
	case "script":
		s.shape.loads = s.shape.loads || len(e.address.value) > 0
	case "noscript", "button":
		if s.inside != "noscript" {
			s.inside = e.tag
		}
	case "textarea", "select":
		s.field(e, false)
	case "input":
		switch e.kind {
		case "", "text":
			s.field(e, !e.search)
		case "search":
			e.search = true
			s.field(e, false)
		case "email", "password", "tel", "number", "url", "radio", "file":
			s.field(e, false)
		}
	}
}

// field counts a field, unless it takes the answer to a CAPTCHA.
func (s *scan) field(e *element, typed bool) {
	switch {
	case e.captcha:
		s.answer = true
	case typed:
		s.fields++
		s.typed++
	default:
		s.fields++
		if e.search {
			s.shape.searches++
		}
	}
}
