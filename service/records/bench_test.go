package records

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// writeRows writes n rows of about 200 bytes as NDJSON.
func writeRows(tb testing.TB, path string, n int) int64 {
	tb.Helper()
	f, err := os.Create(path)
	noerr.Must(tb, err)
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range n {
		fmt.Fprintf(w, `{"id":%d,"title":"Product %d of the \"shop\"","list price":%d.%02d,"in_stock":%t,"brand":"brand %d","url":"http://lab.test/product/%d?ref=a:b","rating":null,"tags":["a","b%d"],"seller":{"name":"seller %d"}}`+"\n",
			i, i, i%5000, i%100, i%3 == 0, i%97, i, i%7, i%1000)
	}
	noerr.Must(tb, w.Flush())
	info, err := f.Stat()
	noerr.Must(tb, err)
	noerr.Must(tb, f.Close())
	return info.Size()
}

func open(tb testing.TB, path string) *File {
	tb.Helper()
	f, err := Open(path, Options{Temp: tb.TempDir()})
	noerr.Must(tb, err)
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

func BenchmarkIndexBesideARead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.ndjson")
	size := writeRows(b, path, 1_000_000)
	var read, index time.Duration
	buf := make([]byte, 1<<20)
	for b.Loop() {
		begun := time.Now()
		f, err := os.Open(path)
		noerr.Must(b, err)
		for {
			if _, err := f.Read(buf); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		_ = f.Close()
		read += time.Since(begun)
		begun = time.Now()
		x, err := Open(path, Options{})
		noerr.Must(b, err)
		if err := x.Index(b.Context(), nil); err != nil || x.State().Rows != 1_000_000 {
			b.Fatal(err, x.State())
		}
		_ = x.Close()
		index += time.Since(begun)
	}
	perSecond := func(d time.Duration) float64 { return float64(size) * float64(b.N) / d.Seconds() / 1e9 }
	b.ReportMetric(perSecond(read), "read-GB/s")
	b.ReportMetric(perSecond(index), "index-GB/s")
	b.ReportMetric(perSecond(index)/perSecond(read), "index/read")
}

func BenchmarkProfile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.ndjson")
	size := writeRows(b, path, 1_000_000)
	b.SetBytes(size)
	for b.Loop() {
		f := open(b, path)
		if p, err := f.Profile(b.Context(), nil); err != nil || p.Rows != 1_000_000 || len(p.Columns) != 9 {
			b.Fatal(p, err)
		}
	}
}

func BenchmarkFilterBesideJQ(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.ndjson")
	writeRows(b, path, 1_000_000)
	f := open(b, path)
	noerr.Must(b, f.Index(b.Context(), nil))
	q, err := ParseFilter(`"list price">4990 brand="brand 13"`)
	noerr.Must(b, err)
	jq, noJQ := exec.LookPath("jq")
	var ours, theirs time.Duration
	for b.Loop() {
		begun := time.Now()
		got, err := f.Select(b.Context(), Query{Filter: q}, nil, nil)
		noerr.Must(b, err)
		n := got.Rows.Len()
		_ = got.Rows.Close()
		ours += time.Since(begun)
		if noJQ != nil {
			continue
		}
		begun = time.Now()
		out, err := exec.CommandContext(b.Context(), jq, "-c", `select(.["list price"]>4990 and .brand=="brand 13")`, path).Output()
		noerr.Must(b, err)
		theirs += time.Since(begun)
		if m := int64(strings.Count(string(out), "\n")); m != n || n == 0 {
			b.Fatalf("%d rows, jq gives %d", n, m)
		}
	}
	b.ReportMetric(ours.Seconds()/float64(b.N), "s/filter")
	if noJQ == nil {
		b.ReportMetric(theirs.Seconds()/float64(b.N), "s/jq")
		b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times-faster")
	}
}
