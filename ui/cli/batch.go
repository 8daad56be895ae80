package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/fetch"
	"zonedeck/service/rows"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

type batchFlags struct {
	askFlags
	Zone string `flag:"zone" takes:"zone" help:"zone to use (required)"`
	Via  string `flag:"via" takes:"api|native" default:"api" help:"access method: api or native"`
	requestSource
	URL     string      `flag:"url" help:"URL to fetch for a row, with its columns as {{name}} (default: the row's url)"`
	Column  string      `flag:"column" help:"column that holds the URLs (default: the one that looks like URLs)"`
	Kind    string      `flag:"from" takes:"lines|csv|json|ndjson" help:"how to read the input: lines, csv, json or ndjson (default: what it looks like)"`
	Session string      `flag:"session" help:"session that keeps an exit (not shown by the contract)"`
	AtOnce  int         `flag:"at-once" help:"fetches in flight at once (default: as many as the product allows)"`
	Rate    string      `flag:"rate" help:"items begun in a second, such as 20/s (default: no bound)"`
	MaxCost dollarsFlag `flag:"max-cost" help:"dollars that the batch never passes, such as 5 or $5"`
	Once    string      `flag:"once" help:"a name that the profile uses once: a second call goes on with that batch, and begins none"`
	Body    int         `flag:"max-body" default:"10" help:"megabytes after which a body is cut"`
	Rules   []string    `flag:"rule" help:"another zone for a host or an item that fails: 'captcha x2 -> zone=ZONE,host', or ',item' (repeatable)"`
	SkipBad bool        `flag:"skip-bad" help:"leave out rows that cannot be used, instead of refusing the input"`
	DryRun  bool        `flag:"dry-run" help:"read and check the input, say what it comes to, and send nothing"`
	Given   givenFlags  `flag:"*"`
}

// batchCommands make the commands below batch.
type batchCommands struct{ *app }

func (a *app) batchCommand() *cobra.Command {
	cmd := command(a, spec[batchFlags]{
		use:   "batch FILE",
		short: "Fetch a page for each row of a file, within a cap, and go on after anything",
		long: `Reads addresses, one a line, or a table (CSV), JSON or NDJSON, from FILE or, for
-, from standard input, and fetches a page for each row through a zone. Columns
stand in --url, -H and -d as {{name}}. Rows that ask for the same are fetched
once.

--template, --curl, --saved, --har and --fetch give the whole request, with columns as
{{name}} in its URL, headers and body; flags beside them win. If it has no column
at all, the rows' addresses take the place of its own. Secrets in it have to be
variables of the profile with a reference.

All rows are checked before anything is sent: --dry-run stops there. What comes
is on disk at once. ctrl+c, a kill or a crash lose no result; 'zonedeck batch
resume' goes on. A page that was asked for and had not come when the process
died is asked for again, and counted; with a method other than GET and HEAD it
waits for 'zonedeck batch lost'.

With --rule another zone takes over a host, or an item, once so many of its
results are of a class; what is in flight then is sent again through it. A later
rule counts what came through the zone of an earlier one.

With --max-cost the batch stops before a fetch could pass it. A try costs at most
what the dearest zone's rate says for a body of --max-body.

The exit code is the highest of its items' (0 if all are ok), 20 if it is not
done, 25 if a full disk or a database that is gone ended it, 29 if it stopped at
its cap.`,
		defaults: batchFlags{askFlags: askFlags{Retries: -1}},
		run: func(ctx context.Context, t *task, f batchFlags, args []string) (printed, error) {
			return t.batch(ctx, args[0], f)
		},
	})
	b := batchCommands{a}
	cmd.AddCommand(b.probe(), b.list(), b.show(), b.resume(), b.pause(), b.set(),
		b.unanswered(), b.results(), b.bodies(), b.body(), b.retry(), b.report(), b.remove())
	return cmd
}

