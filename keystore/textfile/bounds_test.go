package textfile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func many(line string, n int) []byte {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, line, i)
	}
	return []byte(text.String())
}

func TestAFileWithTooManyNamesIsRefusedBeforeItIsDecoded(t *testing.T) {
	for line, want := range map[string]string{
		"[rooms.r%d]\n":                     "f.toml:5001:2: the file has too many tables and fields; expected at most 10000",
		"[[garden]] # %d\n":                 "f.toml:10001:3: the file has too many tables and fields; expected at most 10000",
		"f%d = 1\n":                         "f.toml:10001:1: the file has too many tables and fields; expected at most 10000",
		"a%d = [{b = {c = 1}}, {d = 1}]\n":  "f.toml:2501:1: the file has too many tables and fields; expected at most 10000",
		"[[rooms.k.doors]] # %d\nname=''\n": "f.toml:5001:1: the file has too many tables and fields; expected at most 10000",
	} {
		text := append([]byte("title = 'decoded'\n"), many(line, 20_000)...)
		var into house
		if _, err := Decode("f.toml", text, &into); err == nil || err.Error() != want {
			t.Errorf("%q: %v", line, err)
		}
		if !reflect.DeepEqual(into, house{}) {
			t.Errorf("%q was decoded", line)
		}
	}
	_, err := Decode("f.toml", []byte(strings.Repeat("a.", maxNames)+"b = 1"), &house{})
	if err == nil || err.Error() != "f.toml:1:1: the file has too many tables and fields; expected at most 10000" {
		t.Errorf("one key with as many parts: %v", err)
	}
}

type cellar struct {
	Version int    `toml:"version"`
	Racks   []rack `toml:"racks"`
}

type rack struct {
	Name    string   `toml:"name"`
	Bottles []string `toml:"bottles"`
}

// A long list of small tables is read as any other file is; what takes long to read is refused.
func TestALongListIsBoundedByItsTables(t *testing.T) {
	const racks = 20_000
	text := append([]byte("version = 1\n"), many("[[racks]]\nname = 'r%d'\nbottles = ['a', 'b']\n", racks)...)
	var into cellar
	doc, err := Long("racks").Decode("f.toml", text, &into)
	if err != nil || len(into.Racks) != racks || into.Racks[racks-1].Name != fmt.Sprintf("r%d", racks-1) {
		t.Fatalf("%d racks, %v", len(into.Racks), err)
	}
	if e := doc.Fault(At("racks", racks-1, "bottles"), "x", ""); e.Line != 1+3*racks || e.Column != 1 {
		t.Errorf("the last field is at %d:%d", e.Line, e.Column)
	}
	if _, err := Decode("f.toml", text, &cellar{}); err == nil {
		t.Error("a file written by hand may hold as many")
	}
	for what, c := range map[string]struct {
		text []byte
		want string
	}{
		"fields of one table":      {append([]byte("[[racks]]\n"), many("f%d = 1\n", 200)...), "f.toml:101:1: one of the racks has too many tables and fields; expected at most 100"},
		"tables within one":        {append([]byte("[[racks]]\n"), many("[racks.t%d]\n", 200)...), "f.toml:51:2: one of the racks has too many tables and fields; expected at most 100"},
		"lists within one":         {append([]byte("[[racks]]\n"), many("[[racks.t]] # %d\n", 200)...), "f.toml:51:3: one of the racks has too many tables and fields; expected at most 100"},
		"fields before the list":   {many("f%d = 1\n", 200), "f.toml:101:1: one of the racks has too many tables and fields; expected at most 100"},
		"other lists":              {many("[[l%d]]\n", 200), "f.toml:101:3: one of the racks has too many tables and fields; expected at most 100"},
		"a key of many parts":      {[]byte("[[racks]]\n" + strings.Repeat("a.", 40_000) + "b = 1"), "f.toml:2:1: one of the racks has too many tables and fields; expected at most 100"},
		"tables":                   {[]byte(strings.Repeat("[[racks]]\n", 200_001)), "f.toml:200001:3: the file has too many racks; expected at most 200000"},
		"elements of a list":       {[]byte("[[racks]]\nbottles = [" + strings.Repeat("'',", 3_000_000) + "]"), "f.toml:2:1: the file has too many fields and elements of lists; expected at most 3000000"},
		"an unknown field":         {slices.Concat(text, []byte("nam = 1\n")), `f.toml:60002:1: unknown field "nam"; expected one of bottles, name`},
		"a field twice":            {slices.Concat(text, []byte("bottles = []\n")), "f.toml:60002:1: "},
		"bytes":                    {make([]byte, 64<<20+1), "f.toml: the file is larger than 64 MiB; expected a file written by hand or by zonedeck"},
		"arrays within each other": {[]byte("[[racks]]\nbottles = " + strings.Repeat("[", 20_000)), "f.toml:2:10011: arrays and inline tables are nested more than the maximum"},
	} {
		if _, err := Long("racks").Decode("f.toml", c.text, &cellar{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

const firstUnknown = `f.toml:1:1: unknown field "f0"; expected one of rooms, title`

func TestTheFirstOfManyUnknownFieldsIsNamed(t *testing.T) {
	_, err := Decode("f.toml", many("f%d = 1\n", 1000), &house{})
	if err == nil || err.Error() != firstUnknown {
		t.Error(err)
	}
}

// BenchmarkUnknownFields reports how much longer ten times as many take: about 10 for what
// looks at each once, towards 100 for what compares each with the others, as the library's
// decoding does.
func BenchmarkUnknownFields(b *testing.B) {
	b.Run("Decode", func(b *testing.B) {
		refuseTenTimesAsMany(b, func(text []byte) error {
			_, err := Decode("f.toml", text, &house{})
			return err
		})
	})
	b.Run("without the library", func(b *testing.B) {
		refuseTenTimesAsMany(b, func(text []byte) error {
			if err := byHand.Check("f.toml", text); err != nil {
				return err
			}
			doc := Doc{file: "f.toml", source: text}
			return doc.unknown(reflect.TypeFor[house]())
		})
	})
}

func refuseTenTimesAsMany(b *testing.B, refuse func([]byte) error) {
	texts := [...][]byte{many("f%d = 1\n", maxNames/10), many("f%d = 1\n", maxNames)}
	var took [len(texts)]time.Duration
	for b.Loop() {
		for i, text := range texts {
			began := time.Now()
			err := refuse(text)
			took[i] += time.Since(began)
			if err == nil || err.Error() != firstUnknown {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "x-for-10x-fields")
}
