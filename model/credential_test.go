package model

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUsernameIsWrittenByTheGrammar(t *testing.T) {
	base := Credential{Prefix: "abc", Account: "hl_1234abcd", Zone: "unlocker1"}
	with := func(change func(*Credential)) Credential {
		c := base
		change(&c)
		return c
	}
	tests := []struct {
		name string
		c    Credential
		want string
		part string // of the error
	}{
		{"the plain form", base, "abc-customer-hl_1234abcd-zone-unlocker1", ""},
		{"case is kept", with(func(c *Credential) { c.Prefix, c.Zone = "AbC", "Zone_X" }), "AbC-customer-hl_1234abcd-zone-Zone_X", ""},
		{"a zone may contain the separator", with(func(c *Credential) { c.Zone = "eu-shop" }), "abc-customer-hl_1234abcd-zone-eu-shop", ""},
		{
			"parameters follow in order",
			with(func(c *Credential) { c.Params = []Param{{"country", "de"}, {"session", "a1"}, {"raw", ""}} }),
			"abc-customer-hl_1234abcd-zone-unlocker1-country-de-session-a1-raw", "",
		},
		{"a value may contain the separator", with(func(c *Credential) { c.Params = []Param{{"city", "a-b"}} }), "abc-customer-hl_1234abcd-zone-unlocker1-city-a-b", ""},
		{"no prefix", with(func(c *Credential) { c.Prefix = "" }), "", "prefix"},
		{"a prefix with the separator", with(func(c *Credential) { c.Prefix = "a-b" }), "", "prefix"},
		{"no account", with(func(c *Credential) { c.Account = "" }), "", "account"},
		{"an account without hl_", with(func(c *Credential) { c.Account = "1234" }), "", "account"},
		{"no zone", with(func(c *Credential) { c.Zone = "" }), "", "zone"},
		{"a zone with a space", with(func(c *Credential) { c.Zone = "a b" }), "", "zone"},
		{"a zone with a colon", with(func(c *Credential) { c.Zone = "a:b" }), "", "zone"},
		{"a parameter without a value", with(func(c *Credential) { c.Params = []Param{{"country", ""}} }), "", "country"},
		{"a flag with a value", with(func(c *Credential) { c.Params = []Param{{"raw", "x"}} }), "", "raw"},
		{"a value with a colon", with(func(c *Credential) { c.Params = []Param{{"session", "a:b"}} }), "", "session"},
		{"a value with a zero-width space", with(func(c *Credential) { c.Params = []Param{{"session", "a\u200bb"}} }), "", "session"},
		{"a value that hides a parameter", with(func(c *Credential) { c.Params = []Param{{"session", "a-country-de"}} }), "", "session"},
		{"a parameter without a name", with(func(c *Credential) { c.Params = []Param{{"", "x"}} }), "", "parameter"},
		{"a parameter's name with the separator", with(func(c *Credential) { c.Params = []Param{{"a-b", "x"}} }), "", "a-b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.c.Username()
			if got != tt.want {
				t.Errorf("username %q, want %q", got, tt.want)
			}
			var refused *UsernameError
			if tt.part == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.As(err, &refused) || !errors.Is(err, errUsername) {
				t.Fatalf("error %v is no UsernameError", err)
			}
			if refused.Part != tt.part || !strings.Contains(err.Error(), tt.part) {
				t.Errorf("error %q blames %q, want %q", err, refused.Part, tt.part)
			}
		})
	}
}

