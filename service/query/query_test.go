package query

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

type fruit struct {
	name, state string
	baskets     []string
	picked      time.Time
}

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func fruits() Fields[fruit] {
	return Fields[fruit]{
		SearchText(func(f fruit) string { return strings.ToLower(f.name + "\n" + f.state) }),
		Text("name", "apple", func(f fruit) string { return f.name }).In("name"),
		Enum("state", "ripe", []string{"ripe", "too_ripe", "green"}, func(f fruit) []string { return []string{f.state} }).In("state"),
		List("basket", "red", func(f fruit) []string { return f.baskets }).In("basket", "lid"),
		Since(func(f fruit) time.Time { return f.picked }, func(fruit) time.Time { return noon() }).In("picked"),
	}
}

func TestAFilterLetsTheRowsThroughThatItNames(t *testing.T) {
	rows := map[string]fruit{
		"apple": {"Apple", "ripe", []string{"red", "Blue"}, noon().Add(-time.Hour)},
		"pear":  {"Pear tree", "too_ripe", nil, noon().Add(-48 * time.Hour)},
	}
	for filter, want := range map[string]string{
		"":                        "apple pear",
		"APPLE":                   "apple",
		`"pear tree"`:             "pear",
		"-pear":                   "apple",
		"name:pea":                "pear",
		`name="Pear tree"`:        "pear",
		"name=pear":               "",
		"name<B":                  "apple",
		"name>=Apple":             "apple pear",
		"state:r":                 "apple",
		"state:too-r":             "pear",
		"STATE:ripe":              "apple",
		"-state:ripe":             "pear",
		"basket:blue":             "apple",
		"basket:re":               "",
		"has:basket":              "apple",
		"-has:basket":             "pear",
		"since:2h":                "apple",
		"-since:2h":               "pear",
		"since<2026-11-20":        "pear",
		"http://x.test/?a=b":      "",
		"ripe state:too since:1w": "pear",
	} {
		q, err := Parse(filter, fruits())
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		var got []string
		for _, name := range []string{"apple", "pear"} {
			if q.Match(rows[name]) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s lets %q through, want %q", filter, got, want)
		}
	}
}

func TestAFilterIsSQLAsFarAsItsFieldsHaveColumns(t *testing.T) {
	for filter, want := range map[string]struct {
		clause string
		args   []any
	}{
		"name:50%":         {`lower(name) LIKE ? ESCAPE '\'`, []any{`%50\%%`}},
		"name<=b":          {"name <= ?", []any{"b"}},
		"-state:r":         {"NOT (state IN (?))", []any{"ripe"}},
		"state=ripe":       {"state IN (?)", []any{"ripe"}},
		"basket:red":       {"(basket = ? OR lid = ?)", []any{"red", "red"}},
		"-has:name":        {"NOT (name <> '')", nil},
		"since:2026-11-20": {"picked >= ?", []any{time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC).UnixMicro()}},
		"since<1h":         {"picked < ?", []any{noon().Add(-time.Hour).UnixMicro()}},
	} {
		q, err := Parse("word "+filter, fruits())
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		clause, args, ok := q.SQL(q.Terms()[1])
		if !ok || clause != want.clause || !reflect.DeepEqual(args, want.args) {
			t.Errorf("%s is %s with %v, want %s with %v", filter, clause, args, want.clause, want.args)
		}
		if rest := q.WithoutSQL().Terms(); len(rest) != 1 || rest[0].Value != "word" {
			t.Errorf("%s leaves %v", filter, rest)
		}
	}
}

func TestAFilterThatIsNoneSaysWhy(t *testing.T) {
	for filter, want := range map[string]string{
		"size:3":     `unknown term "size": use words and name:apple, state:ripe, basket:red, since:2h`,
		"has:size":   `unknown term "size": use words and name:apple, state:ripe, basket:red, since:2h`,
		"state:blue": `state "blue" is not one of ripe, too_ripe, green`,
		"state<b":    "state has no order: write state:b",
		"basket>b":   "basket has no order: write basket:b",
		"state:":     `state: has no value: write one, or "" for an empty one`,
		"since:soon": `since "soon": write 2h, 3d, 1w or a date like 2026-11-20`,
	} {
		if _, err := Parse(filter, fruits()); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", filter, err, want)
		}
	}
}

func TestTheWordsOfAFilterNameARow(t *testing.T) {
	fields := Fields[string]{SearchText(func(s string) string { return s }), Enum("state", "due", nil, func(string) []string { return nil })}
	for filter, want := range map[string]bool{
		"BATCH": true, "batch user": true, "batch state:due": true, "batch other": false, "state:due": false, "-batch": false, "": false,
	} {
		q, err := Parse(filter, fields)
		if got := q.Names("Batch-User"); err != nil || got != want {
			t.Errorf("%q: %t, %v, want %t", filter, got, err, want)
		}
	}
}
