package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"zonedeck/keystore/textfile"
)

// errStop ends a walk whose caller has had enough.
var errStop = errors.New("stop")

// Results gives the lines of all workers up to the committed lengths. As they came, it gives the lines of one worker
// after another's, by the workers' names. In order, it sorts them by the numbers of their items, and those of one item
// as they came; memory is bounded, because places of lines, not lines, are sorted in runs, which are merged from a
// temporary file in dir. An error is the last thing that it gives; it says in which line of which file.
func Results(dir string, workers map[string]Length, inOrder bool) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		err := walk(dir, workers, inOrder, func(line Line) error {
			if !yield(line, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Line{}, fmt.Errorf("reading the results in %s: %w", dir, err))
		}
	}
}

func walk(dir string, workers map[string]Length, inOrder bool, visit func(Line) error) (err error) {
	var logs []results
	defer func() {
		for _, l := range logs {
			_ = l.file.Close() // nothing was written
		}
	}()
	for _, worker := range slices.Sorted(maps.Keys(workers)) {
		if workers[worker].Lines == 0 {
			continue
		}
		l, err := openResults(dir, worker, workers[worker].Lines)
		if err != nil {
			return err
		}
		logs = append(logs, l)
	}
	if inOrder {
		return ordered(dir, logs, visit)
	}
	for _, l := range logs {
		if err := l.each(func(at place, raw []byte) error { return l.visit(at, raw, visit) }); err != nil {
			return err
		}
	}
	return nil
}

// ordered visits the lines by the numbers of their items.
func ordered(dir string, logs []results, visit func(Line) error) (err error) {
	s := newSorter(filepath.Join(dir, "order"))
	defer func() { err = errors.Join(err, s.close()) }()
	for n, l := range logs {
		err := l.each(func(at place, raw []byte) error {
			var err error
			if at.n, err = itemOf(raw); err != nil {
				return l.fault(at, err)
			}
			at.log = uint32(n)
			return s.add(at)
		})
		if err != nil {
			return err
		}
	}
	var raw []byte
	return s.each(func(at place) error {
		raw = slices.Grow(raw[:0], int(at.size))[:at.size]
		l := logs[at.log]
		if _, err := l.file.ReadAt(raw, at.offset); err != nil {
			return l.fault(at, err)
		}
		return l.visit(at, raw, visit)
	})
}

// results are those of one worker, up to the committed length.
type results struct {
	worker string
	file   *os.File
	length int64
}

func openResults(dir, worker string, length int64) (results, error) {
	if err := checkWorker(worker); err != nil {
		return results{}, err
	}
	f, err := textfile.Open(filepath.Join(dir, resultsName(worker)))
	if err != nil {
		return results{}, err
	}
	if err := notShorter(f, resultsName(worker), length); err != nil {
		return results{}, errors.Join(err, f.Close())
	}
	return results{worker, f, length}, nil
}

// each gives the lines. Whatever stands between them, or ends where no line does, is an error.
func (r results) each(visit func(at place, raw []byte) error) error {
	lines := scanLines(io.NewSectionReader(r.file, 0, r.length))
	at := place{}
	for lines.Scan() {
		at.size = uint32(len(lines.Bytes()))
		if err := visit(at, lines.Bytes()); err != nil {
			return err
		}
		at.offset += int64(at.size) + 1
	}
	err := scanError(lines)
	if err == nil && at.offset != r.length {
		err = fmt.Errorf("%w: it is cut short, or has bytes of zero", ErrDamaged)
	}
	if err != nil {
		return r.fault(at, err)
	}
	return nil
}

func (r results) visit(at place, raw []byte, visit func(Line) error) error {
	line, err := parseLine(raw, r.worker)
	if err != nil {
		return r.fault(at, err)
	}
	return visit(line)
}

func (r results) fault(at place, err error) error {
	return lineError(r.file, resultsName(r.worker), at.offset, err)
}

// place is where the line of an item stands: in which log, where it begins, and its length without the line break.
type place struct {
	n, offset int64
	log, size uint32
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.n, q.n), cmp.Compare(p.log, q.log), cmp.Compare(p.offset, q.offset))
}
