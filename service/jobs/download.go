package jobs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// The bounds on a download. Public documentation mentions answers of 5 GB.
const (
	maxAnswer     = 8 << 30         // a result that comes whole, or a part of one
	maxDownload   = 64 << 30        // all parts
	downloadStall = 2 * time.Minute // without a byte
)

// Destination says where the result of a download goes, and as what.
type Destination struct {
	// File is a file or a folder; empty means the folder of downloads.
	File string
	// Format is one of rows.Formats. Empty, the ending of File decides, else it is json. A
	// format that disagrees with the ending is refused.
	Format string
	// Replace allows Download to replace an existing file. The file of an earlier download of the job
	// to the downloads folder, as the ledger has it, is replaced even without.
	Replace bool
	// DropPartial allows Download to drop what a download of another result left beside the file.
	DropPartial bool
	// RawCells leaves the cells of a CSV as they came, even those that a spreadsheet takes for
	// formulas; see rows.WriteCSV.
	RawCells bool
}

// Progress says how far a download is.
type Progress struct {
	Bytes int64 // of rows on this disk, of all parts
	// Doing says what is being done with the rows on this disk, empty while they are received. Done is
	// how many of the Bytes that was done with.
	Doing string
	Done  int64
	// Part is the part that is being fetched, from 1, of Parts. A result that the service gives
	// whole has one part.
	Part, Parts int
	// Note is something that the operator should know, for example what happens to what an earlier
	// download left; empty for none.
	Note string
}

// Download fetches a job's results into a file and records that in the ledger.
//
// The service is asked for one row per line, in parts if its dialect offers them. What comes is
// written to a partial file beside the destination (its name with ".part"), JSON as an array.
// A download that was cut off goes on with the missing part, after the digests of what is there
// were compared; a result that the service gives only whole is fetched from its beginning.
// CSV is made here from the complete rows: only rows of one line each can be put together from
// parts and all be checked, and so columns and formulas do not depend on the service. For JSON and
// CSV, a row that is not JSON ends the download.
//
// The fields of the rows are not looked at here: see SeeFields.
//
// The file appears complete and synced, or not at all. An answer with status 200 that is a
// page, an error, empty or not of the format is a failure. on receives the progress; it may
// be nil.
//
// Errors: ErrNotReady (a *notReadyError), ErrNoResult, ErrUnknownJob, ErrNoSnapshot,
// ErrNotShown, a *model.RequestError, a *exchange.CallError, an *ExistsError, a *ForeignError,
// one that wraps textfile.ErrLocked, the file system's; in a *PartialError where something
// is kept.
func (rn *Runner) Download(ctx context.Context, jobID string, to Destination, on func(Progress)) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	call, err := rn.callFor(ctx, jobID)
	if err != nil {
		return call.job, err
	}
	if err := withoutResult(call.job); err != nil {
		return call.job, err
	}
	if to, err = rn.destination(ctx, call.job, to); err != nil {
		return call.job, err
	}
	if on == nil {
		on = func(Progress) {}
	}
	p, err := call.fetchResult(ctx, to, on)
	if err != nil {
		return call.notFetched(ctx, err), err
	}
	kept := p.state.File
	take := func(job *model.Job) {
		job.File, job.Bytes, job.SHA256, job.Rows = to.File, kept.Bytes, kept.SHA256, kept.Rows
		if !job.State.Final() && kept.Rows.Counted {
			job.Records = kept.Rows.Useful // the count of its progress is from before its end
		}
		lacking := job.Lacking() > 0
		if lacking { // what did not come may be billed, too
			job.Rows.Billed, job.Rows.Cost, job.Rows.Priced = -1, 0, false
		}
		job.Rows.FieldsDue = rn.cfg.Coverages != nil && kept.Rows.Counted && !lacking
	}
	job, err := rn.change(context.WithoutCancel(ctx), call.job.ID, func(job *model.Job) (note, error) {
		take(job)
		if job.Fault.Call == model.CallDownload {
			job.Fault = model.JobFault{}
		}
		if !job.State.Final() || job.State == model.JobReady || job.State == model.JobExpired {
			job.State = model.JobDownloaded // only a ready job gives results
		}
		text := fmt.Sprintf("downloaded %d bytes of %s to %s, %s", kept.Bytes, kept.Format, to.File, rowsText(job.Rows))
		if words := job.LackingWords(); words != "" {
			text += "; " + words + "; it is not judged for drift"
		}
		return note{step: text, entry: fmt.Sprintf("%s %s: %s", job.ID, job.Dataset, text)}, nil
	})
	if err != nil {
		take(&call.job)
		return call.job, fmt.Errorf("the results are in %s: %w", to.File, errors.Join(err, p.Leave()))
	}
	if err := p.end(); err != nil {
		rn.cfg.Log.Warn("what a download kept beside its file stays", "job", job.ID, "error", err)
	}
	if job.Rows.Billed > 0 && !call.job.Rows.Counted { // a result that is downloaded again is not billed again
		rn.cfg.Wire.Spend(job.Rows.Cost, job.Rows.Priced)
	}
	if job.Rows.FieldsDue {
		rn.watching.fieldsLater()
	}
	return job, nil
}

