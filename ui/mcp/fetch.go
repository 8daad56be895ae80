package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/fetch"
)

// Ask is what is asked of a target.
type Ask struct {
	URL       string            `json:"url,omitempty" jsonschema:"absolute http or https address to fetch"`
	Query     string            `json:"query,omitempty" jsonschema:"what to search for, in place of url, through a SERP zone"`
	Method    string            `json:"method,omitempty" jsonschema:"method of the request to the target; GET when left out"`
	Headers   map[string]string `json:"headers,omitempty" jsonschema:"headers for the target"`
	Body      string            `json:"body,omitempty" jsonschema:"body for the target"`
	Country   string            `json:"country,omitempty" jsonschema:"two-letter country code of the exit"`
	Require   []string          `json:"require,omitempty" jsonschema:"fields that must be present: CSS selectors, or paths into JSON"`
	Retries   int               `json:"retries,omitempty" jsonschema:"how many retries to make if the failure class allows it, at most 3"`
	TimeoutMS int               `json:"timeout_ms,omitempty" jsonschema:"longest time for one attempt; the product's own when left out"`
	MaxBytes  int64             `json:"max_bytes,omitempty" jsonschema:"where the body is cut; 5000000 when left out, at most 50000000"`
}

// fetchIn are the arguments of fetch.
type fetchIn struct {
	Where
	Ask

	Zone     string `json:"zone" jsonschema:"zone to fetch through"`
	Via      string `json:"via,omitempty" jsonschema:"api (when left out), native or browser"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"how much of the body the result holds; 20000 when left out, at most 100000"`
	Markdown bool   `json:"markdown,omitempty" jsonschema:"give a page as Markdown"`
}

// fetchOut is a fetch as an agent sees it.
type fetchOut struct {
	ID       string   `json:"id" jsonschema:"identifier in the history"`
	OK       bool     `json:"ok"`
	Class    string   `json:"class"`
	Cause    string   `json:"cause"`
	Rule     string   `json:"rule" jsonschema:"which rule decided the class"`
	Steps    []string `json:"steps" jsonschema:"what to do next"`
	Status   int      `json:"status" jsonschema:"the target's status, 0 when it is not known"`
	Zone     string   `json:"zone"`
	Via      string   `json:"via"`
	Attempts int      `json:"attempts"`
	TotalMS  int64    `json:"total_ms"`
	Bytes    int64    `json:"bytes"`
	Cost     *float64 `json:"cost_estimate,omitempty" jsonschema:"dollars by the zone's rate"`
	CostLeft *float64 `json:"cost_left,omitempty" jsonschema:"dollars that are left of the cap"`
	// BodyFile is where the whole body is, when the result does not hold all of it.
	BodyFile  string    `json:"body_file,omitempty" jsonschema:"file of the whole body, when the result does not hold all of it"`
	Cut       bool      `json:"cut,omitempty" jsonschema:"the body is larger than max_bytes: the rest is lost"`
	Untrusted fetchSeen `json:"untrusted"`
}

// fetchSeen is what came from outside in a fetch.
type fetchSeen struct {
	Note        string            `json:"note"`
	URL         string            `json:"url"`
	Summary     string            `json:"summary"`
	Evidence    []string          `json:"evidence"`
	Fields      map[string]string `json:"fields,omitempty"`
	ContentType string            `json:"content_type"`
	Body        string            `json:"body,omitempty" jsonschema:"the body or its beginning, as text"`
}

// The bounds of a fetch.
const (
	usualBytes, maxBytes = 5_000_000, 50_000_000
	usualChars, maxChars = 20_000, 100_000
	maxRetries           = 3
	maxTimeout           = 5 * time.Minute
)

func (s *Server) addFetch(srv *sdk.Server) {
	add(s, srv, tool[fetchIn, fetchOut]{
		name: "fetch",
		help: "Fetch one page through a zone and say how it went: class of failure, evidence, what to do next, and the body. It may cost money.",
		asks: func(in fetchIn) model.Activity { return asked(in.Ask, in.Zone, in.Via) },
		does: s.fetch,
	})
}

func asked(a Ask, zone, via string) model.Activity {
	out := model.Activity{URL: model.Line(a.URL, model.MaxURL), Zone: model.Line(zone, 60), Via: model.Via(model.Line(via, 20)), Text: ""}
	if a.Query != "" {
		out.Text = "for " + a.Query
	}
	return out
}

func (s *Server) fetch(ctx context.Context, c *call, in fetchIn) (fetchOut, string, error) {
	p, d, r, err := c.request(ctx, in.Ask)
	if err != nil {
		return fetchOut{}, "", err
	}
	chars, err := charsOf(in.MaxChars)
	if err != nil {
		return fetchOut{}, "", err
	}
	if r.Via, err = way(in.Via); err != nil {
		return fetchOut{}, "", err
	}
	if r.Zone, err = c.zone(p, in.Zone); err != nil {
		return fetchOut{}, "", err
	}
	if err := s.allowed(d, r); err != nil {
		return fetchOut{}, "", err
	}
	settle, err := s.budget.take(most(r))
	if err != nil {
		return fetchOut{}, "", err
	}
	sent := false
	result, err := c.Fetch(ctx, r, func(e fetch.Event) { sent = sent || e.Phase == fetch.PhaseSending })
	if err != nil {
		cost := 0.0
		if sent { // it may have cost all that it could
			cost, _ = most(r)
		}
		settle(cost)
		return fetchOut{}, "", err
	}
	cost, priced := result.Cost()
	settle(cost)
	out := newFetchOut(result)
	out.CostLeft = s.budget.left()
	if err := c.attach(&out, result, chars, in.Markdown); err != nil {
		return fetchOut{}, "", err
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
func (c *call) zone(p config.Profile, name string) (model.Zone, error) {
	if name == "" {
		return model.Zone{}, errors.New("zone is missing: name the zone to fetch through")
	}
	if err := c.c.Rules.zone(name); err != nil {
		return model.Zone{}, err
	}
	return c.Zone(p, name)
}

// request is what the arguments ask for, without zone and access method.
func (c *call) request(ctx context.Context, a Ask) (p config.Profile, d dialect.Dialect, r model.FetchRequest, err error) {
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

func newFetchOut(r model.FetchResult) fetchOut {
	d := r.Diagnosis
	out := fetchOut{
		ID: r.ID, OK: d.OK(), Class: string(d.Class), Cause: string(d.Cause), Rule: d.Rule, Steps: []string{}, Status: r.Status,
		Zone: string(r.Request.Zone.Name), Via: string(r.Request.Via), Attempts: len(r.Attempts), TotalMS: r.Timing.Total.Milliseconds(),
		Bytes: r.Body.Size, Cut: r.Body.Cut,
		Untrusted: fetchSeen{Note: untrusted, URL: r.Request.URL, Summary: d.Summary, Evidence: []string{}, ContentType: r.ContentType},
	}
	if cost, priced := r.Cost(); priced {
		out.Cost = &cost
	}
	for _, s := range d.Steps {
		out.Steps = append(out.Steps, s.Text)
	}
	for _, e := range d.Evidence {
		out.Untrusted.Evidence = append(out.Untrusted.Evidence, e.Text)
	}
	for _, f := range r.Fields {
		if f.Found {
			if out.Untrusted.Fields == nil {
				out.Untrusted.Fields = map[string]string{}
			}
			out.Untrusted.Fields[f.Path] = model.Cut(f.Value, 1000)
		}
	}
	return out
}
