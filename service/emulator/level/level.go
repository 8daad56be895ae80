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

// Action is something a level permits or does not.
type Action int

// The actions, each a column of service.md 5.3 or a part of one.
const (
	Use           Action = iota // proxy and API use
	ZonePasswords               // LIMIT's part of the product settings
	Keys                        // account settings: administrators only (service.md 2.1)
)

// Permits is the matrix of service.md 5.3. ADMIN may everything, FINANCE only looks
// at bills, of which this emulator has none yet.
func (l Level) Permits(a Action) bool {
	switch l {
	case Admin:
		return true
	case Ops, Limit:
		return a == Use || a == ZonePasswords
	case User:
		return a == Use
	default:
		return false
	}
}

// Valid reports whether l is one of the five.
func (l Level) Valid() bool {
	return slices.Contains([]Level{Admin, Finance, Ops, Limit, User}, l)
}
