// Package fault injects faults. A rule says where (the API, the proxy, the way to a target,
// a webhook, a job), for which calls and how often, and what then happens: latency, a
// status, a burst of 429, a call that is lost before or after it was accepted, a cut or
// dribbling body, a CAPTCHA page, changed markup, a webhook that comes late, twice or never.
//
// An [Engine] holds the rules and decides; [Web.Handler], [Engine.Transport] and
// [Action.Conn] apply its verdicts to HTTP servers, HTTP clients and connections. The
// scenario sets the first rules, and the control API changes them while the emulator runs.
// The names are those of other fault injectors.
//
// The same rules, seed and order of calls give the same verdicts: the n-th call that a
// rule matches draws from a generator that is seeded by (seed, rule, n) alone.
//
// An Engine is safe for concurrent use. With no rule at a point, a call costs one atomic
// load.
package fault

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// Errors of a change of rules.
var (
	ErrNoSuchRule = errors.New("no such fault")
	ErrRuleExists = errors.New("a fault of this id exists")
	ErrTooMany    = fmt.Errorf("there are %d faults already", MaxRules)
)

// Config is what an Engine needs.
type Config struct {
	// Seed makes random draws repeatable.
	Seed uint64
	// Now is the emulator's clock.
	Now func() time.Time
}

// Engine holds the rules and decides. Make it with New.
type Engine struct {
	conf Config

	change sync.Mutex // serialises writers
	rules  atomic.Pointer[[]*installed]
	next   int // number for a rule without an id
}

// installed is a rule with its counters. The rule itself never changes.
type installed struct {
	rule   Rule
	added  time.Time
	off    atomic.Bool
	calls  atomic.Int64
	hits   atomic.Int64
	atOnce atomic.Int64 // matched calls, of a rule with Above
}

// New makes an engine without rules.
func New(conf Config) *Engine {
	e := &Engine{conf: conf}
	e.rules.Store(new([]*installed{}))
	return e
}

// Counted is a rule with its counters.
type Counted struct {
	Rule  Rule
	Added time.Time
	// Calls counts those that matched while the rule was on and within its time, Hits those
	// it hit.
	Calls, Hits int64
}

// MarshalJSON gives the fields that Parse reads, then off, calls, hits and added.
func (c Counted) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Rule  written   `json:",inline"`
		Off   bool      `json:"off"`
		Calls int64     `json:"calls"`
		Hits  int64     `json:"hits"`
		Added time.Time `json:"added"`
	}{c.Rule.written(), c.Rule.Off, c.Calls, c.Hits, c.Added.UTC()}, json.Deterministic(true))
}

// Add adds rules, all or none, and gives an id to one without. Rules decide in the order in
// which they were added. Errors: ErrRuleExists, ErrTooMany.
func (e *Engine) Add(rules ...Rule) ([]Counted, error) {
	e.change.Lock()
	defer e.change.Unlock()
	all := slices.Clone(*e.rules.Load())
	if len(all)+len(rules) > MaxRules {
		return nil, ErrTooMany
	}
	var out []Counted
	for _, r := range rules {
		for r.ID == "" {
			e.next++
			if id := "fault-" + strconv.Itoa(e.next); indexOf(all, id) < 0 {
				r.ID = id
			}
		}
		if indexOf(all, r.ID) >= 0 {
			return nil, fmt.Errorf("%w: %s", ErrRuleExists, r.ID)
		}
		h := e.install(r)
		all = append(all, h)
		out = append(out, h.counted())
	}
	e.rules.Store(&all)
	return out, nil
}

func (e *Engine) install(r Rule) *installed {
	h := &installed{rule: r, added: e.conf.Now()}
	h.off.Store(r.Off)
	return h
}

func indexOf(all []*installed, id string) int {
	return slices.IndexFunc(all, func(h *installed) bool { return h.rule.ID == id })
}

func (h *installed) counted() Counted {
	c := Counted{Rule: h.rule, Added: h.added, Calls: h.calls.Load(), Hits: h.hits.Load()}
	c.Rule.Off = h.off.Load()
	return c
}

// List is the rules in their order, with their counters.
func (e *Engine) List() []Counted {
	out := []Counted{}
	for _, h := range *e.rules.Load() {
		out = append(out, h.counted())
	}
	return out
}

// Get is one rule. Error: ErrNoSuchRule.
func (e *Engine) Get(id string) (Counted, error) {
	all := *e.rules.Load()
	if i := indexOf(all, id); i >= 0 {
		return all[i].counted(), nil
	}
	return Counted{}, fmt.Errorf("%w: %s", ErrNoSuchRule, id)
}

