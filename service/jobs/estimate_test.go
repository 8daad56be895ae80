package jobs

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// estimated is a runner whose profile has the zones, after jobs of gd_x with so many records.
func estimated(t *testing.T, zones []model.Zone, most float64, past ...past) *Runner {
	t.Helper()
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	p, err := cl.cfg.Access.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range past {
		r := trigger("http://lab.test/1", "http://lab.test/2")
		r.Dataset, r.Settings.Discover = "gd_x", one.discover
		job, err := cl.Trigger(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cl.cfg.Ledger.Change(t.Context(), job.ID, func(j *model.Job) (string, error) {
			j.State, j.Records = model.JobReady, one.records
			return fmt.Sprint(i), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	p.Zones, p.MaxJobCost = zones, most
	cl.cfg.Access.Profile = func(context.Context) (profile.Profile, error) { return p, nil }
	return cl
}

type past struct {
	discover string
	records  int
}

func TestWhatAJobIsExpectedToCost(t *testing.T) {
	priced := []model.Zone{{Name: "u1", Product: model.ProductUnlocker, Rate: model.Rate{Per1000: 9}}, {Name: "s1", Product: model.ProductScrapers, Rate: model.Rate{Per1000: 1.5}}}
	for _, c := range []struct {
		name     string
		zones    []model.Zone
		past     []past
		settings model.JobSettings
		want     string
	}{
		{"no earlier job", priced, nil, model.JobSettings{}, "about 3 records (one for each input: there is no earlier job of it), $0.0045 at $1.5 per 1000 of zone s1"},
		{"no rate", priced[:1], nil, model.JobSettings{}, "about 3 records (one for each input: there is no earlier job of it); cost unknown: no zone of the profile for scrapers or data sets has a rate"},
		{"an earlier job", priced, []past{{"", 20}}, model.JobSettings{}, "about 30 records (10 for an input in the last job of it), $0.0450 at $1.5 per 1000 of zone s1"},
		{"several, of another way too", priced, []past{{"", 2}, {"keyword", 900}, {"", 4}}, model.JobSettings{}, "about 4 records (1.5 for an input in the last 2 jobs of it), $0.0067 at $1.5 per 1000 of zone s1"},
		{"a limit below what there was", priced, []past{{"", 20}}, model.JobSettings{LimitPerInput: 2}, "about 6 records (2 for an input at most), $0.0090 at $1.5 per 1000 of zone s1"},
		{"a limit above it", priced, []past{{"", 20}}, model.JobSettings{LimitPerInput: 50, LimitTotal: 25}, "about 25 records (the limit of the job), $0.0375 at $1.5 per 1000 of zone s1"},
		{"a discovery", priced, []past{{"", 20}}, model.JobSettings{Discover: "keyword"}, "cost unknown: a discovery may find any number of records, and there is no earlier job of it; set a limit"},
		{"a discovery with a limit", priced, nil, model.JobSettings{Discover: "keyword", LimitPerInput: 4}, "about 12 records (4 for an input at most), $0.0180 at $1.5 per 1000 of zone s1"},
		{"a discovery with a limit of all", priced, nil, model.JobSettings{Discover: "keyword", LimitTotal: 1}, "about 1 record (the limit of the job), $0.0015 at $1.5 per 1000 of zone s1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := estimated(t, c.zones, 0, c.past...)
			r := trigger("http://lab.test/1", "http://lab.test/2", "http://lab.test/3")
			r.Dataset, r.Settings = "gd_x", c.settings
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
		out.MaxCost, out.Settings = most, s
		return out
	}
	for _, c := range []struct {
		name   string
		zones  []model.Zone
		most   float64 // of the profile
		r      model.TriggerRequest
		refuse bool
	}{
		{"no cap", zones, 0, r(0, model.JobSettings{}), false},
		{"at the profile's", zones, 3, r(0, model.JobSettings{}), false},
		{"above the profile's", zones, 2.99, r(0, model.JobSettings{}), true},
		{"above its own", zones, 100, r(2, model.JobSettings{}), true},
		{"its own in place of the profile's", zones, 1, r(3, model.JobSettings{}), false},
		{"within a limit", zones, 2, r(0, model.JobSettings{LimitTotal: 2}), false},
		{"not known: no rate", nil, 100, r(0, model.JobSettings{}), true},
		{"not known: a discovery without a limit", zones, 100, r(0, model.JobSettings{Discover: "keyword"}), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := estimated(t, c.zones, c.most)
			_, err := cl.Trigger(t.Context(), c.r)
			if refused := errors.Is(err, ErrCost) && errors.Is(err, model.ErrRequest); refused != c.refuse || err != nil != c.refuse {
				t.Errorf("%v", err)
			}
			want := 1
			if c.refuse {
				want = 0
			}
			if _, total, err := cl.Jobs(t.Context(), 0); err != nil || total != want {
				t.Errorf("%d jobs in the ledger, %v", total, err)
			}
		})
	}
}
