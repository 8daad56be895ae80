package drift

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/rows"
)

// Config is what a Monitor needs. Open must be set.
type Config struct {
	// Open returns the store; it may be called often.
	Open func(ctx context.Context) (*Store, error)
	// ContractsDir is the folder of contracts; empty means no contracts.
	ContractsDir string
	// Person is who accepts, as the history names them.
	Person string
}

// Monitor stores runs and judges them. It is safe for concurrent use.
type Monitor struct{ cfg Config }

// NewMonitor makes a Monitor. It does no I/O.
func NewMonitor(c Config) *Monitor { return &Monitor{c} }

// Result takes the rows of a job's result while they are counted.
type Result struct {
	m        *Monitor
	job      model.Job
	profiler *Profiler
}

// Result begins the run of a job's result. A contract that cannot be read is ignored, and Keep reports it.
func (m *Monitor) Result(job model.Job) *Result {
	c, _ := m.Contract(Dataset, job.Dataset)
	return &Result{m: m, job: job, profiler: NewProfiler(c)}
}

// Row adds a row.
func (c *Result) Row(r rows.Row) { c.profiler.Row(r) }

// Keep stores the run, unless counted is not Counted. counted has the errors of the rows without data.
// The drift is of the zero value without any.
func (c *Result) Keep(ctx context.Context, counted model.JobRows) (model.JobDrift, error) {
	if !counted.Counted {
		return model.JobDrift{}, nil
	}
	if len(counted.Errors) > 0 {
		c.profiler.Blame(counted.Errors[0].Class, counted.Errors[0].Cause)
	}
	at := c.job.Accepted
	if at.IsZero() {
		at = c.job.Created
	}
	v, err := c.m.put(ctx, c.profiler.Run(Subject{c.job.Profile, Dataset, c.job.Dataset}, c.job.ID, at))
	return v.drift(), err
}

// Fetched stores the run of a fetch with required fields; see pageRun.
func (m *Monitor) Fetched(ctx context.Context, profile string, r model.FetchResult, body []byte) error {
	c, _ := m.Contract(Target, targetName(r.Request.URL)) // put reports its error
	_, err := m.put(ctx, pageRun(profile, r, body, c))
	return err
}

func (m *Monitor) put(ctx context.Context, r Run) (Verdict, error) {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return Verdict{}, err
	}
	contract, wrong := m.Contract(r.Kind, r.Name)
	v, err := store.Put(ctx, r, func(r Run, earlier []Run) Verdict { return Judge(r, earlier, contract) })
	return v, errors.Join(err, wrong)
}

// drift is a verdict of drift in a few words; the zero value for any other verdict.
func (v Verdict) drift() model.JobDrift {
	all := Alarms(v.Findings)
	alarms := slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { // members go with their object
		return f.Contract && f.Field == rowsField || slices.ContainsFunc(all, func(o Finding) bool {
			return strings.HasPrefix(f.Field, o.Field+".") || strings.HasPrefix(f.Field, o.Field+"[")
		})
	})
	out := model.JobDrift{Fields: len(Names(alarms)), Since: v.Since}
	switch {
	case v.State != Drift:
		return model.JobDrift{}
	case out.Fields == 0:
		out.Text = "fewer useful rows than its contract wants"
		return out
	case out.Fields == 1:
		out.Text = "1 field"
	default:
		out.Text = strconv.Itoa(out.Fields) + " fields"
	}
	words := map[Change]string{Coverage: " filled less", Flat: " without variety", TypeChanged: " of other types", OffPattern: " off pattern"}
	word := alarms[0].Word
	if slices.ContainsFunc(alarms, func(f Finding) bool { return f.Word != word }) {
		out.Text += " changed"
	} else {
		out.Text += cmp.Or(words[word], " "+string(word))
	}
	if v.Since != "" {
		out.Text += " since " + v.Since
	}
	return out
}

