package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/jobs"
	"zonedeck/ui/kit/text"
)

type downloadFlags struct {
	Output   string `flag:"output" takes:"output" short:"o" help:"file to write, or - for standard output (required)"`
	As       string `flag:"as" takes:"json|ndjson|csv" alias:"format" help:"json, ndjson or csv (default: what the file's ending says; json without an ending)"`
	Force    bool   `flag:"force" help:"replace an existing file, and what another download left beside it"`
	RawCells bool   `flag:"raw-cells" help:"in CSV: put no apostrophe before cells that a spreadsheet would take for formulas"`
	jobFlags
	dest destination
}

func (a *app) jobsDownloadCommand() *cobra.Command {
	return command(a, spec[downloadFlags]{
		use:   "download JOB -o FILE",
		short: "Download a job's results",
		long: `Downloads the results of a job that is ready to a file. --as or the file's
ending decides on the format: json (one array), ndjson (one record per line) or
csv (a column for every field of any record, nested values as JSON).

FILE appears complete, or not at all: until then the data is in FILE.part. A
download that breaks off leaves FILE.part. If the service gives the result in
parts, the same command goes on with the missing ones; otherwise it starts again,
and says so.

A result that drifts is named as such; 'zonedeck drift show DATASET' shows the
fields.

Exit code 30: the result is in FILE, and no row has data.`,
		check: func(f *downloadFlags, _ []string) error {
			if f.Output == "" {
				return usage("-o is missing: name the file to write")
			}
			var err error
			if f.dest, err = a.destination(f.Output); err != nil {
				return err
			}
			if f.dest.stream != nil && f.JSON {
				return usage("-o %s and --json both want standard output: name a file, or leave one out", f.Output)
			}
			if ending := filepath.Ext(f.dest.file); ending != "" && f.As == "" && jobs.FormatOf(f.dest.file) == "" {
				return usage("-o %s: no format has this ending: use .json, .ndjson or .csv, or give --as", f.Output)
			}
			return nil
		},
		run: download,
	})
}

// download fetches the results. For standard output or a device it stores them in the downloads
// folder first, because a broken stream must be readable again.
func download(ctx context.Context, t *task, f downloadFlags, args []string) (printed, error) {
	id := args[0]
	if _, err := t.findJob(ctx, id, ""); err != nil {
		return printed{}, jobError(ctx, err)
	}
	to := jobs.Destination{File: f.dest.file, Format: f.As, Replace: f.Force, DropPartial: f.Force, RawCells: f.RawCells}
	var wait downloadWait
	line := t.app.wait(wait.text)
	job, err := t.Jobs.Download(ctx, id, to, func(p jobs.Progress) {
		wait.update(p)
		if p.Note != "" {
			line.above(func() { t.app.say("zonedeck: %s", p.Note) })
		}
	})
	line.stop()
	if errors.Is(err, jobs.ErrNoSnapshot) {
		if job, jerr := t.Jobs.Job(ctx, id); jerr == nil {
			return printed{}, fail(jobExit(job), "%w", err)
		}
	}
	var exists *jobs.ExistsError
	var foreign *jobs.ForeignError
	if errors.As(err, &exists) || errors.As(err, &foreign) {
		return printed{}, usage("%w; --force replaces it", err)
	}
	if err != nil {
		return printed{}, t.failedJob(ctx, job, err)
	}
	if f.dest.file == "" {
		if err := f.dest.write(ctx, model.BodyRef{File: job.File}); err != nil {
			return printed{}, err
		}
	}
	t.app.say("zonedeck: %d bytes in %s", job.Bytes, job.File)
	for _, fact := range t.rowFacts(job) {
		t.app.say("zonedeck: %s: %s", fact[0], fact[1])
	}
	job = t.seeFields(ctx, job)
	if f.JSON {
		if err := t.printJob(job); err != nil {
			return printed{}, err
		}
	}
	if job.Doubt() != "" {
		t.app.warn("job %s: %s", job.ID, job.Doubt())
	}
	if way := t.wayOn(job); way != "" {
		t.app.say("zonedeck: %s", way)
	}
	if job.Rows.Worthless() {
		return printed{}, fail(exitJobFailed, "no row of job %s has data: %s of %s", job.ID, text.Counted(job.Rows.Failed(), "error"), text.Counted(job.Rows.Returned, "row"))
	}
	return printed{}, nil
}

// seeFields checks the fields of a downloaded result for drift, and gives the job with what they show. The download
// counts as done even if that fails.
func (t *task) seeFields(ctx context.Context, job model.Job) model.Job {
	var wait downloadWait
	line := t.app.wait(wait.text)
	if line == nil && job.Rows.FieldsDue && job.Bytes > jobs.SoonSeen {
		t.app.say("zonedeck: checking the fields of the rows for drift; if this is interrupted, '%s follow' or a console with that profile does it", t.jobs(job))
	}
	seen, err := t.Jobs.SeeFields(ctx, job.ID, wait.update)
	line.stop()
	if err != nil {
		t.app.say("zonedeck: the fields of the rows were not checked for drift (%v); '%s follow' or a console with that profile does it", err, t.jobs(job))
		return job
	}
	return seen
}

// downloadWait describes a download in progress.
type downloadWait struct {
	mu    sync.Mutex
	last  jobs.Progress
	first int64 // bytes already there at the start
	begun bool
}

func (d *downloadWait) update(p jobs.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.begun || p.Bytes < d.first {
		d.begun, d.first = true, p.Bytes
	}
	d.last = p
}

// doneText says what is being done with the downloaded rows, and the progress in percent.
func doneText(p jobs.Progress) string {
	if p.Doing == "" {
		return ""
	}
	return fmt.Sprintf("%s: %d %%", p.Doing, p.Done*100/max(p.Bytes, 1))
}

func (d *downloadWait) text(waited time.Duration) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := fmt.Sprintf("zonedeck: %.1f s  %s", waited.Seconds(), text.Bytes(d.last.Bytes))
	if doing := doneText(d.last); doing != "" {
		return line + "  " + doing
	}
	if came := d.last.Bytes - d.first; came > 0 {
		line += fmt.Sprintf("  %s/s", text.Bytes(int64(float64(came)/waited.Seconds())))
	}
	if d.last.Parts > 1 {
		line += fmt.Sprintf("  part %d of %d", d.last.Part, d.last.Parts)
	}
	return line
}
