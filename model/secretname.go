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
