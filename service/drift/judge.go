package drift

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// GoodRuns is how many good runs a run is held against.
const GoodRuns = 5

// Verdict is what a run came to.
type Verdict struct {
	State    State
	Findings []Finding // drift first, then by field
	// Against is how many good runs it was held against, AgainstRows their useful rows.
	Against, AgainstRows int
	// Contract says that a contract was held against it, too.
	Contract bool
	// Accepted says that an operator accepted the run itself.
	Accepted bool
}

// Judged reports whether the run was held against anything at all.
func (v Verdict) Judged() bool {
	return v.State != Empty && v.State != Few && (v.Against > 0 || v.Contract || v.Accepted)
}

// Judge holds a run against the good ones among the earlier runs of its collector, newest first, and
// against a contract, which may be nil. The earlier ones have their states. Runs that were too small
// to tell are looked at together with those just before them that were, too.
func Judge(r Run, earlier []Run, c *Contract) Verdict {
	if r.Useful == 0 {
		v := Verdict{State: Empty, Contract: c != nil}
		if c != nil && c.MinRows > 0 {
			v.State, v.Findings = Drift, c.rows(r)
		}
		return v
	}
	var good []Run
	for _, e := range earlier {
		if e.State.Compared() && e.Form == r.Form && len(good) < GoodRuns {
			good = append(good, e)
		}
	}
	v := Verdict{Against: len(good), Contract: c != nil}
	j := judge{run: r, good: good, base: pool(good), from: fmt.Sprintf("in the last %d good runs", len(good))}
	if len(good) == 1 {
		j.from = "in the good run before"
	}
	v.AgainstRows = j.base.Useful
	j.together = together(r, earlier)
	j.required()
	if len(good) > 0 && r.Form != FormPage {
		j.fields()
	}
	if c != nil {
		j.findings = append(j.findings, c.check(r, j.found)...)
	}
	v.Findings = j.sorted()
	first(v.Findings, r, earlier)
	switch {
	case len(Alarms(v.Findings)) > 0:
		v.State = Drift
	case slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Word == TooFew }):
		v.State = Few
	case len(good) == 0:
		v.State = First
	default:
		v.State = Good
	}
	return v
}

// first says since when a field drifts: since the run before, if that had drift of it, too.
func first(found []Finding, r Run, earlier []Run) {
	i := slices.IndexFunc(earlier, func(e Run) bool { return e.State == Drift || e.State.Compared() })
	for n, f := range found {
		if !f.Word.Alarm() {
			continue
		}
		found[n].Since = r.Ref
		if i < 0 {
			continue
		}
		same := slices.IndexFunc(earlier[i].Findings, func(o Finding) bool { return o.Field == f.Field && o.Word.Alarm() && o.Since != "" })
		if same >= 0 && earlier[i].State == Drift {
			found[n].Since = earlier[i].Findings[same].Since
		}
	}
	for n, f := range found {
		if f.Since != "" && f.Since != r.Ref {
			found[n].Text += "; first seen at " + f.Since
		}
	}
}

// together is a run joined with those just before it that were too small to tell.
func together(r Run, earlier []Run) []Run {
	out := []Run{r}
	for _, e := range earlier {
		if e.State != Few || len(out) > GoodRuns {
			break
		}
		if e.Form == r.Form {
			out = append(out, e)
		}
	}
	return out
}

type judge struct {
	run      Run
	together []Run // the run, and the small ones before it
	good     []Run
	base     Run // the good runs as one
	from     string
	findings []Finding
}

func (j *judge) add(w Word, field, format string, args ...any) {
	j.findings = append(j.findings, Finding{Field: field, Word: w, Text: fmt.Sprintf(format, args...)})
}

// found reports whether something was said of a field already.
func (j *judge) found(field string) bool {
	return slices.ContainsFunc(j.findings, func(f Finding) bool { return f.Field == field && f.Word.Alarm() })
}

// sorted are the findings, drift first, each once.
func (j *judge) sorted() []Finding {
	slices.SortStableFunc(j.findings, func(a, b Finding) int {
		if a.Word.Alarm() != b.Word.Alarm() {
			if a.Word.Alarm() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Field, b.Field)
	})
	return j.findings
}

