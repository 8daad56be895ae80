package drift

import (
	"math"
	"slices"
)

// GoodRuns is how many good runs a run is held against, or as many as have goodRows rows. Before there are fewRuns of them
// it is not known how much runs differ from one another, and a run counts for no more than 1/fewAlike rows.
const (
	GoodRuns = 10
	goodRows = 30
	fewRuns  = 5
	fewAlike = 0.1
)

// newest are the first of the runs that count, by their places, as many as it takes to have goodRows rows, and least of them.
func newest(runs []Run, from, least int, counts func(i int) bool) (at []int) {
	rows := 0
	for i := from; i < len(runs) && (len(at) < least || rows < goodRows); i++ {
		if counts(i) {
			at, rows = append(at, i), rows+runs[i].Useful
		}
	}
	return at
}

// history is what a run is judged by. One with fewer than goodRows rows may be too small to tell: it is looked at alone, and
// together with those just before it, whatever they came to. Each time it is held against the good ones before all of
// these.
type history struct {
	runs []Run   // the run, and those of its form before it that have rows, newest first
	good [][]int // which of them are the good ones; by how many runs are looked at together, less one
}

func newHistory(r Run, earlier []Run) history {
	h := history{runs: []Run{r}}
	for _, e := range earlier {
		if e.Form == r.Form && e.Useful > 0 {
			h.runs = append(h.runs, e)
		}
	}
	drifting := map[int]bool{} // those that were found to drift together with a later one, too
	for i, r := range h.runs {
		for _, f := range r.Findings {
			for n := range f.Runs {
				drifting[i+n] = true
			}
		}
	}
	for range newest(h.runs, 0, 1, func(int) bool { return true }) {
		good := newest(h.runs, len(h.good)+1, GoodRuns, func(i int) bool { return h.runs[i].State.Compared() && !drifting[i] })
		if len(good) == 0 {
			break
		}
		h.good = append(h.good, good)
	}
	if len(h.good) > 0 {
		h.runs = h.runs[:slices.Max(slices.Concat(h.good...))+1]
	}
	return h
}

// needed are the runs whose fields are looked into.
func (h history) needed() (seqs []int64) {
	for i, r := range h.runs {
		if i < len(h.good) || slices.ContainsFunc(h.good, func(good []int) bool { return slices.Contains(good, i) }) {
			seqs = append(seqs, r.Seq)
		}
	}
	return seqs
}

// base are the good runs as one, where so many are looked at together.
func (h history) base(together int) Run {
	if len(h.good) < together || together == 0 {
		return Run{}
	}
	var runs []Run
	for _, i := range h.good[together-1] {
		runs = append(runs, h.runs[i])
	}
	return pool(runs)
}

// share is a of n rows.
type share struct{ a, n int }

func (s share) of() float64 { return float64(s.a) / float64(max(s.n, 1)) }

func sum(all []share) (out share) {
	for _, s := range all {
		out.a, out.n = out.a+s.a, out.n+s.n
	}
	return out
}

// fall is what the share of rows with a property has come to.
type fall struct {
	found       bool
	told        bool // the rows are enough to tell
	runs, good  int  // those looked at together, and the good ones
	now, before share
}

// fallen looks whether the share that of counts has fallen, in the run or, in up to most runs, together with those
// before it. The run itself has to be at least half as far down as they are together, or it has recovered. Until there
// are fewRuns good ones, no more than a field that was in every row and is in none is exempt from fewAlike.
func (h history) fallen(of func(Run) share, most int, alpha float64) fall {
	var out fall
	alpha /= float64(max(len(h.good), 1))
	all := make([]share, 0, len(h.runs))
	for _, r := range h.runs {
		all = append(all, of(r))
	}
	for i, at := range h.good[:min(most, len(h.good))] {
		var good []share
		for _, at := range at {
			good = append(good, all[at])
		}
		now, before := sum(all[:i+1]), sum(good)
		if now.n == 0 || before.n == 0 {
			continue
		}
		down := before.of() - now.of()
		if down < leastDrop || before.of()-all[0].of() < down/2 {
			continue
		}
		rho := alike(good)
		if whole := before.a == before.n && now.a == 0; len(good) < fewRuns && !whole {
			rho = max(rho, fewAlike)
		}
		n, m := rowsFor(all[:i+1], rho), rowsFor(good, rho)
		if chance(scaled(now, n), n, scaled(before, m), m) < alpha {
			return fall{true, true, i + 1, len(at), now, before}
		}
		if all[0].n*(i+1) >= now.n { // not where a small run is among large ones
			out.told = out.told || chance(0, n, scaled(before, m), m) < alpha
		}
	}
	return out
}

// scaled is the share in so many rows.
func scaled(s share, rows int) int { return int(math.Round(s.of() * float64(rows))) }

// alike is by how much the rows of one run are more alike than those of several: the intraclass correlation, which
// is 0 where good runs differ as rows drawn at random would, and 1 where all rows of a run are the same. With X², Pearson's sum over
// g runs of (a - np)²/np(1-p),
//
//	rho = (X²/(g-1) - 1) / (n' - 1), with n' the mean number of rows
func alike(good []share) float64 {
	all, g, squares, x2 := sum(good), 0, 0.0, 0.0
	p := all.of()
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

// rowsFor is how many rows drawn at random tell as much: n alike ones as much as n/(1+(n-1)rho).
func rowsFor(runs []share, rho float64) int {
	sum := 0.0
	for _, s := range runs {
		if s.n > 0 {
			sum += float64(s.n) / (1 + float64(s.n-1)*rho)
		}
	}
	return int(math.Round(sum))
}
