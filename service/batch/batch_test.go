package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
	"zonedeck/service/drift"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/journal"
	"zonedeck/service/servicetest"
)

func TestMain(m *testing.M) {
	if delay := os.Getenv(asTarget); delay != "" {
		serveTarget(delay)
		return
	}
	if dir := os.Getenv(victimDir); dir != "" {
		work := victim
		if os.Getenv(victimDatabase) != "" {
			work = serverVictim
		}
		if err := work(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// target is a service whose answers count.
type target struct {
	*httptest.Server
	mu    sync.Mutex
	hits  map[string]int
	now   int
	most  int
	pause time.Duration
	// answer changes an answer; it may be nil.
	answer func(w http.ResponseWriter, url string, hit int) bool
	byZone func(w http.ResponseWriter, url, zone string) bool // as answer
}

func newTarget(t testing.TB) *target {
	t.Helper()
	s := &target{hits: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask struct{ URL, Method, Zone string }
	err := json.NewDecoder(r.Body).Decode(&ask)
	s.mu.Lock()
	s.hits[ask.URL]++
	hit := s.hits[ask.URL]
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	<-time.After(s.pause)
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case s.answer != nil && s.answer(w, ask.URL, hit):
	case s.byZone != nil && s.byZone(w, ask.URL, ask.Zone):
	default:
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Brd-Status-Code", "200")
		fmt.Fprintf(w, "<html><body><h1>Page %s</h1><p>Some words that stand on a page which has something to read on it.</p></body></html>", ask.URL)
	}
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
}

func (s *target) all() (hits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.hits {
		hits += n
	}
	return hits
}

// storeFiles opens the store of a test once.
type storeFiles struct{ store *store.Store }

func (f storeFiles) Batches(context.Context) (*store.Store, error) { return f.store, nil }

// open opens the batches of a folder, with a profile at an address whose zone costs 1.50 for 1,000.
func open(ctx context.Context, dir, url string) (*batch.Batches, fetch.Known, func() error, error) {
	st, _, err := store.Open(ctx, filepath.Join(dir, "batches.db"), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fetch.Known{}, nil, err
	}
	p := servicetest.Profile(url)
	p.Local = true // no rate for its key
	p.Zones[0].Rate = model.Rate{Per1000: 1.5}
	p.Zones = append(p.Zones, model.Zone{Name: "isp1", Product: model.ProductISP, Rate: model.Rate{Per1000: 3}})
	wire := exchange.New(exchange.Config{})
	b := &batch.Batches{Config: batch.Config{
		Fetch: fetch.New(fetch.Config{Source: servicetest.SourceFor(p), Wire: wire, Bodies: exchange.Bodies{Dir: filepath.Join(dir, "bodies")}}),
		Files: storeFiles{st}, Dir: filepath.Join(dir, "batches"), Journal: journal.None(), Clock: servicetest.ClockFunc(time.Now), Log: slog.New(slog.DiscardHandler),
		Profiles: profiles(p),
	}}
	return b, fetch.Known{Profile: p, Variables: profiles(p)}, st.Close, nil
}

// profiles are a configuration with one profile, whose variables are references.
type profiles model.Profile

func (profiles) Known(p model.Profile) fetch.Known { return fetch.Known{Profile: p} }

func (p profiles) Variable(name string) (model.Variable, bool) {
	ref, ok := p.Variables[name]
	return model.Variable{Ref: ref}, ok
}

type rig struct {
	*batch.Batches
	*target
	known fetch.Known
	dir   string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{target: newTarget(t), dir: t.TempDir()}
	var closing func() error
	var err error
	r.Batches, r.known, closing, err = open(t.Context(), r.dir, r.URL)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, closing()) })
	return r
}

// draft asks for the URLs of an input.
func draft(input string) batch.Draft {
	d := batch.Draft{Input: fetch.Input{Source: strings.NewReader(input), Name: "urls.txt"}}
	d.Request.Zone.Name, d.Request.Via = "unlocker1", model.ViaAPI
	return d
}

// urls are n addresses, a line each.
func urls(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "http://shop.test/%d\n", i)
	}
	return out.String()
}

// start plans and starts a batch.
func (r *rig) start(t *testing.T, d batch.Draft) batch.State {
	t.Helper()
	report := noerr.Try(r.Check(t.Context(), r.known, d, nil)).Must(t)
	return noerr.Try(r.Start(t.Context(), report)).Must(t)
}

