package drift

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/rows"
)

var today = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func openStore(t *testing.T, keep Keep) *Store {
	t.Helper()
	s, notice, err := Open(t.Context(), filepath.Join(t.TempDir(), "drift.db"), func() time.Time { return today }, keep)
	if err != nil || notice != "" {
		t.Fatal(notice, err)
	}
	t.Cleanup(func() { noerr.Want(t, s.Close()) })
	return s
}

// monitor works on a store, with contracts in a folder of their own.
func monitor(t *testing.T, s *Store) *Monitor {
	t.Helper()
	return NewMonitor(Config{Open: func(context.Context) (*Store, error) { return s, nil }, ContractsDir: filepath.Join(t.TempDir(), "contracts"), Person: "ops"})
}

// result stores the result of a job that was accepted so many days ago.
func result(t *testing.T, m *Monitor, id string, days int, text string) string {
	t.Helper()
	seen := m.Result(model.Job{ID: id, Profile: "p", Dataset: "gd_x", Accepted: today.AddDate(0, 0, -days)})
	counted := model.JobRows{Counted: true, Errors: []model.JobRowErrors{{Code: "dead", Class: model.ClassAccessRestricted, Rows: 1}}}
	noerr.Must(t, rows.EachRow(strings.NewReader(text), "ndjson", func(r rows.Row) error {
		seen.Row(r)
		return nil
	}))
	said, err := seen.Keep(t.Context(), counted)
	noerr.Must(t, err)
	return said.Text
}

var gdX = Subject{"p", Dataset, "gd_x"}

func show(t *testing.T, m *Monitor) Detail {
	t.Helper()
	d, err := m.Show(t.Context(), gdX)
	noerr.Must(t, err)
	return d
}

const (
	whole  = `{"name":"n%d","price":1,"input":{"url":"u%d"}}`
	broken = `{"name":"n%d","price":null,"input":{"url":"u%d"}}`
)

func TestARunIsKeptWithItsVerdict(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	for i := range 3 {
		if said := result(t, m, fmt.Sprintf("job-%d", i), 10-i, many(30, whole)); said != "" {
			t.Errorf("run %d: %s", i, said)
		}
	}
	said := result(t, m, "job-3", 2, many(30, broken))
	if said != "1 field emptied since job-2" {
		t.Error(said)
	}
	result(t, m, "job-4", 1, many(30, broken))
	d := show(t, m)
	if d.Run.Ref != "job-4" || d.Verdict.State != Drift || len(d.Runs) != 5 {
		t.Errorf("%+v", d.Standing)
	}
	if d.Lines[0].Field != "price" || d.Lines[0].Since != "job-2" {
		t.Errorf("%s drifts since %q; want the last good run, which the job names", d.Lines[0].Field, d.Lines[0].Since)
	}
	if want := []State{First, Good, Good, Drift, Drift}; !slices.Equal(d.States, want) {
		t.Errorf("states %q, want %q", d.States, want)
	}
	old, err := m.ShowRun(t.Context(), gdX, "job-3")
	if err != nil || old.Run.Ref != "job-3" || !errors.Is(old.Acceptable(), ErrNewer) || errors.Is(d.Acceptable(), ErrNewer) {
		t.Errorf("job-3: %v, acceptable: %v; job-4: %v", err, old.Acceptable(), d.Acceptable())
	}
	price := d.Lines[0]
	if price.Field != "price" || price.Now != 0 || price.Before != 1 || !slices.Equal(price.History, []float64{1, 1, 1, 0, 0}) || price.Findings[0].Since != "job-3" || Sparkline(price.History, 4) != "██▁▁" {
		t.Errorf("%+v", price)
	}
	// A result that is downloaded again replaces its run and stays in its place.
	result(t, m, "job-3", 0, many(30, whole))
	if d := show(t, m); d.Runs[1].Ref != "job-3" || d.Runs[1].State != Good || len(d.Runs) != 5 {
		t.Errorf("%+v", d.Runs)
	}
}

