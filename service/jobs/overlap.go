package jobs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// Overlap is a job that has some of the inputs of a launch, or all of them.
type Overlap struct {
	Job    model.Job
	Inputs int // how many inputs of the launch the job has
}

// Opening is the beginning of a sentence about the inputs: "3 of 20 inputs were".
func (o Overlap) Opening(of int) string {
	if o.Inputs == 1 {
		return fmt.Sprintf("1 of %d inputs was", of)
	}
	return fmt.Sprintf("%d of %d inputs were", o.Inputs, of)
}

// EarlierJobs says which inputs of a launch other jobs have.
type EarlierJobs struct {
	Overlaps []Overlap
	// Unknown are the jobs whose inputs the ledger does not have or cannot read: each may have any of them.
	Unknown []model.Job
	lastJob map[[sha256.Size]byte]int // of each input of the launch, how many jobs were looked at up to the last that has it; 0 for none
	jobs    int
}

// NewEarlierJobs is for the inputs of a launch. Add fills it.
func NewEarlierJobs(launch []model.JobInput) EarlierJobs {
	l := EarlierJobs{lastJob: make(map[[sha256.Size]byte]int, len(launch))}
	for _, in := range launch {
		l.lastJob[inputDigest(in)] = 0
	}
	return l
}

// Add compares the inputs of the launch with those of a job.
func (l *EarlierJobs) Add(job model.Job, inputs []model.JobInput) {
	l.jobs++
	s := Overlap{Job: job}
	for _, in := range inputs {
		d := inputDigest(in)
		if last, asked := l.lastJob[d]; asked && last < l.jobs {
			l.lastJob[d] = l.jobs
			s.Inputs++
		}
	}
	if s.Inputs > 0 {
		l.Overlaps = append(l.Overlaps, s)
	}
}

// Unlaunched are the inputs of the launch that no job is known to have.
func (l *EarlierJobs) Unlaunched(launch []model.JobInput) (out []model.JobInput) {
	for _, in := range launch {
		if l.lastJob[inputDigest(in)] == 0 {
			out = append(out, in)
		}
	}
	return out
}

func inputDigest(in model.JobInput) [sha256.Size]byte { return sha256.Sum256(rows.Input(in)) }

// SharedInputs are the jobs begun since a time that collect in the same way, have some of the inputs (as
// a sample has) or all of them, and may have cost something, newest first; and the jobs for which that
// is not known.
func (rn *Runner) SharedInputs(ctx context.Context, r model.TriggerRequest, within time.Duration) (EarlierJobs, error) {
	out := NewEarlierJobs(r.Inputs)
	if rn.cfg.Ledger == nil || len(r.Inputs) == 0 {
		return out, nil
	}
	p, _, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return out, err
	}
	same := digest(p, r)
	return out, rn.cfg.Ledger.EachBegun(ctx, p.Name, r.Dataset, rn.cfg.Now().Add(-within), func(j model.Job, digest string, kept []byte) {
		if j.ID == r.Repeats || j.Request != nil && j.Request.Discover != r.Settings.Discover {
			return
		}
		var before model.TriggerRequest
		switch {
		case digest == same:
			out.Add(j, r.Inputs)
		case unpack(kept, &before) != nil:
			out.Unknown = append(out.Unknown, j)
		case before.Settings.Discover == r.Settings.Discover:
			out.Add(j, before.Inputs)
		}
	})
}

// newest is the job that was begun last.
func (l *EarlierJobs) newest() (j model.Job) {
	if len(l.Unknown) > 0 {
		j = l.Unknown[0]
	}
	if len(l.Overlaps) > 0 && !l.Overlaps[0].Job.Created.Before(j.Created) {
		j = l.Overlaps[0].Job
	}
	return j
}

// maxNames is how many jobs JobNames names.
const maxNames = 10

// UnknownNames name the jobs whose inputs are not known, newest first.
func (l *EarlierJobs) UnknownNames() string { return JobNames(l.Unknown) }

// JobNames name jobs with their states: "job-9 (ready), job-7 (running)"; "" for none.
func JobNames(jobs []model.Job) string {
	var names []string
	for _, j := range jobs[:min(len(jobs), maxNames)] {
		names = append(names, fmt.Sprintf("%s (%s)", j.ID, j.State.Label()))
	}
	if more := len(jobs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
