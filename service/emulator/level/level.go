// Package level defines what each permission level may do (service.md 5.3). The account and
// every endpoint ask it. It is pure.
package level

import "slices"

// Level is a key's permission level (service.md 5.3).
type Level string

// The levels of service.md 5.3.
const (
	Admin   Level = "ADMIN"
	Finance Level = "FINANCE"
	Ops     Level = "OPS"
	Limit   Level = "LIMIT"
	User    Level = "USER"
)

// All lists the levels in the order of service.md 5.3.
func All() []Level { return []Level{Admin, Finance, Ops, Limit, User} }

// Action is what a level permits or refuses.
type Action int

// The actions, each a column of service.md 5.3 or a part of one.
const (
	// Anyone needs no key.
	Anyone Action = iota - 1
	// See reads what shows neither money nor secrets: names and states of zones, of the
	// account, of networks. Every level may (assumption: the contract has no column for it).
	See
	// Use is proxy and API use.
	Use
	// ZonePasswords and IPLists are the product settings that LIMIT may change.
	ZonePasswords
	IPLists
	// Settings are the other product settings.
	Settings
	// Usage is bandwidth and requests, without cost: for levels that see bills and levels
	// that run zones (assumption).
	Usage
	// Billing is balance, cost and rates.
	Billing
	// Keys are account settings, for administrators only (service.md 2.1).
	Keys
)

// Permits implements the matrix of service.md 5.3.
func (l Level) Permits(a Action) bool {
	if a == Anyone {
		return true
	}
	switch l {
	case Admin:
		return true
	case Finance:
		return a == See || a == Usage || a == Billing
	case Ops:
		return a != Billing && a != Keys
	case Limit:
		return a == See || a == Use || a == ZonePasswords || a == IPLists
	case User:
		return a == See || a == Use
	default:
		return false
	}
}

// Valid reports whether l is a level.
func (l Level) Valid() bool { return slices.Contains(All(), l) }
