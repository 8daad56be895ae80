package document

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
)

// read asks for one field of every kind.
func read(t *Table) {
	t.Text("text")
	t.OneOf("colour", "red", "blue")
	t.Bool("flag")
	t.Int("count", 1, 9)
	t.Float("share", 0, 1)
	t.Duration("wait", time.Hour)
	t.Signed("age", 7*day)
	t.Time("moment")
	t.Texts("names")
	t.Map("headers")
	for _, in := range t.Tables("rows") {
		in.Text("name")
		if in.Int("n", 0, 10) == 7 {
			in.Fail("n", "7 is unlucky", "another one")
		}
		if !in.Has("name") {
			in.Fail("name", "the row has no name", "a name")
		}
		in.Done()
	}
	if in := t.Table("inner"); in != nil {
		in.Bool("deep")
		in.Done()
	}
	t.Done()
}

func TestAMistakeSaysWhereItStandsAndWhatBelongsThere(t *testing.T) {
	for text, want := range map[string]string{
		`text = 5`:                              `f.toml:1:1: text is a number; expected text in quotes`,
		`text = 2026-01-01`:                     `f.toml:1:1: text is a date or a time; expected text in quotes`,
		"\ncolour = \"green\"":                  `f.toml:2:1: "green" is not a known colour; expected one of red, blue`,
		`colour = 1`:                            `f.toml:1:1: colour is a number; expected text in quotes`,
		`flag = "yes"`:                          `f.toml:1:1: flag is text; expected true or false without quotes`,
		`count = 10`:                            `f.toml:1:1: 10 is out of range; expected a whole number from 1 to 9`,
		`count = 1.5`:                           `f.toml:1:1: count is a number; expected a whole number from 1 to 9`,
		`share = nan`:                           `f.toml:1:1: NaN is out of range; expected a number from 0 to 1`,
		`wait = "-1s"`:                          `f.toml:1:1: "-1s" lies in the past; expected a duration like 250ms, 36h or 7d`,
		`wait = "soon"`:                         `f.toml:1:1: "soon" is not a duration; expected a duration like 250ms, 36h or 7d`,
		`wait = 3`:                              `f.toml:1:1: wait is a number; expected a duration like 250ms, 36h or 7d, in quotes`,
		`wait = "2h"`:                           `f.toml:1:1: "2h" is too long; expected at most 1h0m0s`,
		`age = "-2w"`:                           `f.toml:1:1: "-2w" is too long; expected at most 168h0m0s`,
		`moment = "noon"`:                       `f.toml:1:1: "noon" is not a moment; expected a moment like 2026-11-21T12:00:00Z`,
		`names = ["a", 1]`:                      `f.toml:1:15: an element of names is a number; expected text in quotes`,
		`names = 1`:                             `f.toml:1:1: names is a number; expected a list of texts`,
		`headers = {a = 1}`:                     `f.toml:1:12: a is a number; expected text in quotes`,
		`rows = [1]`:                            `f.toml:1:9: an element of rows is a number; expected a table`,
		`rows = "none"`:                         `f.toml:1:1: rows is text; expected a list of tables: [[rows]]`,
		"[[rows]]\nname='a'\n[[rows]]\n n = 7":  `f.toml:3:3: the row has no name; expected a name`,
		"[[rows]]\nname='a'\n[[rows]]\nname=1":  `f.toml:4:1: name is a number; expected text in quotes`,
		"[[rows]]\nn = 1\nnaem = 'a'":           `f.toml:3:1: unknown field "naem"; expected one of n, name`,
		"rows = [{name='a', n=7}]":              `f.toml:1:20: 7 is unlucky; expected another one`,
		"[inner]\n  deep = 'x'":                 `f.toml:2:3: deep is text; expected true or false without quotes`,
		"[inner]\n  shallow = 'x'":              `f.toml:2:3: unknown field "shallow"; expected one of deep`,
		"inner = 4":                             `f.toml:1:1: inner is a number; expected a table`,
		"flag = 1\nnone = 2":                    `f.toml:1:1: flag is a number; expected true or false without quotes`,
		"flag = true\n[[row]]\nn = 1":           `f.toml:2:3: unknown field "row"; expected one of age, colour, count, flag, headers, inner, moment, names, rows, share, text, wait`,
		"none = 2\nflag = 1":                    `f.toml:1:1: unknown field "none"; expected one of age, colour, count, flag, headers, inner, moment, names, rows, share, text, wait`,
		"text = 'a'\ntext = 'b'":                `f.toml:2:1: key text is already defined`,
		"text = ":                               `f.toml:1:7: expected value, not end of input`,
		"\xff":                                  `f.toml: the text is not UTF-8; expected a TOML file in UTF-8`,
		"text='a'\n[inner]\n[inner.more]\nx=1 ": `f.toml:3:2: unknown field "more"; expected one of deep`,
	} {
		tab, err := TOML("f.toml", []byte(text))
		if err == nil {
			read(tab)
			err = tab.Err()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %v", text, err, want)
		}
	}
}

