package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/history"
	"zonedeck/service/view"
)

// The bounds of the history. looked is how many lines are looked at for those that are allowed.
const usualLines, maxLines, looked = 20, 200, 2000

func (s *Server) addHistory(srv *sdk.Server) {
	add(s, srv, tool[view.HistoryArgs, view.History]{
		name: "history", reads: true,
		help: "List what happened, newest first: fetches, tests, jobs, events of keys, within the operator's rules.",
		asks: func(in view.HistoryArgs) model.HistoryEntry { return model.HistoryEntry{Text: in.Search} }, run: s.history,
	})
	add(s, srv, tool[view.HistoryFetchArgs, view.AgentFetch]{
		name: "history_fetch", help: "Give a fetch of the history again, with its body. Nothing is sent.", reads: true,
		asks: func(in view.HistoryFetchArgs) model.HistoryEntry { return model.HistoryEntry{Text: in.ID} }, run: s.historyFetch,
	})
}

func (s *Server) history(ctx context.Context, c *call, in view.HistoryArgs) (view.History, string, error) {
	limit, err := bounded("limit", in.Limit, usualLines, maxLines)
	if err == nil {
		_, err = bounded("minutes", in.Minutes, 0, 10_000_000)
	}
	if err != nil {
		return view.History{}, "", err
	}
	f := model.HistoryFilter{
		Words: strings.Fields(in.Search), Kind: model.HistoryKindOf(in.Kind), Class: model.Class(in.Class), Zone: in.Zone, Profile: c.line.Profile, Limit: looked,
	}
	if in.Minutes > 0 {
		f.Since = c.Now().Add(-time.Duration(in.Minutes) * time.Minute)
	}
	lines, err := c.Entries(ctx, f)
	if err != nil {
		return view.History{}, "", err
	}
	out := view.History{Note: view.Untrusted, Lines: []view.HistoryLine{}}
	for _, a := range lines {
		if len(out.Lines) < limit && a.Ref != c.line.Ref && s.mayRead(a) { // its own line is there, too
			out.Lines = append(out.Lines, view.NewHistoryLine(a))
		}
	}
	return out, fmt.Sprintf("listed: %d", len(out.Lines)), nil
}

// mayRead reports whether a line is within the rules. That of another agent's refused call is
// not: it may name what is not allowed.
func (s *Server) mayRead(a model.HistoryEntry) bool {
	return (a.Zone == "" || s.c.Rules.zone(a.Zone) == nil) && (a.URL == "" || s.c.Rules.target(a.URL) == nil)
}

func (s *Server) historyFetch(ctx context.Context, c *call, in view.HistoryFetchArgs) (view.AgentFetch, string, error) {
	chars, err := charsOf(in.MaxChars)
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	// The fetch itself does not say its profile; its line does.
	lines, err := c.Entries(ctx, model.HistoryFilter{Words: []string{in.ID}, Kind: model.HistoryFetch, Profile: c.line.Profile, Limit: looked})
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	i := slices.IndexFunc(lines, func(a model.HistoryEntry) bool { return in.ID != "" && a.Ref == in.ID && s.mayRead(a) })
	if i < 0 {
		return view.AgentFetch{}, "", fmt.Errorf("fetch %s of profile %s: %w", model.Line(in.ID, 60), c.line.Profile, history.ErrNotFound)
	}
	r, err := c.LoadFetch(ctx, in.ID)
	if err != nil {
		return view.AgentFetch{}, "", err
	}
	out := view.NewAgentFetch(r)
	return out, "given", c.attach(&out, r, chars, in.Markdown)
}
