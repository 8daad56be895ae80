package model

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// cell is a cell of runs that took so many milliseconds each; a negative one failed.
func cell(rate Rate, millis ...int) Cell {
	c := Cell{Vary: Vary{Zone: Zone{Name: "z", Rate: rate}, Via: ViaAPI}}
	for _, ms := range millis {
		r := Run{Class: ClassOK, Total: time.Duration(max(ms, -ms)) * time.Millisecond, Bytes: 1_000_000}
		if ms < 0 {
			r.Class = ClassCaptcha
		}
		c.Runs = append(c.Runs, r)
	}
	return c
}

func TestTheWinnerIsTheCheapestThatWasOKInEveryRunThenTheFastest(t *testing.T) {
	cheap, dear, traffic, free := Rate{Per1000: 0.5}, Rate{Per1000: 1.5}, Rate{PerGB: 8}, Rate{}
	for name, c := range map[string]struct {
		cells  []Cell
		winner int
		reason string
	}{
		"the cheaper, though slower":    {[]Cell{cell(dear, 10, 10), cell(cheap, 90, 90)}, 1, "the cheapest of 2 that were ok in every run (2 of 2 ok, median 90 ms, $0.50 per 1000)"},
		"the faster of equally cheap":   {[]Cell{cell(cheap, 90, 90), cell(cheap, 20, 40)}, 1, "the fastest of 2 at the lowest price that were ok in every run (2 of 2 ok, median 30 ms, $0.50 per 1000)"},
		"the first of equals":           {[]Cell{cell(cheap, 20, 20), cell(cheap, 20, 20)}, 0, "the fastest of 2 at the lowest price that were ok in every run (2 of 2 ok, median 20 ms, $0.50 per 1000)"},
		"traffic counts":                {[]Cell{cell(traffic, 10, 10), cell(dear, 20, 20)}, 1, "the cheapest of 2 that were ok in every run (2 of 2 ok, median 20 ms, $1.50 per 1000)"},
		"unpriced is dearest":           {[]Cell{cell(free, 10, 10), cell(dear, 20, 20)}, 1, "the cheapest of 2 that were ok in every run (2 of 2 ok, median 20 ms, $1.50 per 1000; 1 unpriced)"},
		"all unpriced":                  {[]Cell{cell(free, 20, 20), cell(free, 10, 10)}, 1, "the fastest of 2 that were ok in every run (2 of 2 ok, median 10 ms; none has a rate)"},
		"one failure is out":            {[]Cell{cell(cheap, 10, -10), cell(dear, 20, 20)}, 1, "the only one that was ok in every run (2 of 2 ok, median 20 ms, $1.50 per 1000)"},
		"a run is missing":              {[]Cell{cell(cheap, 10), cell(free, 20, 20)}, 1, "the only one that was ok in every run (2 of 2 ok, median 20 ms, unpriced)"},
		"less than a cent":              {[]Cell{cell(Rate{PerGB: 0.001}, 10, 10), cell(dear, 20, 20)}, 0, "the cheapest of 2 that were ok in every run (2 of 2 ok, median 10 ms, <$0.01 per 1000)"},
		"half a millisecond":            {[]Cell{cell(cheap, 20, 21), cell(dear, 20, 20)}, 0, "the cheapest of 2 that were ok in every run (2 of 2 ok, median 20 ms, $0.50 per 1000)"},
		"nobody":                        {[]Cell{cell(cheap, 10, -10), cell(dear)}, -1, "no cell was ok in every run"},
		"a cell that could not be sent": {[]Cell{{Problem: "no native access"}}, -1, "no cell was ok in every run"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, reason := (Grid{Repeat: 2, Cells: c.cells}).winner(); got != c.winner || reason != c.reason {
				t.Errorf("cell %d, %q; want %d, %q", got, reason, c.winner, c.reason)
			}
		})
	}
}

func TestACellSaysWhatItsRunsHaveInCommon(t *testing.T) {
	c := Cell{Vary: Vary{Zone: Zone{Rate: Rate{Per1000: 1, PerGB: 10}}}, Runs: []Run{
		{Class: ClassOK, Status: 200, Total: 40, FirstByte: 4, Bytes: 3000, Found: 2},
		{Class: ClassCaptcha, Status: 403, Total: 10, FirstByte: 1, Bytes: 1000, Found: 0},
		{Class: ClassTimeout, Total: 90, FirstByte: -1, Bytes: 0, Found: 1},
		{Class: ClassCaptcha, Status: 200, Total: 20, FirstByte: 2, Bytes: 1001, Found: 2},
	}}
	if r, ok := c.Typical(); !ok || r.Class != ClassCaptcha || r.Status != 403 {
		t.Errorf("typical %+v, %v", r, ok)
	}
	total, _ := c.Total()
	first, _ := c.FirstByte()
	bytes, _ := c.Bytes()
	fastest, slowest, _ := c.Spread()
	if c.OK() != 1 || total != 30 || first != 2 || bytes != 1000 || fastest != 10 || slowest != 90 || c.Found() != 0 {
		t.Errorf("ok %d, total %d, first byte %d, bytes %d, from %d to %d, found %d", c.OK(), total, first, bytes, fastest, slowest, c.Found())
	}
	// 750 requests at $1, since the target did not answer one of the four, and 1,000 times the
	// mean of 1,250.25 bytes at $10 a GB.
	if cost, ok := c.Cost(); !ok || cost != 0.7625025 {
		t.Errorf("cost %v, %v", cost, ok)
	}
	c.Runs = c.Runs[1:3]
	if r, _ := c.Typical(); r.Class != ClassTimeout {
		t.Errorf("on a tie %s, want the later class", r.Class)
	}
	c.Runs = c.Runs[1:]
	if first, ran := c.FirstByte(); first != -1 || !ran {
		t.Errorf("first byte %d, %v, of a run in which it was not seen", first, ran)
	}
	var none Cell
	_, some := none.Typical()
	_, median := none.Total()
	_, begun := none.FirstByte()
	_, _, spread := none.Spread()
	_, priced := (Cell{Vary: Vary{Zone: Zone{Rate: Rate{Per1000: 1}}}}).Cost()
	if some || median || begun || spread || priced || none.Found() != 0 {
		t.Error("a cell without a run has figures")
	}
}