// run runs a batch to its end.
func (r *rig) run(t *testing.T, id string) batch.State {
	t.Helper()
	return noerr.Try(r.Run(t.Context(), id, func(batch.State) {})).Must(t)
}

// lines are the results of a batch by number; each may be there once.
func (r *rig) lines(t *testing.T, id string) map[int64]files.Line {
	t.Helper()
	out := map[int64]files.Line{}
	for line, err := range r.Results(t.Context(), id, false) {
		noerr.Must(t, err)
		if _, twice := out[line.N]; twice {
			t.Errorf("item %d has two results", line.N)
		}
		out[line.N] = line
	}
	return out
}

func TestABatchFetchesEachRowOnce(t *testing.T) {
	r := newRig(t)
	d := draft(urls(250) + "http://shop.test/7\nhttp://shop.test/7\n")
	d.AtOnce = 5
	r.pause = time.Millisecond
	report := noerr.Try(r.Check(t.Context(), r.known, d, nil)).Must(t)
	if cost, priced := report.MostCost(); report.Planned.Items != 252 || report.Planned.Duplicates != 2 || !priced || cost != 0.375 || len(report.First) != 10 {
		t.Errorf("planned %+v, cost %v %v, %d first", report.Planned, cost, priced, len(report.First))
	}
	if r.all() != 0 {
		t.Fatal("planning sent something")
	}
	s := noerr.Try(r.Start(t.Context(), report)).Must(t)
	s = r.run(t, s.ID)
	if s.State != store.Done || s.Tally.Answered != 250 || s.OK() != 250 || s.Remaining() != 0 || s.Spent != 375_000_000 || s.Reserved != 0 {
		t.Errorf("ended %s: %+v, spent %d, reserved %d", s.State, s.Tally, s.Spent, s.Reserved)
	}
	if r.all() != 250 || r.most > 5 {
		t.Errorf("%d requests, %d at once", r.all(), r.most)
	}
	lines := r.lines(t, s.ID)
	if len(lines) != 250 || lines[249].URL != "http://shop.test/249" || lines[249].Class != "ok" || *lines[249].Cost != 0.0015 {
		t.Errorf("%d lines, the last %+v", len(lines), lines[249])
	}
	body := noerr.Try(files.OpenBody(filepath.Join(r.Dir, s.ID), *lines[7].BodyAt)).Must(t)
	if text := string(noerr.Try(io.ReadAll(body)).Must(t)); !strings.Contains(text, "Page http://shop.test/7") {
		t.Errorf("body of item 7: %s", text)
	}
	noerr.Want(t, body.Close())
	servicetest.NoSecretUnder(t, r.dir)
}

// duplicatesSaid are the numbers of the lines of a batch, those of duplicates with the item that they repeat.
func (r *rig) duplicatesSaid(t *testing.T, inOrder bool) (said []string) {
	t.Helper()
	d := draft("url,sku\nhttp://a.test/1,a\nhttp://a.test/1,b\nhttp://a.test/2,c\nhttp://a.test/1,d\n")
	d.Input.Kind, d.AtOnce = "csv", 1
	s := r.run(t, r.start(t, d).ID)
	for line, err := range r.Answers(t.Context(), s.ID, inOrder) {
		noerr.Must(t, err)
		text := fmt.Sprintf("%d %s%s", line.N+1, line.Values["sku"], line.Class)
		if line.DuplicateOf > 0 {
			text += fmt.Sprintf(" as %d", line.DuplicateOf)
		}
		said = append(said, text)
	}
	return said
}

func TestADuplicateHasALineThatNamesTheItemWhoseResultIsItsOwn(t *testing.T) {
	r := newRig(t)
	if got := r.duplicatesSaid(t, false); !slices.Equal(got, []string{`1 "a"ok`, `3 "c"ok`, `2 "b" as 1`, `4 "d" as 1`}) {
		t.Errorf("as they came: %q", got)
	}
	if got := r.duplicatesSaid(t, true); !slices.Equal(got, []string{`1 "a"ok`, `2 "b" as 1`, `3 "c"ok`, `4 "d" as 1`}) {
		t.Errorf("in order: %q", got)
	}
}