func TestTheStoreJudgesByAllRunsThatCount(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	var earlier []Run
	for i := range 38 {
		row := `{"name":"n","price":1}`
		if i%7 == 3 || i >= 20 {
			row = `{"name":"n","price":null}`
		}
		r := runOf(t, row, "ndjson", nil)
		r.Ref, r.At = fmt.Sprintf("job-%d", i), today.Add(time.Duration(i)*time.Minute)
		v, err := m.put(t.Context(), r)
		noerr.Must(t, err)
		want := Judge(r, earlier, nil)
		if said(v) != said(want) {
			t.Fatalf("run %d:\n%s\nwant\n%s", i, said(v), said(want))
		}
		r.State, r.Findings = want.State, want.Findings
		earlier = append([]Run{r}, earlier...)
	}
	if earlier[0].State != Drift || earlier[0].Findings[0].Runs < 2 {
		t.Errorf("the last run: %+v", earlier[0].Findings)
	}
}

func TestAnOlderResultIsJudgedByWhatWasBeforeIt(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	result(t, m, "job-9", 1, many(30, broken))
	result(t, m, "job-1", 9, many(30, whole))
	d := show(t, m)
	if d.Run.Ref != "job-9" || d.Verdict.State != Drift || d.Runs[1].State != First {
		t.Errorf("%+v %+v", d.Verdict, d.Runs)
	}
}

func TestWhatIsAcceptedIsNormalUntilItIsTakenBack(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	if _, err := m.Accept(t.Context(), gdX, 0, ""); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	result(t, m, "job-1", 9, many(30, whole))
	result(t, m, "job-2", 8, many(30, broken))
	if r, err := m.Accept(t.Context(), gdX, 0, "the shop has no prices\nnow"); err != nil || r.Run.Ref != "job-2" {
		t.Fatal(r.Run.Ref, err)
	}
	d := show(t, m)
	if d.Verdict.State != Good || !d.Verdict.Judged() || d.Accepted.Person != "ops" || d.Accepted.Reason != "the shop has no prices now" || d.Accepted.Ref != "job-2" || !d.Accepted.At.Equal(today) {
		t.Errorf("%+v, %+v", d.Verdict, d.Accepted)
	}
	if said := result(t, m, "job-3", 7, many(30, broken)); said != "" {
		t.Error(said)
	}
	if d := show(t, m); d.Verdict.State != Good || d.Verdict.Against != 1 {
		t.Errorf("%+v", d.Verdict)
	}
	if said := result(t, m, "job-4", 6, many(30, whole)); said != "" { // a field that is filled again is not drift
		t.Error(said)
	}
	noerr.Must(t, m.TakeBack(t.Context(), gdX))
	if d := show(t, m); d.Accepted.Seq != 0 || d.Verdict.State != Good {
		t.Errorf("%+v", d.Standing)
	}
	if err := m.TakeBack(t.Context(), gdX); !errors.Is(err, ErrNotAccepted) {
		t.Error(err)
	}
	result(t, m, "job-5", 5, `{"error":"dead"}`)
	if _, err := m.Accept(t.Context(), gdX, 0, ""); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
}

// The words of a job's list: they name the last good run while the drift lasts.
func TestADriftIsSaidInAFewWords(t *testing.T) {
	const row = `{"name":"n%d","price":1,"sku":"s%d","seller":{"id":"x%d","city":"c%d"},"input":{"url":"u%d"}}`
	contract := "dataset = \"gd_x\"\nmin_rows = 31\n"
	for _, c := range []struct{ row, contract, want string }{
		{row, "", ""},
		{`{"name":"n%d","price":null,"sku":"","seller":{"id":"x%d","city":"c%d"},"input":{"url":"u%d"}}`, "", "2 fields emptied since job-2"},
		{`{"name":"n%d","price":1,"sku":"s%d","seller":null,"input":{"url":"u%d"}}`, "", "1 field emptied since job-2"}, // its members go with it
		{`{"name":"n%d","price":1,"sku":null,"input":{"url":"u%d"}}`, "", "2 fields changed since job-2"},
		{`{"name":"n%d","price":"1","sku":"s%d","seller":{"id":"x%d","city":"c%d"},"input":{"url":"u%d"}}`, "", "1 field of other types since job-2"},
		{`{"input":{"url":"u%d"},"name":null,"price":null,"sku":"","seller":{}}`, "", "4 fields emptied since job-2"}, // no row is useful
		{`{"input":{"url":"u%d"},"error":"dead"}`, "", ""},
		{`{"input":{"url":"u%d"}}`, "", ""}, // it has no fields
		{row, contract, "fewer useful rows than its contract wants"},
		{`{"input":{"url":"u%d"},"error":"dead"}`, contract, "fewer useful rows than its contract wants"},
	} {
		m := monitor(t, openStore(t, DefaultKeep()))
		for i := range 3 {
			result(t, m, fmt.Sprintf("job-%d", i), 10-i, many(30, row))
		}
		if c.contract != "" {
			noerr.Must(t, os.MkdirAll(m.cfg.ContractsDir, 0o700))
			noerr.Must(t, os.WriteFile(filepath.Join(m.cfg.ContractsDir, "gd_x.toml"), []byte(c.contract), 0o600))
		}
		for _, job := range []string{"job-3", "job-4"} {
			if said := result(t, m, job, 2, many(30, c.row)); said != c.want {
				t.Errorf("%s: %q, want %q", c.row, said, c.want)
			}
		}
	}
}

