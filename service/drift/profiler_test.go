package drift

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/rows"
)

func TestAProfileCountsEachField(t *testing.T) {
	r := runOf(t, `
{"name":"a","price":10,"tags":["x"],"seller":{"name":"s","a.b":1},"variants":[{"size":1},{"size":null}],"input":{"url":"u"},"timestamp":"t"}
{"name":" ","price":-20.5,"tags":[],"seller":{},"variants":[],"url":"https://a.test"}
{"error":"dead","error_code":"dead_page"}
{"name":"a","price":"x"}`, "ndjson", nil)
	if r.Returned != 4 || r.Useful != 3 || r.Form != FormJSON || r.Beyond {
		t.Errorf("%+v", r)
	}
	want := map[string][4]int{ // present, filled, distinct, top
		"name": {3, 2, 1, 2}, "price": {3, 3, 3, 1}, "tags": {2, 1, 1, 1}, "seller": {2, 1, 1, 1}, "seller.name": {1, 1, 1, 1},
		`seller.a\.b`: {1, 1, 1, 1}, "variants": {2, 1, 1, 1}, "variants[].size": {1, 1, 1, 1}, "url": {1, 1, 1, 1},
	}
	got := map[string][4]int{}
	for _, f := range r.Fields {
		got[f.Path] = [4]int{f.Present, f.Filled, f.Distinct, f.Top}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n%v, want\n%v", got, want)
	}
	price, _ := r.Field("price")
	if price.Types[typeNumber] != 2 || price.Types[typeText] != 1 || price.Type() != typeNumber {
		t.Errorf("%+v", price)
	}
	csv := runOf(t, "name,price,ok,more\na,12.5,true,\nb,x1,false,\"[1]\"\n", "csv", nil)
	types := ""
	for _, f := range csv.Fields {
		types += fmt.Sprintf("%s %d of %d %v; ", f.Path, f.Filled, f.Present, f.Types)
	}
	if csv.Form != FormCSV || types != "more 1 of 2 map[list:1]; name 2 of 2 map[text:2]; ok 2 of 2 map[boolean:2]; price 2 of 2 map[number:1 text:1]; " {
		t.Errorf("%s %s", csv.Form, types)
	}
}

func TestAProfileIsBounded(t *testing.T) {
	var wide strings.Builder
	for i := range 3 * MaxFields {
		fmt.Fprintf(&wide, `,"f%d":%d`, i, i)
	}
	r := runOf(t, `{"a":1`+wide.String()+"}\n"+many(300, `{"a":"v%d","long":"`+strings.Repeat("x", 20_000)+`","deep":`+strings.Repeat(`{"d":`, 60)+`1`+strings.Repeat("}", 60)+`}`), "ndjson", nil)
	a, _ := r.Field("a")
	if len(r.Fields) != MaxFields || !r.Beyond || a.Distinct != maxDistinct || a.Top < 1 || a.Top > 300/maxDistinct+2 {
		t.Errorf("%d fields, beyond %v, %+v", len(r.Fields), r.Beyond, a)
	}
	kept, err := pack(r.Fields)
	if err != nil || len(kept) > 64<<10 {
		t.Errorf("%d bytes, %v", len(kept), err)
	}
}

func TestTheMostFrequentValueIsNeverUnderrated(t *testing.T) {
	r := runOf(t, many(2000, `{"a":"same"}`+"\n"+`{"a":"v%d"}`), "ndjson", nil)
	if a, _ := r.Field("a"); a.Top < 2000 || a.Top > 2000+4000/maxDistinct {
		t.Errorf("%d", a.Top)
	}
}

