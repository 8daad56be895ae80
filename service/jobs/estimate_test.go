package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// estimated is a runner whose profile has the zones, after jobs of gd_x with so many records.
func estimated(t *testing.T, zones []model.Zone, most float64, past ...past) *Runner {
	t.Helper()
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	p := noerr.Try(cl.cfg.Source.Profile(t.Context())).Must(t)
	for i, one := range past {
		r := trigger("http://lab.test/1", "http://lab.test/2")
		r.Dataset, r.Settings = "gd_x", model.JobSettings{Discover: one.discover, LimitPerInput: one.perInput, LimitTotal: one.total}
		job := noerr.Try(cl.Trigger(t.Context(), r)).Must(t)
		noerr.Must(t, noerr.From(cl.cfg.Ledger.Change(t.Context(), job.ID, func(j *model.Job) (string, error) {
			j.State, j.Records, j.Inputs = model.JobReady, one.records, cmp.Or(one.inputs, j.Inputs)
			return fmt.Sprint(i), nil
		})))
	}
	p.Zones, p.MaxJobCost = zones, most
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, ProfileBy: func(context.Context) (model.Profile, error) { return p, nil }}
	return cl
}

type past struct {
	inputs          int // 2 where it is 0
	discover        string
	records         int
	perInput, total int // its limits
}

