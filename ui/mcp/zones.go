package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/view"
)

func (s *Server) addZones(srv *sdk.Server) {
	add(s, srv, tool[view.ZonesArgs, view.AgentZones]{
		name: "zones", help: "List the zones that fetch and twin may name, with what they cost.", reads: true,
		asks: func(view.ZonesArgs) model.HistoryEntry { return model.HistoryEntry{} },
		run: func(ctx context.Context, c *call, _ view.ZonesArgs) (out view.AgentZones, outcome string, err error) {
			p, err := c.Profile(ctx)
			out.Zones = []view.AgentZone{}
			for _, z := range p.Zones {
				if s.c.Rules.zone(string(z.Name)) == nil {
					out.Zones = append(out.Zones, view.AgentZone{Name: string(z.Name), Product: string(z.Product), RatePer1000: z.Rate.Per1000, RatePerGB: z.Rate.PerGB})
				}
			}
			return out, fmt.Sprintf("listed: %d", len(out.Zones)), err
		},
	})
}