// Standing is how a collector stands.
type Standing struct {
	Run      Run // the newest
	Verdict  Verdict
	Accepted Acceptance // the newest; its Seq is 0 without one
	States   []State    // of the runs since then and the run itself, the oldest first
	Older    bool       // it is not about the newest run, which alone can be accepted
	// Remaining is what stays drift once the newest run is accepted: what its contract or the fetch itself asks for.
	Remaining []Finding
	// Silent counts the newest runs without a useful row, most of them of class SilentClass.
	Silent      int
	SilentClass model.Class
	SilentCause model.Cause
	Since       time.Time // of the first of them
	// Incomplete is the newest job with a downloaded result, if that result lacks records; else empty. Such a
	// result is not a run.
	Incomplete string
}

// SilentRuns is how many runs without a useful row make a collector silent.
const SilentRuns = 3

// Dead reports whether the collector gave no useful row in its last SilentRuns or more runs.
func (s Standing) Dead() bool { return s.Silent >= SilentRuns }

// Stale reports whether the newest run is older than most; 0 is no limit.
func (s Standing) Stale(now time.Time, most time.Duration) bool {
	return most > 0 && now.Sub(s.Run.At) > most
}

// Acceptable says why the newest run cannot be accepted as the new normal: ErrNothing, ErrRefused, ErrAccepted or
// ErrNormal, or nil if it can.
func (s Standing) Acceptable() error {
	switch {
	case s.Older:
		return ErrNewer
	case s.Run.Useful == 0:
		return ErrNothing
	case len(s.Remaining) > 0 && len(s.Changed()) == 0:
		return ErrRefused
	case s.Verdict.Accepted:
		return ErrAccepted
	case s.Verdict.State == Good:
		return ErrNormal
	}
	return nil
}

// Changed returns the findings that compare the newest run with earlier ones: accepting it ends them.
func (s Standing) Changed() []Finding {
	return slices.DeleteFunc(slices.Clone(s.Verdict.Findings), func(f Finding) bool {
		return f.Word == New || f.Contract || s.Run.Form == FormPage && f.Word == Missing
	})
}

// Standings returns how the collectors of a profile stand: silent ones first, by class, then those with drift, then
// the others. jobs are those of all profiles, newest first; some left no result. An error about contracts
// comes with the list: a *textfile.Error, or several joined.
func (m *Monitor) Standings(ctx context.Context, profile string, jobs []model.Job) ([]Standing, error) {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := store.Subjects(ctx, profile)
	if err != nil {
		return nil, err
	}
	var out []Standing
	contracts := m.folder()
	wrong := contracts.wrong()
	for _, r := range newest {
		s, err := m.standing(ctx, store, r, contracts)
		if err != nil {
			var fault *textfile.Error
			if !errors.As(err, &fault) {
				return nil, err
			}
			if wrong == nil || !strings.Contains(wrong.Error(), fault.Error()) {
				wrong = errors.Join(wrong, fault)
			}
		}
		out = append(out, s)
	}
	for name, job := range incomplete(profile, jobs) {
		if i := slices.IndexFunc(out, func(s Standing) bool { return s.Run.Kind == Dataset && s.Run.Name == name }); i >= 0 {
			out[i].Incomplete = job
		}
	}
	for name, silent := range silentJobs(profile, jobs) {
		i := slices.IndexFunc(out, func(s Standing) bool { return s.Run.Kind == Dataset && s.Run.Name == name })
		if i < 0 {
			if !silent.Dead() {
				continue
			}
			out = append(out, silent)
			continue
		}
		out[i].Silent, out[i].SilentClass, out[i].SilentCause, out[i].Since = silent.Silent, silent.SilentClass, silent.SilentCause, silent.Since
	}
	slices.SortStableFunc(out, func(a, b Standing) int {
		if x, y := a.order(), b.order(); x != y {
			return x - y
		}
		if a.Dead() && a.SilentClass != b.SilentClass {
			return slices.Index(model.Classes(), a.SilentClass) - slices.Index(model.Classes(), b.SilentClass)
		}
		return strings.Compare(string(a.Run.Kind)+a.Run.Name, string(b.Run.Kind)+b.Run.Name)
	})
	return out, wrong
}

