package drift

import "testing"

func TestADifferenceIsOfTheValuesAndNotOfTheirCommas(t *testing.T) {
	got := Difference(`{"a":"x,\ny","list":[1],"gone":true}`, `{"a":"x,\ny","list":[1]}`)
	if want := "    \"list\": [\n      1\n    ]\n-   \"gone\": true\n  }\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