func TestWhatAJobIsExpectedToCost(t *testing.T) {
	priced := []model.Zone{{Name: "u1", Product: model.ProductUnlocker, Rate: model.Rate{Per1000: 9}}, {Name: "s1", Product: model.ProductScrapers, Rate: model.Rate{Per1000: 1.5}}}
	for _, c := range []struct {
		name     string
		zones    []model.Zone
		past     []past
		settings model.JobSettings
		want     string
		many     bool // an input may give any number of records
	}{
		{"no earlier job", priced, nil, model.JobSettings{}, "about 3 records (one for each input: there is no earlier job of it), $0.0045 at $1.5 per 1000 of zone s1", false},
		{"a crawl", priced, nil, model.JobSettings{}, "cost unknown: an input may find any number of records, and there is no earlier job of it; set a limit", true},
		{"a crawl with a limit", priced, nil, model.JobSettings{LimitPerInput: 4}, "about 12 records (4 for an input at most), $0.0180 at $1.5 per 1000 of zone s1", true},
		{"a crawl again", priced, []past{{records: 20}}, model.JobSettings{}, "about 30 records (10 for an input in the last job of it), $0.0450 at $1.5 per 1000 of zone s1", true},
		{"no rate", priced[:1], nil, model.JobSettings{}, "about 3 records (one for each input: there is no earlier job of it); cost unknown: no zone of the profile for scrapers or data sets has a rate", false},
		{"an earlier job", priced, []past{{records: 20}}, model.JobSettings{}, "about 30 records (10 for an input in the last job of it), $0.0450 at $1.5 per 1000 of zone s1", false},
		{"several, of another way too", priced, []past{{records: 2}, {discover: "keyword", records: 900}, {records: 4}}, model.JobSettings{}, "about 4 records (1.5 for an input in the last 2 jobs of it), $0.0067 at $1.5 per 1000 of zone s1; up to $0.0090 by the dearest of the earlier jobs", false},
		{"one that found nothing", priced, []past{{}, {}}, model.JobSettings{}, "about 3 records (one for each input: no earlier job of it found records without a limit), $0.0045 at $1.5 per 1000 of zone s1", false},
		{"one that found nothing beside another", priced, []past{{}, {records: 20}}, model.JobSettings{}, "about 30 records (10 for an input in 1 job of it, without 1 that found nothing), $0.0450 at $1.5 per 1000 of zone s1", false},
		{"what measures nothing beside others", priced, []past{{}, {records: 2}, {records: 1, total: 1}, {records: 4}}, model.JobSettings{}, "about 4 records (1.5 for an input in 2 jobs of it, without 1 that found nothing and 1 that a limit may have ended), $0.0067 at $1.5 per 1000 of zone s1; up to $0.0090 by the dearest of the earlier jobs", false},
		{"limits then, none now", priced, []past{{discover: "keyword", records: 2, perInput: 1}, {discover: "keyword", records: 1, total: 1}}, model.JobSettings{Discover: "keyword"}, "cost unknown: a discovery may find any number of records, and no earlier job of it found records without a limit; set a limit", false},
		{"a limit then, a higher one now", priced, []past{{discover: "keyword", records: 2, perInput: 1}}, model.JobSettings{Discover: "keyword", LimitPerInput: 9}, "about 27 records (9 for an input at most), $0.0405 at $1.5 per 1000 of zone s1", false},
		{"the same limit", priced, []past{{discover: "keyword", records: 2, perInput: 1}}, model.JobSettings{Discover: "keyword", LimitPerInput: 1}, "about 3 records (1 for an input in the last job of it), $0.0045 at $1.5 per 1000 of zone s1", false},
		{"nearly every page was dead", priced, []past{{inputs: 20, records: 1}}, model.JobSettings{}, "less than 1 record (0.05 for an input in the last job of it), $0.0002 at $1.5 per 1000 of zone s1; up to $0.0045 by one record for each input", false},
		{"an upper end that reads like the estimate", priced, []past{{inputs: 5000, records: 4999}}, model.JobSettings{}, "about 3 records (1 for an input in the last job of it), $0.0045 at $1.5 per 1000 of zone s1", false},
		{"a dear one, and a limit", priced, []past{{records: 20}, {records: 2}}, model.JobSettings{LimitPerInput: 6}, "about 16 records (5.5 for an input in the last 2 jobs of it), $0.0248 at $1.5 per 1000 of zone s1; up to $0.0270 by the limit for an input", false},
		{"a dear one, and a limit of all", priced, []past{{records: 20}, {records: 2}}, model.JobSettings{LimitTotal: 20}, "about 16 records (5.5 for an input in the last 2 jobs of it), $0.0248 at $1.5 per 1000 of zone s1; up to $0.0300 by the limit of the job", false},
		{"a dear one, and a limit of one", priced, []past{{discover: "keyword", records: 20}, {discover: "keyword", records: 2}}, model.JobSettings{Discover: "keyword", LimitPerInput: 1}, "about 3 records (1 for an input at most), $0.0045 at $1.5 per 1000 of zone s1", false},
		{"a limit below what there was", priced, []past{{records: 20}}, model.JobSettings{LimitPerInput: 2}, "about 6 records (2 for an input at most), $0.0090 at $1.5 per 1000 of zone s1", false},
		{"a limit above it", priced, []past{{records: 20}}, model.JobSettings{LimitPerInput: 50, LimitTotal: 25}, "about 25 records (the limit of the job), $0.0375 at $1.5 per 1000 of zone s1", false},
		{"a limit that changes nothing", priced, nil, model.JobSettings{LimitTotal: 3}, "about 3 records (one for each input: there is no earlier job of it), $0.0045 at $1.5 per 1000 of zone s1", false},
		{"a discovery", priced, []past{{records: 20}}, model.JobSettings{Discover: "keyword"}, "cost unknown: a discovery may find any number of records, and there is no earlier job of it; set a limit", false},
		{"a discovery with a limit", priced, nil, model.JobSettings{Discover: "keyword", LimitPerInput: 4}, "about 12 records (4 for an input at most), $0.0180 at $1.5 per 1000 of zone s1", false},
		{"a discovery with a limit of all", priced, nil, model.JobSettings{Discover: "keyword", LimitTotal: 1}, "about 1 record (the limit of the job), $0.0015 at $1.5 per 1000 of zone s1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := estimated(t, c.zones, 0, c.past...)
			r := trigger("http://lab.test/1", "http://lab.test/2", "http://lab.test/3")
			r.Dataset, r.Settings, r.OpenEnded = "gd_x", c.settings, c.many
			if e, err := cl.Estimate(t.Context(), r); err != nil || e.String() != c.want || e.Inputs != 3 {
				t.Errorf("%s, %v", e, err)
			}
		})
	}
}

