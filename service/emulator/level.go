package emulator

import "slices"

// Level is a key's permission level (service.md 5.3).
type Level string

// The levels of service.md 5.3.
const (
	LevelAdmin   Level = "ADMIN"
	LevelFinance Level = "FINANCE"
	LevelOps     Level = "OPS"
	LevelLimit   Level = "LIMIT"
	LevelUser    Level = "USER"
)

// action is something a level permits or does not.
type action int

const (
	actUse           action = iota // proxy and API use
	actZonePasswords               // LIMIT's part of the product settings
	actKeys                        // account settings: administrators only (service.md 2.1)
)

// levels is the matrix of service.md 5.3. ADMIN may everything, FINANCE only looks
// at bills, of which this emulator has none yet.
func (l Level) permits(a action) bool {
	switch l {
	case LevelAdmin:
		return true
	case LevelOps, LevelLimit:
		return a == actUse || a == actZonePasswords
	case LevelUser:
		return a == actUse
	default:
		return false
	}
}

func (l Level) valid() bool {
	return slices.Contains([]Level{LevelAdmin, LevelFinance, LevelOps, LevelLimit, LevelUser}, l)
}

// native reports whether a product is reached by proxy login (service.md 5.2).
func native(product string) bool {
	switch product {
	case "datacenter", "isp", "residential", "mobile", "unlocker", "browser":
		return true
	default:
		return false
	}
}

// resigned reports whether HTTPS through a zone is re-signed by the service's own
// certificate authority (service.md 5.2 rule 3).
func (z Zone) resigned() bool {
	return !z.IdentityVerified && (z.Product == "residential" || z.Product == "unlocker")
}
