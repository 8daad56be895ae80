package datasets

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

func (a *API) serveProgress(w http.ResponseWriter, r *http.Request) {
	snap, err := a.conf.Jobs.Get(r.PathValue("id"))
	if err != nil {
		answer.Text(w, http.StatusNotFound, answer.BasisDataset, "Snapshot does not exist")
		return
	}
	v := map[string]any{
		"snapshot_id": snap.ID, "dataset_id": snap.Dataset, "status": snap.Status,
		"inputs": snap.Inputs, "inputs_done": snap.Done, "records": snap.Records, "errors": snap.Errors,
	}
	if snap.Error != "" {
		v["error_message"] = snap.Error
	}
	answer.JSON(w, http.StatusOK, answer.BasisProgress, v)
}

// choice is what a download asks for.
type choice struct {
	format   string
	compress bool
	slice    jobs.Slice
}

// readChoice reads the query of a download, or answers what is wrong with it.
func (a *API) readChoice(w http.ResponseWriter, q url.Values, c *choice) bool {
	for _, name := range slices.Sorted(maps.Keys(q)) {
		v, reason := q.Get(name), ""
		switch name {
		case "format":
			if c.format = v; !slices.Contains(jobs.Formats(), v) {
				reason = "Unknown value"
			}
		case "compress":
			if c.compress = v == "true"; v != "true" && v != "false" {
				reason = "Unknown value"
			}
		case "batch_size":
			n, err := strconv.Atoi(v)
			if err != nil || n < jobs.MinBatch {
				answer.Text(w, http.StatusBadRequest, answer.BasisDataset, fmt.Sprintf("Batch size should be at least %d", jobs.MinBatch))
				return false
			}
			c.slice.Batch = n
		case "part":
			reason = setLimit(&c.slice.Part, v)
		default:
			if a.conf.Loose {
				noteParameter(w, name)
			} else {
				reason = unknownParameter
			}
		}
		if reason != "" {
			refuse(w, name, reason)
			return false
		}
	}
	if c.slice.Batch > 0 && c.slice.Part == 0 {
		c.slice.Part = 1
	}
	return true
}

// readDownload is the snapshot of the path and what is asked of it, or it has answered.
func (a *API) readDownload(w http.ResponseWriter, r *http.Request) (snap jobs.Snapshot, c choice, ok bool) {
	snap, err := a.conf.Jobs.Get(r.PathValue("id"))
	if err != nil {
		a.noSnapshot(w, snap, err)
		return snap, c, false
	}
	c.format = snap.Format
	return snap, c, a.readChoice(w, r.URL.Query(), &c)
}

// serveSnapshot is GET /datasets/v3/snapshot/{id}: 202 while the job runs, then the
// records, streamed.
func (a *API) serveSnapshot(w http.ResponseWriter, r *http.Request) {
	snap, c, ok := a.readDownload(w, r)
	if !ok {
		return
	}
	write, err := a.conf.Jobs.Download(snap.ID, c.format, c.slice)
	if err != nil {
		a.noSnapshot(w, snap, err)
		return
	}
	basis := answer.BasisDataset
	if c.slice.Part > 0 {
		basis = basisParts
	}
	a.send(w, snap.ID, c.format, c.compress, basis, write)
}

// serveParts is GET /datasets/v3/snapshot/{id}/parts.
func (a *API) serveParts(w http.ResponseWriter, r *http.Request) {
	snap, c, ok := a.readDownload(w, r)
	if !ok {
		return
	}
	n, err := a.conf.Jobs.Parts(snap.ID, c.slice.Batch)
	switch {
	case errors.Is(err, jobs.ErrNotReady):
		answer.Text(w, http.StatusBadRequest, answer.BasisDataset, "Snapshot is not ready")
	case err != nil:
		a.noSnapshot(w, snap, err)
	default:
		answer.JSON(w, http.StatusOK, basisParts, map[string]int{"parts": n})
	}
}