// notFetched records that a download failed and, if the answer says so, that the service no longer has
// the result or the job. What is known about an expired job stays.
func (call jobCall) notFetched(ctx context.Context, cause error) model.Job {
	var fault *exchange.CallError
	if !errors.As(cause, &fault) || call.job.Forgotten() {
		return call.job
	}
	rule, answer := fault.Diagnosis.Rule, fault.Diagnosis
	unknown := rule == model.RuleJobUnknown && call.job.State.HasResult()
	look, err := lookupResult{}, error(nil)
	if unknown {
		if look, err = call.lookFor(ctx); err != nil {
			return call.job
		}
		fault.Diagnosis.Evidence = append(fault.Diagnosis.Evidence, look.evidence(call.job)...)
	}
	job := call.rn.failed(ctx, call.job, model.CallDownload, cause)
	switch {
	case job.State == model.JobExpired:
		return job
	case rule == model.RuleResultExpired:
		job, err = call.rn.expire(ctx, job, fault)
	case unknown && !look.listed && look.against == "":
		fault.Diagnosis = model.JobForgotten(answer, look.evidence(job)...)
		job, err = call.rn.forget(ctx, job, model.CallDownload, fault.Diagnosis, fault.Text)
	}
	if err != nil {
		call.rn.cfg.Log.Warn("that a result has expired is missing in the ledger", "job", job.ID, "error", err)
	}
	return job
}

// expire records that, by an answer, the service no longer has the result of a job.
func (rn *Runner) expire(ctx context.Context, job model.Job, fault *exchange.CallError) (model.Job, error) {
	expired, err := rn.change(context.WithoutCancel(ctx), job.ID, func(row *model.Job) (note, error) {
		row.State, row.Detail = model.JobExpired, line("the service no longer has the result: "+fault.Text)
		return note{step: row.Detail, entry: fmt.Sprintf("%s %s: %s", row.ID, row.Dataset, joinText(row.State.Label(), row.Detail))}, nil
	})
	if err != nil {
		return job, err
	}
	return expired, nil
}

// ExistsError says that the file exists and must not be replaced.
type ExistsError struct{ File string }

func (e *ExistsError) Error() string { return e.File + " exists already, and is not replaced" }

// FormatOf is the format for the ending of a name, or empty.
func FormatOf(name string) string {
	ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
	if ending == "jsonl" {
		return "ndjson"
	}
	if !slices.Contains(rows.Formats(), ending) {
		return ""
	}
	return ending
}

// pickFormat is the format, by what was asked for and the ending of the name.
func pickFormat(format, dest string) (string, error) {
	ending := FormatOf(dest)
	switch {
	case format == "":
		return cmp.Or(ending, rows.Formats()[0]), nil
	case !slices.Contains(rows.Formats(), format):
		return "", model.BadField("format", "%s is not one of %s", rows.Quote(format), strings.Join(rows.Formats(), ", "))
	case ending != "" && ending != format:
		return "", model.BadField("format", "%s disagrees with the name %s: leave it out, or name the file *.%s", format, rows.Quote(filepath.Base(dest)), format)
	}
	return format, nil
}