func TestJSONIsReadByTheSameRules(t *testing.T) {
	for text, want := range map[string]string{
		`{"count": 10}`:           `count: 10 is out of range; expected a whole number from 1 to 9`,
		`{"count": 1e99}`:         `count: "1e99" is not a whole number; expected a whole number from 1 to 9`,
		`{"share": 1e999}`:        `share: +Inf is out of range; expected a number from 0 to 1`,
		`{"rows": [{"n": 7}]}`:    `rows[0].n: 7 is unlucky; expected another one`,
		`{"rows": [{"naem": 1}]}`: `rows[0].naem: unknown field "naem"; expected one of n, name`,
		`{"inner": {"none": 1}}`:  `inner.none: unknown field "none"; expected one of deep`,
		`{"text": 5}`:             `text: text is a number; expected a string`,
		`{"rows": [5]}`:           `rows[0]: an element of rows is a number; expected an object`,
		`[]`:                      `body must be a JSON object`,
		` null`:                   `body must be a JSON object`,
		`{} {}`:                   `body must be a JSON object: it cannot be read after byte 3`,
		``:                        `body must be a JSON object: it cannot be read after byte 0`,
		`{"text": "a",}`:          `body must be a JSON object: it cannot be read after byte 12`,
		"{\"text\": \"\xff\"}":    `body must be a JSON object: it cannot be read after byte 10`,
		`{"rows": [{}, {"n": 1, "name": "x", "n": 2}]}`: `rows[1].n is given twice`,
	} {
		tab, err := JSON([]byte(text))
		if err == nil {
			read(tab)
			err = tab.Err()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %v", text, err, want)
		}
	}
}

func TestWhatIsRightIsRead(t *testing.T) {
	const text = `
text = "word"
colour = "blue"
flag = true
count = 9
share = 1
wait = "30m"
age = "-1d12h"
moment = 2026-11-21
names = "one"
headers = { a = "b" }
rows = [ { name = "x" }, { name = "y", n = 3 } ]
inner.deep = true
`
	tab, err := TOML("f.toml", []byte(text))
	noerr.Must(t, err)
	read(tab)
	noerr.Want(t, tab.Err())
	if got := tab.Signed("age", week); got != -36*time.Hour {
		t.Errorf("age %s", got)
	}
	if got := tab.Time("moment"); !got.Equal(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("moment %s", got)
	}
	if got := tab.Texts("names"); len(got) != 1 || got[0] != "one" {
		t.Errorf("names %v", got)
	}
	if got := tab.Map("headers"); got["a"] != "b" {
		t.Errorf("headers %v", got)
	}
	if got := tab.Tables("rows"); len(got) != 2 || got[1].Int("n", 0, 9) != 3 {
		t.Errorf("rows %v", got)
	}
}

