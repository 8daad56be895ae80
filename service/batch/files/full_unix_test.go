//go:build unix

package files

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
)

// sizeLimit is how large a file may become, so that a write is cut short as on a full disk.
const sizeLimit = 10_007

// appendUntilFull appends results until the bodies, and then, without bodies, until the lines find no place.
func appendUntilFull() int {
	l, err := OpenLog(os.Getenv(dirEnv), "w1")
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: sizeLimit, Max: sizeLimit}
	if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)); err != nil {
		fmt.Println(err)
		return 1
	}
	n, failed := int64(0), 0
	for ; failed < 2; n++ {
		var body []byte
		if failed == 0 {
			body = fmt.Appendf(nil, "%01000d", n)
		}
		if err = l.Append(&Line{N: n}, body); err == nil {
			continue
		}
		if failed++; !errors.Is(err, syscall.EFBIG) {
			fmt.Println(err)
			return 1
		}
		n--
	}
	if at, err := l.Sync(); err == nil {
		fmt.Println(n, at.Lines, at.Segment, at.Bytes)
	}
	return 0
}

func TestWhatFindsNoPlaceLeavesWholeLines(t *testing.T) {
	dir := t.TempDir()
	out, err := child(t, "limited", dir).Output()
	noerr.Must(t, err)
	var next int64
	var want Length
	if _, err := fmt.Sscan(string(out), &next, &want.Lines, &want.Segment, &want.Bytes); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for name, size := range map[string]int64{resultsName("w1"): want.Lines, segmentName("w1", 1): want.Bytes} {
		if info := noerr.Try(os.Stat(filepath.Join(dir, name))).Must(t); info.Size() != size || size > sizeLimit || size < sizeLimit/2 {
			t.Errorf("%s has %d bytes, and %d were synced", name, info.Size(), size)
		}
	}
	lines, at, err := tail(dir, "w1", Length{})
	if err != nil || at != want || int64(len(lines)) != next || !slices.IsSorted(numbers(lines)) {
		t.Errorf("%d lines, want %d; %+v, want %+v; %v", len(lines), next, at, want, err)
	}
}

func TestALogIsNotOpenedOnAFullDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	noerr.Must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	full := limit
	full.Cur = sizeLimit
	noerr.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full))
	defer func() { noerr.Want(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)) }()
	dir := t.TempDir()
	if _, err := OpenLog(dir, "w1"); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("opened: %v", err)
	}
	if rest := noerr.Try(os.ReadDir(filepath.Join(dir, bodiesFolder))).Must(t); len(rest) != 0 {
		t.Errorf("%v is there", rest)
	}
}

func TestALogThatCannotBeCutBackTakesNoMore(t *testing.T) {
	l := noerr.Try(OpenLog(t.TempDir(), "w1")).Must(t)
	defer l.Close()
	noerr.Must(t, l.Append(&Line{}, []byte("a")))
	noerr.Must(t, l.segment.Close())
	err := l.Append(&Line{N: 1}, []byte("b"))
	if !errors.Is(err, os.ErrClosed) || l.err == nil {
		t.Error(err)
	}
	if err := l.Append(&Line{N: 2}, nil); !errors.Is(err, l.err) {
		t.Error(err)
	}
	if _, err := l.Sync(); !errors.Is(err, l.err) {
		t.Error(err)
	}
}