func TestARunKeepsWhatIsComparedOfAFetch(t *testing.T) {
	got := NewRun(FetchResult{
		ID: "f_1", Status: 200, Body: BodyRef{Size: 7}, Timing: Timing{FirstByte: 2, Total: 3},
		Fields:    []Field{{Path: "a", Found: true}, {Path: "b"}, {Path: "c", Found: true}},
		Diagnosis: Diagnosis{Class: ClassParsingDrift, Cause: CauseMissingFields},
	})
	want := Run{FetchID: "f_1", Class: ClassParsingDrift, Cause: CauseMissingFields, Status: 200, Bytes: 7, FirstByte: 2, Total: 3, Found: 2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestARunCountsAllItsAttempts(t *testing.T) {
	ms := time.Millisecond
	fast := Attempt{Class: ClassTooFast, Status: 429, Bytes: 100, Total: 5 * ms}
	again := fast
	again.Wait = time.Second
	refused := Attempt{Class: ClassOutside, Bytes: 50, Total: 2 * ms} // by the service
	for name, c := range map[string]struct {
		attempts []Attempt
		size     int64
		want     Run
		cost     float64
	}{
		"three that were answered": {[]Attempt{fast, again, again}, 100, Run{Before: 2010 * ms, Total: 2015 * ms, Attempts: 3, Requests: 3, Traffic: 300}, 3 + 0.0003},
		"one that was not":         {[]Attempt{refused}, 50, Run{Total: 5 * ms, Attempts: 1}, 0},
		"none":                     {nil, 0, Run{Total: 5 * ms}, 0},
	} {
		run := NewRun(FetchResult{Attempts: c.attempts, Body: BodyRef{Size: c.size}, Timing: Timing{Total: 5 * ms}})
		c.want.Bytes = c.size
		if !reflect.DeepEqual(run, c.want) {
			t.Errorf("%s: %+v\nwant %+v", name, run, c.want)
		}
		cost, ok := Cell{Vary: Vary{Zone: Zone{Rate: Rate{Per1000: 1, PerGB: 1}}}, Runs: []Run{run}}.Cost()
		if !ok || math.Abs(cost-c.cost) > 1e-9 {
			t.Errorf("%s: costs %v, %v, want %v", name, cost, ok, c.cost)
		}
	}
}

func TestARunWithoutACountOfItsAttemptsIsOneRequestIfItWasAnswered(t *testing.T) {
	for _, c := range []struct {
		run  Run
		want float64
	}{
		{Run{Class: ClassTooFast, Status: 429, Bytes: 1e6}, 1.001},
		{Run{Class: ClassCaptcha, Bytes: 1e6}, 1.001},
		{Run{Class: ClassOutside, Cause: CauseNetwork, Bytes: 1e6}, 0},
	} {
		cost, ok := Cell{Vary: Vary{Zone: Zone{Rate: Rate{Per1000: 1, PerGB: 0.001}}}, Runs: []Run{c.run}}.Cost()
		if !ok || math.Abs(cost-c.want) > 1e-9 {
			t.Errorf("%+v costs %v, %v, want %v", c.run, cost, ok, c.want)
		}
	}
}

func TestAgentAccessIsOneCell(t *testing.T) {
	cells := ZoneCells([]Zone{{Name: "a"}, {Name: "b"}}, []Via{ViaAgent, ViaAPI, ViaNative})
	var got []string
	for _, c := range cells {
		got = append(got, c.Place())
		if c.Misplaced() {
			t.Errorf("%+v is called misplaced", c)
		}
	}
	if want := []string{"a by API", "a by Native", "b by API", "b by Native", "agent access"}; !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
	if got := ZoneCells([]Zone{{Name: "a"}}, []Via{ViaAgent}); len(got) != 1 || got[0].ZoneWord() != "-" {
		t.Errorf("agent access alone: %+v", got)
	}
}

func TestTheReasonHasTheMedianOfTheTable(t *testing.T) {
	c := cell(Rate{}, 20)
	c.Runs[0].Total = 1999600 * time.Microsecond
	if _, reason := (Grid{Cells: []Cell{c}}).winner(); !strings.Contains(reason, "median 1999 ms") {
		t.Errorf("%q", reason)
	}
}

func TestAnAnswerOfARunWithRetriesBeginsAfterThem(t *testing.T) {
	r := NewRun(FetchResult{
		Timing: Timing{FirstByte: 30, Total: 40}, Attempts: []Attempt{{Total: 500}, {Wait: 1000, Total: 40}},
	})
	if r.Before != 1500 || r.Total != 1540 || r.FirstByte != 30 {
		t.Errorf("%+v", r)
	}
	c := Cell{Runs: []Run{r, {FirstByte: -1}}}
	if answered, ok := c.Answered(); answered != 1530 || !ok {
		t.Errorf("it was answered after %d, %v", answered, ok)
	}
}
