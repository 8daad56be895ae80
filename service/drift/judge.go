package drift

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"zonedeck/model"
)

// Verdict is the judgment on a run.
type Verdict struct {
	State    State
	Findings []Finding // drift first, then by field
	// Against is how many good runs it was compared with: for a page, the largest number that were good for one of its
	// fields.
	Against int
	// Since is the last good run; empty for a page, and without one.
	Since string
	// Contract says that it was also compared with a contract.
	Contract bool
	// Accepted says that an operator accepted the run itself.
	Accepted bool
	// First says what a run with nothing to compare it with is, such as "the first run"; else empty.
	First string
}

// Judged reports whether the run was compared with anything at all.
func (v Verdict) Judged() bool {
	return v.State != Empty && v.State != FewRows && (v.Against > 0 || v.Contract || v.Accepted)
}

// Judge compares a run with the good ones of its collector's earlier runs, and with a contract, which may be
// nil. The earlier runs come newest first, with their states.
func Judge(r Run, earlier []Run, c *Contract) Verdict {
	if r.Useful == 0 {
		return judgeEmpty(r, earlier, c)
	}
	j := judge{run: r, history: newHistory(r, earlier, "")}
	v := Verdict{Contract: c != nil}
	switch {
	case r.Form == FormPage:
		v.Against = j.page(earlier)
	case len(j.last.good) > 0:
		j.before = j.pooled(j.last, 1)
		v.Against, v.Since = len(j.last.good[0]), j.runs[j.last.good[0][0]].Ref
		j.fields()
	}
	if c != nil {
		j.findings = append(j.findings, c.check(r, j.flagged)...)
	}
	v.Findings = j.sorted()
	first(v.Findings, r, earlier)
	switch {
	case len(Alarms(v.Findings)) > 0:
		v.State = Drift
	case slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Word == TooFew }):
		v.State = FewRows
	case v.Against == 0:
		v.State, v.First = First, firstOf(r, earlier)
	default:
		v.State = Good
	}
	return v
}

// judgeEmpty judges a run without a useful row. Its rows without data show which fields were emptied.
func judgeEmpty(r Run, earlier []Run, c *Contract) Verdict {
	v := Verdict{State: Empty, Contract: c != nil}
	if n := r.profiled(); n > 0 && r.Form != FormPage {
		rows := r
		rows.Useful = n
		if fields := Judge(rows, earlier, nil); fields.State == Drift {
			v = fields
			v.Contract = c != nil
		}
	}
	if c != nil && c.MinRows > 0 {
		v.State, v.Findings = Drift, append(c.rows(r), v.Findings...)
	}
	return v
}

// firstOf says what a run is the first of, if it has no good run to be compared with.
func firstOf(r Run, earlier []Run) string {
	useful := slices.DeleteFunc(slices.Clone(earlier), func(e Run) bool { return e.Useful == 0 })
	alike := func(e Run) bool {
		return e.Form == r.Form && (r.Form != FormPage || slices.ContainsFunc(r.Fields, func(f Field) bool { return e.requested(f.Path) }))
	}
	switch {
	case len(useful) == 0:
		return "the first run"
	case slices.ContainsFunc(useful, alike):
		return "the first good run"
	case r.Form == FormPage:
		return "the first run that asked for its fields"
	default:
		return "the first run as " + strings.ToUpper(string(r.Form))
	}
}

