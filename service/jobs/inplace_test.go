package jobs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
)

func gzipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	noerr.Must(t, noerr.From(z.Write([]byte(s))))
	noerr.Must(t, z.Close())
	return b.String()
}

// What comes with status 200 in place of rows is neither a row nor a broken answer.
func TestAnAnswerInPlaceOfRowsIsCalledWhatItIs(t *testing.T) {
	for name, c := range map[string]struct {
		body, want string
		cause      model.Cause // "" for one that is not ready yet
	}{
		"building":                 {`{"status":"building"}`, "building", ""},
		"building, in words":       {`{"status":"building","message":"Snapshot is building, try again in 30s"}` + "\n", "try again in 30s", ""},
		"over several lines":       {"{\n \"status\": \"running\",\n \"snapshot_id\": \"sd_1\"\n}", "running", ""},
		"in a message alone":       {`{"message":"Snapshot is not ready yet, try again in 10s"}`, "not ready yet", ""},
		"text":                     {"Snapshot is not ready yet, try again in 10s", "Snapshot is not ready yet", ""},
		"JSON text":                {`"Snapshot is not ready"`, "Snapshot is not ready", ""},
		"the job has failed":       {`{"status":"failed","error_message":"Failed to trigger collector"}`, "Failed to trigger collector", model.CauseServiceError},
		"there are none":           {"Snapshot is empty", "Snapshot is empty", model.CauseServiceError},
		"a state without its rows": {`{"status":"ready","records":"2"}`, "tells the state of the job in place of its rows: ready", model.CauseEmptyBody},
		"a gzip file":              {gzipped(t, `{"a":1}`), "is compressed (gzip), and not NDJSON", model.CauseNetwork},
		"a brotli file":            {"\x0b\x02\x80{\"a\":1}\x03\xff\xfe", "is binary, as what is compressed with brotli is, and not NDJSON", model.CauseNetwork},
	} {
		t.Run(name, func(t *testing.T) {
			cl, _ := script(t, text(200, c.body))
			accepted(t, cl)
			file := filepath.Join(t.TempDir(), "out.json")
			_, err := cl.Download(t.Context(), "job-1", Destination{File: file}, nil)
			_, missing := os.Stat(file)
			_, seen := cl.Records(t.Context(), "job-1", 10)
			for doing, err := range map[string]error{"downloading": err, "reading": seen} {
				var fault *exchange.CallError
				if errors.As(err, &fault) != (c.cause != "") || errors.Is(err, ErrNotReady) != (c.cause == "") || !strings.Contains(err.Error(), c.want) || fault != nil && fault.Diagnosis.Cause != c.cause {
					t.Errorf("%s: %v", doing, err)
				}
			}
			if missing == nil {
				t.Error("it left a file")
			}
		})
	}
}

func TestARowMayHaveAStateOrBeASentence(t *testing.T) {
	for _, body := range []string{
		`{"status":"building","title":"a row"}`, `{"status":"for sale","message":"x","records":1}`, `{"status":"ready","id":7}`, `{"records":"12"}`,
		`{"status":"building"}` + "\n" + `{"status":"running"}`, `["not ready"]`, `"it is over"`, `7`,
	} {
		cl, _ := script(t, text(200, body))
		accepted(t, cl)
		if job, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.json")}, nil); err != nil || job.Rows.Returned == 0 {
			t.Errorf("%s: %+v, %v", body, job.Rows, err)
		}
	}
}

// Of a job without records no rows come: that is its result.
func TestAReadyJobWithoutRecordsHasAnEmptyResult(t *testing.T) {
	for body, want := range map[string]string{"": "[]", " \n": "[]", "[]": "[]"} {
		cl, _ := script(t, text(200, body))
		accepted(t, cl)
		changed(t, cl, "job-1", func(job *model.Job) { job.State, job.Records = model.JobReady, 0 })
		file := filepath.Join(t.TempDir(), "out.json")
		job, err := cl.Download(t.Context(), "job-1", Destination{File: file}, nil)
		if got, _ := os.ReadFile(file); err != nil || string(got) != want || job.State != model.JobDownloaded || !job.Rows.Counted || job.Rows.Returned != 0 {
			t.Errorf("%q: %q, %+v, %v", body, got, job, err)
		}
	}
}

func TestASentenceAboutAJobIsItsState(t *testing.T) {
	for body, want := range map[string]model.JobState{
		"Snapshot is not ready yet": model.JobRunning, `"Snapshot is building, try again in 30s"`: model.JobRunning, "Snapshot is empty": model.JobFailed,
		`{"status":"ready","records":"12","inputs":"3","inputs_done":null}`: model.JobReady,
	} {
		cl, _ := script(t, text(200, body))
		accepted(t, cl)
		p, err := noerr.Try(cl.callFor(t.Context(), "job-1")).Must(t).poll(t.Context())
		if err != nil || p.State != want || want == model.JobReady && (p.Records != 12 || p.Inputs != 3 || p.Done != -1) {
			t.Errorf("%s: %+v, %v", body, p, err)
		}
	}
}