func TestReadUsernameGivesEveryReadingLikeliestFirst(t *testing.T) {
	const head = "abc-customer-hl_1-zone-"
	tests := []struct {
		name  string
		in    string
		known []ZoneName
		want  []string // Credential.describe of every reading
	}{
		{"one reading", "shop", nil, []string{`zone "shop"`}},
		{"a zone with the separator and no parameter's name", "eu-shop", nil, []string{`zone "eu-shop"`}},
		{"a parameter", "shop-country-de", nil, []string{`zone "shop", country "de"`, `zone "shop-country-de"`}},
		{"a known zone decides", "a-country-de", []ZoneName{"a-country-de"}, []string{`zone "a-country-de"`, `zone "a", country "de"`}},
		{"a known short zone decides", "a-country-de", []ZoneName{"b", "a"}, []string{`zone "a", country "de"`, `zone "a-country-de"`}},
		{"both known: the shorter first", "a-country-de", []ZoneName{"a-country-de", "a"}, []string{`zone "a", country "de"`, `zone "a-country-de"`}},
		{"a name that ends in a parameter's word", "shop-country", nil, []string{`zone "shop-country"`}},
		{"flags stand alone", "a-raw-country-de", nil, []string{`zone "a", raw, country "de"`, `zone "a-raw", country "de"`, `zone "a-raw-country-de"`}},
		{"a value may be a parameter's word", "a-session-raw", []ZoneName{"a"}, []string{`zone "a", session "raw"`, `zone "a-session", raw`, `zone "a-session-raw"`}},
		{"a value is joined up to the next parameter", "a-city-new-york-session-x", []ZoneName{"a"}, []string{
			`zone "a", city "new-york", session "x"`, `zone "a-city-new-york", session "x"`, `zone "a-city-new-york-session-x"`,
		}},
		{"an unknown parameter after a known zone", "a-b-colour-red", []ZoneName{"a-b"}, []string{`zone "a-b", colour "red"`, `zone "a-b-colour-red"`}},
		{"an unknown parameter without a value", "a-odd-country-de", []ZoneName{"a"}, []string{`zone "a", odd, country "de"`, `zone "a-odd", country "de"`, `zone "a-odd-country-de"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadUsername(head+tt.in, tt.known)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, r := range got {
				lines = append(lines, r.Credential.describe())
			}
			if strings.Join(lines, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("readings\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(tt.want, "\n"))
			}
			for _, r := range got {
				if len(got) > 1 && len(r.Notes) == 0 {
					t.Errorf("%s: an ambiguous reading without a note", r.Credential.describe())
				}
			}
		})
	}
}

func TestReadUsernameNamesTheWrongPart(t *testing.T) {
	tests := []struct{ name, in, part, text string }{
		{"empty", "", "username", "empty"},
		{"something else", "alice", "username", "must begin"},
		{"wrong case", "abc-Customer-hl_1-zone-a", "username", "case-sensitive"},
		{"no prefix", "-customer-hl_1-zone-a", "prefix", "empty"},
		{"no account", "abc-customer", "account", "nothing follows"},
		{"a foreign account", "abc-customer-x9-zone-a", "account", "hl_"},
		{"no zone", "abc-customer-hl_1", "zone", "must follow"},
		{"zone in capitals", "abc-customer-hl_1-ZONE-a", "zone", "case-sensitive"},
		{"nothing after zone", "abc-customer-hl_1-zone", "zone", "no zone name"},
		{"an empty name", "abc-customer-hl_1-zone-", "zone", "no zone name"},
		{"a space", "abc-customer-hl_1-zone-a b", "username", "spaces"},
		{"a password beside it", "abc-customer-hl_1-zone-a:pw", "username", "password"},
		{"too long", "abc-customer-hl_1-zone-" + strings.Repeat("a", 2000), "username", "more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadUsername(tt.in, nil)
			var refused *UsernameError
			if !errors.As(err, &refused) {
				t.Fatalf("error %v", err)
			}
			if strings.Contains(err.Error(), "username: username") {
				t.Errorf("%q names the username twice", err)
			}
			if refused.Part != tt.part || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %q blames %q, want %q and %q in it", err, refused.Part, tt.part, tt.text)
			}
		})
	}
}

func TestNotesReportTheAmbiguityOfTheSeparator(t *testing.T) {
	c := Credential{Prefix: "abc", Account: "hl_1", Zone: "a-country-de"}
	if notes := c.Notes(nil); len(notes) != 1 || !strings.Contains(notes[0], `zone "a", country "de"`) {
		t.Errorf("notes %q do not show the other reading", notes)
	}
	if notes := c.Notes([]ZoneName{"shop", c.Zone}); len(notes) != 0 || len(c.OtherReadings(nil)) != 1 {
		t.Errorf("notes %q although no other reading has a zone of the account", notes)
	}
	for _, zones := range [][]ZoneName{{"a", c.Zone}, {"shop"}} {
		if notes := c.Notes(zones); len(notes) != 1 {
			t.Errorf("zones %q: notes %q do not show the other reading", zones, notes)
		}
	}
	c.Zone = "shop"
	if notes := c.Notes(nil); len(notes) != 0 {
		t.Errorf("notes %q where nothing is to be said", notes)
	}
	c.Params = []Param{{"country", "USA"}, {"session", "a.b"}, {"country", "de"}}
	if notes := strings.Join(c.Notes(nil), "\n"); !strings.Contains(notes, "given twice") || !strings.Contains(notes, "letters, digits and _") {
		t.Errorf("notes %q", notes)
	}
	c.Params = []Param{{"country", "de"}, {"colour", "red"}}
	if notes := strings.Join(c.Notes(nil), "\n"); !strings.Contains(notes, "cannot be read back") {
		t.Errorf("notes %q do not say that colour joins the country", notes)
	}
	c.Params = []Param{{"city", "berlin"}, {"const", ""}}
	if notes := strings.Join(c.Notes(nil), "\n"); !strings.Contains(notes, "needs a country") || !strings.Contains(notes, "without a session") {
		t.Errorf("notes %q", notes)
	}
}

// drawCredential draws any credential that Username accepts.
func drawCredential(t *rapid.T) Credential {
	c := Credential{
		Prefix:  rapid.StringMatching(`[A-Za-z0-9_]{1,6}`).Draw(t, "prefix"),
		Account: AccountID("hl_" + rapid.StringMatching(`[A-Za-z0-9_]{1,10}`).Draw(t, "account")),
	}
	// Pieces of zones are drawn from parameter names too: that is where readings part.
	piece := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_.é]{1,6}`), rapid.SampledFrom([]string{"country", "de", "raw", "session", "zone", "customer"}))
	c.Zone = ZoneName(strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "zone"), "-"))
	value := rapid.StringMatching(`[a-z0-9_.]{1,5}(-[0-9]{1,3})?`)
	for range rapid.IntRange(0, 4).Draw(t, "params") {
		spec := rapid.SampledFrom(paramSpecs).Draw(t, "param")
		p := Param{Name: spec.Name}
		if !spec.Flag {
			p.Value = value.Draw(t, "value")
		}
		c.Params = append(c.Params, p)
	}
	return c
}

func TestEveryUsernameReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCredential(t)
		username, err := c.Username()
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		readings, err := ReadUsername(username, []ZoneName{c.Zone})
		if err != nil {
			t.Fatalf("%s: %v", username, err)
		}
		if !readings[0].Credential.Equal(c) {
			t.Fatalf("%s: read as %s, was written from %s", username, readings[0].Credential.describe(), c.describe())
		}
		blind, err := ReadUsername(username, nil)
		if err != nil {
			t.Fatalf("%s without zones: %v", username, err)
		}
		if len(blind) != len(readings) {
			t.Fatalf("%s: %d readings without known zones, %d with", username, len(blind), len(readings))
		}
		for _, r := range blind {
			again, err := r.Credential.Username()
			if err != nil || again != username {
				t.Fatalf("%s: reading %s is written %q (%v)", username, r.Credential.describe(), again, err)
			}
		}
	})
}

func TestPartsJoinToTheUsername(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCredential(t)
		username, err := c.Username()
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, p := range c.Parts() {
			texts = append(texts, p.Text)
			if p.Name == "" {
				t.Fatalf("part %+v has no name", p)
			}
		}
		if got := strings.Join(texts, "-"); got != username {
			t.Fatalf("parts join to %s, not %s", got, username)
		}
	})
}

func TestPartsWorkWhileTyping(t *testing.T) {
	problems := 0
	for _, p := range (Credential{Prefix: "abc", Params: []Param{{Name: "country"}}}).Parts() {
		if p.Problem != nil {
			problems++
		}
	}
	if problems != 3 { // account, zone, country
		t.Errorf("%d problems, want 3", problems)
	}
}

