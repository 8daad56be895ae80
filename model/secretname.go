package model

import (
	"slices"
	"strings"
)

// SecretName reports whether what has this name is a secret by its nature, so that its value
// belongs neither in a file nor in the history nor on the clipboard: a header, a parameter of
// a query or a form, a variable. Case and the signs between words do not count.
func SecretName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_.[]", r) })
	whole := strings.Join(words, "")
	if whole == "idempotencykey" {
		return false
	}
	for _, part := range []string{"authorization", "token", "secret", "password", "passwd", "apikey", "accesskey", "privatekey", "sessionid"} {
		if strings.Contains(whole, part) {
			return true
		}
	}
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"key", "pass", "pwd", "credential", "credentials", "auth", "cookie", "sig", "signature"}, word)
	})
}

// tokens are long words of letters and digits, and UUIDs.
var tokens = Pattern(`[0-9A-Za-z]{16,}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}`)

// MayBeToken reports whether a text holds what may open something: a long word of letters and
// digits, with digits and not of digits alone, or a UUID.
func MayBeToken(s string) bool { return slices.ContainsFunc(tokens().FindAllString(s, -1), opens) }

// opens reports whether one of tokens may open something.
func opens(token string) bool {
	return strings.ContainsAny(token, "0123456789") && strings.Trim(token, "0123456789") != ""
}