func TestABatchOfManyDuplicatesEnds(t *testing.T) {
	r := newRig(t)
	const rows, pages = 40_000, 500
	var input strings.Builder
	for i := range rows {
		fmt.Fprintf(&input, "http://shop.test/%d\n", i%(rows-1)*pages/rows)
	}
	s := r.start(t, draft(input.String()))
	if s = r.run(t, s.ID); s.State != store.Done || s.Tally.Answered != pages || s.Duplicates != rows-pages {
		t.Errorf("%s: %d answered, %d duplicates", s.State, s.Tally.Answered, s.Duplicates)
	}
}

func TestTheCapIsNeverPassed(t *testing.T) {
	r := newRig(t)
	r.answer = func(w http.ResponseWriter, url string, hit int) bool { // every third page needs two tries
		if strings.HasSuffix(url, "3") && hit == 1 {
			w.Header().Set("Retry-After", "0.01")
			w.Header().Set("X-Brd-Status-Code", "503")
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	d := draft(urls(200))
	d.Cap, d.AtOnce, d.Request.Retries = 0.0751, 8, 3 // 50 tries
	s := r.start(t, d)
	s = r.run(t, s.ID)
	if s.State != store.Capped || r.all() > 50 || s.Spent > 75_100_000 || s.Reserved != 0 || s.Tally.Answered == 0 {
		t.Errorf("%s: %d requests, spent %d, reserved %d: %+v", s.State, r.all(), s.Spent, s.Reserved, s.Tally)
	}
	before := r.all()
	if s = r.run(t, s.ID); s.State != store.Capped || r.all() != before {
		t.Errorf("once more: %s, %d requests after %d", s.State, r.all(), before)
	}
	more := 1.0
	if s = noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{Cap: &more})).Must(t); s.State != store.Paused || s.Reason != "the cap was raised: it goes on when it is resumed" {
		t.Errorf("with a higher cap it is %s: %s", s.State, s.Reason)
	}
	if s = r.run(t, s.ID); s.State != store.Done || len(r.lines(t, s.ID)) != 200 {
		t.Errorf("with a higher cap: %s, %+v", s.State, s.Tally)
	}
}

func TestTheCapHoldsByTheRateOfToday(t *testing.T) {
	r := newRig(t)
	d := draft(urls(20))
	d.Cap = 0.0151 // 10 tries
	s := r.start(t, d)
	r.profiled(func(p *model.Profile) { p.Zones[0].Rate.Per1000 = 3 })
	if s = r.run(t, s.ID); s.State != store.Capped || r.all() != 5 || s.Spent != 15_000_000 || !strings.Contains(s.Reason, "one more fetch may cost $0.0030") {
		t.Errorf("%s (%s): %d requests, spent %d", s.State, s.Reason, r.all(), s.Spent)
	}
	r.profiled(func(p *model.Profile) { p.Zones[0].Rate = model.Rate{} })
	if _, err := r.Run(t.Context(), s.ID, func(batch.State) {}); err == nil || !strings.Contains(err.Error(), "zone unlocker1 has no rate") || r.all() != 5 {
		t.Errorf("without a rate: %v, %d requests", err, r.all())
	}
	unpriced := r.start(t, draft(urls(2)))
	r.profiled(func(p *model.Profile) { p.Zones[0].Rate.Per1000 = 1 })
	five := 5.0
	if s := noerr.Try(r.Set(t.Context(), unpriced.ID, batch.Settings{Cap: &five})).Must(t); s.Cap != 5_000_000_000 {
		t.Errorf("a zone that has a rate now: cap %d", s.Cap)
	}
}

// profiled changes the profile behind the batches.
func (r *rig) profiled(change func(p *model.Profile)) {
	p := r.known.Profile
	p.Zones = slices.Clone(p.Zones)
	change(&p)
	r.Fetch = fetch.New(fetch.Config{Source: servicetest.SourceFor(p), Wire: exchange.New(exchange.Config{}), Bodies: exchange.Bodies{Dir: filepath.Join(r.dir, "bodies")}})
	r.Profiles, r.known = profiles(p), fetch.Known{Profile: p, Variables: profiles(p)}
}

