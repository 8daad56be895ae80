package model

import (
	"bytes"
	"slices"
	"strings"
)

// page is what one pass over a body found. It reads HTML as far as it must: tags
// and their attributes, inline scripts, the title, and how much text is left.
type page struct {
	marks  []mark
	sure   bool // one of marks stands on challenge pages only
	widget bool // one of marks is a widget
	image  bool // one of marks is a picture to be read
	// telling says that the title is that of a challenge page.
	telling bool
	text    int  // bytes of visible text, spaces left out; counted up to littleTextMax
	fields  int  // fields that ask a person for something
	cut     bool // the body goes on beyond what was scanned
}

// mark is a place in the body that speaks of a challenge.
type mark struct {
	text   string
	of     string
	offset int
	length int
}

// Bounds of the scan.
const (
	maxScan    = 256 << 10
	maxMarks   = 8
	maxAddress = 512 // bytes of an address that are looked at
	maxJSON    = 8 << 10
)

// scanPage looks for the marks of challenge.go. It takes time linear in the body
// whatever the body holds.
func scanPage(contentType string, body []byte, size int64) page {
	s := scan{body: body}
	if len(s.body) > maxScan {
		s.body = s.body[:maxScan]
	}
	s.cut = size > int64(len(s.body)) || len(body) > len(s.body)
	switch kind, _, _ := strings.Cut(strings.ToLower(contentType), ";"); strings.TrimSpace(kind) {
	case "text/html", "application/xhtml+xml":
		s.html()
	case "application/json", "text/json", "application/problem+json":
		s.json()
	case "application/javascript", "text/javascript", "text/css", "text/markdown":
	default:
		// Raw answers may come without the target's type.
		if looksLikeHTML(s.body) {
			s.html()
		} else if looksLikeJSON(s.body) {
			s.json()
		}
	}
	return s.page
}

func trimStart(b []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n")
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
}

func (s *scan) json() {
	if len(s.body) > maxJSON || s.cut {
		return
	}
	s.parts(jsonMarks, 0, s.body)
}

func (s *scan) html() {
	b := s.body
	for i := 0; i < len(b); {
		lt := bytes.IndexByte(b[i:], '<')
		if lt < 0 {
			s.visible(b[i:])
			return
		}
		s.visible(b[i : i+lt])
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
			i += end + 1
		default:
			s.visible(b[i : i+1])
			i++
		}
	}
}

