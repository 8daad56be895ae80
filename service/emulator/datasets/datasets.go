// Package datasets is the endpoints of dataset jobs (service.md 2.4, 4.2) over the jobs
// that package jobs runs. An [API] is safe for concurrent use.
package datasets

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

const (
	maxTriggerBytes = 64 << 20
	maxURLBytes     = 8192
)

// Config is what the endpoints stand on.
type Config struct {
	Jobs *jobs.Engine
	Log  *slog.Logger
}

// API is the endpoints.
type API struct{ conf Config }

// New makes the endpoints.
func New(conf Config) *API { return &API{conf: conf} }

// inputError is an input that the service does not take (public documentation).
type inputError struct {
	Text   string      `json:"error"`
	Code   string      `json:"code"`
	Line   string      `json:"line,omitempty"`
	Errors [][2]string `json:"errors,omitempty"`
}

func (e *inputError) Error() string { return e.Text }

func inputErrors(line string, errs ...[2]string) *inputError {
	return &inputError{Text: "Invalid input provided", Code: "validation_error", Line: line, Errors: errs}
}

// ServeTrigger is POST /datasets/v3/trigger (service.md 4.2). It answers after the
// job is on disk.
func (a *API) ServeTrigger(w http.ResponseWriter, r *http.Request) {
	spec, err := triggerQuery(r.URL.Query())
	if err != nil {
		answer.JSON(w, http.StatusBadRequest, answer.BasisRefusal, err)
		return
	}
	if spec.Dataset == "" {
		answer.Text(w, http.StatusBadRequest, answer.BasisDataset, "dataset missing")
		return
	}
	if !slices.ContainsFunc(jobs.Datasets(), func(d jobs.Dataset) bool { return d.ID == spec.Dataset }) {
		answer.Text(w, http.StatusNotFound, answer.BasisDataset, "dataset does not exist")
		return
	}
	if !answer.IsJSON(r.Header) {
		answer.JSON(w, http.StatusBadRequest, answer.BasisRefusal, inputErrors("", [2]string{"Content-Type", "Must be application/json"}))
		return
	}
	body, rerr := answer.ReadBody(w, r, maxTriggerBytes)
	if rerr != nil {
		answer.JSON(w, http.StatusBadRequest, answer.BasisTarget, inputErrors("", [2]string{"body", fmt.Sprintf("Could not be read: at most %d bytes within %s", maxTriggerBytes, answer.BodyTimeout)}))
		return
	}
	if err := parseTrigger(body, &spec); err != nil {
		if errors.Is(err, errNothing) {
			answer.Text(w, http.StatusBadRequest, answer.BasisDataset, "No data to trigger")
			return
		}
		answer.JSON(w, http.StatusBadRequest, answer.BasisDataset, err)
		return
	}
	snap, terr := a.conf.Jobs.Trigger(spec)
	switch {
	case errors.Is(terr, jobs.ErrTooMany):
		w.Header().Set("Retry-After", "10")
		answer.Text(w, http.StatusTooManyRequests, answer.BasisDataset, "You have too many running jobs for this dataset")
	case terr != nil:
		a.conf.Log.Error("a job was not started", "error", terr)
		answer.Text(w, http.StatusInternalServerError, answer.BasisDataset, "Internal server error")
	default:
		answer.JSON(w, http.StatusOK, answer.BasisTrigger, map[string]string{"snapshot_id": snap.ID})
	}
}

// triggerQuery reads the query of a trigger; what this emulator does not do is refused
// by its name rather than ignored.
func triggerQuery(q url.Values) (jobs.Spec, *inputError) {
	spec := jobs.Spec{Format: "json"}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		v := q.Get(name)
		reason := ""
		switch name {
		case "dataset_id":
			spec.Dataset = v
		case "include_errors":
			b, err := strconv.ParseBool(v)
			if err != nil {
				reason = "Must be true or false"
			}
			spec.IncludeErrors = b
		case "format":
			if !slices.Contains(jobs.Formats(), v) {
				reason = "Must be one of " + strings.Join(jobs.Formats(), ", ")
			}
			spec.Format = v
		case "limit_per_input":
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 {
				reason = "Must be a number above 0"
			}
			spec.LimitPerInput = n
		case "custom_output_fields":
			spec.Fields = strings.Split(v, "|")
		case "notify":
			if v != "false" {
				reason = "Not supported by this emulator yet"
			}
		case "endpoint", "auth_header", "uncompressed_webhook", "webhook", "type", "discover_by", "limit_multiple_results":
			reason = "Not supported by this emulator yet"
		default:
			reason = "Unknown parameter"
		}
		if reason != "" {
			return spec, inputErrors("", [2]string{name, reason})
		}
	}
	if err := checkFields(spec); err != nil {
		return spec, err
	}
	return spec, nil
}

