package files

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"zonedeck/keystore/textfile"
)

// Tail recovers what a dead worker wrote after from, the lengths that were committed last. It gives the lines up to the
// first that is not whole, or whose body is not: a kill cuts the last one at most, a power cut any that were not synced.
// The files are cut to what it gives, and synced. A line that somebody changed is an error that wraps ErrDamaged, and
// then the files stay as they are. While the worker has its log open, the error wraps textfile.ErrLocked.
func Tail(dir, worker string, from Length) ([]Line, Length, error) {
	if err := checkWorker(worker); err != nil {
		return nil, Length{}, err
	}
	lines, at, err := tail(dir, worker, from)
	if err != nil {
		return nil, Length{}, fmt.Errorf("recovering what worker %s wrote: %w", worker, err)
	}
	return lines, at, nil
}

func tail(dir, worker string, from Length) (found []Line, at Length, err error) {
	name := resultsName(worker)
	results, err := textfile.OpenPartial(filepath.Join(dir, name))
	if err != nil {
		return nil, Length{}, err
	}
	defer func() { err = errors.Join(err, results.Leave()) }()
	if err := notShorter(results.File, name, from.Lines); err != nil {
		return nil, Length{}, err
	}
	if found, at, err = wholeResults(dir, worker, results, from); err != nil {
		return nil, Length{}, lineError(results, name, at.Lines, err)
	}
	if err := cutSegments(dir, worker, at); err != nil {
		return nil, Length{}, err
	}
	return found, at, errors.Join(results.Truncate(at.Lines), results.Sync())
}

// wholeResults reads the lines after from whose bodies are whole, up to the first that is not, and says how long the
// files are with these alone.
func wholeResults(dir, worker string, results io.ReaderAt, from Length) (found []Line, at Length, err error) {
	at = from
	lines := scanLines(io.NewSectionReader(results, from.Lines, 1<<62))
	for lines.Scan() {
		line, err := parseLine(lines.Bytes(), worker)
		if err == nil && line.BodyAt != nil {
			err = checkBody(dir, line)
		}
		if errors.Is(err, errNotWhole) {
			return found, at, nil
		}
		if err != nil {
			return nil, at, err
		}
		found = append(found, line)
		at.Lines += int64(len(lines.Bytes())) + 1
		if b := line.BodyAt; b != nil && (b.Segment > at.Segment || b.Segment == at.Segment && b.end() > at.Bytes) {
			at.Segment, at.Bytes = b.Segment, b.end()
		}
	}
	return found, at, scanError(lines)
}

// errNotWhole says that a body did not come onto the disk before its worker died.
var errNotWhole = errors.New("its body is not whole")

// checkBody reads the body of a line.
func checkBody(dir string, line Line) error {
	body, err := openBody(dir, *line.BodyAt)
	if err == nil {
		defer func() { _ = body.Close() }() // nothing was written
		_, err = io.Copy(io.Discard, body)
	}
	switch {
	case errors.Is(err, ErrDamaged), errors.Is(err, fs.ErrNotExist):
		return errNotWhole
	case err == nil && hex.EncodeToString(body.digest[:]) != line.SHA256:
		return fmt.Errorf("%w: its sha256 is not that of its body", ErrDamaged)
	}
	return err
}

// notShorter refuses a file that lacks something of its committed length.
func notShorter(f *os.File, name string, committed int64) error {
	info, err := f.Stat()
	if err == nil && info.Size() < committed {
		err = fmt.Errorf("%s is %w: it has %d bytes, and %d were committed", name, ErrDamaged, info.Size(), committed)
	}
	return err
}

// cutSegments removes from a worker's segments what stands after at.
func cutSegments(dir, worker string, at Length) error {
	last, err := lastSegment(dir, worker)
	if err == nil && at.Segment > 0 {
		err = cutSegment(dir, segmentName(worker, at.Segment), at.Bytes)
	}
	for ; err == nil && last > at.Segment; last-- { // the highest first: no gap must remain
		err = os.Remove(filepath.Join(dir, segmentName(worker, last)))
	}
	return err
}

func cutSegment(dir, name string, size int64) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := notShorter(f, name, size); err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync())
}
