package jobs

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

func TestDownloadIsWholeOrNotThere(t *testing.T) {
	const rows, records = `{"a":1}` + "\n" + `{"a":2}`, `[{"a":1},` + "\n" + `{"a":2}]`
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		check  func(error) bool
	}{
		{"whole", text(200, rows), func(err error) bool { return err == nil }},
		{"not ready", text(202, `{"status":"running","message":"Snapshot is not ready yet, try again in 10s"}`), func(err error) bool {
			var n *notReadyError
			return errors.Is(err, ErrNotReady) && errors.As(err, &n) && strings.Contains(n.Text, "try again in 10s")
		}},
		{"expired", text(400, "Snapshot is expired"), func(err error) bool {
			var d *exchange.CallError
			return errors.As(err, &d) && d.Text == "Snapshot is expired"
		}},
		{"breaks off", breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}\n{\"a\":"), func(err error) bool {
			var d *exchange.CallError
			return errors.As(err, &d) && strings.Contains(d.Text, "the answer broke off after 8 bytes") &&
				d.Diagnosis.Rule == "incomplete" && d.Diagnosis.Summary == "The body ended early, after 8 bytes."
		}},
		{"breaks off between chunks", breakAfter("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{}\n{\"a\":\r\n"), func(err error) bool {
			var d *exchange.CallError
			return errors.As(err, &d)
		}},
		{"no answer", breakAfter(""), func(err error) bool {
			var d *exchange.CallError
			return errors.As(err, &d)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl, _ := script(t, c.answer)
			accepted(t, cl)
			dir := t.TempDir()
			dest := filepath.Join(dir, "out.json")
			noerr.Must(t, os.WriteFile(dest, []byte("before"), 0o600))
			var last int64
			job, err := cl.Download(t.Context(), "job-1", Destination{File: dest, Replace: true}, func(p Progress) { last = p.Bytes })
			if !c.check(err) {
				t.Errorf("%v", err)
			}
			got, readErr := os.ReadFile(dest)
			noerr.Must(t, readErr)
			if err != nil && string(got) != "before" {
				t.Errorf("an attempt left %q", got)
			}
			if err == nil && (string(got) != records || job.State != model.JobDownloaded || job.Rows.Useful != 2 || job.File != dest || job.Bytes != int64(len(records)) || job.Records != 2 || last != int64(len(rows))) {
				t.Errorf("%q, %+v, last %d", got, job, last)
			}
			left := 1
			if strings.HasPrefix(c.name, "breaks off") {
				left = 3
				if kept, err := os.ReadFile(dest + ".part"); err != nil || string(kept) != "[{}" { // the row that came whole
					t.Errorf("kept %q, %v", kept, err)
				}
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != left {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

// TestAnAnswerThatIsNoResultReplacesNothing: its status is 200 all the same.
func TestAnAnswerThatIsNoResultReplacesNothing(t *testing.T) {
	const page = "\n<!doctype html><html><head><title>Sign in</title></head><body>Sign in to go on</body></html>"
	for _, c := range []struct {
		format, body, want string
		cause              model.Cause
	}{
		{"json", page, "Sign in", model.CauseNetwork},
		{"ndjson", page, "Sign in", model.CauseNetwork},
		{"csv", "\xef\xbb\xbf" + page, "Sign in", model.CauseNetwork},
		{"json", page + strings.Repeat(" ", 2*resultHead), "Sign in", model.CauseNetwork},
		{"json", "", "empty", model.CauseEmptyBody},
		{"csv", " \n", "empty", model.CauseEmptyBody},
		{"ndjson", strings.Repeat(" ", 2*resultHead), "blanks", model.CauseEmptyBody},
		{"json", `{"error":"Snapshot is gone","code":410}`, "Snapshot is gone", model.CauseServiceError},
		{"ndjson", `{"message":"Snapshot is empty"}` + "\n", "Snapshot is empty", model.CauseServiceError},
		{"csv", `{"status":"failed","message":"no"}`, "no", model.CauseServiceError},
		{"json", `{"timestamp":"2026-11-22","status":500,"error":"Internal Server Error","path":"/v3"}`, "Internal Server Error", model.CauseServiceError},
		{"ndjson", `{"type":"about:blank","title":"Gone","status":410,"Detail":"It was deleted"}`, "It was deleted", model.CauseServiceError},
		{"json", `{"success":false,"msg":"No such job","timestamp":"2026-11-22"}`, "No such job", model.CauseServiceError},
		{"csv", "a,b\n1,2\n", "line 1: a,b", model.CauseNetwork},
		{"json", `[{"a":1}`, "line 1", model.CauseNetwork},
		{"ndjson", "{}\nService unavailable\n", "line 2", model.CauseNetwork},
	} {
		cl, _ := script(t, text(200, c.body))
		accepted(t, cl)
		dest := filepath.Join(t.TempDir(), "out."+c.format)
		noerr.Must(t, os.WriteFile(dest, []byte("before"), 0o600))
		job, err := cl.Download(t.Context(), "job-1", Destination{File: dest, Replace: true}, nil)
		var d *exchange.CallError
		if !errors.As(err, &d) || d.Diagnosis.Class != model.ClassOutside || d.Diagnosis.Cause != c.cause || !strings.Contains(d.Text, c.want) || job.File != "" {
			t.Errorf("%s %.60q: %+v, %v", c.format, c.body, job, err)
		}
		if b, err := os.ReadFile(dest); err != nil || string(b) != "before" {
			t.Errorf("%s %.60q: the file holds %q, %v", c.format, c.body, b, err)
		}
	}
}

func TestAResultMayLookOdd(t *testing.T) {
	long := `{"text":"` + strings.Repeat("x", 2*resultHead) + `"}`
	const dead, lamp = `{"error":"dead page","input":{"url":"http://lab.test/"}}`, `{"title":"Lamp","detail":"Brass","timestamp":"2026-11-22"}`
	for _, c := range []struct{ format, body, want string }{
		{"json", "[]", "[]"},
		{"json", "\xef\xbb\xbf [1]\n", "[1]"},
		{"json", "[" + long + "]", "[" + long + "]"},
		{"json", long + "\r\n\n{}", "[" + long + ",\n{}]"},
		{"ndjson", long + "\n{}\n", long + "\n{}\n"},
		{"json", dead, "[" + dead + "]"},
		{"ndjson", lamp, lamp + "\n"}, // the last row ends, too
		{"csv", dead + "\n" + lamp, "error,input,title,detail,timestamp\ndead page,\"{\"\"url\"\":\"\"http://lab.test/\"\"}\",,,\n,,Lamp,Brass,2026-11-22\n"},
		{"csv", "{}\n{}\n", ""},
	} {
		cl, _ := script(t, text(200, c.body))
		accepted(t, cl)
		dest := filepath.Join(t.TempDir(), "out."+c.format)
		if _, err := cl.Download(t.Context(), "job-1", Destination{File: dest, Replace: true}, nil); err != nil {
			t.Errorf("%s %.60q: %v", c.format, c.body, err)
		}
		if b, err := os.ReadFile(dest); err != nil || string(b) != c.want {
			t.Errorf("%s %.60q: the file holds %.80q, %v", c.format, c.body, b, err)
		}
	}
}

func TestWhereADownloadGoes(t *testing.T) {
	var format atomic.Value
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		format.Store(r.URL.Query().Get("format"))
		text(200, "{}\n")(w, r)
	})
	cl.cfg.DownloadsDir = filepath.Join(t.TempDir(), "downloads")
	accepted(t, cl)
	folder := t.TempDir()
	for _, c := range []struct{ name, format, dest, want string }{
		{"the default", "", "", filepath.Join(cl.cfg.DownloadsDir, "job-1_sd_1.json")},
		{"a format", "csv", "", filepath.Join(cl.cfg.DownloadsDir, "job-1_sd_1.csv")},
		{"a folder", "ndjson", folder, filepath.Join(folder, "job-1_sd_1.ndjson")},
		{"the name's ending", "", filepath.Join(folder, "x.CSV"), filepath.Join(folder, "x.CSV")},
		{"an ending of no format", "csv", filepath.Join(folder, "y.data"), filepath.Join(folder, "y.data")},
		{"the default for one", "", filepath.Join(folder, "z.data"), filepath.Join(folder, "z.data")},
	} {
		t.Run(c.name, func(t *testing.T) {
			job, err := cl.Download(t.Context(), "job-1", Destination{File: c.dest, Format: c.format}, nil)
			if err != nil || job.File != c.want || format.Load() != "ndjson" {
				t.Errorf("%s as %v, %v", job.File, format.Load(), err)
			}
			if at, err := os.Stat(c.want); err != nil || runtime.GOOS != "windows" && at.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", at, err)
			}
		})
	}
	var re *model.RequestError
	for _, to := range []Destination{{Format: "xml"}, {Format: "json", File: filepath.Join(folder, "y.csv")}, {Format: "csv", File: "y.jsonl"}} {
		if _, err := cl.Download(t.Context(), "job-1", to, nil); !errors.As(err, &re) || re.Field() != "format" {
			t.Errorf("%+v: %v", to, err)
		}
	}
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(folder, "no", "such", "folder.json")}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// To replace a file and to drop what lies beside it are two things: leave for one is none for
// the other.
func TestADownloadReplacesOnlyWhatItMay(t *testing.T) {
	for _, c := range []struct {
		may         Destination
		file, part  string // what becomes of them
		exists, odd bool   // is refused for the file, for the partial one
	}{
		{Destination{}, "before", "garbage", true, false},
		{Destination{Replace: true}, "before", "garbage", false, true},
		{Destination{DropPartial: true}, "before", "garbage", true, false},
		{Destination{Replace: true, DropPartial: true}, "[{}]", "", false, false},
	} {
		cl, asked := script(t, text(200, "{}"))
		accepted(t, cl)
		before := asked.Load()
		c.may.File = filepath.Join(t.TempDir(), "out.json")
		noerr.Must(t, errors.Join(os.WriteFile(c.may.File, []byte("before"), 0o600), os.WriteFile(c.may.File+".part", []byte("garbage"), 0o600)))
		_, err := cl.Download(t.Context(), "job-1", c.may, nil)
		var exists *ExistsError
		var odd *ForeignError
		if errors.As(err, &exists) != c.exists || errors.As(err, &odd) != c.odd {
			t.Errorf("%+v: %v", c.may, err)
		}
		file, _ := os.ReadFile(c.may.File)
		part, _ := os.ReadFile(c.may.File + ".part")
		if refused := asked.Load() == before; refused != (err != nil) || string(file) != c.file || string(part) != c.part {
			t.Errorf("%+v: %q and beside it %q; refused without a question: %t", c.may, file, part, refused)
		}
	}
}

// The name that the console chooses is no leave to replace what somebody put there.
func TestAFileOfTheFolderOfDownloadsIsReplacedOnlyAsItCame(t *testing.T) {
	cl, _ := script(t, text(200, "{}"))
	cl.cfg.DownloadsDir = t.TempDir()
	accepted(t, cl)
	job := noerr.Try(cl.Download(t.Context(), "job-1", Destination{}, nil)).Must(t)
	if _, err := cl.Download(t.Context(), "job-1", Destination{}, nil); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := os.WriteFile(job.File, []byte("[2]"), 0o600); err != nil { // of another size
		t.Fatal(err)
	}
	var exists *ExistsError
	if _, err := cl.Download(t.Context(), "job-1", Destination{}, nil); !errors.As(err, &exists) {
		t.Errorf("over what was changed: %v", err)
	}
	if err := os.WriteFile(job.File, []byte("[[]]"), 0o600); err != nil { // of the same size
		t.Fatal(err)
	}
	if _, err := cl.Download(t.Context(), "job-1", Destination{}, nil); !errors.As(err, &exists) {
		t.Errorf("over what was changed: %v", err)
	}
	if got, err := os.ReadFile(job.File); err != nil || string(got) != "[[]]" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := cl.Download(t.Context(), "job-1", Destination{Replace: true}, nil); err != nil {
		t.Errorf("with leave: %v", err)
	}
}

func TestRecordsComeFromTheServiceOrFromTheFile(t *testing.T) {
	var whole atomic.Bool
	cl, asked := script(t, func(w http.ResponseWriter, r *http.Request) {
		if whole.Load() {
			text(200, `{"from":"file"}`)(w, r)
			return
		}
		for i := 0; ; i++ { // without end: Records must read only what it needs
			if _, err := fmt.Fprintf(w, "{\"n\":%d}\n", i); err != nil {
				return
			}
		}
	})
	accepted(t, cl)
	table, err := cl.Records(t.Context(), "job-1", 3)
	if err != nil || len(table.Rows) != 3 || table.Rows[2][0] != "2" || table.Total != -1 {
		t.Fatalf("%+v, %v", table, err)
	}
	whole.Store(true)
	noerr.Must(t, noerr.From(cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "x.json")}, nil)))
	before := asked.Load()
	table, err = cl.Records(t.Context(), "job-1", 3)
	if err != nil || len(table.Rows) != 1 || table.Rows[0][0] != "file" || table.Total != 1 || asked.Load() != before {
		t.Errorf("%+v, %v", table, err)
	}
}

