package batch_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/database/postgrestest"
)

func TestARuleIsReadOrItsPlaceIsSaid(t *testing.T) {
	r := newRig(t)
	for text, want := range map[string]string{
		"captcha x2":                           "at character 1: before '->' stand a class and a number",
		"captcha -> zone=isp1":                 "at character 1: before '->' stand",
		"puzzle x2 -> zone=isp1":               `at character 1: "puzzle" is no class of a failure`,
		"captcha 2 -> zone=isp1":               `at character 9: "2" is no number such as x2`,
		"captcha x0 -> zone=isp1":              `at character 9: "x0" is no number`,
		"captcha x2 -> isp1":                   "at character 14: behind '->' stands zone= with",
		"captcha x2 -> zone=isp1,site":         `at character 25: "site" is neither host nor item`,
		"captcha x2 -> zone=other":             "rule 1: ",
		"captcha x2 -> zone=unlocker1":         "rule 1: unlocker1 is the batch's own zone",
		"captcha x2 -> zone=isp1, host, twice": `"host, twice" is neither host nor item`,
		"captcha x2 -> zone=isp1,item":         "rule 1 can never hold: an item has at most 1 result of class captcha: write x1, or ',host'",
		"timeout x4 -> zone=isp1,item":         "rule 1 can never hold: an item has at most 3 results of class timeout: write x3, or ',host'",
	} {
		d := draft(urls(1))
		d.Request.Retries = 2
		d.Rules = []string{text}
		_, err := r.Check(t.Context(), r.known, d, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// ruled is a rig with a second zone that costs 3 for 1,000, and a draft whose rule leads to it.
func ruled(t *testing.T, rule, input string) (*rig, batch.Draft) {
	t.Helper()
	r := newRig(t)
	d := draft(input)
	d.Rules, d.AtOnce, d.Request.Retries = []string{rule}, 1, 0
	r.byZone = func(w http.ResponseWriter, url, zone string) bool {
		return strings.Contains(url, "guarded") && zone != "isp1" && refused(1000)(w, "0", 0)
	}
	return r, d
}

const mixedHosts = "http://guarded.test/1\nhttp://open.test/1\nhttp://guarded.test/2\nhttp://guarded.test/3\nhttp://open.test/2\n"

func TestARuleForAHostHoldsFromThenOn(t *testing.T) {
	r, d := ruled(t, "captcha x2 -> zone=isp1,host", mixedHosts)
	s := r.start(t, d)
	if s.Plan.Price != 3_000_000 {
		t.Errorf("priced at %d: the dearest zone's is 3", s.Plan.Price)
	}
	if words := s.RuleWords(); words[0] != "captcha x2 -> zone=isp1,host: has not held yet" {
		t.Error(words)
	}
	s = r.run(t, s.ID)
	zones := map[int64]string{}
	for n, line := range r.lines(t, s.ID) {
		zones[n] = fmt.Sprintf("%s %s %d %d", line.Zone, line.Class, line.ByRule, line.Attempts)
	}
	want := map[int64]string{0: "unlocker1 captcha 0 1", 1: "unlocker1 ok 0 1", 2: "isp1 ok 1 2", 3: "isp1 ok 1 1", 4: "unlocker1 ok 0 1"}
	if fmt.Sprint(zones) != fmt.Sprint(want) || s.Fired()[0] != 1 || s.Spent != 4*1_500_000+2*3_000_000 {
		t.Errorf("%v, fired %v, spent %d", zones, s.Fired(), s.Spent)
	}
	if words := s.RuleWords(); len(words) != 1 || words[0] != "captcha x2 -> zone=isp1,host: held for 1 host" {
		t.Error(words)
	}
	// What was refused before the rule held is sent again, by the rule, which is still known.
	if _, _, err := r.Retry(t.Context(), s.ID, []batch.Failure{{Class: model.ClassCaptcha}}); err != nil {
		t.Error(err)
	}
	s = r.run(t, s.ID)
	if line := r.lines(t, s.ID)[0]; line.Zone != "isp1" || line.ByRule != 1 || line.Attempts != 1 || s.OK() != 5 || s.Fired()[0] != 1 {
		t.Errorf("%+v, %d ok, fired %v", line, s.OK(), s.Fired())
	}
	if words := s.ZoneWords(); !slices.Equal(words, []string{"isp1: 3 ok, 0 failed", "unlocker1: 2 ok, 0 failed"}) {
		t.Error(words) // what came through unlocker1 and was sent again counts no more
	}
	report := noerr.Try(r.Report(t.Context(), s.ID)).Must(t)
	if len(report.Zones) != 2 || report.Zones[0] != (batch.ZoneSum{Zone: "isp1", ByRule: 1, Items: 3, OK: 3, Cost: 0.0105}) || report.Zones[1].Items != 2 {
		t.Errorf("%+v", report.Zones)
	}
	if cost, known := report.UsefulCost(); !known || cost != batch.Dollars(s.Spent)/5 || report.Retries() != 2 {
		t.Errorf("%v for each, %d retries", cost, report.Retries())
	}
}

func TestARuleGoesOnCountingInTheNextRun(t *testing.T) {
	r, d := ruled(t, "captcha x2 -> zone=isp1,host", "http://guarded.test/1\nhttp://guarded.test/2\nhttp://guarded.test/3\n")
	d.AtOnce, d.Request.Retries, d.Cap = 1, 0, 0.003 // what one try through isp1 may cost
	s := r.start(t, d)
	if s = r.run(t, s.ID); s.State != store.Capped || s.Tally.Answered != 1 {
		t.Fatalf("%s with %d answers", s.State, s.Tally.Answered)
	}
	none := 0.0
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{Cap: &none})).Must(t)
	s = r.run(t, s.ID)
	if lines := r.lines(t, s.ID); s.State != store.Done || s.Fired()[0] != 1 || lines[0].ByRule != 0 || lines[1].ByRule != 1 || lines[2].ByRule != 1 {
		t.Errorf("%s, fired %v: %+v", s.State, s.Fired(), lines)
	}
}

// TestARuleCountsWhatAllWorkersSee has three workers meet the results that a rule counts on one host.
func TestARuleCountsWhatAllWorkersSee(t *testing.T) {
	const atOnce, holds = 12, 200
	path := filepath.Join(t.TempDir(), "batches")
	address := postgrestest.Address(t, path)
	r, d := ruled(t, "captcha x200 -> zone=isp1,host", strings.ReplaceAll(urls(2400), "shop.test", "guarded.test"))
	r.pause = 20 * time.Millisecond
	workers := []*batch.Batches{r.worker(t, address, "a"), r.worker(t, address, "b"), r.worker(t, address, "c")}
	r.Batches = workers[0]
	d.AtOnce = atOnce
	s := r.start(t, d)
	var all sync.WaitGroup
	for _, b := range workers {
		all.Go(func() { noerr.Want(t, noerr.From(b.Run(t.Context(), s.ID, func(batch.State) {}))) })
	}
	all.Wait()
	s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t)
	if words := s.RuleWords(); s.State != store.Done || words[0] != "captcha x200 -> zone=isp1,host: held for 1 host" {
		t.Errorf("%s: %s", s.State, words)
	}
	var counted int
	noerr.Must(t, postgrestest.Server(t, path).QueryRowContext(t.Context(), "SELECT SUM(times) FROM batch_counts").Scan(&counted))
	if counted < holds || counted >= 2*holds {
		t.Errorf("%d were counted until it held", counted)
	}
}

