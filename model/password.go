package model

// PasswordUses are what uses a zone's password, one phrase each.
type PasswordUses struct {
	Stops []string // what stops as soon as it is replaced
	GoOn  []string // what reads the new one by its reference, or has another value
	// Compared says what was held against what to tell the two apart.
	Compared string
}
