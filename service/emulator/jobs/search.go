package jobs

import (
	"context"
	"net/url"
	"strconv"

	"zonedeck/service/emulator/serp"
)

const maxSearchPages = 10

// searchDataset gives the organic results of a search. Results can only be discovered, by
// a keyword.
func searchDataset() Dataset {
	return Dataset{
		ID: "gd_search", Name: "Lab search: results", Domain: "lab.test", Category: "search", Description: "the organic results of the lab's search",
		Fields: []Field{
			{Name: "keyword", Type: TypeText, Description: "what was searched for"},
			{Name: "rank", Type: TypeNumber, Description: "over all pages, from 1"},
			{Name: "title", Type: TypeText, Description: "the result's title"},
			{Name: "link", Type: TypeURL, Description: "where it leads"},
			{Name: "description", Type: TypeText, Description: "its snippet"},
		},
		Inputs: []Field{},
		Discoveries: []Discovery{{By: "keyword", collect: search, Inputs: []Field{
			{Name: "keyword", Type: TypeText, Description: "what to search for", Required: true, Example: "lamp"},
			{Name: "pages", Type: TypeNumber, Min: 1, Max: maxSearchPages, Description: "pages of results; 1 when missing"},
		}}},
	}
}

func search(ctx context.Context, v *visit) error {
	rank, from := 0, 0
	for range v.number("pages", 1) {
		q := url.Values{"q": {v.text("keyword")}}
		if from > 0 {
			q.Set("start", strconv.Itoa(from))
		}
		address := v.job.engine.conf.Shop + "/search?" + q.Encode()
		p, err := v.page(ctx, address)
		if err != nil {
			return err
		}
		query, err := serp.Read(address)
		if err != nil {
			return &FetchError{codeFailed, "The search cannot be worded"}
		}
		found, err := serp.Parse(p.Body, query)
		if err != nil {
			return &FetchError{codeFailed, "The page cannot be read"}
		}
		for _, o := range found.Organic {
			rank++
			if !v.record(record{"keyword": v.text("keyword"), "rank": rank, "title": o.Title, "link": o.Link, "description": o.Description}) {
				return nil
			}
		}
		next := found.Pagination.NextPageStart
		if next <= from {
			break
		}
		from = next
	}
	if rank == 0 {
		return &FetchError{codeNoDiscovery, noDiscovery}
	}
	return nil
}
