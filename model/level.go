package model

import (
	"fmt"
	"strings"
)

// Level is the permission level of a key (service.md 2.1, 5.3). The zero value
// is "not known".
type Level string

// The levels of service.md 5.3.
const (
	LevelUnknown Level = ""
	LevelAdmin   Level = "ADMIN"
	LevelFinance Level = "FINANCE"
	LevelOps     Level = "OPS"
	LevelLimit   Level = "LIMIT"
	LevelUser    Level = "USER"
)

// Capability is a column of the permission matrix of service.md 5.3.
type Capability int

// The columns of the matrix.
const (
	CapBilling  Capability = iota // billing and financial
	CapSettings                   // product settings
	CapUse                        // proxy and API use
)

// String is the column's heading.
func (c Capability) String() string {
	switch c {
	case CapBilling:
		return "Billing/financial"
	case CapSettings:
		return "Product settings"
	case CapUse:
		return "Proxy / API use"
	default:
		return fmt.Sprintf("Capability(%d)", int(c))
	}
}

// Permission is a cell of the matrix. Unknown is the zero value: a level that
// is not known grants nothing that can be relied on.
type Permission int

// The cells of the matrix. PermPartial stands only for LIMIT's product
// settings: proxy passwords and IP allow/deny lists.
const (
	PermUnknown Permission = iota
	PermNo
	PermPartial
	PermYes
)

// String is the cell's word.
func (p Permission) String() string {
	switch p {
	case PermNo:
		return "no"
	case PermPartial:
		return "partial"
	case PermYes:
		return "yes"
	default:
		return "unknown"
	}
}

// Levels lists the levels in the order of service.md 5.3.
func Levels() []Level {
	return []Level{LevelAdmin, LevelFinance, LevelOps, LevelLimit, LevelUser}
}

// Capabilities lists the columns of the matrix in order.
func Capabilities() []Capability { return []Capability{CapBilling, CapSettings, CapUse} }

// ParseLevel reads a level's name; the case must match, and the empty string is
// LevelUnknown.
func ParseLevel(s string) (Level, error) {
	if s == "" {
		return LevelUnknown, nil
	}
	for _, l := range Levels() {
		if string(l) == s {
			return l, nil
		}
	}
	if u := strings.ToUpper(s); u != s {
		if _, err := ParseLevel(u); err == nil {
			return LevelUnknown, fmt.Errorf("level %q: write it in capitals, %s", s, u)
		}
	}
	return LevelUnknown, fmt.Errorf("level %q is not one of ADMIN, FINANCE, OPS, LIMIT, USER", s)
}

// String is the level's name, or "unknown".
func (l Level) String() string {
	if l == LevelUnknown {
		return "unknown"
	}
	return string(l)
}

// Permission is the matrix of service.md 5.3.
func (l Level) Permission(c Capability) Permission {
	var row [3]Permission
	switch l {
	case LevelAdmin:
		row = [3]Permission{PermYes, PermYes, PermYes}
	case LevelFinance:
		row = [3]Permission{PermYes, PermNo, PermNo}
	case LevelOps:
		row = [3]Permission{PermNo, PermYes, PermYes}
	case LevelLimit:
		row = [3]Permission{PermNo, PermPartial, PermYes}
	case LevelUser:
		row = [3]Permission{PermNo, PermNo, PermYes}
	default:
		return PermUnknown
	}
	if c < CapBilling || c > CapUse {
		return PermUnknown
	}
	return row[c]
}

// ChangesPasswords is whether the level may change a zone's proxy password: PermPartial of the
// product settings includes it (service.md 5.3).
func (l Level) ChangesPasswords() Permission {
	if p := l.Permission(CapSettings); p != PermPartial {
		return p
	}
	return PermYes
}

// IntendedUse is the last column of service.md 5.3.
func (l Level) IntendedUse() string {
	switch l {
	case LevelAdmin:
		return "administration; human use only"
	case LevelFinance:
		return "billing review"
	case LevelOps:
		return "operations, zone settings"
	case LevelLimit:
		return "proxy password and IP allow/deny lists only"
	case LevelUser:
		return "everyday API use by applications and batch jobs"
	default:
		return "not known"
	}
}
