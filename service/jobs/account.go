package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// maxRowCodes bounds the error codes that are told apart; a result is remote.
const maxRowCodes = 50

// tally accounts for the rows of a partial file that is written to it. After a row that cannot be read it
// stops counting.
type tally struct {
	d       dialect.Dialect
	dataset string // the data set
	asked   rows.Asked
	array   bool // the rows are an array's, which has no end yet
	begun   bool
	out     model.JobRows
	lines   rows.Lines
	err     error // why not
}

// asked is what a job's inputs hold, as far as they are kept.
func (rn *Runner) asked(ctx context.Context, job model.Job) rows.Asked {
	r, err := rn.Request(ctx, job.ID)
	if err != nil && !errors.Is(err, ErrNoRequest) {
		rn.cfg.Log.Warn("rows that hold only what was asked for count as useful", "job", job.ID, "error", err)
	}
	return rows.NewAsked(r.Inputs)
}

// copy makes a copy, to go back to what was counted before a part.
func (t *tally) copy() tally {
	out := *t
	out.lines = rows.Lines{}
	out.out.Errors = slices.Clone(t.out.Errors)
	return out
}

func (t *tally) Write(p []byte) (int, error) {
	n := len(p)
	if t.array && !t.begun && n > 0 {
		p = p[1:] // the bracket
	}
	if t.begun = t.begun || n > 0; t.err == nil {
		t.lines.On, t.lines.Array = t.row, t.array
		_, t.err = t.lines.Write(p)
	}
	return n, nil
}

// errCutRow is the error of a part that ends within a row.
var errCutRow = errors.New("it ended in the middle of a row")

// endPart ends a part, whose last row needs no line break. If only this row can show whether the
// part was cut off, an unreadable one shows that it was; in a part that is known to be whole it is
// treated like any other unreadable row.
func (t *tally) endPart(whole bool) error {
	t.lines.On = t.row
	err := t.lines.Close()
	t.lines = rows.Lines{}
	if t.err == nil && err != nil && !whole {
		return errCutRow
	}
	t.err = cmp.Or(t.err, err)
	return nil
}

func (t *tally) row(raw []byte) error {
	r, valid := rows.CountRow(raw, t.asked)
	if !valid {
		return rows.ErrNoRow
	}
	t.out.Returned++
	switch {
	case r.Error:
		addError(&t.out, t.d, r)
	case r.Data:
		t.out.Useful++
	default:
		t.out.Empty++
	}
	return nil
}

// sum is the account, with what the billed rows cost by the rates of a profile.
func (t *tally) sum(p model.Profile) model.JobRows {
	if t.err != nil {
		return model.JobRows{Billed: -1, Problem: line(t.err.Error())}
	}
	out := t.out
	out.Counted = true
	slices.SortStableFunc(out.Errors, func(a, b model.JobRowErrors) int { return cmp.Compare(b.Rows, a.Rows) })
	if out.Billed = t.d.BilledRows(t.dataset, out); out.Billed >= 0 {
		_, rate := rateOf(p, t.d, t.dataset)
		out.Cost, out.Priced = rate.Cost(float64(out.Billed), 0)
	}
	return out
}

// addError counts an error row under its code.
func addError(out *model.JobRows, d dialect.Dialect, r rows.Row) {
	code := model.Line(r.Code, maxDetail)
	i := slices.IndexFunc(out.Errors, func(e model.JobRowErrors) bool { return e.Code == code })
	if i < 0 && len(out.Errors) >= maxRowCodes {
		code = ""
		i = slices.IndexFunc(out.Errors, func(e model.JobRowErrors) bool { return e.Code == "" })
	}
	if i < 0 {
		class, cause := d.RowError(code)
		out.Errors = append(out.Errors, model.JobRowErrors{Code: code, Class: class, Cause: cause, Text: line(r.Text)})
		i = len(out.Errors) - 1
	}
	out.Errors[i].Rows++
}

// rowsText is the account of a result in a few words.
func rowsText(r model.JobRows) string {
	if !r.Counted {
		return "rows not counted: " + r.Problem
	}
	account := r.Account()
	return account[0] + ": " + strings.Join(account[1:], ", ")
}

// Coverage takes the rows of a result and keeps what their fields show.
type Coverage interface {
	Row(r rows.Row)
	// Keep is called after all rows, and says what drifts.
	Keep(ctx context.Context, counted model.JobRows) (model.JobDrift, error)
}

// SoonSeen is the size of a result, in bytes, up to which SeeFields takes about a second.
const SoonSeen = 32 << 20

