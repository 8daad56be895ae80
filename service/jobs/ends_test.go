//go:build unix

package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/servicetest"
)

// wholly is a service with a result of these parts, of which none is cut, and a Runner with its job.
func wholly(t *testing.T, parts ...string) (*Runner, *inParts) {
	t.Helper()
	s := newParts(0)
	if s.parts = parts; len(parts) == 1 {
		s.none = http.StatusNotFound
	}
	cl := serving(t, s.ServeHTTP)
	accepted(t, cl)
	s.seen()
	return cl, s
}

// What ends as it said it would is whole, whatever its last row is: asking again would change
// nothing.
func TestALastRowThatIsNotJSONIsNoCut(t *testing.T) {
	const good, bad = "{\"a\":1}\n", "{\"a\":"
	long := strings.Repeat(good, resultHead/len(good)+1) // the head of an answer has to be right
	for _, parts := range [][]string{{long + bad}, {long, long + bad}, {long + bad, long}} {
		cl, s := wholly(t, parts...)
		job, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.ndjson")}, nil)
		if err != nil || job.State != model.JobDownloaded || job.Rows.Counted || !strings.Contains(job.Rows.Problem, "it is not JSON") {
			t.Fatalf("%d parts: %+v, %v", len(parts), job.Rows, err)
		}
		want := strings.Join(parts, "")
		if got, err := os.ReadFile(job.File); err != nil || strings.ReplaceAll(string(got), bad+"\n", bad) != want {
			t.Errorf("%d of %d bytes, %v, %s", len(got), len(want), err, s.seen())
		}
	}
}

// An answer whose end only the connection shows may have been cut within its last row.
func TestAnAnswerWithoutALengthIsCutWithinARow(t *testing.T) {
	for _, n := range []int{1, resultHead} {
		rows := strings.Repeat("{}\n", n)
		cl, _ := script(t, breakAfter("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+rows+"{"))
		accepted(t, cl)
		var kept *PartialError
		_, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.ndjson")}, nil)
		if !errors.As(err, &kept) || !strings.Contains(err.Error(), "in the middle of a row") {
			t.Errorf("%d rows: %v", n, err)
		}
	}
	// Without a row before it, it is no result at all.
	cl, _ := script(t, breakAfter("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nNo snapshot for you"))
	accepted(t, cl)
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.ndjson")}, nil); err == nil || !strings.Contains(err.Error(), "is not NDJSON: line 1: No snapshot for you") {
		t.Errorf("%v", err)
	}
}

// A part of one row that tells an error is a row; a whole answer of that kind is none.
func TestALastPartMayBeOneErrorRow(t *testing.T) {
	const row = "{\"error\":\"dead page\",\"timestamp\":\"2026-11-23\"}\n"
	cl, _ := wholly(t, "{\"a\":1}\n", row)
	job, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.ndjson")}, nil)
	if err != nil || job.Records != 1 || job.Rows.Returned != 2 || job.Rows.Failed() != 1 {
		t.Errorf("%+v, %v", job.Rows, err)
	}
	cl, _ = wholly(t, row)
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.ndjson")}, nil); err == nil {
		t.Error("an answer that says nothing but what went wrong is a result")
	}
}

// Rows that are too many columns for CSV are good rows: they stay, the next download to the same file as NDJSON asks
// for nothing, and none drops them without being asked to.
func TestRowsThatAreTooWideForCSVStay(t *testing.T) {
	var wide strings.Builder
	for i := range 17_000 {
		fmt.Fprintf(&wide, ",\"f%d\":1", i)
	}
	cl, s := wholly(t, "{\"a\":1}\n", "{\"b\":1"+wide.String()+"}\n")
	file := filepath.Join(t.TempDir(), "out")
	var kept *PartialError
	_, err := cl.Download(t.Context(), "job-1", Destination{File: file, Format: "csv"}, nil)
	if !errors.As(err, &kept) || kept.Parts != 2 || !strings.Contains(err.Error(), "columns of a sheet") || !strings.Contains(err.Error(), "out.part has all rows") {
		t.Fatalf("%v", err)
	}
	s.seen()
	var foreign *ForeignError
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: file, Format: "json"}, nil); !errors.As(err, &foreign) || s.seen() != "" {
		t.Errorf("%v", err)
	}
	job, err := cl.Download(t.Context(), "job-1", Destination{File: file, Format: "ndjson"}, nil)
	if asked := s.seen(); err != nil || asked != "" || job.Rows.Returned != 2 {
		t.Errorf("asked for %q, %+v, %v", asked, job.Rows, err)
	}
}

