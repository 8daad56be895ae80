package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is what a zone costs, as its profile says; the contract shows no price. The zero
// Rate is "unpriced".
type Rate struct {
	Per1000 float64 // dollars for 1,000 requests
	PerGB   float64 // dollars for 10^9 bytes
}

// ParseRate reads a rate: dollars for 1,000 requests, as 1.5, or for a GB, as 8/GB.
func ParseRate(text string) (r Rate, err error) {
	amount, per, _ := strings.Cut(strings.TrimPrefix(text, "$"), "/")
	dollars, err := strconv.ParseFloat(amount, 64)
	switch {
	case err != nil || !(dollars > 0) || math.IsInf(dollars, 0):
	case per == "" || per == "1000":
		return Rate{Per1000: dollars}, nil
	case strings.EqualFold(per, "GB"):
		return Rate{PerGB: dollars}, nil
	}
	return Rate{}, fmt.Errorf("%q is no rate: write dollars for 1,000 requests, as 1.5, or for a GB, as 8/GB", Cut(text, 20))
}

// Priced reports whether there is a rate.
func (r Rate) Priced() bool { return r != Rate{} }

// String is "$1.5 per 1000", "$8 per GB", both, or "unpriced".
func (r Rate) String() string {
	var parts []string
	if r.Per1000 != 0 {
		parts = append(parts, fmt.Sprintf("$%v per 1000", r.Per1000))
	}
	if r.PerGB != 0 {
		parts = append(parts, fmt.Sprintf("$%v per GB", r.PerGB))
	}
	if len(parts) == 0 {
		return "unpriced"
	}
	return strings.Join(parts, " and ")
}

// Cost is what requests and the bytes of their bodies cost, in dollars; false when
// unpriced. What a service charges for headers and for its own tries is not in it.
func (r Rate) Cost(requests, bytes float64) (float64, bool) {
	return requests*r.Per1000/1000 + bytes*r.PerGB/1e9, r.Priced()
}

// Dollars is an amount for a screen: "$1.50", and "<$0.01" for less than a cent.
func Dollars(amount float64) string {
	if amount > 0 && amount < 0.01 {
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", amount)
}

// SmallDollars is the amount of a few requests for a screen: "$0", "$0.0015", "<$0.0001",
// and "$1.50" from a dollar on.
func SmallDollars(amount float64) string {
	switch {
	case amount == 0:
		return "$0"
	case amount < 0.0001:
		return "<$0.0001"
	case amount < 1:
		return fmt.Sprintf("$%.4f", amount)
	default:
		return fmt.Sprintf("$%.2f", amount)
	}
}

// UnitCost is what one fetch or page costs: "unpriced" or, with four figures that show the cheaper of two, "$0.0000004821".
func UnitCost(dollars float64, priced bool) string {
	if !priced {
		return "unpriced"
	}
	rounded, _ := strconv.ParseFloat(fmt.Sprintf("%.4g", dollars), 64) // it is a number
	return "$" + strconv.FormatFloat(rounded, 'f', -1, 64)
}

// CostWords are an amount as SmallDollars writes it, or "unpriced".
func CostWords(dollars float64, priced bool) string {
	if !priced {
		return "unpriced"
	}
	return SmallDollars(dollars)
}

// answered reports whether the target has answered the attempt.
func (a Attempt) answered() bool {
	switch a.Class {
	case ClassOK, ClassCaptcha, ClassParsingDrift:
		return true
	default:
		return a.Status > 0 && !a.Unanswered
	}
}

// Cost is an estimate of what the attempt alone cost, in dollars; false when unpriced.
func (a Attempt) Cost(rate Rate) (dollars float64, priced bool) {
	if !a.answered() {
		return rate.Cost(0, 0)
	}
	return rate.Cost(1, float64(a.Bytes))
}

// billed is how many attempts the target has answered, and the bytes of their bodies.
func (r FetchResult) billed() (requests int, bytes int64) {
	for i, a := range r.Attempts {
		if !a.answered() {
			continue
		}
		requests++
		if i == len(r.Attempts)-1 {
			a.Bytes = r.Body.Size
		}
		bytes += a.Bytes
	}
	return requests, bytes
}

// Cost is an estimate of what the fetch cost, in dollars, by the rate that its zone had;
// false when it is unpriced. Every attempt that the target has answered counts as a request,
// with the bytes of its body. What the service bills may be less, when it asks nothing for
// pages that were blocked, or more, when it counts headers. By the remote browser the body is
// the page's picture or its document, whose size is not that of the traffic.
func (r FetchResult) Cost() (dollars float64, priced bool) {
	requests, bytes := r.billed()
	return r.Request.Zone.Rate.Cost(float64(requests), float64(bytes))
}

// NoZone stands where the cost of a call would, that goes through no zone: a zone is the unit of billing (service.md 1
// rule 3), and what such a call costs is not shown.
const NoZone = "no zone"

// CostWords are the cost of the fetch as CostWords writes it, or NoZone.
func (r FetchResult) CostWords() string {
	if throughNoZone(string(r.Request.Zone.Name), r.Request.Via) {
		return NoZone
	}
	return CostWords(r.Cost())
}

// throughNoZone reports whether a fetch went through no zone. By agent access the service chooses one.
func throughNoZone(zone string, via Via) bool { return zone == "" && via != ViaAgent }

// Spend is what several fetches or calls through a proxy cost, by the rates of their zones. The zero Spend is that of
// none.
type Spend struct {
	Dollars          float64 // of those that have a rate
	Priced, Unpriced int     // how many with and without one
}

// Plus is what both cost.
func (s Spend) Plus(other Spend) Spend {
	return Spend{Dollars: s.Dollars + other.Dollars, Priced: s.Priced + other.Priced, Unpriced: s.Unpriced + other.Unpriced}
}

// Add counts a fetch or a call.
func (s *Spend) Add(dollars float64, priced bool) {
	if !priced {
		s.Unpriced++
		return
	}
	s.Dollars += dollars
	s.Priced++
}

// String is "$0.0031", "unpriced", or "$0.0031 + 2 unpriced"; "$0" of none.
func (s Spend) String() string {
	switch {
	case s.Unpriced == 0:
		return SmallDollars(s.Dollars)
	case s.Priced == 0:
		return "unpriced"
	default:
		return SmallDollars(s.Dollars) + " + " + strconv.Itoa(s.Unpriced) + " unpriced"
	}
}
