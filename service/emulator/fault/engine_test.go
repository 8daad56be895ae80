package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/document"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rule reads a rule from TOML, as a scenario writes it.
func rule(t testing.TB, text string) Rule {
	t.Helper()
	tab, err := document.TOML("rule", []byte(text))
	noerr.Must(t, err)
	r := Parse(tab)
	noerr.Must(t, tab.Err())
	return r
}

// engine has a clock that the test moves.
func engine(t testing.TB, seed uint64, rules ...string) (*Engine, *time.Time) {
	t.Helper()
	now := new(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	e := New(Config{Seed: seed, Now: func() time.Time { return *now }})
	for _, text := range rules {
		noerr.Must(t, noerr.From(e.Add(rule(t, text))))
	}
	return e, now
}

// hit are the numbers of those of n calls that were hit.
func hit(e *Engine, c Call, n int) []int {
	var out []int
	for i := range n {
		if v := e.Decide(c); len(v.Rules) > 0 {
			out = append(out, i+1)
		}
	}
	return out
}

func TestWhichCallsAreHit(t *testing.T) {
	for when, want := range map[string][]int{
		"":                             {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"nth = 3":                      {3},
		"every = 4":                    {4, 8},
		"from = 9":                     {9, 10},
		"until = 2":                    {1, 2},
		"from = 3\nuntil = 5":          {3, 4, 5},
		"from = 3\nevery = 3":          {5, 8},
		"times = 2":                    {1, 2},
		"from = 4\ntimes = 1":          {4},
		"every = 2\ntimes = 3":         {2, 4, 6},
		"probability = 1":              {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"nth = 2\nprobability = 1e-30": nil,
		"off = true":                   nil,
	} {
		e, _ := engine(t, 1, "point = 'api'\naction = 'drop'\n"+when)
		if got := hit(e, Call{Point: API}, 10); !slices.Equal(got, want) {
			t.Errorf("%q hit the calls %v, want %v", when, got, want)
		}
	}
}

func TestACallIsHitAboveSoManyAtOnce(t *testing.T) {
	e, _ := engine(t, 1, "point = 'api'\naction = 'too_fast'\nabove = 2")
	var inside [][]string
	h := Web{Engine: e, Point: API, Call: func(*http.Request) Call { return Call{} }}
	var chain http.Handler
	chain = h.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		w := httptest.NewRecorder()
		chain.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", http.NoBody)) // within the call before
		inside = append(inside, []string{strconv.Itoa(w.Code), w.Header().Get(header)})
	}))
	for range 2 {
		inside = nil
		w := httptest.NewRecorder()
		chain.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		if want := [][]string{{"429", "fault-1"}, {"200", ""}}; w.Code != http.StatusOK || !reflect.DeepEqual(inside, want) {
			t.Errorf("%d, within it %q", w.Code, inside)
		}
	}
}

func TestWhichCallsARuleIsAbout(t *testing.T) {
	c := Call{Point: Target, Zone: "unlocker_demo", Product: "unlocker", Host: "lab.test", Path: "/shop/page/2", Method: "GET"}
	for match, want := range map[string]bool{
		"": true, "zone = 'unlocker_demo'": true, "zone = 'unlocker'": false, "zone = '*_demo'": true, "product = 'serp'": false,
		"host = 'LAB.test'": true, "host = '*.test'": true, "host = 'lab'": false, "path = '/shop*'": true, "path = '/shop/*/2'": true,
		"path = '/shop/*/3'": false, "path = '*'": true, "method = 'get'": true, "method = 'POST'": false,
	} {
		e, _ := engine(t, 1, "point = 'target'\naction = 'drop'\n"+match)
		if got := len(hit(e, c, 1)) == 1; got != want {
			t.Errorf("%q: %t", match, got)
		}
	}
	e, _ := engine(t, 1, "point = 'api'\naction = 'drop'")
	if hit(e, c, 1) != nil {
		t.Error("a rule of another point hit")
	}
}

func TestARuleActsWithinItsTime(t *testing.T) {
	for when, want := range map[string][]int{ // the hours at which it acts
		"in = '2h'":                             {2, 3, 4, 5},
		"for = '2h'":                            {0, 1},
		"in = '1h'\nfor = '2h'":                 {1, 2},
		"at = 2026-11-21T15:00:00Z":             {3, 4, 5},
		"at = 2026-11-21T10:00:00Z\nfor = '3h'": {0},
	} {
		e, now := engine(t, 1, "point = 'job'\naction = 'fail'\n"+when)
		var got []int
		for hour := range 6 {
			if len(e.Decide(Call{Point: Job}).Rules) > 0 {
				got = append(got, hour)
			}
			*now = now.Add(time.Hour)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q acts at %v, want %v", when, got, want)
		}
	}
}

