package textfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	noerr.Must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSweepRemovesWhatNobodyWritesAnyMore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	written, err := NewTemp(path)
	noerr.Must(t, err)
	left, err := NewTemp(path)
	noerr.Must(t, err)
	left.Close() // as the end of a process does
	old := time.Now().Add(-leftAfter)
	noerr.Must(t, os.Chtimes(left.Name(), old, old))
	want := []string{filepath.Base(written.Name())}
	for _, name := range []string{".page.html1234567", ".page.html.zonedeck-short", ".zonedeck-ABCDEFGH", "page.html.zonedeck-ABCDEFGH"} {
		noerr.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		noerr.Must(t, os.Chtimes(filepath.Join(dir, name), old, old))
		want = append(want, name)
	}
	noerr.Must(t, os.Mkdir(filepath.Join(dir, ".folder.zonedeck-ABCDEFGH"), 0o700))
	want = append(want, ".folder.zonedeck-ABCDEFGH")
	slices.Sort(want)
	noerr.Want(t, Sweep(dir))
	if got := filesOf(t, dir); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	if err := written.Keep(); err != nil {
		t.Errorf("a file that was being written: %v", err)
	}
	if err := Sweep(filepath.Join(dir, "none")); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
	if err := Sweep(path); err == nil {
		t.Error("a file was swept as a folder")
	}
}

func TestAPlaceIsSweptWithoutAWordAboutItsNeighbours(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-leftAfter)
	for _, name := range []string{".page.html.zonedeck-ABCDEFGH", ".other.html.zonedeck-ABCDEFGH", ".a.page.html.zonedeck-ABCDEFGH", ".pageXhtml.zonedeck-ABCDEFGH"} {
		noerr.Must(t, errors.Join(os.WriteFile(filepath.Join(dir, name), nil, 0o600), os.Chtimes(filepath.Join(dir, name), old, old)))
	}
	for _, name := range []string{"page.html", "\xff.html"} {
		if err := SweepFor(filepath.Join(dir, name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got, want := filesOf(t, dir), []string{".a.page.html.zonedeck-ABCDEFGH", ".other.html.zonedeck-ABCDEFGH", ".pageXhtml.zonedeck-ABCDEFGH"}; !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
}

func TestAFileThatIsLeftIsNotSwept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	f, err := NewTemp(path)
	noerr.Must(t, err)
	noerr.Must(t, os.Mkdir(path, 0o700))
	if err := f.Keep(); err == nil {
		t.Fatal("a folder was replaced")
	}
	noerr.Want(t, errors.Join(f.Leave(), f.Leave(), f.Discard()))
	if _, err := f.root.Stat("."); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the folder is still open: %v", err)
	}
	old := time.Now().Add(-2 * leftAfter)
	noerr.Want(t, errors.Join(os.Chtimes(f.Name(), old, old), SweepFor(path), Sweep(filepath.Dir(path))))
	noerr.Want(t, noerr.From(os.Stat(f.Name())))
}

func TestWithoutLocksTheAgeDecidesWhatIsSwept(t *testing.T) {
	for _, c := range []struct {
		locked error
		age    time.Duration
		want   bool
	}{
		{nil, unlockedAfter - 1, false},
		{nil, unlockedAfter, true},
		{errHeld, 2 * leftAfter, false},
		{errors.ErrUnsupported, leftAfter - 1, false},
		{errors.ErrUnsupported, leftAfter, true},
	} {
		if got := abandoned(c.locked, c.age, unlockedAfter); got != c.want {
			t.Errorf("%v, %v old: %v", c.locked, c.age, got)
		}
	}
}

func TestATemporaryFileEndsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	unsynced, err := NewTemp(path)
	noerr.Must(t, err)
	noerr.Want(t, errors.Join(unsynced.KeepUnsynced(), unsynced.Discard()))
	if got := filesOf(t, filepath.Dir(path)); !slices.Equal(got, []string{"page.html"}) {
		t.Errorf("left %q", got)
	}
	kept, err := NewTemp(path)
	noerr.Must(t, err)
	if at, err := os.Stat(kept.Name()); err != nil || runtime.GOOS != "windows" && at.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", at, err)
	}
	noerr.Want(t, errors.Join(kept.Keep(), kept.Discard()))
	dropped, err := NewTemp(path)
	noerr.Must(t, err)
	noerr.Want(t, errors.Join(dropped.Discard(), dropped.Discard()))
	if got := filesOf(t, filepath.Dir(path)); !slices.Equal(got, []string{"page.html"}) {
		t.Errorf("left %q", got)
	}
	stuck, err := NewTemp(path)
	noerr.Must(t, err)
	noerr.Must(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o700)))
	if err := stuck.Keep(); err == nil {
		t.Error("a folder was replaced")
	}
	again, err := NewTemp(path)
	noerr.Must(t, err)
	if err := again.KeepUnsynced(); err == nil {
		t.Error("a folder was replaced")
	}
	noerr.Want(t, again.Discard())
	if _, err := os.Stat(stuck.Name()); err != nil {
		t.Errorf("the file that did not get its place: %v", err)
	}
	noerr.Want(t, stuck.Discard())
	if got := filesOf(t, filepath.Dir(path)); !slices.Equal(got, []string{"page.html"}) {
		t.Errorf("left %q", got)
	}
}
