package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/config"
	"zonedeck/service/filter"
	"zonedeck/service/records"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// rowsFlags say which rows of a result are written, and how.
type rowsFlags struct {
	Filter     string   `flag:"filter" help:"write only the rows that match this filter"`
	JQ         string   `flag:"jq" help:"write only the rows for which this jq expression gives anything but false and null"`
	Sort       string   `flag:"sort" help:"column to sort by"`
	Desc       bool     `flag:"desc" help:"with --sort: largest first"`
	Columns    nameList `flag:"columns" help:"columns to write (default: all); quote a name with a comma: '\"a,b\",c'"`
	NewAgainst string   `flag:"new-against" takes:"job|FILE" help:"write only the rows whose --id-field this job or file does not have"`
	Diff       string   `flag:"diff" takes:"job|FILE" help:"write the rows that were added, removed or changed since this job or file"`
	IDField    string   `flag:"id-field" help:"with --new-against or --diff: field that identifies a row"`
	Ignore     nameList `flag:"ignore" help:"with --diff: fields not to compare"`
	About      bool     `flag:"about" help:"instead of rows, print the columns with their types, fill rates and distinct values (exact up to 1,024, estimated above)"`
	As         string   `flag:"as" takes:"json|ndjson|csv" help:"json, ndjson or csv (default: what the ending of -o says, else ndjson)"`
	RawCells   bool     `flag:"raw-cells" help:"in CSV: put no apostrophe before cells that a spreadsheet would take for formulas"`
	Output     string   `flag:"output" takes:"output" short:"o" help:"file to write, or - for standard output"`
	Force      bool     `flag:"force" help:"replace an existing file"`
	JSON       bool     `flag:"json" help:"print one JSON object about the rows and columns; with -o, in addition to writing the rows"`
	format     records.Format
}

func (a *app) jobsRowsCommand() *cobra.Command {
	return command(a, spec[rowsFlags]{
		use:   "rows JOB|FILE|-",
		short: "Filter, sort, compare and convert the rows of a downloaded result",
		long: `Reads a result on this disk, of any size: JSON, NDJSON or CSV. The rows go to
standard output or to the file of -o. They are written as NDJSON, unless the
file's ending (.json, .ndjson, .jsonl, .csv) or --as says otherwise. An index is
kept beside the file that is read, as FILE.index.

A filter is a list of terms that must all hold: word or "two words" anywhere in
the row, field:part, field=value, field>5 (or <, >=, <=), has:field, and -term
for the opposite. Quote a name with spaces, colons or other symbols:
'"list price (USD)">5'. A field that no row has is refused, but not that of
has:. --jq keeps the rows for which the expression gives anything but false and
null. --sort puts numbers before texts, and missing or null values last.

--new-against writes only the rows whose --id-field is not in the other result. --diff
writes every row that was added, removed or changed. Rows without that
field, repeated values of it and error rows are counted and reported.`,
		check: (*rowsFlags).check,
		run: func(ctx context.Context, _ *task, f rowsFlags, args []string) (printed, error) {
			return printed{}, rowsError(ctx, a.rows(ctx, args[0], f))
		},
	})
}

