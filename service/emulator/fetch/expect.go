package fetch

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"zonedeck/service/emulator/page"
)

// maxExpectBytes bounds what x-unblock-expect may say.
const maxExpectBytes = 1024

// expectation is what a page has to have before it counts (x-unblock-expect, public
// documentation): an element that a CSS selector finds, or a text. The zero value
// expects nothing.
type expectation struct{ element, text string }

func (e expectation) empty() bool { return e == expectation{} }

func (e expectation) String() string {
	if e.element != "" {
		return "element " + e.element
	}
	return "text " + e.text
}

// parseExpectation reads {"element":"…"} or {"text":"…"}; its error goes on from the
// header's name.
func parseExpectation(v string) (expectation, error) {
	form := errors.New(`must be {"element":"a CSS selector"} or {"text":"…"}`)
	var fields map[string]string
	if len(v) > maxExpectBytes || json.Unmarshal([]byte(v), &fields) != nil || len(fields) != 1 {
		return expectation{}, form
	}
	e := expectation{element: fields["element"], text: fields["text"]}
	switch {
	case e.empty():
		return expectation{}, form
	case e.element != "":
		if _, err := cascadia.ParseGroup(e.element); err != nil {
			return expectation{}, errors.New("element is not a CSS selector")
		}
	}
	return e, nil
}

// met reports whether a page in UTF-8 has what is expected.
func (e expectation) met(body []byte) bool {
	if e.empty() {
		return true
	}
	doc, err := page.Parse(body)
	if err != nil {
		return false
	}
	if e.text != "" {
		return strings.Contains(page.TextOf(doc), e.text)
	}
	return found(doc, e.element)
}

func found(doc *html.Node, selector string) bool {
	group, err := cascadia.ParseGroup(selector)
	if err != nil {
		return false
	}
	return cascadia.Query(doc, group) != nil
}
