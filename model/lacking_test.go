package model

import "testing"

func TestWhatIsLackingIsCountedInWords(t *testing.T) {
	for _, c := range []struct {
		records, returned int
		want              string
	}{
		{5, 2, "the service counted 5 records, but 2 rows came: the answer may have been cut"},
		{2, 1, "the service counted 2 records, but 1 row came: the answer may have been cut"},
		{1, 0, "the service counted 1 record, but 0 rows came: the answer may have been cut"},
		{2, 2, ""},
	} {
		j := Job{Dataset: "gd_products", Records: c.records, Rows: JobRows{Counted: true, Returned: c.returned}}
		if got := j.LackingWords(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
