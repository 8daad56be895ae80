package records

import (
	"bytes"
	"cmp"
	"math/big"
	"testing"
)

func TestNumbersAreComparedAsTheyAreSpelled(t *testing.T) {
	const ids = `{"id":9007199254740993,"n":1}
{"id":9007199254740992,"n":2}
{"id":-9007199254740993,"n":3}
{"id":9007199254740992.0,"n":4}
{"id":900719925474099.3e1,"n":5}
{"id":-9007199254740992,"n":6}
{"id":7,"n":7}
{"id":7.0,"n":8}
`
	f := file(t, "a.ndjson", ids)
	for _, c := range []struct{ filter, want string }{
		{"id=9007199254740993", "1 5"},
		{"id=9007199254740992", "2 4"},
		{"id>9007199254740992", "1 5"},
		{"id<=9007199254740992", "2 3 4 6 7 8"},
		{"id<-9007199254740992", "3"},
		{"id=7", "7 8"},
		{"id=7.00", "7 8"},
	} {
		if got := numbers(t, f, Query{Filter: mustFilter(t, c.filter)}); got != c.want {
			t.Errorf("%s lets rows %q through, want %q", c.filter, got, c.want)
		}
	}
	if got := numbers(t, f, Query{Sort: "id"}); got != "3 6 7 8 2 4 1 5" {
		t.Errorf("upwards %s", got)
	}
	if got := numbers(t, f, Query{Sort: "id", Down: true}); got != "1 5 2 4 7 8 6 3" {
		t.Errorf("downwards %s", got)
	}
	zips := file(t, "a.csv", "zip,n\n01234,1\n1234,2\n1234.0,3\n0,4\n0.5,5\n007,6\n")
	for _, c := range []struct{ filter, want string }{
		{"zip=01234", "1"}, {"zip=1234", "2 3"}, {"zip<1", "4 5"}, {`zip="007"`, "6"},
	} {
		if got := numbers(t, zips, Query{Filter: mustFilter(t, c.filter)}); got != c.want {
			t.Errorf("%s lets rows %q through, want %q", c.filter, got, c.want)
		}
	}
}

func FuzzTheOrderOfNumbers(f *testing.F) {
	for _, s := range [][2]string{
		{"9007199254740993", "9007199254740992"},
		{"-1", "1e0"},
		{"0.1", "0.09999999999999999999999"},
		{"-0", "0.0"},
		{"1e-400", "2e-400"},
		{"0.99999999999999999999", "1"},
		{"-12345678901234567891", "-1234567890123456789e1"},
		{"123.", ".5"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, ok1 := numberOf([]byte(a))
		y, ok2 := numberOf([]byte(b))
		if !ok1 || !ok2 || decimalOf([]byte(a)).power < -2000 || decimalOf([]byte(b)).power < -2000 {
			return // a rational number of it is too large
		}
		p, ok1 := new(big.Rat).SetString(a)
		q, ok2 := new(big.Rat).SetString(b)
		if !ok1 || !ok2 {
			return
		}
		want := p.Cmp(q)
		if got := compareNumbers(x, y, []byte(a), []byte(b)); got != want {
			t.Errorf("%s and %s are %d, want %d", a, b, got, want)
		}
		if got := cmp.Compare(bytes.Compare(numberKey(nil, x, []byte(a)), numberKey(nil, y, []byte(b))), 0); got != want {
			t.Errorf("the keys of %s and %s are %d, want %d", a, b, got, want)
		}
	})
}
