package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
)

// MaxLine limits an item and a line of results, in bytes with the line break.
const MaxLine = 1 << 20

// SliceItems is how many items a slice has; the last one may have fewer.
const SliceItems = 100

// ErrDamaged is wrapped where a file is not as zonedeck wrote it.
var ErrDamaged = errors.New("damaged")

const (
	itemsFile = "items.ndjson"
	indexFile = "index"
	// A folder that is being planned is named by the sign of life of its planner, which lies in signsFolder.
	planningPrefix = ".planning-"
	signsFolder    = ".planners"
	// plannerFile in a folder names the sign of life of its planner, until the batch is begun.
	plannerFile = "planner"
)

// Where the parts of an entry of the index are; where its line ends comes first.
const (
	firstAt   = 8
	crcAt     = 16
	sentAt    = 20
	entrySize = 24
)

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Key names what an item asks for: two items of one key are the same request. It is the first half of a SHA-256, so
// that keys spread evenly.
type Key [16]byte

const (
	partitions = 64
	keySize    = len(Key{}) + 8 // with the number of the item
	keysAtOnce = 1 << 18        // how many the search for duplicates holds
)

// Planned is what a Spool took.
type Planned struct {
	Items, Duplicates int64
	Slices            int
	Digest            string // hex SHA-256 over the items as they were added, each with its line break
}

// Spool takes the items of a batch that is being planned. Call Finish or Discard.
type Spool struct {
	dir, work     string         // its place, and where it is until Finish
	sign          *textfile.Sign // nil in the end
	items, index  *os.File
	text, entries *bufio.Writer // to these
	line          []byte
	keys          [partitions]partition
	keysAtOnce    int64
	digest        hash.Hash
	count, end    int64
	planned       bool // and has its place
}

// NewSpool begins a batch whose folder will be dir. Nothing may be there: then the error wraps fs.ErrExist. dir appears
// when the batch has been planned, by Finish.
func NewSpool(dir string) (*Spool, error) {
	above := filepath.Dir(dir)
	sign, err := textfile.NewSign(filepath.Join(above, signsFolder))
	if err != nil {
		return nil, err
	}
	s := &Spool{dir: dir, work: filepath.Join(above, planningPrefix+sign.Name()), sign: sign, digest: sha256.New(), keysAtOnce: keysAtOnce}
	for i := range s.keys {
		s.keys[i].dir = s.work
	}
	if _, missing := os.Lstat(dir); !errors.Is(missing, fs.ErrNotExist) {
		err = &fs.PathError{Op: "mkdir", Path: dir, Err: cmp.Or(missing, fs.ErrExist)}
	}
	if err == nil {
		err = os.Mkdir(s.work, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.work, plannerFile), []byte(sign.Name()), 0o600)
	}
	if err == nil {
		s.items, err = create(filepath.Join(s.work, itemsFile))
	}
	if err == nil {
		s.index, err = create(filepath.Join(s.work, indexFile))
	}
	if err != nil {
		return nil, fmt.Errorf("planning a batch: %w", errors.Join(err, s.Discard()))
	}
	s.text, s.entries = bufio.NewWriterSize(s.items, 64<<10), bufio.NewWriter(s.index)
	return s, nil
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// Add takes an item, which is one line of JSON. It does not look whether it is JSON.
func (s *Spool) Add(item []byte, key Key) error {
	if bytes.ContainsAny(item, "\r\n") {
		return fmt.Errorf("item %d has a line break: write it as \\n", s.count)
	}
	if len(item) >= MaxLine {
		return fmt.Errorf("item %d has %d bytes: at most %d", s.count, len(item), MaxLine-1)
	}
	s.line = append(append(s.line[:0], item...), '\n')
	s.end += int64(len(s.line))
	var entry [entrySize]byte
	binary.LittleEndian.PutUint64(entry[:], uint64(s.end))
	binary.LittleEndian.PutUint32(entry[crcAt:], castagnoli(s.line))
	_, _ = s.digest.Write(s.line) // never an error
	_, _ = s.text.Write(s.line)   // of these two, Flush has it
	_, _ = s.entries.Write(entry[:])
	err := s.keys[key[0]%partitions].add(binary.LittleEndian.AppendUint64(key[:], uint64(s.count)))
	if err != nil {
		return fmt.Errorf("planning item %d: %w", s.count, err)
	}
	s.count++
	return nil
}