func TestSeveralRulesWaitTogetherAndTheFirstActs(t *testing.T) {
	e, _ := engine(t, 1,
		"id='a'\npoint='api'\naction='latency'\ndelay='1s'",
		"id='b'\npoint='api'\naction='status'\nstatus=503\ndelay='2s'\nnth=2",
		"id='c'\npoint='api'\naction='drop'",
		"id='d'\npoint='api'\naction='latency'\ndelay='9m59s'\nnth=3",
	)
	for i, want := range []Verdict{
		{Delay: time.Second, Do: Action{Kind: Drop}, Rules: []string{"a", "c"}},
		{Delay: 3 * time.Second, Do: Action{Kind: Status}, Rules: []string{"a", "b"}},
		{Delay: MaxDelay, Do: Action{Kind: Drop}, Rules: []string{"a", "c", "d"}},
	} {
		v := e.Decide(Call{Point: API})
		if v.Delay != want.Delay || v.Do.Kind != want.Do.Kind || !slices.Equal(v.Rules, want.Rules) {
			t.Errorf("call %d: %+v", i+1, v)
		}
	}
	counts := map[string][2]int64{}
	for _, c := range e.List() {
		counts[c.Rule.ID] = [2]int64{c.Calls, c.Hits}
	}
	if want := fmt.Sprint(map[string][2]int64{"a": {3, 3}, "b": {3, 1}, "c": {3, 2}, "d": {3, 1}}); fmt.Sprint(counts) != want {
		t.Errorf("counted %v, want %s", counts, want)
	}
}

func TestTheSameSeedAndOrderGiveTheSameVerdicts(t *testing.T) {
	rules := []string{
		"id='a'\npoint='api'\naction='latency'\nprobability=0.5\ndelay={lower='1ms', upper='1s'}",
		"id='b'\npoint='api'\naction='latency'\nprobability=0.3\ndelay={median='100ms', sigma=1.5}",
		"id='c'\npoint='target'\naction='captcha'\nprobability=0.2",
	}
	run := func(seed uint64, order []int) []string {
		e, _ := engine(t, seed, rules...)
		var out []string
		for _, i := range order {
			p := []Point{API, Target}[i]
			out = append(out, fmt.Sprintf("%+v", e.Decide(Call{Point: p})))
		}
		slices.Sort(out) // what a call gets does not depend on the other point's
		return out
	}
	apart, mixed := make([]int, 0, 400), make([]int, 0, 400)
	for i := range 400 {
		apart, mixed = append(apart, i/200), append(mixed, i%2)
	}
	if !slices.Equal(run(7, apart), run(7, mixed)) {
		t.Error("the order of calls at different points changed the verdicts")
	}
	if slices.Equal(run(7, apart), run(8, apart)) {
		t.Error("the seed changed nothing")
	}
}

func TestChanceIsWhatItSays(t *testing.T) {
	e, _ := engine(t, 42, "point='api'\naction='drop'\nprobability=0.2")
	if n := len(hit(e, Call{Point: API}, 10_000)); n < 1800 || n > 2200 {
		t.Errorf("a chance of 0.2 hit %d of 10,000", n)
	}
	e, _ = engine(t, 42, "point='api'\naction='latency'\ndelay={lower='100ms', upper='300ms'}")
	sum := time.Duration(0)
	for range 1000 {
		d := e.Decide(Call{Point: API}).Delay
		if d < 100*time.Millisecond || d > 300*time.Millisecond {
			t.Fatalf("a uniform delay of %s", d)
		}
		sum += d
	}
	if mean := sum / 1000; mean < 190*time.Millisecond || mean > 210*time.Millisecond {
		t.Errorf("uniform delays between 100 ms and 300 ms have a mean of %s", mean)
	}
	e, _ = engine(t, 42, "point='api'\naction='latency'\ndelay={median='100ms', sigma=0.5}")
	var all []float64
	for range 1000 {
		all = append(all, float64(e.Decide(Call{Point: API}).Delay))
	}
	slices.Sort(all)
	if m := all[500]; math.Abs(m-1e8) > 1e7 {
		t.Errorf("the median is %s", time.Duration(m))
	}
	if ratio := all[977] / all[500]; ratio < 2.2 || ratio > 3.4 { // exp(2 x 0.5) = 2.7
		t.Errorf("two sigmas above the median lies its %.2f-fold", ratio)
	}
}

