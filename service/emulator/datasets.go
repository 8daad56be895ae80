package emulator

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/jobs"
)

const maxTriggerBytes = 64 << 20

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

// handleTrigger is POST /datasets/v3/trigger (service.md 4.2). It answers after the
// job is on disk.
func (s *Server) handleTrigger(w http.ResponseWriter, r *http.Request) {
	spec, err := triggerQuery(r.URL.Query())
	if err != nil {
		answerJSON(w, http.StatusBadRequest, basisRefusal, err)
		return
	}
	if spec.Dataset == "" {
		answerText(w, http.StatusBadRequest, basisDataset, "dataset missing")
		return
	}
	if !slices.ContainsFunc(jobs.Datasets(), func(d jobs.Dataset) bool { return d.ID == spec.Dataset }) {
		answerText(w, http.StatusNotFound, basisDataset, "dataset does not exist")
		return
	}
	if !isJSON(r.Header) {
		answerJSON(w, http.StatusBadRequest, basisRefusal, inputErrors("", [2]string{"Content-Type", "Must be application/json"}))
		return
	}
	body, rerr := readBody(w, r, maxTriggerBytes)
	if rerr != nil {
		answerJSON(w, http.StatusBadRequest, basisTarget, inputErrors("", [2]string{"body", fmt.Sprintf("Could not be read: at most %d bytes within %s", maxTriggerBytes, bodyTimeout)}))
		return
	}
	if err := parseTrigger(body, &spec); err != nil {
		if errors.Is(err, errNothing) {
			answerText(w, http.StatusBadRequest, basisDataset, "No data to trigger")
			return
		}
		answerJSON(w, http.StatusBadRequest, basisDataset, err)
		return
	}
	snap, terr := s.jobs.Trigger(spec)
	switch {
	case errors.Is(terr, jobs.ErrTooMany):
		w.Header().Set("Retry-After", "10")
		answerText(w, http.StatusTooManyRequests, basisDataset, "You have too many running jobs for this dataset")
	case terr != nil:
		s.log.Error("a job was not started", "error", terr)
		answerText(w, http.StatusInternalServerError, basisDataset, "Internal server error")
	default:
		answerJSON(w, http.StatusOK, basisTrigger, map[string]string{"snapshot_id": snap.ID})
	}
}

// triggerQuery reads the query of a trigger; what this emulator does not do is refused
// by its name rather than ignored.
func triggerQuery(q url.Values) (jobs.Spec, *inputError) {
	spec := jobs.Spec{Format: "json"}
	for _, name := range sortedKeys(q) {
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
		for _, name := range sortedKeys(o) {
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
	for _, name := range sortedKeys(fields) {
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

func (s *Server) handleProgress(w http.ResponseWriter, r *http.Request) {
	snap, err := s.jobs.Get(r.PathValue("id"))
	if err != nil {
		answerText(w, http.StatusNotFound, basisDataset, "Snapshot does not exist")
		return
	}
	v := map[string]any{
		"snapshot_id": snap.ID, "dataset_id": snap.Dataset, "status": snap.Status,
		"inputs": snap.Inputs, "inputs_done": snap.Done, "records": snap.Records, "errors": snap.Errors,
	}
	if snap.Error != "" {
		v["error_message"] = snap.Error
	}
	answerJSON(w, http.StatusOK, basisProgress, v)
}

// handleSnapshot is GET /datasets/v3/snapshot/{id}: 202 while the job runs, then the
// records, streamed.
func (s *Server) handleSnapshot(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	snap, err := s.jobs.Get(id)
	if err != nil {
		answerText(w, http.StatusNotFound, basisDataset, "Snapshot does not exist")
		return
	}
	format, compress := snap.Format, false
	for _, name := range sortedKeys(r.URL.Query()) {
		v := r.URL.Query().Get(name)
		switch {
		case name == "format" && slices.Contains(jobs.Formats(), v):
			format = v
		case name == "compress" && (v == "true" || v == "false"):
			compress = v == "true"
		case name == "format" || name == "compress":
			answerJSON(w, http.StatusBadRequest, basisDataset, inputErrors("", [2]string{name, "Unknown value"}))
			return
		default:
			answerJSON(w, http.StatusBadRequest, basisRefusal, inputErrors("", [2]string{name, "Not supported by this emulator yet"}))
			return
		}
	}
	write, err := s.jobs.Download(id, format)
	if err != nil {
		answerNoSnapshot(w, snap, err)
		return
	}
	types := map[string]string{"json": "application/json", "csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson", "jsonl": "application/jsonl"}
	w.Header().Set("Content-Type", types[format])
	w.Header().Set(basisHeader, basisDataset)
	if err := stream(w, compress, write); err != nil {
		s.log.Debug("a snapshot was cut off", "snapshot", id, "error", err)
		panic(http.ErrAbortHandler) // so that the client sees the cut
	}
}

func stream(w http.ResponseWriter, compress bool, write func(io.Writer) error) error {
	out := newPatient(w)
	defer out.done()
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
		answerJSON(w, http.StatusAccepted, basisDataset, map[string]string{
			"status": "running", "message": "Snapshot is not ready yet, try again in 10s",
		})
	case errors.Is(err, jobs.ErrExpired):
		answerText(w, http.StatusBadRequest, basisDataset, "Snapshot is expired")
	case errors.Is(err, jobs.ErrEmpty):
		answerText(w, http.StatusBadRequest, basisDataset, "Snapshot is empty")
	case errors.Is(err, jobs.ErrNotComplete):
		answerText(w, http.StatusBadRequest, basisRefusal, "Snapshot is "+string(snap.Status))
	default:
		answerText(w, http.StatusNotFound, basisDataset, "Snapshot does not exist")
	}
}

func (s *Server) handleCancel(w http.ResponseWriter, r *http.Request) {
	switch err := s.jobs.Cancel(r.PathValue("id")); {
	case errors.Is(err, jobs.ErrNoSnapshot):
		answerText(w, http.StatusNotFound, basisDataset, "Snapshot does not exist")
	case errors.Is(err, jobs.ErrNotRunning):
		answerText(w, http.StatusBadRequest, basisDataset, "Snapshot is not running")
	case err != nil:
		s.log.Error("a job was not canceled", "error", err)
		answerText(w, http.StatusInternalServerError, basisDataset, "Internal server error")
	default:
		answerText(w, http.StatusOK, basisDataset, "OK")
	}
}

// handleSnapshots is GET /datasets/v3/snapshots, the newest first.
func (s *Server) handleSnapshots(w http.ResponseWriter, r *http.Request) {
	skip, limit := 0, 1000
	var dataset, status string
	q := r.URL.Query()
	for _, name := range sortedKeys(q) {
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
			answerJSON(w, http.StatusBadRequest, basisDataset, map[string]any{"validation_errors": []string{name + " is not valid here"}})
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
	for _, snap := range s.jobs.List() {
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
	answerJSON(w, http.StatusOK, basisDataset, out)
}

func (s *Server) handleDatasets(w http.ResponseWriter, _ *http.Request) {
	out := []map[string]any{}
	for _, d := range jobs.Datasets() {
		out = append(out, map[string]any{"id": d.ID, "name": d.Name, "fields": d.Fields})
	}
	answerJSON(w, http.StatusOK, basisDataset, out)
}
