package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/exchange"
	"zonedeck/service/ledger"
)

// Fate is what became of a job that may have started: a Started, DidNotStart or Await.
type Fate interface{ fate() string }

// Started says that it is the service's job with this identifier.
type Started string

func (s Started) fate() string { return "started as " + string(s) }

// unlisted says that it is no job of the service's list.
type unlisted string

func (u unlisted) fate() string { return string(u) }

// DidNotStart says that it has not started, Await that its webhook will say.
const (
	DidNotStart unlisted = "not started"
	Await       unlisted = "awaited"
)

// FateOption is what a job that may have started can be. Against is what speaks against it, "" for nothing.
type FateOption struct {
	Fate          Fate
	Text, Against string
}

// Settlement is what is known of a job that may have started, and what it can be.
type Settlement struct {
	Job        model.Job
	Candidates []Candidate
	// Problem is why the service's list could not be read.
	Problem error
	// Options are the candidates, DidNotStart and Await. One that something speaks against is taken once a question of kind
	// ask.Unfitting is answered.
	Options []FateOption
}

// Settle looks for a job that may have started in the service's list. Nothing is changed. The error is the ledger's, or that
// of a job that is settled already; a list that cannot be read is the Settlement's Problem.
func (l *Launching) Settle(ctx context.Context, id string) (Settlement, error) {
	job, err := l.cfg.Machine.Job(ctx, id)
	s := Settlement{Job: job}
	if err != nil {
		return s, err
	}
	s.Candidates, s.Problem = l.cfg.Settler.Candidates(ctx, id)
	if errors.Is(s.Problem, ErrSettled) || context.Cause(ctx) != nil {
		return s, s.Problem
	}
	for _, c := range s.Candidates {
		text := fmt.Sprintf("%s, begun %s", c.State.Label(), c.Begun())
		if c.For != "" {
			text = c.For + " · " + text
		}
		s.Options = append(s.Options, FateOption{Started(c.Snapshot), text, c.Against})
	}
	none := FateOption{DidNotStart, "it has not started", s.fitting()}
	if s.Problem != nil {
		none.Against = fmt.Sprintf("nobody has checked: the service's list could not be read (%v)", s.Problem)
	}
	s.Options = append(s.Options, none, FateOption{Await, "wait for its webhook", ""})
	return s, nil
}

// fitting names the candidates that have the job's number of inputs, or may have, and what speaks against each; "" for none.
func (s Settlement) fitting() string {
	var names []string
	for _, c := range s.Candidates {
		switch {
		case c.Inputs != s.Job.Inputs && c.Inputs >= 0:
		case c.Against != "":
			names = append(names, c.Snapshot+" ("+c.Against+")")
		default:
			names = append(names, c.Snapshot)
		}
	}
	const most = 3
	if len(names) == 0 {
		return ""
	}
	text := "in the service's list it can be " + strings.Join(names[:min(len(names), most)], " or ")
	if more := len(names) - most; more > 0 {
		text += " or " + model.Counted(more, "more job")
	}
	return text
}

// Only is the only candidate with the job's number of inputs, if its rows name them and nothing speaks against it. Of
// several it is none, even if something speaks against the others: the one in doubt may be the job, and so may one whose
// number of inputs is not known. Only one whose rows are of other inputs is left out of account beside one that fits.
// The error says what keeps it from being found; Snapshot is then set if one candidate is nearest.
func (s Settlement) Only() (one Candidate, err error) {
	var same []Candidate // with the job's number of inputs
	for _, c := range s.Candidates {
		switch {
		case c.Inputs < 0:
			return one, fmt.Errorf("the number of inputs of %s is not known", c.Snapshot)
		case c.Inputs == s.Job.Inputs:
			same = append(same, c)
		}
	}
	inputs := model.Counted(s.Job.Inputs, "input")
	maybe := slices.DeleteFunc(slices.Clone(same), func(c Candidate) bool { return c.Other })
	switch {
	case len(maybe) == 1 && maybe[0].Against == "":
		return maybe[0], nil
	case len(same) == 1:
		return same[0], fmt.Errorf("%s of the service's list has its %s, but %s", same[0].Snapshot, inputs, same[0].Against)
	case len(same) > 1:
		each := make([]string, len(same))
		for i, c := range same {
			each[i] = fmt.Sprintf("%s (begun %s; %s)", c.Snapshot, c.Begun(), cmp.Or(c.Against, "nothing against it"))
		}
		return one, fmt.Errorf("%d jobs of the service's list have its %s: %s", len(same), inputs, strings.Join(each, ", "))
	case len(s.Candidates) > 0 && s.Candidates[0].Unseen:
		return one, fmt.Errorf("no job that was seen in the service's list has its %s, and not every job of that time could be looked at", inputs)
	}
	return one, ErrNoneFits
}

