package model

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// ZoneName names a zone, the unit of operation and billing (service.md 1 rule
// 3). It is chosen at creation and cannot be changed afterwards (2.2). The same
// value is known as PROXY_NAME and PRODUCT_NAME.
type ZoneName string

// errZoneName is wrapped by every refusal of a zone name.
var errZoneName = errors.New("zone name")

// ParseZoneName checks that a zone name can stand in a username: not empty, no
// white space or control characters, no ":" (service.md 5.2 rules 1 and 2). A "-"
// is allowed: the contract does not forbid it, and ReadUsername reports the
// ambiguity it brings.
func ParseZoneName(s string) (ZoneName, error) {
	if s == "" {
		return "", fmt.Errorf("%w is empty", errZoneName)
	}
	for _, r := range s {
		switch {
		case r == ':':
			return "", fmt.Errorf("%w %q: \":\" separates the username from the password and cannot stand in a name", errZoneName, s)
		case unicode.IsSpace(r), unicode.IsControl(r), r == unicode.ReplacementChar:
			return "", fmt.Errorf("%w %q: spaces and control characters are not allowed", errZoneName, s)
		}
	}
	return ZoneName(s), nil
}

// Zone is one zone of a profile. Fields beyond the name and the password are
// not shown by the contract (service.md 2.2); Product and IdentityVerified are
// what the operator's profile says.
type Zone struct {
	Name ZoneName
	// Product is what the zone gives access to, or ProductUnknown.
	Product Product
	// IdentityVerified says that the account passed the identity check (KYC) for
	// this zone, so that the service's CA is not needed.
	IdentityVerified bool
	// Password is a reference to the zone's proxy password ("env:NAME",
	// "keyring:…", …), never the password itself; empty when none is configured.
	Password string
	// Rate is what the zone costs, or unpriced.
	Rate Rate
}

// ZoneNames are the names of zones, in their order.
func ZoneNames(zones []Zone) []string {
	out := make([]string, len(zones))
	for i, z := range zones {
		out[i] = string(z.Name)
	}
	return out
}

// NeedsCA reports whether a client must trust the service's CA certificate by
// native access: residential and unlocker without the identity check
// (service.md 5.2 rule 3).
func (z Zone) NeedsCA() bool { return z.Product.facts().ca && !z.IdentityVerified }

// Ambiguous reports whether the zone's name contains the "-" that separates
// the parts of a username, so that a username may have several readings.
func (z Zone) Ambiguous() bool { return strings.Contains(string(z.Name), "-") }
