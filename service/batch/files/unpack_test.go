package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
)

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// bodies appends a result for each text.
func bodies(t *testing.T, dir string, texts ...string) map[string]Length {
	t.Helper()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	for n, text := range texts {
		noerr.Must(t, l.Append(&Line{N: int64(n)}, []byte(text)))
	}
	at := noerr.Try(l.Sync()).Must(t)
	noerr.Must(t, l.Close())
	return map[string]Length{"w1": at}
}

func TestBodiesAreUnpackedOnceEach(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	workers := bodies(t, dir, "a", "b", "", "a", "../c")
	noerr.Must(t, os.Mkdir(out, 0o700))
	noerr.Must(t, os.WriteFile(filepath.Join(out, digestOf("b")), []byte("x"), 0o600)) // cut short by a power cut, say
	var heard []int64
	for _, written := range []int64{3, 0} {
		got, err := Unpack(t.Context(), dir, Results(dir, workers, false), out, func(done int64) { heard = append(heard, done) })
		if err != nil || got != written {
			t.Errorf("%d, %v", got, err)
		}
	}
	if !slices.Equal(heard, []int64{1, 2, 3, 4, 5, 1, 2, 3, 4, 5}) {
		t.Error(heard)
	}
	if names := noerr.Try(os.ReadDir(out)).Must(t); len(names) != 3 {
		t.Errorf("%v", names)
	}
	for _, text := range []string{"a", "b", "../c"} {
		if got := string(noerr.Try(os.ReadFile(filepath.Join(out, digestOf(text)))).Must(t)); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

func TestNothingIsUnpackedOverALink(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	workers := bodies(t, dir, "a")
	target := filepath.Join(t.TempDir(), "target")
	noerr.Must(t, os.WriteFile(target, []byte("x"), 0o600))
	link := filepath.Join(out, digestOf("a"))
	noerr.Must(t, os.Symlink(target, link))
	_, err := Unpack(t.Context(), dir, Results(dir, workers, false), out, nil)
	wantError(t, err, link+" is there and is no file: move it away")
	if got := string(noerr.Try(os.ReadFile(target)).Must(t)); got != "x" {
		t.Error(got)
	}
	noerr.Must(t, os.Remove(link))
	noerr.Must(t, os.Mkdir(link, 0o700))
	_, err = Unpack(t.Context(), dir, Results(dir, workers, false), out, nil)
	wantError(t, err, link+" is there and is no file: move it away")
	if names := noerr.Try(os.ReadDir(out)).Must(t); len(names) != 1 {
		t.Errorf("%v", names)
	}
}

func TestADamagedBodyIsNotUnpacked(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	workers := bodies(t, dir, "a", "b")
	segment := filepath.Join(dir, segmentName("w1", 1))
	raw := noerr.Try(os.ReadFile(segment)).Must(t)
	raw[len(raw)-1] = 'x'
	noerr.Must(t, os.WriteFile(segment, raw, 0o600))
	written, err := Unpack(t.Context(), dir, Results(dir, workers, false), out, nil)
	if !errors.Is(err, ErrDamaged) || written != 1 {
		t.Errorf("%d, %v", written, err)
	}
	if names := noerr.Try(os.ReadDir(out)).Must(t); len(names) != 1 || names[0].Name() != digestOf("a") {
		t.Errorf("%v", names)
	}
}

func TestBodiesOfOtherMachinesAreCountedAndTheRestIsUnpacked(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	workers := bodies(t, dir, "a", "b")
	abroad := Line{N: 7, Class: "ok", SHA256: digestOf("c"), BodyAt: &BodyAt{Worker: "w-db2-x7", Segment: 1, Length: 1}}
	lines := func(yield func(Line, error) bool) {
		for range 2 {
			if !yield(abroad, nil) {
				return
			}
		}
		Results(dir, workers, false)(yield)
	}
	written, err := Unpack(t.Context(), dir, lines, out, nil)
	wantError(t, err, "the batch's folder on this machine lacks bodies: 2 of worker w-db2-x7. Where a worker ran on another machine, 'zonedeck batch bodies' unpacks its bodies there")
	if written != 2 {
		t.Errorf("%d were written", written)
	}
	if _, err = OpenBody(dir, *abroad.BodyAt); !errors.As(err, new(AbsentError)) {
		t.Errorf("one: %v", err)
	}
}

func TestUnpackingStopsWhenItIsCancelled(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	workers := bodies(t, dir, "a", "b")
	ctx, cancel := context.WithCancel(t.Context())
	written, err := Unpack(ctx, dir, Results(dir, workers, false), out, func(int64) { cancel() })
	if !errors.Is(err, context.Canceled) || written != 1 {
		t.Errorf("%d, %v", written, err)
	}
}
