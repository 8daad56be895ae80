package batch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// Summary is what a batch came to, by its results.
type Summary struct {
	State
	Zones  []ZoneSum
	Fields []FieldSum // that it requires
	Over   time.Duration
}

// ZoneSum is what came through a zone.
type ZoneSum struct {
	Zone      string
	ByRule    int // that led to it, from 1; 0 for the batch's own
	Items, OK int64
	Cost      float64 // of these items, dollars
}

// FieldSum is in how many of the pages that came a required field was.
type FieldSum struct {
	Path         string
	Found, Pages int64
}

// Report reads all results of a batch. Errors are an *UnknownError, those of the files and the store's.
func (b *Batches) Report(ctx context.Context, id string) (Summary, error) {
	s, err := b.Show(ctx, id)
	if err != nil {
		return Summary{}, err
	}
	type way struct {
		zone string
		rule int
	}
	zones, missing, pages := map[way]*ZoneSum{}, map[string]int64{}, int64(0)
	for line, err := range b.Results(ctx, s.ID, false) {
		if err != nil {
			return Summary{}, err
		}
		of := way{line.Zone, line.ByRule}
		if zones[of] == nil {
			zones[of] = &ZoneSum{Zone: line.Zone, ByRule: line.ByRule}
		}
		z, ok := zones[of], line.Class == string(model.ClassOK)
		z.Items++
		if ok {
			z.OK++
		}
		if line.Cost != nil {
			z.Cost += *line.Cost
		}
		if ok || len(line.Missing) > 0 {
			pages++
		}
		for _, path := range line.Missing {
			missing[path]++
		}
	}
	end := s.Changed
	if !s.Ended.IsZero() { // settings may change later
		end = s.Ended
	}
	out := Summary{State: s, Over: max(0, end.Sub(s.Created))}
	for _, path := range s.Plan.Request.Required {
		out.Fields = append(out.Fields, FieldSum{path, pages - missing[path], pages})
	}
	for z := range maps.Values(zones) {
		out.Zones = append(out.Zones, *z)
	}
	slices.SortFunc(out.Zones, func(a, b ZoneSum) int {
		return cmp.Or(cmp.Compare(b.Items, a.Items), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.ByRule, b.ByRule))
	})
	return out, nil
}

// UsefulCost is what an item that is ok cost, with all that was spent on the others; false where that is not known.
func (s Summary) UsefulCost() (dollars float64, known bool) {
	if s.Plan.Price == 0 || s.OK() == 0 {
		return 0, false
	}
	return Dollars(s.Spent) / float64(s.OK()), true
}

// Retries is how many tries were made beyond the first of each item.
func (s Summary) Retries() int64 { return max(0, s.Tally.Tries-s.Tally.Answered) }

// Speed is how many results came in a second, from the beginning until the end, or until the last change.
func (s Summary) Speed() float64 {
	if s.Over <= 0 {
		return 0
	}
	return float64(s.Tally.Answered) / s.Over.Seconds()
}

// Args are the words of a command that begins the same batch anew, as far as --once. A batch whose rows came from standard
// input has none.
func (s State) Args() ([]string, error) {
	if s.Plan.Path == "" {
		return nil, errors.New("its rows came from standard input: there is no file to read them from again")
	}
	p := s.Plan
	p.AtOnce, p.Rate, p.Cap = s.AtOnce, s.Rate, s.Cap
	words := append([][]string{{"batch", p.Path}}, p.flags()...)
	if s.database != "" {
		words = append(words, []string{"--database", s.database})
	}
	return slices.Concat(words...), nil
}

// flags are the flags of a plan that say more than the usual, each with its value.
func (p Plan) flags() (flags [][]string) {
	r := p.Request
	add := func(flag, value string) {
		if value != "" && value != "0" {
			flags = append(flags, []string{flag, value})
		}
	}
	add("--zone", string(r.Zone.Name))
	add("--via", string(r.Via))
	add("--url", r.URL)
	flags = append(flags, []string{"--retries", strconv.Itoa(p.Retries)})
	add("--max-body", strconv.FormatInt(r.BodyLimit/1_000_000, 10))
	if slices.Contains(rows.InputKinds(), p.Kind) { // else it is only how the file's name ends
		add("--from", p.Kind)
	}
	add("--column", p.Column)
	add("--method", r.Method)
	add("--data", r.Body)
	add("--format", string(r.Format))
	add("--country", r.Country)
	add("--session", r.Session)
	add("--key", r.Key)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			add("--header", name+": "+value)
		}
	}
	for _, path := range r.Required {
		add("--require", path)
	}
	for _, rule := range p.Rules {
		add("--rule", rule.String())
	}
	for _, o := range model.AllOptions() {
		if value := o.Value(r.Options); value != "" {
			flags = append(flags, []string{"--" + o.Flag() + "=" + value})
		}
	}
	if r.Timeout > 0 {
		add("--timeout", r.Timeout.String())
	}
	add("--at-once", strconv.Itoa(p.AtOnce))
	if p.Rate > 0 {
		add("--rate", strconv.FormatFloat(p.Rate, 'g', -1, 64)+"/s")
	}
	if p.Cap > 0 {
		add("--max-cost", strconv.FormatFloat(Dollars(p.Cap), 'f', -1, 64))
	}
	if p.SkipBad {
		flags = append(flags, []string{"--skip-bad"})
	}
	return flags
}

// unlike are the flags of a plan that another one does not have.
func (p Plan) unlike(other Plan) string {
	var out []string
	has := other.flags()
	for _, flag := range p.flags() {
		if !slices.ContainsFunc(has, func(of []string) bool { return slices.Equal(of, flag) }) {
			out = append(out, model.Cut(model.Line(strings.Join(flag, " "), 60), 60))
		}
	}
	return cmp.Or(strings.Join(out, " "), "none")
}

// dated is the end of a name with a date.
var dated = regexp.MustCompile(`-?\d{4}-\d{2}-\d{2}$`)

// Series is the name under which batches like this one are begun day after day: its own without a date, or that of its
// input.
func (s State) Series() string {
	name := dated.ReplaceAllString(s.Name, "")
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(s.Plan.Path), filepath.Ext(s.Plan.Path))
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r) {
			return r
		}
		return '-'
	}, name)
	return cmp.Or(strings.TrimLeft(name, "-"), "batch")
}

// RuleWords says of each rule how often it began to hold.
func (s State) RuleWords() (out []string) {
	for n, times := range s.Fired() {
		of := "host"
		if s.Plan.Rules[n].Item {
			of = "item"
		}
		words := "has not held yet"
		if times > 0 {
			words = "held for " + model.Counted(times, of)
		}
		out = append(out, s.Plan.Rules[n].String()+": "+words)
	}
	return out
}
