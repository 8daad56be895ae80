package datasets

import (
	"net/http"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// scraper is a row of GET /datasets/v3/scrapers (public sources).
type scraper struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Domain      string             `json:"domain"`
	Size        int                `json:"size"`
	UseCases    []string           `json:"use_cases"`
	Category    string             `json:"category"`
	Types       []string           `json:"scraper_type"`
	Methods     map[string]scraped `json:"scrapers"`
}

// scraped is one method of a scraper.
type scraped struct {
	Inputs  []jobs.Field     `json:"input_schema"`
	Outputs []output         `json:"output_fields"`
	Sample  []map[string]any `json:"sample_input"`
	Link    string           `json:"linkToScraper"`
}

// output is a column of the records. The emulator does not know how often one is filled.
type output struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
}

// serveScrapers is GET /datasets/v3/scrapers: the methods of data sets with their inputs and
// outputs, by dataset_id, by domain, or all. One that nobody knows is an empty list.
func (a *API) serveScrapers(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if q.Has("dataset_id") && q.Has("domain") {
		return refused("domain", "Give dataset_id or domain")
	}
	sizes, out := a.sizes(), []scraper{}
	for _, d := range jobs.Datasets() {
		if q.Has("dataset_id") && q.Get("dataset_id") != d.ID || q.Has("domain") && q.Get("domain") != d.Domain {
			continue
		}
		out = append(out, newScraper(d, sizes[d.ID]))
	}
	return answerJSON(w, basisScrapers, out)
}

func newScraper(d jobs.Dataset, size int) scraper {
	s := scraper{
		ID: d.ID, Name: d.Name, Description: d.Description, Domain: d.Domain, Size: size, UseCases: []string{}, Category: d.Category,
		Types: []string{}, Methods: map[string]scraped{},
	}
	add := func(name, by string, inputs []jobs.Field) {
		m := scraped{Inputs: inputs, Sample: []map[string]any{}, Link: "/datasets/v3/trigger?dataset_id=" + d.ID}
		sample := map[string]any{}
		for _, f := range inputs {
			if f.Example != nil {
				sample[f.Name] = f.Example
			}
		}
		if len(sample) > 0 {
			m.Sample = append(m.Sample, sample)
		}
		if by != "" {
			m.Link += "&type=discover_new&discover_by=" + by
		}
		for _, f := range d.Columns(by) {
			m.Outputs = append(m.Outputs, output{f.Name, f.Type, f.Description})
		}
		s.Types = append(s.Types, name)
		s.Methods[name] = m
	}
	if len(d.Inputs) > 0 {
		add("collect_by_url", "", d.Inputs)
	}
	for _, how := range d.Discoveries {
		add("discover_by_"+how.By, how.By, how.Inputs)
	}
	return s
}

// sizes are the records that jobs here have collected, by data set.
func (a *API) sizes() map[string]int {
	out := map[string]int{}
	for _, s := range a.conf.Jobs.List() {
		if s.Status == jobs.Ready && !s.Kept {
			out[s.Dataset] += s.Records
		}
	}
	return out
}

// serveList is GET /datasets/list.
func (a *API) serveList(w http.ResponseWriter, _ *http.Request) error {
	sizes, out := a.sizes(), []map[string]any{}
	for _, d := range jobs.Datasets() {
		names := []string{}
		for _, f := range d.Fields {
			names = append(names, f.Name)
		}
		// size is what jobs have collected here; fields is an addition.
		out = append(out, map[string]any{"id": d.ID, "name": d.Name, "size": sizes[d.ID], "fields": names})
	}
	return answerJSON(w, answer.BasisDataset+"; size counts what jobs here collected, fields: addition of this emulator", out)
}

// serveMetadata is GET /datasets/{id}/metadata.
func (a *API) serveMetadata(w http.ResponseWriter, id string) error {
	d, err := jobs.Find(id)
	if err != nil {
		return errNoDataset()
	}
	fields := map[string]any{}
	for _, f := range d.Fields {
		fields[f.Name] = map[string]any{"type": f.Type, "active": true, "required": false, "description": f.Description}
	}
	return answerJSON(w, answer.BasisDataset, map[string]any{"id": d.ID, "fields": fields})
}
