package service

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"zonedeck/model"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/jobs"
)

// productCrashes are the faults under jobs of discover and of deep lookup.
func productCrashes() map[string]crashCase {
	out := map[string]crashCase{}
	for _, p := range []struct{ product, trigger, question, answer string }{
		{"discover", "/discover", "/discover", "/discover"},
		{"deep_lookup", "*/deep_lookup/v1/trigger", "*/status", "*/request/*"},
	} {
		rule := func(method, path string, when fault.When, do fault.Action) []fault.Rule {
			return []fault.Rule{{ID: "f", Match: fault.Match{Point: fault.API, Method: method, Path: path}, When: when, Do: do}}
		}
		trigger := func(times int64, do fault.Action) []fault.Rule {
			return rule("POST", p.trigger, fault.When{Times: times}, do)
		}
		question := func(times int64, do fault.Action) []fault.Rule {
			return rule("GET", p.question, fault.When{Times: times}, do)
		}
		for name, rules := range map[string][]fault.Rule{
			"none":                         nil,
			"dropped before acceptance":    trigger(1, fault.Action{Kind: fault.Drop}),
			"dropped after acceptance":     trigger(1, fault.Action{Kind: fault.Drop, Accepted: true}),
			"reset after acceptance":       trigger(1, fault.Action{Kind: fault.Reset, Accepted: true}),
			"garbage after acceptance":     trigger(1, fault.Action{Kind: fault.Malformed, Accepted: true}),
			"503 after acceptance":         trigger(1, fault.Action{Kind: fault.Status, Status: 503, Accepted: true}),
			"a cut answer to the trigger":  trigger(1, fault.Action{Kind: fault.Cut, After: 12}),
			"late answers":                 rule("", "*", fault.When{}, fault.Action{Kind: fault.Latency, Delay: fault.Delay{Fixed: 150 * time.Millisecond}}),
			"a storm of 429 at triggers":   trigger(4, fault.Action{Kind: fault.TooFast}),
			"a storm of 429 at questions":  question(4, fault.Action{Kind: fault.TooFast}),
			"dropped answers to questions": question(3, fault.Action{Kind: fault.Drop}),
			// Every other answer: the one after "the job is over" is its result.
			"cut answers": rule("GET", p.answer, fault.When{Every: 2}, fault.Action{Kind: fault.Cut, After: 30}),
		} {
			out[p.product+": "+name] = crashCase{product: p.product, rules: rules}
		}
	}
	return out
}

// productRows is how many rows the job of a product asks for, and gets.
const productRows = 2

// ask is the request of an operator's one job.
func (o operator) ask() model.TriggerRequest {
	if o.Product == "" {
		return asked(crashInputs...)
	}
	return model.TriggerRequest{
		Dataset: o.Product, Inputs: []model.JobInput{{Extra: map[string]string{"query": `"lamp"`}}},
		Settings: model.JobSettings{LimitTotal: productRows},
	}
}

// gives is how many rows of the job's result have data, and how many report an error.
func (o operator) gives() (useful, failed int) {
	if o.Product == "" {
		return 1, 1
	}
	return productRows, 0
}

// begun returns the identifiers of the jobs that the service has begun.
func (o operator) begun(ctx context.Context, c *jobs.Jobs) (ids []string, err error) {
	if o.Product != "" {
		return o.products(ctx)
	}
	list, err := c.RemoteJobs(ctx, "", []string{"gd_products"}, 100)
	for _, j := range list.Jobs {
		ids = append(ids, j.Snapshot)
	}
	return ids, err
}

// products returns the product's jobs on the emulator's disk.
func (o operator) products(ctx context.Context) (ids []string, err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(o.Service, "state.db"))+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // nothing is written
	kind := map[string]string{"discover": "discover", "deep_lookup": "lookup"}[o.Product]
	all, err := db.QueryContext(ctx, "SELECT id FROM tasks WHERE json_extract(value, '$.kind') = ? ORDER BY rowid", kind)
	if err != nil {
		return nil, err
	}
	defer func() { _ = all.Close() }() // Err has the error
	for all.Next() {
		var id string
		if err := all.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, all.Err()
}

// settleProduct is settle for a product's job, which no list of the service shows: a person finds the
// identifier elsewhere, and gives it.
func (o operator) settleProduct(ctx context.Context, c *jobs.Jobs, job model.Job) error {
	ids, err := o.products(ctx)
	switch {
	case err != nil:
		return err
	case len(ids) == 0:
		_, err = c.Settler().NotStarted(ctx, job.ID)
	case len(ids) == 1:
		_, err = c.Settler().Claim(ctx, job.ID, ids[0], false)
	default:
		err = fmt.Errorf("the service has %q", ids)
	}
	return err
}