func TestADownloadThatTheLedgerCannotTakeSaysWhereItIs(t *testing.T) {
	var cl *Runner
	cl, _ = script(t, func(w http.ResponseWriter, r *http.Request) {
		_ = cl.cfg.Ledger.Close()
		text(200, "[1]")(w, r)
	})
	accepted(t, cl)
	dest := filepath.Join(t.TempDir(), "x.json")
	job, err := cl.Download(t.Context(), "job-1", Destination{File: dest, Replace: true}, nil)
	if err == nil || !strings.Contains(err.Error(), dest) || job.File != dest || job.Bytes != 3 {
		t.Errorf("%+v, %v", job, err)
	}
	if got, err := os.ReadFile(dest); err != nil || string(got) != "[1]" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNothingOfADownloadStays(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{"whole": text(200, "[1]"), "refused": text(400, "no")} {
		t.Run(name, func(t *testing.T) {
			var used context.Context
			cl, _ := script(t, answer)
			cl.cfg.Wire = exchange.New(exchange.Config{Connect: func(ctx context.Context, network, addr string) (net.Conn, error) {
				used = ctx
				return new(net.Dialer).DialContext(ctx, network, addr)
			}})
			accepted(t, cl)
			_, _ = cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "x.json")}, nil)
			if used.Err() == nil {
				t.Error("its context is still open")
			}
		})
	}
}