// destination settles the format and the absolute name of the file to write. A name that the
// console chooses begins with the ledger's identifier, so that remote text alone never names
// a file; the dialect has checked that the snapshot is a plain word.
func (rn *Runner) destination(ctx context.Context, job model.Job, to Destination) (Destination, error) {
	at, err := os.Stat(to.File)
	folder := to.File != "" && err == nil && at.IsDir()
	name := to.File
	if folder {
		name = "" // its ending is none of a file
	}
	if to.Format, err = pickFormat(to.Format, name); err != nil {
		return to, err
	}
	if to.RawCells && to.Format != "csv" {
		return to, model.BadField("raw-cells", "only CSV has cells, and the format is %s", to.Format)
	}
	name = strings.TrimSuffix(job.ID+"_"+job.Snapshot, "_") + "." + to.Format
	switch {
	case to.File == "":
		if rn.cfg.DownloadsDir == "" {
			return to, model.BadField("dest", "there is no folder of downloads; name a file")
		}
		if err := os.MkdirAll(rn.cfg.DownloadsDir, 0o700); err != nil {
			return to, fmt.Errorf("making the folder of downloads: %w", err)
		}
		to.File = filepath.Join(rn.cfg.DownloadsDir, name)
		to.Replace = to.Replace || to.File == job.File && fileIs(ctx, job.File, job.Bytes, job.SHA256)
	case folder:
		to.File = filepath.Join(to.File, name)
	}
	switch name, err = textfile.Output(to.File); {
	case err != nil:
		return to, fmt.Errorf("download: %w", err)
	case name == "":
		return to, model.BadField("dest", "%s is not a file", to.File)
	}
	to.File = name
	return to, nil
}

// result is a result that is being read; its holder closes it.
type result struct {
	*exchange.MaskReader // what came
	body                 io.ReadCloser
	cancel               context.CancelFunc
	framed               bool          // an end that came too early is an error of the body
	stall                *time.Timer   // if it fires after the end, there is nothing left to cancel
	received             int64         // bytes of the body
	wrapped              *wrapped      // the rows, where an object holds them
	rows                 *bufio.Reader // of what came, where that is rows
}

// errStalled is the cause of an ended download that received nothing for too long.
var errStalled = fmt.Errorf("nothing came for %s", downloadStall)

// openResult asks for the results, or a part of them, with one row per line. Later errors of
// the stream are *exchange.Error.
func (call jobCall) openResult(ctx context.Context, rows, part int) (*result, error) {
	if call.job.InAnswer() {
		return call.openKept()
	}
	res, err := call.open(ctx, call.paths.Snapshot, call.d.ResultQuery(call.job.Dataset, rows, part))
	if err == nil {
		res.unwrap(call)
		err = res.begin(call)
	}
	return res, err
}

// open asks for a path of a snapshot.
func (call jobCall) open(ctx context.Context, path string, query url.Values) (*result, error) {
	doing := "downloading the results of job " + call.job.ID
	inner, cancel := context.WithCancelCause(ctx)
	res := &result{
		cancel: func() { cancel(context.Canceled) },
		stall:  time.AfterFunc(downloadStall, func() { cancel(exchange.ErrTimeout) }),
	}
	get := call.api(http.MethodGet, path)
	for name, values := range query {
		get.Query[name] = values
	}
	resp, _, err := call.rn.cfg.Wire.API(inner, get) //nolint:bodyclose // result.close closes it
	if err != nil {
		cancel(context.Canceled)
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, call.jobFault(ctx, doing, nil, err)
	}
	res.body = resp.Body
	res.framed = resp.ProtoMajor > 1 || resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0
	res.MaskReader = exchange.MaskOf(call.secret, exchange.Login{}).Reader(readerFunc(res.receive))
	if resp.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.close()
	fault := call.jobFault(ctx, doing, resp, nil)
	if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusConflict { // public sources name both
		return nil, fmt.Errorf("job %s: %w", call.job.ID, &notReadyError{Text: fault.Text, After: fault.After})
	}
	if call.job.State == model.JobCanceled && fault.Diagnosis.Cause == model.CauseRequestRefused && fault.Diagnosis.Rule != model.RuleResultExpired {
		fault.Diagnosis.Steps = []model.Step{{Action: model.ActionLaunch, Text: "launch it again: it was cancelled, and the service gives no result of it"}}
	}
	return nil, fault
}

// close ends the exchange and drops the rest of the body.
func (r *result) close() {
	_ = r.body.Close()
	r.cancel()
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// receive reads on. A stall or a break becomes an *exchange.Error.
func (r *result) receive(p []byte) (int, error) {
	n, err := r.body.Read(p)
	r.received += int64(n)
	if n > 0 {
		r.stall.Reset(downloadStall)
	}
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case errors.Is(err, exchange.ErrTimeout):
		return n, &exchange.Error{Broke: model.BreakTimeout, Peer: exchange.PeerService, Sent: true, Status: http.StatusOK, Received: r.received, Err: fmt.Errorf("%w after %d bytes of the answer", errStalled, r.received)}
	default:
		return n, r.brokeOff(err)
	}
}

// brokeOff is the error of a result that broke off after its beginning.
func (r *result) brokeOff(err error) error { return exchange.BrokeOff(http.StatusOK, r.received, err) }
