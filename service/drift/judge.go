package drift

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

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
// against a contract, which may be nil. The earlier ones have their states.
func Judge(r Run, earlier []Run, c *Contract) Verdict {
	if r.Useful == 0 {
		v := Verdict{State: Empty, Contract: c != nil}
		if c != nil && c.MinRows > 0 {
			v.State, v.Findings = Drift, c.rows(r)
		}
		return v
	}
	j := judge{run: r, history: newHistory(r, earlier)}
	v := Verdict{Contract: c != nil}
	if len(j.good) > 0 {
		j.before = j.base(1)
		v.Against, v.AgainstRows = len(j.good[0]), j.before.Useful
	}
	j.required()
	if len(j.good) > 0 {
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
	case len(j.good) == 0:
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

type judge struct {
	history

	run      Run
	before   Run // the good runs before it as one
	findings []Finding
}

// inGood names the good runs that something is said of.
func inGood(n int) string {
	if n == 1 {
		return "in the good run before"
	}
	return fmt.Sprintf("in the last %d good runs", n)
}

func (j *judge) add(w Word, field, format string, args ...any) {
	j.findings = append(j.findings, Finding{Field: field, Word: w, Text: fmt.Sprintf(format, args...)})
}

// fell adds what is said of a share that has fallen.
func (j *judge) fell(f fall, w Word, field, format string, args ...any) {
	j.add(w, field, format, args...)
	j.findings[len(j.findings)-1].Runs = f.runs
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
		if before, ok := j.before.Field(f.Path); ok {
			text += "; it matched " + inGood(len(j.good[0]))
			if before.Filled < before.Present {
				text += fmt.Sprintf(", in %d of %d", before.Filled, before.Present)
			}
		}
		j.add(Missing, f.Path, "%s", text)
	}
}

// fields compares every field of the run and of the good ones.
func (j *judge) fields() {
	oldest := j.base(len(j.good))
	paths := map[string]bool{}
	for _, r := range []Run{j.run, j.before, oldest} {
		for _, f := range r.Fields {
			paths[f.Path] = true
		}
	}
	alpha := falseAlarm / float64(testsAField*max(len(paths), 1))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if mapped(path, j.run, oldest) || !j.unseen(path) && j.gone(path, alpha) {
			continue
		}
		now, _ := j.run.Field(path)
		was, _ := oldest.Field(path)
		if now.Filled == 0 || was.Filled == 0 {
			continue
		}
		j.flat(now, alpha)
		if !j.types(now, was.Type(), alpha) && now.Type() == was.Type() {
			j.scale(path, was, alpha)
		}
	}
}

// unseen reports whether the run does not tell in how many rows a field is.
func (j *judge) unseen(path string) bool {
	f, _ := j.run.Field(path)
	return j.run.Form == FormPage || j.run.Beyond && (f.Present == 0 || nested(path))
}

// nested reports whether a path is that of a member of another field.
func nested(path string) bool {
	return strings.Contains(strings.NewReplacer(`\\`, "", `\.`, "").Replace(path), ".")
}

// mapped reports whether a field is a member of one that is Map in any of the runs.
func mapped(path string, runs ...Run) bool {
	for i, c := range path {
		if c != '.' && c != '[' {
			continue
		}
		for _, r := range runs {
			if f, _ := r.Field(path[:i]); f.Map {
				return true
			}
		}
	}
	return false
}

// gone finds fields that are there, or filled, in fewer rows, and new ones.
func (j *judge) gone(path string, alpha float64) bool {
	field := func(r Run) Field { f, _ := r.Field(path); return f }
	filled := func(r Run) share { return share{field(r).Filled, r.Useful} }
	now, before := field(j.run), field(j.before)
	if f := j.fallen(func(r Run) share { return share{field(r).Present, r.Useful} }, math.MaxInt, alpha); f.found {
		if f.now.a > 0 {
			j.fell(f, Missing, path, "%s is in %d of %s (%s); %s %s", path, f.now.a, f.rows(), percent(f.now), percent(f.before), inGood(f.good))
			return true
		}
		j.fell(f, Lost, path, "%s is in none of %s; it was filled in %s %s", path, f.rows(), percent(share{field(j.base(f.runs)).Filled, f.before.n}), inGood(f.good))
		return true
	}
	f := j.fallen(filled, math.MaxInt, alpha)
	switch {
	case f.found && f.now.a == 0:
		j.fell(f, Emptied, path, "%s is there and empty in each of %s; it was filled in %s %s", path, f.rows(), percent(f.before), inGood(f.good))
		return true
	case f.found:
		j.fell(f, Coverage, path, "%s filled in %d of %s (%s); %s %s", path, f.now.a, f.rows(), percent(f.now), percent(f.before), inGood(f.good))
		return true
	case before.Present == 0:
		if now.Filled > 0 && !j.before.Beyond {
			j.add(New, path, "%s is new: filled in %d of %s, and in no row %s", path, now.Filled, rowsText(j.run.Useful), inGood(len(j.good[0])))
		}
	case !f.told && share{before.Filled, j.before.Useful}.of()-filled(j.run).of() >= leastDrop:
		j.add(TooFew, path, "%s filled in %d of %s, %s %s: too few rows to tell", path, now.Filled, rowsText(j.run.Useful), percent(share{before.Filled, j.before.Useful}), inGood(len(j.good[0])))
	}
	return false
}