func (s Standing) order() int {
	switch {
	case s.Dead():
		return 0
	case s.Verdict.State == Drift:
		return 1
	default:
		return 2
	}
}

// standing judges the newest run of a collector as things are now. If its contract has an error, it judges
// without the contract and returns that error, too.
func (m *Monitor) standing(ctx context.Context, store *Store, r Run, contracts folder) (Standing, error) {
	earlier, err := store.Earlier(ctx, r)
	if err != nil {
		return Standing{}, err
	}
	accepted, err := store.LastAccepted(ctx, r.Subject)
	if err != nil {
		return Standing{}, err
	}
	contract, wrong := contracts.find(r.Kind, r.Name, m.defaultFile(r.Kind, r.Name))
	s := Standing{Run: r, Verdict: Judge(r, earlier, contract), Accepted: accepted, Remaining: remaining(r, contract)}
	if lasting := notRequested(r, earlier, contract); len(lasting) > 0 {
		s.Verdict.State, s.Verdict.Findings = Drift, append(lasting, s.Verdict.Findings...)
	}
	for _, e := range slices.Backward(earlier) {
		s.States = append(s.States, e.State)
	}
	s.States = append(s.States, s.Verdict.State)
	if accepted.Seq > 0 && accepted.RunSeq == r.Seq {
		s.Verdict.Accepted = true
		if s.Verdict.State == First {
			s.Verdict.State = Good
		}
	}
	if r.Kind == Target && r.Useful == 0 {
		all, err := store.Runs(ctx, r.Subject, DefaultKeep().Runs)
		if err != nil {
			return Standing{}, err
		}
		s.silentRuns(all)
	}
	return s, wrong
}

// Named finds the collector for a name or an address: the one with that name, or else the target of the address. It
// need not have a run. Names of data sets have no dots, slashes or colons.
func (m *Monitor) Named(ctx context.Context, profile, name string) (Subject, error) {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return Subject{}, err
	}
	all, err := store.Subjects(ctx, profile)
	if err != nil {
		return Subject{}, err
	}
	c := Subject{profile, Dataset, name}
	if strings.ContainsAny(name, "./:") {
		c.Kind = Target
	}
	called := func(kind Kind) bool {
		return slices.ContainsFunc(all, func(r Run) bool { return r.Kind == kind && r.Name == name })
	}
	switch {
	case called(c.Kind):
	case c.Kind == Target:
		c.Name = targetName(name)
	case called(Target): // a host name without dots
		c.Kind = Target
	}
	return c, nil
}

// Line is one field of a collector over its runs.
type Line struct {
	Field     string
	Requested bool      // false if the newest fetch did not require it
	Now       float64   // coverage, 0 to 1; -1 if the newest run does not tell
	Before    float64   // in the good runs; -1 if there are none
	Against   int       // how many good runs those are; for a page, runs good for this field
	History   []float64 // oldest first; -1 if unknown. For a page, without runs that did not require it
	Type      string
	Findings  []Finding
	Since     string // the last run before those with drift of it in which it was good; empty for none
	// Fails is the step of a page's selector that matches nothing, empty if all match; Matches is the part before it.
	Matches, Fails string
	// Matched reports whether the selector matched in a stored earlier run.
	Matched bool
}

// Failure says which step of a selector matches nothing; empty if it matches.
func (l Line) Failure() string {
	out := l.Fails + " matches nothing"
	switch {
	case l.Fails == "":
		return ""
	case l.Matched && l.Matches != "":
		return out + " any more; " + l.Matches + " still matches"
	case l.Matched:
		return out + " any more"
	case l.Matches != "":
		return out + ", and it matched in no known run; " + l.Matches + " matches"
	default:
		return out + ", and it matched in no known run"
	}
}

// Detail is all that is known about a collector.
type Detail struct {
	Standing
	Lines []Line // those with drift first
	Runs  []Run  // newest first; for a page, all that are stored
}

