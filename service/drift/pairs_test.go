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
		if err := os.WriteFile(m.ContractFile(Dataset, "gd_x"), []byte("dataset = \"gd_x\"\nkey = 'ids.s\\.ku'\n"), 0o600); err != nil {
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
