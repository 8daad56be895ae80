package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// List is a list of rows, and the sample of it that zones are compared by.
type List struct {
	Name string
	Rows int64 // that can be used
	Bad  int64 // that cannot
	// Sample are the columns of its rows, and Hosts how many targets they are of. Whole says that they are all rows, each
	// request once: what they show is known of the list, and not estimated.
	Sample []map[string]json.RawMessage
	Hosts  int
	Whole  bool
	Need   float64 // the share of useful pages that a zone has to reach, below 1; by a sample, the lower end of the interval
	// MaxCost is what all fetches may cost, in dollars, of zones that have a rate; Unpriced are those that have none.
	MaxCost  float64
	Unpriced []ZoneName
}

// z95 is the quantile of the normal distribution for an interval of 95 %.
const z95 = 1.959964

// Whole reports whether every row of the list was fetched through a cell.
func (g Grid) Whole(c Cell) bool { return g.List.Whole && len(c.Runs) == len(g.List.Sample) }

// Useful is the share of a cell's runs that were ok, required fields included, and its 95 % interval by Wilson: from 0 to 1
// without a run. Where every row was fetched nothing is estimated: low and high are the share.
func (g Grid) Useful(c Cell) (share, low, high float64) {
	n := float64(len(c.Runs))
	if n == 0 {
		return 0, 0, 1
	}
	if share = float64(c.OK()) / n; g.Whole(c) {
		return share, share, share
	}
	scale := 1 + z95*z95/n
	middle := (share + z95*z95/(2*n)) / scale
	half := z95 / scale * math.Sqrt(share*(1-share)/n+z95*z95/(4*n*n))
	return share, max(middle-half, 0), min(middle+half, 1)
}

// SampleFor is the smallest sample in which a share of useful pages shows that at least need is reached; 0 where none can.
func SampleFor(share, need float64) int {
	if share <= need {
		return 0
	}
	return int(math.Ceil(z95 * z95 * need * (1 - need) / ((share - need) * (share - need))))
}

// Percentile is the time within which a part q of the runs ended; -1 where none was measured.
func (c Cell) Percentile(q float64) time.Duration {
	all := slices.DeleteFunc(c.values(runTotal), func(ns int64) bool { return ns < 0 })
	if len(all) == 0 {
		return -1
	}
	return time.Duration(all[max(int(math.Ceil(q*float64(len(all)))), 1)-1])
}

// Failure is a verdict that runs of a cell had, how many, and up to three of the pages.
type Failure struct {
	Class Class
	Cause Cause
	N     int
	Pages []string
}

