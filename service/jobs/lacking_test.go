package jobs

import (
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/model"
)

// An answer without a length that ends between two rows looks whole: what the service counted says that it is not, and
// an input whose row was cut off is none that gave nothing.
func TestRecordsThatWereCountedAndDidNotComeAreSaid(t *testing.T) {
	const rows = "{\"input\":{\"url\":\"http://lab.test/1\"},\"a\":1}\n{\"input\":{\"url\":\"http://lab.test/2\"},\"error\":\"x\"}\n"
	short := breakAfter("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + rows)
	for counted, want := range map[string]int{"5": 3, "2": 0, "1": 0} {
		cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`), text(200, `{"status":"ready","records":`+counted+`}`), short)
		job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1", "http://lab.test/2", "http://lab.test/3"))
		cl.cfg.Coverages = coverages(func(model.Job) Coverage { return &seenRows{} })
		if err == nil {
			job, err = cl.Watch(t.Context(), job.ID, nil)
		}
		if err != nil || job.State != model.JobReady || job.Lacking() != 0 {
			t.Fatalf("%+v, %v", job, err)
		}
		ask := func(from string) {
			t.Helper()
			if rest, err := cl.Missing(t.Context(), job.ID); err != nil || rest.Lacking != want || len(rest.Request.Inputs) != 2 {
				t.Errorf("%s counted, from %s: %+v, %v", counted, from, rest, err)
			}
		}
		ask("the service")
		job, err = cl.Download(t.Context(), job.ID, Destination{File: filepath.Join(t.TempDir(), "out.ndjson")}, nil)
		if err != nil || job.Lacking() != want || job.Rows.Returned != 2 {
			t.Fatalf("%s counted: %+v, %v", counted, job.Rows, err)
		}
		if billed, due := job.Rows.Billed, job.Rows.FieldsDue; want > 0 && (billed != -1 || due) || want == 0 && (billed != 1 || !due) {
			t.Errorf("%s counted: %d billed, fields due: %v", counted, billed, due)
		}
		said := "; the service counted 5 records, and 2 rows came: the answer may have been cut; it is not judged for drift"
		if last := job.Steps[len(job.Steps)-1].Text; strings.HasSuffix(last, said) != (want > 0) {
			t.Errorf("%s counted: %s", counted, last)
		}
		ask("the file")
		job.Dataset = string(model.ProductDeepLookup)
		if job.Lacking() != 0 {
			t.Error("what a product counts is taken for its rows")
		}
	}
}
