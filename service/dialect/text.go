package dialect

import (
	"regexp"
	"strconv"
	"strings"
)

// toolStatus is a status in the text of a tool's error, as public clients write it:
// "HTTP 400: …", "status code 429", "(status 502)".
var toolStatus = regexp.MustCompile(`(?i)\b(?:HTTP|status(?: code)?)[ :]+([1-5][0-9]{2})\b`)

// ReadText reads the text of an error that a tool of agent access reported: a status and a
// code of the service in it. The protocol has no place for either, so this is what the text
// says.
func (d Dialect) ReadText(text string) Reading {
	text = clean(text)
	r := Reading{Text: text}
	if m := toolStatus.FindStringSubmatch(text); m != nil {
		r.TargetStatus, _ = strconv.Atoi(m[1]) // three digits
	}
	if !d.readsCodes {
		return r
	}
	for _, piece := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" :;,()\"'", c) }) {
		if code, ok := word(piece); ok && strings.Contains(code, "_") {
			if m := meaning(code); m.class != "" {
				r.Code, r.Class, r.Cause, r.Unanswered = code, m.class, m.cause, m.unanswered
				break
			}
		}
	}
	return r
}