// TestCountsOfTwoRunsAddUp has a rule begin to hold in the commit of a run that saw too little of it by itself.
func TestCountsOfTwoRunsAddUp(t *testing.T) {
	r, d := ruled(t, "captcha x3 -> zone=isp1,host", mixedHosts)
	s := r.start(t, d)
	st := noerr.Try(r.Files.Batches(t.Context())).Must(t)
	commit := func(times int64) (sum int64, fired int64) {
		of := store.Count{Host: "guarded.test"}
		p := store.Progress{Worker: "a", Counts: map[store.Count]int64{of: times}, Holds: []int64{3}}
		b, _, err := st.Commit(t.Context(), s.ID, p)
		noerr.Must(t, err)
		return p.Counts[of], b.Tally.Fired[1]
	}
	for _, step := range []struct{ times, sum, fired int64 }{{2, 2, 0}, {2, 4, 1}, {2, 6, 1}} {
		if sum, fired := commit(step.times); sum != step.sum || fired != step.fired {
			t.Errorf("%d more: %d, held for %d hosts; want %d, %d", step.times, sum, fired, step.sum, step.fired)
		}
	}
}

// TestAHostThatIsNoTextEndsNoRun has a host that a database does not take as it is.
func TestAHostThatIsNoTextEndsNoRun(t *testing.T) {
	r, d := ruled(t, "captcha x2 -> zone=isp1,host", "http://open.test/1\nhttp://%ff.guarded.test/1\nhttp://%ff.guarded.test/2\n")
	r.Batches = r.worker(t, postgrestest.Address(t, filepath.Join(t.TempDir(), "batches")), "a")
	s := r.start(t, d)
	s = noerr.Try(r.Run(t.Context(), s.ID, func(batch.State) {})).Must(t)
	if _, counted := s.Tally.Hosts["\ufffd.guarded.test"]; s.State != store.Done || s.Tally.Answered != 3 || !counted || s.Fired()[0] != 1 {
		t.Errorf("%s: %+v", s.State, s.Tally)
	}
}

