package view

import (
	"zonedeck/model"
)

// Split is the object that "split --json" prints (docs/schema/split.json).
type Split struct {
	SchemaVersion Version      `json:"schema_version"`
	Culprit       string       `json:"culprit"`
	Sentence      string       `json:"sentence"`
	Profile       string       `json:"profile"`
	Subject       SplitFetch   `json:"subject"`
	Probes        []SplitProbe `json:"probes"`
}

// SplitFetch is one fetch of a split.
type SplitFetch struct {
	Fetch   string `json:"fetch"`
	Zone    string `json:"zone"`
	URL     string `json:"url"`
	Key     string `json:"key,omitempty"`
	Class   string `json:"class"`
	Cause   string `json:"cause"`
	Summary string `json:"summary"`
	Status  int    `json:"status"`
}

// SplitProbe is a fetch in which one thing differs.
type SplitProbe struct {
	Kind    string      `json:"kind"`
	Differs string      `json:"differs"`
	CostUSD *float64    `json:"cost_usd"`
	Problem string      `json:"problem,omitempty"`
	Result  *SplitFetch `json:"result"`
}

func newSplitFetch(r model.FetchResult) SplitFetch {
	d := r.Diagnosis
	return SplitFetch{
		Fetch: r.ID, Zone: string(r.Request.Zone.Name), URL: r.Request.URL, Key: r.KeyName,
		Class: string(d.Class), Cause: string(d.Cause), Summary: d.Summary, Status: r.Status,
	}
}

// NewSplit is a comparison that finds out what refuses.
func NewSplit(s model.Split, profile string) Split {
	culprit, sentence := s.Verdict()
	if s.Probes == nil {
		sentence = "The page was not refused."
	}
	out := Split{Culprit: string(culprit), Sentence: sentence, Profile: profile, Subject: newSplitFetch(s.Subject), Probes: []SplitProbe{}}
	for _, p := range s.Probes {
		q := SplitProbe{Kind: string(p.Kind), Differs: p.Different(), Problem: p.Problem}
		if cost, priced := s.Cost(p); priced {
			q.CostUSD = &cost
		}
		if p.Result != nil {
			r := newSplitFetch(*p.Result)
			q.Result = &r
		}
		out.Probes = append(out.Probes, q)
	}
	return out
}
