package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/ui/kit/text"
)

func (a *app) jobsCommand() *cobra.Command {
	return group("jobs", "Launch, watch, list and download dataset jobs",
		a.jobsTriggerCommand(), a.jobsWatchCommand(), a.jobsListCommand(), a.jobsShowCommand(), a.jobsDownloadCommand(), a.jobsCancelCommand(),
		a.jobsAdoptCommand(), a.jobsResolveCommand(), a.jobsRelaunchCommand(), a.jobsDatasetsCommand())
}

type triggerFlags struct {
	input, key string
	reason     string
	wait, json bool
	timeout    durationFlag
}

func (a *app) jobsTriggerCommand() *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use:   "trigger DATASET --input FILE|-",
		Short: "Launch a dataset job",
		Long: `Launches a dataset job. The inputs are one URL per line, CSV with a url column, a
JSON array or NDJSON; every row is checked before anything is sent. The job is
in the ledger before the request is sent, and it is never resent automatically.`,
		Args: oneArg("the dataset to trigger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.input == "" {
				return usage("--input is missing: name a file, or - for standard input")
			}
			return a.withSession(cmd.Context(), needs{key: f.key, jobs: true, reason: f.reason}, func(t *task) error {
				return t.trigger(cmd.Context(), args[0], f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.input, "input", "", "file with the inputs, or - for standard input (required)")
	fl.StringVar(&f.key, "key", "", "name of the key in the inventory")
	adminFlag(cmd, &f.reason)
	fl.BoolVar(&f.wait, "wait", false, "watch the job until it is ready")
	fl.Var(&f.timeout, "timeout", "with --wait: how long to wait; exit 20 if the job is still running then")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (t *task) trigger(ctx context.Context, dataset string, f triggerFlags) error {
	inputs, err := t.readInputs(f.input)
	if err != nil {
		return err
	}
	// The emulator must be running, and its keys known, before a key is looked up.
	p, err := t.Profile(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return usage("%w", err)
	}
	if f.wait && !d.AsksForJobs() {
		return usage("--wait: the contract does not show how to ask for a job's state: choose dialect %s for profile %q, or leave --wait out; nothing was sent", dialect.WithJobs(), p.Name)
	}
	request := model.TriggerRequest{Dataset: dataset, Inputs: inputs, Key: f.key}
	t.warnLaunch(ctx, d, request)
	job, err := t.Client.Trigger(ctx, request)
	if err != nil {
		return triggerError(ctx, job, err)
	}
	if !f.wait || job.State.Final() || job.State == model.JobMayHave {
		return t.reportJob(job, f.json)
	}
	t.app.say("zonedeck: job %s is snapshot %s", job.ID, sanitizeLine(job.Snapshot))
	return t.watch(ctx, job.ID, f.timeout.d, f.json)
}

// warnLaunch prints what the console would ask about before a launch. A script has
// already decided, so nothing waits for an answer.
func (t *task) warnLaunch(ctx context.Context, d dialect.Dialect, r model.TriggerRequest) {
	if !d.Sends().Dataset && r.Dataset != "" {
		t.app.say("zonedeck: the contract does not show how a dataset is named: %q is kept in the ledger and not sent (dialect %s sends it)", r.Dataset, dialect.WithDatasets())
	}
	same, err := t.Client.SameInputs(ctx, r, time.Hour)
	if err != nil || len(same) == 0 {
		return // if the ledger cannot be read, the launch itself fails
	}
	last, billed := same[0], "billed a second time"
	if !last.State.Started() {
		billed = "billed a second time if that one started"
	}
	t.app.say("zonedeck: the same inputs were launched at %s as %s (%s); this is a second job, %s",
		last.Created.Local().Format(time.DateTime), last.ID, last.State.Label(), billed)
}

// readInputs reads and checks the rows; every bad row is named.
func (t *task) readInputs(name string) ([]model.JobInput, error) {
	r, kind := t.app.Stdin, ""
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage("read the inputs: %w", err)
		}
		defer f.Close()
		r, kind = f, strings.TrimPrefix(filepath.Ext(name), ".")
	}
	inputs, problems, err := rows.ReadInputs(r, kind)
	if err != nil {
		return nil, usage("inputs %s: %w", name, err)
	}
	bad := 0
	for _, p := range problems {
		where := name
		if p.Row > 0 {
			where = fmt.Sprintf("%s, row %d", name, p.Row)
		}
		if p.Warning {
			t.app.say("zonedeck: note: inputs %s: %s", where, sanitizeLine(p.Text))
			continue
		}
		t.app.warn("inputs %s: %s", where, sanitizeLine(p.Text))
		bad += p.Rows()
	}
	if bad > 0 {
		return nil, usage("%s of %s cannot be used; nothing was sent", text.Counted(bad, "row"), name)
	}
	if len(inputs) == 0 {
		return nil, usage("%s holds no inputs; nothing was sent", name)
	}
	return inputs, nil
}

