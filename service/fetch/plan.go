package fetch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// Plan makes a comparison of a request, with its cells, none of which is sent. A cell that cannot be sent
// as it stands has a Problem. What the preset leaves open is the profile's: its zones, its test page.
//
// A refusal is that of p.Subject, whose request is the base. Its other key is the first of which the value
// can be got.
//
// Errors are as for Fetch.
func (ft *Fetcher) Plan(ctx context.Context, p model.Preset, base model.FetchRequest) (model.Grid, error) {
	profile, d, err := exchange.Current(ctx, ft.cfg.Source)
	if err != nil {
		return model.Grid{}, err
	}
	var g model.Grid
	switch p.Kind {
	case model.CompareLogins:
		g, err = ft.planLogins(profile, d, p, base)
	case model.CompareExits:
		g, err = ft.planExits(profile, d, p, base)
	case model.CompareRefusal:
		g, err = ft.planRefusal(ctx, profile, d, p)
	default:
		g = planZones(profile, d, p, base)
	}
	g.ID, g.Profile, g.Params = ft.newID("t"), profile.Name, p.Params
	return g, err
}

func planZones(profile model.Profile, d dialect.Dialect, p model.Preset, base model.FetchRequest) model.Grid {
	if p.Zones == nil {
		p.Zones = slices.DeleteFunc(slices.Clone(profile.Zones), func(z model.Zone) bool {
			return !base.ComparedBy(z)
		})
		if len(p.Zones) == 0 && base.Zone.Name != "" {
			p.Zones = []model.Zone{base.Zone}
		}
	}
	if p.Ways == nil {
		p.Ways = []model.Via{model.ViaAPI, model.ViaNative}
		if profile.AgentURL != "" && base.URL != "" { // it takes a page's address
			p.Ways = append(p.Ways, model.ViaAgent)
		}
	}
	base.Zone, base.Via = model.Zone{}, ""
	g := model.Grid{Base: base, Repeat: max(p.Repeat, 1), Cells: model.ZoneCells(p.Zones, p.Ways)}
	for i := range g.Cells {
		c := &g.Cells[i]
		c.AtOnce = p.AtOnce
		if err := check(profile, d, d.Locate(g.Request(*c))); err != nil {
			c.Problem, c.Cause = oneLine(err), err
		}
	}
	return g
}

func (ft *Fetcher) planLogins(profile model.Profile, d dialect.Dialect, p model.Preset, base model.FetchRequest) (model.Grid, error) {
	if p.Zones == nil {
		p.Zones = slices.DeleteFunc(slices.Clone(profile.Zones), func(z model.Zone) bool { return !z.Product.NativeAccess() })
	}
	base.URL = cmp.Or(base.URL, d.PlacePage(profile.Local), d.TestPage(profile))
	g := model.Grid{Kind: p.Kind, Base: base, Repeat: min(max(p.Repeat, 1), model.MaxLoginCalls)}
	switch {
	case base.URL == "":
		return g, model.BadField("url", "name a page to fetch through the proxy; the contract shows no test page")
	case len(p.Zones) == 0:
		return g, model.BadField("zone", "profile %s names no zone with native access", profile.Name)
	}
	for _, z := range p.Zones {
		c := model.Cell{Vary: model.Vary{Zone: z, Via: model.ViaNative}}
		if !z.Product.NativeAccess() {
			c.Problem = z.Product.Label() + " has no native access (contract 5.2)"
		}
		g.Cells = append(g.Cells, c)
	}
	return g, nil
}

func (ft *Fetcher) planExits(profile model.Profile, d dialect.Dialect, p model.Preset, base model.FetchRequest) (model.Grid, error) {
	pr, err := ft.prepareProbe(profile, d, ProbeRequest{Zone: base.Zone, Params: p.Params, Target: base.URL, Session: p.Session})
	if err != nil {
		return model.Grid{}, err
	}
	base.URL = pr.q.Target
	return model.Grid{
		Kind: p.Kind, Base: base, Repeat: min(max(p.Repeat, 1), model.MaxExitCalls),
		Cells: []model.Cell{{Vary: model.Vary{Zone: pr.q.Zone, Via: model.ViaNative, Session: pr.q.Session}}},
	}, nil
}

func (ft *Fetcher) planRefusal(ctx context.Context, profile model.Profile, d dialect.Dialect, p model.Preset) (model.Grid, error) {
	p.Zones, p.Now, p.GoodPage = profile.Zones, ft.cfg.Now(), cmp.Or(p.GoodPage, d.TestPage(profile))
	g := model.NewRefusal(p)
	c := &g.Cells[slices.IndexFunc(g.Cells, func(c model.Cell) bool { return c.Label == model.LabelOtherKey })]
	if c.Problem != "" { // there is none whose value is wanted
		return g, nil
	}
	for _, name := range p.OtherKeys(p.Subject.KeyName) {
		if p.OtherKey != "" && name != p.OtherKey {
			continue
		}
		_, _, err := exchange.KeyFor(ctx, ft.cfg.Source, profile, name)
		if err == nil {
			c.Key, c.Problem = name, ""
			return g, nil
		}
		if ctx.Err() != nil {
			return model.Grid{}, context.Cause(ctx)
		}
		c.Problem = fmt.Sprintf("the value of key %s cannot be used: %v", name, err)
	}
	return g, nil
}
