package batch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zonedeck/model"
	"zonedeck/service/batch/store"
	"zonedeck/service/fetch"
)

// Rule has another zone take over where too many results are of one class.
type Rule struct {
	Failure
	Times int        // how many such results it takes
	Zone  model.Zone // that takes over
	Item  bool       // they are counted for an item, and the zone takes over that item alone; otherwise for a host
}

// ruleGrammar is what a rule looks like.
const ruleGrammar = "'CLASS xN -> zone=ZONE,host' or '…,item', such as 'captcha x2 -> zone=unlocker1,host'"

func (r Rule) String() string {
	of := "host"
	if r.Item {
		of = "item"
	}
	return fmt.Sprintf("%s x%d -> zone=%s,%s", r.Failure, r.Times, r.Zone.Name, of)
}

// Failure is what failed results are chosen by: a class or, of those outside the classes, a cause.
type Failure struct {
	Class model.Class
	Cause model.Cause `json:",omitempty"` // empty for all of the class
}

func (f Failure) String() string {
	return strings.ReplaceAll(strings.ToLower(model.ClassWord(f.Class, f.Cause)), " ", "_")
}

func (f Failure) covers(class model.Class, cause model.Cause) bool {
	return f.Class == class && (f.Cause == "" || f.Cause == cause)
}

// ParseFailure reads a failure as it is shown, such as target error; target_error is the same.
func ParseFailure(word string) (Failure, error) {
	var known []string
	for _, class := range model.Classes()[1:] { // the first is ok
		causes := []model.Cause{""}
		if class == model.ClassOutside {
			causes = append(causes, class.Causes()...)
		}
		for _, cause := range causes {
			f := Failure{class, cause}
			if f.String() == strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), " ", "_") {
				return f, nil
			}
			known = append(known, f.String())
		}
	}
	return Failure{}, fmt.Errorf("%q is no class of a failure: write one of %s (outside is any of those behind it)", model.Cut(word, 40), strings.Join(known, ", "))
}

// parseRule reads a rule; of its zone it knows the name.
func parseRule(text string) (r Rule, err error) {
	fault := func(part, format string, args ...any) error {
		at := len([]rune(text[:max(strings.Index(text, part), 0)])) + 1
		return fmt.Errorf("%q, at character %d: %s; a rule is %s", model.Cut(text, 80), at, fmt.Sprintf(format, args...), ruleGrammar)
	}
	left, right, arrow := strings.Cut(text, "->")
	words := strings.Fields(left)
	if !arrow || len(words) != 2 {
		return r, fault(left, "before '->' stand a class and a number")
	}
	if r.Failure, err = ParseFailure(words[0]); err != nil {
		return r, fault(words[0], "%v", err)
	}
	number, times := strings.CutPrefix(words[1], "x")
	if r.Times, err = strconv.Atoi(number); err != nil || !times || r.Times < 1 || r.Times > 1000 {
		return r, fault(words[1], "%q is no number such as x2, from x1 to x1000", words[1])
	}
	zone, of, _ := strings.Cut(strings.TrimSpace(right), ",")
	name, named := strings.CutPrefix(strings.TrimSpace(zone), "zone=")
	if !named || name == "" {
		return r, fault(right, "behind '->' stands zone= with the name of a zone")
	}
	r.Zone.Name = model.ZoneName(name)
	switch of = strings.TrimSpace(of); of {
	case "", "host":
	case "item":
		r.Item = true
	default:
		return r, fault(of, "%q is neither host nor item", model.Cut(of, 40))
	}
	return r, nil
}

// ruled puts the rules of a draft into its plan, with their zones of the profile, and the price of the dearest zone.
func (r *Report) ruled(k fetch.Known) error {
	for i, text := range r.draft.Rules {
		rule, err := parseRule(text)
		if err != nil {
			return model.BadField("rule", "%w", err)
		}
		if rule.Zone, err = k.Zone(rule.Zone.Name); err != nil {
			return model.BadField("rule", "rule %d: %w", i+1, err)
		}
		if rule.Zone.Name == r.Plan.Request.Zone.Name {
			return model.BadField("rule", "rule %d: %s is the batch's own zone", i+1, rule.Zone.Name)
		}
		if most := rule.mostOfAnItem(i, r.Plan.Retries); rule.Item && rule.Times > most {
			return model.BadField("rule", "rule %d can never hold: an item has at most %s of class %s: write x%d, or ',host'", i+1, model.Counted(most, "result"), rule.Failure, most)
		}
		r.Plan.Rules = append(r.Plan.Rules, rule)
	}
	r.Plan.setPrice()
	return nil
}

// mostOfAnItem is how many results an item can have that the rule counts, by the batch's zone and those of the rules before.
func (r Rule) mostOfAnItem(before, retries int) int {
	if !model.MayRetry(r.Class, r.Cause) {
		return 1
	}
	return (before + 1) * (retries + 1)
}

// setPrice finds what a try may cost at most, by the rates of the zones.
func (p *Plan) setPrice() {
	p.Price, p.Unpriced = 0, ""
	for _, of := range p.ways() {
		dollars, priced := fetch.UpperBound(of)
		if !priced {
			p.Price, p.Unpriced = 0, of.Zone.Name
			return
		}
		p.Price = max(p.Price, billionths(dollars))
	}
}

// ways are the templates of a plan: through its own zone, then through that of each rule.
func (p Plan) ways() []model.FetchRequest {
	out := []model.FetchRequest{p.Request}
	for _, rule := range p.Rules {
		of := p.Request
		of.Zone = rule.Zone
		out = append(out, of)
	}
	return out
}

