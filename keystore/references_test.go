package keystore

import "testing"

func TestARotationHoldsTheReferencesThatItNeeds(t *testing.T) {
	p := RotationPlan{NewRef: "file:new", Ref: "file:own", OldHeld: "file:old", NewHeld: "file:held", Users: []RotationUser{{Ref: "file:user"}, {}}}
	for ref, want := range map[string]bool{"file:new": true, "file:own": true, "file:old": true, "file:held": true, "file:user": true, "file:other": false, "": false} {
		if p.NeedsReference(ref) != want {
			t.Errorf("%q: %v", ref, !want)
		}
	}
}
