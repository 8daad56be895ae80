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

// Standing says which password counts after a renewal, as far as its steps tell.
func (r PasswordRenewal) Standing() string {
	done := map[string]bool{}
	for _, s := range r.Steps {
		done[s.Name] = s.OK
	}
	undone, tried := done["undo"]
	switch {
	case r.OldRefused:
		return "the new password is in use, and the old one was seen to be refused"
	case r.Renewed && done["remove"]:
		return "the new password is in use; the old one was removed, and was not seen to be refused"
	case r.Renewed:
		return "the new password is in use; the old one may still be valid"
	case done["remove"]:
		return "the old password was removed; the new one was not seen behind its reference"
	case done["add"] && !undone, tried && !undone:
		return "the old password stays; the new one may be valid beside it"
	default:
		return "the old password stays"
	}
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
