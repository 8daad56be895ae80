package model

import (
	"errors"
	"fmt"
	"strings"
)

// AccountID is the customer-specific identifier that starts with "hl_"
// (service.md 2.3). The zero value is "no account".
type AccountID string

// ErrAccountID is wrapped by every refusal of an account identifier.
var ErrAccountID = errors.New("account id")

// ParseAccountID checks the form of an account identifier: the prefix "hl_",
// then at least one letter, digit or underscore. It is case-sensitive.
func ParseAccountID(s string) (AccountID, error) {
	rest, ok := strings.CutPrefix(s, "hl_")
	if !ok {
		return "", fmt.Errorf("%w %q: it must start with hl_ (as in hl_1234abcd)", ErrAccountID, s)
	}
	if rest == "" {
		return "", fmt.Errorf("%w %q: nothing follows hl_", ErrAccountID, s)
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
