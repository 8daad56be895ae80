package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/dialect"
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
		asks: func(in view.FetchArgs) model.Activity { return fetchActivity(in.FetchAsk, in.Zone, in.Via) },
		does: s.fetch,
	})
}

func fetchActivity(a view.FetchAsk, zone, via string) model.Activity {
	out := model.Activity{URL: model.Line(a.URL, model.MaxURL), Zone: model.Line(zone, 60), Via: model.Via(model.Line(via, 20)), Text: ""}
	if a.Query != "" {
		out.Text = "for " + a.Query
	}
	return out
}

func (s *Server) fetch(ctx context.Context, c *call, in view.FetchArgs) (view.AgentFetch, string, error) {
	p, d, r, err := c.request(ctx, in.FetchAsk)
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	chars, err := charsOf(in.MaxChars)
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	if r.Via, err = way(in.Via); err != nil {
		return view.AgentFetch{}, "", err
	}
	if r.Zone, err = c.zone(p, in.Zone); err != nil {
		return view.AgentFetch{}, "", err
	}
	if err := s.allowed(d, r); err != nil {
		return view.AgentFetch{}, "", err
	}
	settle, err := s.budget.reserve(most(r))
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	sent := false
	result, err := c.Fetch(ctx, r, func(e fetch.Event) { sent = sent || e.Phase == fetch.PhaseSending })
	if err != nil {
		cost := 0.0
		if sent { // it may have cost all that it could
			cost, _ = most(r)
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

// way is the access method that a call names.
func way(via string) (model.Via, error) {
	switch v := model.Via(via); v {
	case "":
		return model.ViaAPI, nil
	case model.ViaAPI, model.ViaNative, model.ViaBrowser:
		return v, nil
	default:
		return "", fmt.Errorf("via %q: write api, native or browser", model.Line(via, 40))
	}
}

// zone is an allowed zone of the profile.
func (c *call) zone(p model.Profile, name string) (model.Zone, error) {
	if name == "" {
		return model.Zone{}, errors.New("zone is missing: name the zone to fetch through")
	}
	if err := c.c.Rules.zone(name); err != nil {
		return model.Zone{}, err
	}
	return c.Zone(p, name)
}

// request is what the arguments ask for, without zone and access method.
func (c *call) request(ctx context.Context, a view.FetchAsk) (p model.Profile, d dialect.Dialect, r model.FetchRequest, err error) {
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
		return p, d, r, err
	}
	if p, err = c.Profile(ctx); err != nil {
		return p, d, r, err
	}
	if d, err = dialect.Find(p.Dialect); err != nil {
		return p, d, r, err
	}
	r = model.FetchRequest{
		URL: a.URL, Format: model.FormatRaw, Method: a.Method, Body: a.Body, Country: a.Country, Required: a.Require,
		Retries: a.Retries, Timeout: time.Duration(a.TimeoutMS) * time.Millisecond, BodyLimit: a.MaxBytes,
		Options: model.Options{Query: a.Query},
	}
	if r.BodyLimit == 0 {
		r.BodyLimit = usualBytes
	}
	for name, value := range a.Headers {
		if len(c.c.Rules.Domains) > 0 && strings.EqualFold(strings.TrimSpace(name), "Host") {
			return p, d, r, refuse("the header Host could ask an allowed address for another host: leave it out")
		}
		if r.Header == nil {
			r.Header = map[string][]string{}
		}
		r.Header.Add(name, value)
	}
	return p, d, r, nil
}

// allowed refuses a request whose target is not allowed.
func (s *Server) allowed(d dialect.Dialect, r model.FetchRequest) error {
	located := d.Locate(r)
	if located.URL == "" {
		return fmt.Errorf("query: zone %s of product %s cannot search", r.Zone.Name, r.Zone.Product)
	}
	return s.c.Rules.target(located.URL)
}

// most is what a fetch may cost at most, by the rate of its zone. In the remote browser the
// body says nothing about the traffic, which is what is charged: that is unpriced.
func most(r model.FetchRequest) (dollars float64, priced bool) {
	if r.Via == model.ViaBrowser || r.Zone.Product == model.ProductBrowser {
		return 0, false
	}
	tries := float64(r.Retries + 1)
	return r.Zone.Rate.Cost(tries, tries*float64(r.BodyLimit))
}
