//go:build unix

package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// inParts is a service that has one job with a result of some parts. It holds or breaks what
// it is told to.
type inParts struct {
	mu    sync.Mutex
	parts []string
	asked []string // "parts", or the number of a part
	// hold is a part of which only the beginning comes; began says that it did. drop is one
	// whose connection breaks in the middle.
	hold, drop int
	began      chan struct{}
	none       int // the status for a question about the parts; 404: the result comes whole
}

// newParts has a result of parts with two rows each.
func newParts(n int) *inParts {
	s := &inParts{began: make(chan struct{}, 64)}
	for i := range n {
		s.parts = append(s.parts, fmt.Sprintf("{\"url\":\"https://example.com/%d\",\"n\":%d}\n{\"error\":\"x\",\"error_code\":\"dead_page\"}\n", i, i))
	}
	return s
}

func (s *inParts) set(change func(s *inParts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// seen are the questions since the last call.
func (s *inParts) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := strings.Join(s.asked, " ")
	s.asked = nil
	return out
}

func (s *inParts) all() string { return strings.Join(s.parts, "") }

func (s *inParts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"snapshot_id":"sd_1"}`)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	body, part := s.all(), 0
	switch {
	case strings.HasSuffix(r.URL.Path, "/parts"):
		s.asked = append(s.asked, "parts")
		if s.none != 0 {
			w.WriteHeader(s.none)
			return
		}
		_, _ = fmt.Fprintf(w, `{"parts":%d}`, len(s.parts))
		return
	case r.URL.Query().Has("part"):
		part, _ = strconv.Atoi(r.URL.Query().Get("part"))
		body = s.parts[part-1]
		s.asked = append(s.asked, strconv.Itoa(part))
	default:
		s.asked = append(s.asked, "whole")
	}
	hold, drop := s.hold > 0 && s.hold == max(part, 1), s.drop > 0 && s.drop == max(part, 1)
	if !hold && !drop {
		_, _ = io.WriteString(w, body)
		return
	}
	_, _ = io.WriteString(w, body[:len(body)/2]+strings.Repeat(" ", 2*resultHead)) // so that it is not only a head
	_ = http.NewResponseController(w).Flush()
	if drop {
		panic(http.ErrAbortHandler)
	}
	s.mu.Unlock()
	s.began <- struct{}{}
	<-r.Context().Done()
	s.mu.Lock()
}

// files are the names of a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries := noerr.Try(os.ReadDir(dir)).Must(t)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAKilledDownloadGoesOnWithThePartThatLacks(t *testing.T) {
	s := newParts(5)
	s.hold = 3
	p := servicetest.API(t, s.ServeHTTP)
	p.Local = true
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	noerr.Must(t, os.Mkdir(results, 0o700))
	_, kill := startVictim(t, "download", dir, p.BaseURL)
	select {
	case <-s.began:
	case <-time.After(2 * time.Minute): // ends a hang
		t.Fatal("the third part was not asked for")
	}
	l := ledgerIn(t, dir)
	c := newRunner(t, p, func(o *Config) { o.Ledger = l })
	dest := Destination{File: results, Format: "json"}
	if _, err := c.Download(t.Context(), "job-1", dest, nil); !errors.Is(err, textfile.ErrLocked) || !strings.Contains(err.Error(), "job-1_sd_1.json is being downloaded to already") {
		t.Errorf("beside one that is running: %v", err)
	}
	kill()
	if names := strings.Join(files(t, results), " "); names != "job-1_sd_1.json.part job-1_sd_1.json.part.json" {
		t.Errorf("the folder holds %s", names)
	}
	s.set(func(s *inParts) { s.hold = 0 })
	if asked := s.seen(); asked != "parts 1 2 3" {
		t.Errorf("asked for %s", asked)
	}
	var notes []string
	job, err := c.Download(t.Context(), "job-1", dest, func(p Progress) {
		if p.Note != "" {
			notes = append(notes, p.Note)
		}
	})
	if asked := s.seen(); err != nil || asked != "parts 3 4 5" || len(notes) != 1 || !strings.Contains(notes[0], "2 of 5 parts are there") {
		t.Errorf("asked for %s, %q, %v", asked, notes, err)
	}
	whole, err := os.ReadFile(job.File)
	sum := sha256.Sum256(whole)
	if want := "[" + strings.ReplaceAll(strings.TrimSpace(s.all()), "\n", ",\n") + "]"; err != nil || string(whole) != want || job.SHA256 != hex.EncodeToString(sum[:]) || job.Rows.Returned != 10 || job.Rows.Useful != 5 {
		t.Errorf("%s: %+v, %v", whole, job, err)
	}
	if names := files(t, results); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// partly downloads two parts of a job, and gives the error of the third.
func partly(t *testing.T, s *inParts, format string) (*Runner, Destination, *PartialError) {
	t.Helper()
	p := servicetest.API(t, s.ServeHTTP)
	p.Local = true
	j, _ := withLedger(t)
	cl := newRunner(t, p, j)
	accepted(t, cl)
	s.set(func(s *inParts) { s.drop = 3 })
	to := Destination{File: filepath.Join(t.TempDir(), "out."+format)}
	_, err := cl.Download(t.Context(), "job-1", to, nil)
	s.set(func(s *inParts) { s.drop = 0 })
	var kept *PartialError
	var fault *exchange.CallError
	if !errors.As(err, &kept) || !errors.As(err, &fault) || kept.File != to.File+".part" || !strings.Contains(err.Error(), "bytes are kept in "+kept.File) {
		t.Fatalf("%v", err)
	}
	s.seen()
	return cl, to, kept
}

func TestWhatIsKeptOfADownloadIsNotTakenForMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *inParts, kept string) error
		asked  string
		note   string
		fails  string
	}{
		"nothing happened": {nil, "parts 3 4 5", "2 of 5 parts are there", ""},
		"a part was changed": {func(_ *inParts, kept string) error {
			b, err := os.ReadFile(kept)
			b[len(newParts(1).parts[0])+3] ^= 1
			return errors.Join(err, os.WriteFile(kept, b, 0o600))
		}, "parts 2 3 4 5", "1 more are damaged", ""},
		"it was cut":           {func(_ *inParts, kept string) error { return os.Truncate(kept, 10) }, "parts 1 2 3 4 5", "holds no whole part", ""},
		"it was emptied":       {func(_ *inParts, kept string) error { return os.Truncate(kept, 0) }, "parts 1 2 3 4 5", "", ""},
		"it alone was removed": {func(_ *inParts, kept string) error { return os.Remove(kept) }, "parts 1 2 3 4 5", "", ""},
		"there are more parts now": {func(s *inParts, _ string) error {
			s.parts = append(s.parts, "{}\n")
			return nil
		}, "parts 1 2 3 4 5 6", "in 6 parts, and not in 5", ""},
		"there are no parts any more": {func(s *inParts, _ string) error {
			s.none = http.StatusNotFound
			return nil
		}, "parts whole", "in 1 parts, and not in 5", ""},
		"what is known of it is gone": {func(_ *inParts, kept string) error { return os.Remove(kept + ".json") }, "", "", "holds another result, one for another format, or none"},
		"what is known of it is garbage": {func(_ *inParts, kept string) error {
			return os.WriteFile(kept+".json", []byte("\x00{]"), 0o600)
		}, "", "", "holds another result, one for another format, or none"},
		"it is of another job": {func(_ *inParts, kept string) error {
			return os.WriteFile(kept+".json", []byte(`{"version":1,"snapshot":"sd_2","place":"the embedded emulator","parts":5,"done":[]}`), 0o600)
		}, "", "", "holds another result, one for another format, or none"},
		"the ends are nonsense": {func(_ *inParts, kept string) error {
			return os.WriteFile(kept+".json", []byte(`{"version":1,"snapshot":"sd_1","place":"the embedded emulator","rows":10000,"parts":5,"done":[{"end":-5,"sha256":""},{"end":99999999999}]}`), 0o600)
		}, "parts 1 2 3 4 5", "holds no whole part", ""},
		"more is done than there are parts": {func(_ *inParts, kept string) error {
			return os.WriteFile(kept+".json", []byte(`{"version":1,"snapshot":"sd_1","place":"the embedded emulator","rows":10000,"parts":0,"done":[{"end":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}`), 0o600)
		}, "parts 1 2 3 4 5", "in 5 parts, and not in 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newParts(5)
			cl, to, kept := partly(t, s, "ndjson")
			if kept.Parts != 2 || kept.Total != 5 || !strings.Contains(kept.Error(), "resumes after part 2 of 5") {
				t.Errorf("%+v", kept)
			}
			if c.change != nil {
				noerr.Must(t, c.change(s, kept.File))
			}
			var notes []string
			job, err := cl.Download(t.Context(), "job-1", to, func(p Progress) {
				if p.Note != "" {
					notes = append(notes, p.Note)
				}
			})
			var foreign *ForeignError
			if c.fails != "" {
				if !errors.As(err, &foreign) || !strings.Contains(err.Error(), c.fails) || s.seen() != "" {
					t.Errorf("%v", err)
				}
				to.DropPartial = true
				if job, err = cl.Download(t.Context(), "job-1", to, nil); err != nil {
					t.Fatal(err)
				}
			} else if asked := s.seen(); err != nil || asked != c.asked || !strings.Contains(strings.Join(notes, " "), c.note) {
				t.Errorf("asked for %s, %q, %v", asked, notes, err)
			}
			if whole, err := os.ReadFile(job.File); err != nil || string(whole) != s.all() {
				t.Errorf("%s, %v", whole, err)
			}
			if rows := strings.Count(s.all(), "\n"); job.Rows.Returned != rows {
				t.Errorf("%d rows of %d are counted", job.Rows.Returned, rows)
			}
			if names := files(t, filepath.Dir(to.File)); len(names) != 1 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

func TestAResultThatComesWholeBeginsAgain(t *testing.T) {
	s := newParts(5)
	cl := serving(t, s.ServeHTTP)
	accepted(t, cl)
	to := Destination{File: filepath.Join(t.TempDir(), "out.ndjson")}
	s.none = http.StatusInternalServerError
	if _, err := cl.Download(t.Context(), "job-1", to, nil); err == nil || s.seen() != "parts" {
		t.Fatalf("the parts are not known: %v", err)
	}
	s.set(func(s *inParts) { s.none, s.drop = http.StatusNotFound, 1 })
	if _, err := cl.Download(t.Context(), "job-1", to, nil); err == nil || !strings.Contains(err.Error(), "only as a whole") {
		t.Fatal(err)
	}
	s.set(func(s *inParts) { s.drop = 0 })
	note := ""
	job, err := cl.Download(t.Context(), "job-1", to, func(p Progress) { note += p.Note })
	if whole, rerr := os.ReadFile(job.File); err != nil || rerr != nil || string(whole) != s.all() || !strings.Contains(note, "only whole") {
		t.Errorf("%s, %q, %v, %v", whole, note, err, rerr)
	}
}

// Killed after the file got its place and before the ledger: the next download ends it without asking for
// anything again.
func TestADownloadThatIsThereOnlyEnds(t *testing.T) {
	for _, format := range []string{"ndjson", "json", "csv"} {
		s := newParts(3)
		cl := serving(t, s.ServeHTTP)
		accepted(t, cl)
		to := Destination{File: filepath.Join(t.TempDir(), "out."+format)}
		call := noerr.Try(cl.callFor(t.Context(), "job-1")).Must(t)
		to.Format = format
		got := noerr.Try(call.fetchResult(t.Context(), to, func(Progress) {})).Must(t)
		if err := got.Leave(); err != nil { // killed before the ledger
			t.Fatal(err)
		}
		s.seen()
		note := ""
		job, err := cl.Download(t.Context(), "job-1", to, func(p Progress) { note += p.Note })
		if err != nil || s.seen() != "" || job.State != model.JobDownloaded || job.Rows.Returned != 6 || job.SHA256 == "" || !strings.Contains(note, "whole already") {
			t.Errorf("%s: %q, %+v, %v", format, note, job, err)
		}
		if names := files(t, filepath.Dir(to.File)); len(names) != 1 {
			t.Errorf("%s: left behind: %v", format, names)
		}
		// It is no secret that it is there now.
		var exists *ExistsError
		if _, err := cl.Download(t.Context(), "job-1", to, nil); !errors.As(err, &exists) || s.seen() != "" {
			t.Errorf("%s: %v", format, err)
		}
		to.Replace = true
		if _, err := cl.Download(t.Context(), "job-1", to, nil); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestARowThatIsNotJSONIsNoJSONOrCSV(t *testing.T) {
	for _, format := range []string{"json", "csv"} {
		s := newParts(3)
		good := s.parts[1]
		s.parts[1] = "{}\nService unavailable <html>\n{}\n" + strings.Repeat(" ", 2*resultHead)
		s.parts[1] = strings.Repeat("{}\n", resultHead) + s.parts[1]
		cl := serving(t, s.ServeHTTP)
		accepted(t, cl)
		to := Destination{File: filepath.Join(t.TempDir(), "out."+format)}
		_, err := cl.Download(t.Context(), "job-1", to, nil)
		if err == nil || !strings.Contains(err.Error(), "record 65538: it is not JSON; format ndjson takes the rows as they are") || !strings.Contains(err.Error(), ".part: another download to the same file resumes after part 1 of 3") {
			t.Errorf("%s: %v", format, err)
		}
		if asked := s.seen(); asked != "parts 1 2" {
			t.Errorf("%s: asked for %s", format, asked)
		}
		s.set(func(s *inParts) { s.parts[1], s.asked = good, nil })
		job, err := cl.Download(t.Context(), "job-1", to, nil)
		if asked := s.seen(); err != nil || asked != "parts 2 3" || job.Rows.Returned != 6 {
			t.Errorf("%s: asked for %s, %+v, %v", format, asked, job.Rows, err)
		}
	}
}

func TestACancelledDownloadSaysWhatIsKept(t *testing.T) {
	s := newParts(4)
	s.hold = 2
	cl := serving(t, s.ServeHTTP)
	accepted(t, cl)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.began
		cancel()
	}()
	_, err := cl.Download(ctx, "job-1", Destination{File: filepath.Join(t.TempDir(), "out.csv")}, nil)
	var kept *PartialError
	if !errors.As(err, &kept) || !errors.Is(err, context.Canceled) || kept.Parts != 1 || kept.Total != 4 {
		t.Errorf("%v", err)
	}
	state, _, err := readState(strings.TrimSuffix(kept.File, ".part"))
	if text, _ := json.Marshal(state); err != nil || len(state.Done) != 1 {
		t.Errorf("%s, %v", text, err)
	}
}

// What was kept as NDJSON takes rows as they are; a table needs them whole.
func TestWhatWasKeptForLinesIsNoTableWhereARowIsNotJSON(t *testing.T) {
	s := newParts(3)
	good := s.parts[0]
	s.parts[0], s.drop = strings.Repeat("{}\n", resultHead)+"oops\n", 3
	cl := serving(t, s.ServeHTTP)
	accepted(t, cl)
	to := Destination{File: filepath.Join(t.TempDir(), "out"), Format: "ndjson"}
	var kept *PartialError
	if _, err := cl.Download(t.Context(), "job-1", to, nil); !errors.As(err, &kept) || kept.Parts != 2 {
		t.Fatalf("%v", err)
	}
	s.seen()
	s.set(func(s *inParts) { s.parts[0], s.drop = good, 0 })
	to.Format = "csv"
	job, err := cl.Download(t.Context(), "job-1", to, nil)
	if asked := s.seen(); err != nil || asked != "parts 1 2 3" || job.Rows.Returned != 6 {
		t.Errorf("asked for %s, %+v, %v", asked, job.Rows, err)
	}
}
