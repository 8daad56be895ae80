package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	// ownerName is the file that the owner of a temporary folder holds locked.
	ownerName = ".owner"
	// tempAge is the least age of an abandoned folder: an owner locks its folder a moment
	// after making it.
	tempAge = time.Minute
)

// Temp is a temporary folder that one process owns until Remove.
type Temp struct {
	Path string
	lock *flock.Flock
}

// NewTemp makes a temporary folder (0700) whose name begins with prefix, and removes those
// that killed processes left behind. The folders of running processes stay.
func NewTemp(prefix string) (*Temp, error) {
	sweep(prefix)
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("making a temporary folder: %w", err)
	}
	t := &Temp{Path: path, lock: flock.New(filepath.Join(path, ownerName), flock.SetPermissions(0o600))}
	ok, err := t.lock.TryLock()
	if err == nil && !ok {
		err = ErrInUse
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking a temporary folder: %w", err), os.RemoveAll(t.Path))
	}
	return t, nil
}

// Remove removes the folder with all that is in it.
func (t *Temp) Remove() error {
	// Unlocked first: Windows removes no file that is open.
	return errors.Join(t.lock.Unlock(), removeAll(t.Path, os.RemoveAll))
}

// removeAll removes a folder. A folder that cannot be removed now, because a dying browser
// still writes to it, is marked for the next sweep: its owner's file may already be removed.
func removeAll(path string, remove func(string) error) error {
	err := remove(path)
	if err == nil {
		return nil
	}
	f, ferr := os.OpenFile(filepath.Join(path, ownerName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(ferr, os.ErrExist) {
		return err
	}
	if ferr == nil {
		ferr = f.Close()
	}
	return errors.Join(err, ferr)
}

// sweep removes what killed processes left behind. A folder that cannot be removed, such as
// another user's, does not keep the emulator from starting.
func sweep(prefix string) {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(os.TempDir(), e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) && abandoned(path) {
			_ = removeAll(path, os.RemoveAll)
		}
	}
}

// abandoned reports whether the process that owned a folder has ended.
func abandoned(path string) bool {
	owner := filepath.Join(path, ownerName)
	info, err := os.Lstat(owner)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < tempAge {
		return false
	}
	lock := flock.New(owner)
	ok, err := lock.TryLock()
	return ok && err == nil && lock.Unlock() == nil
}
