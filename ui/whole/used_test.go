package whole

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/journal"
	"zonedeck/service/ledger"
)

// What a home holds after long use; the figures of docs/performance.md are
// measured on it.
const (
	usedFetches = 10_000
	usedJobs    = 1_000
	usedBody    = 100 << 20 // bytes of the newest fetch's body
)

// bodyWord stands in one line of the large body.
const bodyWord = "needle"

// folders are the program's folders below dir, as environment gives them.
func folders(dir string) config.Paths {
	env := map[string]string{}
	for _, pair := range environment(dir) {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return config.FindPaths(func(name string) string { return env[name] })
}

// usedHome fills dir as long use would, through the journal the program uses:
// 10,000 fetches, the newest with a body of 100 MB on disk, and 1,000 jobs
// of up to six steps, all ended, so that none asks the emulator. It returns
// how many lines the body has.
func usedHome(tb testing.TB, dir string) (lines int) {
	tb.Helper()
	paths := folders(dir)
	noerr.Must(tb, paths.Ensure())
	noerr.Must(tb, os.MkdirAll(paths.BodiesDir(), 0o700))
	now := time.Now()
	clock := now.Add(-usedJobs * time.Minute)
	j, _, err := journal.Open(tb.Context(), paths.JournalFile(), func() time.Time { return clock })
	noerr.Must(tb, err)
	l, _, err := ledger.Open(tb.Context(), paths.LedgerFile(), func() time.Time { return clock })
	noerr.Must(tb, err)
	for i := range usedJobs {
		clock = now.Add(time.Duration(i-usedJobs) * time.Minute)
		noerr.Must(tb, usedJob(tb.Context(), l, i))
	}
	noerr.Must(tb, l.Close())
	file := filepath.Join(paths.BodiesDir(), "large.body")
	lines, size, err := largeBody(file)
	noerr.Must(tb, err)
	for i := range usedFetches {
		r := usedFetch(i, now.Add(time.Duration(i-usedFetches)*time.Minute))
		if i == usedFetches-1 {
			r.Body = model.BodyRef{File: file, Size: size}
			r.Request.URL = "http://lab.test/large"
			r.Diagnosis = model.Diagnosis{Class: model.ClassOK, Summary: "the page came"}
		}
		noerr.Must(tb, j.PutFetch(tb.Context(), model.LocalName, r))
	}
	noerr.Must(tb, j.Close())
	return lines
}

func usedFetch(i int, at time.Time) model.FetchResult {
	classes := model.Classes()
	class := classes[i%len(classes)]
	body := []byte(strings.Repeat("<p>a page of the lab, as it came</p>\n", 20))
	return model.FetchResult{
		ID: fmt.Sprintf("f_used_%d", i), KeyName: "batch-user", Started: at,
		Request: model.FetchRequest{
			Zone: model.Zone{Name: "unlocker_demo", Product: model.ProductUnlocker},
			URL:  fmt.Sprintf("http://lab.test/product/%d", i), Via: model.ViaAPI, Format: model.FormatRaw,
		},
		Status: 200, ServiceStatus: 200, ContentType: "text/html", Exit: "127.0.0.9",
		Header:    map[string][]string{"Content-Type": {"text/html"}, "X-Brd-Ip": {"127.0.0.9"}},
		Body:      model.BodyRef{Bytes: body, Size: int64(len(body))},
		Timing:    model.Timing{DNS: -1, Total: 412 * time.Millisecond},
		Attempts:  []model.Attempt{{N: 1, Class: class, Status: 200, Total: 412 * time.Millisecond}},
		Diagnosis: model.Diagnosis{Class: class, Summary: "what the answer shows"},
	}
}

func usedJob(ctx context.Context, l *ledger.Ledger, i int) error {
	job, err := l.Begin(ctx, model.Job{Profile: model.LocalName, Dataset: "gd_products", KeyName: "batch-user", Inputs: 200}, "", nil, nil)
	if err != nil {
		return err
	}
	steps := []model.JobState{model.JobSending, model.JobAccepted, model.JobRunning, model.JobRunning, model.JobReady}
	switch i % 5 {
	case 0:
		steps[4] = model.JobFailed
	case 1:
		steps[4] = model.JobCanceled
	case 2:
		steps = []model.JobState{model.JobSending, model.JobMayHave}
	}
	for _, state := range steps {
		_, err = l.Change(ctx, job.ID, func(job *model.Job) (string, error) {
			job.State = state
			if state != model.JobSending && state != model.JobMayHave {
				job.Snapshot, job.Done, job.Records = fmt.Sprintf("sd_used_%d", i), 200, 200
			}
			return "a step of job " + job.ID, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// largeBody writes an HTML page of 100 MB with one line that holds bodyWord.
func largeBody(path string) (lines int, size int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, 0, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for size < usedBody {
		lines++
		word := "fox"
		if lines == 700_000 {
			word = bodyWord
		}
		n, err := fmt.Fprintf(w, "<p class=\"row\" id=\"r%d\">the quick brown %s jumps over the lazy dog, again and again</p>\n", lines, word)
		if err != nil {
			return 0, 0, errors.Join(err, f.Close())
		}
		size += int64(n)
	}
	return lines, size, errors.Join(w.Flush(), f.Close())
}
