package batch_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/pace"
	"zonedeck/service/servicetest"
)

// page is the draft of a probe.
func page() (d fetch.Draft) {
	d.Request.URL, d.Request.Zone.Name, d.Request.Via = "http://shop.test/1", "unlocker1", model.ViaAPI
	return d
}

// refusing refuses what is above a number at once, as a target or as the service does.
func (s *target) refusing(most int, byService bool) {
	s.pause = 5 * time.Millisecond
	s.answer = func(w http.ResponseWriter, _ string, _ int) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.now <= most {
			return false
		}
		if !byService {
			w.Header().Set("X-Brd-Status-Code", "429")
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
}

func TestAProbeFindsTheWallAndABatchBeginsBelowIt(t *testing.T) {
	r := newRig(t)
	r.refusing(0, false)
	safes := pace.Safes{Dir: t.TempDir()}
	r.Fetch = fetch.New(fetch.Config{
		Source: servicetest.SourceFor(r.known.Profile), Wire: exchange.New(exchange.Config{}), Bodies: exchange.Bodies{Dir: r.dir},
		Pace: &pace.Limiter{Store: pace.Files{Dir: t.TempDir()}, Safes: safes, Clock: servicetest.ClockFunc(time.Now)},
	})
	plan, err := batch.PlanProbe(r.known, page(), 3)
	noerr.Must(t, err)
	if plan.Fetches != 2000 || plan.Limit != 16 {
		t.Errorf("%+v", plan)
	}
	found, err := r.Probe(t.Context(), plan, nil)
	noerr.Must(t, err)
	if found.Safe != 0 || found.Words() != "no pace is safe: one at a time is refused twice" || found.Sent != 2 {
		t.Errorf("%s: %+v", found.Words(), found)
	}
	r.answer = nil
	found, err = r.Probe(t.Context(), plan, nil)
	noerr.Must(t, err)
	if found.Safe != 16 || found.Wall != 0 || !strings.HasPrefix(found.Words(), "safe 16 (the product's limit), ") || !strings.HasSuffix(found.Words(), ", $1.50 per 1,000") || found.Sent != 20+20+20+20+32 {
		t.Errorf("%s: %+v", found.Words(), found)
	}
	c := pace.Call{Profile: r.known.Profile.Name, Zone: "unlocker1", Host: "shop.test"}
	if safe, ok := safes.Find(t.Context(), c); !ok || safe.AtOnce != 16 || safe.Words != found.Words() {
		t.Errorf("%+v", safe)
	}
	if n, probed := r.Fetch.SafePace(t.Context(), r.known.Profile.Name, plan.Request); n != 16 || !strings.HasPrefix(probed, found.Words()+", probed 20") {
		t.Errorf("an export holds to %d: %s", n, probed)
	}
	plan.Request.URL = "http://other.test/"
	if n, probed := r.Fetch.SafePace(t.Context(), r.known.Profile.Name, plan.Request); n != 0 || probed != "" {
		t.Errorf("of a host that was not probed: %d %s", n, probed)
	}
}

func TestAProbeLooksBetweenTheLastLevelAndTheWall(t *testing.T) {
	r := newRig(t)
	r.refusing(2, false)
	plan, err := batch.PlanProbe(r.known, page(), 0)
	noerr.Must(t, err)
	if plan.Fetches != 166 { // $0.25 by $1.50 for 1,000
		t.Errorf("%+v", plan)
	}
	found, err := r.Probe(t.Context(), plan, nil)
	noerr.Must(t, err)
	// How many are really in flight is the machine's to say, but above the wall nothing is safe.
	if found.Safe < 2 || found.Wall != found.Safe+1 || found.WallBy != "is refused twice" {
		t.Errorf("%s: %+v", found.Words(), found)
	}
}

func TestAProbeStopsAtItsCapAndAfterFiveRefusalsByTheService(t *testing.T) {
	r := newRig(t)
	plan, err := batch.PlanProbe(r.known, page(), 0.04)
	noerr.Must(t, err)
	found, err := r.Probe(t.Context(), plan, nil)
	noerr.Must(t, err)
	if found.Sent != 20 || found.Cost > 0.04 || found.Stopped != "20 more fetches at 2 at once could pass the cap of $0.0400, of which $0.0300 is spent" {
		t.Errorf("%+v", found)
	}
	if !strings.HasPrefix(found.Words(), "safe at least 1 (no wall was found), ") {
		t.Error(found.Words())
	}
	if _, err := batch.PlanProbe(r.known, page(), 0.0001); err == nil || !strings.Contains(err.Error(), "below what one fetch may cost") {
		t.Errorf("%v", err)
	}
	r.refusing(0, true)
	found, err = r.Probe(t.Context(), plan, nil)
	noerr.Must(t, err)
	if found.Sent != 1 || found.WallBy != "is refused by the service" {
		t.Errorf("%+v", found)
	}
}

func TestAProbeOfAZonePricedByBytesGoesByTheBodiesThatItHasSeen(t *testing.T) {
	r := newRig(t)
	safes := pace.Safes{Dir: t.TempDir()}
	p := r.known.Profile
	p.Zones = slices.Clone(p.Zones)
	for i := range p.Zones {
		p.Zones[i].Rate = model.Rate{PerGB: 0.6}
	}
	r.known.Profile = p
	r.Fetch = fetch.New(fetch.Config{
		Source: servicetest.SourceFor(r.known.Profile), Wire: exchange.New(exchange.Config{}), Bodies: exchange.Bodies{Dir: r.dir},
		Pace: &pace.Limiter{Store: pace.Files{Dir: t.TempDir()}, Safes: safes, Clock: servicetest.ClockFunc(time.Now)},
	})
	plan := noerr.Try(batch.PlanProbe(r.known, page(), 0.25)).Must(t)
	if plan.Fetches != 2000 || plan.Cost != 0.25 {
		t.Errorf("%+v", plan)
	}
	if found := noerr.Try(r.Probe(t.Context(), plan, nil)).Must(t); found.Safe != 16 || found.Stopped != "" {
		t.Errorf("%s: %+v", found.Words(), found)
	}
	plan = noerr.Try(batch.PlanProbe(r.known, page(), 0.0125)).Must(t) // two may be in flight
	plan.Request.URL = "http://other.test/1"
	r.pause = 5 * time.Millisecond
	found := noerr.Try(r.Probe(t.Context(), plan, nil)).Must(t)
	if found.Safe != 2 || found.Wall != 0 || !strings.HasPrefix(found.Words(), "safe at least 2 ") ||
		!strings.HasSuffix(found.Stopped, "one may cost $0.0060, for a body of 10 MB; a lower --max-body makes that less") {
		t.Errorf("%s, %s: %+v", found.Words(), found.Stopped, found)
	}
	if safe, kept := safes.Find(t.Context(), pace.Call{Profile: r.known.Profile.Name, Zone: "unlocker1", Host: "other.test"}); kept {
		t.Errorf("what the cap ended is kept: %+v", safe)
	}
}
