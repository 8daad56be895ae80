package drift

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"
)

// Two runs of many items that overlap, each asked for at another address: by the contract's key the
// samples are of the same items, and without one none is laid beside another.
func TestSamplesArePairedByTheKeyOfTheContract(t *testing.T) {
	items := func(rnd *rand.Rand, run int) string {
		var b strings.Builder
		for i := range 200 {
			if rnd.IntN(10) > 0 {
				fmt.Fprintf(&b, `{"ids":{"s.ku":"A-%d"},"price":%d,"input":{"url":"http://shop.test/%d/%d"}}`+"\n", i, run, run, i)
			}
		}
		return b.String()
	}
	for seed := range uint64(5) {
		rnd := rand.New(rand.NewPCG(seed, 15))
		m := monitor(t, openStore(t, DefaultKeep()))
		result(t, m, "job-1", 9, items(rnd, 1))
		result(t, m, "job-2", 8, items(rnd, 2))
		if d := show(t, m); !strings.Contains(d.Unpaired(), "Name a field") || len(d.Pairs()) != 2*sampleRows {
			t.Errorf("without a key: %q, %+v", d.Unpaired(), d.Pairs())
		}
		if err := os.MkdirAll(m.cfg.ContractsDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.named(Dataset, "gd_x"), []byte("dataset = \"gd_x\"\nkey = 'ids.s\\.ku'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		result(t, m, "job-3", 7, items(rnd, 3))
		if d := show(t, m); d.Unpaired() != `No row that is kept of one run has the same ids.s\.ku as one of the other: none can be laid side by side.` {
			t.Errorf("the one before has no key: %q", d.Unpaired())
		}
		result(t, m, "job-4", 6, items(rnd, 4))
		d, both := show(t, m), 0
		for _, p := range d.Pairs() {
			sku := strings.TrimPrefix(p.Key, `ids.s\.ku = `)
			for _, text := range []string{p.Before, p.After} {
				if text != "" && !strings.Contains(text, `"`+sku+`"`) {
					t.Errorf("%s: %s", p.Key, text)
				}
			}
			if p.Before != "" && p.After != "" {
				both++
			}
		}
		if both == 0 || d.Unpaired() != "" {
			t.Errorf("by the key: %+v, %s", d.Pairs(), d.Unpaired())
		}
	}
}

func TestAKeyThatARowLacksIsItsInput(t *testing.T) {
	c := &Contract{Key: "sku"}
	text := `{"sku":null,"a":1,"input":{"url":"u1"}}
{"sku":{"x":1},"a":1,"input":{"url":"u2"}}
{"sku":7,"a":1,"input":{"url":"u3"}}
{"a":1,"input":{"url":"u4"}}
`
	var keys []string
	for _, s := range runOf(t, text, "ndjson", c).Sample {
		keys = append(keys, s.Key)
	}
	slices.Sort(keys)
	if want := []string{"sku = 7", `{"url":"u1"}`, `{"url":"u2"}`, `{"url":"u4"}`}; !slices.Equal(keys, want) {
		t.Errorf("%q, want %q", keys, want)
	}
	c.Key = "token"
	if s := runOf(t, `{"token":"s3cret","a":1}`, "ndjson", c).Sample; s[0].Key != "token = "+model.Masked {
		t.Errorf("%+v", s)
	}
}

func TestPagesOfOtherAddressesAreSaidToBeSo(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	fetch := func(id, url string, days int) {
		t.Helper()
		r := model.FetchResult{ID: id, Started: today.AddDate(0, 0, -days), ContentType: "text/html", Request: model.FetchRequest{URL: url}, Fields: []model.Field{{Path: "b", Found: true}}}
		if err := m.Fetched(t.Context(), "p", r, []byte("<b>x</b>")); err != nil {
			t.Fatal(err)
		}
	}
	target := Collector{"p", Target, "shop.test/x/*"}
	for i, c := range []struct {
		url  string
		want [2]string
	}{
		{"http://shop.test/x/1?page=1", [2]string{}},
		{"http://shop.test/x/1?page=1", [2]string{}},
		{"http://shop.test/x/2?token=s3cret", [2]string{"http://shop.test/x/1?page=1", "http://shop.test/x/2?token=xxxxx"}},
		{"http://shop.test/x/Zm9vYmFyc3cret9k", [2]string{"http://shop.test/x/2?token=xxxxx", "http://shop.test/x/*"}},
	} {
		fetch(fmt.Sprintf("f_%d", i), c.url, 9-i)
		d, err := m.Show(t.Context(), target)
		if err != nil || len(d.Pairs()) != 1 || d.Pairs()[0].Pages != c.want || d.Unpaired() != "" {
			t.Errorf("%s: %+v, %v", c.url, d.Pairs(), err)
		}
	}
}

// What never matched did not stop matching.
func TestASelectorThatNeverMatchedIsSaidSo(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	fetch := func(id string, days int, path string, found bool) Detail {
		t.Helper()
		r := model.FetchResult{ID: id, Started: today.AddDate(0, 0, -days), ContentType: "text/html", Request: model.FetchRequest{URL: "http://shop.test/x/1"}, Fields: []model.Field{{Path: path, Found: found, Value: "1"}}}
		page := "<div class=card></div>"
		if found {
			page = "<div class=card><b class=price>1</b></div>"
		}
		if err := m.Fetched(t.Context(), "p", r, []byte(page)); err != nil {
			t.Fatal(err)
		}
		d, err := m.Show(t.Context(), Collector{"p", Target, "shop.test/x/*"})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for i, c := range []struct {
		path   string
		found  bool
		want   string
		useful int
	}{
		{"h1", false, "h1 matches nothing, and no run is known in which it did", 0},
		{".card .price", false, ".price matches nothing, and no run is known in which it did; .card matches", 0},
		{".card .price", true, "", 1},
		{".card .price", false, ".price matches nothing any more; .card still matches", 0},
		{"h1", false, "h1 matches nothing, and no run is known in which it did", 0},
	} {
		d := fetch(fmt.Sprintf("f_%d", i), 9-i, c.path, c.found)
		if got := d.Pairs()[0].Failure(); got != c.want || d.Run.UsefulRows() != c.useful || d.Run.Useful != 1 {
			t.Errorf("%d: %q, %d useful", i, got, d.Run.UsefulRows())
		}
	}
	for name, want := range map[string]string{
		"shop.test/x/*": "shop.test/x/*", "shop.test/x/4": "shop.test/x/*", "https://u:p@Shop.test/x/77?y": "shop.test/x/*", "shop.test/y/4": "shop.test/y/*",
	} {
		if c, err := m.Named(t.Context(), "p", name); err != nil || c != (Collector{"p", Target, want}) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	if c, err := m.Named(t.Context(), "p", "gd_x"); err != nil || c.Kind != Dataset || c.Name != "gd_x" {
		t.Errorf("%+v, %v", c, err)
	}
}

// What one selector does says nothing of the others: one that never matched does not take their runs before from them.
func TestASelectorThatStoppedMatchingIsHeldAgainstTheRunsInWhichItMatched(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	fetch := func(n int, page string, price bool) {
		t.Helper()
		r := model.FetchResult{
			ID: fmt.Sprintf("f_%d", n), Started: today.AddDate(0, 0, n-9), ContentType: "text/html", Request: model.FetchRequest{URL: fmt.Sprintf("http://shop.test/x/%d", n)},
			Fields: []model.Field{{Path: "body .price", Found: price, Value: "1"}, {Path: "h1"}},
		}
		if err := m.Fetched(t.Context(), "p", r, []byte(page)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		fetch(n+1, "<p class=price>1</p>", true)
	}
	for n, since := range []string{"", "; first seen at f_4"} {
		fetch(n+4, "<em>1</em>", false)
		d, err := m.Show(t.Context(), Collector{"p", Target, "shop.test/x/*"})
		if err != nil {
			t.Fatal(err)
		}
		want := "drift\nmissing: body .price matched nothing, and the fetch requires it; it matched in the last 3 runs that were good for it" + since +
			"\nmissing: h1 matched nothing, and the fetch requires it; first seen at f_1"
		if got := said(d.Verdict); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if l := d.Lines[0]; l.Field != "body .price" || l.Before != 1 || l.Against != 3 || d.Lines[1].Before != -1 {
			t.Errorf("%+v", d.Lines)
		}
		p := d.Pairs()
		if p[0].Run != "f_3" || p[0].Before == "" || p[0].Pages != [2]string{"http://shop.test/x/3", fmt.Sprintf("http://shop.test/x/%d", n+4)} ||
			p[0].Failure() != ".price matches nothing any more; body still matches" {
			t.Errorf("%+v", p[0])
		}
		if p[1].Run != "" || p[1].Before != "" || p[1].Pages != [2]string{} {
			t.Errorf("%+v", p[1])
		}
	}
}

func TestTheScaleOfAFieldIsJudgedWhereAnotherSelectorNeverMatches(t *testing.T) {
	var earlier []Run
	var v Verdict
	for i := range 55 {
		value := fmt.Sprintf("$%d.50", 10+i*7%30)
		if i >= 30 {
			value = fmt.Sprintf("$%d50", 10+i*7%30)
		}
		r := PageRun("p", model.FetchResult{ID: fmt.Sprintf("f_%d", i), Request: model.FetchRequest{URL: "http://shop.test/x/1"}, Fields: []model.Field{{Path: ".price", Found: true, Value: value}, {Path: "h1"}}}, nil, nil)
		v = Judge(r, earlier, nil)
		r.State, r.Findings = v.State, v.Findings
		earlier = append([]Run{r}, earlier...)
	}
	if got := Names(Alarms(v.Findings)); len(got) != 2 || v.Findings[0].Word != ScaleChanged {
		t.Errorf("%s", said(v))
	}
}

// A fetch that did not ask for a field says nothing of it, and one that found it is not forgotten for what it did not find.
func TestAPageIsHeldAgainstTheRunsThatAskedForTheSame(t *testing.T) {
	var earlier []Run
	var got []string
	for i, f := range [][]model.Field{
		{{Path: "h1"}}, {{Path: ".price", Found: true, Value: "1"}, {Path: "h1"}}, {{Path: ".name", Found: true, Value: "n"}, {Path: "h1"}}, {{Path: ".price"}, {Path: "h1"}}, {{Path: ".name", Found: true, Value: "n"}},
	} {
		r := PageRun("p", model.FetchResult{ID: fmt.Sprintf("f_%d", i), Request: model.FetchRequest{URL: "http://shop.test/x/1"}, Fields: f}, nil, nil)
		v := Judge(r, earlier, nil)
		r.State, r.Findings = v.State, v.Findings
		earlier = append([]Run{r}, earlier...)
		got = append(got, fmt.Sprintf("%s %d", v.State, v.Against))
		if i == 3 && v.Findings[0].Text != ".price matched nothing, and the fetch requires it; it matched in the last run that was good for it" {
			t.Errorf("%s", said(v))
		}
	}
	if want := []string{"drift 0", "drift 0", "drift 0", "drift 1", "ok 1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
