package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"zonedeck/service/exchange"
	"zonedeck/service/rows"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// The bounds on a download. Public documentation mentions answers of 5 GB.
const (
	maxDownload   = 8 << 30
	downloadStall = 2 * time.Minute // without a byte
	progressEvery = 256 << 10       // bytes between two calls of on
)

// Download fetches a job's results into a file and records that in the ledger. format
// is one of rows.Formats; if it is empty, the ending of dest decides, else it is json.
// dest is a file or a folder; empty means the folder of downloads. The file appears
// complete and synced, or not at all, and replaces one of the same name. An answer with
// status 200 that is a page, an error, empty or not of the format is a failure and
// replaces nothing. on receives the bytes so far; it may be nil.
//
// Errors: ErrNotReady (a *NotReadyError), ErrUnknownJob, ErrNoSnapshot,
// ErrNotShown, a *model.RequestError, a *DiagnosisError, the file system's.
func (rn *Runner) Download(ctx context.Context, jobID, format, dest string, on func(done int64)) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	call, err := rn.callFor(ctx, jobID)
	if err != nil {
		return call.job, err
	}
	if format, err = pickFormat(format, dest); err != nil {
		return call.job, err
	}
	dest, err = rn.destination(call.job, format, dest)
	if err != nil {
		return call.job, err
	}
	got, err := rn.fetchResult(ctx, call, format, dest, on)
	if err != nil {
		return rn.notFetched(ctx, call, err), err
	}
	counted := countRows(ctx, call.p, call.d, dest, format)
	take := func(job *model.Job) {
		job.File, job.Bytes, job.SHA256, job.Rows = dest, got.size, got.sha256, counted
	}
	job, err := rn.change(context.WithoutCancel(ctx), call.job.ID, func(job *model.Job) (note, error) {
		take(job)
		if job.Fault.Call == model.CallDownload {
			job.Fault = model.JobFault{}
		}
		if !job.State.Final() || job.State == model.JobReady || job.State == model.JobExpired {
			job.State = model.JobDownloaded // only a ready job gives results
		}
		text := fmt.Sprintf("downloaded %d bytes to %s, %s", got.size, dest, rowsText(counted))
		return note{step: text, activity: fmt.Sprintf("%s %s: %s", job.ID, job.Dataset, text)}, nil
	})
	if err != nil {
		take(&call.job)
		return call.job, fmt.Errorf("the results are in %s: %w", dest, err)
	}
	return job, nil
}

// notFetched writes down that a download failed, and that the service no longer has the
// result if its answer says so.
func (rn *Runner) notFetched(ctx context.Context, call jobCall, cause error) model.Job {
	job := rn.failed(ctx, call.job, model.CallDownload, cause)
	var fault *DiagnosisError
	if !errors.As(cause, &fault) || job.State == model.JobExpired || !call.d.ResultGone(fault.Status, fault.Text, job.State.HasResult()) {
		return job
	}
	expired, err := rn.change(context.WithoutCancel(ctx), job.ID, func(job *model.Job) (note, error) {
		job.State, job.Detail = model.JobExpired, line("the service no longer has the result: "+fault.Text)
		return note{step: job.Detail, activity: fmt.Sprintf("%s %s: %s", job.ID, job.Dataset, joinText(job.State.Label(), job.Detail))}, nil
	})
	if err != nil {
		rn.cfg.Log.Warn("that a result has expired is missing in the ledger", "job", job.ID, "error", err)
		return job
	}
	return expired
}

func pickFormat(format, dest string) (string, error) {
	if format == "" {
		format = strings.ToLower(strings.TrimPrefix(filepath.Ext(dest), "."))
		if !slices.Contains(rows.Formats(), format) {
			format = rows.Formats()[0]
		}
	}
	if !slices.Contains(rows.Formats(), format) {
		return "", model.BadField("format", "%s is not one of %s", rows.Quote(format), strings.Join(rows.Formats(), ", "))
	}
	return format, nil
}

// destination is the absolute name of the file to write. A name that the console
// chooses begins with the ledger's identifier, so that remote text alone never names a
// file; the dialect has checked that the snapshot is a plain word.
func (rn *Runner) destination(job model.Job, format, dest string) (string, error) {
	name := job.ID + "_" + job.Snapshot + "." + format
	if dest == "" {
		if rn.cfg.DownloadsDir == "" {
			return "", model.BadField("dest", "there is no folder of downloads; name a file")
		}
		if err := os.MkdirAll(rn.cfg.DownloadsDir, 0o700); err != nil {
			return "", fmt.Errorf("making the folder of downloads: %w", err)
		}
		dest = filepath.Join(rn.cfg.DownloadsDir, name)
	} else if at, err := os.Stat(dest); err == nil && at.IsDir() {
		dest = filepath.Join(dest, name)
	}
	dest, err := filepath.Abs(dest)
	if err != nil {
		return "", fmt.Errorf("download to %s: %w", dest, err)
	}
	return dest, nil
}

