package jobs

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// resultHead is how much of a result is looked at before any of it is written, in
// bytes.
const resultHead = 64 << 10

// resultGate lets a result, one row a line, through to w once its beginning looks like one.
type resultGate struct {
	w     io.Writer
	empty bool // a result may have no rows
	later bool // rows came before, so that an error row counts as a row
	open  bool
	// unframed says that only the connection shows where the answer ends, so its last row may be cut off.
	unframed bool
	head     []byte
}

func (g *resultGate) Write(p []byte) (int, error) {
	if g.open {
		return g.w.Write(p)
	}
	n := min(len(p), resultHead-len(g.head))
	if g.head = append(g.head, p[:n]...); len(g.head) < resultHead {
		return n, nil
	}
	if err := g.finish(false); err != nil {
		return n, err
	}
	more, err := g.w.Write(p[n:])
	return n + more, err
}

// finish checks what came so far. whole says that nothing follows.
func (g *resultGate) finish(whole bool) error {
	if g.open {
		return nil
	}
	if g.empty && whole && len(bytes.TrimSpace(g.head)) == 0 {
		g.open = true
		return nil
	}
	if err := checkResult(g.head, whole, g.later, g.unframed); err != nil {
		return err
	}
	g.open = true
	_, err := g.w.Write(g.head)
	g.head = nil
	return err
}

// cut writes what came of an answer that broke off, if it looks like a result.
func (g *resultGate) cut() error {
	err := g.finish(false)
	var none *noResultError
	if errors.As(err, &none) {
		return nil // what broke says more
	}
	return err
}

// noResultError is an answer with status 200 that is no result.
type noResultError struct {
	text    string        // what it is
	outcome model.Outcome // what speaks for that, beside the status
}

func (e *noResultError) Error() string { return "the answer " + e.text }

// fault is the error of the download.
func (e *noResultError) fault(doing string) *exchange.CallError {
	o := e.outcome
	o.Via, o.Job, o.ServiceStatus = model.ViaAPI, model.CallProgress, http.StatusOK
	return &exchange.CallError{Doing: doing, Status: http.StatusOK, Text: e.Error(), Diagnosis: model.Diagnose(o)}
}

// unusable is an answer that the service's API does not give.
func unusable(format string, args ...any) *noResultError {
	e := &noResultError{text: fmt.Sprintf(format, args...)}
	e.outcome = model.Outcome{Broke: model.BreakMalformed, Peer: exchange.PeerService, BrokeText: e.Error()}
	return e
}

// checkResult returns a *noResultError if an answer that begins with head is no result, nor a later
// part of one. The last row of an unframed one may be cut off.
func checkResult(head []byte, whole, later, unframed bool) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	switch {
	case len(text) == 0 && whole:
		return &noResultError{text: "is empty"}
	case len(text) == 0:
		return &noResultError{text: "begins with nothing but blanks"}
	case text[0] == '<':
		return unusable("is a page and not NDJSON: %s", dialect.ErrorText("text/html", text))
	}
	if whole && !later && errorShaped(text) {
		says := dialect.ErrorText("application/json", text)
		return &noResultError{text: "is an error and not a result: " + says, outcome: model.Outcome{ServiceText: says}}
	}
	for n, line := range bytes.SplitAfter(text, []byte("\n")) {
		cut := (!whole || unframed && n > 0) && !bytes.HasSuffix(line, []byte("\n")) // goes on after the head, or went on
		if line = bytes.TrimSpace(line); len(line) > 0 && !cut && !json.Valid(line) {
			return unusable("is not NDJSON: line %d: %s", n+1, dialect.ErrorText("", line))
		}
	}
	return nil
}

// The fields of an answer that says nothing but what went wrong, by the habits of frameworks
// and RFC 9457.
var (
	errorSays     = []string{"error", "error_description", "error_message", "errors"}
	errorMessages = []string{"detail", "message", "msg"} // a record of a page may have these
	errorCodes    = []string{"code", "error_code", "status", "status_code", "success"}
	errorBeside   = []string{"details", "instance", "path", "request_id", "snapshot_id", "timestamp", "title", "trace_id", "type"}
)

// errorShaped reports whether text is one JSON object that says nothing but what went
// wrong. A record may have an error too, beside its input or other fields, and a message
// beside a title or a time.
func errorShaped(text []byte) bool {
	var object map[string]json.RawMessage
	if text[0] != '{' || json.Unmarshal(text, &object) != nil {
		return false
	}
	var says, message, code, beside bool
	for name := range object {
		switch name = strings.ToLower(name); {
		case slices.Contains(errorSays, name):
			says = true
		case slices.Contains(errorMessages, name):
			message = true
		case slices.Contains(errorCodes, name):
			code = true
		case slices.Contains(errorBeside, name):
			beside = true
		default:
			return false
		}
	}
	return says || message && (code || !beside)
}

// unwrap makes the result yield only its rows, one per line, if they are inside an object.
func (r *result) unwrap(call jobCall) {
	field, ok := call.d.Envelope(call.job.Dataset)
	if !ok {
		return
	}
	r.wrapped = &wrapped{Envelope: rows.NewEnvelope(r.MaskReader, field), call: call, result: r}
}

