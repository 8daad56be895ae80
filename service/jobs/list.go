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
	"zonedeck/service/exchange"
	"zonedeck/service/query"
)

// Find is a job of the ledger or, by the service's identifier, one that it adopts now. dataset is the name of the adopted
// job's data set, if it is known. Its errors are those of Job and Adopt.
func (rn *Runner) Find(ctx context.Context, id, dataset string) (job model.Job, adopted bool, err error) {
	job, err = rn.Job(ctx, id)
	if !errors.Is(err, ErrUnknownJob) || strings.HasPrefix(id, "job-") || id == "" {
		return job, false, err
	}
	job, err = rn.Adopt(ctx, id, dataset)
	return job, err == nil, err
}

// ErrNoDataset says that no data set was named whose jobs the service could list.
var ErrNoDataset = errors.New("names a data set")

// mostRemote is how many jobs of a data set are asked for without a limit: what may be asked for at most.
const mostRemote = 5000

// Listed are the jobs that the service lists, newest first.
type Listed struct {
	Jobs    []model.RemoteJob
	IDs     map[string]string // by snapshot: identifiers in the ledger, of those that stand there
	Skipped map[string]int    // by data set: jobs whose identifiers cannot be used
}

// RemoteJobs lists the jobs of data sets as the service does, whoever started them, at most limit, 0 for all. Without data
// sets they are those that the profile's jobs in the ledger name. One call is made for each.
func (rn *Runner) RemoteJobs(ctx context.Context, key string, datasets []string, limit int) (out Listed, err error) {
	ledger, _, err := rn.Jobs(ctx, 0)
	if err != nil {
		return out, ledgerFault(err)
	}
	out.IDs, out.Skipped = map[string]string{}, map[string]int{}
	for _, j := range ledger {
		for _, name := range j.Names().Labelled() {
			if out.IDs[name[1]] == "" { // the newest
				out.IDs[name[1]] = j.ID
			}
		}
	}
	p, d, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return out, err
	}
	if len(datasets) == 0 {
		for _, j := range ledger {
			if _, product := d.ProductOf(j.Dataset); !product && j.Profile == p.Name && j.Dataset != "" { // no list has a product's jobs
				datasets = append(datasets, j.Dataset)
			}
		}
	}
	if len(datasets) == 0 {
		return out, fmt.Errorf("no job of profile %q in the ledger %w", p.Name, ErrNoDataset)
	}
	for i, name := range datasets {
		if slices.Contains(datasets[:i], name) {
			continue
		}
		found, skipped, err := rn.cfg.List.RemoteJobs(ctx, rn.cfg.Source, key, name, cmp.Or(limit, mostRemote))
		if err != nil {
			return out, err
		}
		out.Jobs = append(out.Jobs, found...)
		if skipped > 0 {
			out.Skipped[name] = skipped
		}
	}
	slices.SortStableFunc(out.Jobs, func(a, b model.RemoteJob) int { return b.Created.Compare(a.Created) })
	if limit > 0 && len(out.Jobs) > limit {
		out.Jobs = out.Jobs[:limit]
	}
	return out, nil
}

// Fields is what a list of jobs can be asked. now is the clock by which the jobs of a profile are dated: an emulator's
// may be days ahead.
func Fields(now func(profile string) time.Time) query.Fields[model.Job] {
	return query.Fields[model.Job]{
		query.SearchText(wordsOf),
		query.Enum("state", "failed", states(), func(j model.Job) []string {
			words := []string{string(j.State), j.State.Label()}
			if !j.State.Final() {
				words = append(words, stateOpen)
			}
			return words
		}),
		query.Text("dataset", "gd_products", func(j model.Job) string { return j.Dataset }),
		query.List("profile", "acme", func(j model.Job) []string { return []string{j.Profile} }),
		query.Since(func(j model.Job) time.Time { return j.Created }, func(j model.Job) time.Time { return now(j.Profile) }),
	}
}

// wordsOf is the text that the words of a filter are searched in.
func wordsOf(j model.Job) string {
	return strings.ToLower(strings.Join([]string{
		j.ID, j.Snapshot, j.Dataset, j.Profile, j.KeyName, string(j.State), j.Label(), j.Wire, j.Detail, j.File, j.Fault.Diagnosis.Summary,
	}, "\n"))
}

// stateOpen is every state that can still change.
const stateOpen = "open"

// states are the words for a state: as JSON spells it, and as the list shows it.
func states() []string {
	words := []string{stateOpen}
	for _, s := range model.JobStates() {
		if words = append(words, string(s)); s.Label() != string(s) {
			words = append(words, s.Label())
		}
	}
	return words
}
