package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

func TestHalfWrittenFilesOfAKilledProcessGoAtTheNextStart(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{halfWritten + "account.json-123", ".bashrc", "notes"} {
		noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600))
	}
	s, err := Open(dir, time.Now)
	noerr.Must(t, err)
	defer s.Close()
	for name, there := range map[string]bool{halfWritten + "account.json-123": false, ".bashrc": true, "notes": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFolderHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, time.Now)
	noerr.Must(t, err)
	if _, err := Open(dir, time.Now); !errors.Is(err, ErrInUse) || !InUse(dir) {
		t.Errorf("a second owner: %v; it is in use: %t", err, InUse(dir))
	}
	noerr.Must(t, s.Close())
	if InUse(dir) || InUse(filepath.Join(dir, "none")) {
		t.Error("a folder without an owner is in use")
	}
	again, err := Open(dir, time.Now)
	noerr.Must(t, err)
	noerr.Must(t, again.Close())
}

func TestAClearedFolderBeginsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := Clear(dir); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
	s, err := Open(dir, time.Now)
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(s.Folder("answers")))
	if err := Clear(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a folder in use: %v", err)
	}
	if _, err := os.Stat(s.Path(databaseName)); err != nil {
		t.Errorf("its database: %v", err)
	}
	noerr.Must(t, s.Close())
	noerr.Must(t, Clear(dir))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != lockName {
		t.Errorf("left: %v, %v", left, err)
	}
	again, err := Open(dir, time.Now)
	noerr.Must(t, err)
	noerr.Must(t, again.Close())
}

func TestTemporaryFoldersOfKilledProcessesGoAndOthersStay(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp) // where Windows looks
	lives, err := NewTemp("zd-test-")
	noerr.Must(t, err)
	made := func(name string, owned bool) string {
		path := filepath.Join(tmp, name)
		noerr.Must(t, os.MkdirAll(filepath.Join(path, "profile"), 0o700))
		if owned {
			noerr.Must(t, os.WriteFile(filepath.Join(path, ownerName), nil, 0o600))
		}
		return path
	}
	left, fresh, nobodys, others := made("zd-test-1", true), made("zd-test-2", true), made("zd-test-3", false), made("other-1", true)
	old := time.Now().Add(-2 * tempAge)
	for _, path := range []string{lives.Path, left, others} {
		noerr.Must(t, os.Chtimes(filepath.Join(path, ownerName), old, old))
	}
	next, err := NewTemp("zd-test-")
	noerr.Must(t, err)
	for path, there := range map[string]bool{lives.Path: true, left: false, fresh: true, nobodys: true, others: true, next.Path: true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, own := range []*Temp{lives, next} {
		noerr.Want(t, own.Remove())
		if _, err := os.Stat(own.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stands: %v", own.Path, err)
		}
	}
}

func TestATemporaryFolderThatCannotBeRemovedGoesLater(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // Windows
	left, err := os.MkdirTemp("", "zd-test-")
	noerr.Must(t, err)
	owner := filepath.Join(left, ownerName)
	noerr.Must(t, os.WriteFile(owner, nil, 0o600))
	stuck := errors.New("something in it is in use")
	err = removeAll(left, func(string) error {
		return errors.Join(stuck, os.Remove(owner)) // stuck with the owner's file gone
	})
	if !errors.Is(err, stuck) {
		t.Errorf("%v", err)
	}
	old := time.Now().Add(-2 * tempAge)
	noerr.Must(t, os.Chtimes(owner, old, old))
	next, err := NewTemp("zd-test-")
	noerr.Must(t, err)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
	noerr.Want(t, next.Remove())
}

func TestAFileIsReplacedAsAWholeOrLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	noerr.Must(t, WriteFile(path, []byte("first")))
	f, err := Create(path)
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(f.WriteString("half a sec")))
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("before it is whole: %q, %v", b, err)
	}
	f.Discard()
	// A folder with something in it is in the way of the rename.
	taken := filepath.Join(dir, "b")
	noerr.Must(t, os.MkdirAll(filepath.Join(taken, "x"), 0o700))
	if err := WriteFile(taken, nil); err == nil {
		t.Error("a folder was replaced")
	}
	entries, err := os.ReadDir(dir)
	noerr.Must(t, err)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	noerr.Must(t, WriteFile(path, []byte("second")))
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "second" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
