// Package state is what one emulator keeps: a folder that one process owns, an SQLite
// database in it, and a few files beside that which are replaced as a whole. The packages
// of the emulator keep their tables in it.
//
// A Dir is safe for concurrent use, [Dir.Note] and [Dir.Notes] while the emulator starts
// only. Readers wait for nobody: a change that is being written, and synced, holds up
// other changes and [Dir.Close] alone.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// ErrInUse means that another process owns the state folder.
var ErrInUse = errors.New("the state folder is in use by another emulator")

// Dir is the folder that one emulator owns. With no folder given it is a temporary one
// that goes with the server.
type Dir struct {
	dir   string
	temp  *Temp // nil for a folder that was given
	lock  *flock.Flock
	db    *database
	now   func() time.Time
	notes []string
}

// Open makes or takes the folder, clears it of files that a killed process had half
// written, and opens the database; empty is a temporary folder. A damaged database, and
// the files of emulators before there was one, are put aside with a note. Errors:
// [ErrInUse] when another process owns the folder, [ErrNewer], or the disk's.
func Open(dir string, now func() time.Time) (_ *Dir, err error) {
	d := &Dir{dir: dir, now: now}
	if dir == "" {
		if d.temp, err = NewTemp("zonedeck-emulator-"); err != nil {
			return nil, err
		}
		d.dir = d.temp.Path
	} else if err := d.take(); err != nil {
		return nil, err
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// take makes the folder and locks it.
func (d *Dir) take() error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("making the state folder: %w", err)
	}
	d.lock = flock.New(d.Path("lock"), flock.SetPermissions(0o600))
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
	readOnly := d.probe()
	if readOnly != nil {
		d.Note(fmt.Sprintf("the state folder cannot be written, and what is changed is refused or lost: %v", readOnly))
	} else if err := d.putEarlierAside(); err != nil {
		return err
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

// probe finds out why nothing can be written to the folder, where that is so. What is
// there can still be read and served.
func (d *Dir) probe() error {
	f, err := os.CreateTemp(d.dir, halfWritten+"probe-*")
	if err != nil {
		return err
	}
	_ = errors.Join(f.Close(), os.Remove(f.Name())) // it was possible, or goes at the next start
	return nil
}

// aside is a name that nothing has yet.
func (d *Dir) aside(name, why string) string {
	return fmt.Sprintf("%s.%s-%s", name, why, d.now().UTC().Format("20060102T150405.000000000"))
}

// putAside keeps a database that could not be read under a new name, its log with it.
func (d *Dir) putAside(why error) error {
	to := d.aside(databaseName, "corrupt")
	for _, end := range [...]string{"-wal", "-shm", ""} {
		err := os.Rename(d.Path(databaseName+end), d.Path(to+end))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("putting the state aside: %w", err)
		}
	}
	d.Note(fmt.Sprintf("%s could not be read (%v); it is kept as %s and a new one begins", databaseName, why, to))
	return nil
}

// putEarlierAside keeps what emulators wrote before there was a database in a folder of
// its own: it was never released, so that nothing is taken over from it.
func (d *Dir) putEarlierAside() error {
	if _, err := os.Stat(d.Path(databaseName)); err == nil {
		return nil
	}
	to := ""
	for _, name := range [...]string{"account.json", "clock.json", "lab.json", "ca.key", "ca.pem", "jobs", "deliveries", "responses", "usage"} {
		if _, err := os.Lstat(d.Path(name)); err != nil {
			continue
		}
		if to == "" {
			to = d.aside("state", "before")
			if err := os.Mkdir(d.Path(to), 0o700); err != nil {
				return fmt.Errorf("putting an earlier version's files aside: %w", err)
			}
			d.Note(fmt.Sprintf("the state folder holds files of an earlier version; they are kept in %s and a new state begins", to))
		}
		if err := os.Rename(d.Path(name), filepath.Join(d.Path(to), name)); err != nil {
			return fmt.Errorf("putting an earlier version's files aside: %w", err)
		}
	}
	return nil
}

// Close waits for the change that is being written and gives the folder back; a temporary
// one is removed. Later changes are [ErrClosed].
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

// Note adds what the operator should know of what was found in the folder.
func (d *Dir) Note(text string) { d.notes = append(d.notes, text) }

// Notes tell what was found broken and put aside or left out.
func (d *Dir) Notes() []string { return d.notes }

// Path is where a file of the folder lies.
func (d *Dir) Path(name string) string { return filepath.Join(d.dir, name) }

// Folder is where a folder of the folder lies, which is made and cleared of files that a
// killed process had half written.
func (d *Dir) Folder(name string) (string, error) {
	path := d.Path(name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("making a folder of the state: %w", err)
	}
	return path, removeHalfWritten(path)
}

// Update makes a change that outlasts the machine: edit's writes are on disk as a whole
// when it returns nil, and none of them otherwise. It is for what was answered.
func (d *Dir) Update(edit func(*Tx) error) error { return d.db.change(d.db.done, false, edit) }

// Erase is Update, and what it replaced or deleted is in no file afterwards. It is for
// secrets, and costs two more syncs.
func (d *Dir) Erase(edit func(*Tx) error) error { return d.db.change(d.db.done, true, edit) }

// Soon is Update for what can be made again: it outlasts the process at once, and the
// machine with the next Update.
func (d *Dir) Soon(edit func(*Tx) error) error { return d.db.change(d.db.soon, false, edit) }
