package keystore

import "slices"

// Calls reports whether a rotation makes calls as a profile until it is over.
func (p RotationPlan) Calls(profile string) bool {
	return slices.ContainsFunc(p.Users, func(u RotationUser) bool { return u.Profile == profile })
}

// NeedsReference reports whether a rotation needs a reference as it is until it is over.
func (p RotationPlan) NeedsReference(ref string) bool {
	if ref == "" {
		return false
	}
	return slices.Contains([]string{p.NewRef, p.Ref, p.OldHeld, p.NewHeld}, ref) ||
		slices.ContainsFunc(p.Users, func(u RotationUser) bool { return u.Ref == ref })
}

// References are the references behind which a rotation keeps the old and the new value while it is under
// way. There may be nothing behind them.
func (p RotationPlan) References() (before, after string) {
	return "file:rotation-" + p.ID + "-old", "file:rotation-" + p.ID + "-new"
}
