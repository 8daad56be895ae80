package mcp

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/view"
)

// charsOf is how many characters of a body a result holds.
func charsOf(given int) (int, error) { return bounded("max_chars", given, usualChars, maxChars) }

// bounded is a number of the arguments, or the usual one where it is left out. It refuses one above most.
func bounded(name string, given, usual, most int) (int, error) {
	if given < 0 || given > most {
		return 0, fmt.Errorf("%s %d: write at most %d", name, given, most)
	}
	return cmp.Or(given, usual), nil
}

// attach puts the beginning of a body into a result, as far as it is text, and names the file
// of the whole one.
func (c *call) attach(out *view.AgentFetch, r model.FetchResult, chars int, markdown bool) error {
	if r.Body.Size == 0 {
		return nil
	}
	text, whole, err := c.text(r, chars, markdown)
	if err != nil {
		return err
	}
	out.Untrusted.Body = text
	if !whole || markdown {
		out.BodyFile, err = c.BodyFile(r.Body)
	}
	return err
}

// text is the beginning of a body; "" of one that is no text. whole says that it is all.
func (c *call) text(r model.FetchResult, chars int, markdown bool) (text string, whole bool, err error) {
	body, err := c.OpenText(r.Body)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = body.Close() }() // it was only read
	if markdown && strings.Contains(r.ContentType, "html") {
		page, err := fetch.Markdown(body, body.Size, r.Request.URL)
		if err != nil {
			return "", false, err
		}
		text = firstRunes(page.Markdown, chars)
		return text, len(text) == len(page.Markdown) && !page.Cut, nil
	}
	head, err := io.ReadAll(io.NewSectionReader(body, 0, min(body.Size, int64(chars)*utf8.UTFMax)))
	if err != nil {
		return "", false, fmt.Errorf("read the body: %w", err)
	}
	if bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(wholeRunes(head)) {
		return "", false, nil
	}
	text = firstRunes(string(wholeRunes(head)), chars)
	return text, int64(len(text)) == body.Size, nil
}

// firstRunes are the first n characters of a text.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// wholeRunes is b without a character that was cut at its end.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