func TestABodyIsOneObjectOrAList(t *testing.T) {
	for text, want := range map[string]int{
		`{"text":"a"}`: 1, ` [{"text":"a"}, {}]`: 2, `[]`: 0, `[1]`: -1, `"x"`: -1, `[] , "more": 1`: -1, `[] , "list": []`: -1, `[]}`: -1, ``: -1,
	} {
		got, err := JSONList([]byte(text))
		if want < 0 != (err != nil) || err == nil && len(got) != want {
			t.Errorf("%s: %d tables, %v", text, len(got), err)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "5s": 5 * time.Second, "7d": week, "1w2d3h": week + 2*day + 3*time.Hour, "-3d": -3 * day, "0.5d": day / 2, "-1.5h": -90 * time.Minute,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-", "5", "d", "1d-2h", "--1d", "1e9d", "infd", "99999w99999999h", "2d1w", "1d1d", "nand", "+1d", "1d+1h", "9999999999999999999999999d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q was taken as %s", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(math.MinInt64+1, math.MaxInt64-1).Draw(t, "d"))
		if got, err := ParseDuration(d.String()); err != nil || got != d {
			t.Fatalf("%s: %s, %v", d, got, err)
		}
	})
}

func FuzzTOML(f *testing.F) {
	f.Add([]byte("text = 'a'\n[[rows]]\nname = 'b'\n[inner]\ndeep = true\n"))
	f.Add([]byte("rows = [{name='a', n=7}, # c\n]\nheaders.a = 'x'\n\"\x1f\" = 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tab, err := TOML("f.toml", b)
		if err != nil {
			return
		}
		read(tab)
		if e := (*Error)(nil); errors.As(tab.Err(), &e) && (e.Line < 0 || e.Line > len(b)+1 || e.Error() == "") {
			t.Errorf("a mistake at line %d of %q", e.Line, b)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"text":"a","rows":[{"name":"b"}],"count":1e3}`))
	f.Add([]byte(`[{"share":0.1}]`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		tabs, err := JSONList(b)
		if err != nil {
			return
		}
		for _, tab := range tabs {
			read(tab)
			_ = tab.Err()
		}
	})
}

func TestAFileWithTooManyNamesIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		line, want string
		n          int
	}{
		"tables":             {"[zones.z%d]\n", "s.toml:5001:2: the file has too many tables; expected at most 10000", 20_000},
		"elements":           {"[[zones]] # %d\n", "s.toml:10001:3: the file has too many tables; expected at most 10000", 20_000},
		"fields":             {"f%d = 1\n", "s.toml:1001:1: the table has too many fields; expected at most 1000", 20_000},
		"tables in a list":   {"keys%d = [{a = {}, b = 1}, {}]\n", "s.toml:334:1: the table has too many fields; expected at most 1000", 20_000},
		"nested in one line": {"a.b%d = {c = {d = {}}}\n", "s.toml:251:1: the table has too many fields; expected at most 1000", 20_000},
		"parts of a key":     {strings.Repeat("a.", 1_000) + "b%d = 1\n", "s.toml:1:1: the table has too many fields; expected at most 1000", 1},
		"parts of a table":   {"[" + strings.Repeat("a.", 10_000) + "b%d]\n", "s.toml:1:2: the file has too many tables; expected at most 10000", 1},
	} {
		t.Run(what, func(t *testing.T) {
			var text strings.Builder
			for n := range c.n {
				fmt.Fprintf(&text, c.line, n)
			}
			// The fault behind them is never seen: the text is not decoded.
			_, err := TOML("s.toml", []byte(text.String()+"a = "))
			if err == nil || err.Error() != c.want {
				t.Error(err)
			}
		})
	}
	list := "keys = [" + strings.Repeat("{a = 1}, ", 10_000) + "]\n" + strings.Repeat("[[zones]]\na = 1\n", 10_000)
	if _, err := TOML("s.toml", []byte(list)); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
}