func checkFields(spec jobs.Spec) *inputError {
	i := slices.IndexFunc(jobs.Datasets(), func(d jobs.Dataset) bool { return d.ID == spec.Dataset })
	if i < 0 {
		return nil
	}
	for _, f := range spec.Fields {
		if !slices.Contains(jobs.Datasets()[i].Fields, f) {
			return inputErrors("", [2]string{"custom_output_fields", fmt.Sprintf("Unknown field %q", f)})
		}
	}
	return nil
}

var errNothing = errors.New("no data to trigger")

// parseTrigger reads the body: an array of inputs, or an object with input. Errors:
// errNothing, or an [*inputError].
func parseTrigger(b []byte, spec *jobs.Spec) error {
	var inputs []json.RawMessage
	if trimmed := bytes.TrimLeft(b, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		var o map[string]json.RawMessage
		if json.Unmarshal(b, &o) != nil {
			return &inputError{Text: "Request body is not JSON", Code: "parse_error"}
		}
		for _, name := range slices.Sorted(maps.Keys(o)) {
			switch name {
			case "input":
				if json.Unmarshal(o[name], &inputs) != nil {
					return inputErrors("", [2]string{"input", "Must be an array"})
				}
			case "limit_per_input":
				if json.Unmarshal(o[name], &spec.LimitPerInput) != nil || spec.LimitPerInput < 1 {
					return inputErrors("", [2]string{name, "Must be a number above 0"})
				}
			default:
				return inputErrors("", [2]string{name, "Unknown field"})
			}
		}
	} else if json.Unmarshal(b, &inputs) != nil {
		return &inputError{Text: "Request body is not JSON", Code: "parse_error"}
	}
	if len(inputs) == 0 {
		return errNothing
	}
	if len(inputs) > jobs.MaxInputs {
		return inputErrors("", [2]string{"input", fmt.Sprintf("More than %d inputs", jobs.MaxInputs)})
	}
	spec.URLs = make([]string, len(inputs))
	for i, raw := range inputs {
		u, err := parseInput(raw)
		if err != nil {
			return err
		}
		spec.URLs[i] = u
	}
	return nil
}

func parseInput(raw json.RawMessage) (string, error) {
	const maxLine = 1024
	line := string(raw[:min(len(raw), maxLine)])
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return "", inputErrors(line, [2]string{"input", "Must be an object"})
	}
	var errs [][2]string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "url" {
			errs = append(errs, [2]string{name, "Unknown field"})
		}
	}
	var v string
	if rawURL, ok := fields["url"]; !ok {
		errs = append(errs, [2]string{"url", "Required field"})
	} else if json.Unmarshal(rawURL, &v) != nil {
		errs = append(errs, [2]string{"url", "Must be a string"})
	} else if u, err := url.Parse(v); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || len(v) > maxURLBytes {
		errs = append(errs, [2]string{"url", "Must be an absolute http or https address"})
	}
	if len(errs) > 0 {
		return "", inputErrors(line, errs...)
	}
	return v, nil
}

