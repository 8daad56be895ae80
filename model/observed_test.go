package model

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWhatComparedRunsShowedIsNoMoreThanWasSeen(t *testing.T) {
	fast := cell(Rate{}, 10, -20)
	fast.Runs[1].Class = ClassTooFast
	for want, c := range map[string]Cell{
		"3 of 3 ok; 1 at once worked without a pause; more was not tried; $1.50 per 1000":                         cell(Rate{Per1000: 1.5}, 10, 20, 30),
		"1 of 1 ok; more than one, at once or in a row, was not tried; unpriced":                                  cell(Rate{}, 10),
		"1 of 2 ok, 1 too fast; 1 at once without a pause was too much, and the right pause is unknown; unpriced": fast,
		"2 of 3 ok, 1 at once without a pause, none too fast; more was not tried; unpriced":                       cell(Rate{}, 10, 20, -30),
	} {
		if got, ok := (Grid{Cells: []Cell{{Vary: Vary{Zone: Zone{Name: "z"}, Via: ViaNative}}, c}}).ObservedUse("z", ViaAPI); !ok || got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range []Cell{cell(Rate{}), {Vary: Vary{Zone: Zone{Name: "y"}, Via: ViaAPI}, Runs: make([]Run, 1)}} {
		if got, ok := (Grid{Cells: []Cell{c}}).ObservedUse("z", ViaAPI); ok {
			t.Errorf("%q without a run of it", got)
		}
	}
}

func TestHowManyRunsWereTogetherIsReadFromTheirTimes(t *testing.T) {
	ms := time.Millisecond
	run := func(sent int64, took time.Duration) Run {
		return Run{Class: ClassOK, Sent: 1_000_000 + sent*1000, Total: took + time.Hour, Before: time.Hour}
	}
	for name, c := range map[string]struct {
		runs []Run
		want int
	}{
		"none":                  {nil, 1},
		"from before":           {[]Run{{Total: ms}, {Total: ms}}, 1},
		"one after the other":   {[]Run{run(0, 10*ms), run(10, 10*ms), run(20, 5*ms)}, 1},
		"two, whatever is last": {[]Run{run(5, 10*ms), run(0, 10*ms), run(20, 10*ms)}, 2},
		"three":                 {[]Run{run(0, 30*ms), run(10, 10*ms), run(19, 10*ms), run(29, ms)}, 3},
	} {
		cell := Cell{Vary: Vary{Zone: Zone{Name: "z"}, Via: ViaAPI}, AtOnce: 9, Runs: c.runs}
		if got := cell.Together(); got != c.want {
			t.Errorf("%s: %d together, want %d", name, got, c.want)
		}
		want := fmt.Sprintf("; %d at once worked without a pause; more was not tried", c.want)
		if shown, _ := (Grid{Cells: []Cell{cell}}).ObservedUse("z", ViaAPI); name == "three" && !strings.Contains(shown, want) {
			t.Errorf("%q", shown)
		}
	}
}
