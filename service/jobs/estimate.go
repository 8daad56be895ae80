package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// Estimate is what a job is expected to cost, before it is sent.
type Estimate struct {
	Inputs int
	// Records is how many records are expected, -1 if that is not known. Basis says what the
	// figure is based on, or why there is none.
	Records float64
	Basis   string
	// Dollars is their cost by Rate, -1 if the records or the rate are not known.
	Dollars float64
	Rate    model.Rate
	// Zone is the zone that has Rate.
	Zone model.ZoneName
	// unpriced is why no rate gives the cost, "" if one may.
	unpriced string
	// worst is what a cap counts, in dollars, -1 if it is not known: the cost if every input gives as
	// many records as in the most expensive of the earlier jobs, and at least one. worstBy says which
	// of these it is, or a limit.
	worst   float64
	worstBy string
}

// String is the estimate in one line.
func (e Estimate) String() string {
	switch {
	case e.Records < 0:
		return "cost unknown: " + e.Basis
	case e.Dollars < 0:
		why := cmp.Or(e.unpriced, "no zone of the profile for scrapers or data sets has a rate")
		return fmt.Sprintf("%s (%s); cost unknown: %s", records(e.Records), e.Basis, why)
	}
	s := fmt.Sprintf("%s (%s), %s at %s of zone %s", records(e.Records), e.Basis, model.SmallDollars(e.Dollars), e.Rate, e.Zone)
	if most := model.SmallDollars(e.worst); e.worst > e.Dollars && most != model.SmallDollars(e.Dollars) {
		s += fmt.Sprintf("; up to %s by %s", most, e.worstBy)
	}
	return s
}

// UpperBound is the upper end of the estimate in dollars, which a cap counts; known is false if there is none.
func (e Estimate) UpperBound() (dollars float64, known bool) {
	if e.Dollars < 0 || e.worst < 0 {
		return 0, false
	}
	return e.worst, true
}

// records is an expected number of records in words.
func records(n float64) string {
	switch s := fmt.Sprintf("%.0f", n); {
	case s == "0" && n > 0:
		return "less than 1 record"
	case s == "1":
		return "about 1 record"
	default:
		return "about " + s + " records"
	}
}

// pastJobs is how many earlier jobs an estimate looks at.
const pastJobs = 5

// Estimate says what a trigger is expected to cost, by the rate of the profile's zone for data sets and
// by how many records earlier jobs of the same data set and discovery gave per input. Nothing is
// sent, and no secret is resolved.
//
// The error says why Trigger would refuse it, and comes with the estimate if there is one: a
// *model.RequestError (one that wraps errCost for the cap), a read-only profile's, the ledger's.
func (rn *Runner) Estimate(ctx context.Context, r model.TriggerRequest) (Estimate, error) {
	p, d, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return Estimate{}, err
	}
	return rn.check(ctx, p, d, r)
}

func (rn *Runner) check(ctx context.Context, p model.Profile, d dialect.Dialect, r model.TriggerRequest) (Estimate, error) {
	if err := cmp.Or(allowed(p, d, r), rn.refuseAuth(p, r.Settings.Auth)); err != nil {
		return Estimate{}, err
	}
	r.Settings = d.Settings(r)
	e, err := rn.estimate(ctx, p, d, r)
	if err != nil {
		return e, fmt.Errorf("estimating the cost of a job: %w", err)
	}
	return e, withinCap(p, r, e)
}

func (rn *Runner) estimate(ctx context.Context, p model.Profile, d dialect.Dialect, r model.TriggerRequest) (Estimate, error) {
	e := Estimate{Inputs: len(r.Inputs), Dollars: -1, worst: -1}
	was, err := rn.past(ctx, p, r)
	if err != nil {
		return e, err
	}
	most := float64(-1) // records that a cap counts
	n := float64(e.Inputs)
	switch limit := float64(r.Settings.LimitPerInput); {
	case was.jobs > 0:
		perInput := float64(was.records) / float64(was.inputs)
		e.Records, e.Basis = n*perInput, fmt.Sprintf("%.3g for an input in %s", perInput, was.summary())
		if most, e.worstBy = n*was.maxRecords, "the dearest of the earlier jobs"; !d.Discovers(r) && most < n {
			most, e.worstBy = n, "one record for each input" // pages that were dead may now give one
		}
		if limit > 0 && perInput > limit {
			e.Records, e.Basis = n*limit, fmt.Sprintf("%.0f for an input at most", limit)
		}
		if limit > 0 && most > n*limit {
			most, e.worstBy = n*limit, "the limit for an input"
		}
	case !d.Discovers(r):
		e.Records, e.Basis, most = n, "one for each input: "+was.none(), n
	case limit > 0:
		e.Records, e.Basis, most = n*limit, fmt.Sprintf("%.0f for an input at most", limit), n*limit
	default:
		what := "a discovery"
		if r.OpenEnded && r.Settings.Discover == "" {
			what = "an input"
		}
		e.Records, e.Basis = -1, what+" may find any number of records, and "+was.none()+"; set a limit"
	}
	if total := float64(r.Settings.LimitTotal); total > 0 {
		if e.Records < 0 || e.Records > total {
			e.Records, e.Basis = total, "the limit of the job"
		}
		if most < 0 || most > total {
			most, e.worstBy = total, "the limit of the job"
		}
	}
	if !d.BillsRecords(r.Dataset) {
		e.unpriced = "public sources do not show what is billed"
		return e, nil
	}
	if of, ok := d.ProductOf(r.Dataset); ok {
		e.unpriced = "no zone of the profile for " + of.Label() + " has a rate"
	}
	e.Zone, e.Rate = rateOf(p, d, r.Dataset)
	if e.Rate.Per1000 > 0 && e.Records >= 0 {
		if dollars, priced := e.Rate.Cost(e.Records, 0); priced {
			e.Dollars = dollars
			e.worst, _ = e.Rate.Cost(most, 0)
		}
	}
	return e, nil
}

