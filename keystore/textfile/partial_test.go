package textfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"zonedeck/internal/noerr"
)

func TestAPartialFileHasOneWriterAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.part")
	p, err := OpenPartial(path)
	if err != nil || p.Name() != path {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		mode(t, path, 0o600)
		if _, err := OpenPartial(path); !errors.Is(err, ErrLocked) {
			t.Errorf("a second writer: %v", err)
		}
	}
	noerr.Must(t, noerr.From(p.WriteString("one ")))
	noerr.Must(t, errors.Join(p.Leave(), p.Leave(), p.Discard()))
	if p, err = OpenPartial(path); err != nil {
		t.Fatal(err)
	}
	noerr.Must(t, noerr.From(p.Seek(0, 2)))
	noerr.Must(t, noerr.From(p.WriteString("two")))
	noerr.Must(t, errors.Join(p.Keep("x"), p.Discard(), p.Leave()))
	if got := content(t, filepath.Join(dir, "x")); got != "one two" {
		t.Errorf("%q", got)
	}
	if p, err = OpenPartial(path); err != nil {
		t.Fatal(err)
	}
	noerr.Must(t, p.Discard())
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestAPartialFileIsAFileOfItsFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.part")
	noerr.Must(t, os.Mkdir(path, 0o700))
	if _, err := OpenPartial(path); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := OpenPartial(filepath.Join(dir, "no", "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	other := filepath.Join(dir, "other")
	noerr.Must(t, os.WriteFile(other, []byte("kept"), 0o600))
	if err := errors.Join(os.Remove(path), os.Symlink(other, path)); err != nil {
		if runtime.GOOS == "windows" {
			return // a right may be missing
		}
		t.Fatal(err)
	}
	if _, err := OpenPartial(path); err == nil {
		t.Error("a link was followed")
	}
}

// The holder of the partial file knows that unlocked temporary files of its place are left from killed
// writers, and that locked ones are not.
func TestAPartialFileSweepsWhatIsYoung(t *testing.T) {
	for _, alone := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "out.csv")
		p, err := OpenPartial(path + ".part")
		noerr.Must(t, err)
		p.Exclusive = p.Exclusive && alone
		temp, err := NewTemp(path)
		noerr.Must(t, err)
		left := filepath.Join(filepath.Dir(path), ".out.csv.zonedeck-ABCDEFGH")
		noerr.Must(t, errors.Join(os.WriteFile(left, nil, 0o600), p.Sweep(path)))
		if _, err := os.Stat(left); errors.Is(err, os.ErrNotExist) != p.Exclusive {
			t.Errorf("alone %t: %v", p.Exclusive, err)
		}
		if _, err := os.Stat(temp.Name()); err != nil {
			t.Errorf("one that is written to: %v", err)
		}
		noerr.Want(t, errors.Join(temp.Discard(), p.Discard()))
	}
}