func TestCallsFromManyGoroutinesAreCountedOnce(t *testing.T) {
	e, _ := engine(t, 1, "point='api'\naction='drop'\ntimes=500", "id='x'\npoint='api'\naction='status'\nstatus=500\nevery=2")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 250 {
				e.Decide(Call{Point: API})
			}
		})
	}
	wg.Wait()
	if l := e.List(); l[0].Calls != 2000 || l[0].Hits != 500 || l[1].Calls != 2000 {
		t.Errorf("counted %+v", l)
	}
}

func TestRulesAreChangedWhileItRuns(t *testing.T) {
	e, _ := engine(t, 1, "point='api'\naction='drop'", "id='mine'\npoint='api'\naction='status'\nstatus=503")
	if l := e.List(); l[0].Rule.ID != "fault-1" || l[1].Rule.ID != "mine" {
		t.Fatalf("ids %s, %s", l[0].Rule.ID, l[1].Rule.ID)
	}
	if _, err := e.Add(rule(t, "point='job'\naction='fail'"), rule(t, "id='mine'\npoint='job'\naction='fail'")); !errors.Is(err, ErrRuleExists) || len(e.List()) != 2 {
		t.Errorf("a second rule of the same id: %v, %d rules", err, len(e.List()))
	}
	if c, err := e.Turn("fault-1", false); err != nil || !c.Rule.Off {
		t.Errorf("turned off: %+v, %v", c, err)
	}
	if v := e.Decide(Call{Point: API}); v.Do.Kind != Status {
		t.Errorf("a rule that is off acts: %+v", v)
	}
	noerr.Must(t, noerr.From(e.Turn("fault-1", true)))
	if v := e.Decide(Call{Point: API}); v.Do.Kind != Drop {
		t.Errorf("a rule that is on again: %+v", v)
	}
	if c, err := e.Replace("fault-1", rule(t, "id='other'\npoint='api'\naction='empty'")); err != nil || c.Rule.ID != "fault-1" || c.Calls != 0 {
		t.Errorf("replaced: %+v, %v", c, err)
	}
	if v := e.Decide(Call{Point: API}); v.Do.Kind != Empty || v.Rules[0] != "fault-1" {
		t.Errorf("the rule in its place: %+v", v)
	}
	if err := e.Remove("fault-1"); err != nil || len(e.List()) != 1 {
		t.Errorf("removed: %v", err)
	}
	for name, err := range map[string]error{
		"remove": e.Remove("fault-1"), "turn": second(e.Turn("fault-1", true)), "get": second(e.Get("fault-1")), "replace": second(e.Replace("fault-1", Rule{})),
	} {
		if !errors.Is(err, ErrNoSuchRule) {
			t.Errorf("%s of no rule: %v", name, err)
		}
	}
	if n := e.Clear(); n != 1 || e.Active(API) {
		t.Errorf("cleared %d", n)
	}
	if _, err := e.Add(make([]Rule, MaxRules+1)...); !errors.Is(err, ErrTooMany) {
		t.Errorf("too many: %v", err)
	}
}

func second(_ Counted, err error) error { return err }

func TestAMistakeInARuleIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		``:                 "the fault has no point; expected point = one of api, proxy, target, webhook, job",
		`{"point":"moon"}`: `"moon" is not a known point`,
		`{"point":"webhook","action":"never","zone":"z"}`: "the point webhook does not know the zone of a call; expected one of host, path",
		`{"point":"api","action":"captcha"}`:              `"captcha" is not an action of the api; expected one of latency, status`,
		`{"point":"target","action":"drop","above":1}`:    `above counts calls at once, which is known at api and proxy; expected point = api or proxy`,
		`{"point":"api"}`:                                                                             `"" is not an action of the api`,
		`{"point":"api","action":"latency"}`:                                                          "the action latency has no delay",
		`{"point":"api","action":"status"}`:                                                           "the action status has no status",
		`{"point":"api","action":"status","stauts":503}`:                                              `unknown field "stauts"`,
		`{"point":"api","action":"cut"}`:                                                              "the action cut has no after",
		`{"point":"api","action":"dribble"}`:                                                          "the action dribble has no pause",
		`{"point":"api","action":"bandwidth"}`:                                                        "the action bandwidth has no rate",
		`{"point":"api","action":"error"}`:                                                            "the action error has no code",
		`{"point":"api","action":"drop","status":500}`:                                                "status is not a field of the action drop at the point api; expected delay, accepted",
		`{"point":"api","action":"status","status":99}`:                                               "99 is out of range",
		`{"point":"api","action":"drop","colour":1}`:                                                  `unknown field "colour"`,
		`{"point":"api","action":"drop","nth":2,"from":1}`:                                            "nth stands with from",
		`{"point":"api","action":"drop","from":5,"until":4}`:                                          "until is 4 and from 5",
		`{"point":"api","action":"drop","probability":0}`:                                             "a probability of 0 never hits",
		`{"point":"api","action":"drop","at":"2026-01-01","in":"1h"}`:                                 "the fault has both at and in",
		`{"point":"api","action":"drop","id":"a b"}`:                                                  `"a b" cannot name a rule`,
		`{"point":"api","action":"latency","delay":{}}`:                                               "the delay is not a distribution",
		`{"point":"api","action":"latency","delay":{"lower":"2s","upper":"1s"}}`:                      "upper is not above lower",
		`{"point":"api","action":"latency","delay":{"median":"2s"}}`:                                  "a log-normal delay needs median and sigma",
		`{"point":"api","action":"latency","delay":"11m"}`:                                            `"11m" is too long; expected at most 10m0s`,
		`{"point":"webhook","action":"status","status":500,"body":"x"}`:                               "body is not a field of the action status at the point webhook",
		`{"point":"webhook","action":"status","status":500,"accepted":true}`:                          "accepted is not a field of the action status",
		`{"point":"job","action":"error","code":"x","status":500}`:                                    "status is not a field of the action error at the point job",
		`{"point":"api","action":"latency","delay":5}`:                                                "delay is a number",
		`{"point":"api","action":"status","status":200,"headers":{"a b":"c"}}`:                        `"a b" is not a header`,
		`{"point":"api","action":"error","code":"a\nb"}`:                                              "code cannot stand in a header",
		`{"point":"api","action":"latency","delay":{"lower":"1s","upper":"2s","sigma":1,"median":1}}`: "delay.median: median is a number",
	} {
		if text == "" {
			text = "{}"
		}
		tab, err := document.JSON([]byte(text))
		noerr.Must(t, err)
		Parse(tab)
		if err := tab.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestARuleIsShownAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SampledFrom(actions()).Draw(t, "action")
		point, kind := rapid.SampledFrom(row.points).Draw(t, "point"), row.kind
		m := map[string]any{"id": "r", "point": string(point), "action": string(kind), "delay": "1.5s", "host": "*.test", "probability": 0.25, "in": "36h"}
		for _, name := range row.fields {
			m[name] = map[string]any{
				"accepted": true, "status": 503, "headers": map[string]string{"X-A": "b"}, "body": "text", "code": "reject_block", "message": "no",
				"retry_after": "2s", "after": 10, "chunk": 3, "pause": "5ms", "rate": 1000, "copies": 3,
			}[name]
		}
		if rapid.Bool().Draw(t, "uniform") {
			m["delay"] = map[string]any{"lower": "1ms", "upper": "2ms"}
		}
		b, err := json.Marshal(m)
		noerr.Must(t, err)
		first := parseJSON(t, b)
		if b, err = jsonv2.Marshal(first.written()); err != nil {
			t.Fatal(err)
		}
		if again := parseJSON(t, b); fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", first) {
			t.Errorf("%s came back as %+v, was %+v", b, again, first)
		}
	})
}

func parseJSON(t *rapid.T, b []byte) Rule {
	tab, err := document.JSON(b)
	noerr.Must(t, err)
	r := Parse(tab)
	if err := tab.Err(); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return r
}

func FuzzRule(f *testing.F) {
	f.Add([]byte(`{"point":"api","action":"status","status":503,"delay":{"median":"1s","sigma":2},"every":3,"zone":"*a*"}`), "unlocker")
	f.Add([]byte(`{"point":"target","action":"dribble","pause":"1ms","chunk":9,"host":"*","times":2,"probability":0.5}`), "")
	f.Fuzz(func(t *testing.T, b []byte, zone string) {
		tab, err := document.JSON(b)
		if err != nil {
			return
		}
		r := Parse(tab)
		if tab.Err() != nil {
			return
		}
		e := New(Config{Seed: 1, Now: time.Now})
		noerr.Must(t, noerr.From(e.Add(r)))
		for range 4 {
			if v := e.Decide(Call{Point: r.Match.Point, Zone: zone}); v.Delay < 0 || v.Delay > MaxDelay {
				t.Errorf("a delay of %s", v.Delay)
			}
		}
		noerr.Want(t, noerr.From(json.Marshal(e.List())))
	})
}

func BenchmarkDecide(b *testing.B) {
	for _, rules := range []int{0, 1, 16} {
		b.Run(fmt.Sprint(rules), func(b *testing.B) {
			e, _ := engine(b, 1)
			for range rules {
				noerr.Must(b, noerr.From(e.Add(rule(b, "point='api'\naction='latency'\ndelay='1ms'\nprobability=0.5\nzone='other'"))))
			}
			for b.Loop() {
				e.Decide(Call{Point: API, Zone: "unlocker_demo"})
			}
		})
	}
}