// earlierJobs is what an estimate is based on.
type earlierJobs struct {
	jobs, inputs, records int
	// maxRecords is the largest number of records for an input among the jobs.
	maxRecords float64
	// empty and cut count the jobs that measure nothing: they found nothing, or a limit may have ended them.
	empty, cut int
}

// summary says how many jobs there are, and how many of them measure nothing.
func (e earlierJobs) summary() string {
	var without []string
	if e.empty > 0 {
		without = append(without, fmt.Sprintf("%d that found nothing", e.empty))
	}
	if e.cut > 0 {
		without = append(without, fmt.Sprintf("%d that a limit may have ended", e.cut))
	}
	switch {
	case len(without) > 0 && e.jobs == 1:
		return "1 job of it, without " + strings.Join(without, " and ")
	case len(without) > 0:
		return fmt.Sprintf("%d jobs of it, without %s", e.jobs, strings.Join(without, " and "))
	case e.jobs == 1:
		return "the last job of it"
	default:
		return fmt.Sprintf("the last %d jobs of it", e.jobs)
	}
}

// none says why there is no job to estimate by.
func (e earlierJobs) none() string {
	if e.empty+e.cut > 0 {
		return "no earlier job of it found records without a limit"
	}
	return "there is no earlier job of it"
}

// past is what earlier jobs gave. A job that found nothing says nothing about the next one, because its
// pages may have been dead; and a job with a limit might have given more.
func (rn *Runner) past(ctx context.Context, p model.Profile, r model.TriggerRequest) (was earlierJobs, err error) {
	if rn.cfg.Ledger == nil {
		return was, nil
	}
	list, _, err := rn.cfg.Ledger.Jobs(ctx, 1000)
	if err != nil {
		return was, err
	}
	for _, j := range list {
		found := j.ResultRecords()
		if j.Profile != p.Name || j.Dataset != r.Dataset || !j.State.HasResult() || found < 0 || j.Inputs == 0 {
			continue
		}
		asked := j.Request
		if asked == nil || asked.Discover != r.Settings.Discover {
			continue // it is not known to be comparable
		}
		if found == 0 {
			was.empty++
			continue
		}
		if cutShort(*asked, r.Settings) {
			was.cut++
			continue
		}
		was.inputs, was.records, was.jobs = was.inputs+j.Inputs, was.records+found, was.jobs+1
		was.maxRecords = max(was.maxRecords, float64(found)/float64(j.Inputs))
		if was.jobs == pastJobs {
			break
		}
	}
	return was, nil
}

// cutShort reports whether a job's limits may have kept back records that a job with the present
// limits would give.
func cutShort(then model.JobAsked, now model.JobSettings) bool {
	return then.Total > 0 || then.PerInput > 0 && (now.LimitPerInput == 0 || now.LimitPerInput > then.PerInput)
}

func askedOf(s model.JobSettings, bad model.JobRejected) *model.JobAsked {
	return &model.JobAsked{Discover: s.Discover, PerInput: s.LimitPerInput, Total: s.LimitTotal, Rejected: bad}
}

// rateOf is the rate of the profile's first priced zone for ready-made scrapers or data sets, or else for
// crawls. For a job of a product it is that of the product's own zone.
func rateOf(p model.Profile, d dialect.Dialect, dataset string) (model.ZoneName, model.Rate) {
	products := []model.Product{model.ProductScrapers, model.ProductDatasets, model.ProductCrawl}
	if of, ok := d.ProductOf(dataset); ok {
		products = []model.Product{of}
	}
	for _, product := range products {
		i := slices.IndexFunc(p.Zones, func(z model.Zone) bool { return z.Product == product && z.Rate.Per1000 > 0 })
		if i >= 0 {
			return p.Zones[i].Name, p.Zones[i].Rate
		}
	}
	return "", model.Rate{}
}

// errCost is wrapped by the refusal of a job whose estimate has no upper end, or one above the cap.
var errCost = errors.New("the job may cost more than its cap")

// withinCap refuses a job above the smaller of its cap and the profile's. A job of unknown cost is
// refused too, because the cap could not be kept.
func withinCap(p model.Profile, r model.TriggerRequest, e Estimate) error {
	most, from := r.MaxCost, "given for this job"
	if p.MaxJobCost > 0 && (most == 0 || p.MaxJobCost < most) {
		most, from = p.MaxJobCost, "max_job_cost of profile "+p.Name
	}
	if most == 0 {
		return nil
	}
	if upper, known := e.UpperBound(); !known || !(upper <= most) {
		return model.BadField("max_cost", "%w of %s (%s): %s", errCost, model.SmallDollars(most), from, e)
	}
	return nil
}
