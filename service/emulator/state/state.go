// Package state keeps the state of one emulator: a folder that one process owns, with an
// SQLite database and a few files that are replaced atomically. The packages of the emulator
// keep their tables in it.
//
// A Dir is safe for concurrent use, except [Dir.Note] and [Dir.Notes], which are for the
// start of the emulator. Readers never wait: a change that is being written delays only other
// changes and [Dir.Close].
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrInUse means that another process owns the state folder.
var ErrInUse = errors.New("the state folder is in use by another emulator")

// lockName is the file whose lock is the folder's.
const lockName = "lock"

// Dir is the state folder of one emulator, or a temporary folder that [Dir.Close] removes.
type Dir struct {
	dir   string
	temp  *Temp // nil for a folder that was given
	lock  *flock.Flock
	db    *database
	now   func() time.Time
	notes []string
}

// Open makes the folder if necessary, locks it, removes half-written files of a killed
// process, and opens the database. An empty dir is a temporary folder. A damaged database is
// renamed, with a note. Errors: [ErrInUse] when another process owns the folder, a [BuildError],
// or the disk's.
func Open(dir string, now func() time.Time) (_ *Dir, err error) {
	d := &Dir{dir: dir, now: now}
	if dir == "" {
		if d.temp, err = NewTemp("zonedeck-emulator-"); err != nil {
			return nil, err
		}
		d.dir = d.temp.Path
	} else if err := d.acquire(); err != nil {
		return nil, err
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Clear removes everything from a state folder, so that an emulator begins in it as for the
// first time. Errors: [ErrInUse], or the disk's. A folder that is not there stays so.
func Clear(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d := &Dir{dir: dir}
	if err := d.acquire(); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir) // under the lock: nobody adds to it any more
	errs := []error{err}
	for _, e := range entries {
		if e.Name() != lockName {
			errs = append(errs, os.RemoveAll(d.Path(e.Name())))
		}
	}
	return errors.Join(append(errs, d.lock.Unlock())...)
}

// InUse reports whether a process owns a state folder.
func InUse(dir string) bool {
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	free, err := lock.TryLock()
	_ = lock.Close()
	return err == nil && !free
}

// Refused returns the [BuildError] that Open has for a folder, or nil. It changes nothing there.
func Refused(dir string) error {
	d := &Dir{dir: dir}
	err := d.refuseEarlier()
	if err == nil { // as if the file could not be written
		var db *database
		if db, err = openDatabase(d.Path(databaseName), false, fs.ErrPermission); err == nil {
			_ = db.close() // it was only read
		}
	}
	if _, refused := errors.AsType[BuildError](err); !refused || errors.Is(err, errOlder) && d.probe() == nil {
		return nil // Open brings an older one up to date
	}
	return err
}

func (d *Dir) acquire() error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("making the state folder: %w", err)
	}
	d.lock = flock.New(d.Path(lockName), flock.SetPermissions(0o600))
	ok, err := d.lock.TryLock()
	if err != nil {
		return fmt.Errorf("locking the state folder: %w", err)
	}
	if !ok {
		return fmt.Errorf("%w: %s", ErrInUse, d.dir)
	}
	return nil
}

func (d *Dir) open() error {
	if err := removeHalfWritten(d.dir); err != nil {
		return err
	}
	if err := d.refuseEarlier(); err != nil {
		return err
	}
	readOnly := d.probe()
	if readOnly != nil {
		d.Note(fmt.Sprintf("the state folder cannot be written, and what is changed is refused or lost: %v", readOnly))
	}
	var err error
	d.db, err = openDatabase(d.Path(databaseName), d.temp != nil, readOnly)
	if damaged(err) && readOnly == nil {
		if err := d.putAside(err); err != nil {
			return err
		}
		d.db, err = openDatabase(d.Path(databaseName), d.temp != nil, nil)
	}
	return err
}

// refuseEarlier returns an error for a folder that has an earlier build's files and no database: with a new one, a new
// authority would replace the one that clients trust.
func (d *Dir) refuseEarlier() error {
	if info, err := os.Stat(d.Path(databaseName)); err == nil && info.Size() > 0 {
		return nil
	}
	for _, name := range [...]string{"account.json", "clock.json", "lab.json", "ca.key", "ca.pem"} {
		if _, err := os.Lstat(d.Path(name)); err == nil {
			return fmt.Errorf("%w: %s has %s and no %s: move it away, or clear the embedded emulator's with 'zonedeck emulate reset'", errEarlier, d.dir, name, databaseName)
		}
	}
	return nil
}

