package datasets

import (
	"net/http"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// schemaField is the JSON form of a field.
type schemaField struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Required    bool   `json:"required"`
	Description string `json:"description,omitempty"`
}

func schemaOf(fields []jobs.Field) []schemaField {
	out := []schemaField{}
	for _, f := range fields {
		out = append(out, schemaField{f.Name, f.Type, f.Required, f.Description})
	}
	return out
}

// serveScrapers is GET /datasets/v3/scrapers: the inputs and outputs of datasets, by
// dataset_id, by domain, or all.
func (a *API) serveScrapers(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	out := []map[string]any{}
	for _, d := range jobs.Datasets() {
		if id := q.Get("dataset_id"); id != "" && id != d.ID {
			continue
		}
		if domain := q.Get("domain"); domain != "" && domain != d.Domain {
			continue
		}
		discover := []map[string]any{}
		for _, how := range d.Discoveries {
			discover = append(discover, map[string]any{"discover_by": how.By, "input_schema": schemaOf(how.Inputs)})
		}
		out = append(out, map[string]any{
			"dataset_id": d.ID, "name": d.Name, "domain": d.Domain, "description": d.Description,
			"input_schema": schemaOf(d.Inputs), "discover": discover, "output_fields": schemaOf(d.Fields),
		})
	}
	if id := q.Get("dataset_id"); id != "" && len(out) == 0 {
		return errNoDataset()
	}
	answer.JSON(w, http.StatusOK, basisScrapers, out)
	return nil
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
	answer.JSON(w, http.StatusOK, answer.BasisDataset+"; size counts what jobs here collected, fields: addition of this emulator", out)
	return nil
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
	answer.JSON(w, http.StatusOK, answer.BasisDataset, map[string]any{"id": d.ID, "fields": fields})
	return nil
}
