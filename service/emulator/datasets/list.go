package datasets

import (
	"net/http"
	"net/url"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

const (
	defaultList = 1000
	maxList     = 5000
)

// listed is a row of GET /datasets/v3/snapshots (public documentation).
type listed struct {
	ID      string      `json:"id"`
	Created time.Time   `json:"created"`
	Status  jobs.Status `json:"status"`
	Dataset string      `json:"dataset_id"`
	Size    int         `json:"dataset_size"`
}

type filter struct {
	dataset, status string
	from, to        time.Time // to is exclusive; zero is no bound
	skip, limit     int
	total           bool
	none            bool // nothing matches
}

// readFilter reads the query; bad is the name of an invalid parameter.
func (a *API) readFilter(w http.ResponseWriter, q url.Values) (f filter, bad string) {
	const invalid = "Not valid"
	f.limit = defaultList
	date := func(to *time.Time, days int) func(string) string {
		return func(v string) (reason string) {
			var ok bool
			if *to, ok = readDate(v, days); !ok {
				return invalid
			}
			return ""
		}
	}
	trigger := ""
	bad, _ = parameters{
		"dataset_id": text(&f.dataset), "status": text(&f.status), "skip": number(&f.skip, 0), "limit": number(&f.limit, 1),
		"from_date": date(&f.from, 0), "to_date": date(&f.to, 1), "with_total": truth(&f.total),
		"trigger_type": text(&trigger, oneOf(invalid, "ALL", "API", "CP")),
	}.query(q, a.ignore(w))
	if bad == "" && f.limit > maxList {
		bad = "limit"
	}
	if f.status == "cancelled" { // both spellings are seen
		f.status = string(jobs.Canceled)
	}
	f.none = trigger == "CP" // there is no control panel here
	return f, bad
}

// refuseFilter is the refusal of a list (public documentation).
func refuseFilter(w http.ResponseWriter, name string) {
	answer.JSON(w, http.StatusBadRequest, answer.BasisDataset, map[string]any{"validation_errors": []string{shortened(name) + " is not valid here"}})
}

// readDate reads a day or a moment. days is added to a day: the last day of a range counts,
// so it ends a day later.
func readDate(v string, days int) (time.Time, bool) {
	if t, err := time.Parse(time.DateOnly, v); err == nil {
		return t.AddDate(0, 0, days), true
	}
	t, err := time.Parse(time.RFC3339, v)
	return t, err == nil
}

func (f filter) takes(s jobs.Snapshot) bool {
	return !f.none && (f.dataset == "" || s.Dataset == f.dataset) && (f.status == "" || string(s.Status) == f.status) &&
		(f.from.IsZero() || !s.Created.Before(f.from)) && (f.to.IsZero() || s.Created.Before(f.to))
}

// serveSnapshots is GET /datasets/v3/snapshots, the newest first.
func (a *API) serveSnapshots(w http.ResponseWriter, r *http.Request) error {
	f, bad := a.readFilter(w, r.URL.Query())
	if bad != "" {
		refuseFilter(w, bad)
		return nil
	}
	out, total := []listed{}, 0
	for _, s := range a.conf.Jobs.List() {
		if s.Kept || !f.takes(s) { // the marketplace lists the kept ones
			continue
		}
		total++
		if total > f.skip && len(out) < f.limit {
			out = append(out, listed{s.ID, s.Created, s.Status, s.Dataset, s.Records})
		}
	}
	var v any = out
	if f.total {
		v = map[string]any{"data": out, "total": total}
	}
	return give(w, basisList, v)
}

// serveLog is GET /datasets/v3/log/{id}; the mixed capitals are the service's (public
// documentation).
func (a *API) serveLog(w http.ResponseWriter, r *http.Request) error {
	s, err := a.conf.Jobs.Get(r.PathValue("id"))
	if err != nil {
		answer.JSON(w, http.StatusNotFound, answer.BasisDataset, map[string]string{"error": "Snapshot not found"})
		return nil //nolint:nilerr // answered here: only this call refuses in JSON
	}
	d, _ := jobs.Find(s.Dataset) // without it there is no name
	l := map[string]any{
		"id": s.ID, "created": s.Created, "Status": s.Status, "dataset_name": d.Name, "scraper_name": d.Name,
		"Dataset_size": s.Records, "Inputs_count": s.Inputs, "Dataset_id": s.Dataset, "Discovery_collector_id": nil,
		"file_size": s.Size, "Duration": 0, "Duration_per_input": 0, "Success_rate": nil,
		// The emulator knows neither the user nor the address.
		"trigger": map[string]any{"type": "API", "user": nil, "ip": nil, "trigger_url": s.Via, "ts": s.Created},
	}
	if s.Discover != "" {
		l["Discovery_collector_id"] = s.Discover
	}
	duration := int64(0)
	if !s.Ended.IsZero() {
		duration = s.Ended.Sub(s.Created).Milliseconds()
		l["Duration"] = duration
	}
	if s.Done > 0 {
		l["Duration_per_input"] = float64(duration) / float64(s.Done)
		l["Success_rate"] = float64(s.Succeeded) / float64(s.Done)
	}
	return give(w, basisLog, l)
}