// shownRuns is how many runs of a field a Detail shows.
const shownRuns = 60

// Show is ShowRun for the newest run.
func (m *Monitor) Show(ctx context.Context, c Subject) (Detail, error) { return m.ShowRun(ctx, c, "") }

// ShowRun returns the detail of a collector as of the run of a job, or of the newest one if that is not stored. If it has
// no runs, the error is ErrUnknown.
func (m *Monitor) ShowRun(ctx context.Context, c Subject, ref string) (Detail, error) {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return Detail{}, err
	}
	limit := shownRuns
	if c.Kind == Target { // the newest runs may not have required a field
		limit = math.MaxInt32
	}
	all, err := store.Runs(ctx, c, limit)
	if err != nil {
		return Detail{}, err
	}
	if len(all) == 0 {
		return Detail{}, fmt.Errorf("%s: %w", model.Line(c.Name, 80), ErrUnknown)
	}
	older := max(slices.IndexFunc(all, func(r Run) bool { return r.Ref == ref }), 0)
	all = all[older:]
	d := Detail{Runs: all}
	var wrong error
	if d.Standing, wrong = m.standing(ctx, store, all[0], m.folder()); d.Run.Seq == 0 {
		return Detail{}, wrong
	}
	d.Older = older > 0
	earlier, err := store.Earlier(ctx, all[0])
	if err != nil {
		return Detail{}, err
	}
	d.lines(newHistory(d.Run, earlier, ""), earlier)
	return d, wrong
}

// ErrUnknown says that no run of a collector is stored.
var ErrUnknown = errors.New("no run of it is stored")

func (d *Detail) lines(h history, earlier []Run) {
	base := h.pooled(h.last, 1)
	seen := map[string]bool{}
	once := func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		now, known := d.Run.Field(path)
		line := Line{Field: path, Now: -1, Before: -1, Against: d.Verdict.Against, Matches: now.Matches, Fails: now.Fails}
		if now.Fails != "" {
			line.Matched = slices.ContainsFunc(d.Runs[1:], func(r Run) bool { f, _ := r.Field(path); return f.Filled > 0 })
		}
		of, rows := base, base.Useful
		if d.Run.Form == FormPage {
			h := newHistory(d.Run, earlier, path)
			of = h.pooled(h.last, 1)
			rows = of.Useful
			line.Against = rows // one row each
		}
		line.Requested = known || d.Run.Form != FormPage || d.Run.Useful == 0
		if n := d.Run.profiled(); line.Requested && n > 0 {
			line.Now, line.Type = now.Coverage(n), now.Type()
		}
		before, _ := of.Field(path)
		line.Type = cmp.Or(line.Type, before.Type())
		if rows > 0 {
			line.Before = before.Coverage(rows)
		}
		line.History = d.history(path)
		for _, f := range d.Verdict.Findings {
			if f.Field == path {
				line.Findings = append(line.Findings, f)
				line.Since = cmp.Or(line.Since, d.goodBefore(f))
			}
		}
		d.Lines = append(d.Lines, line)
	}
	for _, f := range d.Verdict.Findings {
		once(f.Field)
	}
	runs := []Run{d.Run, base}
	if d.Run.Form == FormPage { // fields that other runs required
		runs = d.Runs[:min(len(d.Runs), shownRuns)]
	}
	for _, r := range runs {
		for _, f := range r.Fields {
			once(f.Path)
		}
	}
}

// goodBefore is the last run before the first with drift of a field in which that was good; empty for none.
func (d *Detail) goodBefore(f Finding) string {
	after := slices.IndexFunc(d.Runs, func(r Run) bool { return r.Ref == f.Since }) + 1
	good := slices.IndexFunc(d.Runs[after:], func(r Run) bool {
		of, _ := r.Field(f.Field)
		return r.State.Compared() || r.Form == FormPage && of.Filled > 0
	})
	if after == 0 || good < 0 {
		return ""
	}
	return d.Runs[after+good].Ref
}

