package files

import (
	"bufio"
	"bytes"
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
	"os"
	"path/filepath"
	"strings"

	"zonedeck/keystore/textfile"
)

// SliceItems is how many items a slice has; the last one may have fewer.
const SliceItems = 100

// Key names what an item asks for: two items of one key are the same request. It is the first half of a SHA-256, so
// that keys spread evenly.
type Key [16]byte

// Planned is what a Spool took.
type Planned struct {
	Items, Duplicates int64
	Slices            int
	Digest            string // hex SHA-256 over the items as they were added, each with its line break
}

// The files of the input.
const (
	itemsFile  = "items.ndjson"
	slicesFile = "slices"
	firstsFile = "firsts"
	marksFile  = "marks"
)

// A folder that is being planned is named by the sign of life of its planner, which lies in signsFolder.
const (
	planningPrefix = ".planning-"
	signsFolder    = ".planners"
)

const (
	partitions   = 64
	keySize      = 16 + 8  // of a key and its item's number in a partition
	keysAtOnce   = 1 << 18 // how many keys the search for duplicates holds
	partitionBuf = 170 * keySize
)

// partition has the keys that begin alike, in the order of their items. What does not fit into memory goes to its file.
type partition struct {
	keys  []byte
	file  *os.File
	count int64
}

// Spool takes the items of a batch that is being planned. Call Finish or Discard.
type Spool struct {
	dir, work  string // its place, and where it is until Finish
	sign       *textfile.Sign
	files      []*os.File
	items      *bufio.Writer
	slices     *bufio.Writer
	firsts     *os.File
	parts      [partitions]partition
	keysAtOnce int64
	digest     hash.Hash
	crc        uint32 // of the slice that is being filled
	count, end int64
	ended      bool
}

// NewSpool begins a batch whose folder will be dir. Nothing may be there: then the error wraps fs.ErrExist. dir appears
// when the batch has been planned, by Finish.
func NewSpool(dir string) (*Spool, error) {
	s := &Spool{dir: dir, digest: sha256.New(), keysAtOnce: keysAtOnce}
	err := s.begin()
	if err != nil {
		return nil, fmt.Errorf("planning a batch: %w", errors.Join(err, s.Discard()))
	}
	return s, nil
}

func (s *Spool) begin() error {
	if err := vacant(s.dir); err != nil {
		return err
	}
	above := filepath.Dir(s.dir)
	sign, err := textfile.NewSign(filepath.Join(above, signsFolder))
	if err != nil {
		return err
	}
	s.sign, s.work = sign, filepath.Join(above, planningPrefix+sign.Name())
	if err := os.Mkdir(s.work, 0o700); err != nil {
		return err
	}
	var opened [4]*os.File
	for i, name := range []string{itemsFile, slicesFile, firstsFile, marksFile} {
		if opened[i], err = s.create(name); err != nil {
			return err
		}
		s.files = append(s.files, opened[i])
	}
	s.items, s.slices, s.firsts = bufio.NewWriterSize(opened[0], 64<<10), bufio.NewWriter(opened[1]), opened[2]
	return nil
}

func (s *Spool) create(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(s.work, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

func vacant(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist})
	}
	return nil
}

// Add takes an item, which is one line of JSON. It does not look whether it is JSON.
func (s *Spool) Add(item []byte, key Key) error {
	if bytes.ContainsAny(item, "\r\n") {
		return fmt.Errorf("item %d has a line break: write it as \\n", s.count)
	}
	if len(item) >= MaxLine {
		return fmt.Errorf("item %d has %d bytes: at most %d", s.count, len(item), MaxLine-1)
	}
	for _, b := range [][]byte{item, {'\n'}} {
		_, _ = s.items.Write(b) // Flush has the error, too
		_, _ = s.digest.Write(b)
		s.crc = crc32.Update(s.crc, castagnoli(), b)
	}
	s.end += int64(len(item)) + 1
	if err := s.note(key); err != nil {
		return fmt.Errorf("planning item %d: %w", s.count, err)
	}
	s.count++
	if s.count%SliceItems == 0 {
		return s.endSlice()
	}
	return nil
}

