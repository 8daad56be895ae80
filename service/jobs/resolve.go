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
	"zonedeck/service/ledger"
)

// What an operator decides about a job that may have started.
var (
	// ErrSettled says that it is known what became of a job.
	ErrSettled = errors.New("only a job that may have started is settled")
	// ErrNoList says that the service's jobs cannot be listed.
	ErrNoList = errors.New("the service's list of jobs cannot be asked for")
)

// Candidate is a job of the service's list that may be one that may have started.
type Candidate struct {
	model.RemoteJob
	// Inputs is how many inputs it has, -1 where the service does not say.
	Inputs int
	// After is how long after the console's POST the service says that it began.
	After time.Duration
	// Against says what does not fit, or is empty.
	Against string
}

// How near in time a job of the list is looked at: the service's clock may be another one,
// and it may write a job down late.
const (
	candidateBefore = 10 * time.Minute
	candidateAfter  = 30 * time.Minute
	maxListedJobs   = 500
	maxCandidates   = 10
)

// Candidates are the jobs of the service's own list that a job that may have started can
// be: of its data set, begun about then, and unknown to the ledger. Those with the same
// number of inputs come first, then the nearest in time. Nothing is changed.
//
// Errors: ErrSettled, ErrUnknownJob, ErrNoList, those of the list.
func (rn *Runner) Candidates(ctx context.Context, id string) ([]Candidate, error) {
	defer rn.cfg.Wire.Begin()()
	job, err := rn.openJob(ctx, id)
	if err != nil {
		return nil, err
	}
	if rn.cfg.List == nil {
		return nil, ErrNoList
	}
	listed, _, err := rn.cfg.List(ctx, rn.keyOf(job), job.Dataset, maxListedJobs)
	if err != nil {
		return nil, err
	}
	var out []Candidate
	for _, remote := range listed {
		c := Candidate{RemoteJob: remote, Inputs: -1, After: remote.Created.Sub(job.Created)}
		if remote.Created.IsZero() || c.After < -candidateBefore || c.After > candidateAfter {
			continue
		}
		if _, err := rn.Job(ctx, remote.Snapshot); err == nil {
			continue // another job of the ledger
		} else if !errors.Is(err, ErrUnknownJob) {
			return nil, err
		}
		out = append(out, c)
	}
	near := func(a, b Candidate) int { return cmp.Compare(a.After.Abs(), b.After.Abs()) }
	slices.SortStableFunc(out, near)
	out = out[:min(len(out), maxCandidates)]
	for i := range out {
		if err := rn.askInputs(ctx, job, &out[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(fitness(job, b), fitness(job, a)), near(a, b))
	})
	return out, nil
}

// fitness is 2 for the same number of inputs, 1 where it is not known.
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

// askInputs asks how many inputs a job of the list has. A service that does not say is no
// error.
func (rn *Runner) askInputs(ctx context.Context, job model.Job, c *Candidate) error {
	about := job
	about.Snapshot = c.Snapshot
	call, err := rn.callAbout(ctx, about)
	if err != nil {
		return err
	}
	p, err := rn.poll(ctx, call)
	var fault *DiagnosisError
	switch {
	case errors.As(err, &fault):
		c.Against = "its number of inputs could not be asked for"
		return nil
	case err != nil:
		return err
	}
	c.Inputs = p.Inputs
	if c.Inputs >= 0 && c.Inputs != job.Inputs {
		c.Against = fmt.Sprintf("it has %d inputs and not %d", c.Inputs, job.Inputs)
	}
	return nil
}

// keyOf is the key that a job was started by, or "" when the inventory no longer has it.
func (rn *Runner) keyOf(job model.Job) string {
	if _, ok := rn.cfg.Access.Key(job.KeyName); ok {
		return job.KeyName
	}
	return ""
}

// openJob is a job of the profile in use that may have started.
func (rn *Runner) openJob(ctx context.Context, id string) (model.Job, error) {
	if err := rn.writable(); err != nil {
		return model.Job{}, err
	}
	job, err := rn.Job(ctx, id)
	if err == nil && job.State != model.JobMayHave {
		err = fmt.Errorf("job %s %s: %w", job.ID, job.State.Predicate(), ErrSettled)
	}
	if err != nil {
		return job, err
	}
	p, _, err := rn.cfg.Access.Current(ctx)
	if err != nil {
		return job, err
	}
	return job, ofProfile(job, p)
}

// Claim says that a job that may have started is the one that the service knows by that
// identifier, after the service has answered for it. No identifier is ever given to two
// jobs.
//
// Errors: ErrSettled, ErrUnknownJob (of the ledger or of the service), ErrNotShown, a
// *ledger.TakenError, a *DiagnosisError, the ledger's.
func (rn *Runner) Claim(ctx context.Context, id, snapshot string) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	job, err := rn.openJob(ctx, id)
	if err != nil {
		return job, err
	}
	about := job
	about.Snapshot = strings.TrimSpace(snapshot)
	call, err := rn.callAbout(ctx, about)
	if err != nil {
		return job, err
	}
	progress, err := rn.poll(ctx, call)
	if err = unknownThere(err); err != nil {
		return job, err
	}
	job, err = rn.cfg.Ledger.Claim(ctx, job.ID, call.job.Snapshot)
	if errors.Is(err, ledger.ErrSettled) {
		return job, fmt.Errorf("job %s: %w", id, ErrSettled)
	}
	if err != nil {
		return job, err
	}
	rn.tell(ctx, job, fmt.Sprintf("%s %s: it had started, as %s", job.ID, job.Dataset, job.Snapshot))
	return rn.record(ctx, job, progress)
}

// NotStarted marks a job that may have started as not started, because a person says so.
func (rn *Runner) NotStarted(ctx context.Context, id string) (model.Job, error) {
	job, err := rn.openJob(ctx, id)
	if err != nil {
		return job, err
	}
	return rn.change(ctx, job.ID, func(job *model.Job) (note, error) {
		if job.State != model.JobMayHave {
			return note{}, fmt.Errorf("job %s %s: %w", job.ID, job.State.Predicate(), ErrSettled)
		}
		job.State, job.Status, job.Fault = model.JobRefused, 0, model.JobFault{}
		job.Detail = "marked as not started by a person"
		return note{step: job.Detail, activity: fmt.Sprintf("%s %s: %s", job.ID, job.Dataset, job.Detail)}, nil
	})
}
