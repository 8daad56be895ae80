package jobs

import (
	"context"
	"errors"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// Records is a table of a job's first n records (at most 1,000, fewer if they are
// huge). It reads the downloaded file if that still has its size, or else asks the
// service, and reads no more than it needs. A record that is not an object becomes
// a row with the one column "value". Columns are in the order in which they first
// appear. Total is the number of records if the end was reached, or else -1.
//
// Errors: as Download, and a *rows.RecordsError when the file is not what it should
// be; the table then holds the records before, as with one of the service that cannot be read.
func (rn *Runner) Records(ctx context.Context, jobID string, n int) (model.RecordTable, error) {
	job, err := rn.Job(ctx, jobID)
	if err != nil {
		return model.RecordTable{Total: -1}, err
	}
	f, err := keptResult(job)
	if err != nil {
		return model.RecordTable{Total: -1}, err
	}
	if f != nil {
		defer f.Close()
		return rows.ReadRecords(f, fileFormat(job), n)
	}
	call, err := rn.callFor(ctx, jobID)
	if err != nil {
		return model.RecordTable{Total: -1}, err
	}
	// With one record per line, the first ones can be read without waiting for the rest. If the service sends an array all
	// the same, its elements are the records.
	stream, err := rn.openResult(ctx, call, 0, 0)
	if err != nil {
		return model.RecordTable{Total: -1}, err
	}
	defer stream.close()
	table, err := rows.ReadRecords(stream, "json", n)
	return table, rn.unread(ctx, call, err)
}

// unread is the error of rows that the service gave, and that could not be read.
func (rn *Runner) unread(ctx context.Context, call jobCall, err error) error {
	doing := "reading the records of job " + call.job.ID
	var none *noResultError
	var broke *exchange.Error
	var row *rows.RecordsError
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &none):
		return none.fault(doing)
	case errors.As(err, &broke):
		return rn.jobFault(ctx, doing, call, nil, err)
	case errors.As(err, &row):
		return rn.jobFault(ctx, doing, call, nil, exchange.Unusable(err))
	}
	return err
}