func TestWhatADeadWorkerLeftCostsItsLastTryAlone(t *testing.T) {
	r := newRig(t)
	d := draft(urls(3))
	d.Cap, d.AtOnce = 0.0015, 1 // one try
	s := r.run(t, r.start(t, d).ID)
	lines := r.lines(t, s.ID)
	if s.State != store.Capped || len(lines) != 1 {
		t.Fatalf("%s with %d results", s.State, len(lines))
	}
	for _, line := range lines { // of another item, the second try: the first one was committed
		line.N = (line.N + 1) % 3
		line.Attempts, *line.Cost = 2, 0.003
		log := noerr.Try(files.OpenLog(filepath.Join(r.Dir, s.ID), "w1")).Must(t)
		noerr.Must(t, log.Append(&line, nil))
		noerr.Must(t, log.Close())
	}
	none := 0.0
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{Cap: &none})).Must(t)
	if s = r.run(t, s.ID); s.State != store.Done || r.all() != 2 || s.Spent != 3*1_500_000 {
		t.Errorf("%s: %d requests, spent %d", s.State, r.all(), s.Spent)
	}
}

func TestWhatATryCostIsKeptBeforeTheNextOne(t *testing.T) {
	r := newRig(t)
	var before batch.State
	r.answer = func(w http.ResponseWriter, _ string, hit int) bool {
		if hit == 2 {
			all, err := r.List(t.Context())
			if err != nil {
				t.Error(err)
			}
			before = all[0]
			return false
		}
		w.Header().Set("Retry-After", "0.001")
		w.Header().Set("X-Brd-Status-Code", "503")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	d := draft(urls(1))
	d.Request.Retries = 1
	s := r.run(t, r.start(t, d).ID)
	if before.Spent != 1_500_000 || s.Spent != 3_000_000 || s.State != store.Done {
		t.Errorf("at the second try %d were kept; at the end %s with %d", before.Spent, s.State, s.Spent)
	}
	if items := noerr.Try(files.OpenItems(filepath.Join(r.Dir, s.ID))).Must(t); noerr.Try(items.Slice(0)).Must(t)[0].Sent != 2 {
		t.Error("the item is not marked with its second try")
	} else {
		noerr.Must(t, items.Close())
	}
}

func TestWhatADraftLacksIsSaidBeforeAnythingIsSent(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name  string
		draft func(*batch.Draft)
		want  string
	}{
		{"rows that are no address", func(d *batch.Draft) { d.Input.Source = strings.NewReader("http://a.test/\nnope\nhttp://u:p@a.test/\n") }, "row 2: "},
		{"an unknown column", func(d *batch.Draft) {
			d.Input.Source, d.SkipBad, d.Headers = strings.NewReader("sku,url\n7,http://a.test/\n"), true, []string{"X-Colour: {{colour}}"}
		}, "headers: {{colour}} has no value: it is no variable, and urls.txt has no such column, but sku, url; nothing was sent"},
		{
			"no column of addresses", func(d *batch.Draft) { d.Input.Source, d.Input.Kind = strings.NewReader("sku\n7\n"), "csv" },
			"url: {{url}} has no value: it is no variable, and urls.txt has no such column, but sku: name the one that holds the addresses; nothing was sent",
		},
		{"a column that is missing", func(d *batch.Draft) {
			d.Input = fetch.Input{Source: strings.NewReader("url,n\nhttp://a.test/,1\n"), Kind: "csv", Column: "link"}
		}, `there is no column "link"`},
		{"nothing", func(d *batch.Draft) { d.Input.Source = strings.NewReader("\n") }, "no row to fetch"},
		{"a cap below one fetch", func(d *batch.Draft) { d.Cap = 0.001 }, "below what one fetch may cost"},
		{"a cap without a rate", func(d *batch.Draft) { d.Cap, d.Request.Zone.Name = 1, "dc1" }, "has no rate"},
		{"an unknown zone", func(d *batch.Draft) { d.Request.Zone.Name = "other" }, "zone"},
		{"a secret that is typed", func(d *batch.Draft) { d.Headers = []string{"Authorization: Bearer abcdefgh"} }, "would be kept with the batch"},
		{"a secret in a column", func(d *batch.Draft) {
			d.Input.Source, d.Input.Kind, d.Headers = strings.NewReader("url,token\nhttp://a.test/,abcdefgh\n"), "csv", []string{"Authorization: Bearer {{token}}"}
		}, "or stands in a column, would be kept"},
		{"a body that no segment takes", func(d *batch.Draft) { d.Request.BodyLimit = batch.MostBody + 1 }, "at most 250 megabytes"},
		{"a row that is too long", func(d *batch.Draft) {
			d.Input = fetch.Input{Source: strings.NewReader("url," + strings.Repeat("\x01", 60_000) + "\nhttp://a.test/," + strings.Repeat("\x01", 120_000) + "\nhttp://a.test/,1\nnope,1\n"), Kind: "csv"}
		}, "2 rows cannot be used; nothing was sent\nrow 2: with its columns' names it has 10"},
		{"the browser", func(d *batch.Draft) { d.Request.Via = model.ViaBrowser }, "one page at a time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := draft(urls(2))
			c.draft(&d)
			_, err := r.Check(t.Context(), r.known, d, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want %q", err, c.want)
			}
			if left := noerr.Try(filepath.Glob(filepath.Join(r.Dir, "batch-*"))).Must(t); len(left) > 0 || r.all() > 0 {
				t.Errorf("left %v, %d requests", left, r.all())
			}
		})
	}
}