// check refuses flags that do not go together, and sets the format.
func (f *rowsFlags) check([]string) error {
	against := f.NewAgainst != "" || f.Diff != ""
	ending := filepath.Ext(f.Output)
	is := records.FormatOf(f.Output)
	as := records.FormatOf("." + f.As)
	f.format = cmp.Or(as, is, records.Lines)
	switch {
	case f.As != "" && as == "":
		return usageKind("--as", f.As, "json, ndjson or csv")
	case as != "" && is != "" && is != as:
		return usage("-o %s: the ending says %s, and --as says %s: leave one out", f.Output, is, as)
	case as == "" && is == "" && ending != "":
		return usage("-o %s: no format has this ending: use .json, .ndjson, .jsonl or .csv, or give --as", f.Output)
	case f.NewAgainst != "" && f.Diff != "":
		return usage("--new-against and --diff: give only one of them")
	case against && f.IDField == "":
		return usage("--id-field is missing: name the field that identifies a row")
	case !against && (f.IDField != "" || len(f.Ignore) > 0):
		return usage("--id-field and --ignore need --new-against or --diff")
	case f.Diff == "" && len(f.Ignore) > 0:
		return usage("--ignore needs --diff: only it compares rows")
	case against && (f.Filter != "" || f.JQ != "" || f.Sort != ""):
		return usage("--filter, --jq and --sort do not work with a comparison: write it to a file and filter that")
	case f.Diff != "" && (f.format != records.Lines || f.Columns != nil):
		return usage("--diff writes whole rows as NDJSON: leave out --columns and other formats")
	case f.Desc && f.Sort == "":
		return usage("--desc needs --sort")
	case f.JSON && f.Output == "-":
		return usage("-o - and --json both want standard output: name a file, or leave one out")
	case f.About && (f.Columns != nil || f.As != "" || f.Output != "" || f.Filter != "" || f.JQ != "" || f.Sort != "" || against):
		return usage("--about describes the whole file: it takes no --columns, --as or -o, no filter, no sort and no comparison")
	}
	return nil
}

// query builds the query from the flags.
func (f *rowsFlags) query() (q records.Query, err error) {
	if q.Filter, err = records.ParseFilter(f.Filter); err != nil {
		return q, usage("--filter: %w", err)
	}
	if f.JQ != "" {
		if q.JQ, err = filter.NewCondition(f.JQ); err != nil {
			return q, usage("--jq: %w", err)
		}
	}
	q.Sort, q.Down = f.Sort, f.Desc
	return q, nil
}

func (a *app) rows(ctx context.Context, name string, f rowsFlags) error {
	q, err := f.query()
	if err != nil {
		return err
	}
	dest, err := a.destination(f.Output)
	if err != nil {
		return err
	}
	if dest.fresh = !f.Force; dest.fresh && dest.taken {
		return usage("-o %s: this file already exists; --force replaces it", f.Output)
	}
	file, place, done, err := a.openRows(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	r := rowsRun{app: a, name: name, place: place, flags: f, file: file, dest: dest}
	if !f.About {
		err = checkReadable(ctx, file, place)
	}
	if err == nil {
		err = r.checkNames(ctx, q.Filter.Fields())
	}
	switch {
	case err != nil:
		return err
	case f.NewAgainst != "" || f.Diff != "":
		return r.compare(ctx)
	case f.About:
		return r.columns(ctx)
	default:
		return r.selected(ctx, q)
	}
}

// rowsError gives an error of reading or writing rows its exit code, unless it has one.
func rowsError(ctx context.Context, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return fail(ExitInterrupted, "interrupted")
	case errors.Is(err, filter.ErrTime) || errors.Is(err, filter.ErrMemory):
		return usage("--jq: %w", err)
	}
	return stateError(ctx, err)
}

// checkReadable refuses a file without a readable row.
func checkReadable(ctx context.Context, file *records.File, place string) error {
	why, err := file.Unreadable(ctx)
	if err == nil && why != "" {
		err = fail(exitState, "%s: no row could be read: %s", filepath.Base(place), why)
	}
	return err
}

// checkNames refuses a column or a field of the filter that is in no row, and a column that is named twice.
func (r *rowsRun) checkNames(ctx context.Context, fields []string) error {
	if r.flags.Sort == "" && r.flags.Columns == nil && fields == nil {
		return nil
	}
	p, err := r.file.Profile(ctx, nil)
	if err != nil {
		return err
	}
	if r.flags.Sort != "" && p.Lacks(r.flags.Sort) {
		return usage("--sort: no row has a column %s; --about lists the columns", textfile.Quote(r.flags.Sort))
	}
	if i := slices.IndexFunc(fields, p.Lacks); i >= 0 {
		return usage("--filter: no row has a field %s; --about lists the columns", textfile.Quote(fields[i]))
	}
	for i, name := range r.flags.Columns {
		switch {
		case slices.Contains(r.flags.Columns[:i], name):
			return usage("--columns: %s is named twice: name each column once", textfile.Quote(name))
		case p.Lacks(name):
			return usage("--columns: no row has a column %s; --about lists the columns", textfile.Quote(name))
		}
	}
	return nil
}