// ErrNoneFits says that no job of the service's list can be a job that may have started.
var ErrNoneFits = errors.New("no job of the service's list fits")

// Begun says how long before or after the POST a candidate began: "5s after the POST".
func (c Candidate) Begun() string { return fromPost(c.After.Round(time.Second)) + " the POST" }

// Decide settles a job. What something speaks against needs an answer to an ask.Unfitting question about the job, which the
// *ask.Unanswered has. Somebody who knows what became of the job needs no Settlement of Settle, only the job's identifier.
//
// Other errors: those of Settler.Claim, NotStarted and AwaitWebhook.
func (l *Launching) Decide(ctx context.Context, s Settlement, fate Fate, a ask.Answers) (model.Job, error) {
	id := s.Job.ID
	doubt := func(against string) ask.Question {
		return ask.Question{Kind: ask.Unfitting, About: id + " " + fate.fate(), Text: against}
	}
	for _, o := range s.Options {
		if o.Fate != fate || o.Against == "" {
			continue
		}
		if err := a.Open([]ask.Question{doubt(o.Against)}); err != nil {
			return s.Job, err
		}
	}
	started, is := fate.(Started)
	switch {
	case fate == DidNotStart:
		return l.cfg.Settler.NotStarted(ctx, id)
	case !is:
		return l.cfg.Settler.AwaitWebhook(ctx, id)
	}
	job, err := l.cfg.Settler.Claim(ctx, id, string(started), a.To(doubt("")).Yes)
	if in, ok := errors.AsType[*DoubtError](err); ok {
		return job, &ask.Unanswered{Questions: []ask.Question{doubt(in.Error())}}
	}
	return job, err
}

// What an operator decides about a job that may have started.
var (
	// ErrSettled says that what became of a job is known already.
	ErrSettled = errors.New("only a job that may have started is settled")
	// errNoList says that the service's jobs cannot be listed.
	errNoList = errors.New("the service's list of jobs cannot be asked for")
	// errListCut says that nothing in the list fits, but that the job may be among those that could not be looked at.
	errListCut = errors.New("no job that was seen in it can be it, and not every job of that time could be looked at")
)

// Candidate is a job of the service's list that may be a job of the ledger that may have started.
type Candidate struct {
	model.RemoteJob
	// Inputs is how many inputs it has, -1 if the service does not say.
	Inputs int
	// After is how long after the console's POST it began: by this machine's clock if the difference to the
	// service's clock is known.
	After time.Duration
	// For says what fits: its number of inputs, and which of them its rows name. Against says what does not fit or leaves
	// a doubt. Each may be empty. Other says that its rows are of other inputs, or that none names one of the job.
	For, Against string
	Other        bool
	// Unseen says that not every job of that time could be looked at, so that another may be it.
	Unseen bool
}

// doubt adds to what speaks against a candidate.
func (c *Candidate) doubt(text string) {
	if c.Against != "" {
		text = c.Against + "; " + text
	}
	c.Against = text
}

// DoubtError says why a job of the service was not taken for one that may have started.
type DoubtError struct{ Job, Snapshot, Against string }

func (e *DoubtError) Error() string {
	return fmt.Sprintf("%s may not be job %s: %s", e.Snapshot, e.Job, e.Against)
}

// How near in time a job of the list must be to be looked at: the service may list a job late, and its
// clock is known no more exactly than its answers show it.
const (
	candidateBefore = 10 * time.Minute
	candidateAfter  = 30 * time.Minute
	maxListedJobs   = 500
	maxCandidates   = 10
)

// Settler finds out what became of jobs that may have started. See Runner.Settler.
type Settler struct{ rn *Runner }

// Settler settles the Runner's jobs.
func (rn *Runner) Settler() Settler { return Settler{rn} }

