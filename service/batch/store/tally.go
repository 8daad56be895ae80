package store

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"zonedeck/model"
)

// Tally sums results up. The zero Tally is that of none.
type Tally struct {
	Answered   int64 // items with a result
	Tries      int64
	Bytes      int64
	Again      int64 // items that may have been sent, have no answer, and are sent again
	Unanswered int64 // those that wait for a decision whether they are
	// Unconfirmed is what these may have cost, in billionths of a dollar. It counts as spent.
	Unconfirmed int64 `json:",omitempty"`
	Dropped     int64 // those that are not sent again by decision
	Unpriced    int64 // tries whose price is not known
	Retried     int64 `json:",omitempty"` // items with a result that were sent again for a better one
	Rounds      int   `json:",omitempty"` // how often that was asked for
	// Fired counts by the number of a rule, from 1, how often it began to hold.
	Fired map[int]int64 `json:",omitempty"`
	// Verdicts counts the items by class and cause.
	Verdicts map[Verdict]int64 `json:",omitempty"`
	// Times counts the items that were ok by how long they took, in steps of about 10 %.
	Times map[int]int64 `json:",omitempty"`
	// Zones count what came through each.
	Zones map[string]Host `json:",omitempty"`
	// Hosts are those with most failures, at most mostHosts. Once one was left out, Further says so.
	Hosts   map[string]Host `json:",omitempty"`
	Further bool            `json:",omitempty"`
}

// mostHosts bounds the hosts of a tally.
const mostHosts = 200

// Verdict is a class of failure with its cause.
type Verdict struct {
	Class model.Class
	Cause model.Cause
}

// MarshalText makes it a key of JSON.
func (v Verdict) MarshalText() ([]byte, error) {
	return []byte(string(v.Class) + "/" + string(v.Cause)), nil
}

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, c := range text {
		if c == '/' {
			v.Class, v.Cause = model.Class(text[:i]), model.Cause(text[i+1:])
			return nil
		}
	}
	v.Class = model.Class(text)
	return nil
}

// Host is what became of the items of one host, or through one zone.
type Host struct {
	OK     int64
	Failed map[Verdict]int64 `json:",omitempty"`
}

// Failures counts the items that were not ok.
func (h Host) Failures() (n int64) {
	for _, count := range h.Failed {
		n += count
	}
	return n
}

func (h Host) plus(other Host) Host {
	return Host{OK: h.OK + other.OK, Failed: sum(h.Failed, other.Failed)}
}

// Main is the most frequent failure of a host.
func (h Host) Main() (main Verdict, n int64) {
	for _, v := range slices.SortedFunc(maps.Keys(h.Failed), func(a, b Verdict) int { return int(h.Failed[b] - h.Failed[a]) }) {
		return v, h.Failed[v]
	}
	return main, 0
}

// Result is one item's part in a tally.
type Result struct {
	Verdict
	OK    bool
	Total time.Duration
	Bytes int64
	Tries int
	Host  string
	Zone  string
}

// Count adds a result.
func (t *Tally) Count(r Result) {
	one := Tally{Answered: 1, Tries: int64(r.Tries), Bytes: r.Bytes, Verdicts: map[Verdict]int64{r.Verdict: 1}}
	h := Host{Failed: map[Verdict]int64{r.Verdict: 1}}
	if r.OK {
		one.Times = map[int]int64{step(r.Total): 1}
		h = Host{OK: 1}
	}
	one.Hosts, one.Zones = map[string]Host{r.Host: h}, map[string]Host{r.Zone: h}
	t.Add(one)
}

// Add adds what another one counted.
func (t *Tally) Add(other Tally) {
	t.Answered += other.Answered
	t.Tries += other.Tries
	t.Bytes += other.Bytes
	t.Again += other.Again
	t.Unanswered += other.Unanswered
	t.Unconfirmed += other.Unconfirmed
	t.Dropped += other.Dropped
	t.Unpriced += other.Unpriced
	t.Retried += other.Retried
	t.Rounds += other.Rounds
	t.Verdicts, t.Times, t.Fired = sum(t.Verdicts, other.Verdicts), sum(t.Times, other.Times), sum(t.Fired, other.Fired)
	t.Further = t.Further || other.Further
	for name, h := range other.Zones {
		if t.Zones == nil {
			t.Zones = map[string]Host{}
		}
		t.Zones[name] = t.Zones[name].plus(h)
	}
	for name, h := range other.Hosts {
		known, ok := t.Hosts[name]
		if !ok && len(t.Hosts) >= mostHosts && !t.makeRoom(h) {
			t.Further = true
			continue
		}
		if t.Hosts == nil {
			t.Hosts = map[string]Host{}
		}
		t.Hosts[name] = known.plus(h)
	}
}

// Keep takes from an earlier count what no result says: what was sent, and what waits or was dropped.
func (t *Tally) Keep(earlier Tally) {
	counted := *t
	*t = earlier
	t.Answered, t.Verdicts, t.Times, t.Hosts, t.Zones, t.Further = counted.Answered, counted.Verdicts, counted.Times, counted.Hosts, counted.Zones, counted.Further
}

// makeRoom forgets a host without failures in favour of one with some.
func (t *Tally) makeRoom(h Host) bool {
	if h.Failures() == 0 {
		return false
	}
	for name, old := range t.Hosts {
		if old.Failures() == 0 {
			delete(t.Hosts, name)
			t.Further = true
			return true
		}
	}
	return false
}

func sum[K comparable](a, b map[K]int64) map[K]int64 {
	if a == nil && len(b) > 0 {
		a = make(map[K]int64, len(b))
	}
	for k, n := range b {
		a[k] += n
	}
	return a
}

// step is the first place, of those that are counted, that is no shorter than a duration.
func step(d time.Duration) int {
	return int(math.Ceil(math.Log(max(float64(d), float64(time.Millisecond))) / math.Log(1.1)))
}

// Percentile is the time within which a share of the items that were ok came: at most 10 % more than it was; -1 without any.
func (t Tally) Percentile(share float64) time.Duration {
	var all, below int64
	for _, n := range t.Times {
		all += n
	}
	for _, at := range slices.Sorted(maps.Keys(t.Times)) {
		if below += t.Times[at]; float64(below) >= share*float64(all) {
			return time.Duration(math.Pow(1.1, float64(at)))
		}
	}
	return -1
}

func (t Tally) text() string {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // it holds numbers and texts alone
	}
	return string(b)
}
