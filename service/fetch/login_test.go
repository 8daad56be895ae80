package fetch

import (
	"strings"
	"testing"
)

func TestAWrongLoginShowsWhereAndNothingThatMayBeAPassword(t *testing.T) {
	t.Parallel()
	for pasted, want := range map[string]string{
		"brd-customer-hl_1234abcd-zon-isp:hunter2pass@proxy.example.com:33335": `brd-customer-hl_1234abcd-▸zon…; accepted`,
		"brd-Customer-hl_1234abcd-zone-isp:hunter2pass":                        `: brd-▸Customer…; accepted`,
		"brd-customer-1234:hunter2pass":                                        `-▸`,
		"brd-customer-hl_1234abcd:hunter2pass":                                 `: brd-customer-hl_1234abcd-▸ ends there; accepted`,
		"hunter2pass-x":                                                        "accepted are",
		"proxy.example.com:33335:hunter2pass:brd-customer":                     "accepted are",
		"brd-customer-hl_1234abcd-hunter2pass!":                                `brd-customer-hl_1234abcd-▸; accepted`,
	} {
		_, err := ReadLogin(pasted)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want %q", pasted, err, want)
		}
	}
}
