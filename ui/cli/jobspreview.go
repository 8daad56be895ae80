package cli

import (
	"context"
	"encoding/json"
	"errors"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
	"zonedeck/service/view"
)

// preview prints what a job would give: on stderr its columns, as an input spells them, with a note if the job asks for
// others; on stdout the sample's rows, one a line. With --json it prints all as one object.
func (t *task) preview(ctx context.Context, r model.TriggerRequest) error {
	t.app.say("zonedeck: a preview of %s: what it costs is not shown by public sources", r.Dataset)
	got, err := t.Jobs.PreviewJob(ctx, r)
	if err != nil {
		return t.noPreview(ctx, r, err)
	}
	if got.Note != "" {
		t.app.say("zonedeck: %s", got.Note)
	}
	if words, ok := dialect.WordsOfColumns(got.Columns); ok && !t.app.json {
		t.app.say("zonedeck: columns: %s", words)
	}
	if len(got.Rows) == 0 && !t.app.json {
		t.app.say("zonedeck: the sample holds no record")
	}
	return t.printLines(view.NewJobPreview(r.Dataset, got), got.Rows, "the preview")
}

// noPreview ends a command whose preview failed. It says why, and what is left at the service.
func (t *task) noPreview(ctx context.Context, r model.TriggerRequest, err error) error {
	var lost *jobs.PreviewError
	if !errors.As(err, &lost) {
		return triggerError(ctx, model.Job{}, err)
	}
	out := view.JobPreview{
		Dataset: r.Dataset, State: string(lost.State), Preview: lost.ID,
		Columns: []dialect.LookupColumn{}, Rows: []json.RawMessage{}, Error: oneLine(jobError(ctx, err)),
	}
	if call := (*exchange.CallError)(nil); errors.As(err, &call) {
		fault := model.JobFault{Diagnosis: call.Diagnosis, At: t.Now()}
		t.sayFault(fault, t.keyName())
		verdict := view.NewFault(fault)
		out.ServiceStatus, out.Diagnosis = call.Status, &verdict
	}
	t.app.warn("%s", lost.AtService())
	if t.app.json {
		if err := t.app.printJSON(out); err != nil {
			return err
		}
	}
	return reported(jobError(ctx, err))
}
