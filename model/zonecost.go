package model

import (
	"fmt"
	"strconv"
	"time"
)

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
		c.Problem = "nothing was charged in this month and the last"
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
