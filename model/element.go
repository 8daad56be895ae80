package model

import "bytes"

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
	}
}

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

// opened is what a start tag adds to the page.
func (s *scan) opened(e *element) {
	hidden := e.hidden || e.tag == "button" || e.tag == "input"
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
	case "noscript", "button":
		s.inside = e.tag
	case "textarea", "select":
		s.field(e, false)
	case "input":
		switch e.kind {
		case "", "text":
			s.field(e, !e.search)
		case "email", "password", "search", "tel", "number", "url":
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
	}
}