// ours is a plan with what this machine's profile has of its zones now: the references of their passwords, and the rates
// by which tries are reserved. On a server the references to other secrets are its own, too, by their names: whoever can
// write the database says what is fetched, but has no command run and no other secret sent.
func (b *Batches) ours(ctx context.Context, p Plan) (Plan, error) {
	st, err := b.Files.Batches(ctx)
	if err != nil {
		return p, err
	}
	profile, err := b.Fetch.ProfileInUse(ctx)
	if err != nil {
		return p, err
	}
	if profile.Name != p.Profile {
		return p, model.BadField("profile", "the batch belongs to profile %s", p.Profile)
	}
	known := b.Profiles.Known(profile)
	var missing []model.FieldProblem
	zone := func(z *model.Zone) {
		if *z, err = known.Zone(z.Name); err != nil {
			missing = append(missing, model.FieldProblem{Field: "zone", Err: err})
		}
	}
	zone(&p.Request.Zone)
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		zone(&p.Rules[i].Zone)
	}
	p.setPrice()
	p.Request.Secrets = maps.Clone(p.Request.Secrets)
	for _, name := range slices.Sorted(maps.Keys(p.Request.Secrets)) {
		if st.Server == nil {
			break
		}
		v, _ := b.Profiles.Variable(name)
		if _, listed := profile.Variables[name]; !listed || v.Ref == "" {
			missing = append(missing, model.FieldProblem{Field: p.Request.VariableField(name), Err: fmt.Errorf("{{%s}}: a worker takes secrets from its own profile alone: name the reference below [profiles.%s.variables] on each machine", name, profile.Name)})
		}
		p.Request.Secrets[name] = v.Ref
	}
	if len(missing) > 0 {
		return p, &model.RequestError{Problems: missing}
	}
	return p, nil
}

// prepare prepares the fetches of all ways of a plan of ours.
func (b *Batches) prepare(ctx context.Context, p Plan) (ways prepared, err error) {
	for i, of := range p.ways() {
		way, err := b.Fetch.Prepare(ctx, of)
		if err != nil {
			ways.Close()
			if i > 0 {
				err = fmt.Errorf("rule %d: %w", i, err)
			}
			return nil, err
		}
		ways = append(ways, way)
	}
	return ways, nil
}

// prepared are the ways of a plan.
type prepared []*fetch.Prepared

func (ways prepared) Close() {
	for _, way := range ways {
		way.Close()
	}
}

// detours know by which way a host goes. Way 0 is the plan's own zone, way n that of rule n.
type detours struct {
	rules  []Rule
	mu     sync.Mutex
	hosts  map[string]int // the ways that are not 0
	counts map[store.Count]int64
	recent map[store.Count]int64 // those that are not committed yet
}

// mostCounts bounds the counts of hosts in memory. A commit gives those that were forgotten again.
const mostCounts = 1 << 16

// wayOf is the way of a host.
func (d *detours) wayOf(host string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hosts[host]
}

// next counts a result that came by a way, for the first rule behind that way that is about its class. It gives the way
// by which the item goes on, and whether the rule has just begun to hold for the item, for which own counts.
func (d *detours) next(host string, way int, seen Failure, own map[int]int) (next int, fired bool) {
	at := way + slices.IndexFunc(d.rules[way:], func(r Rule) bool { return r.covers(seen.Class, seen.Cause) })
	if at < way {
		return way, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rules[at].Item {
		own[at]++
		if own[at] < d.rules[at].Times {
			return way, false
		}
		return at + 1, true
	}
	if d.hosts[host] <= at {
		if len(d.counts) > mostCounts {
			clear(d.counts)
		}
		of := store.Count{Host: host, Rule: at}
		d.recent[of]++
		d.counts[of]++
		d.decide(of)
	}
	if now := d.hosts[host]; now > at {
		return now, false
	}
	return way, false
}

// decide has a host go by the way of a rule if that has counted enough.
func (d *detours) decide(of store.Count) {
	if of.Rule < len(d.rules) && d.counts[of] >= int64(d.rules[of.Rule].Times) {
		d.hosts[of.Host] = max(d.hosts[of.Host], of.Rule+1)
	}
}

// uncommitted gives what was counted since the last call.
func (d *detours) uncommitted() map[store.Count]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	recent := d.recent
	d.recent = map[store.Count]int64{}
	return recent
}

// committed takes what all workers have counted, but for what this one has not committed yet.
func (d *detours) committed(counts map[store.Count]int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for of, times := range counts {
		d.counts[of] = times + d.recent[of]
		d.decide(of)
	}
}

// holds are the counts at which the rules hold for a host.
func (p Plan) holds() (times []int64) {
	for _, rule := range p.Rules {
		times = append(times, int64(rule.Times))
	}
	return times
}

// remember takes what the rules have counted before.
func (r *runner) remember(ctx context.Context) error {
	r.detours = detours{rules: r.plan.Rules, hosts: map[string]int{}, counts: map[store.Count]int64{}, recent: map[store.Count]int64{}}
	counts, err := r.store.Counts(ctx, r.id, mostCounts)
	r.detours.committed(counts)
	return err
}

// Fired is how often each rule of a batch began to hold.
func (s State) Fired() []int64 {
	out := make([]int64, len(s.Plan.Rules))
	for n, count := range maps.All(s.Tally.Fired) {
		if n > 0 && n <= len(out) {
			out[n-1] = count
		}
	}
	return out
}
