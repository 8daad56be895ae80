package level

import "testing"

func TestTheMatrixOfServiceMD53(t *testing.T) {
	// Rows: See, Use, ZonePasswords, IPLists, Settings, Usage, Billing, Keys.
	want := map[Level]string{
		Admin:   "yyyyyyyy",
		Finance: "y----yy-",
		Ops:     "yyyyyy--",
		Limit:   "yyyy----",
		User:    "yy------",
		"ROOT":  "--------",
		"":      "--------",
	}
	for l, row := range want {
		for a := See; a <= Keys; a++ {
			if l.Permits(a) != (row[a] == 'y') {
				t.Errorf("%s, action %d: %v", l, a, l.Permits(a))
			}
		}
		if !l.Permits(Anyone) {
			t.Errorf("%s may not do what anyone may", l)
		}
		if l.Valid() != (row[0] == 'y') {
			t.Errorf("%q valid: %v", l, l.Valid())
		}
	}
}
