package textfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
)

func TestAppendAddsWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	add := func(lines, want string) {
		t.Helper()
		err := Append(path, []byte(lines))
		b, rerr := os.ReadFile(path)
		if err != nil || rerr != nil || string(b) != want {
			t.Fatalf("%q, %v, %v", b, err, rerr)
		}
	}
	add("one\n", "one\n")
	add("two\nthree\n", "one\ntwo\nthree\n")
	if err := os.Truncate(path, 6); err != nil { // a line that was cut short
		t.Fatal(err)
	}
	add("four\n", "one\ntw\nfour\n")
	if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestAppendFromManyKeepsEveryLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				noerr.Want(t, Append(path, []byte("a line of some length\n")))
			}
		})
	}
	all.Wait()
	b, err := os.ReadFile(path)
	if err != nil || strings.Count(string(b), "a line of some length\n") != 80 {
		t.Errorf("%d lines, %v", strings.Count(string(b), "\n"), err)
	}
}

func TestAppendToWhatIsNoFileIsAnError(t *testing.T) {
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "no folder", "log")} {
		if err := Append(path, []byte("x\n")); err == nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
