package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/fetch"
	"zonedeck/service/view"
)

// Batches are the batches of a console; see service/batch.
type Batches interface {
	Check(ctx context.Context, k fetch.Known, d batch.Draft, read *atomic.Int64) (batch.Report, error)
	Start(ctx context.Context, r batch.Report) (batch.State, error)
	Discard(r batch.Report) error
	Begin(ctx context.Context, id string) error
	Show(ctx context.Context, id string) (batch.State, error)
	Pause(ctx context.Context, id string) (batch.State, error)
	Newest(ctx context.Context, id string, n int, failed bool) ([]batch.Result, error)
}

// maxResults bounds the results that batch_show gives.
const maxResults = 100

func (s *Server) addBatches(srv *sdk.Server) {
	add(s, srv, tool[view.BatchStartArgs, view.AgentBatch]{
		name: "batch_start", help: "Fetch a page for each of many addresses or rows, beside other calls: it returns at once, and batch_show says how far it is. It may cost money.",
		asks: func(in view.BatchStartArgs) model.HistoryEntry {
			line := fetchEntry(in.FetchAsk, in.Zone, in.Via)
			line.Text = fmt.Sprintf("of %d items", len(in.URLs)+len(in.Rows))
			return line
		},
		run: s.startBatch,
	})
	add(s, srv, tool[view.BatchShowArgs, view.AgentBatch]{
		name: "batch_show", help: "Say how far a batch is: classes, cost, worst hosts, and its newest results.", reads: true,
		asks: func(in view.BatchShowArgs) model.HistoryEntry { return model.HistoryEntry{Text: in.ID} }, run: s.showBatch,
	})
	add(s, srv, tool[view.BatchPauseArgs, view.AgentBatch]{
		name: "batch_pause", help: "Pause a batch: what is in flight comes to its end, and nothing more is sent.",
		asks: func(in view.BatchPauseArgs) model.HistoryEntry { return model.HistoryEntry{Text: in.ID} },
		run: func(ctx context.Context, c *call, in view.BatchPauseArgs) (view.AgentBatch, string, error) {
			b, err := c.batch(ctx, in.ID)
			if err == nil {
				b, err = c.Batches().Pause(ctx, b.ID)
			}
			return view.NewAgentBatch(b, nil), b.Condition(), err
		},
	})
}

// batch is a batch of the profile in use.
func (c *call) batch(ctx context.Context, id string) (batch.State, error) {
	s, err := c.Batches().Show(ctx, id)
	if err == nil && s.Profile != c.line.Profile {
		err = refuse("--profiles", "batch %s is not of profile %q", s.ID, c.line.Profile)
	}
	if err == nil {
		err = c.c.Rules.zone(string(s.Plan.Request.Zone.Name))
	}
	return s, err
}

func (s *Server) showBatch(ctx context.Context, c *call, in view.BatchShowArgs) (view.AgentBatch, string, error) {
	if in.Results < 0 || in.Results > maxResults {
		return view.AgentBatch{}, "", fmt.Errorf("results %d: write 0 to %d", in.Results, maxResults)
	}
	b, err := c.batch(ctx, in.ID)
	var newest []batch.Result
	if err == nil && in.Results > 0 {
		newest, err = c.Batches().Newest(ctx, b.ID, in.Results, in.Failed)
	}
	out := view.NewAgentBatch(b, newest)
	out.CostLeft = s.budget.remaining()
	return out, b.Condition(), err
}