func TestAKeyThatAResultRepeatsIsMasked(t *testing.T) {
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		text(200, `{"seen":"`+r.Header.Get("Authorization")+`"}`)(w, r)
	})
	accepted(t, cl)
	want := "Bearer " + strings.Repeat("*", len(servicetest.KeyValue))
	table, err := cl.Records(t.Context(), "job-1", 3)
	if err != nil || len(table.Rows) != 1 || table.Rows[0][0] != want {
		t.Errorf("%+v, %v", table, err)
	}
	job := noerr.Try(cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "x.json")}, nil)).Must(t)
	if b, err := os.ReadFile(job.File); err != nil || string(b) != `[{"seen":"`+want+`"}]` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestNoSpellingOfAKeyIsWrittenDown(t *testing.T) {
	escaped := strings.NewReplacer("4", `\u0034`, "a", `\u0061`).Replace(servicetest.KeyValue)
	for name, spelled := range map[string]string{
		"escapes": escaped, "base64": base64.StdEncoding.EncodeToString([]byte(servicetest.KeyValue)),
		"hex": hex.EncodeToString([]byte(servicetest.KeyValue)),
	} {
		said := `{"message":"` + spelled + `"}`
		cl, _ := script(t, text(400, said), text(200, `{"status":"failed","error":"`+spelled+`"}`))
		accepted(t, cl)
		dest := filepath.Join(t.TempDir(), "x.json")
		_, err := cl.Download(t.Context(), "job-1", Destination{File: dest, Replace: true}, nil)
		if err == nil || !strings.Contains(err.Error(), "***") || strings.Contains(err.Error(), spelled) {
			t.Errorf("%s: the refusal says %v", name, err)
		} else {
			servicetest.NoSecret(t, name, err.Error())
		}
		job, err := cl.Watch(t.Context(), "job-1", nil)
		if err != nil || strings.Contains(job.Detail, spelled) || !strings.Contains(job.Detail, "***") {
			t.Errorf("%s: %+v, %v", name, job, err)
		}
		servicetest.NoSecret(t, name, job.Detail)
		cl, _ = script(t, text(200, `[{"input":1,"message":"`+spelled+`"}]`)) // a job that did not fail
		accepted(t, cl)
		noerr.Must(t, noerr.From(cl.Download(t.Context(), "job-1", Destination{File: dest, Replace: true}, nil)))
		if b, err := os.ReadFile(dest); err != nil || strings.Contains(string(b), spelled) || !strings.Contains(string(b), "***") {
			t.Errorf("%s: the file holds %s, %v", name, b, err)
		}
	}
}

