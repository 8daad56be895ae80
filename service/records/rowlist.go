package records

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

// entry is a row of a list: its number from 0, and where it begins. In a difference it may
// have one in the old file besides, and what became of it.
type entry struct {
	row, at       int64
	oldRow, oldAt int64
	change        Change
}

const entrySize = 33

// View says which rows of a file are looked at: all, if there is no list. In a difference, Old is the other file,
// and Ignore are the fields that were not compared.
type View struct {
	Rows   *RowList
	Old    *File
	Ignore []string
}

// RowList is a list of rows in some order, in a temporary file: the rows that a filter let through, sorted
// rows, or the difference of two results. Close it.
type RowList struct {
	f        *os.File
	path     string
	w        *bufio.Writer
	n        int64
	readable atomic.Int64 // entries that can be read
}

func newList(dir string) (*RowList, error) {
	f, path, err := tempFile(dir)
	if err != nil {
		return nil, err
	}
	return &RowList{f: f, path: path, w: bufio.NewWriterSize(f, 64<<10)}, nil
}

// tempFile makes a temporary file that goes when the process does, where the system can do that. path is
// empty then.
func tempFile(dir string) (f *os.File, path string, err error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, "", err
		}
	}
	if f, err = os.CreateTemp(dir, "zonedeck-rows-*"); err != nil {
		return nil, "", err
	}
	if os.Remove(f.Name()) != nil {
		path = f.Name()
	}
	return f, path, nil
}

func (l *RowList) add(e entry) error {
	var b [entrySize]byte
	for i, n := range []int64{e.row, e.at, e.oldRow, e.oldAt} {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(n)) //nolint:gosec // it comes back as it was
	}
	b[32] = byte(e.change)
	l.n++
	_, err := l.w.Write(b[:])
	return err
}

// publish lets everything be read that was added.
func (l *RowList) publish() error {
	err := l.w.Flush()
	l.readable.Store(l.n)
	return err
}

// Len is how many rows it has so far.
func (l *RowList) Len() int64 { return l.readable.Load() }

// get gives the entries from i on, as many as there are up to len(out).
func (l *RowList) get(i int64, out []entry) (int, error) {
	n := min(int64(len(out)), l.Len()-i)
	if i < 0 || n <= 0 {
		return 0, nil
	}
	b := make([]byte, n*entrySize)
	if _, err := l.f.ReadAt(b, i*entrySize); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	for k := range out[:n] {
		at := b[k*entrySize:]
		v := func(i int) int64 { return int64(binary.LittleEndian.Uint64(at[8*i:])) } //nolint:gosec // as add wrote it
		out[k] = entry{row: v(0), at: v(1), oldRow: v(2), oldAt: v(3), change: Change(at[32])}
	}
	return int(n), nil
}

// Close removes it.
func (l *RowList) Close() error {
	if l == nil {
		return nil
	}
	err := l.f.Close()
	if l.path != "" {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}
