package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/batch"
	"zonedeck/service/catalogue"
	"zonedeck/service/inbox"
	"zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// launchFlags are the flags of every command that launches a job.
type launchFlags struct {
	Key      string       `flag:"key" takes:"key" help:"key of the inventory to use"`
	MaxCost  dollarsFlag  `flag:"max-cost" help:"refuse the job if the upper end of its estimate is above this many dollars, or unknown; max_job_cost of the profile applies too"`
	Again    bool         `flag:"again" help:"launch it even if a job of the last hour has the same inputs, or an older one that still runs or may have started"`
	DryRun   bool         `flag:"dry-run" help:"check the job, say what it is expected to cost and print its inputs; send nothing"`
	Wait     bool         `flag:"wait" help:"wait until the job is over"`
	Deadline durationFlag `flag:"deadline" alias:"timeout" help:"with --wait: stop waiting after this long; exit 20 if the job is still running then"`
	reasonFlag
	jsonFlag
}

func (f launchFlags) needs() needs { return needs{key: f.Key, jobs: true, reason: f.Reason} }

// checkLaunch refuses launchFlags that do not go together.
func (f *launchFlags) checkLaunch() error {
	if f.Deadline.d > 0 && !f.Wait {
		return usage("--deadline needs --wait: without it, nothing is waited for")
	}
	return nil
}

// dollarsFlag is an amount, 0 if none was given. Without zero it refuses 0, because a cap of 0 would be no cap.
type dollarsFlag struct {
	dollars float64
	zero    bool
}

func (d *dollarsFlag) Set(s string) (err error) {
	if d.dollars, err = batch.ParseCap(s); err == nil && d.dollars == 0 && !d.zero {
		return errors.New("0 would be no cap: write an amount in dollars above 0, or leave it out")
	}
	return err
}

func (d *dollarsFlag) String() string {
	if d.dollars == 0 {
		return ""
	}
	return strconv.FormatFloat(d.dollars, 'f', -1, 64)
}

func (d *dollarsFlag) Type() string { return "dollars" }

// launched reports the outcome of a launch, and with --wait follows the job to its end.
func (t *task) launched(ctx context.Context, job model.Job, f launchFlags) error {
	if !f.Wait || job.State.Final() || job.State == model.JobMayHave {
		return t.reportJob(job)
	}
	t.app.say("zonedeck: job %s is %s", job.ID, job.Names().Words())
	return t.watch(ctx, job.ID, f.Deadline.d, false)
}

// check checks a draft, and says what it found and what the job is expected to cost.
func (t *task) check(ctx context.Context, d jobs.Draft, f launchFlags) (jobs.Report, error) {
	d.Wait = f.Wait
	r, err := t.Jobs.Check(ctx, d)
	t.sayReport(r)
	t.Keys.Warn(d.Key, model.CapUse)
	if err != nil {
		return r, t.launchError(ctx, r, model.Job{}, err, f)
	}
	if len(r.Request.Inputs) > 0 {
		t.app.say("zonedeck: %s of %s: %s", text.Counted(len(r.Request.Inputs), "input"), r.Request.Dataset, r.Estimate.String())
	}
	return r, nil
}

// sayReport prints the problems in the rows, and the notes.
func (t *task) sayReport(r jobs.Report) {
	for _, p := range r.Rows.Problems {
		where := r.Source
		if at := p.Location(); at != "" {
			where += ", " + at
		}
		if p.Warning {
			t.app.say("zonedeck: note: inputs %s: %s", where, p.Text)
			continue
		}
		t.app.warn("inputs %s: %s", where, p.Text)
	}
	if r.Rows.Folded > 0 {
		t.app.say("zonedeck: %s: %s folded, because each input is sent once", r.Source, text.Counted(r.Rows.Folded, "repeated row"))
	}
	t.warnOfInbox()
	flags := map[string]string{"limit": " (--max-records-per-input, --max-records)", "auth_header": " (--auth-header '' sends none)"}
	for _, n := range r.Notes {
		switch {
		case n.Warn:
			t.app.warn("%s", n.Text)
		case n.About == "repeated":
			t.app.say("zonedeck: note: %s", n.Text)
		default:
			t.app.say("zonedeck: %s%s", n.Text, flags[n.About])
		}
	}
	for _, f := range r.LeftOut.Facts() {
		words := factAt(f)
		if f.Job.ID != "" {
			words += " and left out"
		}
		t.app.say("zonedeck: %s", words)
	}
}

