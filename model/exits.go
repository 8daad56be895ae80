package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ExitCount is one exit address and how many calls left from it.
type ExitCount struct {
	Address string
	Calls   int
}

// Exits are the addresses seen, the most frequent first, equally frequent ones in the order of
// their first call.
func (c Cell) Exits() []ExitCount {
	var out []ExitCount
	for _, r := range c.Runs {
		if r.exit() == "" {
			continue
		}
		i := slices.IndexFunc(out, func(e ExitCount) bool { return e.Address == r.exit() })
		if i < 0 {
			i, out = len(out), append(out, ExitCount{Address: r.exit()})
		}
		out[i].Calls++
	}
	slices.SortStableFunc(out, func(a, b ExitCount) int { return cmp.Compare(b.Calls, a.Calls) })
	return out
}

// exit is the address that a call left from, empty where it is not known.
func (r Run) exit() string {
	if r.Login == nil {
		return ""
	}
	return r.Login.Exit
}

// KnownExits is how many calls told their exit address.
func (c Cell) KnownExits() int {
	n := 0
	for _, r := range c.Runs {
		if r.exit() != "" {
			n++
		}
	}
	return n
}

// Spend is what the calls of a cell cost.
func (c Cell) Spend() (sum Spend) {
	for _, r := range c.Runs {
		if r.Login != nil {
			sum = sum.Plus(r.Login.Spend)
			continue
		}
		requests, bytes := r.billed()
		sum.Add(c.Zone.Rate.Cost(float64(requests), float64(bytes)))
	}
	return sum
}

// RepeatRate is the share of calls that left from an address which an earlier call had: from 0,
// every call had its own, to nearly 1, all of many had the same. False with fewer than two known
// addresses.
func (c Cell) RepeatRate() (float64, bool) {
	known := c.KnownExits()
	if known < 2 {
		return 0, false
	}
	return float64(known-len(c.Exits())) / float64(known), true
}

// ExitChanges are the numbers of the calls, from 1, that left from another address than the call
// before them whose address is known.
func (c Cell) ExitChanges() []int {
	var out []int
	last := ""
	for i, r := range c.Runs {
		if r.exit() == "" {
			continue
		}
		if last != "" && r.exit() != last {
			out = append(out, i+1)
		}
		last = r.exit()
	}
	return out
}

// Countries are the countries seen, each once, in the order of their first call.
func (c Cell) Countries() []string {
	var out []string
	for _, r := range c.Runs {
		if r.Login != nil && r.Login.Country != "" && !slices.Contains(out, r.Login.Country) {
			out = append(out, r.Login.Country)
		}
	}
	return out
}

// MedianOK is the median time of the calls that were ok; negative without one.
func (c Cell) MedianOK() time.Duration {
	var all []time.Duration
	for _, r := range c.Runs {
		if r.Class == ClassOK && r.Total >= 0 {
			all = append(all, r.Total)
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

// exitVerdict says in one sentence what the calls showed, and nothing that they did not.
func (c Cell) exitVerdict() string {
	rate, ok := c.RepeatRate()
	unique := len(c.Exits())
	switch changes := c.ExitChanges(); {
	case len(c.Runs) == 0:
		return "no call was made"
	case c.KnownExits() == 0:
		return "neither the proxy nor the page told an exit address: nothing is known of the rotation"
	case !ok:
		return "one exit address is known: nothing is known of the rotation"
	case c.Session != "" && len(changes) == 0:
		return fmt.Sprintf("session %s kept one address over %d calls", c.Session, c.KnownExits())
	case c.Session != "":
		return fmt.Sprintf("session %s did not keep its address: it changed at call %s", c.Session, numbers(changes))
	case unique == 1:
		return fmt.Sprintf("the exit does not rotate: one address in %d calls", c.KnownExits())
	case rate == 0:
		return fmt.Sprintf("every call had an address of its own: %d in %d calls", unique, c.KnownExits())
	default:
		return fmt.Sprintf("%d addresses in %d calls, repeat rate %.0f %%", unique, c.KnownExits(), 100*rate)
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
