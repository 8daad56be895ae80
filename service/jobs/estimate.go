package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// Estimate is what a job is expected to cost, before it is sent.
type Estimate struct {
	Inputs int
	// Records are the records that are expected, -1 where that is not known; Basis says what
	// the figure rests on, or why there is none.
	Records float64
	Basis   string
	// Dollars is their cost by Rate, -1 where it is not known: records or rate are missing.
	Dollars float64
	Rate    model.Rate
	// Zone is the one that Rate is of.
	Zone model.ZoneName
}

// String is the estimate in a line.
func (e Estimate) String() string {
	switch {
	case e.Records < 0:
		return "cost unknown: " + e.Basis
	case e.Dollars < 0:
		return fmt.Sprintf("about %s (%s); cost unknown: no zone of the profile for scrapers or data sets has a rate", records(e.Records), e.Basis)
	default:
		return fmt.Sprintf("about %s (%s), %s at %s of zone %s", records(e.Records), e.Basis, model.SmallDollars(e.Dollars), e.Rate, e.Zone)
	}
}

// records is a number of records in words.
func records(n float64) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%.0f records", n)
}

// earlier is a number of earlier jobs in words.
func earlier(n int) string {
	if n == 1 {
		return "the last job of it"
	}
	return fmt.Sprintf("the last %d jobs of it", n)
}

// pastJobs is how many earlier jobs an estimate looks at.
const pastJobs = 5

// Estimate says what a trigger is expected to cost: by the rate of the profile's zone for data
// sets, and the records that earlier jobs of the same data set and discovery gave for an input.
// Nothing is sent.
func (rn *Runner) Estimate(ctx context.Context, r model.TriggerRequest) (Estimate, error) {
	p, _, err := rn.cfg.Access.Current(ctx)
	if err != nil {
		return Estimate{}, err
	}
	return rn.estimate(ctx, p, r)
}

func (rn *Runner) estimate(ctx context.Context, p profile.Profile, r model.TriggerRequest) (Estimate, error) {
	e := Estimate{Inputs: len(r.Inputs), Dollars: -1}
	perInput, jobs, err := rn.past(ctx, p, r)
	if err != nil {
		return e, err
	}
	n := float64(e.Inputs)
	switch limit := float64(r.Settings.LimitPerInput); {
	case jobs > 0:
		e.Records, e.Basis = n*perInput, fmt.Sprintf("%.3g for an input in %s", perInput, earlier(jobs))
		if limit > 0 && perInput > limit {
			e.Records, e.Basis = n*limit, fmt.Sprintf("%.0f for an input at most", limit)
		}
	case r.Settings.Discover == "":
		e.Records, e.Basis = n, "one for each input: there is no earlier job of it"
	case limit > 0:
		e.Records, e.Basis = n*limit, fmt.Sprintf("%.0f for an input at most", limit)
	default:
		e.Records, e.Basis = -1, "a discovery may find any number of records, and there is no earlier job of it; set a limit"
	}
	if total := float64(r.Settings.LimitTotal); total > 0 && (e.Records < 0 || e.Records > total) {
		e.Records, e.Basis = total, "the limit of the job"
	}
	e.Zone, e.Rate = rateOf(p)
	if dollars, priced := e.Rate.Cost(e.Records, 0); priced && e.Rate.Per1000 > 0 && e.Records >= 0 {
		e.Dollars = dollars
	}
	return e, nil
}

// past is how many records earlier jobs gave for an input, and how many jobs that is.
func (rn *Runner) past(ctx context.Context, p profile.Profile, r model.TriggerRequest) (perInput float64, jobs int, err error) {
	if rn.cfg.Ledger == nil {
		return 0, 0, nil
	}
	list, _, err := rn.cfg.Ledger.Jobs(ctx, 1000)
	if err != nil {
		return 0, 0, err
	}
	inputs, records := 0, 0
	for _, j := range list {
		if j.Profile != p.Name || j.Dataset != r.Dataset || !j.State.HasResult() || j.Records < 0 || j.Inputs == 0 {
			continue
		}
		asked, err := rn.Request(ctx, j.ID)
		if errors.Is(err, ErrNoRequest) || err == nil && asked.Settings.Discover != r.Settings.Discover {
			continue // it is not known to be comparable
		}
		if err != nil {
			return 0, 0, err
		}
		inputs, records, jobs = inputs+j.Inputs, records+j.Records, jobs+1
		if jobs == pastJobs {
			break
		}
	}
	if jobs == 0 {
		return 0, 0, nil
	}
	return float64(records) / float64(inputs), jobs, nil
}

// rateOf is the rate of the profile's first priced zone for ready-made scrapers, data sets or,
// without one, crawls.
func rateOf(p profile.Profile) (model.ZoneName, model.Rate) {
	for _, product := range []model.Product{model.ProductScrapers, model.ProductDatasets, model.ProductCrawl} {
		i := slices.IndexFunc(p.Zones, func(z model.Zone) bool { return z.Product == product && z.Rate.Per1000 > 0 })
		if i >= 0 {
			return p.Zones[i].Name, p.Zones[i].Rate
		}
	}
	return "", model.Rate{}
}

// ErrCost is wrapped by the refusal of a job that is expected to cost more than its cap.
var ErrCost = errors.New("the job is above the cap on its cost")

// withinCap refuses a job above its cap, or above the profile's where it has none of its own.
// One whose cost is not known is refused, too: the cap could not be kept.
func (rn *Runner) withinCap(ctx context.Context, p profile.Profile, r model.TriggerRequest) error {
	most, from := r.MaxCost, "given for this job"
	if most <= 0 {
		most, from = p.MaxJobCost, "max_job_cost of profile "+p.Name
	}
	if most <= 0 {
		return nil
	}
	e, err := rn.estimate(ctx, p, r)
	switch {
	case err != nil:
		return fmt.Errorf("estimating the cost of a job: %w", err)
	case e.Dollars < 0 || e.Dollars > most:
		return model.BadField("max_cost", "%w of %s (%s): %s", ErrCost, model.Dollars(most), from, e)
	default:
		return nil
	}
}