// factAt says what happened, when, and in which job.
func factAt(f ask.Fact) string {
	if f.Job.ID == "" {
		return f.Text
	}
	return fmt.Sprintf("%s at %s as %s (%s)", f.Text, f.Job.Created.Local().Format(time.DateTime), f.Job.ID, f.Job.State.Label())
}

func factWords(f ask.Fact) string {
	if f.Outcome == "" {
		return factAt(f)
	}
	return factAt(f) + "; " + f.Outcome
}

// questionWords is the text of a question: its newest job for SameInputs, else its own text.
func questionWords(q ask.Question) string {
	if q.Kind == ask.SameInputs {
		return factWords(q.Facts[0])
	}
	return q.Text
}

// answers says how the command line answers each kind of question, and the exit code if it is not answered. COMMAND and
// JOB stand for the start of a job command and the job in question, INPUTS and GOODROWS for what would be launched.
var answers = map[ask.Kind]struct {
	how  string
	exit int
}{
	ask.SameInputs:    {"--again launches it", exitLaunchedBefore},
	ask.UnknownInputs: {"remove by hand what they have and launch the rest without --only-unlaunched, or add --again to launch what no other job has", exitUsage},
	ask.BadRows:       {"--skip-bad launches GOODROWS and keeps the others in a file", exitUsage},
	ask.Unlisted:      {"'zonedeck datasets list' has those that it lists; --unlisted launches it", exitUsage},
	ask.Unsettled:     {"'COMMAND settle JOB' looks for one that may have started; --yes launches it", exitUsage},
	ask.Unmatched:     {"--yes launches INPUTS", exitUsage},
	ask.Lacking:       {"'COMMAND download JOB -o FILE --force' asks for the result again; --yes launches INPUTS", exitUsage},
	ask.Unfitting:     {"--adopt with --yes takes it", exitUsage},
	ask.AdminReason:   {"--admin-reason says why it must be this key", exitUsage},
}

// before ends a launch that launched nothing because of an earlier job. It prints that job always as JSON: a script that was
// to launch it reads what became of it.
func (t *task) before(j model.Job, code int, format string, args ...any) error {
	return cmp.Or(t.app.printJSON(view.JobObject{Job: view.NewJob(j)}), fail(code, format, args...))
}

// unanswered is the error of a command whose question nobody answered.
func (t *task) unanswered(q ask.Question, r jobs.Report) error {
	a := answers[q.Kind]
	n := len(r.Request.Inputs)
	how := strings.NewReplacer("COMMAND", t.jobs(r.Repeated), "JOB", q.About, "INPUTS", text.Counted(n, "input"), "GOODROWS", text.Counted(n, "good row")).Replace(a.how)
	if q.Kind == ask.SameInputs {
		return t.before(q.Facts[0].Job, a.exit, "%s; nothing was sent; %s", questionWords(q), how)
	}
	return fail(cmp.Or(a.exit, exitUsage), "%s; nothing was sent; %s", questionWords(q), how)
}

// terminal asks the person at the terminal, if there is one.
type terminal struct {
	app   *app
	taken bool // standard input carries the inputs, not answers
}

