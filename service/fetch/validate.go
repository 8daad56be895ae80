package fetch

import (
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/fields"
)

// problems lists everything that prevents a fetch by a profile: what the request
// asks for, and what the profile lacks for it.
func problems(p model.Profile, d dialect.Dialect, r model.FetchRequest) []model.FieldProblem {
	ps := r.Problems(d.Sends())
	add := func(field string, err error) {
		if err != nil {
			ps = append(ps, model.FieldProblem{Field: field, Err: err})
		}
	}
	if u, err := model.ParseTarget(r.URL); err == nil && r.Via != model.ViaAgent {
		if _, err := exchange.ConnectAddr(u); err != nil {
			add("url", err)
		}
	}
	add("url", refuseTarget(p, d, r))
	add("headers", refuseHost(p, r))
	add("method", p.RefuseMethod(r.Method))
	if r.Via == model.ViaAgent && r.Tool != "" && r.Tool != d.Sends().PageTool {
		add("tool", p.Refuse("call tools: any may change something, whatever the endpoint says of it"))
	}
	ps = append(ps, badFields(r)...)
	switch r.Via {
	case model.ViaAPI:
		_, err := exchange.APIURL(p.BaseURL, dialect.RequestPath, nil)
		add("profile", err)
	case model.ViaNative:
		if p.ProxyHost == "" {
			add("profile", fmt.Errorf("%s has no proxy host", p.Name))
		}
		if p.ProxyPort < 1 || p.ProxyPort > 65535 {
			add("profile", fmt.Errorf("proxy port %d", p.ProxyPort))
		}
	case model.ViaAgent:
		add("profile", agentProblem(p))
	case model.ViaBrowser:
		if p.BrowserURL == "" {
			add("profile", fmt.Errorf("%s has no browser_url, the remote browser's address", p.Name))
		}
	}
	return ps
}

// badFields are the required fields that cannot be looked for.
func badFields(r model.FetchRequest) (ps []model.FieldProblem) {
	for _, path := range r.Required {
		if err := fields.Validate(path); err != nil {
			ps = append(ps, model.FieldProblem{Field: "required", Err: err})
		}
	}
	return ps
}

// refuseTarget says why a profile does not have the target of a fetch fetched, or nil. The pages that
// test a login are the service's own.
func refuseTarget(p model.Profile, d dialect.Dialect, r model.FetchRequest) error {
	out := d.Locate(r)
	switch {
	case r.Via == model.ViaAgent && r.Tool != "" && r.Tool != d.Sends().PageTool:
		return config.RefuseAnyTarget(p, "what the tool "+r.Tool+" reaches")
	case out.URL == "", out.URL == d.TestPage(p), out.URL == d.PlacePage(p.Local):
		return nil
	default:
		return config.RefuseTarget(p, out.URL)
	}
}

// refuseHost says why a profile does not have an allowed address asked for another host, or nil.
func refuseHost(p model.Profile, r model.FetchRequest) error {
	for name, values := range r.Header {
		if !strings.EqualFold(strings.TrimSpace(name), "Host") {
			continue
		}
		for _, host := range values {
			if err := config.RefuseTarget(p, "http://"+host); err != nil {
				return fmt.Errorf("the Host header: %w", err)
			}
		}
	}
	return nil
}

// check returns a *model.RequestError with the problems of a fetch, or nil. Those of the fields open are not known yet,
// nor is that of the address then, which a product may make of them.
func check(p model.Profile, d dialect.Dialect, r model.FetchRequest, open ...string) error {
	ps := problems(p, d, r)
	if len(open) > 0 {
		ps = slices.DeleteFunc(ps, func(p model.FieldProblem) bool { return p.Field == "url" || slices.Contains(open, p.Field) })
	}
	if len(ps) > 0 {
		return &model.RequestError{Problems: ps}
	}
	return nil
}

// agentProblem says why a profile has no agent access, or nil.
func agentProblem(p model.Profile) error {
	if p.AgentURL == "" {
		return fmt.Errorf("%s has no agent_url, the address of the MCP endpoint", p.Name)
	}
	return nil
}
