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
	return give(w, answer.BasisProgress, v)
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
	return give(w, basisParts, map[string]int{"parts": n})
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
	return give(w, basisRerun, map[string]string{"snapshot_id": snap.ID})
}
