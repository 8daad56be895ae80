package textfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
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
	noerr.Must(t, err)
	return string(raw)
}

func TestWriteFuncReplacesAFileOrLeavesIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.html")
	noerr.Must(t, WriteFunc(t.Context(), name, fill("first", nil)))
	broke := errors.New("it broke off")
	if err := WriteFunc(t.Context(), name, fill("half", broke)); !errors.Is(err, broke) {
		t.Errorf("error %v, want %v", err, broke)
	}
	if got := content(t, name); got != "first" {
		t.Errorf("after a write that broke off the file holds %q", got)
	}
	noerr.Must(t, WriteFunc(t.Context(), name, fill("second", nil)))
	if got := content(t, name); got != "second" {
		t.Errorf("the file holds %q", got)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestWriteFuncRefusesAFolder(t *testing.T) {
	if err := WriteFunc(t.Context(), t.TempDir(), fill("x", nil)); err == nil {
		t.Error("a folder was written over")
	}
}

func TestWriteFuncWritesIntoAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	noerr.Must(t, err)
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
	noerr.Must(t, WriteFunc(t.Context(), name, fill("through the pipe", nil)))
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "through the pipe" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestWriteReplacesPrivatelyAndLeavesNothingBehind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "f.toml")
	for _, text := range []string{"first", "second"} {
		noerr.Must(t, Write(path, []byte(text)))
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("got %q, %v", b, err)
		}
		if runtime.GOOS != "windows" {
			mode(t, path, 0o600)
			mode(t, dir, 0o700)
			if err := os.Chmod(path, 0o644); err != nil { // the next Write makes it private again
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm() != want {
		t.Errorf("%s has mode %v (%v), want %v", path, fi.Mode(), err, want)
	}
}

func TestWriteFollowsALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles.toml"), filepath.Join(dir, "f.toml")
	noerr.Must(t, os.WriteFile(target, nil, 0o600))
	if err := os.Symlink(target, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skipf("symbolic links need a right that may be missing on Windows: %v", err)
		}
		t.Fatal(err)
	}
	noerr.Must(t, Write(link, []byte("new")))
	if b, err := os.ReadFile(target); err != nil || string(b) != "new" {
		t.Errorf("the target holds %q, %v", b, err)
	}
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", fi.Mode(), err)
	}
}

func TestNothingIsWrittenThroughALink(t *testing.T) {
	dir := t.TempDir()
	target, link, dangling := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	noerr.Must(t, os.WriteFile(target, []byte("kept"), 0o600))
	for path, to := range map[string]string{link: target, dangling: "nothing"} {
		if err := os.Symlink(to, path); err != nil {
			if runtime.GOOS == "windows" {
				t.Skipf("symbolic links need a right that may be missing on Windows: %v", err)
			}
			t.Fatal(err)
		}
		want := "write " + path + ": this is a link, and nothing is written through a link: name the file itself, or another one"
		if err := WriteBeside(path, []byte("new")); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if b, rerr := os.ReadFile(target); string(b) != "kept" || len(entries) != 3 || err != nil || rerr != nil {
		t.Errorf("%q, %v, %v, %v", b, entries, err, rerr)
	}
}

func TestWriteNamesTheFileItCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	path := filepath.Join(file, "f.toml")
	if err := Write(path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if _, err := Lock(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

func TestWriteInReplacesALinkOutOfItsFolder(t *testing.T) {
	dir := t.TempDir()
	outside, inside := filepath.Join(dir, "outside"), filepath.Join(dir, "inside")
	noerr.Must(t, os.WriteFile(outside, []byte("untouched"), 0o600))
	noerr.Must(t, os.Mkdir(inside, 0o700))
	if err := os.Symlink(outside, filepath.Join(inside, "f")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skipf("symbolic links need a right that may be missing on Windows: %v", err)
		}
		t.Fatal(err)
	}
	root, err := os.OpenRoot(inside)
	noerr.Must(t, err)
	defer root.Close()
	noerr.Must(t, WriteIn(root, "f", []byte("new")))
	if got := content(t, filepath.Join(inside, "f")); got != "new" {
		t.Errorf("the file holds %q", got)
	}
	if got := content(t, outside); got != "untouched" {
		t.Errorf("the file outside holds %q", got)
	}
	if err := WriteIn(root, "../outside", []byte("new")); err == nil {
		t.Error("a name that leads out of the folder was written")
	}
}

func TestProbeReportsWhatWriteFuncWould(t *testing.T) {
	dir := t.TempDir()
	if err := Probe(filepath.Join(dir, "f")); err != nil {
		t.Errorf("a folder that can be written to: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	for name, path := range map[string]string{
		"no folder":     filepath.Join(dir, "none", "f"),
		"name too long": filepath.Join(dir, strings.Repeat("x", 255)),
	} {
		if err := Probe(path); err == nil {
			t.Errorf("%s: the probe passed", name)
		}
		if err := WriteFunc(t.Context(), path, fill("x", nil)); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}

func TestANewFileAppearsWholeAndReplacesNone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new")
	failed := errors.New("it cannot be read")
	write := func(then func() error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, "all of it")
			if _, there := os.Stat(path); !errors.Is(there, fs.ErrNotExist) {
				t.Error("it is there before it is whole")
			}
			return errors.Join(err, then())
		}
	}
	only := func(content string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		noerr.Must(t, err)
		if content == "" {
			if len(entries) > 0 {
				t.Errorf("%v is left", entries)
			}
			return
		}
		b, err := os.ReadFile(path)
		if err != nil || string(b) != content || len(entries) != 1 {
			t.Errorf("%q, %v, of %v", b, err, entries)
		}
	}
	if err := WriteNew(path, write(func() error { return failed })); !errors.Is(err, failed) {
		t.Error(err)
	}
	only("")
	meanwhile := func() error { return os.WriteFile(path, []byte("another's"), 0o600) }
	if err := WriteNew(path, write(meanwhile)); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	only("another's")
	if err := WriteNew(path, func(io.Writer) error { return failed }); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	only("another's")
	noerr.Must(t, os.Remove(path))
	swept := func() error { return os.Remove(noerr.Try(filepath.Glob(filepath.Join(dir, ".*"))).Must(t)[0]) }
	if err := WriteNew(path, write(swept)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that somebody removed meanwhile: %v", err)
	}
	only("")
	noerr.Want(t, WriteNew(path, write(func() error { return nil })))
	only("all of it")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
