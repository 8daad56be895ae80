package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/database"
)

type historyIn struct {
	Where

	Words   string `json:"words,omitempty" jsonschema:"words that must all occur in a line"`
	Kind    string `json:"kind,omitempty" jsonschema:"fetch, twin, probe, job, key, agent or webhook"`
	Class   string `json:"class,omitempty" jsonschema:"class of failure, such as captcha"`
	Zone    string `json:"zone,omitempty"`
	Minutes int    `json:"minutes,omitempty" jsonschema:"only what happened in the last minutes"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many of the newest; 20 when left out, at most 200"`
}

type lineOut struct {
	At        string   `json:"at"`
	Kind      string   `json:"kind"`
	By        string   `json:"by,omitempty" jsonschema:"agent when an agent did it"`
	Profile   string   `json:"profile"`
	Zone      string   `json:"zone,omitempty"`
	Via       string   `json:"via,omitempty"`
	Key       string   `json:"key,omitempty"`
	Class     string   `json:"class,omitempty"`
	Cause     string   `json:"cause,omitempty"`
	Status    int      `json:"status,omitempty"`
	Bytes     int64    `json:"bytes,omitempty"`
	TookMS    int64    `json:"took_ms,omitempty"`
	Cost      *float64 `json:"cost_estimate,omitempty"`
	ID        string   `json:"id,omitempty" jsonschema:"identifier of what it is about, of a fetch for history_fetch"`
	Untrusted lineSaid `json:"untrusted"`
}

type lineSaid struct {
	URL  string `json:"url,omitempty"`
	Text string `json:"text,omitempty"`
}

type historyOut struct {
	Note  string    `json:"note"`
	Lines []lineOut `json:"lines"`
}

type historyFetchIn struct {
	Where

	ID       string `json:"id" jsonschema:"identifier of a fetch, as history and fetch give it"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"how much of the body the result holds; 20000 when left out, at most 100000"`
	Markdown bool   `json:"markdown,omitempty" jsonschema:"give a page as Markdown"`
}

// The bounds of the history. looked is how many lines are looked at for those that are allowed.
const usualLines, maxLines, looked = 20, 200, 2000

func (s *Server) addHistory(srv *sdk.Server) {
	add(s, srv, tool[historyIn, historyOut]{
		name: "history", reads: true,
		help: "List what happened, newest first: fetches, tests, jobs, events of keys, within the operator's rules.",
		asks: func(in historyIn) model.Activity { return model.Activity{Text: in.Words} }, does: s.history,
	})
	add(s, srv, tool[historyFetchIn, fetchOut]{
		name: "history_fetch", help: "Give a fetch of the history again, with its body. Nothing is sent.", reads: true,
		asks: func(in historyFetchIn) model.Activity { return model.Activity{Text: in.ID} }, does: s.historyFetch,
	})
}

func (s *Server) history(ctx context.Context, c *call, in historyIn) (historyOut, string, error) {
	switch {
	case in.Limit < 0 || in.Limit > maxLines:
		return historyOut{}, "", fmt.Errorf("limit %d: write at most %d", in.Limit, maxLines)
	case in.Minutes < 0 || in.Minutes > 10_000_000:
		return historyOut{}, "", fmt.Errorf("minutes %d: write at most 10000000", in.Minutes)
	case in.Limit == 0:
		in.Limit = usualLines
	}
	f := model.ActivityFilter{
		Words: strings.Fields(in.Words), Kind: model.ActivityKind(in.Kind), Class: model.Class(in.Class), Zone: in.Zone, Profile: c.line.Profile, Limit: looked,
	}
	if in.Minutes > 0 {
		f.Since = c.Now().Add(-time.Duration(in.Minutes) * time.Minute)
	}
	lines, err := c.Activity(ctx, f)
	if err != nil {
		return historyOut{}, "", err
	}
	out := historyOut{Note: untrusted, Lines: []lineOut{}}
	for _, a := range lines {
		if len(out.Lines) < in.Limit && a.Ref != c.line.Ref && s.mayRead(a) { // its own line is there, too
			out.Lines = append(out.Lines, newLineOut(a))
		}
	}
	return out, fmt.Sprintf("listed: %d", len(out.Lines)), nil
}

// mayRead reports whether a line is within the rules. That of another agent's refused call is
// not: it may name what is not allowed.
func (s *Server) mayRead(a model.Activity) bool {
	return (a.Zone == "" || s.c.Rules.zone(a.Zone) == nil) && (a.URL == "" || s.c.Rules.target(a.URL) == nil)
}

func newLineOut(a model.Activity) lineOut {
	out := lineOut{
		At: a.At.UTC().Format(time.RFC3339), Kind: string(a.Kind), By: a.Source, Profile: a.Profile, Zone: a.Zone, Via: string(a.Via), Key: a.Key,
		Class: string(a.Class), Cause: string(a.Cause), Status: a.Status, Bytes: a.Bytes, TookMS: a.Total.Milliseconds(), ID: a.Ref,
		Untrusted: lineSaid{URL: a.URL, Text: model.Line(a.Text, 500)},
	}
	if a.Priced {
		out.Cost = &a.Cost
	}
	return out
}

func (s *Server) historyFetch(ctx context.Context, c *call, in historyFetchIn) (fetchOut, string, error) {
	chars, err := charsOf(in.MaxChars)
	if err != nil {
		return fetchOut{}, "", err
	}
	// The fetch itself does not say its profile; its line does.
	lines, err := c.Activity(ctx, model.ActivityFilter{Words: []string{in.ID}, Kind: model.ActivityFetch, Profile: c.line.Profile, Limit: looked})
	if err != nil {
		return fetchOut{}, "", err
	}
	i := slices.IndexFunc(lines, func(a model.Activity) bool { return in.ID != "" && a.Ref == in.ID && s.mayRead(a) })
	if i < 0 {
		return fetchOut{}, "", fmt.Errorf("fetch %s of profile %s: %w", model.Line(in.ID, 60), c.line.Profile, database.ErrNotFound)
	}
	r, err := c.LoadFetch(ctx, in.ID)
	if err != nil {
		return fetchOut{}, "", err
	}
	out := newFetchOut(r)
	return out, "given", c.attach(&out, r, chars, in.Markdown)
}
