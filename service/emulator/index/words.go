package index

import (
	"strings"
	"unicode"
)

// maxWord is longer than any word worth indexing.
const maxWord = 64

// words are the terms of a text, in order: lower-case runs of letters and digits, plural
// endings taken off, stop words left out.
func words(text string) []string {
	var out []string
	for _, w := range rawWords(text) {
		if t := term(w); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// rawWords are the lower-case words as they stand.
func rawWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// term is the form under which a lower-case word is indexed; "" for a stop word.
func term(w string) string {
	if len(w) > maxWord || isStop(w) {
		return ""
	}
	switch n := len(w); {
	case n > 4 && strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "shes") || strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "xes")):
		return w[:n-2]
	case n > 3 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		return w[:n-1]
	}
	return w
}

// isStop tells the words that say nothing about what is looked for; among them those
// with which people ask.
func isStop(w string) bool {
	switch w {
	case "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have",
		"how", "if", "in", "into", "is", "it", "its", "of", "on", "or", "s", "t", "that", "the",
		"their", "them", "there", "these", "they", "this", "to", "was", "were", "what",
		"when", "where", "which", "who", "will", "with", "you", "your":
		return true
	}
	return false
}

// isAsking tells the words of a question in plain language that name no content:
// "find all … that have …" (deep lookup).
func isAsking(w string) bool {
	switch w {
	case "find", "all", "any", "every", "each", "list", "show", "get", "give", "me", "please",
		"must", "should", "than", "more", "less", "only", "about":
		return true
	}
	return false
}