// Read gives the rows of the result, as the service writes them or out of their object.
func (r *result) Read(p []byte) (int, error) {
	if r.wrapped != nil {
		return r.wrapped.Read(p)
	}
	if r.rows != nil {
		return r.rows.Read(p)
	}
	return r.MaskReader.Read(p)
}

// maxInPlace bounds an answer that tells the state of a job in place of its rows, in bytes.
const maxInPlace = 2 << 10

// begin looks at the beginning of rows. Where something else came, it closes the result and says what.
func (r *result) begin(call jobCall) (err error) {
	if r.wrapped != nil {
		return nil
	}
	r.rows = bufio.NewReaderSize(r.MaskReader, maxInPlace)
	head, end := r.rows.Peek(maxInPlace) // another error than an end comes again
	p, is := dialect.Progress{}, false
	if errors.Is(end, io.EOF) {
		p, is = call.d.InPlaceOfRows(head)
	}
	switch packed := model.Packed(head); {
	case packed != "":
		err = unusable("is %s, and not NDJSON", packed)
	case is && p.State == model.JobReady:
		err = &noResultError{text: "tells the state of the job in place of its rows: " + p.Wire}
	case is:
		err = call.noRows(p)
	default:
		return nil
	}
	r.close()
	return err
}

// noRows is why a job that has failed or is not over gives no rows.
func (call jobCall) noRows(p dialect.Progress) error {
	text := joinText(p.Wire, p.Detail)
	if p.State == model.JobFailed || p.State == model.JobCanceled {
		return &noResultError{text: "has no result: " + text, outcome: model.Outcome{ServiceText: text}}
	}
	return fmt.Errorf("job %s: %w", call.job.ID, &notReadyError{Text: text})
}

// wrapped are rows in an object that also says whether they are complete.
type wrapped struct {
	*rows.Envelope
	call   jobCall
	result *result
}

// Read ends with an error unless the object is whole and says that the job is over.
func (w *wrapped) Read(p []byte) (int, error) {
	n, err := w.Envelope.Read(p)
	var row *rows.RecordsError
	switch { // no row comes with an error
	case errors.Is(err, io.EOF):
		return 0, w.endOfResult()
	case err == io.ErrUnexpectedEOF: //nolint:errorlint // a reader's error that wraps it says more
		return 0, w.result.brokeOff(err)
	case errors.As(err, &row):
		return 0, unusable("is not an object with rows: %s", row.Error())
	}
	return n, err
}

// endOfResult is io.EOF if the job has ended with a result, or else says why there is none.
func (w *wrapped) endOfResult() error {
	if w.call.rn == nil { // the rows came as the answer to a trigger
		return io.EOF
	}
	p, err := w.progress()
	switch {
	case err != nil:
		return unusable("%s", err)
	case p.State == model.JobReady, p.State == model.JobCanceled && w.Rows > 0:
		return io.EOF
	}
	return w.call.noRows(p)
}

func (w *wrapped) progress() (dialect.Progress, error) {
	return w.call.d.ReadProductProgress(w.call.job.Dataset, w.Fields, w.Rows)
}

// readProgress reads an answer to a question for a job's state. That of a product may hold its
// whole result, which is skipped. If the answer broke off, the error is an *exchange.Error.
func (call jobCall) readProgress(mask exchange.Mask, resp *http.Response) (dialect.Progress, error) {
	field, product := call.d.Envelope(call.job.Dataset)
	if !product {
		text, err := mask.ReadAnswer(resp, answerBytes)
		if err != nil {
			return dialect.Progress{}, err
		}
		return call.d.ReadProgress(text)
	}
	var came int64
	masked := mask.Reader(io.LimitReader(resp.Body, maxDownload))
	body := readerFunc(func(p []byte) (int, error) {
		n, err := masked.Read(p)
		came += int64(n)
		return n, err
	})
	w := wrapped{Envelope: rows.NewEnvelope(body, field), call: call}
	_, err := io.Copy(io.Discard, w.Envelope)
	switch row := (*rows.RecordsError)(nil); {
	case errors.As(err, &row):
		return dialect.Progress{}, err
	case err != nil:
		return dialect.Progress{}, exchange.BrokeOff(resp.StatusCode, came, err)
	}
	return w.progress()
}

// charge keeps what a result says that it cost.
func (p *partial) charge(w *wrapped) error {
	dollars, ok := w.call.d.Charged(w.call.job.Dataset, w.Fields)
	if !ok {
		return nil
	}
	p.state.Done[len(p.state.Done)-1].Charged = &dollars
	return p.writeState()
}

// account is the account of the rows. What the service says they cost takes precedence over the rate.
func (p *partial) account(of model.Profile) model.JobRows {
	out := p.rows.sum(of)
	if done := p.state.Done; out.Counted && len(done) == 1 && done[0].Charged != nil {
		out.Cost, out.Priced = *done[0].Charged, true
	}
	return out
}