// first sets since when a field drifts. It takes that from the last judged run, if the field drifted there, too; for a
// page, from the last run that required the field.
func first(found []Finding, r Run, earlier []Run) {
	for n, f := range found {
		if !f.Word.Alarm() {
			continue
		}
		found[n].Since = r.Ref
		i := slices.IndexFunc(earlier, func(e Run) bool {
			return (e.State == Drift || e.State.Compared()) && (r.Form != FormPage || !r.requested(f.Field) || e.requested(f.Field))
		})
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
	before   Run // the last good runs, pooled
	findings []Finding
}

// inGood names the good runs of a base that a group of so many runs is compared with.
func (j *judge) inGood(b base, together int) string {
	at := b.good[together-1]
	whole := !j.omitted && !slices.ContainsFunc(at, func(i int) bool { return j.runs[i].State == Drift })
	switch {
	case !whole && len(at) == 1:
		return "in the last run that was good for it"
	case !whole && b.first:
		return fmt.Sprintf("in the first %d runs that were good for it, %s to %s", len(at), j.runs[at[0]].Ref, j.runs[at[len(at)-1]].Ref)
	case !whole:
		return fmt.Sprintf("in the last %d runs that were good for it", len(at))
	case b.first:
		return fmt.Sprintf("in the first %d good runs, %s to %s", len(at), j.runs[at[0]].Ref, j.runs[at[len(at)-1]].Ref)
	case len(at) == 1:
		return "in the good run before"
	default:
		return fmt.Sprintf("in the last %d good runs", len(at))
	}
}

func (j *judge) add(w Change, field, format string, args ...any) {
	j.findings = append(j.findings, Finding{Field: field, Word: w, Text: fmt.Sprintf(format, args...)})
}

// fell adds the finding for a share that has fallen.
func (j *judge) fell(f fall, w Change, field, format string, args ...any) {
	j.add(w, field, format, args...)
	j.findings[len(j.findings)-1].Runs = f.runs
}

// flagged reports whether drift of a field was found already.
func (j *judge) flagged(field string) bool {
	return slices.ContainsFunc(j.findings, func(f Finding) bool { return f.Field == field && f.Word.Alarm() })
}

// sorted sorts the findings: drift first, then by field.
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

// page judges each field that a fetch requires by the runs that were good for it: a selector that matches nothing says
// nothing about other fields. held is the largest number of runs that a field was compared with.
func (j *judge) page(earlier []Run) (held int) {
	for _, f := range j.run.Fields {
		one := judge{run: j.run, history: newHistory(j.run, earlier, f.Path)}
		if f.Filled == 0 {
			one.required(f.Path)
		} else {
			bases, oldest := one.bases()
			one.against(bases, oldest, f.Path, falseAlarm/float64(testsAField*len(bases)*len(j.run.Fields)))
		}
		j.findings = append(j.findings, one.findings...)
		if len(one.last.good) > 0 {
			held = max(held, len(one.last.good[0]))
		}
	}
	return held
}

// required reports that a required field was not found. That needs no earlier run.
func (j *judge) required(path string) {
	text := fmt.Sprintf("%s matched nothing, and the fetch requires it", path)
	if before, ok := j.pooled(j.last, 1).Field(path); ok {
		text += "; it matched " + j.inGood(j.last, 1)
		if before.Filled < before.Present {
			text += fmt.Sprintf(", in %d of %d", before.Filled, before.Present)
		}
	}
	j.add(Missing, path, "%s", text)
}

// bases returns last and, if there are any, first. oldest has for each the runs before the largest group, pooled.
func (j *judge) bases() (bases []base, oldest []Run) {
	bases = append(bases, j.last)
	if len(j.first.good) > 0 {
		bases = append(bases, j.first)
	}
	for _, b := range bases {
		oldest = append(oldest, j.pooled(b, len(b.good)))
	}
	return bases, oldest
}

// fields compares every field of the run and of its good runs.
func (j *judge) fields() {
	bases, oldest := j.bases()
	paths := map[string]bool{}
	add := func(r Run) {
		for _, f := range r.Fields {
			paths[f.Path] = true
		}
	}
	add(j.run)
	for i, b := range bases {
		add(j.pooled(b, 1))
		add(oldest[i])
	}
	alpha := falseAlarm / float64(testsAField*len(bases)*max(len(paths), 1))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if mapped(path, append(oldest, j.run)...) {
			continue
		}
		j.against(bases, oldest, path, alpha)
		if !j.flagged(path) && !j.unseen(path) {
			j.remark(path, alpha)
		}
	}
}

// against compares a field with each base until one shows drift.
func (j *judge) against(bases []base, oldest []Run, path string, alpha float64) {
	for i, b := range bases {
		if !j.flagged(path) {
			j.field(b, path, oldest[i], alpha)
		}
	}
}

// field compares a field of the run with a base. oldest is that base's entry in the result of bases.
func (j *judge) field(b base, path string, oldest Run, alpha float64) {
	if !j.unseen(path) && j.emptier(b, path, alpha) {
		return
	}
	now, _ := j.run.Field(path)
	was, _ := oldest.Field(path)
	if now.Filled == 0 || was.Filled == 0 {
		return
	}
	j.flat(b, now, alpha)
	j.types(b, now, was.Type(), alpha)
}