// SeeFields gives the rows of a downloaded result to the Coverage if that is due
// (model.JobRows.FieldsDue). They are read from the file, at some 30 MB/s. on receives the
// progress; it may be nil. If the file is gone, or is not what was downloaded, the result is given up,
// as the job's steps then say. After any other error it stays due, and whoever follows jobs with the
// profile in use does it. It gives the job as it is then.
func (rn *Runner) SeeFields(ctx context.Context, id string, on func(Progress)) (model.Job, error) {
	job, err := rn.Job(ctx, id)
	if err != nil || !job.Rows.FieldsDue || rn.cfg.Coverages == nil {
		return job, err
	}
	if on == nil {
		on = func(Progress) {}
	}
	seen := rn.cfg.Coverages.Coverage(job)
	var drift model.JobDrift
	step := ""
	var given *notSeenError
	asked := rn.asked(ctx, job)
	switch err := eachKept(ctx, job, on, func(r rows.Row) { seen.Row(asked.Judge(r)) }); {
	case errors.As(err, &given):
		step = given.Error()
	case err != nil:
		return job, causeOf(ctx, err)
	default:
		if drift, err = seen.Keep(ctx, job.Rows); err != nil {
			return job, causeOf(ctx, fmt.Errorf("keeping what the fields of %s show: %w", job.ID, err))
		}
	}
	mine := false
	job, err = rn.change(context.WithoutCancel(ctx), job.ID, func(now *model.Job) (note, error) {
		mine = now.Rows.FieldsDue && now.SHA256 == job.SHA256
		if !mine { // another process was faster, or the result was downloaded again
			return note{}, nil
		}
		now.Rows.FieldsDue, now.Rows.Drift = false, drift
		return note{step: step}, nil
	})
	if err != nil || !mine || drift.Text == "" || rn.cfg.Journal == nil {
		return job, err
	}
	return job, rn.cfg.Journal.PutEntry(context.WithoutCancel(ctx), model.HistoryEntry{
		At: job.Updated, Kind: model.HistoryJob, Profile: job.Profile, Via: model.ViaAPI, Class: model.ClassParsingDrift, Cause: model.CauseMissingFields,
		Key: job.KeyName, Ref: job.ID, Text: drift.In(job.Dataset),
	})
}

// SetDrift keeps what drifts in a job's result, after it was judged anew. A job that is not in the ledger is none of ours.
func (rn *Runner) SetDrift(ctx context.Context, id string, d model.JobDrift) error {
	if rn.cfg.Ledger == nil {
		return nil
	}
	_, err := rn.change(ctx, id, func(job *model.Job) (note, error) {
		job.Rows.Drift = d
		return note{}, nil
	})
	if errors.Is(err, database.ErrNotFound) {
		return nil
	}
	return err
}

// notSeenError says why the fields of a result can no longer be looked at.
type notSeenError struct{ reason string }

func (e *notSeenError) Error() string {
	return "the fields of its rows were not looked at: " + e.reason
}

// eachKept calls on for the rows of a downloaded file, and fails if it is not the file that was
// downloaded.
func eachKept(ctx context.Context, job model.Job, on func(Progress), row func(rows.Row)) error {
	f, err := os.Open(job.File)
	if errors.Is(err, fs.ErrNotExist) {
		return &notSeenError{job.File + " is gone"}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	changed := &notSeenError{job.File + " is not what was downloaded"}
	if at, err := f.Stat(); err != nil || !at.Mode().IsRegular() || at.Size() != job.Bytes {
		return errors.Join(changed, err)
	}
	sum := sha256.New()
	from := io.TeeReader(&within{ctx: ctx, r: f, on: func(n int64) {
		on(Progress{Bytes: job.Bytes, Doing: "looking at the fields", Done: n})
	}}, sum)
	err = rows.EachRow(from, fileFormat(job), func(r rows.Row) error {
		row(r)
		return context.Cause(ctx)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var unreadable *rows.RecordsError
	if errors.As(err, &unreadable) {
		return &notSeenError{err.Error()}
	}
	if err == nil {
		_, err = io.Copy(io.Discard, from)
	}
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != job.SHA256 {
		err = changed
	}
	return err
}

// fieldsLater tells whoever follows in this process to look at the fields of what was downloaded.
func (w *watching) fieldsLater() {
	select {
	case w.fields() <- struct{}{}:
	default: // it has not seen the signal before
	}
}

func (w *watching) fields() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due == nil {
		w.due = make(chan struct{}, 1)
	}
	return w.due
}

// seeDue looks at the fields of a profile's results until end is called: of those that are due, and
// of those that this process downloads meanwhile. It tries again after a while if it cannot do so now.
func (rn *Runner) seeDue(ctx context.Context, profile string) (end func()) {
	if rn.cfg.Coverages == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			again := time.NewTimer(fieldsAgain)
			if err := rn.seeAll(ctx, profile); err != nil && ctx.Err() == nil {
				rn.cfg.Log.Warn("the fields of a result are looked at later", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-rn.watching.fields():
			case <-again.C:
			}
			again.Stop()
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// fieldsAgain is how often results of other processes are looked for whose fields were not looked at:
// the other process was stopped, or its disk was full.
const fieldsAgain = time.Hour

// SeeDue is SeeFields for every result of the profile for which that is due.
func (rn *Runner) SeeDue(ctx context.Context) error {
	if rn.cfg.Ledger == nil || rn.cfg.Coverages == nil {
		return nil
	}
	p, _, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return err
	}
	return rn.seeAll(ctx, p.Name)
}

func (rn *Runner) seeAll(ctx context.Context, profile string) error {
	due, err := rn.cfg.Ledger.FieldsDue(ctx, profile)
	for _, job := range due {
		_, fault := rn.SeeFields(ctx, job.ID, nil)
		err = errors.Join(err, fault)
	}
	return err
}