// Candidates are the jobs of the service's own list that a job that may have started could be: of its data
// set, begun about then, and unknown to the ledger. Those with the same number of inputs come first, then
// the nearest in time. If the difference between the service's clock and this one is not known, jobs of any
// time with the same number of inputs are included. Nothing is changed.
//
// Errors: ErrSettled, ErrUnknownJob, errNoList, errListCut, those of the list.
func (st Settler) Candidates(ctx context.Context, id string) ([]Candidate, error) {
	defer st.rn.cfg.Wire.Begin()()
	job, err := st.openJob(ctx, id)
	if err != nil {
		return nil, err
	}
	if st.rn.cfg.List == nil {
		return nil, errNoList
	}
	_, d, err := exchange.Current(ctx, st.rn.cfg.Source)
	if err != nil {
		return nil, err
	}
	if of, ok := d.ProductOf(job.Dataset); ok {
		return nil, fmt.Errorf("%w: public sources show none for %s", errNoList, of.Label())
	}
	listed, skipped, err := st.rn.cfg.List.RemoteJobs(ctx, st.rn.cfg.Source, st.keyOf(job), job.Dataset, maxListedJobs)
	if err != nil {
		return nil, err
	}
	clock, err := st.clock(ctx)
	if err != nil {
		return nil, err
	}
	var out, far []Candidate
	cut, oldest := skipped > 0, job.Created.Add(clock.by())
	for _, remote := range listed {
		c := Candidate{RemoteJob: remote, Inputs: -1, After: remote.Created.Sub(job.Created) - clock.by()}
		if remote.Created.IsZero() {
			cut = true
			continue
		}
		if remote.Created.Before(oldest) {
			oldest = remote.Created
		}
		if !nearby(c.After) && clock.known {
			continue
		}
		if _, err := st.rn.ofSnapshot(ctx, remote.Snapshot); err == nil {
			continue // another job of the ledger
		} else if !errors.Is(err, ErrUnknownJob) {
			return nil, err
		}
		if nearby(c.After) {
			out = append(out, c)
		} else {
			far = append(far, c)
		}
	}
	slices.SortStableFunc(out, nearer)
	cut = cut || len(out) > maxCandidates || len(listed) >= maxListedJobs && nearby(oldest.Sub(job.Created)-clock.by())
	if out, err = st.weigh(ctx, job, clock, out, far); err != nil {
		return nil, err
	}
	if cut && len(out) == 0 {
		return nil, errListCut
	}
	if cut {
		for i := range out {
			out[i].Against, out[i].Unseen = cmp.Or(out[i].Against, "not every job of that time could be looked at"), true
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(fitness(job, b), fitness(job, a)), nearer(a, b))
	})
	return out, nil
}

func nearer(a, b Candidate) int { return cmp.Compare(a.After.Abs(), b.After.Abs()) }

// serviceClock is what is known about the service's clock, compared with the clock of the ledger.
type serviceClock struct {
	exchange.Skew

	known bool
}

// by is how far the clock is ahead of the ledger's; 0 if they agree as far as can be told.
func (c serviceClock) by() time.Duration {
	if !c.Significant() {
		return 0
	}
	return c.By
}

func (st Settler) clock(ctx context.Context) (c serviceClock, err error) {
	p, _, err := exchange.Current(ctx, st.rn.cfg.Source)
	if err == nil {
		c.Skew, c.known = st.rn.cfg.Wire.Skew(p)
		c.Skew = c.FromRecords()
	}
	return c, err
}

// weigh asks for the inputs of the candidates that began about the time of the POST, then of those with an
// unknown clock, and says what speaks against each.
func (st Settler) weigh(ctx context.Context, job model.Job, clock serviceClock, near, far []Candidate) ([]Candidate, error) {
	slices.SortStableFunc(far, nearer)
	out := near[:min(len(near), maxCandidates)]
	n := len(out)
	out = append(out, far[:min(len(far), maxCandidates-n)]...)
	for i := range out {
		if err := st.askInputs(ctx, job, &out[i]); err != nil {
			return nil, err
		}
		if i >= n {
			out[i].doubt("it began " + fromPost(out[i].After) + " the POST, and how far the service's clock is from this one is not known")
		}
	}
	seen := 0
	out = slices.DeleteFunc(out, func(c Candidate) bool {
		seen++
		return seen > n && c.Inputs != job.Inputs
	})
	return out, st.weighRivals(ctx, job, clock, out)
}

