package textfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/gofrs/flock"
)

// ErrLocked is wrapped when another process holds a file's lock for too long.
var ErrLocked = errors.New("locked by another process")

// lockWait bounds the wait for a lock; a read-modify-write cycle takes a few
// milliseconds, so one that lasts this long hangs.
const lockWait = 10 * time.Second

// Write replaces the file at path by b, atomically and with mode 0600, and has
// both the file and its folder on disk when it returns. The temporary file
// stands in the target's own folder, which is made (0700) when it is missing. A
// symbolic link at path is followed, so that a file kept elsewhere stays there.
func Write(path string, b []byte) error {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		target = path
	case err != nil:
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := replace(target, b); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Lock takes the lock that guards the file at path against every other writer,
// in this process and in others, and returns what releases it. The lock is a
// file beside it (path + ".lock"), which stays. It waits until ctx ends, at most
// ten seconds, then the error wraps ErrLocked.
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
	// The kernel drops the lock with the descriptor, so there is nothing to do
	// about an error here.
	return func() { _ = l.Close() }, nil
}

// Quote writes s as a TOML basic string, quotes included.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsControl(r) || !unicode.IsPrint(r) && r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04X`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// List writes a list of strings in TOML.
func List(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