// history is the coverage of a field in its last runs, oldest first.
func (d *Detail) history(path string) (out []float64) {
	for _, r := range d.Runs {
		f, known := r.Field(path)
		switch {
		case len(out) == shownRuns:
		case r.Form == FormPage && !known && len(r.Fields) > 0: // it did not ask for it
		case r.profiled() == 0 || r.Form == FormPage && !known:
			out = append(out, -1)
		default:
			out = append(out, f.Coverage(r.Useful))
		}
	}
	slices.Reverse(out)
	return out
}

// Compare judges a run that is not stored, by the runs of its collector and a contract; nil means the
// collector's own.
func (m *Monitor) Compare(ctx context.Context, r Run, c *Contract) (Verdict, error) {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return Verdict{}, err
	}
	if c == nil {
		if c, err = m.Contract(r.Kind, r.Name); err != nil {
			return Verdict{}, err
		}
	}
	earlier, err := store.Earlier(ctx, r)
	if err != nil {
		return Verdict{}, err
	}
	return Judge(r, earlier, c), nil
}

// remaining returns the drift that needs no earlier runs: what the contract or the fetch itself asks for.
func remaining(r Run, c *Contract) []Finding { return Alarms(Judge(r, nil, c).Findings) }

// newest returns the newest run of a collector. It must be seq, unless seq is 0.
func newest(ctx context.Context, store *Store, c Subject, seq int64) (Run, error) {
	runs, err := store.Runs(ctx, c, 1)
	switch {
	case err != nil:
		return Run{}, err
	case len(runs) == 0:
		return Run{}, fmt.Errorf("%s: %w", model.Line(c.Name, 80), ErrUnknown)
	case seq != 0 && seq != runs[0].Seq:
		return Run{}, fmt.Errorf("%s of %s: %w", runs[0].Ref, model.Line(c.Name, 80), ErrNewer)
	}
	return runs[0], nil
}

// Accept records that what a collector gives now is normal: later runs are compared with its newest run and
// those after it. seq is that run, 0 for any. If there is a newer one, the error is ErrNewer; if there is
// nothing to accept, it is that of Acceptable. What is Remaining is not accepted, and stays drift.
func (m *Monitor) Accept(ctx context.Context, c Subject, seq int64, reason string) (Standing, error) {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return Standing{}, err
	}
	r, err := newest(ctx, store, c, seq)
	if err != nil {
		return Standing{}, err
	}
	s, err := m.standing(ctx, store, r, m.folder())
	var fault *textfile.Error
	if err != nil && !errors.As(err, &fault) { // it is judged without its contract
		return Standing{}, err
	}
	if err := s.Acceptable(); err != nil {
		return s, fmt.Errorf("%s of %s: %w", r.Ref, model.Line(c.Name, 80), err)
	}
	if err := store.Accept(ctx, r, m.cfg.Person, model.Line(reason, 300)); err != nil {
		return s, err
	}
	// It is accepted now, even if its new standing cannot be read.
	if now, err := m.standing(context.WithoutCancel(ctx), store, r, m.folder()); err == nil || errors.As(err, &fault) {
		s = now
	}
	return s, nil
}

// Errors of Acceptable.
var (
	ErrNothing  = errors.New("its newest run has no useful row, which cannot be the new normal")
	ErrAccepted = errors.New("its newest run is accepted already")
	ErrNormal   = errors.New("its newest run is like those before it: there is nothing to accept")
	ErrRefused  = errors.New("accepting its newest run would change nothing: only its contract or the fetch refuses it")
)

// TakeBack takes back the newest acceptance and judges the runs since again. Without one, it is ErrNotAccepted.
func (m *Monitor) TakeBack(ctx context.Context, c Subject) error {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return err
	}
	contract, wrong := m.Contract(c.Kind, c.Name)
	return errors.Join(store.TakeBack(ctx, c, func(r Run, earlier []Run) Verdict { return Judge(r, earlier, contract) }), wrong)
}
