package drift

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/rows"
)

// runOf is the profile of rows of JSON, or of CSV below a header.
func runOf(t testing.TB, text, format string, c *Contract) Run {
	t.Helper()
	p := NewProfiler(c)
	noerr.Must(t, rows.EachRow(strings.NewReader(text), format, func(r rows.Row) error {
		p.Row(r)
		return nil
	}))
	return p.Run(Subject{"p", Dataset, "gd_x"}, "job-9", time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
}

// many repeats a row n times; %d in it is its number.
func many(n int, row string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(row, "%d", fmt.Sprint(i)) + "\n")
	}
	return b.String()
}

// good returns good runs with the same rows, newest first.
func good(t testing.TB, n int, text string) []Run {
	t.Helper()
	var out []Run
	for i := range n {
		r := runOf(t, text, "ndjson", nil)
		r.State, r.Ref = Good, fmt.Sprintf("job-%d", n-i)
		out = append(out, r)
	}
	return out
}

// said returns the findings of a verdict as text.
func said(v Verdict) string {
	lines := []string{string(v.State)}
	for _, f := range v.Findings {
		lines = append(lines, string(f.Word)+": "+f.Text)
	}
	return strings.Join(lines, "\n")
}

func TestEachKindOfDriftIsOneSentence(t *testing.T) {
	const row = `{"name":"n%d","price":1%d.5,"stock":true,"text":"a text of some length"}`
	base := good(t, 5, many(100, row))
	for name, c := range map[string]struct{ rows, want string }{
		"nothing": {many(100, row), "ok"},
		"lost": {
			many(40, `{"name":"n%d","stock":true,"text":"a text of some length"}`),
			"drift\nlost: price is in none of 40 rows; it was filled in 100 % in the last 5 good runs",
		},
		"missing": {
			many(12, row) + many(88, `{"name":"m%d","stock":true,"text":"a text of some length"}`),
			"drift\nmissing: price is in 12 of 100 rows (12 %); 100 % in the last 5 good runs",
		},
		"emptied": {
			many(50, `{"name":"n%d","price":1%d.5,"stock":null,"text":"a text of some length"}`),
			"drift\nemptied: stock is there and empty in each of 50 rows; it was filled in 100 % in the last 5 good runs",
		},
		"coverage": {
			many(12, row) + many(388, `{"name":"m%d","price":null,"stock":true,"text":"a text of some length"}`),
			"drift\ncoverage: price filled in 12 of 400 rows (3 %); 100 % in the last 5 good runs",
		},
		"flat": {
			many(60, `{"name":"same","price":1%d.5,"stock":true,"text":"a text of some length"}`),
			"drift\nflat: name has the same value in all of 60 rows; there were 100 different ones in the last 5 good runs",
		},
		"type changed": {
			many(60, `{"name":"n%d","price":"1%d.5","stock":true,"text":"a text of some length"}`),
			"drift\ntype changed: price is number in 0 of 60 rows (0 %), and mostly text; 100 % in the last 5 good runs",
		},
		"new": {
			many(60, `{"name":"n%d","price":1%d.5,"stock":true,"text":"a text of some length","more":1}`),
			"ok\nnew: more is new: filled in 60 of 60 rows, and in no row in the last 5 good runs",
		},
		"too few": {`{"name":"n1","stock":true,"text":"a text of some length"}`, "few\ntoo few rows: price filled in 0 of 1 row, 100 % in the last 5 good runs: too few rows to tell"},
		"empty":   {many(3, `{"error":"dead"}`), "empty"},
	} {
		if got := said(Judge(runOf(t, c.rows, "ndjson", nil), base, nil)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	if v := Judge(runOf(t, many(3, row), "ndjson", nil), nil, nil); v.State != First || v.Judged() {
		t.Errorf("a first run: %+v", v)
	}
	if v := Judge(runOf(t, "name\nx\n", "csv", nil), base, nil); v.State != First || v.Against != 0 {
		t.Errorf("CSV was held against JSON: %+v", v)
	}
}

func TestDriftIsDatedFromItsFirstRun(t *testing.T) {
	const bad = `{"name":"n%d","price":null}`
	earlier := good(t, 3, many(50, `{"name":"n%d","price":1}`))
	for i, want := range []string{"job-10", "job-10", "job-10"} {
		r := runOf(t, many(50, bad), "ndjson", nil)
		r.Ref = fmt.Sprintf("job-%d", 10+i)
		v := Judge(r, earlier, nil)
		if v.State != Drift || v.Findings[0].Since != want || strings.HasSuffix(v.Findings[0].Text, "; first seen at job-10") != (i > 0) {
			t.Errorf("run %d: %s, since %s", i, said(v), v.Findings[0].Since)
		}
		r.State, r.Findings = v.State, v.Findings
		earlier = append([]Run{r}, earlier...)
		if i == 1 { // a run without rows says nothing about fields
			earlier = append([]Run{{State: Empty, Form: FormJSON}}, earlier...)
		}
	}
}

func TestSmallRunsAreLookedAtTogether(t *testing.T) {
	earlier := good(t, 5, many(4, `{"name":"n%d","price":1%d}`))
	states := []State{}
	for i := range 4 {
		r := runOf(t, fmt.Sprintf(`{"name":"m%d","price":null}`, i), "ndjson", nil)
		v := Judge(r, earlier, nil)
		states = append(states, v.State)
		r.State, r.Findings = v.State, v.Findings
		earlier = append([]Run{r}, earlier...)
		if v.State == Drift && said(v) != "drift\nemptied: price is there and empty in each of 4 rows of the last 4 runs together; it was filled in 100 % in the last 5 good runs" {
			t.Error(said(v))
		}
	}
	if !slices.Equal(states, []State{FewRows, FewRows, FewRows, Drift}) {
		t.Errorf("%q", states)
	}
}

// exact computes P(X <= a) in whole numbers.
func exact(a, n, b, m int) float64 {
	have := a + b
	sum := new(big.Int)
	for k := max(0, have-m); k <= a; k++ {
		sum.Add(sum, new(big.Int).Mul(new(big.Int).Binomial(int64(n), int64(k)), new(big.Int).Binomial(int64(m), int64(have-k))))
	}
	p, _ := new(big.Rat).SetFrac(sum, new(big.Int).Binomial(int64(n+m), int64(have))).Float64()
	return p
}

func TestTheChanceIsFishers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n, m := 1+rnd.IntN(60), 1+rnd.IntN(60)
		a, b := rnd.IntN(n+1), rnd.IntN(m+1)
		want := exact(a, n, b, m)
		if a == 0 && b == m { // the bound is the highest probability over all shares p
			for i := range 1000 {
				p := float64(i) / 1000
				if got, this := chance(a, n, b, m), math.Pow(p, float64(m))*math.Pow(1-p, float64(n)); got < this-1e-12 || got > want+1e-12 {
					t.Fatalf("none of %d, all of %d: %v, and %v for a share of %v", n, m, got, this, p)
				}
			}
			continue
		}
		if got := chance(a, n, b, m); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%d of %d, %d of %d: %v, want %v", a, n, b, m, got, want)
		}
	}
	if p := chance(900_000, 1_000_000, 4_950_000, 5_000_000); p > 1e-100 {
		t.Errorf("millions of rows: %v", p)
	}
	if p := chance(0, 0, 1, 1); p != 1 {
		t.Errorf("no rows: %v", p)
	}
}

