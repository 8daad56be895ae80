package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/view"
)

// maxZones bounds the zones of a comparison.
const maxZones = 20

func (s *Server) addCompare(srv *sdk.Server) {
	add(s, srv, tool[view.CompareArgs, view.AgentComparison]{
		name: "compare",
		help: "Fetch one page through several zones by several access methods and compare them. Each run may cost money, like a fetch.",
		asks: func(in view.CompareArgs) model.HistoryEntry {
			return fetchEntry(in.FetchAsk, strings.Join(in.Zones, ","), "")
		},
		run: s.compare,
	})
}

func (s *Server) compare(ctx context.Context, c *call, in view.CompareArgs) (view.AgentComparison, string, error) {
	p, d, err := c.draft(ctx, in.FetchAsk)
	if err != nil {
		return view.AgentComparison{}, "", err
	}
	t := model.Grid{Profile: p.Name, Repeat: max(in.Repeat, 1)}
	if t.Base, t.Cells, err = c.cells(p, d, in); err != nil {
		return view.AgentComparison{}, "", err
	}
	var dollars float64
	priced := true
	for _, cell := range t.Cells {
		one, known := fetch.UpperBound(t.Request(cell))
		dollars, priced = dollars+one*float64(t.Repeat), priced && known
	}
	settle, err := s.budget.reserve(dollars, priced)
	if err != nil {
		return view.AgentComparison{}, "", err
	}
	t, err = c.Compare(ctx, t, nil)
	settle(spent(t))
	if err != nil {
		return view.AgentComparison{}, "", err
	}
	out := view.NewAgentComparison(t, s.budget.remaining())
	return out, out.Text, nil
}

// spent is what the runs of a comparison cost by the rates of their zones. One that was cut off counts
// as all that it may have cost, one that was not sent as nothing.
func spent(t model.Grid) (dollars float64) {
	for _, cell := range t.Cells {
		for _, run := range cell.Runs {
			cost, _ := cell.Zone.Rate.Cost(float64(run.Requests), float64(run.Traffic))
			dollars += cost
		}
		one, _ := fetch.UpperBound(t.Request(cell))
		dollars += one * float64(cell.CutOff)
	}
	return dollars
}

// cells are the cells of a comparison, each of them allowed, and its request.
func (c *call) cells(p model.Profile, d fetch.Draft, in view.CompareArgs) (base model.FetchRequest, cells []model.Cell, err error) {
	const ways = 3 // that there are
	switch {
	case len(in.Zones) == 0 || len(in.Zones) > maxZones:
		return base, nil, fmt.Errorf("zones: name 1 to %d", maxZones)
	case in.Repeat < 0 || in.Repeat > model.MaxRuns:
		return base, nil, fmt.Errorf("repeat %d: write 1 to %d", in.Repeat, model.MaxRuns)
	case len(in.Via) > ways:
		return base, nil, fmt.Errorf("via: name at most %d", ways)
	}
	via := []model.Via{model.ViaAPI, model.ViaNative}
	if len(in.Via) > 0 {
		via = nil
	}
	for _, name := range in.Via {
		v, err := accessMethod(name)
		if err != nil {
			return base, nil, err
		}
		via = append(via, v)
	}
	var zones []model.Zone
	for _, name := range in.Zones {
		report, err := c.check(p, d, name)
		if err != nil {
			return base, nil, err
		}
		zones, base = append(zones, report.Request.Zone), report.Request
	}
	base.URL, base.Zone = d.Request.URL, model.Zone{}
	return base, model.ZoneCells(zones, via), nil
}