// probe returns why the folder cannot be written to, or nil. Its contents can still be read
// and served.
func (d *Dir) probe() error {
	f, err := os.CreateTemp(d.dir, halfWritten+"probe-*")
	if err != nil {
		return err
	}
	_ = errors.Join(f.Close(), os.Remove(f.Name())) // writing worked; a leftover file goes at the next start
	return nil
}

// putAside renames a database that cannot be read, and its log.
func (d *Dir) putAside(why error) error {
	to := databaseName + ".corrupt-" + d.now().UTC().Format("20060102T150405.000000000")
	for _, end := range [...]string{"-wal", "-shm", ""} {
		err := os.Rename(d.Path(databaseName+end), d.Path(to+end))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("putting the state aside: %w", err)
		}
	}
	d.Note(fmt.Sprintf("%s could not be read (%v); it is kept as %s and a new one begins", databaseName, why, to))
	return nil
}

// Close waits for the change that is being written and unlocks the folder, or removes a
// temporary one. Later changes are [errClosed].
func (d *Dir) Close() error {
	var errs []error
	if d.db != nil {
		errs = append(errs, d.db.close())
	}
	if d.temp != nil {
		return errors.Join(append(errs, d.temp.Remove())...)
	}
	return errors.Join(append(errs, d.lock.Unlock())...)
}

// Note adds a note for the operator about what was found in the folder.
func (d *Dir) Note(text string) { d.notes = append(d.notes, text) }

// Notes lists what was found broken, and was renamed or left out.
func (d *Dir) Notes() []string { return d.notes }

// Path is the path of a file in the folder.
func (d *Dir) Path(name string) string { return filepath.Join(d.dir, name) }

// Folder makes a folder in the folder, removes half-written files of a killed process from
// it, and returns its path.
func (d *Dir) Folder(name string) (string, error) {
	path := d.Path(name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("making a folder of the state: %w", err)
	}
	return path, removeHalfWritten(path)
}

// Update makes a change that survives a power cut: when it returns nil, all writes of edit
// are on disk, otherwise none. Use it for what a client has been told.
func (d *Dir) Update(edit func(*Tx) error) error { return d.db.change(d.db.done, false, edit) }

// Erase is Update, and removes what it replaced or deleted from every file. Use it for
// secrets; it costs two more syncs.
func (d *Dir) Erase(edit func(*Tx) error) error { return d.db.change(d.db.done, true, edit) }

// Soon is Update for what can be made again: it survives the process at once, and a power
// cut after the next Update.
func (d *Dir) Soon(edit func(*Tx) error) error { return d.db.change(d.db.soon, false, edit) }

// halfWritten is the prefix of a file that is still being written.
const halfWritten = ".new-"

// File is a file that is being written. [File.Replace] gives it its name in one step, which
// survives a crash.
type File struct {
	*os.File
	path string
}

// Create begins a file (0600). Call Replace or Discard at the end.
func Create(path string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), halfWritten+filepath.Base(path)+"-*")
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return &File{f, path}, nil
}

// Replace makes the file durable under its name. If it fails, it removes the file.
func (f *File) Replace() error {
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		f.Discard()
		return fmt.Errorf("writing %s: %w", filepath.Base(f.path), err)
	}
	return syncDir(filepath.Dir(f.path))
}

// Discard removes the file, and leaves an older one of its name unchanged.
func (f *File) Discard() {
	f.Close()
	_ = os.Remove(f.Name()) // a leftover file goes at the next start
}

// WriteFile replaces the contents of a file.
func WriteFile(path string, b []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		f.Discard()
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return f.Replace()
}

// removeHalfWritten removes the half-written files of a killed process from a folder.
func removeHalfWritten(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking for half written files: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), halfWritten) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("removing a half written file: %w", err)
		}
	}
	return nil
}

// syncDir makes a rename durable. Windows needs no call for that.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

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
