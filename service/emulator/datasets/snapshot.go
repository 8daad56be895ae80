package datasets

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

func (a *API) serveProgress(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.conf.Jobs.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	v := map[string]any{
		"snapshot_id": snap.ID, "dataset_id": snap.Dataset, "status": snap.Status,
		"inputs": snap.Inputs, "inputs_done": snap.Done, "records": snap.Records, "errors": snap.Errors,
	}
	if snap.Error != "" {
		v["error_message"] = snap.Error
	}
	return answerJSON(w, answer.BasisProgress, v)
}

type choice struct {
	format   string
	compress bool
	slice    jobs.Slice
}

func (a *API) readChoice(w http.ResponseWriter, q url.Values, c *choice) error {
	compress := ""
	name, reason := parameters{
		"format":     text(&c.format, oneOf("Unknown value", jobs.Formats()...)),
		"compress":   text(&compress, oneOf("Unknown value", "true", "false")),
		"batch_size": number(&c.slice.Batch, jobs.MinBatch),
		"part":       number(&c.slice.Part, 1),
	}.query(q, a.ignore(w))
	switch {
	case name == "batch_size":
		return errSmallBatch()
	case name != "":
		return refused(name, reason)
	}
	c.compress = compress == "true"
	if c.slice.Batch > 0 && c.slice.Part == 0 {
		c.slice.Part = 1
	}
	return nil
}

// readDownload reads the snapshot of the path, and the query.
func (a *API) readDownload(w http.ResponseWriter, r *http.Request) (snap jobs.Snapshot, c choice, err error) {
	if snap, err = a.conf.Jobs.Get(r.PathValue("id")); err != nil {
		return snap, c, err
	}
	c.format = snap.Format
	return snap, c, a.readChoice(w, r.URL.Query(), &c)
}

// serveSnapshot is GET /datasets/v3/snapshot/{id}: 202 while the job runs, then a stream of its
// records.
func (a *API) serveSnapshot(w http.ResponseWriter, r *http.Request) error {
	snap, c, err := a.readDownload(w, r)
	if err != nil {
		return err
	}
	write, err := a.conf.Jobs.Download(snap.ID, c.format, c.slice)
	switch {
	case errors.Is(err, jobs.ErrNoPart):
		return refused("part", "The snapshot has no such part")
	case errors.Is(err, jobs.ErrNotReady):
		v := map[string]string{"status": "running", "message": "Snapshot is not ready yet, try again in 10s"}
		if snap.Status == jobs.Building {
			v = map[string]string{"status": "building", "message": "Snapshot is building, try again in 30s"}
		}
		answer.JSON(w, http.StatusAccepted, answer.BasisDataset, v)
		return nil
	case err != nil:
		return unusable(snap, err)
	}
	basis := answer.BasisDataset
	if c.slice.Part > 0 {
		basis = basisParts
	}
	a.send(w, snap.ID, c.format, c.compress, basis, write)
	return nil
}

// serveParts is GET /datasets/v3/snapshot/{id}/parts.
func (a *API) serveParts(w http.ResponseWriter, r *http.Request) error {
	snap, c, err := a.readDownload(w, r)
	if err != nil {
		return err
	}
	n, err := a.conf.Jobs.Parts(snap.ID, c.slice.Batch)
	if err != nil {
		return unusable(snap, err)
	}
	return answerJSON(w, basisParts, map[string]int{"parts": n})
}

// serveInput is GET /datasets/v3/snapshot/{id}/input: JSON, or CSV by the format.
func (a *API) serveInput(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := a.conf.Jobs.Get(id); err != nil {
		return err
	}
	c := choice{format: "json"}
	if err := a.readChoice(w, r.URL.Query(), &c); err != nil {
		return err
	}
	write := writeJSON
	switch c.format {
	case "json":
	case "csv":
		write = writeCSV
	default:
		return refused("format", "Must be json or csv")
	}
	inputs, err := a.conf.Jobs.Inputs(id)
	if err != nil {
		return err
	}
	a.send(w, id, c.format, c.compress, answer.BasisDataset, func(w io.Writer) error { return write(w, inputs) })
	return nil
}

func writeJSON(w io.Writer, inputs []json.RawMessage) error { return json.NewEncoder(w).Encode(inputs) }

// writeCSV has a column for every field of any input.
func writeCSV(w io.Writer, inputs []json.RawMessage) error {
	names := map[string]bool{}
	rows := make([]map[string]json.RawMessage, len(inputs))
	for i, in := range inputs {
		if err := json.Unmarshal(in, &rows[i]); err != nil {
			return err
		}
		for name := range rows[i] {
			names[name] = true
		}
	}
	columns := slices.Sorted(maps.Keys(names))
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	for _, row := range rows {
		cells := make([]string, len(columns))
		for i, name := range columns {
			cells[i] = jobs.Cell(row[name])
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// send streams a download. If it fails midway it cuts the connection, so that the client notices.
func (a *API) send(w http.ResponseWriter, id, format string, compress bool, basis string, write func(io.Writer) error) {
	w.Header().Set("Content-Type", answer.MediaType(format))
	w.Header().Set(answer.BasisHeader, basis)
	if err := stream(w, compress, write); err != nil {
		a.conf.Log.Debug("a download was cut off", "snapshot", id, "error", err)
		panic(http.ErrAbortHandler)
	}
}

func stream(w http.ResponseWriter, compress bool, write func(io.Writer) error) error {
	out := answer.NewPatient(w)
	defer out.Done()
	if !compress {
		return write(out)
	}
	w.Header().Set("Content-Encoding", "gzip")
	zw := gzip.NewWriter(out)
	if err := write(zw); err != nil {
		return err
	}
	return zw.Close()
}

func (a *API) serveCancel(w http.ResponseWriter, r *http.Request) error {
	if err := a.conf.Jobs.Cancel(r.PathValue("id")); err != nil {
		return err
	}
	answer.Text(w, http.StatusOK, answer.BasisDataset, "OK")
	return nil
}

// serveRerun is POST /datasets/v3/snapshot/{id}/rerun: the same inputs as a new job,
// without the webhooks of the first.
func (a *API) serveRerun(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.conf.Jobs.Rerun(r.PathValue("id"), r.URL.Path)
	if err != nil {
		return err
	}
	return answerJSON(w, basisRerun, map[string]string{"snapshot_id": snap.ID})
}

const (
	defaultList = 1000
	maxList     = 5000
)

// snapshotRow is a row of GET /datasets/v3/snapshots (public documentation).
type snapshotRow struct {
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

func (f filter) matches(s jobs.Snapshot) bool {
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
	out, total := []snapshotRow{}, 0
	for _, s := range a.conf.Jobs.List() {
		if s.Kept || !f.matches(s) { // the marketplace lists the kept ones
			continue
		}
		total++
		if total > f.skip && len(out) < f.limit {
			out = append(out, snapshotRow{s.ID, s.Created, s.Status, s.Dataset, s.Records})
		}
	}
	var v any = out
	if f.total {
		v = map[string]any{"data": out, "total": total}
	}
	return answerJSON(w, basisList, v)
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
	return answerJSON(w, basisLog, l)
}
