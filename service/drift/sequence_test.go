package drift

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// shares gives, for each field of a run, the share of rows where it is filled.
type shares func(rnd *rand.Rand, run int) []float64

// sequence judges n runs of so many rows one after the other, each by the verdicts of those before it, as the store
// does. It returns their verdicts.
func sequence(rnd *rand.Rand, n, rows int, of shares) []Verdict {
	var earlier []Run
	var out []Verdict
	for i := range n {
		r := drawnRun(rnd, rows, of(rnd, i))
		r.Ref = fmt.Sprintf("job-%d", i)
		v := Judge(r, earlier, nil)
		r.State, r.Findings = v.State, v.Findings
		earlier = append([]Run{r}, earlier...)
		out = append(out, v)
	}
	return out
}

// alarms counts the runs with drift.
func alarms(all []Verdict) (n int) {
	for _, v := range all {
		if v.State == Drift {
			n++
		}
	}
	return n
}

// steady is 20 fields with constant shares of 50 to 100 %.
func steady(*rand.Rand, int) []float64 {
	out := make([]float64, 20)
	for i := range out {
		out[i] = 0.5 + float64(i)/38
	}
	return out
}

// uneven is fields of which a third vary from run to run, as when the inputs change category each day.
func uneven(rnd *rand.Rand, _ int) []float64 {
	out := make([]float64, 12)
	for i := range out {
		out[i] = 0.9
		if i%3 == 0 {
			out[i] = 0.6 + 0.35*rnd.Float64()
		}
	}
	return out
}

// brokenFrom loses the first field from a run on.
func brokenFrom(run int, of shares) shares {
	return func(rnd *rand.Rand, i int) []float64 {
		out := of(rnd, i)
		if out[0] = 1; i >= run {
			out[0] = 0
		}
		return out
	}
}

func TestRunsOfACollectorThatStaysAsItIsAreHardlyEverDrift(t *testing.T) {
	for _, c := range []struct {
		name       string
		rows, runs int
		of         shares
	}{
		{"one row", 1, 70, steady},
		{"three rows", 3, 60, steady},
		{"thirty rows", 30, 50, steady},
		{"many rows", 500, 20, steady},
		{"other inputs each day", 100, 50, uneven},
		{"other inputs each day, many", 1000, 20, uneven},
	} {
		t.Run(c.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(7, 8))
			n, said := 0, 0
			for n < 180 {
				all := sequence(rnd, c.runs, c.rows, c.of)
				n, said = n+len(all), said+alarms(all)
			}
			if float64(said) > falseAlarm*float64(n) {
				t.Errorf("%d of %d runs are called drift", said, n)
			}
		})
	}
}

func TestABrokenCollectorIsFoundWhateverTheSizeOfItsRuns(t *testing.T) {
	for _, c := range []struct {
		name         string
		rows, whole  int
		of           shares
		within, most int // runs until drift is found, runs after that
	}{
		{"one row, five good runs", 1, 5, steady, 24, 31},
		{"one row, a month of good runs", 1, 30, steady, 5, 31},
		{"three rows, two good runs", 3, 2, steady, 7, 31},
		{"three rows", 3, 20, steady, 2, 31},
		{"thirty rows", 30, 5, steady, 1, 31},
		{"other inputs each day", 100, 6, uneven, 1, 31},
	} {
		t.Run(c.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(9, 10))
			for range 2 {
				all := sequence(rnd, c.whole+c.within+c.most, c.rows, brokenFrom(c.whole, c.of))
				first := slices.IndexFunc(all[c.whole:], func(v Verdict) bool { return slices.Contains(Names(Alarms(v.Findings)), "f00") })
				if first < 0 || first >= c.within {
					t.Fatalf("it is drift in run %d after the break, %d at most", first+1, c.within)
				}
				for i, v := range all[c.whole+first:] { // drift does not become normal by lasting
					if !slices.Contains(Names(Alarms(v.Findings)), "f00") {
						t.Fatalf("it is %s in run %d after that", v.State, i)
					}
				}
			}
		})
	}
}

