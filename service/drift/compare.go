package drift

import (
	"math"
	"slices"
)

// A run is compared with the last goodRuns good runs and with the first goodRuns, or with more until they have goodRows
// rows. With fewer than fewRuns, it is unknown how much runs differ, and a run counts for at most 1/fewAlike rows.
const (
	goodRuns = 10
	goodRows = 30
	fewRuns  = 5
	fewAlike = 0.1
)

// firstRuns returns the first places of at, as many as have goodRows rows, but no fewer than least.
func firstRuns(runs []Run, at []int, least int) []int {
	rows := 0
	for n, i := range at {
		if n >= least && rows >= goodRows {
			return at[:n]
		}
		rows += runs[i].Useful
	}
	return at
}

// history is what a run is judged by. A run with fewer than goodRows rows may be too small to tell. It is judged alone,
// then together with the runs just before it, whatever their state. Each such group is compared with the last good
// runs before it, and with the first: a share that falls slowly is always close to the last ones.
type history struct {
	runs []Run // the run and the earlier runs of its form with useful rows, newest first
	last base
	// first is empty while last has all good runs.
	first base
	// omitted says that earlier runs are left out because they did not require the field.
	omitted bool
}

// base has places of good runs in the history: good[n] for a group of n+1 runs that are judged together.
type base struct {
	good  [][]int
	first bool
}

// newHistory makes the history of a run or, if field is not empty, of one required field of a page. That has only runs
// that required the field, and a run that drifts only in other fields is good for it.
func newHistory(r Run, earlier []Run, field string) history {
	counts := func(f Finding) bool { return field == "" || f.Field == field }
	isGood := func(r Run) bool {
		return r.State.Compared() || field != "" && r.State == Drift && !slices.ContainsFunc(Alarms(r.Findings), counts)
	}
	h := history{runs: []Run{r}, first: base{first: true}}
	for _, e := range earlier {
		switch {
		case e.Form != r.Form || e.Useful == 0:
		case field != "" && !e.requested(field):
			h.omitted = true
		default:
			h.runs = append(h.runs, e)
		}
	}
	drifting := map[int]bool{} // runs with findings, and those judged together with a later one
	places := make([]int, len(h.runs))
	for i, r := range h.runs {
		places[i] = i
		for _, f := range r.Findings {
			if !counts(f) {
				continue
			}
			for n := range f.Runs {
				drifting[i+n] = true
			}
		}
	}
	good := slices.DeleteFunc(slices.Clone(places), func(i int) bool { return i == 0 || !isGood(h.runs[i]) || drifting[i] })
	more := true // good runs than last has
	for n := range firstRuns(h.runs, places, 1) {
		if len(good) > 0 && good[0] <= n {
			good = good[1:]
		}
		if len(good) == 0 {
			break
		}
		last := firstRuns(h.runs, good, goodRuns)
		h.last.good = append(h.last.good, last)
		if more = more && len(last) < len(good); more {
			oldest := slices.Clone(good)
			slices.Reverse(oldest)
			h.first.good = append(h.first.good, firstRuns(h.runs, oldest, goodRuns))
		}
	}
	return h
}

