package textfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
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
	if _, err := p.WriteString("one "); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Leave(), p.Leave(), p.Discard()); err != nil {
		t.Fatal(err)
	}
	if p, err = OpenPartial(path); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Seek(0, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := p.WriteString("two"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Keep("x"), p.Discard(), p.Leave()); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(dir, "x")); got != "one two" {
		t.Errorf("%q", got)
	}
	if p, err = OpenPartial(path); err != nil {
		t.Fatal(err)
	}
	if err := p.Discard(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestAPartialFileIsAFileOfItsFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.part")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPartial(path); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := OpenPartial(filepath.Join(dir, "no", "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
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

// Who holds the partial file knows that temporary files of its place that nobody has locked are
// left from killed writers, and those that somebody has are not.
func TestAPartialFileSweepsWhatIsYoung(t *testing.T) {
	for _, alone := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "out.csv")
		p, err := OpenPartial(path + ".part")
		if err != nil {
			t.Fatal(err)
		}
		p.Alone = p.Alone && alone
		temp, err := NewTemp(path)
		if err != nil {
			t.Fatal(err)
		}
		left := filepath.Join(filepath.Dir(path), ".out.csv.zonedeck-ABCDEFGH")
		if err := errors.Join(os.WriteFile(left, nil, 0o600), p.Sweep(path)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); errors.Is(err, os.ErrNotExist) != p.Alone {
			t.Errorf("alone %t: %v", p.Alone, err)
		}
		if _, err := os.Stat(temp.Name()); err != nil {
			t.Errorf("one that is written to: %v", err)
		}
		if err := errors.Join(temp.Discard(), p.Discard()); err != nil {
			t.Error(err)
		}
	}
}