// startBatch plans a batch, takes its cap from what may still be spent, and has this process work on it. The cap counts as
// the whole: what the batch leaves of it is known only later.
func (s *Server) startBatch(ctx context.Context, c *call, in view.BatchStartArgs) (view.AgentBatch, string, error) {
	d, k, err := s.batchDraft(ctx, c, in)
	if err != nil {
		return view.AgentBatch{}, "", err
	}
	report, err := c.Batches().Check(ctx, k, d, nil)
	if err == nil {
		var b batch.State
		if b, err = s.begin(ctx, c, report, in.MaxCost); err == nil {
			out := view.NewAgentBatch(b, nil)
			out.CostLeft = s.budget.remaining()
			return out, b.ID + " begun", nil
		}
	}
	first, taken := batch.TakenBy(err)
	if taken {
		if _, refused := c.batch(ctx, first.ID); refused != nil { // what it is is not this agent's to know
			return view.AgentBatch{}, "", refused
		}
	}
	if errors.As(err, new(*batch.OnceError)) {
		return view.NewAgentBatch(first, nil), err.Error(), nil
	}
	return view.AgentBatch{}, "", err
}

func (s *Server) begin(ctx context.Context, c *call, r batch.Report, limit float64) (batch.State, error) {
	most, priced := r.MostCost()
	settle, err := func(float64) {}, error(nil)
	if priced && limit == 0 && s.c.Rules.Capped {
		err = refuse("--max-cost", "max_cost is missing: one try each costs at most %s", model.SmallDollars(most))
	} else {
		settle, err = s.budget.reserve(limit, priced)
	}
	if err != nil {
		return batch.State{}, errors.Join(err, c.Batches().Discard(r))
	}
	b, err := c.Batches().Start(ctx, r)
	if err != nil {
		settle(0)
		return b, err
	}
	b.Live = true // from now on
	return b, c.Batches().Begin(ctx, b.ID)
}

// batchDraft is what the arguments ask for. Zone and targets are allowed.
func (s *Server) batchDraft(ctx context.Context, c *call, in view.BatchStartArgs) (d batch.Draft, k fetch.Known, err error) {
	items := in.Rows
	for _, url := range in.URLs {
		items = append(items, map[string]string{"url": url})
	}
	switch {
	case len(items) == 0 || len(items) > maxInputs:
		return d, k, fmt.Errorf("urls or rows: give 1 to %d", maxInputs)
	case in.Query != "":
		return d, k, errors.New("query: a batch has addresses")
	case in.Zone == "":
		return d, k, errors.New("zone is missing: name the zone to fetch through, as the tool zones lists them")
	case batch.CheckAtOnce(in.AtOnce) != nil:
		return d, k, fmt.Errorf("at_once %w", batch.CheckAtOnce(in.AtOnce))
	case !(in.Rate >= 0) || !(in.MaxCost >= 0):
		return d, k, errors.New("rate, max_cost: write a number from 0 on")
	}
	in.URL = cmp.Or(in.URL, fetch.RowURL)
	p, draft, err := c.draft(ctx, in.FetchAsk)
	if err == nil {
		err = s.c.Rules.zone(in.Zone)
	}
	if err == nil {
		draft.Request.Via, err = accessMethod(in.Via)
	}
	if err != nil {
		return d, k, err
	}
	draft.Request.Zone.Name = model.ZoneName(in.Zone)
	d = batch.Draft{Draft: draft, Once: in.Once, AtOnce: in.AtOnce, Rate: in.Rate, Cap: in.MaxCost}
	var rows bytes.Buffer
	for i, row := range items {
		target := model.ExpandVariables(in.URL, func(name string) string { return row[name] })
		line, err := json.Marshal(row)
		if err = errors.Join(err, s.c.Rules.target(target)); err != nil {
			return d, k, fmt.Errorf("item %d: %w", i+1, err)
		}
		rows.Write(append(line, '\n'))
	}
	d.Input = fetch.NewInput(&rows, "an agent", "ndjson", "")
	k = c.Known(p)
	k.Variables = columnsAlone{}
	return d, k, nil
}

// columnsAlone has every {{name}} stand for a column: an agent gets no variable of the profile, as with fetch.
type columnsAlone struct{}

func (columnsAlone) Variable(string) (model.Variable, bool) { return model.Variable{}, false }
