package view

import (
	"zonedeck/model"
)

// Refusal is the object that "diagnose URL --json" prints (docs/schema/diagnose-url.json).
type Refusal struct {
	SchemaVersion Version        `json:"schema_version"`
	Culprit       string         `json:"culprit" enum:"|key|site|zone"`
	Text          string         `json:"text"`
	Profile       string         `json:"profile" jsonschema:"The profile that the calls were sent with."`
	Fetch         RefusalFetch   `json:"fetch" jsonschema:"the one that was refused"`
	Probes        []RefusalProbe `json:"probes" maxItems:"3"`
}

// RefusalFetch is a fetch that shows what refuses.
type RefusalFetch struct {
	ID      string `json:"id"`
	Zone    string `json:"zone"`
	URL     string `json:"url"`
	Key     string `json:"key,omitempty"`
	Class   string `json:"class" enum:"class"`
	Cause   string `json:"cause"`
	Summary string `json:"summary"`
	Status  int    `json:"status" minimum:"0"`
}

// RefusalProbe is a fetch in which one thing differs.
type RefusalProbe struct {
	Kind         string        `json:"kind" enum:"good_page|other_key|other_zone"`
	Differs      string        `json:"differs"`
	CostEstimate *float64      `json:"cost_estimate" minimum:"0"`
	Problem      string        `json:"problem,omitempty"`
	Result       *RefusalFetch `json:"result"`
}

func newRefusalFetch(g model.Grid, c model.Cell) RefusalFetch {
	r := c.Runs[0]
	return RefusalFetch{
		ID: r.FetchID, Zone: string(c.Zone.Name), URL: g.Request(c).URL, Key: c.Key,
		Class: string(r.Class), Cause: string(r.Cause), Summary: r.Summary, Status: r.Status,
	}
}

// NewRefusal is a comparison that finds out what refuses.
func NewRefusal(g model.Grid, profile string) Refusal {
	v := g.Verdict()
	if !g.Refused() {
		v.Text = "The page was not refused."
	}
	out := Refusal{Culprit: string(v.Culprit), Text: v.Text, Profile: profile, Fetch: newRefusalFetch(g, g.Cells[0]), Probes: []RefusalProbe{}}
	for _, c := range g.Cells[1:] {
		q := RefusalProbe{Kind: string(c.Label), Differs: c.Different(), CostEstimate: known(g.Price(c)), Problem: c.Problem}
		if len(c.Runs) > 0 {
			r := newRefusalFetch(g, c)
			q.Result = &r
		}
		out.Probes = append(out.Probes, q)
	}
	return out
}