// rows are those that were looked at.
func (f fall) rows() string {
	if f.runs == 1 {
		return rowsText(f.now.n)
	}
	return fmt.Sprintf("%s of the last %d runs together", rowsText(f.now.n), f.runs)
}

// flat finds a field that has the same value everywhere, and had not in any good run before.
func (j *judge) flat(now Field, alpha float64) {
	if now.Distinct != 1 {
		return
	}
	for _, i := range j.good[0] {
		if f, _ := j.runs[i].Field(now.Path); f.Filled > 0 && f.Distinct == 1 {
			return
		}
	}
	// The rows with another value than the most frequent one: none now.
	others := func(r Run) share {
		f, _ := r.Field(now.Path)
		return share{f.Filled - f.Top, f.Filled}
	}
	if f := j.fallen(others, 1, alpha); f.found {
		before, _ := j.before.Field(now.Path)
		j.fell(f, Flat, now.Path, "%s has the same value in all of %s; there were %s different ones %s", now.Path, f.rows(), distinct(before.Distinct), inGood(f.good))
	}
}

// types finds a field whose values are of other types than the usual one.
func (j *judge) types(now Field, usual string, alpha float64) bool {
	f := j.fallen(func(r Run) share {
		f, _ := r.Field(now.Path)
		return share{f.Types[usual], f.Filled}
	}, math.MaxInt, alpha)
	if !f.found {
		return false
	}
	also := ""
	if t := now.Type(); t != usual {
		also = ", and mostly " + t
	}
	j.fell(f, TypeChanged, now.Path, "%s is %s in %d of %s (%s)%s; %s %s", now.Path, usual, f.now.a, f.rows(), percent(f.now), also, percent(f.before), inGood(f.good))
	return true
}

// scale finds numbers, texts and lists of another size: by Mood's test, which holds the shares above
// and below the old median against each other.
func (j *judge) scale(path string, was Field, alpha float64) {
	what, sizes := "median", func(f Field) Histogram { return f.Numbers }
	if was.Type() != TypeNumber {
		what, sizes = "median length", func(f Field) Histogram { return f.Lengths }
	}
	old, ok := sizes(was).median()
	if !ok {
		return
	}
	of := func(r Run) Histogram { f, _ := r.Field(path); return sizes(f) }
	for _, lower := range []bool{true, false} {
		// The rows that are not on this side of the old median.
		f := j.fallen(func(r Run) share {
			h := of(r)
			if lower {
				return share{h.count() - h.upTo(old-1), h.count()}
			}
			return share{h.upTo(old), h.count()}
		}, math.MaxInt, alpha)
		if !f.found {
			continue
		}
		all := Histogram{}
		for _, r := range j.runs[:f.runs] {
			all.add(of(r))
		}
		before, _ := j.base(f.runs).Field(path)
		is, _ := all.median()
		then, _ := sizes(before).median()
		if (is < then) == lower && apart(value(is), value(then)) {
			j.fell(f, ScaleChanged, path, "%s has a %s of about %s in %s; about %s %s", path, what, number(value(is)), f.rows(), number(value(then)), inGood(f.good))
		}
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
		out.Beyond = out.Beyond || r.Beyond
		for _, f := range r.Fields {
			sum := all[f.Path]
			if sum == nil {
				sum = &Field{Path: f.Path, Types: map[string]int{}, Numbers: Histogram{}, Lengths: Histogram{}}
				all[f.Path] = sum
			}
			sum.Present, sum.Filled, sum.Top = sum.Present+f.Present, sum.Filled+f.Filled, sum.Top+f.Top
			sum.Distinct = max(sum.Distinct, f.Distinct)
			sum.Map = sum.Map || f.Map
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

// percent is a share as it is said.
func percent(s share) string { return Percent(s.of()) }

// number is a number as a bucket knows it, in two digits.
func number(x float64) string {
	if x == 0 {
		return "0"
	}
	last := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-1)
	return strconv.FormatFloat(math.Round(x/last)*last, 'g', 12, 64)
}
