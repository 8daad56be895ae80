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

// The endings of kept answers: one that is complete and whose rows were read, and any other.
const (
	rowsSuffix   = ".rows"
	answerSuffix = ".answer"
)

// answerFile is where the answer to a job's trigger is kept, without its ending.
func (rn *Runner) answerFile(job string) string {
	return filepath.Join(rn.cfg.Ledger.Path()+".answers", job)
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
	file := rn.answerFile(l.job.ID)
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
	if v.rows, err = rn.countAnswer(file + answerSuffix); errors.Join(broken, err) != nil {
		v.detail += ", and the rows that came are not whole: they are in " + file + answerSuffix
		return v, true
	}
	if err := os.Rename(file+answerSuffix, file+rowsSuffix); err != nil {
		rn.cfg.Log.Warn("an answer keeps its name", "file", file+answerSuffix, "error", err)
	}
	return verdict{state: model.JobReady, detail: withRows, rows: v.rows}, true
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
	file := call.rn.answerFile(call.job.ID)
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
// puts them among the jobs that were settled.
func (rn *Runner) recoverAnswers(ctx context.Context, settled []model.Job) ([]model.Job, error) {
	kept, _ := filepath.Glob(rn.answerFile("*") + rowsSuffix)
	for _, file := range kept {
		id := strings.TrimSuffix(filepath.Base(file), rowsSuffix)
		job, err := rn.Job(ctx, id)
		if err != nil || job.State != model.JobMayHave || job.Snapshot != "" {
			continue
		}
		v := verdict{state: model.JobReady, detail: withRows, at: rn.cfg.Now()}
		if v.rows, err = rn.countAnswer(file); err != nil {
			rn.cfg.Log.Warn("the rows of an answer cannot be read", "file", file, "error", err)
			continue
		}
		job, err = rn.change(ctx, id, func(job *model.Job) (note, error) {
			if job.State != model.JobMayHave {
				return note{}, nil
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