// Failures are the verdicts of the runs that were not ok, the most frequent first.
func (c Cell) Failures() (all []Failure) {
	for _, r := range c.Runs {
		i := slices.IndexFunc(all, func(f Failure) bool { return f.Class == r.Class && f.Cause == r.Cause })
		switch {
		case r.Class == ClassOK:
		case i < 0:
			all = append(all, Failure{r.Class, r.Cause, 1, []string{r.Page}})
		default:
			if all[i].N++; all[i].N <= 3 {
				all[i].Pages = append(all[i].Pages, r.Page)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Failure) int { return cmp.Compare(b.N, a.N) })
	return all
}

// CostOfUseful is what a useful page costs in dollars, with the fetches that brought none; false of a zone without a rate,
// or without such a page.
func (c Cell) CostOfUseful() (dollars float64, priced bool) {
	per1000, priced := c.Cost()
	if !priced || c.OK() == 0 {
		return 0, false
	}
	return per1000 / 1000 * float64(len(c.Runs)) / float64(c.OK()), true
}

// cheapest is the cell to fetch a list through, and why: of those that reach the share that is needed, or by a sample are
// shown to, the one whose useful pages cost least. Those without a rate count as dearer than any other; of these, the higher
// share decides. cell is -1 where there is none.
func (g Grid) cheapest() (cell int, reason string) {
	cell, nearest, fit, whole := -1, -1, 0, true
	for i, c := range g.Cells {
		low := g.low(i)
		whole = whole && (len(c.Runs) == 0 || g.Whole(c))
		if len(c.Runs) > 0 && (nearest < 0 || low > g.low(nearest)) {
			nearest = i
		}
		if low < g.List.Need {
			continue
		}
		if fit++; cell < 0 || g.cheaper(i, cell) {
			cell = i
		}
	}
	reaches, reach := "is shown to reach", "are shown to reach"
	if whole {
		reaches, reach = "reaches", "reach"
	}
	need := fmt.Sprintf("%.4g %%", 100*g.List.Need)
	switch {
	case nearest < 0:
		return -1, "nothing was fetched"
	case cell < 0:
		return -1, fmt.Sprintf("none %s %s. %s comes nearest, %s: %s", reaches, need, g.Cells[nearest].Place(), g.usefulWords(nearest), g.sampleWords(nearest))
	}
	price, best := "unpriced", "best"
	if cost, priced := g.Cells[cell].CostOfUseful(); priced {
		price, best = UnitCost(cost, true)+" for a useful page", "cheapest"
	}
	words := fmt.Sprintf("the %s of %d that %s %s", best, fit, reach, need)
	if fit == 1 {
		words = fmt.Sprintf("the only one that %s %s", reaches, need)
	}
	return cell, fmt.Sprintf("%s (%s; %s)", words, price, g.usefulWords(cell))
}

func (g Grid) low(cell int) float64 {
	_, low, _ := g.Useful(g.Cells[cell])
	return low
}

// cheaper reports whether the useful pages of cell a cost less than those of b.
func (g Grid) cheaper(a, b int) bool {
	costA, pricedA := g.Cells[a].CostOfUseful()
	costB, pricedB := g.Cells[b].CostOfUseful()
	switch {
	case pricedA != pricedB:
		return pricedA
	case costA != costB:
		return costA < costB
	}
	return g.low(a) > g.low(b)
}

func (g Grid) usefulWords(cell int) string {
	c, known := g.Cells[cell], "the whole list"
	if !g.Whole(c) {
		known = fmt.Sprintf("which shows at least %.1f %%", 100*g.low(cell))
	}
	return fmt.Sprintf("%d of %d useful, %s", c.OK(), len(c.Runs), known)
}

// NeededSample is how large a sample would show that a cell reaches the share that is needed, if its share holds: at most the
// whole list. It is 0 where none would, or every row was fetched.
func (g Grid) NeededSample(cell int) int64 {
	share, _, _ := g.Useful(g.Cells[cell])
	if g.Whole(g.Cells[cell]) {
		return 0
	}
	return min(int64(SampleFor(share, g.List.Need)), g.List.Rows)
}

// sampleWords say how large a sample a cell would need.
func (g Grid) sampleWords(cell int) string {
	switch n := g.NeededSample(cell); {
	case g.Whole(g.Cells[cell]):
		return "compare other zones, or lower the share that you need"
	case n == 0:
		return "no larger sample would show it, unless its share rises"
	case n == g.List.Rows:
		return fmt.Sprintf("the whole list, %s, would show it if the share holds", Counted(n, "row"))
	default:
		return fmt.Sprintf("a sample of %d would show it if the share holds", n)
	}
}

// PlanWords say what the fetches of a comparison over a list come to.
func (g Grid) PlanWords() string {
	n := len(slices.DeleteFunc(slices.Clone(g.Cells), func(c Cell) bool { return c.Problem != "" }))
	out := fmt.Sprintf("%d of %s, of %s, through each of %d: %s",
		len(g.List.Sample), Counted(g.List.Rows, "row"), Counted(g.List.Hosts, "host"), n, Counted(n*len(g.List.Sample), "fetch"))
	if g.List.MaxCost > 0 {
		out += ", at most " + SmallDollars(g.List.MaxCost)
	}
	for _, name := range g.List.Unpriced {
		out += ", " + string(name) + " is unpriced"
	}
	return out
}
