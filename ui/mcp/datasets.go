package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
)

type datasetsIn struct {
	Where

	Word  string `json:"word,omitempty" jsonschema:"only data sets with this word in their identifier, name or kind"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many; 50 when left out, at most 500"`
}

type datasetsOut struct {
	Total     int          `json:"total" jsonschema:"how many there are with this word"`
	Untrusted datasetsSeen `json:"untrusted"`
}

type datasetsSeen struct {
	Note     string       `json:"note"`
	Datasets []datasetOut `json:"datasets"`
}

type datasetOut struct {
	ID      string `json:"id"`
	Kind    string `json:"kind" jsonschema:"scraper, crawl, search, discover or deep_lookup"`
	Name    string `json:"name"`
	Records *int64 `json:"records,omitempty" jsonschema:"that it holds; left out where it is not shown"`
}

// usualSets and maxSets bound a list of data sets.
const usualSets, maxSets = 50, 500

func (s *Server) addDatasets(srv *sdk.Server) {
	add(s, srv, tool[datasetsIn, datasetsOut]{
		name: "datasets", help: "List the data sets that jobs can collect, as the service lists them.", reads: true,
		asks: func(in datasetsIn) model.Activity { return model.Activity{Text: in.Word} },
		does: listDatasets,
	})
}

func listDatasets(ctx context.Context, c *call, in datasetsIn) (datasetsOut, string, error) {
	if in.Limit < 0 || in.Limit > maxSets {
		return datasetsOut{}, "", fmt.Errorf("limit %d: write at most %d", in.Limit, maxSets)
	}
	if in.Limit == 0 {
		in.Limit = usualSets
	}
	sets, _, err := c.Datasets(ctx, "")
	if err != nil {
		return datasetsOut{}, "", err
	}
	out := datasetsOut{Untrusted: datasetsSeen{Note: untrusted, Datasets: []datasetOut{}}}
	word := strings.ToLower(in.Word)
	for _, d := range sets {
		if !strings.Contains(strings.ToLower(d.ID+" "+d.Name+" "+string(d.Kind)), word) {
			continue
		}
		if out.Total++; out.Total <= in.Limit {
			one := datasetOut{ID: d.ID, Kind: string(d.Kind), Name: d.Name}
			if d.Records >= 0 {
				one.Records = &d.Records
			}
			out.Untrusted.Datasets = append(out.Untrusted.Datasets, one)
		}
	}
	return out, fmt.Sprintf("listed: %d", len(out.Untrusted.Datasets)), nil
}