// Ask asks a yes-or-no question or for the passphrase. It asks for the passphrase once in a run.
func (p terminal) Ask(_ context.Context, q ask.Question) (answer ask.Answer, err error) {
	passphrase := q.Kind == ask.Passphrase
	switch {
	case passphrase && !p.app.typed.Empty():
		return ask.Answer{Secret: p.app.typed}, nil
	case !passphrase && (q.Want != ask.YesNo || p.taken), !p.app.StdinTTY, p.app.flags.noInput:
		return answer, &ask.Unanswered{Questions: []ask.Question{q}}
	case passphrase:
		p.app.typed, err = p.app.readSecret(q.Text)
		return ask.Answer{Secret: p.app.typed}, err
	}
	yes, err := p.app.confirmed(false, "zonedeck: "+questionWords(q)+". Launch it?")
	return ask.Answer{Yes: yes}, err
}

// answer answers a report's questions, or only those of the given kinds, by the flags. by is asked for the rest.
func (t *task) answer(ctx context.Context, r jobs.Report, given ask.Answers, by ask.Asker, kinds ...ask.Kind) (ask.Answers, error) {
	questions := r.Questions
	if len(kinds) > 0 {
		questions = slices.DeleteFunc(slices.Clone(questions), func(q ask.Question) bool { return !slices.Contains(kinds, q.Kind) })
	}
	// Running the command says yes to the price and to inputs that other jobs share.
	given = given.Always(ask.Cost).Always(ask.SharedInputs)
	out, err := given.Complete(ctx, by, questions)
	if open, ok := errors.AsType[*ask.Unanswered](err); ok {
		if open.Refused {
			return out, fail(exitChecksFailed, "nothing was sent")
		}
		return out, t.unanswered(open.Questions[0], r)
	}
	return out, err
}

// launch launches the checked job, or with --dry-run prints it.
func (t *task) launch(ctx context.Context, r jobs.Report, given ask.Answers, f launchFlags, stdinTaken bool) error {
	if f.Again {
		given = given.Always(ask.SameInputs).Always(ask.UnknownInputs)
	}
	by := terminal{t.app, stdinTaken}
	if f.DryRun || len(r.Request.Inputs) == 0 {
		if _, err := t.answer(ctx, r, given, ask.Nobody, ask.BadRows, ask.UnknownInputs); err != nil {
			return err
		}
		for _, q := range r.Questions {
			if q.Kind == ask.Unmatched || q.Kind == ask.Lacking {
				t.app.say("zonedeck: %s", questionWords(q))
			}
		}
		return t.dryRun(r)
	}
	given, err := t.answer(ctx, r, given, by)
	if err != nil {
		return err
	}
	for _, q := range r.Questions {
		switch q.Kind {
		case ask.SameInputs, ask.Unmatched, ask.Lacking:
			t.app.say("zonedeck: %s", questionWords(q))
		case ask.SharedInputs, ask.UnknownInputs:
			t.sayFacts(q.Facts, true)
		}
	}
	out, err := t.Jobs.Launch(ctx, r, given)
	for _, n := range out.Notes {
		t.app.say("zonedeck: %s", n.Text)
	}
	if err != nil {
		return t.launchError(ctx, r, out.Job, err, f)
	}
	return t.launched(ctx, out.Job, f)
}

// sayFacts says which jobs have some of the inputs. leavable is false for a repeated job, whose inputs must stay.
func (t *task) sayFacts(facts []ask.Fact, leavable bool) {
	for _, f := range facts {
		line := factWords(f)
		if leavable && f.Job.ID != "" {
			line += "; --only-unlaunched leaves it out"
		}
		t.app.say("zonedeck: note: %s", line)
	}
}