// openRows opens a file, or the downloaded result of a job, and says where the rows are; done closes it.
func (a *app) openRows(ctx context.Context, name string) (file *records.File, place string, done func(), err error) {
	spooled, remove, err := a.spool(ctx, name)
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if err != nil {
		return nil, "", nil, err
	}
	open := func() (*records.File, error) { return service.OpenRows(config.FindPaths(a.Getenv), spooled) }
	if !service.NamesFile(spooled) {
		job, err := a.downloaded(ctx, name)
		if err != nil {
			return nil, "", nil, err
		}
		open = func() (*records.File, error) { return service.OpenResult(config.FindPaths(a.Getenv), job) }
	}
	if file, err = open(); err != nil {
		return nil, "", nil, fail(exitState, "%w", err)
	}
	if place = file.Path(); spooled != name { // a copy, which is gone by the time that it is read about
		place = name
	}
	return file, place, func() { _ = file.Close(); remove() }, nil // it was only read
}

// downloaded returns a job whose result is on this disk.
func (a *app) downloaded(ctx context.Context, name string) (job model.Job, err error) {
	err = a.withSession(ctx, needs{ledger: true}, func(t *task) (err error) {
		if job, err = t.Jobs.Job(ctx, name); err != nil {
			return usage("%s is neither a file nor a job of the ledger", name)
		}
		if job.File == "" {
			return usage("the result of %s is not on this disk: '%s download %s -o FILE' fetches it", name, t.jobs(job), name)
		}
		if job.ResultHere() && isGone(job.File) {
			return fail(exitState, "the result of %s was downloaded to %s, which is not there any more: '%s download %s -o FILE' downloads it again", name, job.File, t.jobs(job), name)
		}
		return nil
	})
	return job, err
}

// rowsRun is one run of the command.
type rowsRun struct {
	app   *app
	name  string // as given
	place string // where the rows are
	flags rowsFlags
	file  *records.File
	dest  destination
	notes []string
}

func (r *rowsRun) say(format string, args ...any) {
	r.app.say("zonedeck: %s", r.note(format, args...))
}

// warn says that rows are missing from the output, even with --quiet.
func (r *rowsRun) warn(format string, args ...any) {
	r.app.warn("%s", r.note(format, args...))
}

func (r *rowsRun) note(format string, args ...any) string {
	line := fmt.Sprintf(format, args...)
	r.notes = append(r.notes, line)
	return line
}

// printAbout prints the object of --json.
func (r *rowsRun) printAbout(ctx context.Context, matched *int64, diff *view.RowsDiff) error {
	p, err := r.file.Profile(ctx, nil)
	if err != nil {
		return err
	}
	return r.app.printJSON(view.NewRows(r.file, r.place, p, matched, diff, r.notes))
}

// columns describes the columns.
func (r *rowsRun) columns(ctx context.Context) error {
	if r.flags.JSON {
		return r.printAbout(ctx, nil, nil)
	}
	p, err := r.file.Profile(ctx, nil)
	if err != nil {
		return err
	}
	rows := [][]string{{"COLUMN", "TYPE", "FILLED", "DISTINCT"}}
	for _, c := range p.Columns {
		rows = append(rows, []string{records.ShownName(c.Name), c.Type(), c.FillWords(p.Rows), c.DistinctWords()})
	}
	if err := r.app.printColumns(rows); err != nil {
		return err
	}
	r.sayState(p)
	return nil
}