// edit changes the list of rules, given as a copy, where a rule stands in it. Error:
// ErrNoSuchRule.
func (e *Engine) edit(id string, change func(all []*installed, i int) []*installed) error {
	e.change.Lock()
	defer e.change.Unlock()
	all := slices.Clone(*e.rules.Load())
	i := indexOf(all, id)
	if i < 0 {
		return fmt.Errorf("%w: %s", ErrNoSuchRule, id)
	}
	all = change(all, i)
	e.rules.Store(&all)
	return nil
}

// Remove removes a rule. Error: ErrNoSuchRule.
func (e *Engine) Remove(id string) error {
	return e.edit(id, func(all []*installed, i int) []*installed { return slices.Delete(all, i, i+1) })
}

// Clear removes all rules and returns how many there were.
func (e *Engine) Clear() int {
	e.change.Lock()
	defer e.change.Unlock()
	return len(*e.rules.Swap(new([]*installed{})))
}

// Turn switches a rule on or off; its counters go on from where they stood. Error:
// ErrNoSuchRule.
func (e *Engine) Turn(id string, on bool) (c Counted, err error) {
	err = e.edit(id, func(all []*installed, i int) []*installed {
		all[i].off.Store(!on)
		c = all[i].counted()
		return all
	})
	return c, err
}

// Replace replaces a rule, with new counters. The id stays. Error: ErrNoSuchRule.
func (e *Engine) Replace(id string, r Rule) (c Counted, err error) {
	r.ID = id
	err = e.edit(id, func(all []*installed, i int) []*installed {
		all[i] = e.install(r)
		c = all[i].counted()
		return all
	})
	return c, err
}

// On is how many rules are not switched off.
func (e *Engine) On() (n int) {
	for _, h := range *e.rules.Load() {
		if !h.off.Load() {
			n++
		}
	}
	return n
}

// Active reports whether a point has any rule. Without one, a caller need not describe its
// calls.
func (e *Engine) Active(p Point) bool {
	for _, h := range *e.rules.Load() {
		if h.rule.Match.Point == p && !h.off.Load() {
			return true
		}
	}
	return false
}

// Verdict is what happens to one call. The zero value is nothing.
type Verdict struct {
	// Delay is waited first. It is the sum over all rules that hit, at most MaxDelay.
	Delay time.Duration
	// Do is the action of the first rule that hit and does more than wait. Its Kind is empty
	// if no rule does.
	Do Action
	// Rules are the ids of the rules that hit, in their order.
	Rules []string
	// counted are the rules that count the call as long as it lasts.
	counted []*installed
}

// end says that the call is over.
func (v Verdict) end() {
	for _, h := range v.counted {
		h.atOnce.Add(-1)
	}
}

// Decide applies every rule to a call, and counts it.
func (e *Engine) Decide(c Call) Verdict {
	var v Verdict
	all := *e.rules.Load()
	if len(all) == 0 {
		return v
	}
	now := e.conf.Now()
	for _, h := range all {
		r := &h.rule
		if h.off.Load() || !r.Match.matches(&c) || !r.When.active(h.added, now) {
			continue
		}
		n := h.calls.Add(1)
		if !r.When.hits(n) {
			continue
		}
		if r.When.Above > 0 {
			v.counted = append(v.counted, h)
			if h.atOnce.Add(1) <= r.When.Above {
				continue
			}
		}
		waits := r.Do.Kind == Latency || r.Do.Kind == Late
		if !waits && v.Do.Kind != "" {
			continue // another rule acts already
		}
		draw := e.generator(r.ID, n)
		if p := r.When.Probability; p > 0 && draw.Float64() >= p {
			continue
		}
		if !h.takeHit() {
			continue
		}
		v.Rules = append(v.Rules, r.ID)
		v.Delay = min(v.Delay+r.Do.Delay.draw(draw), MaxDelay)
		if !waits {
			v.Do = r.Do
		}
	}
	return v
}

// takeHit counts a hit, unless the rule has used up its Times.
func (h *installed) takeHit() bool {
	for {
		n := h.hits.Load()
		if t := h.rule.When.Times; t > 0 && n >= t {
			return false
		}
		if h.hits.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// generator is the source of random draws for one call of one rule.
func (e *Engine) generator(id string, n int64) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash takes everything
	// The multiplier spreads neighbouring numbers over the whole state.
	return rand.New(rand.NewPCG(e.conf.Seed^h.Sum64(), uint64(n)*0x9e3779b97f4a7c15))
}

func (d Delay) draw(r *rand.Rand) time.Duration {
	switch {
	case d.Upper > 0:
		return d.Lower + time.Duration(r.Int64N(int64(d.Upper-d.Lower)+1))
	case d.Median > 0:
		return time.Duration(min(float64(d.Median)*math.Exp(r.NormFloat64()*d.Sigma), float64(MaxDelay)))
	default:
		return d.Fixed
	}
}