// unseen reports whether the run cannot tell how many rows have a field.
func (j *judge) unseen(path string) bool {
	f, _ := j.run.Field(path)
	return j.run.Form == FormPage || j.run.Beyond && (f.Present == 0 || nested(path))
}

// nested reports whether a path belongs to a member of another field.
func nested(path string) bool {
	return strings.Contains(strings.NewReplacer(`\\`, "", `\.`, "").Replace(path), ".")
}

// mapped reports whether a parent of the field is a Map in any of the runs.
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

// emptier finds that a field is present, or filled, in fewer rows.
func (j *judge) emptier(b base, path string, alpha float64) bool {
	field := func(r Run) Field { f, _ := r.Field(path); return f }
	if f := j.fallen(b, func(r Run) share { return share{field(r).Present, r.Useful} }, math.MaxInt, alpha); f.found {
		good := j.inGood(b, f.runs)
		if f.now.a > 0 {
			j.fell(f, Missing, path, "%s is in %d of %s (%s); %s %s", path, f.now.a, f.rows(), percent(f.now), percent(f.before), good)
			return true
		}
		j.fell(f, Lost, path, "%s is in none of %s; it was filled in %s %s", path, f.rows(), percent(share{field(j.pooled(b, f.runs)).Filled, f.before.n}), good)
		return true
	}
	f := j.fallen(b, filledIn(path), math.MaxInt, alpha)
	switch {
	case f.found && f.now.a == 0:
		j.fell(f, Emptied, path, "%s is there and empty in each of %s; it was filled in %s %s", path, f.rows(), percent(f.before), j.inGood(b, f.runs))
	case f.found:
		j.fell(f, Coverage, path, "%s filled in %d of %s (%s); %s %s", path, f.now.a, f.rows(), percent(f.now), percent(f.before), j.inGood(b, f.runs))
	}
	return f.found
}

// filledIn counts the rows of a run where a field is filled.
func filledIn(path string) func(r Run) share {
	return func(r Run) share {
		f, _ := r.Field(path)
		return share{f.Filled, r.Useful}
	}
}

// remark adds what is not drift: a field is new, or is worse in too few rows to tell.
func (j *judge) remark(path string, alpha float64) {
	before, _ := j.before.Field(path)
	filled := filledIn(path)
	now, then := filled(j.run), filled(j.before)
	switch {
	case before.Present == 0:
		if now.a > 0 && !j.before.Beyond {
			j.add(New, path, "%s is new: filled in %d of %s, and in no row %s", path, now.a, rowsText(now.n), j.inGood(j.last, 1))
		}
	case then.ratio()-now.ratio() >= leastDrop && !j.fallen(j.last, filled, math.MaxInt, alpha).enough:
		j.add(TooFew, path, "%s filled in %d of %s, %s %s: too few rows to tell", path, now.a, rowsText(now.n), percent(then), j.inGood(j.last, 1))
	}
}

// rows says which rows were judged.
func (f fall) rows() string {
	if f.runs == 1 {
		return rowsText(f.now.n)
	}
	return fmt.Sprintf("%s of the last %d runs together", rowsText(f.now.n), f.runs)
}

// flat finds a field that has the same value in all rows, if no good run was like that.
func (j *judge) flat(b base, now Field, alpha float64) {
	if now.Distinct != 1 {
		return
	}
	for _, i := range b.good[0] {
		if f, _ := j.runs[i].Field(now.Path); f.Filled > 0 && f.Distinct == 1 {
			return
		}
	}
	// Rows with a value other than the most frequent one: none now.
	others := func(r Run) share {
		f, _ := r.Field(now.Path)
		return share{f.Filled - f.Top, f.Filled}
	}
	if f := j.fallen(b, others, 1, alpha); f.found {
		before, _ := j.pooled(b, 1).Field(now.Path)
		j.fell(f, Flat, now.Path, "%s has the same value in all of %s; there were %s different ones %s", now.Path, f.rows(), distinct(before.Distinct), j.inGood(b, f.runs))
	}
}