// batch plans a batch and runs it.
func (t *task) batch(ctx context.Context, name string, f batchFlags) (printed, error) {
	example, err := t.fillTemplate(ctx, &f)
	if err != nil {
		return printed{}, err
	}
	draft, err := f.draftOf(name)
	if err != nil {
		return printed{}, err
	}
	draft.Example = example
	known, err := t.templateKnown(ctx, f.askFlags, draft.Request.Via)
	if err != nil {
		return printed{}, err
	}
	in, err := t.app.open(ctx, name)
	if err != nil {
		return printed{}, usage("%w", err)
	}
	defer in.Close()
	draft.Input.Source = in
	read, line := t.countRows()
	report, err := t.Batches.Check(ctx, known, draft, read)
	line.stop()
	if once := (*batch.OnceError)(nil); errors.As(err, &once) {
		t.app.say("zonedeck: %s", sanitizeLine(once.Error()))
		if f.DryRun {
			return t.batchPrinted(once.State), nil
		}
		return t.runBatch(ctx, once.State, f.jsonFlag)
	}
	if err != nil {
		return printed{}, batchError(ctx, err)
	}
	t.sayNotes(append(report.Notes, report.Problems...))
	if f.DryRun {
		return batchPlan(report), t.Batches.Discard(report)
	}
	s, err := t.Batches.Start(ctx, report)
	if once := (*batch.OnceError)(nil); errors.As(err, &once) {
		s, err = once.State, nil
	}
	if err != nil {
		return printed{}, batchError(ctx, err)
	}
	return t.runBatch(ctx, s, f.jsonFlag)
}

// fillTemplate fills flags that were not given from the request that the flags name, if they do. It reports whether the
// address is that request's.
func (t *task) fillTemplate(ctx context.Context, f *batchFlags) (address bool, err error) {
	r := composedFlags{askFlags: f.askFlags, Zone: f.Zone, Via: f.Via, Session: f.Session, requestSource: f.requestSource}
	was := f.URL
	err = t.compose(ctx, f.Given.has, &f.URL, &r, true)
	f.askFlags, f.Zone, f.Via, f.Session = r.askFlags, r.Zone, r.Via, r.Session
	return f.URL != was, err
}

// templateKnown is what the template of many fetches is checked by, where they go by these access methods.
func (t *task) templateKnown(ctx context.Context, f askFlags, ways ...model.Via) (known fetch.Known, err error) {
	p, err := t.Profile(ctx)
	if err != nil {
		return known, fail(exitState, "%w", err)
	}
	values, err := f.values()
	if err != nil {
		return known, usage("%w", err)
	}
	known = t.Known(p)
	known.Keys, known.Variables = flagKeys{p, t}, flagVariables{values, t}
	if slices.Contains(ways, model.ViaAPI) {
		if _, err := known.Keys.Pick(f.Key); err != nil {
			return known, usage("%w", err)
		}
		t.Keys.Warn(f.Key, model.CapUse)
	}
	return known, nil
}

// draftOf is the draft of the flags. Its error names their mistakes.
func (f batchFlags) draftOf(name string) (batch.Draft, error) {
	var wrong []error
	via, err := model.ParseVia(f.Via)
	if err != nil {
		wrong = append(wrong, fmt.Errorf("--via %w", err))
	}
	if f.Zone == "" {
		wrong = append(wrong, errors.New("--zone is missing: name the zone to use"))
	}
	d := batch.Draft{Draft: f.draft(f.URL), Once: f.Once, Rules: f.Rules, AtOnce: f.AtOnce, Cap: f.MaxCost.dollars, SkipBad: f.SkipBad}
	d.Request.Zone.Name, d.Request.Via, d.Request.Session = model.ZoneName(f.Zone), via, f.Session
	d.Request.BodyLimit = int64(f.Body) * 1_000_000
	if f.Body < 1 {
		wrong = append(wrong, fmt.Errorf("--max-body %d: write a number of megabytes from 1 to %d", f.Body, batch.MostBody/1_000_000))
	}
	if err := batch.CheckAtOnce(f.AtOnce); err != nil {
		wrong = append(wrong, fmt.Errorf("--at-once %w", err))
	}
	if d.Rate, err = batch.ParseRate(f.Rate); err != nil {
		wrong = append(wrong, fmt.Errorf("--rate %w", err))
	}
	if f.Kind != "" && !slices.Contains(rows.InputKinds(), f.Kind) {
		wrong = append(wrong, fmt.Errorf("--from %q: write one of %s", model.Cut(f.Kind, 20), strings.Join(rows.InputKinds(), ", ")))
	}
	d.Input = fetch.NewInput(nil, name, f.Kind, f.Column)
	if name != "-" {
		d.Input.Path, err = filepath.Abs(name)
		wrong = append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return d, usage("%w", err)
	}
	return d, nil
}

// countRows gives what counts the rows of an input, and shows how many there are until it is stopped.
func (t *task) countRows() (read *atomic.Int64, line *waitLine) {
	read = new(atomic.Int64)
	return read, t.app.wait(func(time.Duration) string {
		return fmt.Sprintf("zonedeck: %s read  (ctrl+c cancels)", model.Counted(read.Load(), "row"))
	})
}

