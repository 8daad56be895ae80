package rows

import (
	"strings"
	"testing"
)

// Tables as spreadsheets write them, whose lines end with a carriage return alone or begin with sep=.
func TestTablesOfSpreadsheets(t *testing.T) {
	for in, want := range map[string]string{
		"sep=;\r\nurl;note\r\nhttp://lab.test/1,2;a\r\n":                 "http://lab.test/1,2",
		"\ufeff\"SEP=\t\"\nurl\tnote\nhttp://lab.test/1\ta\n":            "http://lab.test/1",
		"sep=|\nurl|note\nhttp://lab.test/1|a;b;c\n":                     "http://lab.test/1",
		"url,note\rhttp://lab.test/1,a\rhttp://lab.test/2,b":             "http://lab.test/1 http://lab.test/2",
		"http://lab.test/1\rhttp://lab.test/2\r":                         "http://lab.test/1 http://lab.test/2",
		"url\nhttp://lab.test/1\u200b\n\u00a0 http://lab.test/2\u202f\n": "http://lab.test/1 http://lab.test/2 rows with U+200B, U+00A0, U+202F at the ends of values, which was taken off: 2",
		"\u200ehttp://lab.test/1\n":                                      "http://lab.test/1 rows with U+200E at the ends of values, which was taken off: 1",
		`{"url":"http://lab.test/1\u200b","q":"a\u200c"}`:                "http://lab.test/1 rows with U+200B at the ends of values, which was taken off: 1",
	} {
		got, err := Read(strings.NewReader(in), "", Shape{})
		var words []string
		for _, r := range got.Rows {
			words = append(words, r.URL)
		}
		for _, p := range got.Problems {
			if strings.Contains(p.Text, "taken off") {
				words = append(words, p.Text)
			}
		}
		if text := strings.Join(words, " "); err != nil || text != want || got.Bad > 0 {
			t.Errorf("%q: %v\ngot  %s\nwant %s", in, err, text, want)
		}
	}
	for in, want := range map[string]int{"sep=;\nurl;price\nu1,x;1\n": 2, "url,price\ru1,1\ru2,2\r": 2, "a,b\r\n1,2\r\n": 2} {
		if got, err := ReadRecords(strings.NewReader(in), "csv", 10); err != nil || len(got.Columns) != want || len(got.Rows) == 0 {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
}
