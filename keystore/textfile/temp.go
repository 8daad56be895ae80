package textfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

// Temp is a file that is written next to its final place (0600). Call one of Keep, which
// moves it to its place, Discard, which removes it, and Leave, which keeps it under
// another name. Sweep removes what killed processes leave.
type Temp struct {
	*os.File
	root         *os.Root
	name, target string
	ended        bool
}

// Sweep recognises a temporary file by its name: a dot, the final name, this word, and
// eight random characters.
const tempWord = ".zonedeck-"

var tempName = regexp.MustCompile(`^\.(.+)` + regexp.QuoteMeta(tempWord) + `[A-Z2-7]{8}$`)

// NewTemp makes the temporary file for path. Its folder must exist.
func NewTemp(path string) (*Temp, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	return inFolder(root, err, filepath.Base(path), newTemp)
}

// inFolder opens a file in a folder that was opened, unless with an error, for this file alone.
func inFolder[F any](folder *os.Root, err error, name string, open func(*os.Root, string) (F, error)) (file F, _ error) {
	if err != nil {
		return file, err
	}
	if file, err = open(folder, name); err != nil {
		err = errors.Join(err, folder.Close())
	}
	return file, err
}

// newTemp makes a temporary file in root. The Temp closes root when it ends. The file is
// locked as long as it is open: the lock tells Sweep that its writer lives.
func newTemp(root *os.Root, target string) (*Temp, error) {
	for {
		name := "." + target + tempWord + rand.Text()[:8]
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		held := lock(f) // on a file system without locks, Sweep goes by the age
		_, gone := root.Lstat(name)
		if !errors.Is(held, errHeld) && !errors.Is(gone, os.ErrNotExist) {
			return &Temp{File: f, root: root, name: name, target: target}, nil
		}
		_ = f.Close() // Sweep got it before the lock
	}
}

// Name is the present path of the file.
func (t *Temp) Name() string { return filepath.Join(t.root.Name(), t.name) }

// Keep moves the file to its place and replaces a file that is there. Both the file and its
// folder are then on disk. After an error the file may still have its temporary name:
// Discard or Leave it.
func (t *Temp) Keep() error {
	err := t.Sync()
	if err == nil {
		err = t.rename(t.target) // under the lock: Sweep leaves it alone
	}
	t.ended = err == nil
	if err = errors.Join(err, t.Close()); t.ended {
		err = errors.Join(err, syncFolder(t.root), t.root.Close())
	}
	return err
}

// KeepUnsynced is Keep for one of many files that can be made again: after a power cut it may be there and not be whole.
func (t *Temp) KeepUnsynced() error {
	err := t.rename(t.target)
	t.ended = err == nil
	if err = errors.Join(err, t.Close()); t.ended {
		err = errors.Join(err, t.root.Close())
	}
	return err
}

// KeepNew is Keep for an empty place. If something is there, the error wraps os.ErrExist.
func (t *Temp) KeepNew() error {
	err := t.Sync()
	if err == nil {
		err = t.link()
	}
	t.ended = err == nil
	if err = errors.Join(err, t.Close()); t.ended {
		if t.name != t.target {
			_ = t.root.Remove(t.name) // if that fails, Sweep does it
			t.name = t.target
		}
		err = errors.Join(err, syncFolder(t.root), t.root.Close())
	}
	return err
}

// link links the file to its place, unless something is there.
func (t *Temp) link() error {
	err := t.root.Link(t.name, t.target)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrExist):
		return err
	}
	// A file system without links: reserve the place with an empty file, then replace that.
	place, err := t.root.OpenFile(t.target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(place.Close(), t.rename(t.target)); err != nil {
		_ = t.root.Remove(t.target) // nobody else's: it was reserved
	}
	return err
}

// Failed ends the name of the file that takes, beside FILE, what could not or must not replace FILE.
const Failed = ".failed"

// Leave moves the file, unless it was kept or discarded, to the one beside its place that Failed
// ends, and replaces that. Name then says where it is.
func (t *Temp) Leave() error {
	if t.ended {
		return nil
	}
	t.ended = true
	err := t.rename(t.target + Failed)
	_ = t.Close() // Keep may have closed it
	return errors.Join(err, t.root.Close())
}

func (t *Temp) rename(name string) error {
	err := t.root.Rename(t.name, name)
	if err == nil {
		t.name = name
	}
	return err
}

// Discard removes the file, unless it was kept.
func (t *Temp) Discard() error {
	if t.ended {
		return nil
	}
	t.ended = true
	_ = t.Close() // Keep may have closed it
	return errors.Join(t.root.Remove(t.name), t.root.Close())
}

// The time since the last write after which a temporary file may be removed: if it could be
// locked, and if locks say nothing. A running download writes every few minutes.
const (
	unlockedAfter = time.Minute // another machine's locks may not be seen here
	leftAfter     = 24 * time.Hour
)

// Sweep removes the temporary files that killed processes left in a folder: files that no
// process has locked or written to for a minute. On Windows, and on file systems without
// locks, it removes files that nobody has written to for a day. A missing folder is no error.
func Sweep(dir string) error { return errors.Join(sweepFolder(dir, "", unlockedAfter)...) }

// SweepFor is Sweep for the temporary files of one place. Other users may share its folder:
// files that permissions protect stay.
func SweepFor(path string) error { return sweepFor(path, unlockedAfter) }

func sweepFor(path string, least time.Duration) error {
	errs := sweepFolder(filepath.Dir(path), filepath.Base(path), least)
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, os.ErrPermission) })...)
}

// sweepFolder removes the temporary files of one target, or of all if target is empty. A file that
// can be locked must not have been written to for least.
func sweepFolder(dir, target string, least time.Duration) (errs []error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []error{fmt.Errorf("removing temporary files: %w", err)}
	}
	for _, e := range entries {
		name := tempName.FindStringSubmatch(e.Name())
		if e.Type().IsRegular() && name != nil && (target == "" || name[1] == target) {
			errs = append(errs, sweep(filepath.Join(dir, e.Name()), least))
		}
	}
	return errs
}

func sweep(path string, least time.Duration) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	locked := lock(f)
	if !abandoned(locked, time.Since(info.ModTime()), least) {
		return nil
	}
	if locked != nil {
		f.Close() // Windows removes no file that is open
	}
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// abandoned reports whether a temporary file has no writer any more. locked is the result of
// locking it, age the time since the last write.
func abandoned(locked error, age, least time.Duration) bool {
	switch {
	case locked == nil:
		return age >= least
	case errors.Is(locked, errHeld):
		return false
	default:
		return age >= leftAfter
	}
}
