package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// maxKeptAnswer bounds the rows that come as the answer to a trigger, in bytes.
const maxKeptAnswer = 1 << 30

// withRows says why a job without an identifier is ready.
const withRows = "the service answered with the rows themselves"

// The endings of kept answers: one that is complete, whose rows are counted, and any other.
const (
	rowsSuffix   = ".rows"
	answerSuffix = ".answer"
)

// answerFile is where the answer to a job's trigger is kept, without its ending. The name has when the job was begun: the
// job of this number in a ledger that was made anew is another.
func (rn *Runner) answerFile(job model.Job) string {
	return filepath.Join(rn.cfg.Ledger.Path()+".answers", fmt.Sprintf("%s_%d", job.ID, job.Created.UnixMicro()))
}

// keepAnswer is the verdict on a success that names no job and is rows: head and what follows. They are on this disk,
// complete and read, before the job is called ready; what cannot be read as rows stays there, as a list of several
// identifiers does, and the job may have started. ok is false for any other answer.
func (rn *Runner) keepAnswer(ctx context.Context, l launch, resp *http.Response, head []byte, rest io.Reader) (v verdict, ok bool) {
	in, is := dialect.RowsInAnswer(resp.Header.Get("Content-Type"), head)
	if !is || errorShaped(bytes.TrimSpace(head)) {
		return v, false
	}
	v = verdict{state: model.JobMayHave, detail: fmt.Sprintf("HTTP %d without an identifier", resp.StatusCode)}
	file := rn.answerFile(l.job)
	var broken error
	from := io.LimitReader(io.MultiReader(bytes.NewReader(head), rest), maxKeptAnswer)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = textfile.WriteFunc(context.WithoutCancel(ctx), file+answerSuffix, func(w io.Writer) error {
			_, err := io.Copy(w, readerFunc(func(p []byte) (n int, err error) {
				if n, err = from.Read(p); err != nil && !errors.Is(err, io.EOF) {
					broken, err = err, io.EOF // what came is kept
				}
				return n, err
			}))
			return err
		})
	}
	if n, _ := rest.Read(make([]byte, 1)); n > 0 {
		broken = fmt.Errorf("it is longer than %d MiB", maxKeptAnswer>>20)
	}
	if err != nil {
		v.detail += fmt.Sprintf(", and the rows that came could not be kept: %v", err)
		return v, true
	}
	if in.Jobs {
		v.detail += ", but with identifiers or states in a list: the answer is in " + file + answerSuffix
		return v, true
	}
	if broken == nil {
		if v.rows, broken = rn.takeAnswer(file); broken == nil {
			return verdict{state: model.JobReady, detail: withRows, rows: v.rows}, true
		}
	}
	v.detail += ", and the rows that came are not whole: they are in " + file + answerSuffix
	return v, true
}

// takeAnswer names an answer that came whole as what it is, before the long count of its rows, and back if it has none:
// the next process counts it if this one dies meanwhile.
func (rn *Runner) takeAnswer(file string) (n int, err error) {
	if err = os.Rename(file+answerSuffix, file+rowsSuffix); err != nil {
		return 0, err
	}
	if n, err = rn.countAnswer(file + rowsSuffix); err != nil {
		err = errors.Join(err, os.Rename(file+rowsSuffix, file+answerSuffix))
	}
	return n, err
}

// countAnswer counts the rows of a kept answer.
func (rn *Runner) countAnswer(file string) (n int, err error) {
	from, err := openAnswer(file)
	if err != nil {
		return 0, err
	}
	defer from.close()
	err = rows.EachRow(from, "ndjson", func(rows.Row) error {
		n++
		return nil
	})
	return n, err
}

// openAnswer reads the rows of a kept answer, one a line.
func openAnswer(file string) (*result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(f, answerBytes))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	res := &result{body: f, cancel: func() {}, stall: time.AfterFunc(downloadStall, func() {}), framed: true}
	res.MaskReader = exchange.MaskOf(keystore.Secret{}, exchange.Login{}).Reader(readerFunc(res.receive))
	switch in, _ := dialect.RowsInAnswer("", head); {
	case in.Array:
		const field = "rows"
		res.wrapped = &wrapped{Envelope: rows.NewEnvelope(io.MultiReader(strings.NewReader(`{"`+field+`":`), res.MaskReader, strings.NewReader("}")), field), result: res}
	case in.Field != "":
		res.wrapped = &wrapped{Envelope: rows.NewEnvelope(res.MaskReader, in.Field), result: res}
	}
	return res, nil
}

// openKept reads the rows that came as the answer to the job's trigger.
func (call jobCall) openKept() (*result, error) {
	file := call.rn.answerFile(call.job)
	res, err := openAnswer(file + rowsSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		res, err = openAnswer(file + answerSuffix)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, and they cannot be read: %w", withRows, err)
	}
	return res, nil
}

// recoverAnswers makes the jobs ready whose rows were kept by a process that died before the ledger had them, and
// puts them among the jobs that were settled. Of any other answer that it kept, they say where it is.
func (rn *Runner) recoverAnswers(ctx context.Context, settled []model.Job) ([]model.Job, error) {
	dir := rn.cfg.Ledger.Path() + ".answers"
	kept, _ := os.ReadDir(dir) // there is none until rows came as an answer
	for _, f := range kept {
		file := filepath.Join(dir, f.Name())
		id, _, _ := strings.Cut(f.Name(), "_")
		job, err := rn.Job(ctx, id)
		if err != nil || job.State != model.JobMayHave || job.Snapshot != "" || strings.Contains(job.Detail, file) {
			continue
		}
		v := verdict{state: model.JobReady, detail: withRows, at: rn.cfg.Now()}
		switch file {
		case rn.answerFile(job) + answerSuffix:
			v = verdict{state: model.JobMayHave, detail: joinText(job.Detail, "what came as the answer is in "+file)}
		case rn.answerFile(job) + rowsSuffix:
			if v.rows, err = rn.countAnswer(file); err != nil {
				rn.cfg.Log.Warn("the rows of an answer cannot be read", "file", file, "error", err)
				continue
			}
		default:
			continue // temporary, or of a ledger that is gone
		}
		job, err = rn.change(ctx, id, func(job *model.Job) (note, error) {
			switch {
			case job.State != model.JobMayHave:
				return note{}, nil
			case v.state == model.JobMayHave:
				job.Detail = v.detail
				return note{step: v.detail}, nil
			}
			job.Fault = model.JobFault{}
			return v.apply(job)
		})
		if err != nil {
			return settled, err
		}
		settled = append(slices.DeleteFunc(settled, func(j model.Job) bool { return j.ID == id }), job)
	}
	return settled, nil
}
