package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/dialect"
	"zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/ui/cli/session"
	"zonedeck/ui/kit/text"
)

// sameWithin is for how long the same inputs are not launched again without a word.
const sameWithin = time.Hour

type triggerFlags struct {
	launchFlags

	input             string
	columns           []string
	sample            int
	goodRows, preview bool
	rejects, saveList string
	settings          model.JobSettings
	onlyUnlaunched    bool
	authSaid          bool // --auth-header was given
}

func (a *app) jobsTriggerCommand() *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use:   "trigger NAME --input FILE|-|list:NAME",
		Short: "Launch a job for a data set",
		Long: `Launches a job for a data set, named by its identifier or its name ('zonedeck
datasets list').

The inputs are one value per line, CSV with a header, a JSON array or NDJSON.
Every row is checked against the fields of the data set before anything is sent,
and repeated rows are sent once.

The job is written to the ledger before the request is sent. The request is
never resent automatically.

With --wait, all other jobs in flight are followed meanwhile, as by 'zonedeck
jobs watch'.`,
		Args: oneArg("the data set to launch a job for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			for _, n := range []struct {
				flag, of string
				value    int
			}{{"sample", "rows", f.sample}, {"limit", "records", f.settings.LimitTotal}, {"limit-per-input", "records", f.settings.LimitPerInput}} {
				if n.value < 1 && cmd.Flags().Changed(n.flag) {
					return usage("--%s %d: give a number of %s from 1", n.flag, n.value, n.of)
				}
			}
			f.authSaid = cmd.Flags().Changed("auth-header")
			return a.withSession(cmd.Context(), needs{key: f.key, jobs: true, reason: f.reason}, func(t *task) error {
				return t.trigger(cmd.Context(), args[0], f)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (f *triggerFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.input, "input", "", "file with the inputs, - for standard input, or list:NAME for a saved list (required)")
	fl.StringArrayVar(&f.columns, "map", nil, "use a CSV column as this field: COLUMN=FIELD, or COLUMN= to leave it out; other columns are matched by their header (repeatable)")
	fl.IntVar(&f.sample, "sample", 0, "launch only the first N good rows")
	fl.BoolVar(&f.onlyUnlaunched, "only-unlaunched", false, "leave out inputs that jobs of the last hour have, for example after a --sample; needs --again if the inputs of one of these jobs are not known")
	fl.BoolVar(&f.goodRows, "good-rows", false, "launch the good rows and keep the bad ones in a file")
	fl.StringVar(&f.rejects, "rejects", "", "with --good-rows: file for the bad rows (default: a file in the downloads folder)")
	fl.StringVar(&f.saveList, "save-list", "", "save all good rows as a new list of this name")
	fl.StringVar(&f.settings.Discover, "discover", "", "discovery of the data set to find records by")
	fl.IntVar(&f.settings.LimitPerInput, "limit-per-input", 0, "maximum number of records per input")
	fl.IntVar(&f.settings.LimitTotal, "limit", 0, "maximum number of records")
	fl.StringVar(&f.settings.Notify, "notify", "", "address for the service to call when the job has ended; inbox for an address of your 'zonedeck webhook listen'")
	fl.StringVar(&f.settings.Endpoint, "endpoint", "", "address for the service to send the records to; inbox for an address of your 'zonedeck webhook listen'")
	fl.StringVar(&f.settings.Auth, "auth-header", "", "with --notify or --endpoint: reference (env:NAME, keyring:…, file:…, cmd:…) to the secret that is their whole Authorization header (default: what the inbox checks, if only the inbox is called)")
	fl.StringVar(&f.settings.Format, "format", "", "with --endpoint: format of the records: "+strings.Join(model.DeliveryFormats(), ", "))
	fl.BoolVar(&f.settings.Plain, "uncompressed", false, "with --endpoint: send the records uncompressed")
	fl.BoolVar(&f.preview, "preview", false, "ask the service for the columns and a sample of a deep lookup; launch nothing")
	f.addLaunch(cmd)
}

// check refuses flags that are wrong by themselves.
func (f *triggerFlags) check() error {
	switch {
	case f.input == "":
		return usage("--input is missing: name a file, list:NAME, or - for standard input")
	case f.preview && f.dryRun:
		return usage("--preview asks the service and --dry-run sends nothing: give only one of them")
	case f.rejects != "" && !f.goodRows:
		return usage("--rejects needs --good-rows: without it, a bad row stops the launch")
	default:
		return f.checkLaunch()
	}
}

// named is an error about fields of a job with the names of their flags.
func (f *triggerFlags) named(err error) error {
	var wrong *model.RequestError
	if !errors.As(err, &wrong) {
		return err
	}
	flags := map[string]string{
		"inputs": "--input", "discover": "--discover", "limit": "--limit", "limit_total": "--limit", "limit_per_input": "--limit-per-input",
		"notify": "--notify", "endpoint": "--endpoint", "format": "--format", "auth_header": "--auth-header", "key": "--key",
	}
	if f.maxCost.dollars > 0 { // else it is the profile's
		flags["max_cost"] = "--max-cost"
	}
	out := &model.RequestError{}
	for _, p := range wrong.Problems {
		p.Field = cmp.Or(flags[p.Field], p.Field)
		out.Problems = append(out.Problems, p)
	}
	return out
}

// columnMap reads --map.
func (f *triggerFlags) columnMap() (map[string]string, error) {
	out := map[string]string{}
	for _, s := range f.columns {
		name, field, ok := strings.Cut(s, "=")
		if _, twice := out[name]; !ok || name == "" || twice {
			return nil, usage("--map %s: write COLUMN=FIELD, each column once", rows.Quote(s))
		}
		out[name] = field
	}
	return out, nil
}

func (t *task) trigger(ctx context.Context, name string, f triggerFlags) error {
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
	id, many, shape, err := t.shapeOf(ctx, d, name, f)
	if err != nil {
		return err
	}
	in, err := t.readInputs(ctx, f, shape)
	if err == nil {
		t.fillAuth(&f)
		err = t.fillHooks(ctx, &f.settings)
	}
	if err != nil {
		return err
	}
	r := model.TriggerRequest{Dataset: id, Inputs: in.Rows, Key: f.key, Settings: f.settings, Many: many, MaxCost: f.maxCost.dollars}
	if f.onlyUnlaunched {
		if err := t.leaveOut(ctx, &r, f.again); err != nil {
			return err
		}
	}
	of := len(r.Inputs)
	r.Inputs = rows.Sample(r.Inputs, f.sample)
	if !d.Sends().Dataset && id != "" {
		t.app.say("zonedeck: the contract does not show how to name a data set: %q is kept in the ledger, but not sent (dialect %s sends it)", id, dialect.WithDatasets())
	}
	estimate, err := t.Client.Check(ctx, r)
	if err != nil {
		return triggerError(ctx, model.Job{}, f.named(err))
	}
	if len(r.Inputs) < of {
		left := ""
		if f.onlyUnlaunched {
			left = " that are left"
		}
		t.app.say("zonedeck: a sample: %d of %d good rows%s", len(r.Inputs), of, left)
	}
	t.app.say("zonedeck: %s of %s: %s", text.Counted(len(r.Inputs), "input"), id, sanitizeLine(estimate.String()))
	if f.preview {
		return t.preview(ctx, d, r, f.json)
	}
	if err := t.checkLists(f, in); err != nil {
		return err
	}
	if f.dryRun {
		return t.dryRun(ctx, r, in, estimate, f.json)
	}
	if r.Guard, err = t.allowAgain(ctx, r, f); err != nil {
		return err
	}
	if r.Rejected, err = t.keepLists(f, in); err != nil {
		return err
	}
	job, err := t.Client.Trigger(ctx, r)
	if err != nil {
		return triggerError(ctx, job, f.named(err))
	}
	return t.launched(ctx, job, f.launchFlags)
}

// fillAuth has the service send along what the inbox checks, where webhooks come to it alone: without
// that they would be rejected.
func (t *task) fillAuth(f *triggerFlags) {
	s := &f.settings
	ref := t.HookAuth()
	if f.authSaid || ref == "" || !s.CallsInboxAlone() {
		return
	}
	s.Auth = ref
	t.app.say("zonedeck: webhooks carry %s, so that the inbox can verify them (--auth-header '' sends none)", sanitizeLine(keystore.Ref(ref).Label()))
}

// shapeOf finds the data set and what its inputs are. Where the dialect does not send its name,
// it is the operator's own. many is that of its method.
func (t *task) shapeOf(ctx context.Context, d dialect.Dialect, name string, f triggerFlags) (id string, many bool, shape rows.Shape, err error) {
	shape = rows.Shape{Free: d.Sends().InputFields}
	if shape.Map, err = f.columnMap(); err != nil || !d.Sends().Dataset {
		return name, false, shape, err
	}
	c, l, err := t.Client.Collector(ctx, f.key, name)
	if unknown := (*catalogue.UnknownError)(nil); errors.As(err, &unknown) {
		return "", false, shape, usage("%s; nothing was sent", unknownWords(unknown))
	}
	if err != nil {
		return "", false, shape, jobError(ctx, err)
	}
	switch {
	case l.None():
		t.app.say("zonedeck: the fields of %s are not known; the service's list: %s", c.ID, sanitizeLine(l.Problem))
	case l.Problem != "":
		t.app.say("zonedeck: the fields are from %s; the service's list: %s", l.Origin(t.Now()), sanitizeLine(l.Problem))
	}
	m, err := c.Method(f.settings.Discover)
	if err != nil {
		return "", false, shape, usage("%s: %s: %s; nothing was sent", strings.TrimSpace("--discover "+sanitizeLine(f.settings.Discover)), c.ID, sanitizeLine(err.Error()))
	}
	if cost := m.Cost(); cost != "" && m.Bound == "" && f.settings.LimitPerInput == 0 && f.settings.LimitTotal == 0 {
		t.app.say("zonedeck: %s: %s (--limit-per-input, --limit)", sanitizeLine(m.Label()), cost)
	}
	shape.Fields, shape.Strict = m.Fields, !l.Builtin()
	return c.ID, m.Many, shape, nil
}

// allowAgain asks whether inputs that were launched within the last hour are launched again.
// Without a terminal only --again says so. The guard refuses what is launched meanwhile.
func (t *task) allowAgain(ctx context.Context, r model.TriggerRequest, f triggerFlags) (*model.LaunchGuard, error) {
	guard := &model.LaunchGuard{Within: sameWithin}
	same, err := t.Client.SameInputs(ctx, r, guard.Within)
	if err == nil && len(same) == 0 {
		launched, err := t.Client.SharedInputs(ctx, r, guard.Within)
		if err != nil {
			t.app.warn("%s", oneLine(err))
		}
		t.sayLaunched(r, launched)
	}
	if err != nil || len(same) == 0 {
		return guard, nil //nolint:nilerr // if the ledger cannot be read, the launch itself fails
	}
	said := sameSaid(same[0], "the same inputs were launched")
	if f.again {
		t.app.say("zonedeck: %s", said)
		return nil, nil //nolint:nilnil // launched in any case
	}
	if !t.app.StdinTTY || t.app.flags.noInput || f.input == "-" {
		return nil, usage("%s; nothing was sent; --again launches it", said)
	}
	for _, j := range same {
		guard.Known = append(guard.Known, j.ID)
	}
	ok, err := t.app.confirmed(false, "zonedeck: "+said+". Launch it?")
	if err == nil && !ok {
		err = fail(exitChecksFailed, "nothing was sent")
	}
	return guard, err
}

// leaveOut takes the inputs out of a launch that jobs of the last hour have. Where a job may have
// any of them, only again launches what no other is known to have.
func (t *task) leaveOut(ctx context.Context, r *model.TriggerRequest, again bool) error {
	launched, err := t.Client.SharedInputs(ctx, *r, sameWithin)
	if err != nil {
		return jobError(ctx, err)
	}
	if names := launched.UnknownNames(); names != "" && !again {
		return usage("--only-unlaunched: the inputs of these jobs of the last hour are not known: %s; any of the %d inputs may be among them; nothing was sent; "+
			"remove by hand what they have and launch the rest without --only-unlaunched, or add --again to launch what no other job has", names, len(r.Inputs))
	}
	t.sayEach(launched.Shared, func(s jobs.Shared) string {
		return fmt.Sprintf("%s launched at %s as %s (%s) and left out", s.Words(len(r.Inputs)), s.Job.Created.Local().Format(time.DateTime), s.Job.ID, s.Job.State.Label())
	})
	if r.Inputs = launched.Left(r.Inputs); len(r.Inputs) == 0 {
		return usage("--only-unlaunched: every input was launched within the last hour; nothing was sent")
	}
	return nil
}

// sayLaunched names jobs with some of the inputs, as after a sample the whole list has, and those that may have some.
func (t *task) sayLaunched(r model.TriggerRequest, launched jobs.Launched) {
	t.sayEach(launched.Shared, func(s jobs.Shared) string {
		billed := "billed a second time"
		if !s.Job.State.Started() {
			billed += " if that one started"
		}
		if r.Repeats == "" { // relaunch has no such flag
			billed += "; --only-unlaunched leaves it out"
		}
		return fmt.Sprintf("note: %s launched at %s as %s (%s); what it has, too, is %s",
			s.Words(len(r.Inputs)), s.Job.Created.Local().Format(time.DateTime), s.Job.ID, s.Job.State.Label(), billed)
	})
	if names := launched.UnknownNames(); names != "" {
		t.app.say("zonedeck: note: the inputs of these jobs of the last hour are not known: %s; any of these among them is billed a second time", names)
	}
}

// maxSharedSaid is how many jobs with some of the inputs are named.
const maxSharedSaid = 10

func (t *task) sayEach(shared []jobs.Shared, words func(jobs.Shared) string) {
	for _, s := range shared[:min(len(shared), maxSharedSaid)] {
		t.app.say("zonedeck: %s", words(s))
	}
	if more := len(shared) - maxSharedSaid; more > 0 {
		t.app.say("zonedeck: %s with some of the inputs", text.Counted(more, "more job"))
	}
}

// sameSaid says what was launched before.
func sameSaid(last model.Job, launched string) string {
	billed := "billed a second time"
	if !last.State.Started() {
		billed = "billed a second time if that one started"
	}
	return fmt.Sprintf("%s at %s as %s (%s); this is a second job, %s",
		launched, last.Created.Local().Format(time.DateTime), last.ID, last.State.Label(), billed)
}

// openInputs opens a file, a saved list or, for "-", standard input. kind is the ending of the file's name, "" for
// standard input.
func (t *task) openInputs(ctx context.Context, input string) (file io.ReadCloser, kind, name string, err error) {
	if list, saved := strings.CutPrefix(input, session.ListPrefix); saved {
		f, err := t.OpenList(list)
		if err != nil {
			return nil, "", "", err
		}
		return f, strings.TrimPrefix(filepath.Ext(f.Name()), "."), f.Name(), nil
	}
	if file, err = t.app.open(ctx, input); err != nil || input == "-" {
		return file, "", "standard input", err
	}
	return file, strings.TrimPrefix(filepath.Ext(input), "."), input, nil
}

// readInputs reads and checks the rows; every bad row is named.
func (t *task) readInputs(ctx context.Context, f triggerFlags, shape rows.Shape) (rows.Inputs, error) {
	file, kind, name, err := t.openInputs(ctx, f.input)
	if err != nil {
		return rows.Inputs{}, usage("--input: %w", err)
	}
	defer file.Close()
	in, err := rows.Read(file, kind, shape)
	if ctx.Err() != nil {
		return in, fail(exitInterrupted, "interrupted; nothing was sent")
	}
	if column := (*rows.ColumnError)(nil); errors.As(err, &column) {
		return in, usage("--input %s: %w; --map COLUMN=%s names one", name, err, column.Missing[0])
	}
	if err != nil {
		return in, usage("--input %s: %w", name, err)
	}
	t.sayInputs(name, in)
	switch {
	case in.Bad > 0 && len(in.Rows) == 0:
		return in, usage("%s of %s cannot be used and none is good; nothing was sent", text.Counted(in.Bad, "row"), name)
	case in.Bad > 0 && !f.goodRows:
		return in, usage("%s of %s cannot be used; nothing was sent; --good-rows launches %s and keeps the others in a file", text.Counted(in.Bad, "row"), name, text.Counted(len(in.Rows), "good row"))
	case len(in.Rows) == 0:
		return in, usage("%s holds no inputs; nothing was sent", name)
	}
	return in, nil
}

// sayInputs says what was found in the rows.
func (t *task) sayInputs(name string, in rows.Inputs) {
	for _, p := range in.Problems {
		where := name
		if at := p.Where(); at != "" {
			where += ", " + sanitizeLine(at)
		}
		if p.Warning {
			t.app.say("zonedeck: note: inputs %s: %s", where, sanitizeLine(p.Text))
			continue
		}
		t.app.warn("inputs %s: %s", where, sanitizeLine(p.Text))
	}
	if in.Folded > 0 {
		t.app.say("zonedeck: %s: %s folded, because each input is sent once", name, text.Counted(in.Folded, "repeated row"))
	}
}

// checkLists fails where keepLists would because of the files that are there. It writes nothing.
func (t *task) checkLists(f triggerFlags, in rows.Inputs) error {
	if in.Bad > 0 {
		if err := t.CheckRejects(f.rejects, in); err != nil {
			return rejectsError(err)
		}
	}
	if f.saveList == "" {
		return nil
	}
	path, err := t.Paths.ListFile(f.saveList)
	if err != nil {
		return usage("--save-list: %w", err)
	}
	if err := t.CheckList(f.saveList, in.Rows); err != nil {
		return listError(err, path)
	}
	return nil
}

func rejectsError(err error) error {
	return fail(exitState, "the bad rows could not be kept, so nothing was sent: %w", err)
}

func listError(err error, path string) error {
	if errors.Is(err, os.ErrExist) {
		return usage("--save-list: %w; nothing was sent; choose another name, or remove %s", err, path)
	}
	return fail(exitState, "the list could not be saved, so nothing was sent: %w", err)
}

// keepLists keeps the bad rows and, if it is asked for, the good ones, before anything is sent.
func (t *task) keepLists(f triggerFlags, in rows.Inputs) (bad model.JobRejected, err error) {
	if in.Bad > 0 {
		path, err := t.KeepRejects(f.rejects, in)
		if err != nil {
			return bad, rejectsError(err)
		}
		t.app.say("zonedeck: %s kept in %s", text.Counted(in.Bad, "bad row"), path)
		if abs, err := filepath.Abs(path); err == nil { // the ledger is read from other folders
			path = abs
		}
		bad = model.JobRejected{Rows: in.Bad, File: path}
	}
	if f.saveList == "" {
		return bad, nil
	}
	path, err := t.Paths.ListFile(f.saveList)
	if err != nil {
		return bad, usage("--save-list: %w", err)
	}
	if err := t.SaveList(f.saveList, in.Rows); err != nil {
		return bad, listError(err, path)
	}
	t.app.say("zonedeck: %s saved in %s", text.Counted(len(in.Rows), "input"), path)
	return bad, nil
}
