package rows

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzValid: what is JSON is what encoding/json says, and what is said of a row at a glance is what its whole says.
func FuzzValid(f *testing.F) {
	for _, raw := range append(countedRows, oddRows...) {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, want := Valid(raw), json.Valid(raw); got != want {
			t.Fatalf("%q: %t", raw, got)
		}
		if len(raw) == 0 || len(bytes.Trim(raw, " \t\r\n")) < len(raw) { // rows come without blanks around them
			return
		}
		useful, valid := usefulness(raw, 0)
		if valid != json.Valid(raw) {
			t.Fatalf("%q: at a glance %t", raw, valid)
		}
		if !useful {
			return
		}
		if whole := rowOf(raw); whole.Error || !whole.Data {
			t.Errorf("%q is %+v", raw, whole)
		}
	})
}

var oddRows = []string{
	"", " ", "{", "[", `"`, "[1,]", "[,1]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1}}`, "1 2", "tru", "nulll", "-", "01", "1.", ".5", "1e", "1E+5", "-0.0e-0", "00",
	`"\x"`, `"\u12g4"`, `"\u123"`, "\"a\nb\"", "\"12345678\x1f\"", `"1234567\"89\\"`, "\"\xff\x7f\"", " [ { } , [ ] ] ", "\v1",
}

func TestNestingHasABound(t *testing.T) {
	for open, end := range map[string]string{"[": "]", `{"a":`: "}"} {
		for _, n := range []int{maxDepth, maxDepth + 1, 4 << 20} {
			raw := []byte(strings.Repeat(open, n) + "1" + strings.Repeat(end, n))
			if _, valid := usefulness(raw, 0); Valid(raw) != (n <= maxDepth) || valid != (n <= maxDepth) {
				t.Errorf("%s %d times: %t, %t", open, n, Valid(raw), valid)
			}
		}
	}
}

func BenchmarkCountRow(b *testing.B) {
	raw := []byte(`{"input":{"url":"https://shop.example/p/7"},"url":"https://shop.example/p/7","title":"Brass lamp 7, for the desk","price":7.07,"currency":"EUR","in_stock":true,"rating":2,"images":["https://shop.example/i/7/1.jpg","https://shop.example/i/7/2.jpg"],"seller":{"name":"Lamps & more","since":"2019-04-08"},"description":"` + strings.Repeat("It stands on any desk. ", 10) + `","timestamp":"2026-11-23T04:00:00.000Z"}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if r, valid := CountRow(raw, Asked{}); !valid || !r.Data {
			b.Fatal(r)
		}
	}
}
