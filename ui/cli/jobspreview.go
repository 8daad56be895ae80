package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
)

// previewJSON is what a job would give, or why that is not known (docs/schema/job-preview.json).
type previewJSON struct {
	SchemaVersion int                    `json:"schema_version"`
	Dataset       string                 `json:"dataset"`
	State         string                 `json:"state"`
	Preview       string                 `json:"preview"`
	Columns       []dialect.LookupColumn `json:"columns"`
	Rows          []json.RawMessage      `json:"rows"`
	Status        int                    `json:"service_status"`
	Error         string                 `json:"error"`
	Diagnosis     *faultJSON             `json:"diagnosis"`
}

// preview prints what a job would give: its columns on standard error as an input takes them, with a note where the job
// asks for others, and the rows of a sample, one a line, or all of it as one JSON object.
func (t *task) preview(ctx context.Context, d dialect.Dialect, r model.TriggerRequest, asJSON bool) error {
	t.app.say("zonedeck: a preview of %s: what it costs is not shown by public sources", r.Dataset)
	got, err := t.Client.PreviewJob(ctx, r)
	if err != nil {
		return t.noPreview(ctx, r, err, asJSON)
	}
	if note := d.PreviewNote(r); note != "" {
		t.app.say("zonedeck: %s", note)
	}
	if asJSON {
		return t.app.printJSON(previewJSON{
			SchemaVersion: schemaVersion, Dataset: r.Dataset, State: string(model.JobReady), Preview: got.ID, Status: http.StatusOK,
			Columns: append([]dialect.LookupColumn{}, got.Columns...), Rows: append([]json.RawMessage{}, got.Rows...),
		})
	}
	if words, ok := dialect.WordsOfColumns(got.Columns); ok {
		t.app.say("zonedeck: columns: %s", sanitizeLine(words))
	}
	if len(got.Rows) == 0 {
		t.app.say("zonedeck: the sample holds no record")
	}
	for _, row := range got.Rows {
		if _, err := t.app.Stdout.Write(append(visibleJSON(row), '\n')); err != nil {
			return fail(exitState, "write the preview: %w", err)
		}
	}
	return nil
}

// noPreview ends a command whose preview came to nothing: with why, and what it left at the service.
func (t *task) noPreview(ctx context.Context, r model.TriggerRequest, err error, asJSON bool) error {
	var lost *jobs.PreviewError
	if !errors.As(err, &lost) {
		return triggerError(ctx, model.Job{}, err)
	}
	out := previewJSON{
		SchemaVersion: schemaVersion, Dataset: r.Dataset, State: string(lost.State), Preview: lost.ID,
		Columns: []dialect.LookupColumn{}, Rows: []json.RawMessage{}, Error: oneLine(jobError(ctx, err)),
	}
	if call := (*exchange.CallError)(nil); errors.As(err, &call) {
		fault := model.JobFault{Diagnosis: call.Diagnosis, At: t.Now()}
		t.sayFault(fault, t.keyName())
		verdict := newFaultJSON(fault)
		out.Status, out.Diagnosis = call.Status, &verdict
	}
	t.app.warn("%s", sanitizeLine(lost.Left()))
	if asJSON {
		if err := t.app.printJSON(out); err != nil {
			return err
		}
	}
	return told(jobError(ctx, err))
}