func (a *app) jobsWatchCommand() *cobra.Command {
	var timeout durationFlag
	var asJSON bool
	var reason string
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow a job until it is ready or has failed",
		Args:  oneArg("the job to watch, as 'zonedeck jobs list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{jobs: true, reason: reason}, func(t *task) error {
				if err := t.ledger(cmd.Context()); err != nil {
					return err
				}
				return t.watch(cmd.Context(), args[0], timeout.d, asJSON)
			})
		},
	}
	adminFlag(cmd, &reason)
	cmd.Flags().Var(&timeout, "timeout", "how long to watch; exit 20 if the job is still running then")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) watch(ctx context.Context, id string, timeout time.Duration, asJSON bool) error {
	switch job, err := t.knownJob(ctx, id, ""); {
	case err != nil:
		return jobError(ctx, err)
	case job.Snapshot == "":
		// The service cannot be asked about it; only the ledger knows anything.
		return t.reportJob(job, asJSON)
	}
	watchCtx := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		watchCtx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	last := ""
	job, err := t.Client.Watch(watchCtx, id, func(j model.Job) {
		if line := progressLine(j); line != last {
			t.app.say("zonedeck: %s", line)
			last = line
		}
	})
	switch {
	case err == nil:
		return t.reportJob(job, asJSON)
	case ctx.Err() == nil && errors.Is(watchCtx.Err(), context.DeadlineExceeded):
		if job, err = t.Client.Job(ctx, id); err != nil {
			return jobError(ctx, err)
		}
		t.app.warn("job %s still runs; 'zonedeck jobs watch %s' follows it further", id, id)
		if err := t.printJob(job, asJSON); err != nil {
			return err
		}
		return exit(exitStillRunning)
	case ctx.Err() != nil:
		// The identifier is what a script needs to go on with the job.
		if job, err := t.Client.Job(context.WithoutCancel(ctx), id); err == nil {
			if err := t.printJob(job, asJSON); err != nil {
				return err
			}
		}
		return fail(exitInterrupted, "interrupted; job %s goes on at the service: 'zonedeck jobs watch %s' follows it", id, id)
	default:
		return t.failedJob(ctx, job, err, asJSON)
	}
}

// failedJob ends a command about a job that did not succeed: it prints the verdict,
// and with --json the job that has it.
func (t *task) failedJob(ctx context.Context, job model.Job, err error, asJSON bool) error {
	var fault *jobs.DiagnosisError
	if errors.As(err, &fault) && job.Fault.Any() {
		t.sayWhy(job.Fault.Diagnosis, job.KeyName)
		if asJSON {
			if err := t.printJob(job, true); err != nil {
				return err
			}
		}
	}
	return jobError(ctx, err)
}

// ledger makes sure that the ledger is readable, and settles the jobs that were
// being launched when an earlier process died.
func (t *task) ledger(ctx context.Context) error {
	if t.LedgerFault != nil {
		return fail(exitState, "the ledger of jobs cannot be read: %w", t.LedgerFault)
	}
	settled, err := t.Client.Recover(ctx)
	if err != nil {
		return fail(exitState, "read the ledger: %w", err)
	}
	for _, j := range settled {
		t.app.say("zonedeck: %s: %s: %s", j.ID, j.State.Label(), sanitizeLine(j.Detail))
	}
	return nil
}

func progressLine(j model.Job) string {
	line := fmt.Sprintf("%s  %s", sanitizeLine(j.Snapshot), j.State.Label())
	if j.Done >= 0 && j.Inputs > 0 {
		line += fmt.Sprintf("  %d of %d inputs", j.Done, j.Inputs)
	}
	if j.Records >= 0 {
		line += fmt.Sprintf("  %d records", j.Records)
	}
	return line
}

// printJob prints the job on stdout: its identifier, or the JSON object.
func (t *task) printJob(j model.Job, asJSON bool) error {
	if asJSON {
		out := newJobJSON(j)
		out.SchemaVersion = schemaVersion
		return t.app.printJSON(out)
	}
	if _, err := fmt.Fprintln(t.app.Stdout, j.ID); err != nil {
		return fail(exitState, "write the identifier %s: %w", j.ID, err)
	}
	return nil
}

// reportJob prints the job and returns the exit code of its state.
func (t *task) reportJob(j model.Job, asJSON bool) error {
	if err := t.printJob(j, asJSON); err != nil {
		return err
	}
	code, line := jobExit(j), j.State.Label()
	if j.Detail != "" {
		line += ": " + sanitizeLine(j.Detail)
	}
	t.app.verdict(code, line)
	if d := j.Fault.Diagnosis; j.Fault.Any() {
		t.app.say("zonedeck: %s: %s", model.ClassWord(d.Class, d.Cause), sanitizeLine(d.Summary))
		t.sayWhy(d, j.KeyName)
		if at, ok := j.Fault.RetryAt(); ok {
			t.app.say("zonedeck: try again at %s", at.Local().Format(time.DateTime))
		}
	}
	if j.State == model.JobMayHave {
		t.app.say("zonedeck: 'zonedeck jobs resolve %s' looks for it in the service's list of jobs", j.ID)
	}
	if j.State == model.JobReady && j.Records >= 0 && j.Records < j.Inputs {
		t.app.say("zonedeck: %d records from %d inputs: some inputs returned none", j.Records, j.Inputs)
	}
	return exit(code)
}

