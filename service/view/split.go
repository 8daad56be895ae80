package view

import (
	"zonedeck/model"
)

// Split is the object that "split --json" prints (docs/schema/split.json).
type Split struct {
	SchemaVersion Version      `json:"schema_version"`
	Culprit       string       `json:"culprit" enum:"|key|site|zone"`
	Sentence      string       `json:"sentence"`
	Profile       string       `json:"profile" jsonschema:"The profile that the calls were sent with."`
	Subject       SplitFetch   `json:"subject"`
	Probes        []SplitProbe `json:"probes" maxItems:"3"`
}

// SplitFetch is one fetch of a split.
type SplitFetch struct {
	Fetch   string `json:"fetch"`
	Zone    string `json:"zone"`
	URL     string `json:"url"`
	Key     string `json:"key,omitempty"`
	Class   string `json:"class" enum:"class"`
	Cause   string `json:"cause"`
	Summary string `json:"summary"`
	Status  int    `json:"status" minimum:"0"`
}

// SplitProbe is a fetch in which one thing differs.
type SplitProbe struct {
	Kind    string      `json:"kind" enum:"good_page|other_key|other_zone"`
	Differs string      `json:"differs"`
	CostUSD *float64    `json:"cost_usd" minimum:"0"`
	Problem string      `json:"problem,omitempty"`
	Result  *SplitFetch `json:"result"`
}

func newSplitFetch(g model.Grid, c model.Cell) SplitFetch {
	r := c.Runs[0]
	return SplitFetch{
		Fetch: r.FetchID, Zone: string(c.Zone.Name), URL: g.Request(c).URL, Key: c.Key,
		Class: string(r.Class), Cause: string(r.Cause), Summary: r.Summary, Status: r.Status,
	}
}

// NewSplit is a comparison that finds out what refuses.
func NewSplit(g model.Grid, profile string) Split {
	v := g.Verdict()
	if !g.Refused() {
		v.Text = "The page was not refused."
	}
	out := Split{Culprit: string(v.Culprit), Sentence: v.Text, Profile: profile, Subject: newSplitFetch(g, g.Cells[0]), Probes: []SplitProbe{}}
	for _, c := range g.Cells[1:] {
		q := SplitProbe{Kind: string(c.Label), Differs: c.Different(), Problem: c.Problem}
		if cost, priced := g.Price(c); priced {
			q.CostUSD = &cost
		}
		if len(c.Runs) > 0 {
			r := newSplitFetch(g, c)
			q.Result = &r
		}
		out.Probes = append(out.Probes, q)
	}
	return out
}
