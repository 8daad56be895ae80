package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestHalfWrittenFilesOfAKilledProcessGoAtTheNextStart(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{halfWritten + "account.json-123", ".bashrc", "notes"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, time.Now); !errors.Is(err, ErrInUse) {
		t.Errorf("a second owner: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAClearedFolderBeginsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := Clear(dir); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
	s, err := Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Folder("answers"); err != nil {
		t.Fatal(err)
	}
	if err := Clear(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a folder in use: %v", err)
	}
	if _, err := os.Stat(s.Path(databaseName)); err != nil {
		t.Errorf("its database: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != lockName {
		t.Errorf("left: %v, %v", left, err)
	}
	again, err := Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTemporaryFoldersOfKilledProcessesGoAndOthersStay(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp) // where Windows looks
	lives, err := NewTemp("zd-test-")
	if err != nil {
		t.Fatal(err)
	}
	made := func(name string, owned bool) string {
		path := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Join(path, "profile"), 0o700); err != nil {
			t.Fatal(err)
		}
		if owned {
			if err := os.WriteFile(filepath.Join(path, ownerName), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	left, fresh, nobodys, others := made("zd-test-1", true), made("zd-test-2", true), made("zd-test-3", false), made("other-1", true)
	old := time.Now().Add(-2 * tempAge)
	for _, path := range []string{lives.Path, left, others} {
		if err := os.Chtimes(filepath.Join(path, ownerName), old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := NewTemp("zd-test-")
	if err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{lives.Path: true, left: false, fresh: true, nobodys: true, others: true, next.Path: true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, own := range []*Temp{lives, next} {
		if err := own.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(own.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stands: %v", own.Path, err)
		}
	}
}

func TestATemporaryFolderThatCannotBeRemovedGoesLater(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // Windows
	left, err := os.MkdirTemp("", "zd-test-")
	if err != nil {
		t.Fatal(err)
	}
	owner := filepath.Join(left, ownerName)
	if err := os.WriteFile(owner, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stuck := errors.New("something in it is in use")
	err = removeAll(left, func(string) error {
		return errors.Join(stuck, os.Remove(owner)) // stuck with the owner's file gone
	})
	if !errors.Is(err, stuck) {
		t.Errorf("%v", err)
	}
	old := time.Now().Add(-2 * tempAge)
	if err := os.Chtimes(owner, old, old); err != nil {
		t.Fatal(err)
	}
	next, err := NewTemp("zd-test-")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
	if err := next.Remove(); err != nil {
		t.Error(err)
	}
}

func TestAFileIsReplacedAsAWholeOrLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := WriteFile(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("half a sec"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("before it is whole: %q, %v", b, err)
	}
	f.Discard()
	// A folder with something in it is in the way of the rename.
	taken := filepath.Join(dir, "b")
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(taken, nil); err == nil {
		t.Error("a folder was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	if err := WriteFile(path, []byte("second")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "second" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