// Finish finds the duplicates, puts everything on disk, and gives the folder its name. After an error, Discard it.
func (s *Spool) Finish(ctx context.Context) (Planned, error) {
	p := Planned{Items: s.count, Slices: int((s.count + SliceItems - 1) / SliceItems), Digest: hex.EncodeToString(s.digest.Sum(nil))}
	err := errors.Join(s.text.Flush(), s.entries.Flush())
	for i := range s.keys {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.findDuplicates(&s.keys[i], &p.Duplicates)
		}
	}
	if err == nil {
		err = errors.Join(s.items.Sync(), s.index.Sync(), s.close(), textfile.SyncFolder(s.work))
	}
	if err == nil {
		err = os.Rename(s.work, s.dir)
	}
	if err != nil {
		return Planned{}, fmt.Errorf("planning a batch: %w", err)
	}
	s.planned = true
	return p, textfile.SyncFolder(filepath.Dir(s.dir))
}

// Release ends the planner's sign of life, once the batch is begun or its folder has gone.
func (s *Spool) Release() {
	s.sign.Release()
	s.sign = nil
}

// Begun says that a batch is begun: from now on Sweep leaves its folder, whatever is known of it.
func Begun(dir string) error {
	if err := os.Remove(filepath.Join(dir, plannerFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// findDuplicates marks those of a partition in the index and counts them. It holds a bounded number of keys: a larger
// partition is read several times, and each time a part of its keys is looked at.
func (s *Spool) findDuplicates(p *partition, found *int64) error {
	first := map[Key]int64{}
	passes := uint32(p.size/int64(keySize)/s.keysAtOnce) + 1
	for pass := range passes {
		clear(first)
		err := p.each(keySize, func(record []byte) error {
			if binary.LittleEndian.Uint32(record[1:])%passes != pass {
				return nil
			}
			key, n := Key(record[:len(Key{})]), int64(binary.LittleEndian.Uint64(record[len(Key{}):]))
			before, there := first[key]
			if !there {
				first[key] = n
				return nil
			}
			*found++
			_, err := s.index.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(before+1)), n*entrySize+firstAt)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Spool) close() error {
	for i := range s.keys {
		s.keys[i].close()
	}
	return errors.Join(s.items.Close(), s.index.Close())
}

// Ended says that a batch is about to be forgotten: Sweep removes its folder once nobody knows it.
func Ended(dir string) error { return os.WriteFile(filepath.Join(dir, plannerFile), nil, 0o600) }

// Discard removes what was planned.
func (s *Spool) Discard() error {
	if s.sign == nil {
		return nil
	}
	_ = s.close() // Finish may have closed them
	place := s.work
	if s.planned {
		place = s.dir
	}
	err := os.RemoveAll(place)
	s.Release()
	return err
}

// Sweep removes what killed planners left below dir, the folder of all batches. begun says which of the batches whose
// folders have these names were begun after all; they stay. A missing folder is no error.
func Sweep(dir string, begun func(names []string) (map[string]bool, error)) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var left, planned []string
	for _, e := range entries {
		sign, planning := strings.CutPrefix(e.Name(), planningPrefix)
		if !planning {
			text, missing := os.ReadFile(filepath.Join(dir, e.Name(), plannerFile))
			if missing != nil {
				continue
			}
			sign = string(text)
		}
		switch {
		case !e.IsDir() || textfile.Alive(filepath.Join(dir, signsFolder), sign):
		case planning:
			left = append(left, e.Name())
		default:
			planned = append(planned, e.Name())
		}
	}
	if len(planned) > 0 { // asked after the sign was seen to be gone: a planner releases it once the batch is begun
		known, unknown := begun(planned)
		err = errors.Join(err, unknown)
		left = append(left, slices.DeleteFunc(planned, func(name string) bool { return unknown != nil || known[name] })...)
	}
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
	}
	return err
}

// partition keeps records of one size in the order in which they come: in memory, and what is more than a page in a file.
type partition struct {
	dir  string // of the file
	page []byte
	file *os.File
	size int64 // of all records
}

const pageSize = 4 << 10

func (p *partition) add(record []byte) (err error) {
	if p.file == nil && len(p.page)+len(record) > pageSize {
		if p.file, err = os.CreateTemp(p.dir, ".partition-*"); err != nil {
			return err
		}
		_ = os.Remove(p.file.Name()) // so that a killed process leaves none; where that is impossible, close does it
	}
	if len(p.page)+len(record) > pageSize {
		_, err = p.file.Write(p.page)
		p.page = p.page[:0]
	}
	p.page = append(p.page, record...)
	p.size += int64(len(record))
	return err
}

func (p *partition) each(size int, visit func(record []byte) error) error {
	stored := io.NewSectionReader(p.file, 0, p.size-int64(len(p.page)))
	records, record := bufio.NewReader(io.MultiReader(stored, bytes.NewReader(p.page))), make([]byte, size)
	for range p.size / int64(size) {
		if _, err := io.ReadFull(records, record); err != nil {
			return err
		}
		if err := visit(record); err != nil {
			return err
		}
	}
	return nil
}

func (p *partition) close() {
	if p.file != nil {
		_, _ = p.file.Close(), os.Remove(p.file.Name()) // nothing in it is needed any more
	}
}

// Item is an item of a batch.
type Item struct {
	N         int64 // its number, from 0
	Line      []byte
	Duplicate int64 // the number of the first of its kind, -1 if it is that itself
	Sent      int   // how many times it was marked as sent
}

// Items are those of a batch that is planned.
type Items struct {
	items, index *os.File
	count, end   int64 // of all items
}

// OpenItems opens the items of the batch in dir. It holds the sizes of its files against each other: an error that wraps
// ErrDamaged says which file is wrong.
func OpenItems(dir string) (*Items, error) {
	items, err := os.Open(filepath.Join(dir, itemsFile))
	index, missing := os.OpenFile(filepath.Join(dir, indexFile), os.O_RDWR, 0)
	i := &Items{items: items, index: index}
	if err = errors.Join(err, missing); err == nil {
		err = i.check()
	}
	if err != nil {
		_ = i.Close() // nothing was written
		return nil, fmt.Errorf("opening the items of the batch in %s: %w", dir, err)
	}
	return i, nil
}

func (i *Items) check() error {
	text, err := i.items.Stat()
	index, unknown := i.index.Stat()
	if err = errors.Join(err, unknown); err != nil {
		return err
	}
	i.count = index.Size() / entrySize
	if index.Size()%entrySize != 0 {
		return fmt.Errorf("%s is %w: it has %d bytes, and each item %d", indexFile, ErrDamaged, index.Size(), entrySize)
	}
	if i.end, err = i.endOf(i.count - 1); err == nil && i.end != text.Size() {
		err = fmt.Errorf("%s is %w: it has %d bytes, and by %s its %d items have %d", itemsFile, ErrDamaged, text.Size(), indexFile, i.count, i.end)
	}
	return err
}

// endOf is where the line of item n ends; that of item -1 ends where the first begins.
func (i *Items) endOf(n int64) (int64, error) {
	var end [8]byte
	if n < 0 {
		return 0, nil
	}
	_, err := i.index.ReadAt(end[:], n*entrySize)
	return int64(binary.LittleEndian.Uint64(end[:])), err
}

// Slice returns the items of slice k, duplicates included. It reads their marks anew.
func (i *Items) Slice(k int) ([]Item, error) {
	first := int64(k) * SliceItems
	if k < 0 || first >= i.count {
		return nil, fmt.Errorf("the batch has no slice %d: it has %d items", k, i.count)
	}
	entries := make([]byte, entrySize*min(SliceItems, i.count-first))
	begin, err := i.endOf(first - 1)
	if err == nil {
		_, err = i.index.ReadAt(entries, first*entrySize)
	}
	items := make([]Item, 0, SliceItems)
	for entry := range slices.Chunk(entries, entrySize) {
		var item Item
		if err == nil {
			item, err = i.item(first+int64(len(items)), begin, entry)
		}
		items, begin = append(items, item), begin+int64(len(item.Line))+1
	}
	if err != nil {
		return nil, fmt.Errorf("reading slice %d: %w", k, err)
	}
	return items, nil
}

// item reads an item by its entry. begin is where its line begins.
func (i *Items) item(n, begin int64, entry []byte) (Item, error) {
	end, first := int64(binary.LittleEndian.Uint64(entry)), int64(binary.LittleEndian.Uint64(entry[firstAt:]))
	if begin < 0 || end <= begin || end-begin > MaxLine || end > i.end || first < 0 || first > n {
		return Item{}, fmt.Errorf("%s is %w at item %d", indexFile, ErrDamaged, n+1)
	}
	line := make([]byte, end-begin)
	_, err := i.items.ReadAt(line, begin)
	if err == nil && castagnoli(line) != binary.LittleEndian.Uint32(entry[crcAt:]) {
		err = fmt.Errorf("%s is %w: item %d is not as it was planned", itemsFile, ErrDamaged, n+1)
	}
	return Item{N: n, Line: line[:len(line)-1], Duplicate: first - 1, Sent: int(entry[sentAt])}, err
}

// MarkSent says that item n is about to be sent for the times-th time; 255 stands for more, 0 takes the mark back. A mark
// survives the end of the process, however it ends, but not a power cut.
func (i *Items) MarkSent(n int64, times int) error {
	if n < 0 || n >= i.count {
		return fmt.Errorf("the batch has no item %d: it has %d", n, i.count)
	}
	if _, err := i.index.WriteAt([]byte{byte(max(0, min(times, math.MaxUint8)))}, n*entrySize+sentAt); err != nil {
		return fmt.Errorf("marking item %d as sent: %w", n, err)
	}
	return nil
}

// Close closes the files.
func (i *Items) Close() error { return errors.Join(i.items.Close(), i.index.Close()) }