// required finds what a fetch asked for and did not find: that needs no earlier run.
func (j *judge) required() {
	if j.run.Form != FormPage {
		return
	}
	for _, f := range j.run.Fields {
		if f.Filled > 0 {
			continue
		}
		text := fmt.Sprintf("%s matched nothing, and the fetch requires it", f.Path)
		if before, ok := j.base.Field(f.Path); ok && len(j.good) > 0 {
			text += fmt.Sprintf("; it matched %s", j.from)
			if before.Filled < before.Present {
				text += fmt.Sprintf(", in %d of %d", before.Filled, before.Present)
			}
		}
		j.add(Missing, f.Path, "%s", text)
	}
}

// fields compares every field of the run and of the good ones.
func (j *judge) fields() {
	paths := map[string]bool{}
	for _, r := range []Run{j.run, j.base} {
		for _, f := range r.Fields {
			paths[f.Path] = true
		}
	}
	alpha := falseAlarm / float64(testsAField*max(len(paths), 1))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if j.gone(path, alpha) {
			continue
		}
		now, _ := j.run.Field(path)
		before, _ := j.base.Field(path)
		if now.Filled == 0 || before.Filled == 0 {
			continue
		}
		j.flat(now, before, alpha)
		j.types(now, before, alpha)
		if now.Type() == before.Type() {
			j.scale(now, before, alpha)
		}
	}
}

// gone finds fields that are there, or filled, in fewer rows, and new ones.
func (j *judge) gone(path string, alpha float64) bool {
	before, known := j.base.Field(path)
	m := j.base.Useful
	for _, runs := range slices.Compact([]int{1, len(j.together)}) {
		now, n := Field{Path: path}, 0
		for _, r := range j.together[:runs] {
			f, _ := r.Field(path)
			now.Present, now.Filled, n = now.Present+f.Present, now.Filled+f.Filled, n+r.Useful
		}
		in := ""
		if runs > 1 {
			in = fmt.Sprintf(" of the last %d runs together", runs)
		}
		present := drops(now.Present, n, before.Present, m) && chance(now.Present, n, before.Present, m) < alpha
		filled := drops(now.Filled, n, before.Filled, m) && chance(now.Filled, n, before.Filled, m) < alpha
		was := fmt.Sprintf("%s %s", percent(before.Filled, m), j.from)
		switch {
		case present && now.Present == 0:
			j.add(Lost, path, "%s is in none of %s%s; it was filled in %s", path, rowsText(n), in, was)
		case present:
			j.add(Missing, path, "%s is in %d of %s%s (%s); %s %s", path, now.Present, rowsText(n), in, percent(now.Present, n), percent(before.Present, m), j.from)
		case filled && now.Filled == 0:
			j.add(Emptied, path, "%s is there and empty in each of %s%s; it was filled in %s", path, rowsText(n), in, was)
		case filled:
			j.add(Coverage, path, "%s filled in %d of %s%s (%s); %s", path, now.Filled, rowsText(n), in, percent(now.Filled, n), was)
		default:
			continue
		}
		return true
	}
	now, _ := j.run.Field(path)
	n := j.run.Useful
	switch {
	case !known || before.Present == 0:
		if now.Filled > 0 {
			j.add(New, path, "%s is new: filled in %d of %s, and in no row %s", path, now.Filled, rowsText(n), j.from)
		}
	case drops(now.Filled, n, before.Filled, m) && chance(0, n, before.Filled, m) >= alpha:
		j.add(TooFew, path, "%s filled in %d of %s, %s %s: too few rows to tell", path, now.Filled, rowsText(n), percent(before.Filled, m), j.from)
	}
	return false
}

// drops reports whether the share a of n is lower than b of m by enough to be worth a word.
func drops(a, n, b, m int) bool {
	return n > 0 && m > 0 && float64(b)/float64(m)-float64(a)/float64(n) >= leastDrop
}

// flat finds a field that has the same value everywhere, and had not before.
func (j *judge) flat(now, before Field, alpha float64) {
	if now.Distinct != 1 || slices.ContainsFunc(j.good, func(r Run) bool {
		f, _ := r.Field(now.Path)
		return f.Filled > 0 && f.Distinct == 1
	}) {
		return
	}
	// The rows with another value than the most frequent one: none now.
	if others := before.Filled - before.Top; drops(0, now.Filled, others, before.Filled) && chance(0, now.Filled, others, before.Filled) < alpha {
		j.add(Flat, now.Path, "%s has the same value in all of %s; there were %s different ones %s", now.Path, rowsText(now.Filled), distinct(before.Distinct), j.from)
	}
}