// sayNotes says what was remarked on the rows of an input.
func (t *task) sayNotes(notes []rows.Problem) {
	for _, note := range notes {
		t.app.say("zonedeck: %s", sanitizeLine(strings.TrimPrefix(note.Location()+": "+note.Text, ": ")))
	}
}

// batchPlan is what a draft comes to.
func batchPlan(r batch.Report) printed {
	facts := [][]string{{"items", fmt.Sprint(r.Planned.Items)}}
	if r.Planned.Duplicates > 0 {
		facts = append(facts, []string{"duplicates", fmt.Sprintf("%d, fetched once", r.Planned.Duplicates)})
	}
	if r.Bad > 0 {
		facts = append(facts, []string{"bad rows", fmt.Sprintf("%d, left out", r.Bad)})
	}
	facts = append(facts, []string{"cost", r.CostWords()})
	for _, term := range r.Terms() {
		facts = append(facts, []string{term[0], sanitizeLine(term[1])})
	}
	for i, of := range r.First {
		facts = append(facts, []string{fmt.Sprintf("request %d", i+1), sanitizeLine(cmp.Or(of.Method, "GET") + " " + of.URL)})
	}
	return printed{object: view.NewBatchPlan(r), rows: facts, note: "nothing was sent"}
}

// runBatch works on a batch, or watches it, until it is over. For --json it writes the results into the batch's folder then.
func (t *task) runBatch(ctx context.Context, s batch.State, f jsonFlag) (printed, error) {
	out, err := t.workOnBatch(ctx, s)
	of, is := out.object.(view.Batch)
	if !is || !f.JSON || of.Done == 0 || ctx.Err() != nil {
		return out, err
	}
	path := filepath.Join(t.Batches.Folder(of.ID), resultsFile)
	fault := t.writeResults(ctx, of.ID, destination{name: path, file: path}, true, "")
	if fault == nil {
		of.Results = &path
	}
	out.object = of
	return out.withError(cmp.Or(err, fault))
}

// workOnBatch works on a batch, or watches it, until it is over.
func (t *task) workOnBatch(ctx context.Context, s batch.State) (printed, error) {
	if s.State == store.Done || s.State == store.Held {
		return t.batchPrinted(s), nil
	}
	var mu sync.Mutex
	var meter batch.Meter
	now := meter.See(s, time.Now())
	line := t.app.wait(func(time.Duration) string {
		mu.Lock()
		defer mu.Unlock()
		return "zonedeck: " + batchProgress(now)
	})
	t.app.say("zonedeck: %s: %s from %s", s.ID, model.Counted(s.Wanted(), "item"), sanitizeLine(s.Plan.Source))
	end, err := t.Batches.Run(ctx, s.ID, func(s batch.State) {
		mu.Lock()
		defer mu.Unlock()
		if s.Tally.Again > now.Tally.Again {
			line.above(func() {
				t.app.warn("%s when the last run ended: sent again, and perhaps billed twice", batch.MaybeSent(s.Tally.Again-now.Tally.Again))
			})
		}
		now = meter.See(s, time.Now())
	})
	line.stop()
	if s = now.State; end.ID != "" { // it was told to end before it could look
		s = end
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		t.app.say("zonedeck: stopped; '%s' goes on", s.Command("resume"))
		return t.batchPrinted(s).withError(exit(ExitInterrupted))
	case end.ID == "":
		return printed{}, batchError(ctx, err)
	default:
		return t.batchPrinted(s).withError(batchError(ctx, err))
	}
	return t.batchPrinted(s), nil
}

// batchProgress is a line about a batch under way.
func batchProgress(p batch.Progress) string {
	out := fmt.Sprintf("%d of %d", p.Tally.Answered, p.Wanted())
	if p.Tally.Answered > 0 {
		out += "  ok " + batch.Percent(p.Part(p.OK()))
	}
	out += fmt.Sprintf("  %.1f/s", p.Speed)
	if p.Flying > 0 {
		out += fmt.Sprintf("  %d in flight", p.Flying)
	}
	if p.Plan.Price > 0 {
		out += "  " + model.SmallDollars(batch.Dollars(p.Spent))
	}
	if p.Cap > 0 {
		out += " of " + model.SmallDollars(batch.Dollars(p.Cap))
	}
	if left, known := p.ETA(); known {
		out += "  " + text.Duration(left) + " left"
	}
	if out += "  (ctrl+c stops it)"; p.Pace != "" {
		out += "  pace " + sanitizeLine(p.Pace)
	}
	return out
}

