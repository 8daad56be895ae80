package records

import (
	"slices"
	"strings"
	"testing"
)

func TestATableOfASpreadsheetIsReadOrRefused(t *testing.T) {
	read := func(text string) (layout, error) {
		return layoutOf(strings.NewReader(text), int64(len(text)), "x.csv")
	}
	for _, text := range []string{"sep=;\r\nurl;a,b\r\nu1;1\r\n", "\ufeffsep=|\nurl|a,b\n"} {
		if l, err := read(text); err != nil || !slices.Equal(l.header, []string{"url", "a,b"}) {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
	if _, err := read("url,price\ru1,1\ru2,2\r"); err == nil || !strings.Contains(err.Error(), "a carriage return alone") {
		t.Error(err)
	}
}
