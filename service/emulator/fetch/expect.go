package fetch

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/andybalholm/cascadia"

	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/page"
)

// maxExpectBytes bounds what x-unblock-expect may say.
const maxExpectBytes = 1024

// expectation is what a page must contain to count as complete. The zero value expects nothing.
type expectation struct{ browser.Expect }

func (e expectation) empty() bool { return e == expectation{} }

func (e expectation) String() string {
	if e.Element != "" {
		return "element " + e.Element
	}
	return "text " + e.Text
}

// parseExpectation reads {"element":"…"} or {"text":"…"}; its error continues
// the header's name.
func parseExpectation(v string) (expectation, error) {
	form := errors.New(`must be {"element":"a CSS selector"} or {"text":"…"}`)
	var fields map[string]string
	if len(v) > maxExpectBytes || json.Unmarshal([]byte(v), &fields) != nil || len(fields) != 1 {
		return expectation{}, form
	}
	e := expectation{browser.Expect{Element: fields["element"], Text: fields["text"]}}
	if e.empty() {
		return e, form
	}
	if _, err := cascadia.ParseGroup(e.Element); err != nil && e.Element != "" {
		return expectation{}, errors.New("element is not a CSS selector")
	}
	return e, nil
}

// met reports whether a page in UTF-8 contains the expected element or text.
func (e expectation) met(body []byte) bool {
	if e.empty() {
		return true
	}
	doc, err := page.Parse(body)
	if err != nil {
		return false
	}
	if e.Text != "" {
		return strings.Contains(page.TextOf(doc), e.Text)
	}
	group, err := cascadia.ParseGroup(e.Element)
	return err == nil && cascadia.Query(doc, group) != nil
}
