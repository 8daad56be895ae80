package drift

import (
	"fmt"
	"slices"

	"zonedeck/model"
)

// Pair is a sample before and after.
type Pair struct {
	Key           string
	Before, After string // empty where there is none
	Run           string // the job or fetch that Before is of
	// Pages are the two addresses, if they differ.
	Pages   [2]string
	Matches string // see Sample
	Fails   string
	// Matched reports whether all of it matched in an earlier run that is known.
	Matched bool
}

// Failure says which step of a selector matches nothing; empty where it matches.
func (p Pair) Failure() string {
	out := p.Fails + " matches nothing"
	switch {
	case p.Fails == "":
		return ""
	case p.Matched && p.Matches != "":
		return out + " any more; " + p.Matches + " still matches"
	case p.Matched:
		return out + " any more"
	case p.Matches != "":
		return out + ", and no run is known in which it did; " + p.Matches + " matches"
	default:
		return out + ", and no run is known in which it did"
	}
}

// Pairs lays the samples of the newest run beside those of the newest good one, by their keys; that of a required field
// beside that of the newest run in which the field matched, whatever others did there. See Unpaired.
func (d Detail) Pairs() []Pair {
	var out []Pair
	for _, s := range d.Run.Sample {
		was, run := d.before(s.Key)
		p := Pair{Key: s.Key, Before: was.Text, Run: run, After: s.Text, Matches: s.Matches, Fails: s.Fails, Matched: d.matched(s.Key)}
		if was.Page != "" && was.Page != s.Page {
			p.Pages = [2]string{was.Page, s.Page}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Pair) int {
		rank := func(p Pair) int {
			switch {
			case p.Fails != "":
				return 0
			case p.Before != "":
				return 1
			default:
				return 2
			}
		}
		return rank(a) - rank(b)
	})
	for _, s := range d.Good.Sample {
		if d.Run.Form == FormPage && d.Run.Useful > 0 && !d.Run.asked(s.Key) {
			continue // it is not gone: this fetch did not ask for it
		}
		if !slices.ContainsFunc(out, func(p Pair) bool { return p.Key == s.Key }) {
			out = append(out, Pair{Key: s.Key, Before: s.Text, Run: d.Good.Ref})
		}
	}
	return out
}

// before is the sample to show beside a sample of the newest run, and the run that it is from.
func (d Detail) before(key string) (s Sample, run string) {
	if d.Run.Form == FormPage {
		for _, r := range d.Runs[min(1, len(d.Runs)):] {
			f, _ := r.Field(key)
			if i := slices.IndexFunc(r.Sample, func(s Sample) bool { return s.Key == key }); i >= 0 && f.Filled > 0 {
				return r.Sample[i], r.Ref
			}
		}
	}
	if i := slices.IndexFunc(d.Good.Sample, func(s Sample) bool { return s.Key == key }); i >= 0 {
		return d.Good.Sample[i], d.Good.Ref
	}
	return Sample{}, ""
}

// matched reports whether a run before the newest had a required field.
func (d Detail) matched(path string) bool {
	had := func(r Run) bool {
		f, _ := r.Field(path)
		return f.Filled > 0
	}
	return had(d.Good) || slices.ContainsFunc(d.Runs[min(1, len(d.Runs)):], had)
}

// Unpaired says in a sentence why no two samples are of the same row. It is empty if some are, or if a run has no
// samples.
func (d Detail) Unpaired() string {
	if len(d.Run.Sample) == 0 || len(d.Good.Sample) == 0 || slices.ContainsFunc(d.Pairs(), func(p Pair) bool { return p.Before != "" && p.After != "" }) {
		return ""
	}
	if d.Key != "" {
		return fmt.Sprintf("No row that is kept of one run has the same %s as one of the other: none can be laid side by side.", model.Line(d.Key, 80))
	}
	return "No row that is kept of one run was asked for as one of the other: none can be laid side by side. Name a field that tells rows apart as key in the contract; it counts from the next run on."
}
