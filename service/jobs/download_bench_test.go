package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/servicetest"
)

// productRows are rows as a scraper gives them, about size bytes of them.
func productRows(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"input":{"url":"https://shop.example/p/%d"},"url":"https://shop.example/p/%d","title":"Brass lamp %d, for the desk","price":%d.%02d,"currency":"EUR","in_stock":%t,"rating":%d,"images":["https://shop.example/i/%d/1.jpg","https://shop.example/i/%d/2.jpg"],"seller":{"name":"Lamps & more","since":"2019-04-0%d"},"description":"%s","timestamp":"2026-11-23T04:00:00.000Z"}`+"\n",
			i, i, i, i%900, i%100, i%3 > 0, i%5, i, i, i%9+1, strings.Repeat("It stands on any desk. ", 1+i%20))
	}
	return b.Bytes()
}

// BenchmarkDownloadBesideCurl downloads a result of 1 GB as the console does, with every row counted and the
// file's digest made, and with curl, in turns: the ratio is of their rates. Both write to a file from the same
// server, which sends at the rate of a link of 1 Gbit/s, or as fast as it can on this machine.
// The console's file is synced when it is told of; the second ratio is of curl and a sync of its file.
// ZONEDECK_DOWNLOAD_MB is another size.
func BenchmarkDownloadBesideCurl(b *testing.B) {
	curl, err := exec.LookPath("curl")
	noerr.Must(b, err)
	size := 1000
	if s := os.Getenv("ZONEDECK_DOWNLOAD_MB"); s != "" {
		if size, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	chunk := productRows(1_000_000)
	var rate atomic.Int64 // of the server, bytes in a second; 0 for as fast as it can
	p := servicetest.API(b, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, `{"snapshot_id":"sd_1"}`)
			return
		case strings.HasSuffix(r.URL.Path, "/parts"):
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(size*len(chunk)))
		began := time.Now()
		for n := range size {
			if r := rate.Load(); r > 0 {
				due := time.NewTimer(time.Until(began.Add(time.Duration(n) * time.Second * time.Duration(len(chunk)) / time.Duration(r))))
				<-due.C
			}
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	j, _ := servicetest.Ledger(b)
	cl := newRunner(b, p, func(c *Config) { c.Ledger = j })
	noerr.Must(b, noerr.From(cl.Trigger(b.Context(), trigger("http://lab.test/1"))))
	for _, c := range []struct {
		name, format string
		rate         int64
	}{
		{"ndjson at 1 Gbit", "ndjson", 125_000_000},
		{"json at 1 Gbit", "json", 125_000_000},
		{"ndjson", "ndjson", 0},
		{"json", "json", 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			rate.Store(c.rate)
			var ours, theirs, durable time.Duration
			for range b.N {
				dir := b.TempDir()
				began := time.Now()
				job, err := cl.Download(b.Context(), "job-1", Destination{File: filepath.Join(dir, "ours."+c.format)}, nil)
				if err != nil || !job.Rows.Counted {
					b.Fatal(job, err)
				}
				ours += time.Since(began)
				began = time.Now()
				get := exec.CommandContext(b.Context(), curl, "-sS", "-o", filepath.Join(dir, "curl"), p.BaseURL+"/datasets/v3/snapshot/sd_1")
				if out, err := get.CombinedOutput(); err != nil {
					b.Fatalf("%s, %v", out, err)
				}
				theirs += time.Since(began)
				noerr.Must(b, synced(filepath.Join(dir, "curl")))
				durable += time.Since(began)
				noerr.Must(b, os.RemoveAll(dir))
			}
			mb := float64(b.N*size*len(chunk)) / 1e6
			b.ReportMetric(mb/ours.Seconds(), "MB/s")
			b.ReportMetric(mb/theirs.Seconds(), "curl-MB/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "of-curl")
			b.ReportMetric(durable.Seconds()/ours.Seconds(), "of-curl-synced")
		})
	}
}

func synced(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