// launchError is the error of a command that launched nothing, or may have.
func (t *task) launchError(ctx context.Context, r jobs.Report, job model.Job, err error, f launchFlags) error {
	var kept *jobs.KeepError
	var unknown *catalogue.UnknownError
	var column *rows.ColumnError
	var wrong *model.RequestError
	var once *jobs.OnceError
	switch open := (*ask.Unanswered)(nil); {
	case errors.As(err, &once) && f.Wait && !f.DryRun:
		t.app.say("zonedeck: %s; nothing was sent", sanitizeLine(once.Error()))
		return cmp.Or(t.watch(ctx, once.Job.ID, f.Deadline.d, false), error(&exitError{})) // the command ends here also with 0
	case errors.As(err, &once):
		code := exitLaunchedBefore
		if jobExit(once.Job) == exitMayHaveStarted {
			code = exitMayHaveStarted
		}
		way := cmp.Or(t.wayOn(once.Job), fmt.Sprintf("'%s watch %s' waits for it and ends with its exit code", t.jobs(once.Job), once.Job.ID))
		return t.before(once.Job, code, "%w; nothing was sent; %s", once, way)
	case errors.As(err, &open):
		return t.unanswered(open.Questions[0], r)
	case errors.As(err, &kept) && kept.IsList && errors.Is(err, os.ErrExist):
		return usage("--save-list: %w; nothing was sent; choose another name, or remove %s", kept.Err, kept.Path)
	case errors.As(err, &kept):
		return fail(exitState, "%w", err)
	case errors.As(err, &unknown):
		return usage("%s; nothing was sent", unknownWords(unknown))
	case errors.As(err, &column):
		return usage("--input %s: %w; --map COLUMN=%s names one", r.Source, column, column.Missing[0])
	case errors.Is(err, jobs.ErrNoRequest):
		return usage("%w", err)
	case errors.Is(err, inbox.ErrNoAddress):
		return usage("%w; nothing was sent", err)
	case ctx.Err() == nil && errors.As(err, &wrong) && slices.Contains(draftFields, wrong.Field()):
		return usage("%w; nothing was sent", f.named(err))
	}
	return triggerError(ctx, job, f.named(err))
}

// draftFields are the fields of a draft that Check refuses by themselves.
var draftFields = []string{"source", "inputs", "columns", "discover", "only_unlaunched", "save_list", "wait", "once"}

// named replaces the fields of a job in an error by the names of their flags.
func (f *launchFlags) named(err error) error {
	var wrong *model.RequestError
	if !errors.As(err, &wrong) {
		return err
	}
	flags := map[string]string{
		"source": "--input", "inputs": "--input", "discover": "--discover", "limit": "--max-records", "limit_total": "--max-records", "limit_per_input": "--max-records-per-input",
		"notify": "--notify", "endpoint": "--endpoint", "format": "--format", "auth_header": "--auth-header", "key": "--key", "only_unlaunched": "--only-unlaunched", "save_list": "--save-list", "wait": "--wait", "once": "--once",
	}
	if f.MaxCost.dollars > 0 { // else the cap is the profile's
		flags["max_cost"] = "--max-cost"
	}
	out := &model.RequestError{}
	for _, p := range wrong.Problems {
		p.Field = cmp.Or(flags[p.Field], p.Field)
		out.Problems = append(out.Problems, p)
	}
	return out
}

// dryRun prints what a launch would send: one input a line, or one JSON object.
func (t *task) dryRun(r jobs.Report) error {
	facts := r.Before.Facts(len(r.Request.Inputs))
	for _, f := range facts[:len(r.Before.SameInputs)] {
		t.app.say("zonedeck: %s", factWords(f))
	}
	t.sayFacts(facts[len(r.Before.SameInputs):], r.Repeated.ID == "")
	t.app.say("zonedeck: nothing was sent")
	plan := view.NewJobPlan(r)
	return t.printLines(plan, plan.Rows, "the inputs")
}

// printLines prints an object or, without --json, its rows, one line of JSON each.
func (t *task) printLines(object any, rows []json.RawMessage, what string) error {
	if t.app.json {
		return t.app.printJSON(object)
	}
	for _, row := range rows {
		if err := t.app.encode(what, func(w io.Writer) error {
			_, err := w.Write(append(view.Visible(row), '\n'))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
