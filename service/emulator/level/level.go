// Package level is what each permission level may do (service.md 5.3). The account and
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

// All are the levels in the order of service.md 5.3.
func All() []Level { return []Level{Admin, Finance, Ops, Limit, User} }

// Action is something a level permits or does not.
type Action int

// The actions, each a column of service.md 5.3 or a part of one.
const (
	// Anyone needs no key at all.
	Anyone Action = iota - 1
	// See is what shows neither money nor secrets: names and states of zones, of the
	// account, of networks. Every level has something to do with these (assumption:
	// the contract has no column for it).
	See
	// Use is proxy and API use.
	Use
	// ZonePasswords and IPLists are LIMIT's part of the product settings.
	ZonePasswords
	IPLists
	// Settings are the other product settings.
	Settings
	// Usage is bandwidth and requests, which is not money yet: for those who see
	// bills and those who run zones (assumption).
	Usage
	// Billing is balance, cost and rates.
	Billing
	// Keys are account settings: administrators only (service.md 2.1).
	Keys
)

// Permits is the matrix of service.md 5.3.
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

// Valid reports whether l is one of the five.
func (l Level) Valid() bool { return slices.Contains(All(), l) }
