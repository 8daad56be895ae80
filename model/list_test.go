package model

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"
)

// ran is a cell of which ok of n runs were ok, and the others met a CAPTCHA.
func ran(zone string, per1000 float64, ok, n int) Cell {
	c := Cell{Vary: Vary{Zone: Zone{Name: ZoneName(zone), Rate: Rate{Per1000: per1000}}, Via: ViaAPI}}
	for i := range n {
		r := Run{Class: ClassOK, Page: fmt.Sprintf("/%d", i+1), Attempts: 1, Requests: 1, Total: time.Duration(i+1) * time.Second}
		if i >= ok {
			r.Class = ClassCaptcha
		}
		c.Runs = append(c.Runs, r)
	}
	return c
}

// The intervals are those of Wilson (1927), as R's binom.confint gives them.
func TestTheIntervalOfAShare(t *testing.T) {
	for _, c := range []struct {
		ok, n     int
		low, high float64
	}{{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {50, 50, 0.9287, 1}, {81, 263, 0.2553, 0.3662}} {
		_, low, high := Grid{}.Useful(ran("a", 1, c.ok, c.n))
		if math.Abs(low-c.low) > 5e-5 || math.Abs(high-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f; want %.4f to %.4f", c.ok, c.n, low, high, c.low, c.high)
		}
	}
}

func TestTheSampleThatShowsAShareIsTheSmallest(t *testing.T) {
	for _, c := range []struct{ ok, of int }{{1, 1}, {99, 100}, {97, 100}, {24, 25}} {
		share := float64(c.ok) / float64(c.of)
		n := SampleFor(share, 0.95)
		lower := func(n int) float64 { // of a share that n rows need not be able to have
			size := float64(n)
			scale := 1 + z95*z95/size
			return (share + z95*z95/(2*size) - z95*math.Sqrt(share*(1-share)/size+z95*z95/(4*size*size))) / scale
		}
		if lower(n) < 0.95 || lower(n-1) >= 0.95 {
			t.Errorf("%d of %d: %d rows show %.4f, one less %.4f", c.ok, c.of, n, lower(n), lower(n-1))
		}
	}
	if n := SampleFor(0.95, 0.95); n != 0 {
		t.Errorf("a share that is not above what is needed is shown by %d rows", n)
	}
}

// whole is how many rows a list has that is fetched from its first row to its last.
const whole = 20

func TestTheZoneForAListIsTheCheapestThatIsShownToReachWhatIsNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		cells  []Cell
		rows   int64
		winner int
		text   string
	}{
		"the dearer one has more useful pages": {
			[]Cell{ran("cheap", 1, 60, 100), ran("dear", 3, 100, 100)},
			1000, 1,
			"winner: dear by API, the only one that is shown to reach 90 % ($0.003 for a useful page; 100 of 100 useful, which shows at least 96.3 %)",
		},
		"useful pages count, not fetches": {
			[]Cell{ran("a", 1, 100, 100), ran("b", 0.98, 97, 100)},
			1000, 0,
			"winner: a by API, the cheapest of 2 that are shown to reach 90 % ($0.001 for a useful page; 100 of 100 useful, which shows at least 96.3 %)",
		},
		"one without a rate counts as dearer": {
			[]Cell{ran("unpriced", 0, 100, 100), ran("priced", 9, 99, 100)},
			1000, 1,
			"winner: priced by API, the cheapest of 2 that are shown to reach 90 % ($0.009091 for a useful page; 99 of 100 useful, which shows at least 94.6 %)",
		},
		"of those without a rate the higher share decides": {
			[]Cell{ran("a", 0, 98, 100), ran("b", 0, 100, 100)},
			1000, 1,
			"winner: b by API, the best of 2 that are shown to reach 90 % (unpriced; 100 of 100 useful, which shows at least 96.3 %)",
		},
		"of equal ones the first is named": {
			[]Cell{ran("a", 1, 100, 100), ran("b", 1, 100, 100)},
			1000, 0,
			"winner: a by API, the cheapest of 2 that are shown to reach 90 % ($0.001 for a useful page; 100 of 100 useful, which shows at least 96.3 %)",
		},
		"one page": {
			[]Cell{ran("a", 1, 1, 1)},
			1000, -1,
			"no winner: none is shown to reach 90 %. a by API comes nearest, 1 of 1 useful, which shows at least 20.7 %: a sample of 35 would show it if the share holds",
		},
		"the sample is too small": {
			[]Cell{ran("a", 1, 20, 20), ran("b", 1, 19, 20)},
			1000, -1,
			"no winner: none is shown to reach 90 %. a by API comes nearest, 20 of 20 useful, which shows at least 83.9 %: a sample of 35 would show it if the share holds",
		},
		"and the list is, too": {
			[]Cell{ran("a", 1, 20, 20)},
			21, -1,
			"no winner: none is shown to reach 90 %. a by API comes nearest, 20 of 20 useful, which shows at least 83.9 %: the whole list, 21 rows, would show it if the share holds",
		},
		"of a whole list the share is known": {
			[]Cell{ran("cheap", 1, 17, whole), ran("dear", 0.0005, 18, whole), ran("dearer", 0.00050001, 18, whole), ran("dearest", 3, whole, whole)},
			whole, 1,
			"winner: dear by API, the cheapest of 3 that reach 90 % ($0.0000005556 for a useful page; 18 of 20 useful, the whole list)",
		},
		"one reaches it over a whole list": {
			[]Cell{ran("a", 1, 18, whole), ran("b", 0.1, 17, whole)},
			whole, 0,
			"winner: a by API, the only one that reaches 90 % ($0.001111 for a useful page; 18 of 20 useful, the whole list)",
		},
		"none reaches it over a whole list": {
			[]Cell{ran("a", 1, 17, whole), ran("b", 1, 3, whole)},
			whole, -1,
			"no winner: none reaches 90 %. a by API comes nearest, 17 of 20 useful, the whole list: compare other zones, or lower the share that you need",
		},
		"a cell was broken off before the end of the list": {
			[]Cell{ran("a", 1, 10, 10)},
			whole, -1,
			"no winner: none is shown to reach 90 %. a by API comes nearest, 10 of 10 useful, which shows at least 72.2 %: the whole list, 20 rows, would show it if the share holds",
		},
		"the share is too low": {
			[]Cell{ran("a", 1, 50, 100)},
			1000, -1,
			"no winner: none is shown to reach 90 %. a by API comes nearest, 50 of 100 useful, which shows at least 40.4 %: no larger sample would show it, unless its share rises",
		},
		"nothing was fetched": {[]Cell{ran("a", 1, 0, 0)}, 1000, -1, "no winner: nothing was fetched"},
	} {
		t.Run(name, func(t *testing.T) {
			list := List{Rows: c.rows, Need: 0.9, Whole: c.rows == whole, Sample: make([]map[string]json.RawMessage, whole)}
			v := Grid{Kind: CompareList, Cells: c.cells, List: list}.Verdict()
			if v.Winner != c.winner || v.Text != c.text {
				t.Errorf("%d: %s\nwant %d: %s", v.Winner, v.Text, c.winner, c.text)
			}
		})
	}
}

