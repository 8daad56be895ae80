package service

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func fill(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, werr := io.WriteString(w, text); werr != nil {
			return werr
		}
		return err
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestWriteWholeReplacesAFileOrLeavesIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.html")
	if err := WriteWhole(name, fill("first", nil)); err != nil {
		t.Fatal(err)
	}
	broke := errors.New("it broke off")
	if err := WriteWhole(name, fill("half", broke)); !errors.Is(err, broke) {
		t.Errorf("error %v, want %v", err, broke)
	}
	if got := content(t, name); got != "first" {
		t.Errorf("after a write that broke off the file holds %q", got)
	}
	if err := WriteWhole(name, fill("second", nil)); err != nil {
		t.Fatal(err)
	}
	if got := content(t, name); got != "second" {
		t.Errorf("the file holds %q", got)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestWriteWholeRefusesAFolder(t *testing.T) {
	if err := WriteWhole(t.TempDir(), fill("x", nil)); err == nil {
		t.Error("a folder was written over")
	}
}

func TestWriteWholeWritesIntoWhatIsNoFile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	name := filepath.Join("/dev/fd", strconv.Itoa(int(w.Fd())))
	info, err := os.Stat(name)
	if err != nil {
		t.Skipf("this system has no /dev/fd: %v", err)
	}
	if info.Mode().IsRegular() {
		t.Fatalf("%s is a regular file", name)
	}
	if err := WriteWhole(name, fill("through the pipe", nil)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "through the pipe" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestWriteWholeKeepsALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", link); err != nil {
		t.Skipf("symbolic links need a right that may be missing: %v", err)
	}
	if err := WriteWhole(link, fill("new", nil)); err != nil {
		t.Fatal(err)
	}
	if got := content(t, target); got != "new" {
		t.Errorf("the target holds %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}
