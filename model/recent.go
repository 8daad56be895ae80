package model

import (
	"slices"
	"strings"
	"time"
)

// Recent are the last fetches through a zone, the newest first.
type Recent []HistoryEntry

// RecentOf are the last n fetches of each zone that have a verdict, of entries that come newest first.
func RecentOf(entries []HistoryEntry, n int) map[string]Recent {
	out := map[string]Recent{}
	for _, e := range entries {
		if of := out[e.Zone]; e.Class != "" && len(of) < n {
			out[e.Zone] = append(of, e)
		}
	}
	return out
}

// Useful counts those that came to what was asked for, and is the median of their times; 0 without one.
func (r Recent) Useful() (n int, median time.Duration) {
	var times []time.Duration
	for _, e := range r {
		if e.Class == ClassOK {
			times = append(times, e.Total)
		}
	}
	if len(times) == 0 {
		return 0, 0
	}
	slices.Sort(times)
	return len(times), times[(len(times)-1)/2]
}

// Bars are the times as bars, the oldest first: the longest is the highest.
func (r Recent) Bars() string {
	longest := time.Duration(1)
	for _, e := range r {
		longest = max(longest, e.Total)
	}
	var b strings.Builder
	for _, e := range slices.Backward(r) {
		b.WriteRune(Bar(float64(e.Total) / float64(longest)))
	}
	return b.String()
}

// Bar is a share, 0 to 1, as a bar of a sparkline.
func Bar(share float64) rune {
	bars := []rune("▁▂▃▄▅▆▇█")
	return bars[max(min(int(share*float64(len(bars))), len(bars)-1), 0)]
}
