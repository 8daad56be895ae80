package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/view"
)

// The bounds of a fetch.
const (
	usualBytes, maxBytes = 5_000_000, 50_000_000
	usualChars, maxChars = 20_000, 100_000
	maxRetries           = 3
	maxTimeout           = 5 * time.Minute
)

func (s *Server) addFetch(srv *sdk.Server) {
	add(s, srv, tool[view.FetchArgs, view.AgentFetch]{
		name: "fetch",
		help: "Fetch one page through a zone and say how it went: class of failure, evidence, what to do next, and the body. It may cost money.",
		asks: func(in view.FetchArgs) model.HistoryEntry { return fetchEntry(in.FetchAsk, in.Zone, in.Via) },
		run:  s.fetch,
	})
}

func (s *Server) addZones(srv *sdk.Server) {
	add(s, srv, tool[view.ZonesArgs, view.AgentZones]{
		name: "zones", help: "List the zones that fetch and compare may name, with what they cost.", reads: true,
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

func fetchEntry(a view.FetchAsk, zone, via string) model.HistoryEntry {
	out := model.HistoryEntry{URL: model.Line(a.URL, model.MaxURL), Zone: model.Line(zone, 60), Via: model.Via(model.Line(via, 20)), Text: ""}
	if a.Query != "" {
		out.Text = "for " + a.Query
	}
	return out
}

func (s *Server) fetch(ctx context.Context, c *call, in view.FetchArgs) (view.AgentFetch, string, error) {
	p, d, err := c.draft(ctx, in.FetchAsk)
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	chars, err := charsOf(in.MaxChars)
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	if d.Request.Via, err = accessMethod(in.Via); err != nil {
		return view.AgentFetch{}, "", err
	}
	report, err := c.check(p, d, in.Zone)
	if err == nil && len(report.Problems) > 0 {
		err = &model.RequestError{Problems: report.Problems}
	}
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	r := report.Request
	settle, err := s.budget.reserve(fetch.UpperBound(r))
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	sent := false
	result, err := c.Fetch(ctx, r, func(e fetch.Event) { sent = sent || e.Phase == fetch.PhaseSending })
	if err != nil {
		cost := 0.0
		if sent { // it may have cost all that it could
			cost, _ = fetch.UpperBound(r)
		}
		settle(cost)
		return view.AgentFetch{}, "", err
	}
	cost, priced := result.Cost()
	settle(cost)
	out := view.NewAgentFetch(result)
	out.CostLeft = s.budget.remaining()
	if err := c.attach(&out, result, chars, in.Markdown); err != nil {
		return view.AgentFetch{}, "", err
	}
	return out, fmt.Sprintf("%s, status %d, %s", model.ClassWord(result.Diagnosis.Class, result.Diagnosis.Cause), result.Status, model.CostWords(cost, priced)), nil
}

// accessMethod is the access method that a call names.
func accessMethod(via string) (model.Via, error) {
	switch v := model.Via(via); v {
	case "":
		return model.ViaAPI, nil
	case model.ViaAPI, model.ViaNative, model.ViaBrowser:
		return v, nil
	default:
		return "", fmt.Errorf("via %q: write api, native or browser", model.Line(via, 40))
	}
}

// draft is what the arguments ask for, without zone and access method.
func (c *call) draft(ctx context.Context, a view.FetchAsk) (p model.Profile, d fetch.Draft, err error) {
	switch {
	case a.URL == "" && a.Query == "":
		err = errors.New("url is missing: name the address to fetch, or say with query what to search for")
	case a.URL != "" && a.Query != "":
		err = errors.New("query: the address follows from it; leave url out")
	case a.Retries < 0 || a.Retries > maxRetries:
		err = fmt.Errorf("retries %d: write 0 to %d", a.Retries, maxRetries)
	case a.TimeoutMS < 0 || time.Duration(a.TimeoutMS) > maxTimeout/time.Millisecond:
		err = fmt.Errorf("timeout_ms %d: write at most %d", a.TimeoutMS, maxTimeout.Milliseconds())
	case a.MaxBytes < 0 || a.MaxBytes > maxBytes:
		err = fmt.Errorf("max_bytes %d: write at most %d", a.MaxBytes, maxBytes)
	}
	if err != nil {
		return p, d, err
	}
	for name, value := range a.Headers {
		if !model.ValidToken(strings.TrimSpace(name)) { // a line is cut at its first colon
			return p, d, fmt.Errorf("headers: %q is not the name of a header", model.Line(name, 60))
		}
		if len(c.c.Rules.Domains) > 0 && strings.EqualFold(strings.TrimSpace(name), "Host") {
			return p, d, refuse("--allow-domain", "the header Host could ask an allowed address for another host: leave it out")
		}
		d.Headers = append(d.Headers, name+": "+value)
	}
	d.Request = model.FetchRequest{
		URL: a.URL, Format: model.FormatRaw, Method: a.Method, Body: a.Body, Country: a.Country, Required: a.Require,
		Retries: a.Retries, Timeout: time.Duration(a.TimeoutMS) * time.Millisecond, BodyLimit: cmp.Or(a.MaxBytes, usualBytes),
		Options: model.Options{Query: a.Query},
	}
	p, err = c.Profile(ctx)
	return p, d, err
}

// check is what a draft comes to in a zone. The zone and the target are allowed.
func (c *call) check(p model.Profile, d fetch.Draft, zone string) (fetch.Report, error) {
	if zone == "" {
		return fetch.Report{}, errors.New("zone is missing: name the zone to fetch through, as the tool zones lists them")
	}
	if err := c.c.Rules.zone(zone); err != nil {
		return fetch.Report{}, err
	}
	d.Request.Zone.Name = model.ZoneName(zone)
	report := fetch.Check(c.Known(p), d)
	for _, bad := range report.Problems {
		if bad.Field == "zone" || bad.Field == "headers" {
			return report, &model.RequestError{Problems: []model.FieldProblem{bad}}
		}
	}
	if r := report.Request; r.URL == "" {
		return report, fmt.Errorf("query: zone %s of product %s cannot search", r.Zone.Name, r.Zone.Product)
	}
	return report, c.c.Rules.target(report.Request.URL)
}