func FuzzReadUsername(f *testing.F) {
	for _, s := range []string{
		"abc-customer-hl_1-zone-a", "abc-customer-hl_1-zone-a-country-de-raw", "---", "abc-customer-hl_1-zone--", "\x00-customer-\xff", "abc-customer-hl_1-zone-a-zon-",
	} {
		f.Add(s, "a-country-de")
		f.Add(s, "a")
	}
	f.Fuzz(func(t *testing.T, s, zone string) {
		readings, err := ReadUsername(s, []ZoneName{ZoneName(zone)})
		if err != nil {
			if !errors.Is(err, errUsername) || len(readings) > 0 {
				t.Fatalf("%q: %d readings with %v", s, len(readings), err)
			}
			return
		}
		if len(readings) == 0 {
			t.Fatalf("%q: no reading and no error", s)
		}
		for _, r := range readings {
			if r.Credential.join() != s {
				t.Fatalf("%q: reading %s writes %q", s, r.Credential.describe(), r.Credential.join())
			}
		}
	})
}

func TestCountriesAndSessionsThatADialectTakesHaveNoNote(t *testing.T) {
	note := func(name, value string) []string {
		return Credential{Prefix: "abc", Account: "hl_1", Zone: "a", Params: []Param{{name, value}}}.valueNotes()
	}
	for _, v := range []string{"aa", "az", "za", "zz", "cz"} {
		if notes := note("country", v); len(notes) != 0 {
			t.Errorf("country %q: %q", v, notes)
		}
	}
	for _, v := range []string{"a", "aaa", "Az", "aZ", "a`", "`a", "a{", "{a", "a1", ""} {
		want := []string{fmt.Sprintf("country %q: two lower-case letters are expected, as in de", v)}
		if notes := note("country", v); !slices.Equal(notes, want) {
			t.Errorf("country %q: %q", v, notes)
		}
	}
	for _, v := range []string{"a", "Z9", "09az", "Ab_1", "_"} {
		if notes := note("session", v); len(notes) != 0 {
			t.Errorf("session %q: %q", v, notes)
		}
	}
	for _, v := range []string{"", "a b", "ü", "a-b"} {
		want := []string{fmt.Sprintf("session %q: letters, digits and _ are expected", v)}
		if notes := note("session", v); !slices.Equal(notes, want) {
			t.Errorf("session %q: %q", v, notes)
		}
	}
}

func TestReadingsExplainTheirOrder(t *testing.T) {
	const head = "abc-customer-hl_1-zone-"
	for name, c := range map[string]struct {
		in    string
		known []ZoneName
		want  [][]string
	}{
		"one reading":               {"shop", nil, [][]string{nil}},
		"one reading, unknown zone": {"shop", []ZoneName{"b"}, [][]string{{`zone "shop" is not one of the profile's zones`}}},
		"nothing decides": {"a-raw", nil, [][]string{
			{`2 readings: "-" can belong to the zone's name, and no known zone decides`},
			{`2 readings: "-" can belong to the zone's name, and no known zone decides`},
		}},
		"a zone decides": {"a-raw", []ZoneName{"a"}, [][]string{
			{`2 readings: "-" can belong to the zone's name; zone "a" is one of the profile's zones`},
			{`unlikely: zone "a-raw" is not one of the profile's zones`},
		}},
		"two zones": {"a-raw", []ZoneName{"a", "a-raw"}, [][]string{
			{`2 readings: "-" can belong to the zone's name; 2 of them name a zone of the profile, so this is a guess`},
			{`2 readings: "-" can belong to the zone's name; 2 of them name a zone of the profile, so this is a guess`},
		}},
		"an unknown parameter": {"a-odd-1", []ZoneName{"a"}, [][]string{
			{`"odd" is not a parameter that the console knows`, `2 readings: "-" can belong to the zone's name; zone "a" is one of the profile's zones`},
			{`unlikely: zone "a-odd-1" is not one of the profile's zones`},
		}},
		"a mistyped parameter": {"a-sesion-1", []ZoneName{"a"}, [][]string{
			{`"sesion" is not a parameter that the console knows: did you mean "session"?`, `2 readings: "-" can belong to the zone's name; zone "a" is one of the profile's zones`},
			{`unlikely: zone "a-sesion-1" is not one of the profile's zones`},
		}},
	} {
		readings, err := ReadUsername(head+c.in, c.known)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got [][]string
		for _, r := range readings {
			got = append(got, r.Notes)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, c.want)
		}
	}
}
