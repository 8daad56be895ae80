package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/rows"
	"zonedeck/service/servicetest"
)

// drawn draws n of the rows of hosts, as many of each as it says, in a random order.
func drawn(t *testing.T, n int, seed uint64, hosts map[string]int) (byHost map[string]int, sample []map[string]json.RawMessage) {
	t.Helper()
	var urls []string
	for host, count := range hosts {
		for i := range count {
			urls = append(urls, fmt.Sprintf("http://%s/%d", host, i))
		}
	}
	slices.Sort(urls)
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(urls), func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
	s := &sampler{want: n, below: math.MaxUint64, candidates: map[string]sampled{}}
	for _, u := range append(urls, urls[0]) { // one twice
		noerr.Must(t, s.Take(rows.Record{Values: map[string]json.RawMessage{"url": json.RawMessage(`"` + u + `"`)}}, model.FetchRequest{URL: u}))
		if len(s.candidates) > 2*drawnFrom*n {
			t.Fatalf("%d rows are held", len(s.candidates))
		}
	}
	sample, count := s.draw(min(n, len(s.candidates)))
	byHost = map[string]int{}
	for _, row := range sample {
		host, _, _ := strings.Cut(strings.TrimPrefix(string(row["url"]), `"http://`), "/")
		byHost[host]++
	}
	if count != len(byHost) {
		t.Errorf("%d hosts; want %d", count, len(byHost))
	}
	return byHost, sample
}

func TestASampleHasItsPartOfEachHostWhateverTheOrderOfTheRows(t *testing.T) {
	hosts := map[string]int{"a.test": 6000, "b.test": 3000, "c.test": 1000}
	byHost, first := drawn(t, 100, 1, hosts)
	_, second := drawn(t, 100, 2, hosts)
	if !reflect.DeepEqual(first, second) {
		t.Error("another order of the rows gives another sample")
	}
	for host, count := range hosts { // drawn from 800 rows or more
		if got := byHost[host]; len(first) != 100 || got < count/100-6 || got > count/100+6 {
			t.Errorf("%d of %d rows are of %s; it has %d of 10000", got, len(first), host, count)
		}
	}
	if byHost, all := drawn(t, 100, 1, map[string]int{"a.test": 3, "b.test": 1}); len(all) != 4 || byHost["a.test"] != 3 {
		t.Errorf("of a short list: %v", byHost)
	}
}

// listOf is a draft of n rows through both zones of a profile, of which dc1 has no rate.
func listOf(n int) ListDraft {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "http://shop.test/%d\n", i)
	}
	return ListDraft{Input: NewInput(strings.NewReader(text.String()), "urls.txt", "", ""), Zones: []string{"unlocker1"}, Ways: []model.Via{model.ViaAPI}, Need: 0.9}
}

// oneVariable has a value for {{given}} alone.
type oneVariable struct{}

func (oneVariable) Variable(name string) (model.Variable, bool) {
	return model.Variable{Value: "7"}, name == "given"
}

func TestAListIsComparedByTheSameRowsThroughEachZone(t *testing.T) {
	change, j, _ := withJournal(t)
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ URL, Zone string }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		w.Header().Set("Content-Type", "text/html")
		if ask.Zone == "dc1" && strings.HasSuffix(ask.URL, "0") {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, servicetest.Page+ask.URL)
	})
	p.Zones[0].Rate = model.Rate{Per1000: 1.5}
	ft := newFetcher(t, p, change)
	d := listOf(200)
	d.Zones, d.Sample = []string{"unlocker1", "dc1"}, 40
	g, notes, err := ft.PlanList(t.Context(), Known{Profile: p, Variables: oneVariable{}}, d, nil)
	noerr.Must(t, err)
	if len(notes) != 0 || len(g.List.Sample) != 40 || g.List.Rows != 200 || g.List.Hosts != 1 || g.List.MaxCost != 0.06 {
		t.Errorf("%+v, notes %v", g.List, notes)
	}
	tenths := 0
	for _, row := range g.List.Sample {
		if strings.HasSuffix(string(row["url"]), `0"`) {
			tenths++
		}
	}
	g, err = ft.Compare(t.Context(), g, nil)
	noerr.Must(t, err)
	if a, b := g.Cells[0], g.Cells[1]; len(a.Runs) != 40 || a.OK() != 40 || len(b.Runs) != 40 || b.OK() != 40-tenths || tenths == 0 {
		t.Errorf("%d of %d, %d of %d are ok; %d rows fail through dc1", a.OK(), len(a.Runs), b.OK(), len(b.Runs), tenths)
	}
	lines, err := j.Entries(t.Context(), model.HistoryFilter{})
	noerr.Must(t, err)
	if len(lines) != 1 || !strings.HasPrefix(lines[0].Text, "comparison by 40 of 200 rows of urls.txt: winner: unlocker1 by API, ") || math.Abs(lines[0].Cost-0.06) > 1e-9 || !lines[0].Priced || lines[0].Via != model.ViaAPI {
		t.Errorf("the history has %+v", lines)
	}
}

