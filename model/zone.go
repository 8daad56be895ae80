package model

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
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

// ZoneCost is what the account was charged for a zone in a span of days, by its own account.
// The contract shows no such figures; a dialect does.
type ZoneCost struct {
	Zone     Zone
	From, To time.Time // days; To is the first one after them
	Dollars  float64
	Requests float64 // that were charged; 0 where they are not shown
	Bytes    float64 // up and down
	// Rate is Dollars for each of what the product is charged by: measured, and no list
	// price. It is zero where Problem says why none can be told.
	Rate    Rate
	Problem string
}

// Basis is what the rate was measured from, in words, or why there is none.
func (c ZoneCost) Basis() string {
	if !c.Rate.Priced() {
		return c.Problem
	}
	of := fmt.Sprintf("requests: %.0f", c.Requests)
	if c.Rate.Per1000 == 0 {
		of = fmt.Sprintf("bytes: %.0f", c.Bytes)
	}
	return fmt.Sprintf("%s for %s, the account's cost of %s to %s", SmallDollars(c.Dollars), of,
		c.From.Format(time.DateOnly), c.To.AddDate(0, 0, -1).Format(time.DateOnly))
}

// Measurable is why a rate of a zone cannot be measured whatever its cost, or "": search and
// the unlocker are charged by request, the proxies and the browser by byte, and of the others
// it is not shown.
func Measurable(p Product) (problem string) {
	switch {
	case p == ProductUnknown:
		return "the profile does not name its product, which says what is charged"
	case !byRequest(p) && !byByte(p):
		return "it is not shown by what a zone of this product is charged"
	}
	return ""
}

// Known reports whether the account showed a cost, be it nothing.
func (c ZoneCost) Known() bool { return !c.From.IsZero() }

func byRequest(p Product) bool { return p == ProductSERP || p == ProductUnlocker }

func byByte(p Product) bool {
	switch p {
	case ProductDatacenter, ProductISP, ProductResidential, ProductMobile, ProductBrowser:
		return true
	default:
		return false
	}
}

// Measure fills in Rate, or Problem. byAddress says that addresses are charged, too.
func (c *ZoneCost) Measure(byAddress bool) {
	c.Rate, c.Problem = Rate{}, Measurable(c.Zone.Product)
	switch {
	case c.Problem != "":
		return
	case byAddress:
		c.Problem = "its addresses are charged, too: the cost is not by bytes alone"
		return
	case byRequest(c.Zone.Product):
		c.Rate.Per1000 = perUnit(c.Dollars, c.Requests/1000)
	default:
		c.Rate.PerGB = perUnit(c.Dollars, c.Bytes/1e9)
	}
	switch {
	case c.Rate.Priced():
	case c.Dollars > 0:
		c.Problem = "a cost is shown, and not for how much"
	default:
		c.Problem = "nothing was charged this month or last"
	}
}

// perUnit is a rate to four digits, or 0.
func perUnit(dollars, units float64) float64 {
	if !(dollars > 0 && units > 0) {
		return 0
	}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(dollars/units, 'g', 4, 64), 64) // its own text
	return v
}

// Traffic is what an account says went through a zone in some days.
type Traffic struct {
	Bytes, Down, Up int64
	// Requests are those that were made, Billable those that are charged by their number, where the
	// product is.
	Requests, Billable int64
}

// PasswordUses are what uses a zone's password, one phrase each.
type PasswordUses struct {
	Stops []string // what stops as soon as it is replaced
	GoOn  []string // what reads the new one by its reference, or has another value
	// Compared says what was held against what to tell the two apart.
	Compared string
}