// fromPost says how long before or after the POST something was: "5s after".
func fromPost(after time.Duration) string {
	if after < 0 {
		return (-after).Round(time.Second).String() + " before"
	}
	return after.Round(time.Second).String() + " after"
}

// nearby reports whether a job that began so long after the POST may be the job.
func nearby(after time.Duration) bool { return after >= -candidateBefore && after <= candidateAfter }

// weighRivals notes against a candidate that it began before the POST or after it was over, or that it may
// just as well be another job of the ledger without an identifier.
func (st Settler) weighRivals(ctx context.Context, job model.Job, clock serviceClock, out []Candidate) error {
	list, _, err := st.rn.Jobs(ctx, 0)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(j model.Job) bool {
		return j.ID == job.ID || j.State != model.JobMayHave && j.State != model.JobSending || j.Dataset != job.Dataset || j.Inputs != job.Inputs
	})
	over := postOver(job)
	for i := range out {
		c := &out[i]
		after := c.Created.Sub(job.Created) - clock.By
		give := clock.Give + time.Second // dates may be of whole seconds
		switch {
		case !nearby(c.After), c.Inputs >= 0 && c.Inputs != job.Inputs: // enough was said
		case -after > give:
			c.doubt("it began " + fromPost(after) + " the POST, by the service's clock")
		case after > over+give:
			c.doubt(fmt.Sprintf("it began %s the POST, which was over after %s", fromPost(after), over.Round(time.Second)))
		}
		for _, rival := range list {
			if nearby(c.Created.Sub(rival.Created)-clock.by()) && st.rn.maySame(ctx, job.ID, rival.ID) {
				c.Against = cmp.Or(c.Against, fmt.Sprintf("it can be %s as well", rival.ID))
			}
		}
	}
	return nil
}

// fitness is 2 for the same number of inputs, 1 if it is not known.
func fitness(job model.Job, c Candidate) int {
	switch c.Inputs {
	case job.Inputs:
		return 2
	case -1:
		return 1
	default:
		return 0
	}
}

// askInputs asks how many inputs a job of the list has and, if it has as many, whether they are the job's. It is no error
// if the service does not say.
func (st Settler) askInputs(ctx context.Context, job model.Job, c *Candidate) error {
	about := job
	about.Snapshot = c.Snapshot
	call, err := st.rn.callAbout(ctx, about)
	if err != nil {
		return err
	}
	p, err := call.poll(ctx)
	var fault *exchange.CallError
	switch {
	case errors.As(err, &fault):
		c.Against = "its number of inputs could not be asked for"
		return nil
	case err != nil:
		return err
	}
	c.Inputs = p.Inputs
	if c.Against = againstInputs(job, c.Inputs); c.Against != "" {
		return nil
	}
	if c.Inputs >= 0 {
		c.For = model.Counted(c.Inputs, "input")
	}
	return call.weighRows(ctx, c, p.State)
}

// againstInputs says that a job has another number of inputs, or nothing.
func againstInputs(job model.Job, inputs int) string {
	if inputs < 0 || inputs == job.Inputs {
		return ""
	}
	return fmt.Sprintf("it has %s and not %d", model.Counted(inputs, "input"), job.Inputs)
}

// keyOf is the key that a job was started by, or "" when the inventory no longer has it.
func (st Settler) keyOf(job model.Job) string {
	if _, ok := st.rn.cfg.Source.Key(job.KeyName); ok {
		return job.KeyName
	}
	return ""
}

// openJob is a job of the profile in use that may have started.
func (st Settler) openJob(ctx context.Context, id string) (model.Job, error) {
	if err := st.rn.writable(); err != nil {
		return model.Job{}, err
	}
	job, err := st.rn.Job(ctx, id)
	if err == nil && job.State != model.JobMayHave {
		err = fmt.Errorf("job %s %s: %w", job.ID, job.State.Predicate(), ErrSettled)
	}
	if err != nil {
		return job, err
	}
	p, _, err := exchange.Current(ctx, st.rn.cfg.Source)
	if err != nil {
		return job, err
	}
	return job, ofProfile(job, p)
}

