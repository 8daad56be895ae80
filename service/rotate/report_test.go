package rotate_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
)

func TestAReportHoldsNoSequencesAndNoPictures(t *testing.T) {
	k := model.Key{Name: "etl|main", Secret: "env:ETL"}
	plan := keystore.PlanRotation(k, keystore.RotateByNewKey, []keystore.RotationUser{
		{Name: "a\x1b]0;title\x07\x1b[31mred\u202e.env:1", File: "a"},
		{Name: "![x](http://evil.test/p) *b* `c` <img>:2", File: "b"},
	}, time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	report := rotate.Report(plan)
	for _, r := range report {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("the report holds %q", r)
		}
	}
	for _, want := range []string{
		`test aU+001B\]0;titleU+0007U+001B\[31mredU+202E.env:1 |`,
		`test \!\[x\](http://evil.test/p) \*b\* 'c' &lt;img>:2 |`,
		"# Rotation of etl\\|main\n",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is not in the report:\n%s", want, report)
		}
	}
}
