package textfile

import (
	"fmt"
	"reflect"
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
			if err := bounded("f.toml", text); err != nil {
				return err
			}
			doc := Doc{file: "f.toml", source: text, where: locate(text)}
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
