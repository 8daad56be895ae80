package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// Missing is what is left of a job: the inputs that gave no data.
type Missing struct {
	// Request asks for these inputs alone.
	Request model.TriggerRequest
	// Inputs are the inputs of the job, Failed those that gave an error, Nothing those that
	// gave no row with data or an error.
	Inputs, Failed, Nothing int
	// Unmatched counts rows that belong to none of the inputs. If there are any, inputs of the rest may
	// have given data.
	Unmatched int
	// Lacking counts records that the service counted and that are not among the rows. Their inputs are in
	// the rest, and may have given data. See model.Job.
	Lacking int
}

// Missing compares a job's inputs with the rows of its result: the file that was downloaded,
// while it still has its size, else the service's.
//
// Errors: as Request and Download, and a *rows.RecordsError of the file.
func (rn *Runner) Missing(ctx context.Context, id string) (Missing, error) {
	r, err := rn.Request(ctx, id)
	if err != nil {
		return Missing{}, err
	}
	job, err := rn.Job(ctx, id)
	if err != nil {
		return Missing{}, err
	}
	match := rows.NewMatch(r.Inputs)
	read := model.JobRows{Counted: true}
	if err := rn.eachRow(ctx, job, func(row rows.Row) {
		read.Returned++
		match.Row(row)
	}); err != nil {
		return Missing{}, err
	}
	job.Rows = read
	out := Missing{Inputs: len(r.Inputs), Unmatched: match.Unmatched, Lacking: job.Lacking()}
	r.Inputs, out.Failed = match.Missing()
	out.Nothing = len(r.Inputs) - out.Failed
	out.Request = r
	return out, nil
}

// withoutResult refuses to ask for the result of a job that has none: the service's answer would only
// replace the reason why the job ended.
func withoutResult(job model.Job) error {
	if job.State != model.JobFailed && job.State != model.JobCanceled {
		return nil
	}
	why := ""
	if job.Detail != "" {
		why = " (" + job.Detail + ")"
	}
	return fmt.Errorf("job %s %s%s: %w", job.ID, job.State.Predicate(), why, ErrNoResult)
}

// eachRow calls on for every row of a job's result.
func (rn *Runner) eachRow(ctx context.Context, job model.Job, on func(rows.Row)) error {
	each := func(row rows.Row) error {
		on(row)
		return context.Cause(ctx)
	}
	f, err := keptResult(job)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
		return rows.EachRow(f, fileFormat(job), each)
	}
	if err := withoutResult(job); err != nil {
		return err
	}
	call, err := rn.callAbout(ctx, job)
	if err != nil {
		return err
	}
	stream, err := rn.openResult(ctx, call, 0, 0)
	if err != nil {
		return err
	}
	defer stream.close()
	return rn.unread(ctx, call, rows.EachRow(stream, "json", each))
}

// fileFormat is the format of a job's file; if it is not known, the content decides.
func fileFormat(job model.Job) string {
	return cmp.Or(job.Rows.Format, strings.TrimPrefix(filepath.Ext(job.File), "."))
}

// keptResult is the file of a job's result if it still has its size, or nil.
func keptResult(job model.Job) (io.ReadCloser, error) {
	at, err := os.Stat(job.File)
	if err == nil && at.Mode().IsRegular() && at.Size() == job.Bytes {
		f, err := os.Open(job.File)
		if err != nil {
			return nil, fmt.Errorf("records of job %s: %w", job.ID, err)
		}
		return f, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("records of job %s: %w", job.ID, err)
	}
	return nil, nil //nolint:nilnil // no file is no error
}