// neededOf lists the Seq of the runs whose fields are needed to judge r.
func neededOf(r Run, earlier []Run) []int64 {
	seqs := newHistory(r, earlier, "").needed()
	if r.Form == FormPage {
		for _, f := range r.Fields {
			seqs = append(seqs, newHistory(r, earlier, f.Path).needed()...)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// needed is neededOf for one history.
func (h history) needed() (seqs []int64) {
	for i, r := range h.runs {
		if i < len(h.last.good) || slices.ContainsFunc(slices.Concat(h.last.good, h.first.good), func(good []int) bool { return slices.Contains(good, i) }) {
			seqs = append(seqs, r.Seq)
		}
	}
	return seqs
}

// pooled combines the good runs of a base for a group of so many runs.
func (h history) pooled(b base, together int) Run {
	if len(b.good) < together || together == 0 {
		return Run{}
	}
	var runs []Run
	for _, i := range b.good[together-1] {
		runs = append(runs, h.runs[i])
	}
	return pool(runs)
}

// share is a of n rows.
type share struct{ a, n int }

func (s share) ratio() float64 { return float64(s.a) / float64(max(s.n, 1)) }

func sum(all []share) (out share) {
	for _, s := range all {
		out.a, out.n = out.a+s.a, out.n+s.n
	}
	return out
}

// fall says how the share of rows with a property has changed.
type fall struct {
	found       bool
	enough      bool // there are enough rows to tell
	runs        int  // how many were judged together
	now, before share
}

// fallen tests whether the share that of counts has fallen, in the run alone or in a group of up to most runs. The run
// itself must have fallen at least half as far as the group, or it has recovered. With fewer than fewRuns good runs,
// fewAlike applies, except to a property that every row had and none has now.
func (h history) fallen(b base, of func(Run) share, most int, alpha float64) fall {
	var out fall
	alpha /= float64(max(len(b.good), 1))
	all := make([]share, 0, len(h.runs))
	for _, r := range h.runs {
		all = append(all, of(r))
	}
	those := func(places []int) (out []share) {
		for _, i := range places {
			out = append(out, all[i])
		}
		return out
	}
	for i, at := range b.good[:min(most, len(b.good))] {
		good := those(at)
		now, before := sum(all[:i+1]), sum(good)
		if now.n == 0 || before.n == 0 {
			continue
		}
		down := before.ratio() - now.ratio()
		if down < leastDrop || before.ratio()-all[0].ratio() < down/2 {
			continue
		}
		rho := alike(good)
		if b.first {
			known := slices.Concat(at, h.last.good[i])
			slices.Sort(known)
			rho = alikeInTurn(those(slices.Compact(known)))
		}
		if whole := before.a == before.n && now.a == 0; len(good) < fewRuns && !whole {
			rho = max(rho, fewAlike)
		}
		n, m := rowsFor(all[:i+1], rho), rowsFor(good, rho)
		if chance(scaled(now, n), n, scaled(before, m), m) < alpha {
			return fall{true, true, i + 1, now, before}
		}
		if all[0].n*(i+1) >= now.n { // the run is no smaller than its group's average
			out.enough = out.enough || chance(0, n, scaled(before, m), m) < alpha
		}
	}
	return out
}

// scaled is the share as a number of that many rows.
func scaled(s share, rows int) int { return int(math.Round(s.ratio() * float64(rows))) }

// alike is the intraclass correlation: how much more alike the rows of one run are than those of several. It is 0 if
// good runs differ as rows drawn at random would, and 1 if all rows of a run are the same. X² is Pearson's sum of
// (a - np)²/np(1-p) over g runs:
//
//	rho = (X²/(g-1) - 1) / (n' - 1), with n' the mean number of rows, adjusted for unequal runs
func alike(good []share) float64 {
	all, g, squares, x2 := sum(good), 0, 0.0, 0.0
	p := all.ratio()
	if p == 0 || p == 1 {
		return 0
	}
	for _, s := range good {
		if s.n == 0 {
			continue
		}
		n := float64(s.n)
		d := float64(s.a) - n*p
		g, squares, x2 = g+1, squares+n*n, x2+d*d/(n*p*(1-p))
	}
	if g < 2 {
		return 0
	}
	mean := (float64(all.n) - squares/float64(all.n)) / float64(g-1)
	if mean <= 1 {
		return 0
	}
	return min(max((x2/float64(g-1)-1)/(mean-1), 0), 1)
}

// alikeInTurn is alike, measured between consecutive runs: a share that slowly falls does not pass for one that
// varies. p1 and p2 are shares of n1 and n2 rows, p is the share of all:
//
//	(p1 - p2)²/(p(1-p) (1/n1 + 1/n2)) is 1 + rho (2 - 1/n1 - 1/n2)/(1/n1 + 1/n2) on average
func alikeInTurn(good []share) float64 {
	p := sum(good).ratio()
	if p == 0 || p == 1 {
		return 0
	}
	good = slices.DeleteFunc(slices.Clone(good), func(s share) bool { return s.n == 0 })
	above, by := 0.0, 0.0
	for i := 1; i < len(good); i++ {
		d, each := good[i].ratio()-good[i-1].ratio(), 1/float64(good[i].n)+1/float64(good[i-1].n)
		above += d*d/(p*(1-p)*each) - 1
		by += (2 - each) / each
	}
	if by == 0 {
		return 0
	}
	return min(max(above/by, 0), 1)
}

// rowsFor is how many rows drawn at random tell as much: n rows of a run count as n/(1+(n-1)rho).
func rowsFor(runs []share, rho float64) int {
	sum := 0.0
	for _, s := range runs {
		if s.n > 0 {
			sum += float64(s.n) / (1 + float64(s.n-1)*rho)
		}
	}
	return int(math.Round(sum))
}
