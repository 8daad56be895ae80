//go:build unix

package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/service/servicetest"
)

// A body of which the disk took only the beginning is told as cut, by the bytes and the
// checksum of what is there, wherever it goes.
func TestAFullDiskCutsABodyWhereItsFileEnds(t *testing.T) {
	const room = 5 << 19
	whole := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole) })
	c := newFetcher(t, p)
	servicetest.LimitFiles(t, room)
	dir := t.TempDir()
	for _, file := range []string{"", filepath.Join(dir, "page.html")} {
		r := askFor(p, "unlocker1")
		r.BodyFile = file
		res := fetched(t, c, r)
		got, err := os.ReadFile(res.Body.File)
		n := int(res.Body.Size)
		if err != nil || n <= 1<<20 || n > room || !bytes.Equal(got, whole[:n]) || !res.Body.Cut || res.Body.SHA256 != sum(got) {
			t.Errorf("%q: %d bytes of %d, cut %v: %v", file, len(got), n, res.Body.Cut, err)
		}
		if said := fmt.Sprint(res.Diagnosis.Evidence); !strings.Contains(said, fmt.Sprintf("could not be kept on disk and was cut at %d bytes", n)) {
			t.Errorf("%q: evidence %s", file, said)
		}
	}
	for _, dir := range []string{dir, c.cfg.Bodies.Dir} {
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 1 || strings.Contains(files[0].Name(), sum(whole)) {
			t.Errorf("%s holds %v, %v", dir, files, err)
		}
	}
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
