package model

// PasswordRenewal is the account of how a zone got another proxy password. It holds no password.
type PasswordRenewal struct {
	Zone      Zone
	KeyName   string // the key by which it was changed
	Reference string // where the value is, without a secret
	Steps     []PasswordStep
	// Renewed says that the reference leads to a new password that was seen to work.
	Renewed bool
	// OldRefused says that the old password was seen to be refused.
	OldRefused bool
}

// PasswordStep is one step of a renewal, in the order in which they were taken.
type PasswordStep struct {
	Name string // "store", "add", "prove", "keep", "remove", "refused", "undo"
	OK   bool
	Text string
}

// PasswordUses are what uses a zone's password, one phrase each.
type PasswordUses struct {
	Stops []string // what stops as soon as it is replaced
	GoOn  []string // what reads the new one by its reference
}