func (r *rowsRun) sayState(p records.Profile) {
	for _, n := range r.file.State().Notes {
		r.app.warn("%s", n)
	}
	if p.Damaged > 0 {
		why := ""
		if d, err := r.file.Detail(records.View{}, p.First); err == nil && d.Damaged != "" {
			why = ": " + d.Damaged
		}
		r.app.warn("cannot be read: %s; the first is row %d%s", text.Counted(int(p.Damaged), "row"), p.First+1, why)
	}
	if p.MoreColumns {
		r.app.say("zonedeck: columns beyond the first %d are left out", records.MaxColumns)
	}
	r.app.say("zonedeck: %s in %s", text.Counted(int(p.Rows), "row"), r.place)
}

// selected writes the rows of a query.
func (r *rowsRun) selected(ctx context.Context, q records.Query) error {
	var view records.View
	if !q.All() {
		got, err := r.file.Select(ctx, q, nil, nil)
		defer func() { _ = got.Rows.Close() }() // it is temporary
		if err != nil {
			return err
		}
		view.Rows = got.Rows
		if got.Failed > 0 {
			r.warn("jq failed for %s, left out here: %s", text.Counted(int(got.Failed), "row"), got.First)
		}
	} else if err := r.file.Index(ctx, nil); err != nil {
		return err
	}
	matched := r.file.State().Rows
	if view.Rows != nil {
		matched = view.Rows.Len()
	}
	return r.finish(ctx, view, &matched, nil)
}

// finish writes the rows, unless --json is given without -o, and says how many there were.
func (r *rowsRun) finish(ctx context.Context, view records.View, matched *int64, diff *view.RowsDiff) error {
	if !r.flags.JSON || r.flags.Output != "" {
		var done records.Written
		err := r.dest.writeBy(ctx, "the rows", func(w io.Writer) (err error) {
			done, err = r.file.Export(ctx, w, view, records.Export{Format: r.flags.format, Columns: r.flags.Columns, Raw: r.flags.RawCells}, nil)
			return err
		})
		if err != nil {
			return err
		}
		if done.Skipped > 0 {
			r.warn("left out as unreadable: %s; the first: %s", text.Counted(int(done.Skipped), "row"), done.First)
		}
		if done.Defused > 0 {
			r.say("%s that a spreadsheet takes for a formula got an apostrophe; --raw-cells leaves them as they are", text.Counted(int(done.Defused), "cell"))
		}
		r.app.say("zonedeck: %d of %d rows", done.Rows, r.file.State().Rows)
	}
	for _, n := range r.file.State().Notes {
		r.app.warn("%s", n)
	}
	if r.flags.JSON {
		return r.printAbout(ctx, matched, diff)
	}
	return nil
}

// compare writes the new rows (--new-against) or the differences (--diff).
func (r *rowsRun) compare(ctx context.Context) error {
	name := r.flags.NewAgainst + r.flags.Diff
	flag := "--new-against"
	if r.flags.Diff != "" {
		flag = "--diff"
	}
	old, place, done, err := r.app.openRows(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	defer done()
	if err := checkReadable(ctx, old, place); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	c, err := r.file.Compare(ctx, old, records.CompareOptions{Key: r.flags.IDField, Ignore: r.flags.Ignore, OnlyNew: r.flags.NewAgainst != ""}, nil)
	if errors.As(err, new(*records.KeyError)) {
		return usage("--id-field: %w", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = c.Rows.Close() }() // it is temporary
	for _, line := range c.Counts() {
		r.say("%s", line)
	}
	diff := view.NewRowsDiff(c)
	matched := c.Rows.Len()
	if r.flags.NewAgainst != "" {
		return r.finish(ctx, c.View(), &matched, diff)
	}
	if !r.flags.JSON || r.flags.Output != "" {
		err := r.dest.writeBy(ctx, "the difference", func(w io.Writer) error { return r.file.WriteChanges(ctx, w, c, nil) })
		if err != nil {
			return err
		}
	}
	r.app.say("zonedeck: %d added, %d removed, %d changed, %d the same", c.Added, c.Removed, c.Changed, c.Unchanged)
	if r.flags.JSON {
		return r.printAbout(ctx, &matched, diff)
	}
	return nil
}