// serveInput is GET /datasets/v3/snapshot/{id}/input: JSON, or CSV where that is asked
// for.
func (a *API) serveInput(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, err := a.conf.Jobs.Get(id); err != nil {
		a.noSnapshot(w, jobs.Snapshot{}, err)
		return
	}
	c := choice{format: "json"}
	if !a.readChoice(w, r.URL.Query(), &c) {
		return
	}
	write := writeJSON
	switch c.format {
	case "json":
	case "csv":
		write = writeCSV
	default:
		refuse(w, "format", "Must be json or csv")
		return
	}
	inputs, err := a.conf.Jobs.Inputs(id)
	if err != nil {
		a.noSnapshot(w, jobs.Snapshot{}, err)
		return
	}
	a.send(w, id, c.format, c.compress, answer.BasisDataset, func(w io.Writer) error { return write(w, inputs) })
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

// send streams a download. One that breaks off is cut, so that the client sees it.
func (a *API) send(w http.ResponseWriter, id, format string, compress bool, basis string, write func(io.Writer) error) {
	w.Header().Set("Content-Type", jobs.ContentType(format))
	w.Header().Set(answer.BasisHeader, basis)
	if err := stream(w, compress, write); err != nil {
		a.conf.Log.Debug("a snapshot was cut off", "snapshot", id, "error", err)
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

// noSnapshot words why a snapshot is not what a call wants (public documentation).
func (a *API) noSnapshot(w http.ResponseWriter, snap jobs.Snapshot, err error) {
	text := func(status int, basis, s string) { answer.Text(w, status, basis, s) }
	switch {
	case errors.Is(err, jobs.ErrNotReady) && snap.Status == jobs.Building:
		answer.JSON(w, http.StatusAccepted, answer.BasisDataset, map[string]string{
			"status": "building", "message": "Snapshot is building, try again in 30s",
		})
	case errors.Is(err, jobs.ErrNotReady):
		answer.JSON(w, http.StatusAccepted, answer.BasisDataset, map[string]string{
			"status": "running", "message": "Snapshot is not ready yet, try again in 10s",
		})
	case errors.Is(err, jobs.ErrExpired):
		text(http.StatusBadRequest, answer.BasisDataset, "Snapshot is expired")
	case errors.Is(err, jobs.ErrEmpty):
		text(http.StatusBadRequest, answer.BasisDataset, "Snapshot is empty")
	case errors.Is(err, jobs.ErrNoPart):
		refuse(w, "part", "The snapshot has no such part")
	case errors.Is(err, jobs.ErrNotComplete):
		text(http.StatusBadRequest, "assumption: status and text of a snapshot that did not complete", "Snapshot is "+string(snap.Status))
	case errors.Is(err, jobs.ErrNoInput):
		text(http.StatusBadRequest, answer.BasisDataset, "Snapshot input does not exist")
	case errors.Is(err, jobs.ErrNoSnapshot):
		text(http.StatusNotFound, answer.BasisDataset, "Snapshot does not exist")
	default:
		a.broken(w, "a call for a snapshot went wrong", err)
	}
}

func (a *API) serveCancel(w http.ResponseWriter, r *http.Request) {
	switch err := a.conf.Jobs.Cancel(r.PathValue("id")); {
	case errors.Is(err, jobs.ErrNotRunning):
		answer.Text(w, http.StatusBadRequest, answer.BasisDataset, "Snapshot is not running")
	case err != nil:
		a.noSnapshot(w, jobs.Snapshot{}, err)
	default:
		answer.Text(w, http.StatusOK, answer.BasisDataset, "OK")
	}
}

// serveRerun is POST /datasets/v3/snapshot/{id}/rerun: the same inputs as a new job,
// without the webhooks of the first.
func (a *API) serveRerun(w http.ResponseWriter, r *http.Request) {
	snap, err := a.conf.Jobs.Rerun(r.PathValue("id"), r.URL.Path)
	switch {
	case errors.Is(err, jobs.ErrTooMany):
		tooManyJobs(w)
	case err != nil:
		a.noSnapshot(w, snap, err)
	default:
		answer.JSON(w, http.StatusOK, basisRerun, map[string]string{"snapshot_id": snap.ID})
	}
}
