package view

import (
	"zonedeck/model"
	"zonedeck/service/export"
)

// CompareList compares zones over a list (docs/schema/compare-list.json).
type CompareList struct {
	SchemaVersion Version                  `json:"schema_version"`
	Profile       string                   `json:"profile"`
	Input         string                   `json:"input"`
	Rows          int64                    `json:"rows" minimum:"1" jsonschema:"of the input that can be used"`
	Bad           int64                    `json:"bad" minimum:"0" jsonschema:"that cannot"`
	Sample        int                      `json:"sample" minimum:"0" jsonschema:"rows that are fetched through each zone"`
	Hosts         int                      `json:"hosts" minimum:"0" jsonschema:"of the sample"`
	Need          float64                  `json:"need" minimum:"0"`
	Cells         []ListCell               `json:"cells"`
	Winner        *export.ComparisonWinner `json:"winner" jsonschema:"null when none reaches need, or by a sample is shown to"`
	Text          string                   `json:"text" jsonschema:"the verdict in one line"`
}

// ListCell is what came of the sample through one zone by one method.
type ListCell struct {
	Zone         string        `json:"zone"`
	Via          string        `json:"via" enum:"api|native"`
	Runs         int           `json:"runs" minimum:"0"`
	OK           int           `json:"ok" minimum:"0" jsonschema:"fetches that were ok, required fields included"`
	Share        *float64      `json:"share" minimum:"0"`
	ShareLow     float64       `json:"share_low" minimum:"0" jsonschema:"the lower end of the 95 % interval by Wilson; share itself where every row of the list was fetched"`
	ShareHigh    float64       `json:"share_high" minimum:"0" jsonschema:"the upper end, or share itself"`
	Failures     []ListFailure `json:"failures" jsonschema:"the most frequent first"`
	P50          *float64      `json:"p50_ms" minimum:"0"`
	P95          *float64      `json:"p95_ms" minimum:"0"`
	Cost         *float64      `json:"cost" minimum:"0" jsonschema:"dollars, by the zone's rate; null when unpriced"`
	CostPerRun   *float64      `json:"cost_per_run" minimum:"0"`
	CostPerOK    *float64      `json:"cost_per_ok" minimum:"0" jsonschema:"with what was spent on those that were not ok; null also when none was"`
	NeededSample *int64        `json:"needed_sample" minimum:"1" jsonschema:"how large a sample shows need if the share holds; null when none does, or every row was fetched"`
	CutOff       int           `json:"cut_off" minimum:"0" jsonschema:"fetches that were sent and broken off: they may be billed"`
	Problem      string        `json:"problem" jsonschema:"why nothing, or nothing more, was sent"`
}

// ListFailure is a verdict on pages of a list.
type ListFailure struct {
	BatchVerdict
	Pages []string `json:"pages" maxItems:"3" jsonschema:"some of those pages"`
}

// NewCompareList describes a comparison over a list.
func NewCompareList(g model.Grid) CompareList {
	out := CompareList{
		Profile: g.Profile, Input: g.List.Name, Rows: g.List.Rows, Bad: g.List.Bad, Sample: len(g.List.Sample), Hosts: g.List.Hosts, Need: g.List.Need,
	}
	for i, c := range g.Cells {
		share, low, high := g.Useful(c)
		per1000, priced := c.Cost()
		useful, usefulPriced := c.CostOfUseful()
		needed := g.NeededSample(i)
		out.Cells = append(out.Cells, ListCell{
			Zone: string(c.Zone.Name), Via: string(c.Via), Runs: len(c.Runs), OK: c.OK(), Share: known(share, len(c.Runs) > 0), ShareLow: low, ShareHigh: high,
			Failures: each(c.Failures(), newListFailure),
			P50:      measured(c.Percentile(0.5)), P95: measured(c.Percentile(0.95)),
			Cost: known(c.Spend().Dollars, priced), CostPerRun: known(per1000/1000, priced), CostPerOK: known(useful, usefulPriced),
			NeededSample: known(needed, needed > 0), CutOff: c.CutOff, Problem: c.Problem,
		})
	}
	v := g.Verdict()
	if out.Text = v.Text; v.Winner >= 0 {
		c := g.Cells[v.Winner]
		out.Winner = &export.ComparisonWinner{Zone: string(c.Zone.Name), Via: string(c.Via), Reason: v.Reason}
	}
	return out
}

func newListFailure(f model.Failure) ListFailure {
	return ListFailure{BatchVerdict{string(f.Class), string(f.Cause), int64(f.N)}, each(f.Pages, func(page string) string { return model.Line(page, 500) })}
}