func TestTimesFailuresAndCostsOfACell(t *testing.T) {
	c := ran("a", 2, 15, 20)
	c.Runs[19].Class, c.Runs[19].Total = ClassTimeout, -1
	if half, most := c.Percentile(0.5), c.Percentile(0.95); half != 10*time.Second || most != 19*time.Second || ran("a", 1, 0, 0).Percentile(0.5) != -1 {
		t.Errorf("half within %s, 95 %% within %s", half, most)
	}
	if f := c.Failures(); len(f) != 2 || !reflect.DeepEqual(f[0], Failure{ClassCaptcha, "", 4, []string{"/16", "/17", "/18"}}) || !reflect.DeepEqual(f[1], Failure{ClassTimeout, "", 1, []string{"/20"}}) {
		t.Errorf("%+v", f)
	}
	if dollars, priced := c.CostOfUseful(); !priced || math.Abs(dollars-0.04/15) > 1e-9 || math.Abs(c.Spend().Dollars-0.04) > 1e-9 {
		t.Errorf("%v %v, in all %v", dollars, priced, c.Spend())
	}
	g := Grid{Kind: CompareList, Cells: []Cell{c, ran("b", 0, 0, 0), {Problem: "none"}}, List: List{Rows: 9, Hosts: 2, Sample: make([]map[string]json.RawMessage, 5), MaxCost: 0.02, Unpriced: []ZoneName{"b"}}}
	if got := g.PlanWords(); got != "5 of 9 rows, of 2 hosts, through each of 2: 10 fetches, at most $0.0200, b is unpriced" {
		t.Error(got)
	}
}
