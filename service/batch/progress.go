package batch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/batch/store"
	"zonedeck/service/snippet"
)

// Stage is where a batch is.
type Stage = store.State

// The stages of a batch.
const (
	Running = store.Running
	Paused  = store.Paused
	Capped  = store.Capped
	Held    = store.Held
	Done    = store.Done
)

// Condition is the word for where a batch is.
func (s State) Condition() string {
	if s.Interrupted() {
		return "interrupted"
	}
	return string(s.State)
}

// Interrupted reports whether a batch has items to send, and no process that does: what worked on it has ended.
func (s State) Interrupted() bool { return s.State == Running && !s.Live }

// Waits reports whether a batch of a profile goes on only if the operator does something.
func (s State) Waits(profile string) bool {
	return s.Profile == profile && (s.Interrupted() || s.State == Held)
}

// Obstacle says why a batch does not go on, or is empty.
func (s State) Obstacle() string {
	if s.Interrupted() {
		return "no process works on it; what came is kept and not fetched again"
	}
	return s.Reason
}

// limitWords say how many fetches may go at once, and how many items begin in a second.
func limitWords(atOnce int, rate float64) string {
	limit, pace := "as many at once as the product allows", "no rate"
	if atOnce > 0 {
		limit = fmt.Sprintf("%d at once", atOnce)
	}
	if rate > 0 {
		pace = fmt.Sprintf("%g/s", rate)
	}
	return limit + ", " + pace
}

// LimitWords say what holds for a batch now.
func (s State) LimitWords() string { return limitWords(s.AtOnce, s.Rate) }

// Wanted is how many items are to have a result: all but duplicates.
func (s State) Wanted() int64 { return s.Items - s.Duplicates }

// Part is the share that n is of all items with a result, in percent.
func (s State) Part(n int64) float64 {
	if s.Tally.Answered == 0 {
		return 0
	}
	return 100 * float64(n) / float64(s.Tally.Answered)
}

// Percent writes a share that was rounded as none or all only where it is.
func Percent(part float64) string {
	switch {
	case part > 0 && part < 1:
		return "<1 %"
	case part > 99 && part < 100:
		return ">99 %"
	}
	return fmt.Sprintf("%.0f %%", part)
}

// EndCost is what a batch will have cost at its end, if each item that is left costs what those with a result did, and
// how many of these come before its cap: all, or fewer. What may have been spent is in the sum, but not in the price of an
// item. It is not known before an item has a result, nor without a rate of the zone.
func (s State) EndCost() (dollars float64, left int64, known bool) {
	left = s.Remaining()
	if s.Plan.Price == 0 || s.Tally.Answered == 0 {
		return 0, left, false
	}
	each := float64(s.Spent-s.Tally.Unconfirmed) / float64(s.Tally.Answered)
	room := float64(s.Cap-s.Spent-s.Plan.Price) + 1 // for all but the last, which may be the dearest; 1 for rounding
	switch {
	case s.Cap == 0 || left == 0:
	case room < 0:
		left = 0
	case each*float64(left-1) > room:
		left = 1 + int64(room/each)
	}
	return (float64(s.Spent) + each*float64(left)) / 1e9, left, true
}

// MaybeSent says how many items may have been sent without an answer: after a kill it is only known that there were no more.
func MaybeSent(n int64) string {
	if n == 1 {
		return "1 item may have been sent without an answer"
	}
	return fmt.Sprintf("up to %d items may have been sent without an answer", n)
}

// CostWords say what a batch has cost, its cap, and what it comes to if it goes on like this.
func (s State) CostWords() string {
	cost := "unpriced"
	if s.Plan.Price > 0 {
		cost = model.SmallDollars(Dollars(s.Spent)) + " by your rate"
		if maybe := s.Tally.Unconfirmed; maybe > 0 {
			cost += ", of which up to " + model.SmallDollars(Dollars(maybe)) + " may not have been spent"
		}
	}
	if s.Cap > 0 {
		cost += ", cap " + model.SmallDollars(Dollars(s.Cap))
	}
	switch end, left, known := s.EndCost(); {
	case !known || s.Remaining() == 0:
	case left < s.Remaining():
		cost += fmt.Sprintf(": about %d of %d before it", s.Wanted()-s.Remaining()+left, s.Wanted())
	default:
		cost += ", ends at about " + model.SmallDollars(end)
	}
	return cost
}

