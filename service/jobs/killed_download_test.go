//go:build unix

package jobs

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
)

func TestAKilledDownloadLeavesNothingBehind(t *testing.T) {
	var again atomic.Bool
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"snapshot_id":"sd_1"}`)
		case again.Load():
			_, _ = io.WriteString(w, `[{"url":"https://example.com/1"}]`)
		default:
			_, _ = io.WriteString(w, "["+strings.Repeat(" ", 2*resultHead))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	if err := os.Mkdir(results, 0o700); err != nil {
		t.Fatal(err)
	}
	_, kill := startVictim(t, "download", dir, p.BaseURL)
	tick, late := time.NewTicker(time.Millisecond), time.After(30*time.Second) // which only ends a hang
	defer tick.Stop()
	for files, err := os.ReadDir(results); len(files) == 0; files, err = os.ReadDir(results) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("no download began", err)
		}
	}
	holds := func(pattern string) {
		t.Helper()
		files, err := os.ReadDir(results)
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		if ok, err := filepath.Match(pattern, files[0].Name()); err != nil || !ok {
			t.Errorf("the folder holds %s", files[0].Name())
		}
	}
	kill()
	holds(".job-1_sd_1.json.zonedeck-*")
	files, _ := filepath.Glob(filepath.Join(results, ".*")) // holds has seen it
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(files[0], before, before); err != nil {
		t.Fatal(err)
	}
	l, _, err := ledger.Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	again.Store(true)
	c := newRunner(t, p, func(o *Config) { o.Ledger = l })
	if job, err := c.Download(t.Context(), "job-1", "json", results, nil); err != nil || job.File != filepath.Join(results, "job-1_sd_1.json") {
		t.Errorf("%+v, %v", job, err)
	}
	holds("job-1_sd_1.json")
}