// ServeProgress is GET /datasets/v3/progress/{id}.
func (a *API) ServeProgress(w http.ResponseWriter, r *http.Request) {
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

// ServeSnapshot is GET /datasets/v3/snapshot/{id}: 202 while the job runs, then the
// records, streamed.
func (a *API) ServeSnapshot(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	snap, err := a.conf.Jobs.Get(id)
	if err != nil {
		answer.Text(w, http.StatusNotFound, answer.BasisDataset, "Snapshot does not exist")
		return
	}
	format, compress := snap.Format, false
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		v := r.URL.Query().Get(name)
		switch {
		case name == "format" && slices.Contains(jobs.Formats(), v):
			format = v
		case name == "compress" && (v == "true" || v == "false"):
			compress = v == "true"
		case name == "format" || name == "compress":
			answer.JSON(w, http.StatusBadRequest, answer.BasisDataset, inputErrors("", [2]string{name, "Unknown value"}))
			return
		default:
			answer.JSON(w, http.StatusBadRequest, answer.BasisRefusal, inputErrors("", [2]string{name, "Not supported by this emulator yet"}))
			return
		}
	}
	write, err := a.conf.Jobs.Download(id, format)
	if err != nil {
		answerNoSnapshot(w, snap, err)
		return
	}
	types := map[string]string{"json": "application/json", "csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson", "jsonl": "application/jsonl"}
	w.Header().Set("Content-Type", types[format])
	w.Header().Set(answer.BasisHeader, answer.BasisDataset)
	if err := stream(w, compress, write); err != nil {
		a.conf.Log.Debug("a snapshot was cut off", "snapshot", id, "error", err)
		panic(http.ErrAbortHandler) // so that the client sees the cut
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

func answerNoSnapshot(w http.ResponseWriter, snap jobs.Snapshot, err error) {
	switch {
	case errors.Is(err, jobs.ErrNotReady):
		answer.JSON(w, http.StatusAccepted, answer.BasisDataset, map[string]string{
			"status": "running", "message": "Snapshot is not ready yet, try again in 10s",
		})
	case errors.Is(err, jobs.ErrExpired):
		answer.Text(w, http.StatusBadRequest, answer.BasisDataset, "Snapshot is expired")
	case errors.Is(err, jobs.ErrEmpty):
		answer.Text(w, http.StatusBadRequest, answer.BasisDataset, "Snapshot is empty")
	case errors.Is(err, jobs.ErrNotComplete):
		answer.Text(w, http.StatusBadRequest, answer.BasisRefusal, "Snapshot is "+string(snap.Status))
	default:
		answer.Text(w, http.StatusNotFound, answer.BasisDataset, "Snapshot does not exist")
	}
}

// ServeCancel is POST /datasets/v3/snapshot/{id}/cancel.
func (a *API) ServeCancel(w http.ResponseWriter, r *http.Request) {
	switch err := a.conf.Jobs.Cancel(r.PathValue("id")); {
	case errors.Is(err, jobs.ErrNoSnapshot):
		answer.Text(w, http.StatusNotFound, answer.BasisDataset, "Snapshot does not exist")
	case errors.Is(err, jobs.ErrNotRunning):
		answer.Text(w, http.StatusBadRequest, answer.BasisDataset, "Snapshot is not running")
	case err != nil:
		a.conf.Log.Error("a job was not canceled", "error", err)
		answer.Text(w, http.StatusInternalServerError, answer.BasisDataset, "Internal server error")
	default:
		answer.Text(w, http.StatusOK, answer.BasisDataset, "OK")
	}
}

// ServeSnapshots is GET /datasets/v3/snapshots, the newest first.
func (a *API) ServeSnapshots(w http.ResponseWriter, r *http.Request) {
	skip, limit := 0, 1000
	var dataset, status string
	q := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		v := q.Get(name)
		n, err := strconv.Atoi(v)
		ok := true
		switch name {
		case "dataset_id":
			dataset = v
		case "status":
			status = v
		case "skip":
			skip, ok = n, err == nil && n >= 0
		case "limit":
			limit, ok = n, err == nil && n >= 1 && n <= 5000
		default:
			ok = false
		}
		if !ok {
			answer.JSON(w, http.StatusBadRequest, answer.BasisDataset, map[string]any{"validation_errors": []string{name + " is not valid here"}})
			return
		}
	}
	type row struct {
		ID      string      `json:"id"`
		Created string      `json:"created"`
		Status  jobs.Status `json:"status"`
		Dataset string      `json:"dataset_id"`
		Size    int         `json:"dataset_size"`
	}
	out := []row{}
	for _, snap := range a.conf.Jobs.List() {
		if (dataset != "" && snap.Dataset != dataset) || (status != "" && string(snap.Status) != status) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if len(out) == limit {
			break
		}
		out = append(out, row{snap.ID, snap.Created.Format(time.RFC3339Nano), snap.Status, snap.Dataset, snap.Records})
	}
	answer.JSON(w, http.StatusOK, answer.BasisDataset, out)
}

// ServeDatasets is GET /datasets/list.
func (a *API) ServeDatasets(w http.ResponseWriter, _ *http.Request) {
	out := []map[string]any{}
	for _, d := range jobs.Datasets() {
		out = append(out, map[string]any{"id": d.ID, "name": d.Name, "fields": d.Fields})
	}
	answer.JSON(w, http.StatusOK, answer.BasisDataset, out)
}