// types finds a field whose values are of other types.
func (j *judge) types(now, before Field, alpha float64) {
	usual := before.Type()
	a, b := now.Types[usual], before.Types[usual]
	if drops(a, now.Filled, b, before.Filled) && chance(a, now.Filled, b, before.Filled) < alpha {
		also := ""
		if t := now.Type(); t != usual {
			also = ", and mostly " + t
		}
		j.add(TypeChanged, now.Path, "%s is %s in %d of %s (%s)%s; %s %s", now.Path, usual, a, rowsText(now.Filled), percent(a, now.Filled), also, percent(b, before.Filled), j.from)
	}
}

// scale finds numbers, texts and lists of another size: by Mood's test, which holds the shares above
// and below the old median against each other.
func (j *judge) scale(now, before Field, alpha float64) {
	what, a, b := "median", now.Numbers, before.Numbers
	if now.Type() != TypeNumber {
		what, a, b = "median length", now.Lengths, before.Lengths
	}
	was, ok := b.median()
	is, some := a.median()
	if !ok || !some {
		return
	}
	n, m := a.count(), b.count()
	above, wasAbove := n-a.upTo(was), m-b.upTo(was)
	below, wasBelow := a.upTo(was-1), b.upTo(was-1)
	lower := is < was && drops(n-below, n, m-wasBelow, m) && chance(n-below, n, m-wasBelow, m) < alpha
	higher := is > was && drops(n-above, n, m-wasAbove, m) && chance(n-above, n, m-wasAbove, m) < alpha
	if (lower || higher) && apart(value(is), value(was)) {
		j.add(ScaleChanged, now.Path, "%s has a %s of about %s in %s; about %s %s", now.Path, what, number(value(is)), rowsText(n), number(value(was)), j.from)
	}
}

// apart reports whether two sizes differ by leastFactor, or in their sign.
func apart(a, b float64) bool {
	if a == 0 || b == 0 || math.Signbit(a) != math.Signbit(b) {
		return a != b && max(math.Abs(a), math.Abs(b)) >= leastFactor
	}
	return math.Abs(math.Log(a/b)) >= math.Log(leastFactor)
}

// pool is several runs as one.
func pool(runs []Run) Run {
	if len(runs) == 0 {
		return Run{}
	}
	all := map[string]*Field{}
	out := Run{Form: runs[0].Form}
	for _, r := range runs {
		out.Useful += r.Useful
		for _, f := range r.Fields {
			sum := all[f.Path]
			if sum == nil {
				sum = &Field{Path: f.Path, Types: map[string]int{}, Numbers: Histogram{}, Lengths: Histogram{}}
				all[f.Path] = sum
			}
			sum.Present, sum.Filled, sum.Top = sum.Present+f.Present, sum.Filled+f.Filled, sum.Top+f.Top
			sum.Distinct = max(sum.Distinct, f.Distinct)
			for t, k := range f.Types {
				sum.Types[t] += k
			}
			sum.Numbers.add(f.Numbers)
			sum.Lengths.add(f.Lengths)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		out.Fields = append(out.Fields, *all[path])
	}
	return out
}

func rowsText(n int) string {
	if n == 1 {
		return "1 row"
	}
	return strconv.Itoa(n) + " rows"
}

func distinct(n int) string {
	if n >= MaxDistinct {
		return "at least " + strconv.Itoa(MaxDistinct)
	}
	return strconv.Itoa(n)
}

// percent is a share as it is said: never 0 or 100 for what is only near it.
func percent(a, n int) string {
	switch p := float64(a) / float64(max(n, 1)) * 100; {
	case a > 0 && p < 1:
		return "<1 %"
	case a < n && p > 99:
		return ">99 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// number is a number as a bucket knows it, in two digits.
func number(x float64) string {
	if x == 0 {
		return "0"
	}
	last := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-1)
	return strconv.FormatFloat(math.Round(x/last)*last, 'g', 12, 64)
}