// batchPrinted shows a batch with its exit code.
func (t *task) batchPrinted(s batch.State) printed {
	out := printed{object: view.NewBatch(s), rows: batchRows(s, true), code: batchExit(s)}
	if s.State == store.Capped {
		out.note = fmt.Sprintf("'%s --max-cost DOLLARS' raises the cap, and '%s' then goes on", s.Command("set"), s.Command("resume"))
	}
	return out
}

// batchExit is the exit code of a batch.
func batchExit(s batch.State) int {
	switch s.State {
	case store.Capped:
		return exitCapped
	case store.Running, store.Paused, store.Held:
		return exitStillRunning
	}
	code := exitOK
	for v := range s.Tally.Verdicts {
		code = max(code, diagnosisExit(model.Diagnosis{Class: v.Class, Cause: v.Cause}))
	}
	return code
}

// batchRows shows what is known of a batch, as rows of a name and a value; with zones also what came through each.
func batchRows(s batch.State, zones bool) [][]string {
	var facts [][]string
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, []string{name, sanitizeLine(value)})
		}
	}
	add("database", s.OnServer)
	add("batch", s.ID)
	add("name", s.Name)
	add("state", s.Condition())
	add("reason", s.Obstacle())
	if s.Live && s.State == store.Running {
		add("pace", s.Pace)
	}
	add("zone", fmt.Sprintf("%s by %s", s.Plan.Request.Zone.Name, s.Plan.Request.Via))
	add("input", s.Plan.Source)
	add("limits", s.LimitWords())
	add("items", fmt.Sprintf("%d, %d of them with a result, %d left", s.Items, s.Tally.Answered, s.Remaining()))
	if s.Duplicates > 0 {
		add("duplicates", fmt.Sprintf("%d, which have the results of others", s.Duplicates))
	}
	for _, v := range s.Verdicts() {
		n := s.Tally.Verdicts[v]
		add(model.ClassWord(v.Class, v.Cause), fmt.Sprintf("%d  %.1f %%", n, s.Part(n)))
	}
	if s.Tally.Again > 0 {
		add("sent again", batch.MaybeSent(s.Tally.Again))
	}
	for _, rule := range s.RuleWords() {
		add("rule", rule)
	}
	if zones {
		for _, zone := range s.ZoneWords() {
			add("through", zone)
		}
	}
	if s.Tally.Retried > 0 {
		add("retried", fmt.Sprintf("%d, whose result was not good enough", s.Tally.Retried))
	}
	if s.Tally.Dropped > 0 {
		add("dropped", batch.MaybeSent(s.Tally.Dropped)+": not sent again, no result")
	}
	if s.Tally.Unanswered > 0 {
		add("lost", fmt.Sprintf("%s: '%s' shows them", batch.MaybeSent(s.Tally.Unanswered), s.Command("lost")))
	}
	if p50 := s.Tally.Percentile(0.5); p50 >= 0 {
		add("time", fmt.Sprintf("half within %s, 95 %% within %s", text.Duration(p50), text.Duration(s.Tally.Percentile(0.95))))
	}
	add("cost", s.CostWords())
	for _, name := range s.WorstHosts(5) {
		h := s.Tally.Hosts[name]
		main, n := h.Main()
		add("host", fmt.Sprintf("%s: %d ok, %d failed, mostly %s (%d)", name, h.OK, h.Failures(), model.ClassWord(main.Class, main.Cause), n))
	}
	for _, worker := range s.WorkerWords() {
		add("worker", worker)
	}
	return facts
}

// batchError gives an error about a batch its exit code.
func batchError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fail(ExitInterrupted, "interrupted; nothing more was sent")
	case errors.As(err, new(*batch.BadRowsError)), errors.As(err, new(*batch.UnknownError)), errors.As(err, new(*batch.BusyError)), errors.As(err, new(*batch.ProfileError)), errors.As(err, new(*batch.NoBodyError)), errors.As(err, new(*batch.OtherFlagsError)):
		return usage("%w", err)
	case errors.Is(err, batch.ErrDamaged):
		return fail(exitState, "%w: put the file back as it was; until then no result of this batch is read or added", err)
	case errors.As(err, new(*batch.ChangedError)):
		return fail(exitLaunchedBefore, "%w", err)
	case errors.Is(err, model.ErrRequest):
		return fetchError(ctx, err)
	}
	return stateError(ctx, err)
}