// visible counts text, as long as the count can still decide something.
func (s *scan) visible(b []byte) {
	for _, c := range b {
		if s.text >= littleTextMax {
			return
		}
		if !isBlank(c) {
			s.text++
		}
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
	tag := lowerName(b[start:i])
	field := formField{kind: "text"}
	isJSON := false
	for i < len(b) && b[i] != '>' {
		var name string
		var from, to int
		name, from, to, i = s.attribute(i)
		value := b[from:to]
		switch name {
		case "class", "id":
			s.tokens(from, value)
			field.see(value)
		case "name":
			field.see(value)
		case "src", "action":
			s.address(tag, from, value)
		case "type":
			field.kind = lowerName(value)
			isJSON = strings.Contains(field.kind, "json")
		}
	}
	if i < len(b) {
		i++
	}
	if field.asks(tag) {
		s.fields++
	}
	switch tag {
	case "script", "style", "textarea", "title", "xmp":
		end, next := s.rawText(i, tag)
		switch {
		case tag == "script" && !isJSON:
			s.parts(scriptMarks, i, b[i:end])
		case tag == "title":
			s.title(i, b[i:end])
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

// tokens looks up the words of a class or an id.
func (s *scan) tokens(at int, value []byte) {
	var low [32]byte
	for i := 0; i < len(value); {
		for i < len(value) && isBlank(value[i]) {
			i++
		}
		start := i
		for i < len(value) && !isBlank(value[i]) {
			i++
		}
		n := i - start
		if n < shortestElementMark || n > len(low) {
			continue
		}
		for k := range n {
			low[k] = lowerByte(value[start+k])
		}
		if g, ok := elementMarks[string(low[:n])]; ok {
			s.add(string(low[:n]), g, at+start, n)
		} else if bytes.HasPrefix(low[:n], []byte(elementPrefix)) {
			s.add(elementPrefix, elementPrefixSign, at+start, len(elementPrefix))
		}
	}
}

// address looks at an address on an element.
func (s *scan) address(tag string, at int, value []byte) {
	switch tag {
	case "script", "iframe", "img", "form":
	default:
		return
	}
	if len(value) > maxAddress {
		value = value[:maxAddress]
	}
	var low [maxAddress]byte
	for i, c := range value {
		low[i] = lowerByte(c)
	}
	for _, m := range addressMarks {
		if slices.Contains(m.tags, tag) {
			s.part(m, at, low[:len(value)])
		}
	}
}

func (s *scan) parts(marks []partMark, at int, text []byte) {
	for _, m := range marks {
		s.part(m, at, text)
	}
}

// part adds a mark when all its parts are in text; its place is the first one.
func (s *scan) part(m partMark, at int, text []byte) {
	first := bytes.Index(text, []byte(m.parts[0]))
	if first < 0 {
		return
	}
	for _, p := range m.parts[1:] {
		if !bytes.Contains(text, []byte(p)) {
			return
		}
	}
	s.add(m.parts[0], m.sign, at+first, len(m.parts[0]))
}

func (s *scan) title(at int, raw []byte) {
	trimmed := bytes.TrimSpace(raw)
	for _, t := range challengeTitles {
		if hasPrefixFold(trimmed, t) {
			s.telling = true
			s.note(mark{text: t, of: "the title of a challenge page", offset: at + bytes.Index(raw, trimmed), length: len(t)})
			return
		}
	}
}

func (s *scan) add(text string, g sign, offset, length int) {
	s.sure = s.sure || g.sure
	s.widget = s.widget || !g.sure
	s.image = s.image || g.image
	s.note(mark{text: text, of: g.of, offset: offset, length: length})
}

// note keeps a mark once; a page may repeat it many times.
func (s *scan) note(m mark) {
	if len(s.marks) >= maxMarks || slices.ContainsFunc(s.marks, func(o mark) bool { return o.text == m.text }) {
		return
	}
	s.marks = append(s.marks, m)
}

// formField is what the attributes of an element say of it as a field.
type formField struct {
	kind    string
	captcha bool
}

func (f *formField) see(value []byte) {
	if len(value) < 64 && bytes.Contains(bytes.ToLower(value), []byte("captcha")) {
		f.captcha = true
	}
}

// asks reports whether the element asks a person for something other than the
// answer to a CAPTCHA.
func (f *formField) asks(tag string) bool {
	if f.captcha {
		return false
	}
	switch tag {
	case "textarea", "select":
		return true
	case "input":
		switch f.kind {
		case "", "text", "email", "password", "search", "tel", "number", "url":
			return true
		}
	}
	return false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

var usualNames = map[string]string{
	"class":  "class",
	"href":   "href",
	"div":    "div",
	"a":      "a",
	"id":     "id",
	"p":      "p",
	"span":   "span",
	"src":    "src",
	"img":    "img",
	"li":     "li",
	"td":     "td",
	"alt":    "alt",
	"type":   "type",
	"script": "script",
	"style":  "style",
	"name":   "name",
	"input":  "input",
	"title":  "title",
}

// lowerName gives the names that the scan compares with, in lower case; it is
// bounded, because names come from the page.
func lowerName(b []byte) string {
	if len(b) > 24 {
		return ""
	}
	// The usual names, without an allocation each.
	if name, ok := usualNames[string(b)]; ok {
		return name
	}
	for _, c := range b {
		if c >= 'A' && c <= 'Z' {
			return strings.ToLower(string(b))
		}
	}
	return string(b)
}
