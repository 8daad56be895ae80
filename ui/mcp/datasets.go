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
		asks: func(in view.DatasetsArgs) model.Activity { return model.Activity{Text: in.Word} },
		does: listDatasets,
	})
}

func listDatasets(ctx context.Context, c *call, in view.DatasetsArgs) (view.AgentDatasets, string, error) {
	if in.Limit < 0 || in.Limit > maxSets {
		return view.AgentDatasets{}, "", fmt.Errorf("limit %d: write at most %d", in.Limit, maxSets)
	}
	if in.Limit == 0 {
		in.Limit = usualSets
	}
	sets, _, err := c.ListedDatasets(ctx, "")
	if err != nil {
		return view.AgentDatasets{}, "", err
	}
	out := view.AgentDatasets{Untrusted: view.AgentDatasetsRemote{Note: view.Untrusted, Datasets: []view.AgentDataset{}}}
	word := strings.ToLower(in.Word)
	for _, d := range sets {
		if !strings.Contains(strings.ToLower(d.ID+" "+d.Name+" "+string(d.Kind)), word) {
			continue
		}
		if out.Total++; out.Total <= in.Limit {
			one := view.AgentDataset{ID: d.ID, Kind: string(d.Kind), Name: d.Name}
			if d.Records >= 0 {
				one.Records = &d.Records
			}
			out.Untrusted.Datasets = append(out.Untrusted.Datasets, one)
		}
	}
	return out, fmt.Sprintf("listed: %d", len(out.Untrusted.Datasets)), nil
}