func TestColumnsStandInURLHeadersAndBody(t *testing.T) {
	r := newRig(t)
	d := draft("sku,lang\n7,de\n8,fr\n")
	d.Request.URL, d.Request.Method, d.Request.Body, d.Headers = "http://shop.test/p/{{sku}}", "POST", `{"l":"{{lang}}"}`, []string{"Accept-Language: {{lang}}"}
	report := noerr.Try(r.Check(t.Context(), r.known, d, nil)).Must(t)
	if got := report.First[1]; got.URL != "http://shop.test/p/8" || got.Body != `{"l":"fr"}` || got.Header.Get("Accept-Language") != "fr" {
		t.Errorf("the second request is %+v", got)
	}
	s := noerr.Try(r.Start(t.Context(), report)).Must(t)
	if s = r.run(t, s.ID); s.State != store.Done || s.OK() != 2 {
		t.Errorf("%s: %+v", s.State, s.Tally)
	}
}

func TestTheAddressOfARequestWithoutColumnsIsAnExample(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ header, want string }{{"X-A: 1", "http://shop.test/0"}, {"X-A: {{url}}", "http://shop.test/example"}} {
		d := draft(urls(1))
		d.Request.URL, d.Headers, d.Example = "http://shop.test/example", []string{c.header}, true
		report := noerr.Try(r.Check(t.Context(), r.known, d, nil)).Must(t)
		if got := report.First[0].URL; got != c.want {
			t.Errorf("with the header %s: %s; want %s", c.header, got, c.want)
		}
		noerr.Want(t, r.Discard(report))
	}
}

func TestANameIsUsedOnce(t *testing.T) {
	r := newRig(t)
	d := draft(urls(3))
	for _, name := range []string{"two\nlines", "no text: \xff", "no text: \x00"} {
		d.Once = name
		if _, err := r.Check(t.Context(), r.known, d, nil); err == nil || !strings.Contains(err.Error(), "a name is one line") {
			t.Errorf("%q: %v", name, err)
		}
	}
	d.Once = "nightly"
	s := r.start(t, d)
	d.Input.Source = strings.NewReader(urls(2))
	_, err := r.Check(t.Context(), r.known, d, nil)
	if changed := (*batch.ChangedError)(nil); !errors.As(err, &changed) || changed.State.ID != s.ID || changed.Now.Digest == s.Digest {
		t.Errorf("error %v; want that it is not the input of %s", err, s.ID)
	}
	d.Input.Source = strings.NewReader(urls(3))
	_, err = r.Check(t.Context(), r.known, d, nil)
	if once := (*batch.OnceError)(nil); !errors.As(err, &once) || once.State.ID != s.ID {
		t.Errorf("error %v; want the one of %s", err, s.ID)
	}
	five := 5
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{AtOnce: &five})).Must(t)
	d.Input.Source, d.Cap, d.Request.Zone.Name = strings.NewReader(urls(3)), 2, "isp1"
	_, err = r.Check(t.Context(), r.known, d, nil)
	const want = "which was begun with other flags: it has --zone unlocker1, and this call has --zone isp1 --max-cost 2."
	if other := (*batch.OtherFlagsError)(nil); !errors.As(err, &other) || other.State.ID != s.ID || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v; want %q", err, want)
	}
	if first, taken := batch.TakenBy(err); !taken || first.ID != s.ID {
		t.Errorf("it is taken by %s", first.ID)
	}
	if left := noerr.Try(filepath.Glob(filepath.Join(r.Dir, "batch-*"))).Must(t); len(left) != 1 {
		t.Errorf("folders %v", left)
	}
}