func TestATargetIsItsHostAndPath(t *testing.T) {
	for address, want := range map[string]string{
		"http://lab.test/shop?v=2#x":                                      "lab.test/shop",
		"http://lab.test/shop/":                                           "lab.test/shop",
		"https://Shop.test:443":                                           "shop.test",
		"https://shop.test:8443/p/12/reviews/3":                           "shop.test:8443/p/*/reviews/*",
		"https://u:s3cret@shop.test/a%20b":                                "shop.test/a b",
		"https://shop.test/reset/Zm9vYmFyc3cret9k":                        "shop.test/reset/*",
		"https://shop.test/x/550e8400-e29b-41d4-a716-446655440000/y":      "shop.test/x/*/y",
		"https://shop.test/p/brass-desk-lamp-2000-series-internationally": "shop.test/p/brass-desk-lamp-2000-series-internationally",
		"": "",
	} {
		if got := targetName(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestAFetchIsARunOfItsRequiredFields(t *testing.T) {
	page := func(id, body string, found bool) Run {
		return pageRun("p", model.FetchResult{
			ID: id, Request: model.FetchRequest{URL: "http://lab.test/product/7?x=1", Required: []string{".card .price"}}, ContentType: "text/html",
			Fields: []model.Field{{Path: ".card .price", Found: found, Value: "$1"}},
		}, []byte(body), nil)
	}
	was := page("f_1", `<div class=card><b class=price>$1</b></div>`, true)
	v := Judge(was, nil, nil)
	if v.State != First || was.Name != "lab.test/product/*" || was.Fields[0].Fails != "" {
		t.Errorf("%+v, %+v", v, was)
	}
	was.State = v.State
	is := page("f_2", `<div class=card><em>1</em></div>`, false)
	v = Judge(is, []Run{was}, nil)
	if said(v) != "drift\nmissing: .card .price matched nothing, and the fetch requires it; it matched in the good run before" {
		t.Error(said(v))
	}
	if f := is.Fields[0]; f.Matches != ".card" || f.Fails != ".price" {
		t.Errorf("%+v", f)
	}
	wall := pageRun("p", model.FetchResult{ID: "f_3", Request: model.FetchRequest{URL: "http://lab.test/product/7", Required: []string{".price"}}, Diagnosis: model.Diagnosis{Class: model.ClassCaptcha}}, nil, nil)
	if v := Judge(wall, []Run{was}, nil); v.State != Empty || wall.Class != model.ClassCaptcha || wall.Useful != 0 {
		t.Errorf("%+v, %+v", v, wall)
	}
}

func TestWhatAPageShowsReadsAsANumberOrAText(t *testing.T) {
	for _, text := range []string{"14.25", "$1,299.00", " 12,99 €", "1.299,50", "USD 14", "-3 %", "1'000", "£9"} {
		if kind := reads(text); kind != typeNumber {
			t.Errorf("%s: %s", text, kind)
		}
	}
	for _, text := range []string{"", "sold out", "$", "14 pieces", "2026-11-23", "1e5", "from $3"} {
		if kind := reads(text); kind != typeText {
			t.Errorf("%s: %s", text, kind)
		}
	}
}

// fetched judges fetches of a page one after the other; each gives the value of its one field.
func fetched(values ...string) Verdict {
	var earlier []Run
	var v Verdict
	for i, value := range values {
		r := pageRun("p", model.FetchResult{
			ID: fmt.Sprintf("f_%d", i), Request: model.FetchRequest{URL: "http://lab.test/product/7", Required: []string{".price"}}, Fields: []model.Field{{Path: ".price", Found: true, Value: value}},
		}, nil, nil)
		v = Judge(r, earlier, nil)
		r.State, r.Findings = v.State, v.Findings
		earlier = append([]Run{r}, earlier...)
	}
	return v
}

func TestTheTypeOfAFieldOfAPageIsJudged(t *testing.T) {
	var prices, sold, long []string
	for i := range 30 {
		prices = append(prices, fmt.Sprintf("$%d.50", 10+i*7%30))
	}
	for i := range 25 {
		sold, long = append(sold, "Sold out"), append(long, fmt.Sprintf("$%d.50", 10+i*11%30))
	}
	for name, c := range map[string]struct {
		values []string
		want   string
	}{
		"as before":  {long, "ok"},
		"other type": {sold[:6], "drift\ntype changed: .price is number in 0 of 3 rows of the last 3 runs together (0 %), and mostly text; 100 % in the last 30 good runs; first seen at f_33"},
	} {
		if got := said(fetched(append(slices.Clone(prices), c.values...)...)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestAContractHoldsForWhatAPageShows(t *testing.T) {
	c, err := ParseContract("c.toml", []byte("target = \"lab.test/p\"\n[[fields]]\nname = \".price\"\ntype = \"number\"\n[[fields]]\nname = \".sku\"\ntype = \"text\"\npattern = '^LAB-'"))
	noerr.Must(t, err)
	for values, want := range map[[2]string]string{
		{"$3", "LAB-1"}:   "first",
		{"$3", "12"}:      "drift\npattern: .sku does not match ^LAB- in 1 of 1 row; the contract wants it in all of them",
		{"none", "LAB-1"}: "drift\ntype changed: .price is not number in 1 of 1 row; the contract wants number",
	} {
		r := pageRun("p", model.FetchResult{
			Request: model.FetchRequest{URL: "http://lab.test/p"}, Fields: []model.Field{{Path: ".price", Found: true, Value: values[0]}, {Path: ".sku", Found: true, Value: values[1]}},
		}, nil, &c)
		if got := said(Judge(r, nil, &c)); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", values, got, want)
		}
	}
}

func TestMembersThatAreDataAreNoFields(t *testing.T) {
	days := func(n int) Run {
		return runOf(t, many(100, fmt.Sprintf(`{"price":1,"h":{"2026-11-%02d":1},"sku":{"a%%d":{"x":1}},"after":2}`, n)), "ndjson", nil)
	}
	first := days(1)
	first.State = First
	var paths []string
	for _, f := range first.Fields {
		paths = append(paths, f.Path)
	}
	if !slices.Equal(paths, []string{"after", "h", "h.*", "price", "sku"}) {
		t.Errorf("%q", paths)
	}
	if v := Judge(days(2), []Run{first}, nil); said(v) != "ok" {
		t.Error(said(v))
	}
	few := runOf(t, many(20, `{"price":1,"h":{"2026-11-03":1},"sku":{"a%d":{"x":1}},"after":2}`), "ndjson", nil)
	few.State = First
	if v := Judge(days(2), []Run{few}, nil); said(v) != "ok" { // they were fields until there were too many
		t.Error(said(v))
	}
	c, err := ParseContract("c.toml", []byte("dataset = \"gd_x\"\n[[fields]]\nname = \"sku.a3\"\nrequired = true\ncoverage = 0.01"))
	noerr.Must(t, err)
	if v := Judge(runOf(t, many(100, `{"sku":{"a%d":{"x":1}}}`), "ndjson", &c), nil, &c); said(v) != "first" {
		t.Errorf("what the contract names: %s", said(v))
	}
}

func TestFieldsThatWereNotLookedAtAreNotLost(t *testing.T) {
	whole := runOf(t, many(40, `{"a":1,"lists":[[1]],"z":{"deep":1},"last":1}`), "ndjson", nil)
	whole.State = First
	// If one member of a row is too large to profile whole, the members after it are still profiled.
	r := runOf(t, many(40, `{"a":1,"lists":{"k":`+large()+`},"z":{"deep":1},"last":1}`), "ndjson", nil)
	if last, ok := r.Field("last"); !ok || last.Present != 40 || !r.Beyond {
		t.Fatalf("%+v, beyond %v", last, r.Beyond)
	}
	for _, f := range Judge(r, []Run{whole}, nil).Findings {
		if f.Word == Lost || f.Word == Missing {
			t.Errorf("%s: %s", f.Word, f.Text)
		}
	}
	// A field beyond the number of fields is not lost.
	var many500 strings.Builder
	for i := range 600 {
		fmt.Fprintf(&many500, `,"f%03d":1`, i)
	}
	r = runOf(t, many(40, `{"a":1`+many500.String()+`,"last":1}`), "ndjson", nil)
	for _, f := range Judge(r, []Run{whole}, nil).Findings {
		if f.Field == "last" {
			t.Errorf("%s: %s", f.Word, f.Text)
		}
	}
}

// large is an object with more members than are profiled in a row.
func large() string {
	var b strings.Builder
	for i := range 45 {
		fmt.Fprintf(&b, `%s"m%d":{`, map[bool]string{true: ","}[i > 0], i)
		for j := range 49 {
			fmt.Fprintf(&b, `%s"n%d":1`, map[bool]string{true: ","}[j > 0], j)
		}
		b.WriteString("}")
	}
	return "{" + b.String() + "}"
}

func FuzzProfile(f *testing.F) {
	f.Add(`[{"a":{"b":[{"c":1e999},null,"x"]},"url":"http://u:p@h/?key=1"}]`, "json")
	f.Add("a,a,\n1,{},[\n", "csv")
	f.Add("a\n,", "csv")
	f.Add(`{"a":1,"a":2,"":{"":""}}`, "ndjson")
	f.Fuzz(func(t *testing.T, text, format string) {
		p := NewProfiler(nil)
		_ = rows.EachRow(strings.NewReader(text), format, func(r rows.Row) error { // what was read before a fault counts
			p.Row(r)
			if p.run.Returned > 1000 {
				return io.EOF
			}
			return nil
		})
		r := p.Run(Subject{}, "x", p.run.At)
		profiled := cmp.Or(r.Useful, r.Returned) // without a useful row, the empty ones show what was emptied
		for _, f := range r.Fields {
			if f.Filled > f.Present || f.Present > profiled || f.Top > f.Filled || f.Filled > 0 && f.Distinct == 0 {
				t.Fatalf("%+v of %d rows", f, profiled)
			}
		}
		for _, other := range [][]Run{nil, {r}} {
			for i := range other {
				other[i].State = Good
			}
			if v := Judge(r, other, nil); v.State == Drift {
				t.Fatalf("the same run is drift: %s", said(v))
			}
		}
	})
}

// BenchmarkProfile profiles the rows of a shop, and only counts them for comparison.
func BenchmarkProfile(b *testing.B) {
	text := many(20_000, `{"name":"product %d","price":1%d.5,"currency":"USD","sku":"LAB-%d","in_stock":true,"url":"http://lab.test/product/%d","text":"`+strings.Repeat("word ", 40)+`","input":{"url":"http://lab.test/product/%d"}}`)
	for name, p := range map[string]*Profiler{"counted": nil, "profiled": NewProfiler(nil)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				noerr.Must(b, rows.EachRow(strings.NewReader(text), "ndjson", func(r rows.Row) error {
					if p != nil {
						p.Row(r)
					}
					return nil
				}))
			}
		})
	}
}