// falling fills the first field in all rows, then in fewer by the same share in each run, down to 40 %.
func falling(by float64, of shares) shares {
	return func(rnd *rand.Rand, i int) []float64 {
		out := of(rnd, i)
		out[0] = max(1-by*float64(i), 0.4)
		return out
	}
}

func TestASlowFallDoesNotBecomeNormal(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int
		by    float64
		of    shares
		least float64 // drift is found before the share is below this
		stays float64 // below this share, every run is drift
	}{
		{"thirty rows", 30, 0.01, steady, 0.6, 0.45},
		{"a hundred rows", 100, 0.01, steady, 0.75, 0.65},
		{"four hundred rows", 400, 0.01, steady, 0.84, 0.8},
		{"four hundred rows, slower", 400, 0.005, uneven, 0.9, 0.8},
		{"other inputs each day", 100, 0.01, uneven, 0.7, 0.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(11, 12))
			all := sequence(rnd, int(0.7/c.by), c.rows, falling(c.by, c.of))
			first := slices.IndexFunc(all, func(v Verdict) bool { return slices.Contains(Names(Alarms(v.Findings)), "f00") })
			if first < 0 || 1-c.by*float64(first) < c.least {
				t.Fatalf("it is drift in run %d of %d", first+1, len(all))
			}
			lower := int((1 - c.stays) / c.by)
			for i, v := range all[lower:] {
				if !slices.Contains(Names(Alarms(v.Findings)), "f00") {
					t.Fatalf("drift in run %d, and %s in run %d", first+1, v.State, lower+i+1)
				}
			}
		})
	}
}

// Some runs have a field in all rows and others in none, such as a category's field. The first run without it looks
// like a loss. Once that is accepted, such runs are normal.
func TestAFieldThatSomeRunsLackIsLostOnce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	some := func(rnd *rand.Rand, i int) []float64 {
		out := steady(rnd, i)[:6]
		if out[0] = 1; i == 6 || i > 6 && rnd.IntN(3) == 0 {
			out[0] = 0
		}
		return out
	}
	n, said := 0, 0
	for range 5 {
		var earlier []Run
		for i := range 40 {
			r := drawnRun(rnd, 40, some(rnd, i))
			for f := range r.Fields {
				r.Fields[f].Present = r.Fields[f].Filled
			}
			r.Ref = fmt.Sprintf("job-%d", i)
			v := Judge(r, earlier, nil)
			r.State, r.Findings = v.State, v.Findings
			if i == 6 && (v.State != Drift || v.Findings[0].Word != Lost) {
				t.Fatalf("the first run without it: %s", v.State)
			}
			if v.State == Drift { // the operator accepts it
				r.State, r.Findings, earlier = Good, nil, nil
			}
			if i > 6 {
				if n++; v.State == Drift {
					said++
				}
			}
			earlier = append([]Run{r}, earlier...)
		}
	}
	if float64(said) > 0.03*float64(n) {
		t.Errorf("%d of %d runs are called drift after that", said, n)
	}
}

func TestARunThatHasRecoveredIsNoDrift(t *testing.T) {
	const whole, broken = `{"name":"n%d","price":1%d}`, `{"name":"n%d","price":null}`
	earlier := good(t, 12, many(5, whole))
	judged := func(text string) Verdict {
		r := runOf(t, text, "ndjson", nil)
		v := Judge(r, earlier, nil)
		r.State, r.Findings = v.State, v.Findings
		earlier = append([]Run{r}, earlier...)
		return v
	}
	for range 4 {
		judged(many(5, broken))
	}
	if v := judged(many(5, broken)); v.State != Drift {
		t.Errorf("broken: %s", said(v))
	}
	for range 3 {
		if v := judged(many(5, whole)); v.State != Good {
			t.Errorf("whole again: %s", said(v))
		}
	}
}
