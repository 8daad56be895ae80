package journal

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func TestFilterTermsAreRead(t *testing.T) {
	for in, want := range map[string]model.HistoryFilter{
		"":                                {},
		"shop  captcha":                   {Words: []string{"shop", "captcha"}},
		"class:captcha zone:z key:k":      {Class: model.ClassCaptcha, Zone: "z", Key: "k"},
		"by:rotation":                     {Source: model.SourceRotation},
		"by:agent kind:agent":             {Source: model.SourceAgent, Kind: model.HistoryAgent},
		"kind:comp":                       {Kind: model.HistoryComparison},
		"-kind:comparison":                {Clauses: []string{"NOT (replace(activity.kind, 'twin', 'comparison') IN (?))"}, Args: [][]any{{"comparison"}}},
		"profile:acme":                    {Profile: "acme"},
		"class:access":                    {Class: model.ClassAccessRestricted},
		"class:too-fast kind:fetch":       {Class: model.ClassTooFast, Kind: model.HistoryFetch},
		"since:2h":                        {Since: noon().Add(-2 * time.Hour)},
		"since:3d shop":                   {Since: noon().Add(-72 * time.Hour), Words: []string{"shop"}},
		"since:1w":                        {Since: noon().Add(-168 * time.Hour)},
		"since:2026-11-20":                {Since: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)},
		`"two words" -shop`:               {Words: []string{"two words"}, Clauses: []string{"instr(activity.words, ?) = 0"}, Args: [][]any{{"shop"}}},
		"-class:ok":                       {Clauses: []string{"NOT (activity.class IN (?))"}, Args: [][]any{{"ok"}}},
		"class:t":                         {Clauses: []string{"activity.class IN (?, ?)"}, Args: [][]any{{"too_fast", "timeout"}}},
		"has:key since<2h":                {Clauses: []string{"activity.key <> ''", "+at < ?"}, Args: [][]any{nil, {noon().Add(-2 * time.Hour).UnixMicro()}}},
		"http://lab.test/ok https://x:80": {Words: []string{"http://lab.test/ok", "https://x:80"}},
	} {
		got, err := ParseFilter(in, noon())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %+v, %v; want %+v", in, got, err, want)
		}
	}
}

func TestAMistakeInAFilterIsReported(t *testing.T) {
	for in, want := range map[string]string{
		"by:me":      "is not one of agent, rotation",
		"class:":     "class: has no value",
		"class:blah": "is not one of ok, access_restricted",
		"kind:mail":  "is not one of fetch, comparison, probe, job, key",
		"since:soon": "write 2h, 3d, 1w",
		"since:-2h":  "write 2h",
		"since:0d":   "write 2h",
		"since:w":    "write 2h",
		"since:+2d":  "write 2h",
		// More weeks than a duration can hold must not wrap round into the future.
		"since:20000w":                "write 2h",
		"since:99999999999999999999d": "write 2h",
		"status:200":                  "unknown term",
	} {
		if _, err := ParseFilter(in, noon()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want it to say %q", in, err, want)
		}
	}
}

// FuzzParseFilter: any typed text gives a filter or an error.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"class:captcha zone:x since:2h", "since:1w", "a:b:c", "http://x", ":", "since:999999w", "since:20000w"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseFilter(s, noon())
		if err == nil && got.Since.After(noon()) && !strings.Contains(s, "-") {
			t.Errorf("%q looks into the future: %v", s, got.Since)
		}
	})
}
