package jobs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// fetchResult downloads a result into its file. What it returns is locked, and its Kept says what became
// of it. The caller ends it once that is recorded.
func (call jobCall) fetchResult(ctx context.Context, to Destination, on func(Progress)) (*partial, error) {
	p, err := openPartial(to.File, to.Format, partState{Version: 1, Place: place(call.p), Snapshot: cmp.Or(call.job.Snapshot, call.job.ID)}, to.DropPartial, tally{d: call.d, dataset: call.job.Dataset, asked: call.rn.asked(ctx, call.job)})
	var foreign *ForeignError
	if errors.As(err, &foreign) { // of two questions, that about the finished file comes first
		err = cmp.Or(free(to), err)
	}
	if err != nil {
		return nil, fmt.Errorf("downloading the results of job %s: %w", call.job.ID, err)
	}
	if err := errors.Join(p.Sweep(to.File), p.Sweep(to.File+stateSuffix)); err != nil {
		call.rn.cfg.Log.Warn("a temporary file of a killed download stays", "error", err)
	}
	if p.became(ctx, to) {
		on(Progress{Note: to.File + " is whole already: an earlier download ended before it was written down", Bytes: p.state.File.Bytes, Part: p.state.Parts, Parts: p.state.Parts})
		return p, nil
	}
	if err := cmp.Or(context.Cause(ctx), free(to)); err != nil {
		return nil, errors.Join(err, p.unused())
	}
	err = call.goOn(ctx, p, on)
	if err == nil {
		err = call.fetchParts(ctx, p, on)
		p.sync.running.Wait()
	}
	if err == nil {
		if err = p.finish(ctx, to, p.account(call.p), on); err == nil {
			return p, nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, p.leave(call.resultFault(ctx, err))
}

// resultFault is the error of a download, by what was wrong with what came.
func (call jobCall) resultFault(ctx context.Context, err error) error {
	doing := "downloading the results of job " + call.job.ID
	var none *noResultError
	var broke *exchange.Error
	var fault *exchange.CallError
	switch {
	case ctx.Err() != nil, errors.As(err, &fault), errors.Is(err, ErrNotReady):
		return err
	case errors.As(err, &none):
		return none.fault(doing)
	case errors.As(err, &broke):
		return call.jobFault(ctx, doing, nil, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// free reports whether the file of a download may be written.
func free(to Destination) error {
	_, err := os.Lstat(to.File)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && to.Replace:
		return nil
	case err == nil:
		return &ExistsError{File: to.File}
	}
	return err
}

// goOn determines in how many parts the result comes, and which of them are there.
func (call jobCall) goOn(ctx context.Context, p *partial, on func(Progress)) error {
	info, err := p.Stat()
	if err != nil {
		return err
	}
	known := p.state
	if len(known.Done) > 0 {
		if err := p.check(ctx, on); err != nil {
			return err
		}
	}
	there := len(p.state.Done)
	if p.state.whole() {
		on(Progress{Bytes: p.size, Part: there, Parts: there, Note: "all of the result is in " + p.Name() + " already: nothing is asked for again"})
		return nil
	}
	size := known.Rows
	if size == 0 && !call.job.InAnswer() {
		size = call.d.PartRows(call.job.Dataset, call.job.Records)
	}
	parts := 1
	if size > 0 {
		if parts, err = call.askParts(ctx, size); err != nil {
			return err
		}
	}
	if parts == 1 {
		size = 0
	}
	switch {
	case there > 0 && known.Rows == size && known.Parts == parts:
		text := fmt.Sprintf("goes on with %s: %d of %d parts are there", p.Name(), there, parts)
		if lost := len(known.Done) - there; lost > 0 {
			text += fmt.Sprintf("; %d more are damaged and come again", lost)
		}
		on(Progress{Bytes: p.size, Part: there + 1, Parts: parts, Note: text})
		return nil
	case there > 0:
		on(Progress{Part: 1, Parts: parts, Note: fmt.Sprintf("begins again: the service now gives the result in %d parts, and not in %d", parts, known.Parts)})
	case info.Size() > 0 && size == 0:
		on(Progress{Part: 1, Parts: parts, Note: fmt.Sprintf("begins again: the service gives this result only whole, and the %d bytes in %s are not all of it", info.Size(), p.Name())})
	case info.Size() > 0:
		on(Progress{Part: 1, Parts: parts, Note: fmt.Sprintf("begins again: %s holds no whole part of %d", p.Name(), parts)})
	}
	if err := p.restart(size, parts); err != nil {
		return err
	}
	return p.writeState()
}

// askParts asks how many parts of so many rows a result has; 1 if the service does not offer parts.
func (call jobCall) askParts(ctx context.Context, size int) (int, error) {
	stream, err := call.open(ctx, call.paths.Parts, call.d.ResultQuery(call.job.Dataset, size, 0))
	if err != nil {
		return 1, notOffered(err)
	}
	defer stream.close()
	body, err := io.ReadAll(io.LimitReader(stream, answerBytes))
	if n, ok := call.d.PartCount(body); ok && err == nil {
		return n, nil
	}
	return 1, err
}

// notOffered is nil for a refusal that the request for the result would meet as well, or that says that
// there are no parts: the answer to that request decides then.
func notOffered(err error) error {
	var fault *exchange.CallError
	if errors.Is(err, ErrNotReady) {
		return nil
	}
	if !errors.As(err, &fault) || fault.Status < http.StatusBadRequest || fault.Status >= http.StatusInternalServerError {
		return err
	}
	switch fault.Status {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return err
	}
	return nil
}

// fetchParts asks for the missing parts, one after the other.
func (call jobCall) fetchParts(ctx context.Context, p *partial, on func(Progress)) error {
	for !p.state.whole() {
		part, before := len(p.state.Done)+1, p.size
		asked := part
		if p.state.Rows == 0 {
			asked = 0
		}
		told := func(n int64) { on(Progress{Bytes: before + n, Part: part, Parts: p.state.Parts}) }
		if err := call.fetchPart(ctx, p, asked, told); err != nil {
			return err
		}
	}
	return nil
}

func (call jobCall) fetchPart(ctx context.Context, p *partial, part int, on func(int64)) error {
	stream, err := call.openResult(ctx, p.state.Rows, part)
	if err != nil {
		return err
	}
	defer stream.close()
	gate := &resultGate{w: p, empty: stream.wrapped != nil || call.job.Records == 0, later: part > 1 || call.job.InAnswer(), unframed: !stream.framed}
	if _, err = stream.copyTo(gate, min(maxAnswer, maxDownload-p.size), on); err == nil {
		err = gate.finish(true)
	} else {
		err = errors.Join(err, gate.cut())
	}
	if err == nil {
		err = p.endPart(stream.framed)
	}
	if err == nil && stream.wrapped != nil {
		err = p.charge(stream.wrapped)
	}
	if errors.Is(err, errCutRow) {
		err = stream.brokeOff(err)
	}
	return err
}

// became reports whether the file is there already, because a download that was killed had written all
// of it.
func (p *partial) became(ctx context.Context, to Destination) bool {
	k := p.state.File
	return k != nil && k.Format == to.Format && k.Raw == to.RawCells && fileIs(ctx, to.File, k.Bytes, k.SHA256)
}

// finish makes the file of the rows, which are complete, and moves it into place.
func (p *partial) finish(ctx context.Context, to Destination, counted model.JobRows, on func(Progress)) error {
	counted.Format = to.Format
	if err := p.checkContent(ctx, on); err != nil {
		return err
	}
	if to.Format != "csv" {
		err := p.append(p.join.End(nil))
		if err == nil {
			err = p.placeable(to, counted, &p.summed)
		}
		if err == nil {
			err = p.Keep(filepath.Base(to.File))
		}
		return err
	}
	t, err := textfile.NewTemp(to.File)
	if err != nil {
		return err
	}
	sum := &summed{f: t.File, sum: sha256.New()}
	err = p.table(ctx, sum, to.RawCells, on)
	sum.sync.running.Wait()
	if err == nil {
		err = p.placeable(to, counted, sum)
	}
	if err == nil {
		err = t.Keep()
	}
	return errors.Join(err, t.Discard())
}

// placeable writes down what is about to be moved into place, and says why it may not be.
func (p *partial) placeable(to Destination, counted model.JobRows, sum *summed) error {
	p.state.File = &keptFile{Format: to.Format, Raw: to.RawCells, Rows: counted, Bytes: sum.size, SHA256: hex.EncodeToString(sum.sum.Sum(nil))}
	if err := p.writeState(); err != nil {
		return err
	}
	return free(to)
}

// errNotAlone is the error of two downloads to one file.
var errNotAlone = errors.New("another download writes to the same file")

// checkContent compares what the file holds with what came, if no lock kept others from writing to it.
func (p *partial) checkContent(ctx context.Context, on func(Progress)) error {
	if p.Exclusive {
		return nil
	}
	before := p.sum.Sum(nil)
	err := p.rehash(ctx, on)
	if err == nil || errors.Is(err, io.EOF) {
		if bytes.Equal(p.sum.Sum(nil), before) {
			return nil
		}
		p.state.Done = nil
		err = errors.Join(fmt.Errorf("%s: %w", p.Name(), errNotAlone), p.writeState())
	}
	return err
}

// table writes the rows as CSV.
func (p *partial) table(ctx context.Context, w io.Writer, raw bool, on func(Progress)) error {
	from := p.reads(ctx, "writing csv", on)
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	defused, err := rows.WriteCSV(w, from, raw)
	if defused > 0 {
		on(Progress{Bytes: p.size, Part: p.state.Parts, Parts: p.state.Parts, Note: fmt.Sprintf("%d cells that a spreadsheet takes for formulas got an apostrophe before them; raw cells leave them as they are", defused)})
	}
	if errors.Is(err, rows.ErrTooWide) {
		return fmt.Errorf("%w; %s has all rows as they came, which is NDJSON", err, p.Name())
	}
	return err
}

// end removes what the download kept beside its file.
func (p *partial) end() error { return errors.Join(p.Discard(), p.dropState()) }

// unused closes a partial file that was not used.
func (p *partial) unused() error {
	if info, err := p.Stat(); err == nil && info.Size() == 0 && p.state.File == nil {
		return p.Discard()
	}
	return p.Leave()
}
