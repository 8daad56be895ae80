package keystore

import "time"

// PreviousValue is a value that a rotation has left behind.
type PreviousValue struct {
	Fingerprint, Last4 string
	// Ended is when the value was seen to be deleted or refused; zero if it may still be valid.
	Ended time.Time
}

// PreviousValues finds the values that rotations left behind for a key: the old value and the accepted new one
// of an unfinished rotation, and old values that were seen to end. The value in the key's record may be among them.
// profile is the profile that the key comes with; empty for a key of the inventory.
func PreviousValues(plans []RotationPlan) func(profile, key string) []PreviousValue {
	type owner struct{ profile, key string }
	values := map[owner][]PreviousValue{}
	at := map[owner]map[string]int{}
	add := func(id owner, v PreviousValue) {
		if at[id] == nil {
			at[id] = map[string]int{}
		}
		switch i, known := at[id][v.Fingerprint]; {
		case v.Fingerprint == "":
		case !known:
			at[id][v.Fingerprint] = len(values[id])
			values[id] = append(values[id], v)
		case values[id][i].Ended.IsZero(): // another rotation may have ended it
			values[id][i].Ended = v.Ended
		}
	}
	for _, p := range plans {
		if !p.OfKey(p.Profile, p.Key) {
			continue
		}
		id, old := owner{p.Profile, p.Key}, PreviousValue{Fingerprint: p.OldFingerprint, Last4: p.OldLast4}
		for _, kind := range []RotationStepKind{StepDelete, StepRefused} {
			if s, _ := p.Step(kind, ""); s.Done {
				old.Ended = s.At
			}
		}
		unfinished := p.UnfinishedWord() != ""
		if unfinished || !old.Ended.IsZero() {
			add(id, old)
		}
		if unfinished && p.renewedValue() {
			add(id, PreviousValue{Fingerprint: p.NewFingerprint, Last4: p.NewLast4})
		}
	}
	return func(profile, key string) []PreviousValue { return values[owner{profile, key}] }
}

// EndedBy finds the key whose rotation ended a value; empty if none did.
func EndedBy(plans []RotationPlan) func(fingerprint string) (key string) {
	by := map[string]string{}
	for _, p := range plans {
		if s, _ := p.Step(StepRefused, ""); s.Done && p.OfKey(p.Profile, p.Key) && p.OldFingerprint != p.NewFingerprint {
			by[p.OldFingerprint] = p.Key
		}
	}
	delete(by, "")
	return func(fingerprint string) string { return by[fingerprint] }
}
