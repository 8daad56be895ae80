package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxExitCalls bounds the calls of one measurement: each is billed.
const MaxExitCalls = 500

// ExitRotation is a measurement of how the exit address changes from call to call, or stays within a
// session.
type ExitRotation struct {
	Zone     Zone
	Username string // without the password
	Target   string
	// Session is the session that all calls were made in; empty without one.
	Session string
	Started time.Time
	Asked   int // how many calls were asked for
	Calls   []ExitCall
	// Ended says why there are fewer calls than were asked for, or is empty.
	Ended string
	// Spend is what the calls cost.
	Spend Spend
}

// ExitCall is one call of a measurement.
type ExitCall struct {
	Exit    string // the exit address, or empty when neither the proxy nor the page told it
	Country string // or empty
	Class   Class
	Cause   Cause
	Total   time.Duration // negative when it was not measured
	Bytes   int64         // of the body
}

// ExitCount is one exit address and how many calls left from it.
type ExitCount struct {
	Address string
	Calls   int
}

// Exits are the addresses seen, the most frequent first, equally frequent ones in the order of
// their first call.
func (r ExitRotation) Exits() []ExitCount {
	var out []ExitCount
	for _, c := range r.Calls {
		if c.Exit == "" {
			continue
		}
		i := slices.IndexFunc(out, func(e ExitCount) bool { return e.Address == c.Exit })
		if i < 0 {
			i, out = len(out), append(out, ExitCount{Address: c.Exit})
		}
		out[i].Calls++
	}
	slices.SortStableFunc(out, func(a, b ExitCount) int { return cmp.Compare(b.Calls, a.Calls) })
	return out
}

// Known is how many calls told their exit address.
func (r ExitRotation) Known() int {
	n := 0
	for _, c := range r.Calls {
		if c.Exit != "" {
			n++
		}
	}
	return n
}

// OK is how many calls were ok.
func (r ExitRotation) OK() int {
	n := 0
	for _, c := range r.Calls {
		if c.Class == ClassOK {
			n++
		}
	}
	return n
}

// RepeatRate is the share of calls that left from an address which an earlier call had: from 0,
// every call had its own, to nearly 1, all of many had the same. False with fewer than two known
// addresses.
func (r ExitRotation) RepeatRate() (float64, bool) {
	known := r.Known()
	if known < 2 {
		return 0, false
	}
	return float64(known-len(r.Exits())) / float64(known), true
}

// Changes are the numbers of the calls, from 1, that left from another address than the call
// before them whose address is known.
func (r ExitRotation) Changes() []int {
	var out []int
	last := ""
	for i, c := range r.Calls {
		if c.Exit == "" {
			continue
		}
		if last != "" && c.Exit != last {
			out = append(out, i+1)
		}
		last = c.Exit
	}
	return out
}

// Countries are the countries seen, each once, in the order of their first call.
func (r ExitRotation) Countries() []string {
	var out []string
	for _, c := range r.Calls {
		if c.Country != "" && !slices.Contains(out, c.Country) {
			out = append(out, c.Country)
		}
	}
	return out
}

// Median is the median time of the calls that were ok; negative without one.
func (r ExitRotation) Median() time.Duration {
	var all []time.Duration
	for _, c := range r.Calls {
		if c.Class == ClassOK && c.Total >= 0 {
			all = append(all, c.Total)
		}
	}
	if len(all) == 0 {
		return -1
	}
	slices.Sort(all)
	middle := len(all) / 2
	if len(all)%2 == 0 {
		return (all[middle-1] + all[middle]) / 2
	}
	return all[middle]
}

// Verdict says in one sentence what the measurement showed, and nothing that it did not.
func (r ExitRotation) Verdict() string {
	rate, ok := r.RepeatRate()
	unique := len(r.Exits())
	switch changes := r.Changes(); {
	case len(r.Calls) == 0:
		return "no call was made"
	case r.Known() == 0:
		return "neither the proxy nor the page told an exit address: nothing is known of the rotation"
	case !ok:
		return "one exit address is known: nothing is known of the rotation"
	case r.Session != "" && len(changes) == 0:
		return fmt.Sprintf("session %s kept one address over %d calls", r.Session, r.Known())
	case r.Session != "":
		return fmt.Sprintf("session %s did not keep its address: it changed at call %s", r.Session, numbers(changes))
	case unique == 1:
		return fmt.Sprintf("the exit does not rotate: one address in %d calls", r.Known())
	case rate == 0:
		return fmt.Sprintf("every call had an address of its own: %d in %d calls", unique, r.Known())
	default:
		return fmt.Sprintf("%d addresses in %d calls, repeat rate %.0f %%", unique, r.Known(), 100*rate)
	}
}

// numbers lists at most eight numbers.
func numbers(list []int) string {
	const most = 8
	words := make([]string, 0, most)
	for _, n := range list[:min(len(list), most)] {
		words = append(words, fmt.Sprint(n))
	}
	text := strings.Join(words, ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