func (a *app) jobsListCommand() *cobra.Command {
	var asJSON bool
	var limit int
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the jobs of the ledger, newest first, or those that the service lists",
		Long: `Lists the jobs of the ledger, newest first. With --remote it asks the service in place of it, whoever
started them: one call for each data set of --dataset or, without it, for each that the ledger's jobs
of this profile name. Nothing is written to the ledger: 'zonedeck jobs adopt' does that.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := remote.check(limit); err != nil {
				return err
			}
			return a.withSession(cmd.Context(), needs{key: remote.key, jobs: true, reason: remote.reason}, func(t *task) error {
				if err := t.ledger(cmd.Context()); err != nil {
					return err
				}
				if remote.remote {
					return t.listRemoteJobs(cmd.Context(), remote, limit, asJSON)
				}
				return t.listJobs(cmd.Context(), limit, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().IntVar(&limit, "limit", 1000, "how many of the newest jobs; 0 for all")
	remote.add(cmd)
	return cmd
}

func (t *task) listJobs(ctx context.Context, limit int, asJSON bool) error {
	if limit < 0 {
		return usage("--limit %d: give a number of jobs, or 0 for all", limit)
	}
	jobs, total, err := t.Client.Jobs(ctx, limit)
	if err != nil {
		return fail(exitState, "read the ledger: %w", err)
	}
	if len(jobs) < total {
		t.app.say("zonedeck: the %d newest of %d jobs; --limit 0 lists all", len(jobs), total)
	}
	if asJSON {
		out := make([]jobJSON, 0, len(jobs))
		for _, j := range jobs {
			out = append(out, newJobJSON(j))
		}
		return t.app.printJSON(struct {
			SchemaVersion int       `json:"schema_version"`
			Total         int       `json:"total"`
			Jobs          []jobJSON `json:"jobs"`
		}{schemaVersion, total, out})
	}
	if len(jobs) == 0 {
		t.app.say("zonedeck: the ledger holds no jobs")
		return nil
	}
	rows := [][]string{{"STATE", "ID", "SNAPSHOT", "DATASET", "INPUTS", "RECORDS", "CREATED", "KEY", "PROFILE"}}
	for _, j := range jobs {
		records := "-"
		if j.Records >= 0 {
			records = fmt.Sprint(j.Records)
		}
		rows = append(rows, []string{
			j.State.Label(), j.ID, cmp.Or(j.Snapshot, "-"), j.Dataset, fmt.Sprint(j.Inputs), records,
			j.Created.Local().Format(time.DateTime), cmp.Or(j.KeyName, "-"), j.Profile,
		})
	}
	return printColumns(t.app.Stdout, rows)
}

func (a *app) jobsDownloadCommand() *cobra.Command {
	var output, format, reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "download ID -o FILE",
		Short: "Download a job's results",
		Args:  oneArg("the job to download, as 'zonedeck jobs list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usage("-o is missing: name the file to write")
			}
			dest, err := a.destination(output)
			if err != nil {
				return err
			}
			if dest.stream != nil && asJSON {
				return usage("-o %s and --json both want standard output: name a file, or leave one out", output)
			}
			return a.withSession(cmd.Context(), needs{jobs: true, reason: reason}, func(t *task) error {
				return t.download(cmd.Context(), args[0], format, dest, asJSON)
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write, or - for standard output (required)")
	adminFlag(cmd, &reason)
	cmd.Flags().StringVar(&format, "format", "json", "json, ndjson or csv")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// download fetches the results. Results for standard output are also kept in the
// downloads folder, so that a broken stream can be read again.
func (t *task) download(ctx context.Context, id, format string, dest destination, asJSON bool) error {
	if err := t.ledger(ctx); err != nil {
		return err
	}
	if _, err := t.knownJob(ctx, id, ""); err != nil {
		return jobError(ctx, err)
	}
	job, err := t.Client.Download(ctx, id, format, dest.name, nil)
	if errors.Is(err, jobs.ErrNoSnapshot) {
		if job, jerr := t.Client.Job(ctx, id); jerr == nil {
			return fail(jobExit(job), "%w", err)
		}
	}
	if err != nil {
		return t.failedJob(ctx, job, err, asJSON)
	}
	if dest.stream != nil {
		if err := dest.write(model.BodyRef{File: job.File}); err != nil {
			return err
		}
	}
	t.app.say("zonedeck: %d bytes in %s", job.Bytes, job.File)
	t.sayRows(job)
	if asJSON {
		return t.printJob(job, true)
	}
	return nil
}
