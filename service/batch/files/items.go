package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
)

// sliceSize is the size of an entry of the file of slices: the end in items.ndjson and a CRC-32C.
const sliceSize = 8 + 4

// Item is an item of a batch.
type Item struct {
	N         int64 // its number, from 0
	Line      []byte
	Duplicate int64 // the number of the first of its kind, -1 if it is the first
	Sent      int   // how many times it was marked as sent
}

// Items are those of a batch that is planned.
type Items struct {
	items, slices, firsts, marks *os.File
	count                        int64
}

// OpenItems opens the items of the batch in dir. It holds the sizes of its files against each other: an error that wraps
// ErrDamaged says which file is wrong.
func OpenItems(dir string) (*Items, error) {
	var i Items
	err := i.open(dir)
	if err == nil {
		err = i.check()
	}
	if err != nil {
		_ = i.Close() // nothing was written
		return nil, fmt.Errorf("opening the items of the batch in %s: %w", dir, err)
	}
	return &i, nil
}

func (i *Items) open(dir string) (err error) {
	for _, file := range []struct {
		name string
		into **os.File
		mode int
	}{{itemsFile, &i.items, os.O_RDONLY}, {slicesFile, &i.slices, os.O_RDONLY}, {firstsFile, &i.firsts, os.O_RDONLY}, {marksFile, &i.marks, os.O_RDWR}} {
		if *file.into, err = os.OpenFile(filepath.Join(dir, file.name), file.mode, 0); err != nil {
			return err
		}
	}
	return nil
}

func (i *Items) check() error {
	var sizes [4]int64
	for n, f := range []*os.File{i.items, i.slices, i.firsts, i.marks} {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		sizes[n] = info.Size()
	}
	i.count = sizes[3]
	slices := (i.count + SliceItems - 1) / SliceItems
	if sizes[1] != slices*sliceSize || sizes[2] != 8*i.count {
		name, size, want := slicesFile, sizes[1], slices*sliceSize
		if size == want {
			name, size, want = firstsFile, sizes[2], 8*i.count
		}
		return fmt.Errorf("%s is %w: it has %d bytes, and %d belong to the %d items of %s", name, ErrDamaged, size, want, i.count, marksFile)
	}
	if slices == 0 && sizes[0] == 0 {
		return nil
	}
	_, end, _, err := i.place(slices - 1)
	if err == nil && end != sizes[0] {
		err = fmt.Errorf("%s is %w: it has %d bytes, and %s says %d", itemsFile, ErrDamaged, sizes[0], slicesFile, end)
	}
	return err
}

// place is where a slice lies in items.ndjson, and the CRC-32C of its lines.
func (i *Items) place(k int64) (begin, end int64, crc uint32, err error) {
	var entries [2 * sliceSize]byte
	of := entries[:]
	if k == 0 {
		of = entries[sliceSize:]
	}
	if _, err := i.slices.ReadAt(of, max(0, k-1)*sliceSize); err != nil {
		return 0, 0, 0, err
	}
	begin, end = int64(binary.LittleEndian.Uint64(entries[:])), int64(binary.LittleEndian.Uint64(entries[sliceSize:]))
	if begin < 0 || end <= begin || end-begin > SliceItems*MaxLine {
		return 0, 0, 0, fmt.Errorf("%s is %w at slice %d", slicesFile, ErrDamaged, k)
	}
	return begin, end, binary.LittleEndian.Uint32(entries[sliceSize+8:]), nil
}

// Slice returns the items of slice k, duplicates included. It reads their marks anew.
func (i *Items) Slice(k int) ([]Item, error) {
	first := int64(k) * SliceItems
	if k < 0 || first >= i.count {
		return nil, fmt.Errorf("the batch has no slice %d: it has %d items", k, i.count)
	}
	items, err := i.read(int64(k), first, min(SliceItems, i.count-first))
	if err != nil {
		return nil, fmt.Errorf("reading slice %d: %w", k, err)
	}
	return items, nil
}

func (i *Items) read(k, first, count int64) ([]Item, error) {
	begin, end, crc, err := i.place(k)
	if err != nil {
		return nil, err
	}
	text, firsts, marks := make([]byte, end-begin), make([]byte, 8*count), make([]byte, count)
	for _, part := range []struct {
		file *os.File
		into []byte
		at   int64
	}{{i.items, text, begin}, {i.firsts, firsts, 8 * first}, {i.marks, marks, first}} {
		if _, err := part.file.ReadAt(part.into, part.at); err != nil {
			return nil, err
		}
	}
	lines := bytes.SplitAfter(text, []byte{'\n'})
	if crc32.Checksum(text, castagnoli()) != crc || int64(len(lines)) != count+1 {
		return nil, fmt.Errorf("%s is %w: items %d to %d are not those that were planned", itemsFile, ErrDamaged, first, first+count-1)
	}
	items := make([]Item, count)
	for n := range items {
		number := first + int64(n)
		duplicate := int64(binary.LittleEndian.Uint64(firsts[8*n:])) - 1
		if duplicate < -1 || duplicate >= number {
			return nil, fmt.Errorf("%s is %w at item %d", firstsFile, ErrDamaged, number)
		}
		items[n] = Item{N: number, Line: bytes.TrimSuffix(lines[n], []byte{'\n'}), Duplicate: duplicate, Sent: int(marks[n])}
	}
	return items, nil
}

// MarkSent says that item n is about to be sent for the times-th time; 255 stands for more. A mark survives the end of
// the process, however it ends, but not a power cut.
func (i *Items) MarkSent(n int64, times int) error {
	if n < 0 || n >= i.count {
		return fmt.Errorf("the batch has no item %d: it has %d", n, i.count)
	}
	if _, err := i.marks.WriteAt([]byte{byte(max(0, min(times, math.MaxUint8)))}, n); err != nil {
		return fmt.Errorf("marking item %d as sent: %w", n, err)
	}
	return nil
}

// Close closes the files.
func (i *Items) Close() (err error) {
	for _, f := range []*os.File{i.items, i.slices, i.firsts, i.marks} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
