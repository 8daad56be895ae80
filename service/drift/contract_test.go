package drift

import (
	"errors"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
)

const contract = `dataset = "gd_x"
min_rows = 2

[[fields]]
name = "price"
required = true
coverage = 0.5
type = "number"

[[fields]]
name = "url"
pattern = '^https://'

[[fields]]
name = "name"
required = true
`

func TestAContractIsExact(t *testing.T) {
	c, err := ParseContract("c.toml", []byte(contract))
	noerr.Must(t, err)
	for text, want := range map[string]string{
		`{"name":"a","price":1,"url":"https://x"}` + "\n" + `{"name":"b"}`: "first",
		`{"name":"a","price":1}`: "drift\nmissing: 1 of 1 row useful; the contract wants at least 2",
		`{"name":"a","price":"1"}` + "\n" + `{"name":null,"price":2,"url":"http://x"}`: "drift\n" +
			"coverage: name filled in 1 of 2 rows (50 %); the contract wants at least 100 %\n" +
			"type changed: price is not number in 1 of 2 rows; the contract wants number\n" +
			"pattern: url does not match ^https:// in 1 of 1 row; the contract wants it in all of them",
		`{"x":1}` + "\n" + `{"x":1,"price":null}`: "drift\n" +
			"missing: name filled in 0 of 2 rows (0 %); the contract wants at least 100 %\n" +
			"emptied: price filled in 0 of 2 rows (0 %); the contract wants at least 50 %",
		`{"error":"dead"}`: "drift\nmissing: 0 of 1 row useful; the contract wants at least 2",
	} {
		if got := said(Judge(runOf(t, text, "ndjson", &c), nil, &c)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestWhatIsWrongWithAContractIsSaidWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "c.toml: the contract names no collector, or two; expected dataset or target, one of the two",
		"dataset = \"a\"\ntarget = \"b\"": "c.toml:1:1: the contract names no collector, or two; expected dataset or target, one of the two",
		"dataset = \"a\"\nmin_rows = -1":  "c.toml:2:1: a number of rows cannot be -1; expected 0 or more",
		"dataset = \"a\"\nfoo = 1":        "c.toml:2:1: unknown field \"foo\"; expected one of dataset, fields, min_rows, target",
		"dataset = \"a\"\n[[fields]]\n\nname = \"\"":                                                 "c.toml:4:1: the name of the field is missing or too long; expected a name as 'zonedeck drift show' prints it",
		"dataset = \"a\"\n[[fields]]\nname = \"x\"\ncoverage = 0.5":                                  "c.toml:4:1: coverage is set for a field that is not required; expected required = true as well",
		"dataset = \"a\"\n[[fields]]\nname = \"x\"\nrequired = true\ncoverage = 95":                  "c.toml:5:1: a coverage cannot be 95; expected a share above 0 and up to 1, such as 0.95",
		"dataset = \"a\"\n[[fields]]\nname = \"x\"\nrequired = true\ncoverage = nan":                 "c.toml:5:1: a coverage cannot be NaN; expected a share above 0 and up to 1, such as 0.95",
		"dataset = \"a\"\n[[fields]]\nname = \"x\"\ntype = \"int\"":                                  "c.toml:4:1: \"int\" is not a type; expected one of text, number, boolean, list, object",
		"dataset = \"a\"\n[[fields]]\nname = \"x\"\n[[fields]]\nname = \"x\"":                        "c.toml:5:1: a second field is named \"x\"; expected one entry for each field",
		"dataset = \"a\"\n[[fields]]\nname = \"x\"\npattern = \"(\"":                                 "c.toml:4:1: error parsing regexp: missing closing ): `(`; expected a regular expression in RE2 syntax",
		"dataset = \"a\"\n[[fields]]\nname = \"x\"\npattern = \"" + strings.Repeat("a", 1001) + "\"": "c.toml:4:1: the pattern is longer than 1000 bytes; expected a regular expression in RE2 syntax",
		"dataset = \"a\"\n[[fields]]\nname = \"x\"\npattern = \"(a{100}){100}\"":                     "c.toml:4:1: error parsing regexp: invalid repeat count: `{100}`; expected a regular expression in RE2 syntax",
	} {
		_, err := ParseContract("c.toml", []byte(text))
		var fault *textfile.Error
		if !errors.As(err, &fault) || err.Error() != want {
			t.Errorf("%q:\n%v\nwant\n%s", text, err, want)
		}
	}
}

func TestAContractThatWantsATextIsKeptByACSVFile(t *testing.T) {
	c, err := ParseContract("c.toml", []byte("dataset = \"gd_x\"\n[[fields]]\nname = \"sku\"\ntype = \"text\"\n[[fields]]\nname = \"price\"\ntype = \"number\"\n"))
	noerr.Must(t, err)
	if got := said(Judge(runOf(t, "sku,price\n"+many(20, "123,1.5"), "csv", &c), nil, &c)); got != "first" {
		t.Error(got)
	}
	if got := said(Judge(runOf(t, "sku,price\n"+many(20, "123,none"), "csv", &c), nil, &c)); !strings.Contains(got, "price is not number in 20 of 20 rows") {
		t.Error(got)
	}
}

func FuzzContract(f *testing.F) {
	f.Add(contract)
	f.Add("target = \"x\"\n[[fields]]\nname = \"a\"\nrequired = true")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseContract("c.toml", []byte(text))
		var fault *textfile.Error
		if err != nil && (!errors.As(err, &fault) || len(err.Error()) > 2000) {
			t.Fatal(err)
		}
		if err == nil {
			Judge(runOf(t, `{"price":1,"name":"x"}`, "ndjson", &c), nil, &c)
		}
	})
}