// A result without a useful row shows its fields all the same, and is not useful.
func TestTheFieldsOfEmptyRowsAreShown(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	result(t, m, "job-1", 2, many(30, whole))
	result(t, m, "job-2", 1, many(30, `{"name":null,"price":null,"input":{"url":"u%d"}}`))
	d := show(t, m)
	if d.Verdict.State != Drift || d.Run.Useful != 0 || !errors.Is(d.Acceptable(), ErrNothing) || len(d.Lines) != 2 {
		t.Fatalf("%+v", d.Standing)
	}
	for _, l := range d.Lines {
		if l.Now != 0 || l.Before != 1 || !slices.Equal(l.History, []float64{1, 0}) {
			t.Errorf("%+v", l)
		}
	}
	result(t, m, "job-4", 0, many(30, whole))
	if d := noerr.Try(m.ShowRun(t.Context(), gdX, "job-2")).Must(t); d.Run.Ref != "job-2" || d.Verdict.State != Drift || len(d.Runs) != 2 {
		t.Errorf("as of job-2: %+v", d.Standing)
	}
	if d := noerr.Try(m.ShowRun(t.Context(), gdX, "job-9")).Must(t); d.Run.Ref != "job-4" {
		t.Errorf("of a job without a run: %+v", d.Standing)
	}
	if said := result(t, m, "job-3", 0, many(30, whole)); said != "" {
		t.Errorf("the good run after it: %s", said)
	}
}

// The next run is compared with the accepted one, although that was drift when it came.
func TestTheRunAfterAnAcceptanceIsHeldAgainstTheAcceptedOne(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	for i := range 5 {
		result(t, m, fmt.Sprintf("job-%d", i), 50-i, many(30, whole))
	}
	result(t, m, "job-5", 40, many(30, broken))
	noerr.Must(t, noerr.From(m.Accept(t.Context(), gdX, 0, "")))
	want := "1 field lost since job-5"
	if said := result(t, m, "job-6", 39, many(30, `{"title":"n%d","price":null,"input":{"url":"u%d"}}`)); said != want {
		t.Errorf("%q, want %q", said, want)
	}
}

func TestWhatWasGoodByAnAcceptanceIsNotGoodWithoutIt(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	for i := range 5 {
		result(t, m, fmt.Sprintf("job-%d", i), 50-i, many(30, whole))
	}
	result(t, m, "job-5", 40, many(30, broken))
	noerr.Must(t, noerr.From(m.Accept(t.Context(), gdX, 0, "")))
	for i := range 11 {
		if said := result(t, m, fmt.Sprintf("job-%d", 6+i), 39-i, many(30, broken)); said != "" {
			t.Fatal(said)
		}
	}
	noerr.Must(t, m.TakeBack(t.Context(), gdX))
	if d := show(t, m); d.Verdict.State != Drift || d.Verdict.Findings[0].Since != "job-5" || d.Verdict.Against != 5 || d.Runs[3].State != Drift {
		t.Errorf("%+v", d.Verdict)
	}
	if said := result(t, m, "job-99", 1, many(30, broken)); said != "1 field emptied since job-4" {
		t.Error(said)
	}
}