// types finds a field with fewer values of the usual type.
func (j *judge) types(b base, now Field, usual string, alpha float64) {
	f := j.fallen(b, func(r Run) share {
		f, _ := r.Field(now.Path)
		return share{f.Types[usual], f.Filled}
	}, math.MaxInt, alpha)
	if !f.found {
		return
	}
	also := ""
	if t := now.Type(); t != usual {
		also = ", and mostly " + t
	}
	j.fell(f, TypeChanged, now.Path, "%s is %s in %d of %s (%s)%s; %s %s", now.Path, usual, f.now.a, f.rows(), percent(f.now), also, percent(f.before), j.inGood(b, f.runs))
}

// pool combines several runs into one.
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
				sum = &Field{Path: f.Path, Types: map[string]int{}}
				all[f.Path] = sum
			}
			sum.Present, sum.Filled, sum.Top = sum.Present+f.Present, sum.Filled+f.Filled, sum.Top+f.Top
			sum.Distinct = max(sum.Distinct, f.Distinct)
			sum.Map = sum.Map || f.Map
			for t, k := range f.Types {
				sum.Types[t] += k
			}
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
	if n >= maxDistinct {
		return "at least " + strconv.Itoa(maxDistinct)
	}
	return strconv.Itoa(n)
}

// percent formats a share.
func percent(s share) string { return Percent(s.ratio()) }

// silentRuns counts the newest runs without a useful row.
func (s *Standing) silentRuns(all []Run) {
	var classes tally
	for _, r := range all {
		if r.Useful > 0 {
			break
		}
		s.Silent++
		s.Since = r.At
		classes.add(r.Class, r.Cause)
	}
	s.SilentClass, s.SilentCause = classes.commonest()
}

// tally counts classes.
type tally []classCount

type classCount struct {
	class model.Class
	cause model.Cause
	n     int
}

func (t *tally) add(class model.Class, cause model.Cause) {
	if class == "" {
		class, cause = model.ClassOutside, model.CauseEmptyBody
	}
	i := slices.IndexFunc(*t, func(c classCount) bool { return c.class == class && c.cause == cause })
	if i < 0 {
		*t = append(*t, classCount{class: class, cause: cause})
		i = len(*t) - 1
	}
	(*t)[i].n++
}

func (t tally) commonest() (model.Class, model.Cause) {
	if len(t) == 0 {
		return "", ""
	}
	best := slices.MaxFunc(t, func(a, b classCount) int { return a.n - b.n })
	return best.class, best.cause
}

// silentJobs counts, for each data set of a profile, the newest jobs that ended without a useful row. It skips
// jobs whose outcome is unknown.
func silentJobs(profile string, jobs []model.Job) map[string]Standing {
	out, ended, classes := map[string]Standing{}, map[string]bool{}, map[string]*tally{}
	for _, j := range jobs {
		if j.Profile != profile || ended[j.Dataset] {
			continue
		}
		class, cause, useful, known := outcome(j)
		switch {
		case !known:
		case useful:
			ended[j.Dataset] = true
		default:
			s := out[j.Dataset]
			if s.Silent == 0 {
				s.Run = Run{Subject: Subject{profile, Dataset, j.Dataset}, Ref: j.ID, At: j.Created, State: Empty}
				s.Verdict.State = Empty
				classes[j.Dataset] = &tally{}
			}
			s.Silent++
			s.Since = j.Created
			classes[j.Dataset].add(class, cause)
			s.SilentClass, s.SilentCause = classes[j.Dataset].commonest()
			out[j.Dataset] = s
		}
	}
	return out
}

// incomplete maps each data set of a profile to its newest job with a downloaded result, if that lacks records, or to
// "". jobs are newest first.
func incomplete(profile string, jobs []model.Job) map[string]string {
	out := map[string]string{}
	for _, j := range jobs {
		if _, seen := out[j.Dataset]; seen || j.Profile != profile || !j.Rows.Counted {
			continue
		}
		out[j.Dataset] = ""
		if j.Lacking() > 0 {
			out[j.Dataset] = j.ID
		}
	}
	return out
}

