package textfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is wrapped if another process holds a file's lock for too long.
var ErrLocked = errors.New("locked by another process")

// lockWait limits the wait for a lock. A read-modify-write cycle takes a few
// milliseconds: one that takes this long hangs.
const lockWait = 10 * time.Second

// Lock locks the file at path against every other writer, in this process and in
// others. unlock releases it. The lock is a file next to it (path + ".lock"), which
// stays. Lock waits until ctx ends, and at most ten seconds: then the error wraps
// ErrLocked.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	l := flock.New(path+".lock", flock.SetPermissions(0o600))
	ok, err := l.TryLockContext(wait, 5*time.Millisecond)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("locking %s: %w", path, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded), err == nil && !ok:
		return nil, fmt.Errorf("locking %s: %w; end the other zonedeck, or try again", path, ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	// The kernel drops the lock with the descriptor: an error here does not matter.
	return func() { _ = l.Close() }, nil
}

// TryLock is Lock without waiting. ok is false if the lock is held already.
func TryLock(path string) (unlock func(), ok bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, false, fmt.Errorf("locking %s: %w", path, err)
	}
	l := flock.New(path+".lock", flock.SetPermissions(0o600))
	ok, err = l.TryLock()
	if err != nil {
		return nil, false, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = l.Close() }, ok, nil
}
