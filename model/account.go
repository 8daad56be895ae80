package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// AccountID is the customer-specific identifier that starts with "hl_" (service.md 2.3) or, where a
// dialect knows it, with OlderAccount. The zero value is "no account".
type AccountID string

// OlderAccount begins the identifiers of older accounts. The contract does not show it.
const OlderAccount = "c_"

// ErrAccountID is wrapped by every refusal of an account identifier.
var ErrAccountID = errors.New("account id")

// ParseAccountID checks the form of an account identifier: the prefix "hl_" or one of the others,
// then at least one letter, digit or underscore. It is case-sensitive.
func ParseAccountID(s string, others ...string) (AccountID, error) {
	prefixes := append([]string{"hl_"}, others...)
	i := slices.IndexFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
	if i < 0 {
		return "", fmt.Errorf("%w %q: it must start with %s (as in hl_1234abcd)", ErrAccountID, s, strings.Join(prefixes, " or "))
	}
	rest := strings.TrimPrefix(s, prefixes[i])
	if rest == "" {
		return "", fmt.Errorf("%w %q: nothing follows %s", ErrAccountID, s, prefixes[i])
	}
	for i := range len(rest) {
		if !isWordByte(rest[i]) {
			return "", fmt.Errorf("%w %q: %q is not a letter, a digit or an underscore", ErrAccountID, s, rest[i])
		}
	}
	return AccountID(s), nil
}

// isWordByte reports whether b may stand in an account id: an ASCII letter, a
// digit or an underscore. "-" and ":" are excluded because the username
// grammar gives them a meaning (service.md 5.2 rule 2).
func isWordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}