func TestWhatAListComparisonLacksIsSaidBeforeAnythingIsSent(t *testing.T) {
	sent := false
	p := servicetest.API(t, func(http.ResponseWriter, *http.Request) { sent = true })
	p.Zones[0].Rate = model.Rate{Per1000: 1.5}
	ft := newFetcher(t, p)
	for name, c := range map[string]struct {
		draft func(d *ListDraft)
		want  string // of the error, or of the notes
		rows  int
	}{
		"a sample that cannot show it": {func(d *ListDraft) { d.Sample = 10 }, "a sample of 10 cannot show that 90 % are useful, even if all are; 35 can", 10},
		"a higher need":                {func(d *ListDraft) { d.Need = 0.95 }, "", 73},
		"a cap":                        {func(d *ListDraft) { d.Cap = 0.07 }, "", 46},
		"a cap below one row":          {func(d *ListDraft) { d.Cap = 0.001 }, "cap: $0.0010 is below what one row may cost through all zones, $0.0015", 0},
		"a cap with retries":           {func(d *ListDraft) { d.Cap, d.Request.Retries = 0.07, 1 }, "a sample of 23 cannot show that 90 % are useful, even if all are; 35 can", 23},
		"a cap without a rate":         {func(d *ListDraft) { d.Cap, d.Zones = 1, []string{"unlocker1", "dc1"} }, "cap: zone dc1 has no rate, so that no cap can be held: give it one, or leave the cap out", 0},
		"a zone that is none":          {func(d *ListDraft) { d.Zones = []string{"other"} }, `zone: `, 0},
		"an unknown column":            {func(d *ListDraft) { d.Headers = []string{"X-A: {{a}}"} }, "headers: {{a}} has no value: it is no variable, and urls.txt has no such column, but url; nothing was sent", 0},
		"a column that is a variable, too": {func(d *ListDraft) {
			d.Headers, d.Input.Source = []string{"X-A: {{given}}"}, strings.NewReader("url,given\nhttp://a.test/,1\n")
		}, "input: {{given}} has a value already, from --var, the profile or the environment, and urls.txt has a column of this name: rename one of them; nothing was sent", 0},
		"the whole list, which has a row twice": {func(d *ListDraft) {
			d.Input.Source = strings.NewReader("http://a.test/1\nhttp://a.test/2\nhttp://a.test/1\n")
		}, "", 2},
		"no rows":  {func(d *ListDraft) { d.Input.Source = strings.NewReader("\n") }, "input: it has no row to fetch", 0},
		"bad rows": {func(d *ListDraft) { d.Input.Source = strings.NewReader("http://a.test/\nnope\n") }, "rows that cannot be used, and are left out: 1, the first: row 2: url: ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := listOf(100)
			c.draft(&d)
			g, notes, err := ft.PlanList(t.Context(), Known{Profile: p, Variables: oneVariable{}}, d, nil)
			said := ""
			if err != nil {
				said = err.Error()
			} else if len(notes) > 0 {
				said = notes[0].Text
			}
			if !strings.HasPrefix(said, c.want) || (err == nil) != (c.rows > 0) || len(g.List.Sample) != c.rows || c.want == "" && said != "" {
				t.Errorf("%q, %d rows; want %q, %d", said, len(g.List.Sample), c.want, c.rows)
			}
		})
	}
	if sent {
		t.Error("something was sent")
	}
}

func TestACancelledListComparisonKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, servicetest.Page) })
	ft := newFetcher(t, p)
	d := listOf(100)
	d.AtOnce = 1
	g, _, err := ft.PlanList(ctx, Known{Profile: p, Variables: oneVariable{}}, d, nil)
	noerr.Must(t, err)
	g, err = ft.Compare(ctx, g, func(_ int, c model.Cell) {
		if len(c.Runs) == 5 {
			cancel()
		}
	})
	if n := len(g.Cells[0].Runs); !errors.Is(err, context.Canceled) || n < 5 || n > 10 || g.Cells[0].Problem == "" {
		t.Errorf("%v, %d runs, %q", err, n, g.Cells[0].Problem)
	}
}
