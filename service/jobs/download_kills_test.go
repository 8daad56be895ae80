//go:build unix

package jobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/ledger"
	"zonedeck/service/rows"
	"zonedeck/service/servicetest"
)

// downloads runs such a process, and says how many steps it took; killed that it did not come to its end.
func downloads(t *testing.T, dir, url, format, die string) (steps int64, killed bool) {
	t.Helper()
	exe, err := os.Executable()
	noerr.Must(t, err)
	var out, said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), victimEnv+"=download once", victimDir+"="+dir, victimURL+"="+url, victimFormat+"="+format, victimDie+"="+die)
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	var end *exec.ExitError
	if errors.As(err, &end) && end.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return 0, true
	}
	if err == nil {
		steps, err = strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
	}
	if err != nil {
		t.Fatalf("%s, killed at %q: %v, %s", format, die, err, said.String())
	}
	return steps, false
}

// A download is killed at any of its steps, or at any moment, the next one again, and the third goes on: the
// file has every row once, and so has the account. ZONEDECK_DOWNLOAD_KILLS is how many are killed.
func TestNoKillOfADownloadLosesOrDoublesARow(t *testing.T) {
	runs := 3
	if s := os.Getenv("ZONEDECK_DOWNLOAD_KILLS"); s != "" {
		n := noerr.Try(strconv.Atoi(s)).Must(t)
		runs = n
	}
	kills := 0
	for i := 0; kills < runs; i++ {
		format := rows.Formats()[i%len(rows.Formats())]
		s := newParts(4)
		for i := range s.parts {
			s.parts[i] = strings.Repeat(s.parts[i], 4000) // some pieces each
		}
		p := servicetest.API(t, s.ServeHTTP)
		p.Local = true
		begin := func() string {
			dir := t.TempDir()
			l, _, err := ledger.Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
			noerr.Must(t, err)
			_, err = newRunner(t, p, func(c *Config) { c.Ledger = l }).Trigger(t.Context(), triggerOf("https://example.com/1"))
			if err = errors.Join(err, l.Close(), os.Mkdir(filepath.Join(dir, "results"), 0o700)); err != nil {
				t.Fatal(err)
			}
			return dir
		}
		began := time.Now()
		dir := begin()
		steps, _ := downloads(t, dir, p.BaseURL, format, "")
		moment := time.Since(began).Microseconds()
		want := downloadedTo(t, dir, format, s)
		dies := []string{strconv.FormatInt(1+rand.Int64N(steps), 10), strconv.FormatInt(rand.Int64N(moment), 10) + "µs"}
		rand.Shuffle(len(dies), func(i, j int) { dies[i], dies[j] = dies[j], dies[i] })
		dir = begin()
		for _, die := range dies {
			if _, killed := downloads(t, dir, p.BaseURL, format, die); killed {
				kills++
			}
		}
		downloads(t, dir, p.BaseURL, format, "")
		if got := downloadedTo(t, dir, format, s); !bytes.Equal(got, want) {
			t.Errorf("%s, killed at %q: %d bytes are not the %d of a download that was not killed", format, dies, len(got), len(want))
		}
	}
	t.Logf("%d kills", kills)
}

// downloadedTo is what the one download of a folder came to, after it was compared with its ledger.
func downloadedTo(t *testing.T, dir, format string, s *inParts) []byte {
	t.Helper()
	file := filepath.Join(dir, "results", "out."+format)
	whole := noerr.Try(os.ReadFile(file)).Must(t)
	l := ledgerIn(t, dir)
	all, total, err := l.Jobs(t.Context(), 0)
	if err != nil || total != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	job, n := all[0], strings.Count(s.all(), "\n")
	sum := sha256.Sum256(whole)
	if job.State != model.JobDownloaded || job.SHA256 != hex.EncodeToString(sum[:]) || job.Bytes != int64(len(whole)) || job.File != file {
		t.Errorf("%s: the ledger has %+v, the file %d bytes", format, job, len(whole))
	}
	if r := job.Rows; !r.Counted || r.Returned != n || r.Useful != n/2 || r.Failed() != n/2 {
		t.Errorf("%s: %+v of %d rows", format, r, n)
	}
	if left := files(t, filepath.Dir(file)); len(left) != 1 {
		t.Errorf("%s: left behind: %q", format, left)
	}
	return whole
}
