package model

import "fmt"

// Rate is what a zone costs, as its profile says; the contract shows no price. The zero
// Rate is "unpriced".
type Rate struct {
	Per1000 float64 // dollars for 1,000 requests
	PerGB   float64 // dollars for 10^9 bytes
}

// Priced reports whether there is a rate.
func (r Rate) Priced() bool { return r != Rate{} }

// Cost is what requests and the bytes of their bodies cost, in dollars; false when
// unpriced. What a service charges for headers and for its own tries is not in it.
func (r Rate) Cost(requests, bytes float64) (float64, bool) {
	return requests/1000*r.Per1000 + bytes/1e9*r.PerGB, r.Priced()
}

// Dollars is an amount for a screen: "$1.50", and "<$0.01" for less than a cent.
func Dollars(amount float64) string {
	if amount > 0 && amount < 0.01 {
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", amount)
}