func TestAJobAboveItsCapIsNotSent(t *testing.T) {
	zones := []model.Zone{{Name: "s1", Product: model.ProductScrapers, Rate: model.Rate{Per1000: 1000}}}
	r := func(most float64, s model.JobSettings) model.TriggerRequest {
		out := trigger("http://lab.test/1", "http://lab.test/2", "http://lab.test/3")
		out.Dataset, out.MaxCost, out.Settings = "gd_x", most, s
		return out
	}
	dear := []past{{records: 20}, {records: 2}, {records: 2}} // the cap counts what the dearest of the earlier jobs gave
	many := r(0, model.JobSettings{})
	many.OpenEnded = true
	for _, c := range []struct {
		name   string
		zones  []model.Zone
		most   float64 // of the profile
		r      model.TriggerRequest
		refuse bool
		past   []past
	}{
		{"no cap", zones, 0, r(0, model.JobSettings{}), false, nil},
		{"at the profile's", zones, 3, r(0, model.JobSettings{}), false, nil},
		{"above the profile's", zones, 2.99, r(0, model.JobSettings{}), true, nil},
		{"above its own", zones, 100, r(2, model.JobSettings{}), true, nil},
		{"at its own, below the profile's", zones, 100, r(3, model.JobSettings{}), false, nil},
		{"its own does not lift the profile's", zones, 1, r(3, model.JobSettings{}), true, nil},
		{"its own is not a number", zones, 1, r(math.NaN(), model.JobSettings{}), true, nil},
		{"its own has no end", zones, 0, r(math.Inf(1), model.JobSettings{}), true, nil},
		{"within a limit", zones, 2, r(0, model.JobSettings{LimitTotal: 2}), false, nil},
		{"not known: no rate", nil, 100, r(0, model.JobSettings{}), true, nil},
		{"not known: a discovery without a limit", zones, 100, r(0, model.JobSettings{Discover: "keyword"}), true, nil},
		{"not known: a crawl without a limit", zones, 100, many, true, nil},
		{"a dear one among cheap ones", zones, 29.99, r(0, model.JobSettings{}), true, dear},
		{"a dear one: at what it gave", zones, 30, r(0, model.JobSettings{}), false, dear},
		{"half of the pages were dead: a record for each", zones, 2.99, r(0, model.JobSettings{}), true, []past{{records: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := estimated(t, c.zones, c.most, c.past...)
			_, err := cl.Trigger(t.Context(), c.r)
			if refused := errors.Is(err, model.ErrRequest); refused != c.refuse || err != nil != c.refuse {
				t.Errorf("%v", err)
			}
			want := len(c.past)
			if !c.refuse {
				want++
			}
			if _, total, err := cl.Jobs(t.Context(), 0); err != nil || total != want {
				t.Errorf("%d jobs in the ledger, %v", total, err)
			}
		})
	}
}

func TestTheCapOfAJobIsKeptForItsRepetition(t *testing.T) {
	zones := []model.Zone{{Name: "s1", Product: model.ProductScrapers, Rate: model.Rate{Per1000: 1000}}}
	cl := estimated(t, zones, 0)
	r := trigger("http://lab.test/1")
	r.Dataset, r.MaxCost = "gd_x", 1
	job := noerr.Try(cl.Trigger(t.Context(), r)).Must(t)
	again, err := cl.Request(t.Context(), job.ID)
	if err != nil || again.MaxCost != 1 {
		t.Fatalf("%v, %v", again.MaxCost, err)
	}
	again.Inputs = append(again.Inputs, trigger("http://lab.test/2").Inputs...)
	if _, err := cl.Trigger(t.Context(), again); !errors.Is(err, errCost) {
		t.Errorf("%v", err)
	}
}

// The inputs of a job need not be kept for an estimate to rest on it.
func TestAJobWithoutKeptInputsCountsForAnEstimate(t *testing.T) {
	cl := estimated(t, nil, 0)
	r := trigger("http://lab.test/1")
	r.Dataset, r.Settings.Notify = "gd_x", "https://hooks.test/services/T0K3NxT0K3NxT0K3NxT0K3N"
	job, err := cl.Trigger(t.Context(), r)
	if err == nil {
		_, err = cl.cfg.Ledger.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.State, job.Records = model.JobReady, 6
			return "", nil
		})
	}
	noerr.Must(t, err)
	if _, err := cl.Request(t.Context(), job.ID); !errors.Is(err, ErrNoRequest) {
		t.Fatalf("%v", err)
	}
	r.Settings.Notify = ""
	if e, err := cl.Estimate(t.Context(), r); err != nil || e.Records != 6 {
		t.Errorf("%s, %v", e, err)
	}
}

func TestRecordsInWords(t *testing.T) {
	for n, want := range map[float64]string{0: "about 0 records", 0.181: "less than 1 record", 0.667: "about 1 record", 1: "about 1 record", 1.4: "about 1 record", 2: "about 2 records", 1234.5: "about 1234 records"} {
		if got := records(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}