func TestAFailureIsReadAsItIsShown(t *testing.T) {
	for word, want := range map[string]batch.Failure{
		"captcha": {Class: model.ClassCaptcha}, "CAPTCHA": {Class: model.ClassCaptcha}, "access restricted": {Class: model.ClassAccessRestricted},
		"target error": {model.ClassOutside, model.CauseTargetError}, " target_error": {model.ClassOutside, model.CauseTargetError}, "outside": {Class: model.ClassOutside},
	} {
		if got, err := batch.ParseFailure(word); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", word, got, err, want)
		}
	}
	for _, word := range []string{"", "ok", "site_block"} {
		if got, err := batch.ParseFailure(word); err == nil || !strings.Contains(err.Error(), "write one of access_restricted, too_fast, captcha, timeout, parsing_drift, outside, key_rejected, ") {
			t.Errorf("%q: %v, %v", word, got, err)
		}
	}
}

func TestARuleForACauseLeavesOtherCausesAlone(t *testing.T) {
	r, d := ruled(t, "target_error x1 -> zone=isp1,item", "http://open.test/missing\nhttp://guarded.test/1\n")
	d.Request.Retries = 0
	r.byZone = func(w http.ResponseWriter, url, zone string) bool {
		if zone == "isp1" {
			return false
		}
		w.Header().Set("X-Brd-Status-Code", map[bool]string{true: "404", false: "200"}[strings.Contains(url, "missing")]) // the other page is empty
		return true
	}
	s := r.start(t, d)
	if s = r.run(t, s.ID); s.Fired()[0] != 1 || s.RuleWords()[0] != "target_error x1 -> zone=isp1,item: held for 1 item" {
		t.Errorf("%v: %v", s.RuleWords(), s.Tally.Verdicts)
	}
}

func TestARuleForAnItemHoldsForThatOneAlone(t *testing.T) {
	r, d := ruled(t, "captcha x1 -> zone=isp1,item", mixedHosts)
	s := r.start(t, d)
	s = r.run(t, s.ID)
	if s.State != store.Done || s.OK() != 5 || s.Fired()[0] != 3 || s.Tally.Tries != 8 {
		t.Errorf("%s: %+v, fired %v", s.State, s.Tally, s.Fired())
	}
}

func TestTheCapIsHeldAtTheDearestPriceOfARule(t *testing.T) {
	r, d := ruled(t, "captcha x1 -> zone=isp1,host", mixedHosts)
	d.Cap = 0.002
	if _, err := r.Check(t.Context(), r.known, d, nil); err == nil || !strings.Contains(err.Error(), "below what one fetch may cost, $0.0030") {
		t.Error(err)
	}
	d.Rules, d.Cap = []string{"captcha x1 -> zone=dc1,host"}, 1
	d.Input.Source = strings.NewReader(mixedHosts)
	if _, err := r.Check(t.Context(), r.known, d, nil); err == nil || !strings.Contains(err.Error(), "zone dc1 has no rate") {
		t.Error(err)
	}
}
