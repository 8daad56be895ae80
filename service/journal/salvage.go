package journal

import (
	"context"
	"database/sql"

	"zonedeck/model"
)

// salvage carries the jobs that a damaged file still gives away into the new
// one and returns how many. A billed job is worth the attempt; history is not
// carried over. Whatever cannot be read ends the attempt quietly, because the
// file is kept and the notice says how many jobs came along.
func (j *Journal) salvage(ctx context.Context, kept string) int {
	old, err := connect(kept, j.set, "_pragma", "query_only(1)")
	if err != nil {
		return 0
	}
	defer func() { _ = old.Close() }()
	old.SetMaxOpenConns(1)
	jobs, numbers := readable(ctx, old)
	carried := 0
	for i, job := range jobs {
		n := numbers[i]
		err := j.write(ctx, full, "carrying a job over", func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO jobs ("+jobColumns+", digest, owner) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,'','')",
				n, job.Snapshot, job.Profile, job.Dataset, job.KeyName, string(job.State), job.Wire, job.Status, job.Detail, job.Inputs,
				job.Done, job.Records, job.Bytes, job.File, micros(job.Created), micros(job.Accepted), micros(job.Updated))
			if err != nil {
				return err
			}
			return insertStep(ctx, tx, n, model.JobStep{At: j.now(), State: job.State, Text: "carried over from a damaged journal"})
		})
		if err == nil {
			carried++
		}
	}
	return carried
}

// readable reads jobs until the damage.
func readable(ctx context.Context, old *sql.DB) ([]model.Job, []int64) {
	var jobs []model.Job
	var numbers []int64
	// An error is the damage: what came before it counts.
	_ = each(ctx, old, "SELECT "+jobColumns+" FROM jobs ORDER BY n", nil, func(row scanner) error {
		job, err := scanJob(row)
		if err != nil {
			return err
		}
		n, err := parseJobID(job.ID)
		if err == nil {
			jobs, numbers = append(jobs, job), append(numbers, n)
		}
		return err
	})
	return jobs, numbers
}
