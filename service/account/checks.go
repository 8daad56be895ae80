package account

import (
	"fmt"
	"slices"

	"zonedeck/model"
)

// Check is the verdict on one value of a profile.
type Check struct {
	Subject string // "key", "account", "zones", "zone NAME", …
	Verdict Verdict
}

// listing is the verdict on the account's list of zones, and how many of them the profile has: what is
// listed is not always taken.
func listing(p model.Profile, found Facts) Verdict {
	v, taken := found.Listing, 0
	if v.State != OK && v.State != Warning {
		return v
	}
	for _, z := range found.Zones {
		if _, has := p.Zone(string(z.Zone.Name)); has {
			taken++
		}
	}
	if taken == 0 {
		v.Text += "; none in the profile"
	} else {
		v.Text += fmt.Sprintf("; %d in the profile", taken)
	}
	return v
}

// Checks are the verdicts on a profile by what its account said, in the order in which an operator
// reads them.
func Checks(p model.Profile, found Facts) []Check {
	out := []Check{
		{"key", found.Key},
		{"account", found.Account},
		{"zones", listing(p, found)},
		{"rates", found.Rates},
		{"passwords", found.Passwords},
		{"certificate", found.Certificates},
		{"proxy", found.Proxy},
	}
	out = slices.DeleteFunc(out, func(c Check) bool { return c.Verdict == Verdict{} })
	if found.Listing.State != OK && found.Listing.State != Warning {
		return out
	}
	for _, z := range p.Zones {
		i := slices.IndexFunc(found.Zones, func(f Zone) bool { return f.Zone.Name == z.Name })
		verdict := bad("the account does not list it")
		if i >= 0 {
			verdict = found.Zones[i].Verdict
			if got := found.Zones[i].Zone.Product; got != z.Product && verdict.State == OK {
				verdict = warn("the profile says %s, the account %s", z.Product, got)
			}
		}
		out = append(out, Check{"zone " + string(z.Name), verdict})
	}
	return out
}