// ZoneWords say what came through each zone, where there are several.
func (s State) ZoneWords() (out []string) {
	if len(s.Plan.Rules) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tally.Zones)) {
		z := s.Tally.Zones[name]
		out = append(out, fmt.Sprintf("%s: %d ok, %d failed", name, z.OK, z.Failures()))
	}
	return out
}

// WorkerWords say of each worker on a server what it has, and when it was last heard of; nothing of one that has left nothing.
func (s State) WorkerWords() (out []string) {
	for _, w := range s.Workers {
		if w.Dead && w.Items == 0 {
			continue
		}
		words := fmt.Sprintf("%s: slices %d, slots %d, last heard of %.1f s ago", w.Process, w.Items, s.Slots[w.Process], w.Beat.Seconds())
		if w.Dead {
			words += ": it counts as dead, and others take its slices over"
		}
		out = append(out, words)
	}
	return out
}

// Step is what is usually done about the main failure of a host; its text is empty where nothing is.
func (s State) Step(host string) model.Step {
	main, n := s.Tally.Hosts[host].Main()
	if n == 0 {
		return model.Step{}
	}
	return model.UsualStep(main.Class, main.Cause, s.Plan.Request.Via, s.Plan.Request.Zone)
}

// Command is a command about a batch.
func (s State) Command(verb string) string { return commandOn(s.database, verb+" "+s.ID) }

// commandOn is a command about batches of a database.
func commandOn(database, words string) string {
	return snippet.OnDatabase("zonedeck batch "+words, database)
}

// Progress is a batch as it is watched, with how fast it goes.
type Progress struct {
	State
	Speed  float64   // items that get a result in a second, over the last ten; 0 where that is not known
	Speeds []float64 // of each second of the last minute, the oldest first
	Paces  []string  // what was said of the pace lately, the newest first
	Fault  error     // why this process has stopped its work on it; nil where it has not
}

// ETA is how long the rest, or what of it comes before the cap, takes at the speed of now; false where that is not known.
func (p Progress) ETA() (left time.Duration, known bool) {
	_, items, _ := p.EndCost()
	if p.Speed <= 0 || p.Over() || items == 0 {
		return 0, false
	}
	return time.Duration(float64(items) / p.Speed * float64(time.Second)), true
}

// Meter measures how fast a batch goes, by what is seen of it. The zero Meter has seen nothing.
type Meter struct {
	readings []reading // a second apart, the newest last
	paces    []string
}

type reading struct {
	at       time.Time
	answered int64
}

// The Meter's memory: seconds of the speed, and sentences about the pace.
const mostReadings, speedOver, mostPaces = 61, 10, 8

// withoutCountdown is a sentence about the pace up to a time that runs down in it.
func withoutCountdown(pace string) string {
	sentence, _, _ := strings.Cut(pace, " in ")
	return sentence
}

// See takes a batch as it is now.
func (m *Meter) See(s State, now time.Time) Progress {
	switch {
	case s.Pace == "":
	case len(m.paces) > 0 && withoutCountdown(m.paces[0]) == withoutCountdown(s.Pace):
		m.paces[0] = s.Pace
	default:
		m.paces = slices.Insert(m.paces, 0, s.Pace)
		m.paces = m.paces[:min(len(m.paces), mostPaces)]
	}
	p := Progress{State: s, Paces: slices.Clone(m.paces)}
	if s.Over() || !s.Live {
		m.readings = nil
		return p
	}
	n := len(m.readings)
	if n == 0 || now.Before(m.readings[n-1].at) { // or the clock was set back
		m.readings = []reading{{now, s.Tally.Answered}}
		return p
	}
	from := m.readings[max(0, n-speedOver)]
	if elapsed := now.Sub(from.at).Seconds(); elapsed >= 0.5 {
		p.Speed = float64(s.Tally.Answered-from.answered) / elapsed
	}
	if now.Sub(m.readings[n-1].at) >= time.Second {
		m.readings = append(m.readings, reading{now, s.Tally.Answered})
		m.readings = m.readings[max(0, len(m.readings)-mostReadings):]
	}
	for i := 1; i < len(m.readings); i++ {
		before, after := m.readings[i-1], m.readings[i]
		p.Speeds = append(p.Speeds, float64(after.answered-before.answered)/after.at.Sub(before.at).Seconds())
	}
	return p
}
