package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/export"
	"zonedeck/service/view"
)

// maxZones bounds the zones of a comparison.
const maxZones = 20

func (s *Server) addCompare(srv *sdk.Server) {
	add(s, srv, tool[view.CompareArgs, view.AgentComparison]{
		name: "twin",
		help: "Fetch one page through several zones by several access methods and compare them. Each run may cost money, like a fetch.",
		asks: func(in view.CompareArgs) model.Activity {
			return fetchActivity(in.FetchAsk, strings.Join(in.Zones, ","), "")
		},
		does: s.compare,
	})
}

func (s *Server) compare(ctx context.Context, c *call, in view.CompareArgs) (view.AgentComparison, string, error) {
	p, d, r, err := c.request(ctx, in.FetchAsk)
	if err != nil {
		return view.AgentComparison{}, "", err
	}
	t := model.Grid{Profile: p.Name, Base: r, Repeat: max(in.Repeat, 1)}
	if t.Cells, err = s.cells(c, p, d, r, in); err != nil {
		return view.AgentComparison{}, "", err
	}
	var dollars float64
	priced := true
	for _, cell := range t.Cells {
		one, known := most(t.Request(cell))
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
	verdict := t.Verdict().Text
	return view.AgentComparison{CostLeft: s.budget.remaining(), Verdict: verdict, Comparison: export.NewComparison(t)}, verdict, nil
}

// spent is what the runs of a comparison cost by the rates of their zones. One that was cut off counts
// as all that it may have cost, one that was not sent as nothing.
func spent(t model.Grid) (dollars float64) {
	for _, cell := range t.Cells {
		for _, run := range cell.Runs {
			cost, _ := cell.Zone.Rate.Cost(float64(run.Requests), float64(run.Traffic))
			dollars += cost
		}
		one, _ := most(t.Request(cell))
		dollars += one * float64(cell.CutOff)
	}
	return dollars
}

// cells are the cells of a comparison, each of them allowed.
func (s *Server) cells(c *call, p model.Profile, d dialect.Dialect, r model.FetchRequest, in view.CompareArgs) ([]model.Cell, error) {
	switch {
	case len(in.Zones) == 0 || len(in.Zones) > maxZones:
		return nil, fmt.Errorf("zones: name 1 to %d", maxZones)
	case in.Repeat < 0 || in.Repeat > model.MaxRuns:
		return nil, fmt.Errorf("repeat %d: write 1 to %d", in.Repeat, model.MaxRuns)
	}
	if len(in.Via) == 0 {
		in.Via = []string{string(model.ViaAPI), string(model.ViaNative)}
	}
	if len(in.Via) > maxWays {
		return nil, fmt.Errorf("via: name at most %d", maxWays)
	}
	var zones []model.Zone
	var ways []model.Via
	for _, v := range in.Via {
		via, err := way(v)
		if err != nil {
			return nil, err
		}
		ways = append(ways, via)
	}
	for _, name := range in.Zones {
		z, err := c.zone(p, name)
		if err != nil {
			return nil, err
		}
		r.Zone = z
		if err := s.allowed(d, r); err != nil {
			return nil, err
		}
		zones = append(zones, z)
	}
	return model.ZoneCells(zones, ways), nil
}

// maxWays is how many access methods there are.
const maxWays = 3
