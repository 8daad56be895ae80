package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

func (a *app) jobsShowCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "show JOB",
		short: "Show a job of the ledger: its state, rows, last failure and steps",
		long: `Shows what the ledger knows about a job. Nothing is sent. The rows are those of
the downloaded result: how many are useful, empty or billed, and the error rows
by code and class.`,
		needs: func(jsonFlag) needs { return needs{ledger: true} },
		run: func(ctx context.Context, t *task, _ jsonFlag, args []string) (printed, error) {
			job, err := t.Jobs.Job(ctx, args[0])
			if err != nil {
				return printed{}, jobError(ctx, err)
			}
			return printed{object: view.JobObject{Job: view.NewJob(job)}, rows: t.jobRows(job)}, nil
		},
	})
}

// jobRows shows what the ledger knows of a job, as rows of a name and a value.
func (t *task) jobRows(j model.Job) [][]string {
	facts := [][]string{}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, []string{name, value})
		}
	}
	add("job", j.ID)
	add("state", j.Label())
	add("service", j.Wire)
	add("detail", j.Detail)
	add("data set", j.Dataset)
	for _, name := range j.Names().Labelled() {
		add(name[0], name[1])
	}
	add("profile", j.Profile)
	add("key", j.KeyName)
	add("repeats", j.Repeats)
	add("inputs", fmt.Sprint(j.Inputs))
	if bad := j.Rejected(); bad.Rows > 0 {
		add("bad rows", fmt.Sprintf("%d, kept in %s", bad.Rows, bad.File))
	}
	if j.Records >= 0 && !j.Rows.Counted {
		add("records", fmt.Sprintf("%d, as the service says", j.Records))
	}
	for _, row := range t.rowFacts(j) {
		add(row[0], row[1])
	}
	if j.File != "" {
		gone := ""
		if j.ResultHere() && isGone(j.File) {
			gone = ", which is not there any more"
		}
		add("file", model.FileOn(j.File, j.Rows.Machine)+gone)
		add("size", fmt.Sprintf("%d bytes", j.Bytes))
		add("sha256", j.SHA256)
	}
	if (j.GivenUp() || j.Forgotten()) && !j.Fault.LastAnswer.IsZero() {
		add("last seen", j.Fault.LastAnswer.Local().Format(time.DateTime))
	}
	if d := j.Fault.Diagnosis; j.Fault.Any() {
		add("failed", fmt.Sprintf("%s: %s: %s", j.Fault.Call, model.ClassWord(d.Class, d.Cause), d.Summary))
		for _, e := range d.Evidence {
			add("evidence", e.Text)
		}
		for _, s := range d.Steps {
			add("do next", s.Text)
		}
		if at, ok := j.Fault.RetryAt(); ok {
			add("try again", "at "+at.Local().Format(time.DateTime))
		}
	}
	add("do next", t.wayOn(j))
	if !j.WebhookDue.IsZero() && !j.State.Final() {
		then := ", then the service is asked"
		if j.State == model.JobMayHave {
			then = ": if one comes, it has started"
		}
		add("webhook", "due by "+j.WebhookDue.Local().Format(time.DateTime)+then)
	}
	for _, s := range j.Steps {
		add(s.At.Local().Format(time.DateTime), stepWords(s))
	}
	return facts
}

// stepWords is a step's state and text. If the text begins with the state, it stands alone.
func stepWords(s model.JobStep) string {
	label := s.State.Label()
	if rest, same := strings.CutPrefix(s.Text, label); same && (rest == "" || rest[0] == ' ') {
		return s.Text
	}
	return label + "  " + s.Text
}

// isGone reports whether a file does not exist.
func isGone(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// rowFacts is the account of a result, as rows of a name and a value. Before the rows are counted it
// has at most one row: why they were not, or what was billed.
func (t *task) rowFacts(j model.Job) [][2]string {
	r := j.Rows
	if !r.Counted {
		if r.Problem != "" {
			return [][2]string{{"rows", "not counted: " + r.Problem}}
		}
		if words := j.EndedWords(); words != "" {
			return [][2]string{{"billed", words}}
		}
		return nil
	}
	out := [][2]string{{"rows", fmt.Sprintf("%d returned, %d useful, %s, %d empty", r.Returned, r.Useful, text.Counted(r.Failed(), "error"), r.Empty)}}
	if words := j.LackingWords(); words != "" {
		out = append(out, [2]string{"lacking", fmt.Sprintf("%s; '%s download %s -o FILE --force' asks for all of it again", words, t.jobs(j), j.ID)})
	}
	for _, e := range r.Errors {
		out = append(out, [2]string{"error", fmt.Sprintf("%s: %s, %s: %s", text.Counted(e.Rows, "row"), cmp.Or(e.Code, "no code"), model.ClassWord(e.Class, e.Cause), e.Text)})
	}
	billed := "not known"
	if r.Billed >= 0 {
		billed = text.Counted(r.Billed, "row")
	}
	return append(out, [2]string{"billed", billed}, [2]string{"cost", model.CostWords(r.Cost, r.Priced)})
}

func (a *app) jobsCancelCommand() *cobra.Command {
	return command(a, spec[jobFlags]{
		use:   "cancel JOB",
		short: "Ask the service to stop a job",
		long: `Asks the service to stop a job. What the job has collected so far may be billed.
A cancelled job cannot be resumed.`,
		run: func(ctx context.Context, t *task, _ jobFlags, args []string) (printed, error) {
			if _, err := t.findJob(ctx, args[0], ""); err != nil {
				return printed{}, jobError(ctx, err)
			}
			job, err := t.Jobs.CancelJob(ctx, args[0])
			if err != nil {
				return printed{}, t.failedJob(ctx, job, err)
			}
			t.app.say("zonedeck: job %s: %s", job.ID, job.State.Label())
			return printedJob(job), nil
		},
	})
}