// outcome says whether a job gave useful rows, and the class of its failure. A job that was forgotten before it
// was ready gave none. A job whose result was not fetched in time may have had some: known is false.
func outcome(j model.Job) (class model.Class, cause model.Cause, useful, known bool) {
	switch {
	case j.Rows.Counted && j.Rows.Useful == 0 && j.Lacking() > 0: // a missing row may be useful
		return "", "", false, false
	case j.Rows.Counted:
		if len(j.Rows.Errors) > 0 {
			class, cause = j.Rows.Errors[0].Class, j.Rows.Errors[0].Cause
		}
		return class, cause, j.Rows.Useful > 0, true
	case j.State == model.JobFailed, j.State == model.JobRefused, j.Forgotten() && j.Fault.Call == model.CallProgress:
		return j.Fault.Diagnosis.Class, j.Fault.Diagnosis.Cause, false, true
	default:
		return "", "", false, false
	}
}

// notRequested is drift that lasts because a page's newest fetch did not require the field: the findings of the newest
// run that did. It leaves out a field that never matched, because trying selectors changes nothing, and a finding that
// the contract no longer asks for.
func notRequested(r Run, earlier []Run, c *Contract) (out []Finding) {
	if r.Form != FormPage || r.Useful == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, path := range r.paths() {
		seen[path] = true
	}
	for i, e := range earlier {
		var last []string // fields that no newer run required
		for _, path := range e.paths() {
			if e.Useful > 0 && !seen[path] {
				seen[path] = true
				last = append(last, path)
			}
		}
		if e.State != Drift {
			continue
		}
		for _, f := range Alarms(e.Findings) {
			if slices.Contains(last, f.Field) && (!f.Contract || c.requires(f.Field)) && slices.ContainsFunc(earlier[i:], func(o Run) bool { return o.fieldMatched(f.Field) }) {
				f.Text += "; no fetch since " + e.Ref + " has asked for it"
				out = append(out, f)
			}
		}
	}
	return out
}

// fieldMatched reports whether a required field of a page matched, by the findings of the run.
func (r Run) fieldMatched(path string) bool {
	return r.Useful > 0 && r.requested(path) && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Field == path && f.Word == Missing && !f.Contract })
}

// requires reports whether a contract, which may be nil, asks for a field.
func (c *Contract) requires(path string) bool {
	return c != nil && slices.ContainsFunc(c.Fields, func(w FieldRule) bool { return w.Name == path })
}

// The tolerance. If rows are drawn at random as before, at most one run in a hundred is called drift: the tests of a
// run share falseAlarm equally. See history for what is compared, and alike for runs that differ by more.
//
// A test is one-sided: of n rows a have a property (filled, of the usual type), and of m rows of the good runs b. If
// nothing has changed, a or fewer have it with the probability chance. A significant fall must also be worth
// reporting: leastDrop.
const (
	falseAlarm  = 0.01
	testsAField = 7 // present, filled and type, by both bounds of chance; flat by one
	leastDrop   = 0.05
)

// chance is the probability that a or fewer of n rows have a property that b of m others have. Fisher's exact test
// spreads the a+b rows with the property over the n+m at random. It holds for any size:
//
//	P(X <= a) = sum for k = 0..a of C(n,k) * C(m,a+b-k) / C(n+m,a+b)
//
// For none of n and all of m, another bound is sharper; runs of one row depend on it. If the share is p, the
// probability is p^m (1-p)^n, which is highest for p = m/(n+m).
func chance(a, n, b, m int) float64 {
	have := a + b
	least := max(0, have-m)
	if n <= 0 || m <= 0 || a >= min(n, have) {
		return 1
	}
	sum := 0.0
	for k := a; k >= least; k-- {
		p := math.Exp(choose(n, k) + choose(m, have-k) - choose(n+m, have))
		sum += p
		if p < sum*1e-12 { // below the mode the terms fall; above it they do not end this early
			break
		}
	}
	if a == 0 && b == m {
		x, y := float64(n), float64(m)
		sum = min(sum, math.Exp(x*math.Log(x/(x+y))+y*math.Log(y/(x+y))))
	}
	return min(sum, 1)
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	whole, _ := math.Lgamma(float64(n + 1))
	left, _ := math.Lgamma(float64(k + 1))
	right, _ := math.Lgamma(float64(n - k + 1))
	return whole - left - right
}
