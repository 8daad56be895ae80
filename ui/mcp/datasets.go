package mcp

import (
	"cmp"
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/view"
)

// usualSets and maxSets bound a list of data sets.
const usualSets, maxSets = 50, 500

func (s *Server) addDatasets(srv *sdk.Server) {
	add(s, srv, tool[view.DatasetsArgs, view.AgentDatasets]{
		name: "datasets", help: "List the data sets that jobs can be started for.", reads: true,
		asks: func(in view.DatasetsArgs) model.HistoryEntry { return model.HistoryEntry{Text: in.Search} },
		run:  listDatasets,
	})
}

func listDatasets(ctx context.Context, c *call, in view.DatasetsArgs) (view.AgentDatasets, string, error) {
	limit, err := bounded("limit", in.Limit, usualSets, maxSets)
	if err != nil {
		return view.AgentDatasets{}, "", err
	}
	l, err := c.Datasets(ctx, "", false)
	if err = cmp.Or(err, l.Err); err != nil {
		return view.AgentDatasets{}, "", err
	}
	found := l.Search(in.Search)
	out := view.AgentDatasets{Total: len(found), Untrusted: view.AgentDatasetsRemote{Note: view.Untrusted, Datasets: []view.AgentDataset{}}}
	for _, d := range found[:min(limit, len(found))] {
		out.Untrusted.Datasets = append(out.Untrusted.Datasets, view.NewAgentDataset(d))
	}
	return out, fmt.Sprintf("listed: %d", len(out.Untrusted.Datasets)), nil
}
