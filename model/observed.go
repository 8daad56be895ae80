package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SameFetch reports whether two requests ask the same of the target, by whatever zone, access
// method and key.
func (r FetchRequest) SameFetch(o FetchRequest) bool {
	method := func(r FetchRequest) string { return cmp.Or(strings.ToUpper(r.Method), "GET") }
	return r.URL == o.URL && method(r) == method(o) && r.Body == o.Body && r.Country == o.Country && r.Options == o.Options &&
		maps.EqualFunc(r.Header, o.Header, slices.Equal[[]string])
}

// ObservedUse is what the comparison's runs by a zone and an access method showed of its use, in
// one line: how many at once and with which pause, whether they held, and what they cost.
// Without a pause between them, as many were in flight at a time as their times show, and no
// run shows more. It is false without a run.
func (t Grid) ObservedUse(zone ZoneName, via Via) (string, bool) {
	for _, c := range t.Cells {
		if c.Zone.Name != zone || c.Via != via || len(c.Runs) == 0 {
			continue
		}
		fast, together := 0, c.Together()
		for _, r := range c.Runs {
			if r.Class == ClassTooFast {
				fast++
			}
		}
		cost := "unpriced"
		if dollars, priced := c.Cost(); priced {
			cost = Dollars(dollars) + " per 1000"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d of %d ok", c.OK(), len(c.Runs))
		switch {
		case fast > 0:
			fmt.Fprintf(&b, ", %d too fast; %d at once without a pause did not hold, which pause does is unknown", fast, together)
		case len(c.Runs) == 1:
			b.WriteString("; more than one, at once or in a row, was not tried")
		case c.OK() == len(c.Runs):
			fmt.Fprintf(&b, "; %d at once held, pause 0; more at once was not tried", together)
		default:
			fmt.Fprintf(&b, ", %d at once, pause 0, none too fast; more at once was not tried", together)
		}
		return b.String() + "; " + cost, true
	}
	return "", false
}
