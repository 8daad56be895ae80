package cli

import (
	"context"
	"encoding/json"

	"zonedeck/model"
	"zonedeck/service/dialect"
)

// previewJSON is what a job would give (docs/schema/job-preview.json).
type previewJSON struct {
	SchemaVersion int                    `json:"schema_version"`
	Dataset       string                 `json:"dataset"`
	Columns       []dialect.LookupColumn `json:"columns"`
	Rows          []json.RawMessage      `json:"rows"`
}

// preview prints what a job would give: its columns on standard error as an input takes them, with a note where the job
// asks for others, and the rows of a sample, one a line, or all of it as one JSON object.
func (t *task) preview(ctx context.Context, d dialect.Dialect, r model.TriggerRequest, asJSON bool) error {
	t.app.say("zonedeck: a preview of %s: what it costs is not shown by public sources", r.Dataset)
	got, err := t.Client.PreviewJob(ctx, r)
	if err != nil {
		return triggerError(ctx, model.Job{}, err)
	}
	if note := d.PreviewNote(r); note != "" {
		t.app.say("zonedeck: %s", note)
	}
	if asJSON {
		out := previewJSON{SchemaVersion: schemaVersion, Dataset: r.Dataset, Columns: []dialect.LookupColumn{}, Rows: []json.RawMessage{}}
		out.Columns, out.Rows = append(out.Columns, got.Columns...), append(out.Rows, got.Rows...)
		return t.app.printJSON(out)
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