// fetched is a result on this disk.
type fetched struct {
	size   int64
	sha256 string
}

// fetchResult streams the answer into dest.
func (rn *Runner) fetchResult(ctx context.Context, call jobCall, format, dest string, on func(int64)) (fetched, error) {
	stream, err := rn.openResult(ctx, call, format)
	if err != nil {
		return fetched{}, err
	}
	defer stream.close()
	if err := textfile.SweepFor(dest); err != nil {
		rn.cfg.Log.Warn("a temporary file of a killed download stays", "error", err)
	}
	var size int64
	sum := sha256.New()
	err = textfile.WriteFunc(dest, func(w io.Writer) error {
		gate := &resultGate{w: io.MultiWriter(w, sum), format: format}
		if size, err = stream.copyTo(gate, on); err == nil {
			err = gate.finish(true)
		}
		return err
	})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return fetched{}, cause
		}
		doing := "downloading the results of job " + call.job.ID
		var none *noResultError
		if errors.As(err, &none) {
			return fetched{}, none.fault(doing)
		}
		var broke *exchange.Error
		if errors.As(err, &broke) {
			return fetched{}, rn.jobFault(ctx, doing, call, nil, err)
		}
		return fetched{}, fmt.Errorf("%s: %w", doing, err)
	}
	return fetched{size, hex.EncodeToString(sum.Sum(nil))}, nil
}

// result is a result that is being read; its holder closes it.
type result struct {
	*exchange.MaskReader // what came
	body                 io.ReadCloser
	cancel               context.CancelFunc
	stall                *time.Timer // when it fires after the end, there is nothing left to cancel
}

// errStalled is the cause of a download in which nothing came for long.
var errStalled = fmt.Errorf("nothing came for %s", downloadStall)

// openResult asks for the results. Later errors of the stream are *exchange.Error.
func (rn *Runner) openResult(ctx context.Context, call jobCall, format string) (*result, error) {
	doing := "downloading the results of job " + call.job.ID
	inner, cancel := context.WithCancelCause(ctx)
	res := &result{
		cancel: func() { cancel(context.Canceled) },
		stall:  time.AfterFunc(downloadStall, func() { cancel(exchange.ErrTimeout) }),
	}
	get := call.api(http.MethodGet, call.paths.Snapshot)
	get.Query = url.Values{"format": {format}}
	resp, _, err := rn.cfg.Wire.API(inner, get) //nolint:bodyclose // result.close closes it
	if err != nil {
		cancel(context.Canceled)
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, rn.jobFault(ctx, doing, call, nil, err)
	}
	res.body = resp.Body
	res.MaskReader = exchange.MaskOf(call.secret, exchange.Login{}).Reader(readerFunc(res.receive))
	if resp.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.close()
	fault := rn.jobFault(ctx, doing, call, resp, nil)
	if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusConflict { // public sources name both
		return nil, fmt.Errorf("job %s: %w", call.job.ID, &NotReadyError{Text: fault.Text, After: fault.After})
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

// receive reads on; a stall and a break come back as *exchange.Error.
func (r *result) receive(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if n > 0 {
		r.stall.Reset(downloadStall)
	}
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case errors.Is(err, exchange.ErrInflates):
		return n, &exchange.Error{Broke: model.BreakMalformed, Peer: exchange.PeerService, Sent: true, Err: err}
	case errors.Is(err, exchange.ErrTimeout):
		return n, &exchange.Error{Broke: model.BreakTimeout, Peer: exchange.PeerService, Sent: true, Err: errStalled}
	default:
		return n, &exchange.Error{Broke: exchange.Breakage(err), Peer: exchange.PeerService, Sent: true, Err: fmt.Errorf("the answer broke off: %w", err)}
	}
}

// copyTo copies up to the bound.
func (r *result) copyTo(w io.Writer, on func(int64)) (int64, error) {
	if on == nil {
		on = func(int64) {}
	}
	buf := make([]byte, 64<<10)
	var done, told int64
	for {
		n, err := r.Read(buf)
		if _, err := w.Write(buf[:n]); err != nil {
			return 0, err
		}
		if done += int64(n); done > maxDownload {
			return 0, fmt.Errorf("the results are larger than %d GiB", maxDownload>>30)
		}
		if done-told >= progressEvery {
			told = done
			on(done)
		}
		switch {
		case r.GaveUp:
			return 0, unusable("is written so that looking for the key in it takes too long")
		case errors.Is(err, io.EOF):
			on(done)
			return done, nil
		case err != nil:
			return 0, err
		}
	}
}