func TestWhatIsNormalAlreadyIsNotAccepted(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	result(t, m, "job-1", 9, many(30, whole))
	result(t, m, "job-2", 8, many(30, whole))
	if _, err := m.Accept(t.Context(), gdX, 0, ""); !errors.Is(err, ErrNormal) {
		t.Error(err)
	}
	result(t, m, "job-3", 7, many(30, broken))
	noerr.Must(t, noerr.From(m.Accept(t.Context(), gdX, 0, "the shop has no prices")))
	if _, err := m.Accept(t.Context(), gdX, 0, "again"); !errors.Is(err, ErrAccepted) {
		t.Error(err)
	}
	store, err := m.cfg.Open(t.Context())
	noerr.Must(t, err)
	if err := store.Accept(t.Context(), show(t, m).Run, "ops", ""); !errors.Is(err, ErrAccepted) { // someone accepted it meanwhile
		t.Error(err)
	}
	noerr.Must(t, m.TakeBack(t.Context(), gdX))
	if d := show(t, m); d.Accepted.Seq != 0 || d.Verdict.State != Drift {
		t.Errorf("one was accepted and taken back: %+v", d.Standing)
	}
}

func TestARunThatWasNotSeenIsNotAccepted(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	result(t, m, "job-1", 9, many(30, whole))
	result(t, m, "job-2", 8, many(30, broken))
	seen := show(t, m).Run
	result(t, m, "job-3", 7, many(30, `{"name":"n%d"}`))
	if _, err := m.Accept(t.Context(), gdX, seen.Seq, ""); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
	store, err := m.cfg.Open(t.Context())
	noerr.Must(t, err)
	if err := store.Accept(t.Context(), seen, "ops", ""); !errors.Is(err, ErrNewer) { // a newer run came since it was read
		t.Error(err)
	}
	if d := show(t, m); d.Accepted.Seq != 0 {
		t.Errorf("%+v", d.Accepted)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Run("runs, but not the good ones that count", func(t *testing.T) {
		m := monitor(t, openStore(t, Keep{Runs: 8, Age: 1000 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5}))
		for i := range 12 {
			result(t, m, fmt.Sprintf("job-%02d", i), 90-i, many(30, whole))
		}
		for i := range 12 {
			result(t, m, fmt.Sprintf("job-%02d", 12+i), 70-i, many(30, broken))
		}
		d := show(t, m)
		if len(d.Runs) != 8+12 || d.Verdict.State != Drift || d.Verdict.Against != goodRuns || d.Runs[8].Ref != "job-11" || d.Lines[0].Findings[0].Since != "job-12" {
			t.Errorf("%d runs, %+v", len(d.Runs), d.Standing)
		}
	})
	t.Run("runs, but not the first good ones since an acceptance", func(t *testing.T) {
		m := monitor(t, openStore(t, Keep{Runs: 8, Age: 1000 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5}))
		for i := range 3 {
			result(t, m, fmt.Sprintf("job-%02d", i), 90-i, many(30, whole))
		}
		result(t, m, "job-03", 87, many(30, broken))
		noerr.Must(t, noerr.From(m.Accept(t.Context(), gdX, 0, "")))
		for i := range 36 {
			result(t, m, fmt.Sprintf("job-%02d", 4+i), 80-i, many(30, broken))
		}
		var kept []string
		for _, r := range show(t, m).Runs {
			kept = append(kept, strings.TrimPrefix(r.Ref, "job-"))
		}
		if want := "39 38 37 36 35 34 33 32 31 30 12 11 10 09 08 07 06 05 04 03"; strings.Join(kept, " ") != want {
			t.Errorf("%q, want %q", kept, want)
		}
	})
	t.Run("age", func(t *testing.T) {
		m := monitor(t, openStore(t, Keep{Runs: 100, Age: 10 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5}))
		for i := range 25 {
			result(t, m, fmt.Sprintf("job-%02d", i), 40-i, many(3, whole))
		}
		if d := show(t, m); len(d.Runs) != 2*goodRuns { // all are too old
			t.Errorf("%d runs", len(d.Runs))
		}
	})
	size := func(t *testing.T, s *Store) (bytes, runs int) {
		t.Helper()
		noerr.Must(t, s.db.QueryRowContext(t.Context(), "SELECT sum(length(fields)+length(findings)), count(*) FROM runs").Scan(&bytes, &runs))
		return bytes, runs
	}
	t.Run("size", func(t *testing.T) {
		s := openStore(t, Keep{Runs: 100, Age: 1000 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5})
		m := monitor(t, s)
		result(t, m, "job-00", 30, many(30, whole))
		one, _ := size(t, s)
		s.keep.Bytes = int64(one*3 + one/2)
		for i := range 9 {
			result(t, m, fmt.Sprintf("job-%02d", i+1), 29-i, many(30, whole))
		}
		if bytes, runs := size(t, s); bytes > one*3+one/2 || runs < 2 || runs > 4 {
			t.Errorf("%d bytes in %d runs, of which one had %d", bytes, runs, one)
		}
	})
	t.Run("size, and a collector with many runs beside one with few", func(t *testing.T) {
		s := openStore(t, Keep{Runs: 100, Age: 1000 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5})
		m := monitor(t, s)
		result(t, m, "job-1", 90, many(30, whole))
		result(t, m, "job-2", 80, many(30, broken))
		fetch := func(i int) {
			t.Helper()
			r := model.FetchResult{ID: fmt.Sprintf("f_%d", i), Started: today.Add(time.Duration(i) * time.Minute), Request: model.FetchRequest{URL: "http://shop.test/x"}}
			r.Fields = []model.Field{{Path: strings.Repeat("x", 100), Found: i%2 == 0}}
			noerr.Must(t, m.Fetched(t.Context(), "p", r, []byte("<p>"+r.ID)))
		}
		two, _ := size(t, s)
		fetch(0)
		three, _ := size(t, s)
		s.keep.Bytes = int64(two + 10*(three-two))
		for i := range 30 {
			fetch(i + 1)
		}
		if bytes, runs := size(t, s); int64(bytes) > s.keep.Bytes || runs > 20 {
			t.Errorf("%d bytes in %d runs", bytes, runs)
		}
		if d := show(t, m); d.Verdict.State != Drift || len(d.Runs) != 2 {
			t.Errorf("%d runs, %+v", len(d.Runs), d.Verdict)
		}
	})
	t.Run("acceptances", func(t *testing.T) {
		s := openStore(t, Keep{Runs: 100, Age: 1000 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 2})
		m := monitor(t, s)
		for i := range 5 {
			result(t, m, fmt.Sprintf("job-%d", i), 9-i, many(3, whole))
			noerr.Must(t, s.Accept(t.Context(), show(t, m).Run, "ops", ""))
		}
		result(t, m, "job-9", 0, many(3, whole))
		var n int
		if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM accepted").Scan(&n); err != nil || n != 2 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func TestCollectorsWithoutUsefulRowsStandFirst(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	result(t, m, "job-1", 9, many(30, whole))
	result(t, m, "job-2", 8, many(30, broken))
	fetch := func(id string, class model.Class, days int) {
		t.Helper()
		noerr.Must(t, m.Fetched(t.Context(), "p", model.FetchResult{ID: id, Started: today.AddDate(0, 0, -days), Request: model.FetchRequest{URL: "http://shop.test/x", Required: []string{"b"}}, Diagnosis: model.Diagnosis{Class: class}}, nil))
	}
	fetch("f_1", model.ClassTimeout, 4)
	fetch("f_2", model.ClassCaptcha, 3)
	fetch("f_3", model.ClassCaptcha, 2)
	job := func(dataset string, state model.JobState, class model.Class, useful int, counted bool) model.Job {
		j := model.Job{ID: "job-" + dataset, Profile: "p", Dataset: dataset, State: state, Fault: model.JobFault{Diagnosis: model.Diagnosis{Class: class}}, Created: today}
		j.Rows = model.JobRows{Counted: counted, Useful: useful}
		return j
	}
	lost := func(dataset string, call model.JobCall) model.Job {
		j := job(dataset, model.JobExpired, "", 0, false)
		j.Fault = model.JobFault{Call: call, Diagnosis: model.JobForgotten(model.Diagnosis{})}
		return j
	}
	var jobs []model.Job
	for range 5 {
		jobs = append(jobs, lost("gd_lost", model.CallProgress), lost("gd_unfetched", model.CallDownload))
		jobs = append(jobs, job("gd_dead", model.JobFailed, model.ClassAccessRestricted, 0, false), job("gd_running", model.JobRunning, "", 0, false),
			job("gd_empty", model.JobDownloaded, "", 0, true))
	}
	jobs = append(jobs, job("gd_once", model.JobFailed, model.ClassTimeout, 0, false), job("gd_once", model.JobDownloaded, "", 5, true), job("gd_once", model.JobFailed, "", 0, false),
		model.Job{Profile: "other", Dataset: "gd_other", State: model.JobFailed}, job("gd_dead", model.JobDownloaded, "", 9, true))
	list, err := m.Standings(t.Context(), "p", jobs)
	noerr.Must(t, err)
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s %s %d %s", s.Run.Name, s.Verdict.State, s.Silent, s.SilentClass))
	}
	want := []string{"gd_dead empty 5 access_restricted", "shop.test/x empty 3 captcha", "gd_empty empty 5 outside", "gd_lost empty 5 outside", "gd_x drift 0 "}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A result that lacks records does not tell what the collector gives. It is not a run, nor a silent one.
func TestAResultThatLacksRecordsIsSaidAndNotCounted(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	result(t, m, "job-1", 9, many(30, whole))
	cut := model.Job{ID: "job-9", Profile: "p", Dataset: "gd_x", State: model.JobDownloaded, Records: 30, Rows: model.JobRows{Counted: true}, Created: today}
	other := cut
	other.Profile = "other"
	good := model.Job{ID: "job-1", Profile: "p", Dataset: "gd_x", State: model.JobDownloaded, Records: 30, Rows: model.JobRows{Counted: true, Returned: 30, Useful: 30}}
	for name, c := range map[string]struct {
		jobs []model.Job
		want string
	}{
		"the newest":    {[]model.Job{cut, cut, cut, good}, "job-9"},
		"an older one":  {[]model.Job{good, cut}, ""},
		"another's job": {[]model.Job{other, good}, ""},
	} {
		list, err := m.Standings(t.Context(), "p", c.jobs)
		if err != nil || len(list) != 1 || list[0].Incomplete != c.want || list[0].Silent != 0 {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

func TestADamagedStoreIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drift.db")
	noerr.Must(t, os.WriteFile(path, []byte(strings.Repeat("not a database ", 500)), 0o600))
	s, notice, err := Open(t.Context(), path, func() time.Time { return today }, DefaultKeep())
	if err != nil || !strings.Contains(notice, "It is kept as ") {
		t.Fatal(notice, err)
	}
	noerr.Want(t, s.Close())
}

// A result that is downloaded again in another form is the same run: its verdict stays.
func TestAResultThatIsDownloadedInAnotherFormStaysTheRunThatItWas(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	put := func(id string, days int, form Form, drifts bool) Standing {
		t.Helper()
		p := NewProfiler(nil)
		row := `{"name":"n","price":1}`
		if drifts {
			row = `{"name":"n","price":null}`
		}
		noerr.Must(t, rows.EachRow(strings.NewReader(strings.Repeat(row+"\n", 30)), "ndjson", func(r rows.Row) error {
			r.Flat = form == FormCSV
			p.Row(r)
			return nil
		}))
		noerr.Must(t, noerr.From(m.put(t.Context(), p.Run(gdX, id, today.AddDate(0, 0, -days)))))
		return show(t, m).Standing
	}
	for i, c := range []struct {
		id     string
		form   Form
		drifts bool
		want   string
	}{
		{"job-1", FormJSON, false, "json first: the first run"},
		{"job-1", FormCSV, false, "json first: the first run"},
		{"job-2", FormJSON, true, "json drift: "},
		{"job-2", FormCSV, true, "json drift: "},
		{"job-3", FormCSV, false, "csv first: the first run as CSV"},
		{"job-3", FormJSON, false, "json ok: "}, // there is a run to compare it with
		{"job-3", FormCSV, false, "json ok: "},
	} {
		s := put(c.id, 9-i, c.form, c.drifts)
		if got := fmt.Sprintf("%s %s: %s", s.Run.Form, s.Verdict.State, s.Verdict.First); s.Run.Ref != c.id || got != c.want {
			t.Errorf("%d: %s %s, want %s", i, s.Run.Ref, got, c.want)
		}
	}
}