func TestOfTwoWithOneNameAndOtherInputsTheFirstIsKept(t *testing.T) {
	r := newRig(t)
	var reports []batch.Report
	for n := range 2 {
		d := draft(urls(3 + n))
		d.Once = "nightly"
		reports = append(reports, noerr.Try(r.Check(t.Context(), r.known, d, nil)).Must(t))
	}
	s := noerr.Try(r.Start(t.Context(), reports[0])).Must(t)
	_, err := r.Start(t.Context(), reports[1])
	if changed := (*batch.ChangedError)(nil); !errors.As(err, &changed) || changed.State.ID != s.ID || !strings.Contains(err.Error(), "had 3 rows") {
		t.Errorf("error %v", err)
	}
}

func TestWhatWasPlannedAndNeverBegunIsSwept(t *testing.T) {
	r := newRig(t)
	started := r.start(t, draft(urls(1)))
	planned := noerr.Try(r.Check(t.Context(), r.known, draft(urls(2)), nil)).Must(t)
	folders := func() int { return len(noerr.Try(filepath.Glob(filepath.Join(r.Dir, "batch-*"))).Must(t)) }
	noerr.Try(r.Check(t.Context(), r.known, draft(urls(2)), nil)).Must(t)
	if folders() != 3 {
		t.Errorf("%d folders; the planners live", folders())
	}
	noerr.Must(t, r.Discard(planned))
	for _, sign := range noerr.Try(filepath.Glob(filepath.Join(r.Dir, ".planners", "*"))).Must(t) {
		noerr.Must(t, os.Remove(sign)) // as if its process had ended
	}
	noerr.Must(t, r.Discard(noerr.Try(r.Check(t.Context(), r.known, draft(urls(2)), nil)).Must(t)))
	if folders() != 1 {
		t.Errorf("%d folders; want that of %s", folders(), started.ID)
	}
}

func TestABatchIsRemovedWholeAndNotWhileAProcessWorksOnIt(t *testing.T) {
	r := newRig(t)
	s := r.start(t, draft(urls(150)))
	noerr.Try(r.Run(t.Context(), s.ID, func(batch.State) {
		if busy := (*batch.BusyError)(nil); !errors.As(r.Remove(t.Context(), s.ID), &busy) {
			t.Error("it was removed while it was worked on")
		}
	})).Must(t)
	noerr.Must(t, r.Remove(t.Context(), s.ID))
	if _, err := r.Show(t.Context(), s.ID); !errors.As(err, new(*batch.UnknownError)) {
		t.Error(err)
	}
	if left := noerr.Try(filepath.Glob(filepath.Join(r.Dir, "batch-*"))).Must(t); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestTheBodyOfAnItem(t *testing.T) {
	r := newRig(t)
	s := r.start(t, draft(urls(3)))
	if _, err := r.Body(t.Context(), s.ID, 2); err == nil || err.Error() != "item 2 has no result" {
		t.Error(err)
	}
	r.answer = func(w http.ResponseWriter, url string, _ int) bool {
		w.Header().Set("X-Brd-Status-Code", "404")
		return strings.HasSuffix(url, "/2")
	}
	r.run(t, s.ID)
	body := noerr.Try(r.Body(t.Context(), s.ID, 2)).Must(t)
	if text := string(noerr.Try(io.ReadAll(body)).Must(t)); !strings.Contains(text, "Page http://shop.test/1") {
		t.Error(text)
	}
	noerr.Must(t, body.Close())
	if _, err := r.Body(t.Context(), s.ID, 3); err == nil || !strings.Contains(err.Error(), "has no body: its result is ") {
		t.Error(err)
	}
}

func TestABatchIsPausedAndChangedWhileItRuns(t *testing.T) {
	r := newRig(t)
	r.pause = 2 * time.Millisecond
	d := draft(urls(2000))
	d.AtOnce = 2
	s := r.start(t, d)
	paused := false
	s = noerr.Try(r.Run(t.Context(), s.ID, func(now batch.State) {
		if now.Tally.Answered > 20 && !paused {
			paused = true
			noerr.Try(r.Pause(t.Context(), s.ID)).Must(t)
		}
	})).Must(t)
	if s.State != store.Paused || s.Tally.Answered < 20 || s.Tally.Answered >= 2000 || int(s.Tally.Answered) != r.all() {
		t.Fatalf("%s: %d answered, %d requests", s.State, s.Tally.Answered, r.all())
	}
	at := 30
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{AtOnce: &at})).Must(t)
	if s = r.run(t, s.ID); s.State != store.Done || len(r.lines(t, s.ID)) != 2000 || r.all() != 2000 || r.most < 10 || r.most > 30 {
		t.Errorf("%s: %d answered, %d requests, %d at once", s.State, s.Tally.Answered, r.all(), r.most)
	}
}

