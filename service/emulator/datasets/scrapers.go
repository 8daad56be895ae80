package datasets

import (
	"net/http"
	"slices"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// serveScrapers is GET /datasets/v3/scrapers: the inputs and outputs of datasets, by
// dataset_id, by domain, or all.
func (a *API) serveScrapers(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	id, domain := q.Get("dataset_id"), q.Get("domain")
	out := slices.DeleteFunc(jobs.Datasets(), func(d jobs.Dataset) bool {
		return id != "" && id != d.ID || domain != "" && domain != d.Domain
	})
	if id != "" && len(out) == 0 {
		return errNoDataset()
	}
	return give(w, basisScrapers, out)
}

// serveList is GET /datasets/list.
func (a *API) serveList(w http.ResponseWriter, _ *http.Request) error {
	sizes := map[string]int{}
	for _, s := range a.conf.Jobs.List() {
		if s.Status == jobs.Ready && !s.Kept {
			sizes[s.Dataset] += s.Records
		}
	}
	out := []map[string]any{}
	for _, d := range jobs.Datasets() {
		names := []string{}
		for _, f := range d.Fields {
			names = append(names, f.Name)
		}
		// size is what jobs have collected here; fields is an addition.
		out = append(out, map[string]any{"id": d.ID, "name": d.Name, "size": sizes[d.ID], "fields": names})
	}
	return give(w, answer.BasisDataset+"; size counts what jobs here collected, fields: addition of this emulator", out)
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
	return give(w, answer.BasisDataset, map[string]any{"id": d.ID, "fields": fields})
}
