package jobs

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

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
	return r.MaskReader.Read(p)
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
	switch {
	case errors.Is(err, io.EOF):
		return n, w.over()
	case err == io.ErrUnexpectedEOF: //nolint:errorlint // a reader's error that wraps it says more
		return n, w.result.brokeOff(err)
	case errors.As(err, &row):
		return n, unusable("is not an object with rows: %s", row.Error())
	}
	return n, err
}

// over is io.EOF if the job has ended with a result, or else says why there is none.
func (w *wrapped) over() error {
	p, err := w.progress()
	switch {
	case err != nil:
		return unusable("%s", err)
	case p.State == model.JobReady, p.State == model.JobCanceled && w.Rows > 0:
		return io.EOF
	case p.State == model.JobFailed, p.State == model.JobCanceled:
		text := joinText(p.Wire, p.Detail)
		return &noResultError{text: "has no result: " + text, outcome: model.Outcome{ServiceText: text}}
	default:
		return fmt.Errorf("job %s: %w", w.call.job.ID, &NotReadyError{Text: joinText(p.Wire, p.Detail)})
	}
}

func (w *wrapped) progress() (dialect.Progress, error) {
	return w.call.d.ReadProductProgress(w.call.job.Dataset, w.Beside, w.Rows)
}

// readProgress reads an answer to a question for a job's state. That of a product may hold its
// whole result, which is skipped. If the answer broke off, the error is an *exchange.Error.
func (j jobCall) readProgress(mask exchange.Mask, resp *http.Response) (dialect.Progress, error) {
	field, product := j.d.Envelope(j.job.Dataset)
	if !product {
		text, err := mask.ReadAnswer(resp, answerBytes)
		if err != nil {
			return dialect.Progress{}, err
		}
		return j.d.ReadProgress(text)
	}
	var came int64
	masked := mask.Reader(io.LimitReader(resp.Body, maxDownload))
	body := readerFunc(func(p []byte) (int, error) {
		n, err := masked.Read(p)
		came += int64(n)
		return n, err
	})
	w := wrapped{Envelope: rows.NewEnvelope(body, field), call: j}
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
	dollars, ok := w.call.d.Charged(w.call.job.Dataset, w.Beside)
	if !ok {
		return nil
	}
	p.state.Done[len(p.state.Done)-1].Charged = &dollars
	return p.writeState()
}

// account is the account of the rows. What the service says they cost takes precedence over the rate.
func (p *partial) account(of config.Profile) model.JobRows {
	out := p.rows.sum(of)
	if done := p.state.Done; out.Counted && len(done) == 1 && done[0].Charged != nil {
		out.Cost, out.Priced = *done[0].Charged, true
	}
	return out
}
