package jobs

import (
	"context"
	"os"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// Coverage takes the rows of a result, and keeps what their fields show.
type Coverage interface {
	Row(r rows.Row)
	// Keep is called once all rows were seen. said is a line for the timeline, or empty.
	Keep(ctx context.Context, counted model.JobRows) (said string, err error)
}

// seeFields gives the rows of a downloaded result to the Coverage. They are read from the file, because what a
// download has fetched may be of several processes and parts. It is no part of the job: what fails is logged.
func (rn *Runner) seeFields(ctx context.Context, job model.Job, format string) {
	if rn.cfg.Coverage == nil {
		return
	}
	seen := rn.cfg.Coverage(job)
	said, err := func() (string, error) {
		f, err := os.Open(job.File)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if err := rows.EachRow(f, format, func(r rows.Row) error {
			seen.Row(r)
			return context.Cause(ctx)
		}); err != nil {
			return "", err
		}
		return seen.Keep(context.WithoutCancel(ctx), job.Rows)
	}()
	if err != nil {
		rn.cfg.Log.Warn("what the fields of a result show was not kept", "job", job.ID, "error", err)
	}
	if said == "" || rn.cfg.Journal == nil {
		return
	}
	err = rn.cfg.Journal.PutActivity(context.WithoutCancel(ctx), model.Activity{
		At: job.Updated, Kind: model.ActivityJob, Profile: job.Profile, Via: model.ViaAPI, Class: model.ClassParsingDrift, Cause: model.CauseMissingFields,
		Key: job.KeyName, Ref: job.ID, Text: said,
	})
	if err != nil {
		rn.cfg.Log.Warn("drift is missing in the timeline", "job", job.ID, "error", err)
	}
}
