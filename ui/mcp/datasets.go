package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/view"
)

// usualSets and maxSets bound a list of data sets.
const usualSets, maxSets = 50, 500

func (s *Server) addDatasets(srv *sdk.Server) {
	add(s, srv, tool[view.DatasetsArgs, view.AgentDatasets]{
		name: "datasets", help: "List the data sets that jobs can collect, as the service lists them.", reads: true,
		asks: func(in view.DatasetsArgs) model.HistoryEntry { return model.HistoryEntry{Text: in.Search} },
		run:  listDatasets,
	})
}

func listDatasets(ctx context.Context, c *call, in view.DatasetsArgs) (view.AgentDatasets, string, error) {
	limit, err := bounded("limit", in.Limit, usualSets, maxSets)
	if err != nil {
		return view.AgentDatasets{}, "", err
	}
	sets, _, err := c.ListedDatasets(ctx, "")
	if err != nil {
		return view.AgentDatasets{}, "", err
	}
	out := view.AgentDatasets{Untrusted: view.AgentDatasetsRemote{Note: view.Untrusted, Datasets: []view.AgentDataset{}}}
	word := strings.ToLower(in.Search)
	for _, d := range sets {
		if !strings.Contains(strings.ToLower(d.ID+" "+d.Name+" "+string(d.Kind)), word) {
			continue
		}
		if out.Total++; out.Total <= limit {
			out.Untrusted.Datasets = append(out.Untrusted.Datasets, view.NewAgentDataset(d))
		}
	}
	return out, fmt.Sprintf("listed: %d", len(out.Untrusted.Datasets)), nil
}