// coverage is a drift that remembers how many pages it was shown.
type coverage struct {
	mu    sync.Mutex
	calls int
}

func (c *coverage) Pages(context.Context, *drift.Pages, []string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return "", nil
}

func (c *coverage) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func TestDriftLearnsWhileABatchRuns(t *testing.T) {
	r := newRig(t)
	learned := &coverage{}
	r.Drift, r.pause = learned, time.Millisecond
	d := draft(urls(20_000))
	d.Request.Required, d.AtOnce = []string{"h1"}, 2
	s := r.start(t, d)
	ctx, stop := context.WithCancel(t.Context())
	_, err := r.Run(ctx, s.ID, func(batch.State) {
		if learned.count() > 1 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %d runs of drift", err, learned.count())
	}
}

func TestABatchWhoseProcessEndedIsInterruptedAndWaits(t *testing.T) {
	r := newRig(t)
	if all := noerr.Try(r.Waiting(t.Context(), "acme")).Must(t); len(all) != 0 {
		t.Error(all)
	}
	r.pause = 2 * time.Millisecond
	d := draft(urls(2000))
	d.AtOnce = 2
	s := r.start(t, d)
	ctx, stop := context.WithCancel(t.Context())
	end, err := r.Run(ctx, s.ID, func(now batch.State) {
		if now.Tally.Answered > 0 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || end.Condition() != "interrupted" || end.Obstacle() != "no process works on it; what came is kept and not fetched again" {
		t.Errorf("error %v; %s: %s", err, end.Condition(), end.Obstacle())
	}
	for profile, want := range map[string]int{end.Profile: 1, "other": 0} {
		if all := noerr.Try(r.Waiting(t.Context(), profile)).Must(t); len(all) != want {
			t.Errorf("%s: %d wait; want %d", profile, len(all), want)
		}
	}
	r.pause = 0
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{AtOnce: new(int)})).Must(t)
	r.run(t, s.ID)
	if all := noerr.Try(r.Waiting(t.Context(), end.Profile)).Must(t); len(all) != 0 {
		t.Error(all)
	}
}

func TestTheHistoryHasOneLineForABatchWithAllThatItCost(t *testing.T) {
	r := newRig(t)
	j, _ := servicetest.Journal(t)
	r.Journal = j
	d := draft(urls(8))
	d.Cap = 0.0075 // 5 tries
	s := r.run(t, r.start(t, d).ID)
	more := 1.0
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{Cap: &more})).Must(t)
	for _, want := range []float64{0.0075, 0.012} {
		lines := noerr.Try(j.Entries(t.Context(), model.HistoryFilter{})).Must(t)
		if len(lines) != 1 || lines[0].Ref != s.ID || !lines[0].Priced || lines[0].Cost != want || !strings.Contains(lines[0].Text, fmt.Sprintf("%s, %d of 8 items", s.State, s.Tally.Answered)) {
			t.Errorf("%s: %+v", s.State, lines)
		}
		s = r.run(t, s.ID)
	}
}

func TestABatchIsGoneOnWithByItsOwnProfileAlone(t *testing.T) {
	r := newRig(t)
	s := r.start(t, draft(urls(3)))
	noerr.Try(r.Pause(t.Context(), s.ID)).Must(t)
	other := r.known.Profile
	other.Name = "other"
	r.Fetch = fetch.New(fetch.Config{Source: servicetest.SourceFor(other), Wire: exchange.New(exchange.Config{}), Bodies: exchange.Bodies{Dir: filepath.Join(r.dir, "bodies")}})
	want := "belongs to profile " + s.Profile
	if _, err := r.Run(t.Context(), s.ID, func(batch.State) {}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("run: %v; want %q", err, want)
	}
	if err := r.Begin(t.Context(), s.ID); !errors.As(err, new(*batch.ProfileError)) {
		t.Errorf("begun: %v", err)
	}
	if s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t); s.State != store.Paused || r.all() != 0 {
		t.Errorf("it is %s, %d requests", s.State, r.all())
	}
}
