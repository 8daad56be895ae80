package meter

import "math"

// Rate is the price of a zone's plan, in dollars.
type Rate struct {
	// GB is per 10^9 bytes in either direction.
	GB float64 `json:"per_gb"`
	// Thousand is per 1,000 billable requests.
	Thousand float64 `json:"per_thousand"`
}

// DefaultRate is a product's rate if the scenario sets none. The contract shows no prices: all
// of these are assumptions.
func DefaultRate(product string) Rate {
	switch product {
	case "datacenter":
		return Rate{GB: 0.60}
	case "isp":
		return Rate{GB: 0.80}
	case "residential":
		return Rate{GB: 8}
	case "mobile":
		return Rate{GB: 12}
	case "browser":
		return Rate{GB: 8}
	case "unlocker", "serp", "crawl", "scrapers", "datasets", "discover", "agent":
		return Rate{Thousand: 1.50}
	case "deep_lookup":
		return Rate{Thousand: 1000}
	default:
		return Rate{}
	}
}

// Nano is a price in 10^-9 dollars.
func (r Rate) Nano(bytes, billable int64) int64 {
	// Dollars per 10^9 bytes are 10^-9 dollars per byte.
	return int64(math.Round(float64(bytes)*r.GB + float64(billable)*r.Thousand*1e6))
}