// drawnRun is a run of n rows. Each field is filled with its probability, and its values vary.
func drawnRun(rnd *rand.Rand, n int, filled []float64) Run {
	r := Run{Subject: Subject{"p", Dataset, "gd_x"}, Form: FormJSON, Returned: n, Useful: n, State: Good}
	for i, p := range filled {
		f := Field{Path: fmt.Sprintf("f%02d", i), Present: n, Types: map[string]int{}}
		values := map[int]int{}
		for range n {
			if rnd.Float64() < p {
				f.Filled++
				kind := typeNumber
				if rnd.Float64() < 0.1 {
					kind = typeText
				}
				f.Types[kind]++
				values[rnd.IntN(3)]++
			}
		}
		f.Distinct = len(values)
		for _, k := range values {
			f.Top = max(f.Top, k)
		}
		r.Fields = append(r.Fields, f)
	}
	return r
}

func TestDriftIsFoundAtTheStatedSizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		n           int
		before, now float64
	}{{10, 1, 0}, {20, 0.95, 0.1}, {100, 0.98, 0.7}, {400, 0.98, 0.85}, {400, 0.6, 0.35}} {
		missed := 0
		for range 20 {
			filled := []float64{c.before, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9}
			var earlier []Run
			for range goodRuns {
				earlier = append(earlier, drawnRun(rnd, c.n, filled))
			}
			filled[0] = c.now
			if !slices.Contains(Names(Alarms(Judge(drawnRun(rnd, c.n, filled), earlier, nil).Findings)), "f00") {
				missed++
			}
		}
		if missed > 0 {
			t.Errorf("%d rows, from %v to %v: missed %d of 20", c.n, c.before, c.now, missed)
		}
	}
}
