package model

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryStateHasItsWord(t *testing.T) {
	for got, want := range map[string]string{
		ViaNative.String(): "Native", ViaAPI.String(): "API",
		ExpiryStateValid.String(): "valid", ExpiryStateUnlimited.String(): "unlimited", ExpiryStateUnknown.String(): "unknown",
		ExpiryStateSoon.String(): "expires", ExpiryStateExpired.String(): "expired",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	rotation := []string{RotationFresh.String(), RotationUnknown.String(), RotationSoon.String(), RotationDue.String(), RotationOverdue.String()}
	if want := []string{"fresh", "unknown", "due soon", "due", "overdue"}; !slices.Equal(rotation, want) {
		t.Errorf("%q", rotation)
	}
}

func TestTheParametersGivenAwayAreACopy(t *testing.T) {
	UsernameParams()[0].Name = "spoilt"
	if ps := UsernameParams(); len(ps) != len(paramSpecs) || ps[0].Name == "spoilt" {
		t.Errorf("%+v", ps)
	}
}

func TestALoginThatIsNotValidHasNoNotes(t *testing.T) {
	if notes := (Credential{Prefix: "brd", Account: "hl_1", Zone: "a:b"}).Notes(nil); notes != nil {
		t.Errorf("%q", notes)
	}
}

func TestADialectsVerdictGetsTheCauseOfItsClass(t *testing.T) {
	for class, want := range map[Class]Cause{ClassOutside: CauseServiceError, ClassTimeout: CauseServiceTimeout, ClassParsingDrift: CauseMissingFields, ClassCaptcha: CauseNone} {
		f := facts{Outcome: Outcome{ServiceClass: class, ServiceCause: "made up"}}
		if c, cause := f.dialectVerdict(); c != class || cause != want {
			t.Errorf("%s: %s/%s, want %s", class, c, cause, want)
		}
	}
}

func TestTheLengthOfAnAddressIsBounded(t *testing.T) {
	address := func(n int) string { return "http://a/" + strings.Repeat("a", n-len("http://a/")) }
	if _, err := ParseTarget(address(8192)); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	if u, err := ParseTarget(address(8193)); err == nil || u != nil {
		t.Error("beyond the bound it was taken")
	}
	long := strings.Repeat("a", 63)
	for host, good := range map[string]bool{"a": true, "a.b.": true, "a..b": false, ".a": false, long: true, long + "a": false, "[2001:db8::1]": true, "b." + long + "a": false} {
		if u, err := ParseTarget("http://" + host + "/"); (err == nil) != good {
			t.Errorf("%s: %v, %v", host, u, err)
		}
	}
}

func TestALoginThatIsTooLongToBeReadBackSaysSo(t *testing.T) {
	c := Credential{Prefix: "brd", Account: "hl_1", Zone: "a", Params: []Param{{Name: "asn", Value: strings.Repeat("9", maxUsername)}}}
	if _, err := c.Username(); err != nil {
		t.Fatal(err)
	}
	if notes := c.Notes(nil); len(notes) != 1 || !strings.Contains(notes[0], "could not read this username back") {
		t.Errorf("%q", notes)
	}
}

func TestAFewOfTheMissingFieldsAreEvidence(t *testing.T) {
	for n, want := range map[int]int{20: 20, 21: 20} {
		missing := make([]string, n)
		o := Outcome{Via: ViaAPI, ServiceStatus: 200, TargetStatus: 200, BodyHead: []byte("x"), BodySize: 1, RequiredFields: missing, MissingFields: missing}
		got := 0
		for _, e := range Diagnose(o).Evidence {
			if strings.HasPrefix(e.Text, "required field") {
				got++
			}
		}
		if got != want {
			t.Errorf("%d missing fields are %d pieces of evidence", n, got)
		}
	}
}