// The file has its place, and then closing it or syncing its folder fails: what is known of it
// stays, so that the next download only ends it.
func TestAFileThatHasItsPlaceIsKnownAfterAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.ndjson")
	p, err := openPartial(file, "ndjson", partState{Version: 1}, false, tally{dataset: "gd_1"})
	noerr.Must(t, err)
	_, err = p.Write([]byte("{}\n"))
	if err = errors.Join(err, p.writeState(), p.Keep("out.ndjson")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the folder cannot be synced")
	if err := p.leave(broken); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, _, err := readState(file); err != nil {
		t.Errorf("what is known of it is gone: %v", err)
	}
}

// Without a lock two downloads may write to one file: what neither of them wrote alone is no
// result.
func TestWithoutLocksAFileOfTwoDownloadsIsRefused(t *testing.T) {
	for _, format := range []string{"ndjson", "json"} {
		p := noerr.Try(openPartial(filepath.Join(t.TempDir(), "out"), format, partState{Version: 1, Parts: 1}, false, tally{dataset: "gd_1"})).Must(t)
		p.Exclusive = false
		noerr.Must(t, noerr.From(p.Write([]byte("{\"a\":1}\n"))))
		noerr.Must(t, p.endPart(true))
		if err := p.checkContent(t.Context(), func(Progress) {}); err != nil {
			t.Errorf("%s: nobody else wrote: %v", format, err)
		}
		other := noerr.Try(os.OpenFile(p.Name(), os.O_WRONLY, 0)).Must(t)
		_, err := other.WriteString("{\"b\"")
		if err = errors.Join(err, other.Close()); err != nil {
			t.Fatal(err)
		}
		err = p.finish(t.Context(), Destination{File: p.dest, Format: format}, model.JobRows{}, func(Progress) {})
		if !errors.Is(err, errNotAlone) || len(p.state.Done) != 0 {
			t.Errorf("%s: %v", format, err)
		}
		if _, err := os.Stat(p.dest); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it has its place: %v", format, err)
		}
		noerr.Want(t, p.Leave())
	}
}

// What is done with rows that are on the disk ends with the context, and goes on there.
func TestADownloadEndsWithTheContextWhileItWorksOnTheDisk(t *testing.T) {
	long := "{\"a\":\"" + strings.Repeat("x", toldEvery/4) + "\"}\n"
	cl, s := wholly(t, strings.Repeat(long, 5), long)
	to := Destination{File: filepath.Join(t.TempDir(), "out.csv")}
	for _, doing := range []string{"writing csv", "checking what is there"} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := cl.Download(ctx, "job-1", to, func(p Progress) {
			if p.Doing == doing && p.Done > 0 && p.Done <= p.Bytes {
				cancel()
			}
		})
		var kept *PartialError
		if !errors.Is(err, context.Canceled) || !errors.As(err, &kept) || kept.Parts != 2 {
			t.Fatalf("%s: %v", doing, err)
		}
		cancel()
	}
	s.seen()
	job, err := cl.Download(t.Context(), "job-1", to, func(p Progress) {
		if p.Done > p.Bytes {
			t.Errorf("%s: %d of %d bytes", p.Doing, p.Done, p.Bytes)
		}
	})
	if asked := s.seen(); err != nil || asked != "" || job.Rows.Returned != 6 {
		t.Errorf("asked for %q, %+v, %v", asked, job.Rows, err)
	}
}

// All parts together have a bound, too.
func TestTheSumOfThePartsHasABound(t *testing.T) {
	s := newParts(3)
	p := servicetest.API(t, s.ServeHTTP)
	cl := newRunner(t, p)
	part := noerr.Try(openPartial(filepath.Join(t.TempDir(), "out.ndjson"), "ndjson", partState{Rows: 1000, Parts: 3}, false, tally{dataset: "gd_1"})).Must(t)
	defer func() { noerr.Want(t, part.Discard()) }()
	d := noerr.Try(dialect.Find("brightdata")).Must(t)
	call := jobCall{rn: cl, p: p, d: d, paths: dialect.JobPaths{Snapshot: "/snapshot"}, secret: keystore.NewSecret("a-key")}
	part.size = maxDownload - 10
	if err := call.fetchPart(t.Context(), part, 1, func(int64) {}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
}
