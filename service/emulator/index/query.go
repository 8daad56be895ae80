package index

import (
	"slices"
	"strings"
	"unicode"
)

// maxTerms bounds the different words of a text that are looked up.
const maxTerms = 64

// query is a parsed search text: "quoted words" must occur as they are, -word must not occur,
// site:host narrows to a host and its subdomains. A document matches if it has any of the terms.
type query struct {
	terms, phrases, without []string
	site                    string
}

func parseQuery(text string) query {
	var q query
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			q.phrases = append(q.phrases, part)
			q.terms = append(q.terms, words(part)...)
			continue
		}
		for _, w := range strings.Fields(part) {
			switch site, isSite := strings.CutPrefix(strings.ToLower(w), "site:"); {
			case isSite:
				q.site, _, _ = strings.Cut(site, "/")
			case len(w) > 1 && w[0] == '-':
				q.without = append(q.without, w[1:])
			default:
				q.terms = append(q.terms, words(w)...)
			}
		}
	}
	q.terms = telling(q.terms)
	return q
}

// expression is what has to match, in FTS5's language; "" demands nothing.
func (q query) expression() string {
	all := slices.Concat([]string{anyOf(q.terms)}, quoted(q.phrases))
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " AND ")
}

func anyOf(texts []string) string {
	if texts = quoted(texts); len(texts) == 0 {
		return ""
	}
	return "(" + strings.Join(texts, " OR ") + ")"
}

// quoted makes FTS5 phrases of texts. They hold letters, digits and blanks only, so that
// nothing in them is syntax.
func quoted(texts []string) []string {
	out := []string{}
	for _, t := range texts {
		if ws := words(t); len(ws) > 0 && len(out) < maxTerms {
			out = append(out, `"`+strings.Join(ws, " ")+`"`)
		}
	}
	return out
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// telling lists the different words with content, or all different words if none has any.
func telling(ws []string) []string {
	ws = slices.Compact(slices.Sorted(slices.Values(ws)))
	if left := slices.DeleteFunc(slices.Clone(ws), isAsking); len(left) > 0 {
		return left
	}
	return ws
}

// isAsking reports words without content, including those of a question in plain language:
// "find all … that have …".
func isAsking(w string) bool {
	switch w {
	case "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "each", "every", "find", "for", "from",
		"get", "give", "has", "have", "how", "if", "in", "into", "is", "it", "its", "less", "list", "me", "more", "must",
		"of", "on", "only", "or", "please", "s", "should", "show", "t", "than", "that", "the", "their", "them", "there",
		"these", "they", "this", "to", "was", "were", "what", "when", "where", "which", "who", "will", "with", "you", "your":
		return true
	}
	return false
}