// note keeps the key of the item that is being added.
func (s *Spool) note(key Key) (err error) {
	p := &s.parts[key[0]%partitions]
	p.keys = binary.LittleEndian.AppendUint64(append(p.keys, key[:]...), uint64(s.count))
	p.count++
	if len(p.keys) < partitionBuf {
		return nil
	}
	if p.file == nil {
		if p.file, err = s.create(fmt.Sprintf("keys-%02d", key[0]%partitions)); err != nil {
			return err
		}
	}
	_, err = p.file.Write(p.keys)
	p.keys = p.keys[:0]
	return err
}

func (s *Spool) endSlice() error {
	entry := binary.LittleEndian.AppendUint64(nil, uint64(s.end))
	_, err := s.slices.Write(binary.LittleEndian.AppendUint32(entry, s.crc))
	s.crc = 0
	return err
}

// Finish finds the duplicates, puts everything on disk, and gives the folder its name. After an error, Discard it.
func (s *Spool) Finish(ctx context.Context) (Planned, error) {
	p := Planned{Items: s.count, Slices: int((s.count + SliceItems - 1) / SliceItems)}
	err := s.finish(ctx, &p)
	if err != nil {
		return Planned{}, fmt.Errorf("planning a batch: %w", err)
	}
	p.Digest = hex.EncodeToString(s.digest.Sum(nil))
	return p, nil
}

func (s *Spool) finish(ctx context.Context, p *Planned) error {
	if s.count%SliceItems != 0 {
		if err := s.endSlice(); err != nil {
			return err
		}
	}
	marks := s.files[3]
	err := errors.Join(s.items.Flush(), s.slices.Flush(), s.firsts.Truncate(8*s.count), marks.Truncate(s.count))
	for i := range s.parts {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			p.Duplicates, err = s.duplicates(&s.parts[i], p.Duplicates)
		}
	}
	for _, f := range s.files {
		if err == nil {
			err = f.Sync()
		}
	}
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	for i := range s.parts {
		if f := s.parts[i].file; f != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	if err == nil {
		err = textfile.SyncFolder(s.work)
	}
	if err == nil {
		err = vacant(s.dir)
	}
	if err == nil {
		err = os.Rename(s.work, s.dir)
	}
	if err != nil {
		return err
	}
	s.ended = true
	s.sign.Release()
	return textfile.SyncFolder(filepath.Dir(s.dir))
}

// duplicates marks those of a partition and adds their number to found. It holds a bounded number of keys: of a larger
// partition it reads the keys several times, and looks at a part of them each time.
func (s *Spool) duplicates(p *partition, found int64) (int64, error) {
	first := make(map[Key]int64, min(p.count, s.keysAtOnce))
	passes := uint32((p.count + s.keysAtOnce - 1) / s.keysAtOnce)
	for pass := range passes {
		var stored io.Reader = bytes.NewReader(nil)
		if p.file != nil {
			stored = io.NewSectionReader(p.file, 0, p.count*keySize-int64(len(p.keys)))
		}
		keys := bufio.NewReader(io.MultiReader(stored, bytes.NewReader(p.keys)))
		clear(first)
		for range p.count {
			var raw [keySize]byte
			if _, err := io.ReadFull(keys, raw[:]); err != nil {
				return 0, err
			}
			if binary.LittleEndian.Uint32(raw[1:])%passes != pass {
				continue
			}
			n := int64(binary.LittleEndian.Uint64(raw[len(Key{}):]))
			before, there := first[Key(raw[:len(Key{})])]
			if !there {
				first[Key(raw[:len(Key{})])] = n
				continue
			}
			found++
			if _, err := s.firsts.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(before+1)), 8*n); err != nil {
				return 0, err
			}
		}
	}
	return found, nil
}

func (s *Spool) close() (err error) {
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	for i := range s.parts {
		if f := s.parts[i].file; f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	s.files = nil
	return err
}

// Discard removes what was planned, unless Finish has ended without an error.
func (s *Spool) Discard() error {
	if s.ended || s.sign == nil {
		return nil
	}
	s.ended = true
	_ = s.close() // Finish may have closed them
	err := os.RemoveAll(s.work)
	s.sign.Release()
	return err
}

// Sweep removes what killed planners left below dir, the folder of all batches. A missing folder is no error.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		sign, planning := strings.CutPrefix(e.Name(), planningPrefix)
		if planning && e.IsDir() && !textfile.Alive(filepath.Join(dir, signsFolder), sign) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("removing batches whose planning was interrupted: %w", err)
	}
	return nil
}
