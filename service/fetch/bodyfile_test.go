package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
	"zonedeck/service/servicetest"
)

func TestABodyGoesWhereItIsToWhateverTheCacheIs(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB
	var calls atomic.Int32
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 { // a retry drops what came before
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = w.Write(want)
	})
	dir := t.TempDir()
	cache, page := filepath.Join(dir, "cache"), filepath.Join(dir, "page.html")
	left := filepath.Join(dir, ".page.html.zonedeck-ABCDEFGH") // of a killed process
	old := time.Now().Add(-48 * time.Hour)
	for _, file := range []string{cache, page, left} {
		noerr.Must(t, errors.Join(os.WriteFile(file, []byte("as it was"), 0o600), os.Chtimes(file, old, old)))
	}
	change, j, _ := withJournal(t)
	c := newFetcher(t, p, change, func(o *Config) { o.Bodies.Dir = cache })
	r := askFor(p, "unlocker1")
	r.BodyFile, r.Retries = page, 1
	res := fetched(t, c, r)
	got, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(got, want) || res.Body.File != page || res.Body.Cut || len(res.Attempts) != 2 {
		t.Errorf("%d bytes in %s, cut %v, %d attempts: %v", len(got), res.Body.File, res.Body.Cut, len(res.Attempts), err)
	}
	if kept, err := j.Fetch(t.Context(), res.ID); err != nil || kept.Body.File != page {
		t.Errorf("the history names %q, %v", kept.Body.File, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("the folder holds %v, %v", files, err)
	}
}

func TestABodyWhosePlaceIsTakenStaysBesideIt(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) })
	r := askFor(p, "unlocker1")
	r.BodyFile = filepath.Join(t.TempDir(), "page.html")
	res, err := newFetcher(t, p).Fetch(t.Context(), r, func(e Event) {
		if e.Phase == PhaseDone {
			noerr.Want(t, os.Mkdir(r.BodyFile, 0o700))
		}
	})
	noerr.Must(t, err)
	old := time.Now().Add(-48 * time.Hour)
	noerr.Want(t, errors.Join(os.Chtimes(res.Body.File, old, old), textfile.Sweep(filepath.Dir(r.BodyFile))))
	if at, err := os.Stat(res.Body.File); err != nil || at.Size() != 2<<20 {
		t.Errorf("%s: %v", res.Body.File, err)
	}
	if said := fmt.Sprint(res.Diagnosis.Evidence); !strings.Contains(said, "the body stays in "+res.Body.File+": ") {
		t.Errorf("evidence %s", said)
	}
}