// Records is a table of a job's first n records (at most 1,000, fewer if they are
// huge). It reads the downloaded file if that still has its size, or else asks the
// service, and reads no more than it needs. A record that is not an object becomes
// a row with the one column "value". Columns are in the order in which they first
// appear. Total is the number of records if the end was reached, or else -1.
//
// Errors: as Download, and a *rows.RecordsError when the file is not what it should
// be; the table then holds the records before, as with one of the service that cannot be read.
func (rn *Runner) Records(ctx context.Context, jobID string, n int) (model.RecordTable, error) {
	job, err := rn.Job(ctx, jobID)
	if err != nil {
		return model.RecordTable{Total: -1}, err
	}
	table := model.RecordTable{Total: -1}
	err = rn.readResult(ctx, job, func(from io.Reader, format string) (err error) {
		table, err = rows.ReadRecords(from, format, n)
		return err
	})
	return table, err
}

// readResult reads the rows of a job: of its file or, one a line, the service's.
func (rn *Runner) readResult(ctx context.Context, job model.Job, read func(from io.Reader, format string) error) error {
	f, err := keptResult(job)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
		return read(f, fileFormat(job))
	}
	if err := withoutResult(job); err != nil {
		return err
	}
	call, err := rn.callAbout(ctx, job)
	if err != nil {
		return err
	}
	// With one record per line, the first ones can be read without waiting for the rest. If the service sends an array all
	// the same, its elements are the records.
	stream, err := call.openResult(ctx, 0, 0)
	if err != nil {
		return call.unread(ctx, err)
	}
	defer stream.close()
	return call.unread(ctx, read(stream, "json"))
}

// unread is the error of rows that the service gave, and that could not be read.
func (call jobCall) unread(ctx context.Context, err error) error {
	doing := "reading the records of job " + call.job.ID
	var none *noResultError
	var broke *exchange.Error
	var row *rows.RecordsError
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &none):
		return none.fault(doing)
	case errors.As(err, &broke):
		return call.jobFault(ctx, doing, nil, err)
	case errors.As(err, &row):
		return call.jobFault(ctx, doing, nil, exchange.Unusable(err))
	}
	return err
}

// Missing is what is left of a job: the inputs that gave no data.
type Missing struct {
	// Request asks for these inputs alone.
	Request model.TriggerRequest
	// Inputs are the inputs of the job, Failed those that gave an error, Nothing those that
	// gave no row with data or an error.
	Inputs, Failed, Nothing int
	// Unmatched counts rows that belong to none of the inputs. If there are any, inputs of the rest may
	// have given data.
	Unmatched int
	// Lacking counts records that the service counted and that are not among the rows. Their inputs are in
	// the rest, and may have given data. See model.Job.
	Lacking int
}

// Missing compares a job's inputs with the rows of its result: the file that was downloaded,
// while it still has its size, else the service's.
//
// Errors: as Request and Download, and a *rows.RecordsError of the file.
func (rn *Runner) Missing(ctx context.Context, id string) (Missing, error) {
	r, err := rn.Request(ctx, id)
	if err != nil {
		return Missing{}, err
	}
	job, err := rn.Job(ctx, id)
	if err != nil {
		return Missing{}, err
	}
	match, asked := rows.NewMatch(r.Inputs), rows.NewAsked(r.Inputs)
	read := model.JobRows{Counted: true}
	err = rn.readResult(ctx, job, func(from io.Reader, format string) error {
		return rows.EachRow(from, format, func(row rows.Row) error {
			read.Returned++
			match.Row(asked.Judge(row))
			return context.Cause(ctx)
		})
	})
	if err != nil {
		return Missing{}, err
	}
	job.Rows = read
	out := Missing{Inputs: len(r.Inputs), Unmatched: match.Unmatched, Lacking: job.Lacking()}
	r.Inputs, out.Failed = match.Missing()
	out.Nothing = len(r.Inputs) - out.Failed
	out.Request = r
	return out, nil
}

// withoutResult refuses to ask for the result of a job that has none: the service's answer would only
// replace the reason why the job ended.
func withoutResult(job model.Job) error {
	if job.State != model.JobFailed && job.State != model.JobCanceled {
		return nil
	}
	why := ""
	if job.Detail != "" {
		why = " (" + job.Detail + ")"
	}
	return fmt.Errorf("job %s %s%s: %w", job.ID, job.State.Predicate(), why, ErrNoResult)
}

// fileFormat is the format of a job's file; if it is not known, the content decides.
func fileFormat(job model.Job) string {
	return cmp.Or(job.Rows.Format, strings.TrimPrefix(filepath.Ext(job.File), "."))
}

// keptResult is the file of a job's result if it still has its size, or nil.
func keptResult(job model.Job) (io.ReadCloser, error) {
	at, err := os.Stat(job.File)
	if err == nil && job.ResultHere() && at.Mode().IsRegular() && at.Size() == job.Bytes {
		f, err := os.Open(job.File)
		if err != nil {
			return nil, fmt.Errorf("records of job %s: %w", job.ID, err)
		}
		return f, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("records of job %s: %w", job.ID, err)
	}
	return nil, nil //nolint:nilnil // no file is no error
}