func TestRecordsComeFromTheServiceOnceTheFileHasChanged(t *testing.T) {
	cl, asked := script(t, text(200, `{"from":"the service"}`))
	accepted(t, cl)
	dest := filepath.Join(t.TempDir(), "x.json")
	noerr.Must(t, noerr.From(cl.Download(t.Context(), "job-1", Destination{File: dest, Replace: true}, nil)))
	for name, change := range map[string]func() error{
		"another file": func() error {
			return os.WriteFile(dest, []byte(`{"from":"another job, which was downloaded later"}`), 0o600)
		},
		"a folder": func() error { return os.Mkdir(dest, 0o700) },
	} {
		noerr.Must(t, errors.Join(os.RemoveAll(dest), change()))
		before := asked.Load()
		table, err := cl.Records(t.Context(), "job-1", 3)
		if err != nil || len(table.Rows) != 1 || table.Rows[0][0] != "the service" || asked.Load() != before+1 {
			t.Errorf("%s: %+v, %v", name, table, err)
		}
	}
}

// A download that broke off says in the ledger how much came, and where that is.
func TestTheLedgerNamesWhatACutDownloadLeft(t *testing.T) {
	cl, _ := script(t, breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"n\":1}\n{\"n\""))
	accepted(t, cl)
	dest := filepath.Join(t.TempDir(), "out.ndjson")
	_, err := cl.Download(t.Context(), "job-1", Destination{File: dest}, nil)
	var kept *PartialError
	if !errors.As(err, &kept) {
		t.Fatal(err)
	}
	job := noerr.Try(cl.Job(t.Context(), "job-1")).Must(t)
	d, step := job.Fault.Diagnosis, job.Steps[len(job.Steps)-1].Text
	if d.Cause != model.CauseIncomplete || len(d.Steps) != 1 || d.Steps[0].Text != "ask again: the answer is not complete" || d.Summary != "The body ended early, after 12 bytes." {
		t.Errorf("%+v", d)
	}
	for _, e := range d.Evidence {
		if strings.Contains(e.Text, "target") {
			t.Errorf("%q of a call that has no target", e.Text)
		}
	}
	if !strings.Contains(step, "the answer broke off after 12 bytes") || !strings.Contains(step, "7 bytes are kept in "+dest+".part") {
		t.Errorf("%q", step)
	}
}

// So does an answer about a job's state.
func TestAnAnswerAboutAJobThatBreaksOffIsNone(t *testing.T) {
	cl, _ := script(t, breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"sta"))
	accepted(t, cl)
	call, err := cl.callFor(t.Context(), "job-1")
	noerr.Must(t, err)
	_, err = call.poll(t.Context())
	var d *exchange.CallError
	if !errors.As(err, &d) || d.Diagnosis.Summary != "The body ended early, after 5 bytes." || !strings.Contains(d.Text, "broke off after 5 bytes") {
		t.Errorf("%+v, %v", d, err)
	}
}

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
		said := "; the service counted 5 records, but 2 rows came: the answer may have been cut; it is not judged for drift"
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