// toSettle is openJob for what a read-only profile must not do.
func (st Settler) toSettle(ctx context.Context, id string) (model.Job, error) {
	job, err := st.openJob(ctx, id)
	if err != nil {
		return job, err
	}
	p, _, err := exchange.Current(ctx, st.rn.cfg.Source)
	if err == nil {
		err = p.Refuse("settle jobs")
	}
	return job, err
}

// Claim says that a job that may have started is the job that the service knows by that identifier, after
// the service has answered for it. No identifier is ever given to two jobs. A job with another number of
// inputs or rows of other inputs, or one that the service does not list for the data set, is taken only if the operator is
// sure.
//
// Errors: a *DoubtError, ErrSettled, ErrUnknownJob (of the ledger or of the service), ErrNotShown, a
// *ledger.TakenError, a *exchange.CallError, the ledger's.
func (st Settler) Claim(ctx context.Context, id, snapshot string, sure bool) (model.Job, error) {
	defer st.rn.cfg.Wire.Begin()()
	job, err := st.toSettle(ctx, id)
	if err != nil {
		return job, err
	}
	about := job
	about.Snapshot = strings.TrimSpace(snapshot)
	switch taken, err := st.rn.ofSnapshot(ctx, about.Snapshot); {
	case err == nil && taken.ID == job.ID: // a webhook was first
		return taken, fmt.Errorf("job %s: %w", id, ErrSettled)
	case err == nil: // its rows need not be compared
		return job, &ledger.TakenError{Snapshot: taken.Snapshot, Job: taken.ID}
	}
	call, err := st.rn.callAbout(ctx, about)
	if err != nil {
		return job, err
	}
	progress, err := call.poll(ctx)
	if err = unknownThere(err); err != nil {
		return job, err
	}
	if !sure {
		against := againstInputs(job, progress.Inputs)
		if _, product := call.d.ProductOf(job.Dataset); against == "" && !product && progress.State.HasResult() {
			var c Candidate
			if err := call.weighRows(ctx, &c, progress.State); err != nil {
				return job, err
			}
			if c.Other { // whoever names a job knows more than rows that cannot be compared
				against = c.Against
			}
		}
		if against = cmp.Or(against, st.againstList(ctx, job, about.Snapshot)); against != "" {
			return job, &DoubtError{Job: job.ID, Snapshot: about.Snapshot, Against: against}
		}
	}
	job, err = st.rn.cfg.Ledger.Claim(ctx, job.ID, call.job.Snapshot)
	if errors.Is(err, ledger.ErrSettled) {
		return job, fmt.Errorf("job %s: %w", id, ErrSettled)
	}
	if err != nil {
		return job, err
	}
	st.rn.log(ctx, job, fmt.Sprintf("%s %s: it had started, as %s", job.ID, job.Dataset, job.Snapshot))
	return st.rn.record(ctx, job, progress)
}

// againstList says that the service lists no such job for the data set. It says nothing if the list
// cannot be asked for or may lack jobs.
func (st Settler) againstList(ctx context.Context, job model.Job, snapshot string) string {
	_, d, err := exchange.Current(ctx, st.rn.cfg.Source)
	if _, product := d.ProductOf(job.Dataset); err != nil || product || st.rn.cfg.List == nil {
		return ""
	}
	listed, skipped, err := st.rn.cfg.List.RemoteJobs(ctx, st.rn.cfg.Source, st.keyOf(job), job.Dataset, maxListedJobs)
	has := slices.ContainsFunc(listed, func(j model.RemoteJob) bool { return j.Snapshot == snapshot })
	if err != nil || has || skipped > 0 || len(listed) >= maxListedJobs {
		return ""
	}
	return "the service does not list it among the jobs of " + job.Dataset
}

// NotStarted marks a job that may have started as not started, because a person says so.
func (st Settler) NotStarted(ctx context.Context, id string) (model.Job, error) {
	job, err := st.toSettle(ctx, id)
	if err != nil {
		return job, err
	}
	return st.rn.change(ctx, job.ID, func(job *model.Job) (note, error) {
		if job.State != model.JobMayHave {
			return note{}, fmt.Errorf("job %s %s: %w", job.ID, job.State.Predicate(), ErrSettled)
		}
		job.State, job.Status, job.Fault = model.JobNotSent, 0, model.JobFault{}
		job.Detail = "marked as not started by a person"
		return note{step: job.Detail, entry: fmt.Sprintf("%s %s: %s", job.ID, job.Dataset, job.Detail)}, nil
	})
}
