package records

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// extension is what is added to a file's name for the index beside it.
const extension = ".index"

// magic begins an index; an index of another version begins with kin, and is made anew.
const (
	kin   = "zonedeck rows "
	magic = kin + "2\n"
)

// maxStored bounds an index on disk, in bytes.
const maxStored = 16 << 20

// stored is an index on disk without its marks.
type stored struct {
	Stamp  stamp   `json:"file"`
	Format Format  `json:"format"`
	Space  int64   `json:"space"`
	Rows   int64   `json:"rows"`
	Long   int64   `json:"long"`
	Marks  int     `json:"marks"`
	Fault  string  `json:"fault,omitempty"`
	Sum    string  `json:"sha256,omitempty"`
	About  Profile `json:"about"`
}

// stampOf reads what a file is known by.
func stampOf(f io.ReaderAt, info fs.FileInfo) (stamp, error) {
	const n = 64 << 10
	sum := sha256.New()
	for _, from := range []int64{0, max(info.Size()-n, 0)} {
		if _, err := io.Copy(sum, io.NewSectionReader(f, from, n)); err != nil {
			return stamp{}, err
		}
	}
	return stamp{Size: info.Size(), Modified: info.ModTime().Round(0).UTC(), Digest: hex.EncodeToString(sum.Sum(nil))}, nil
}

// encode is the index as it lies on disk: magic, the length of the JSON, the JSON, the marks, and a SHA-256 of all that.
func (f *File) encode() ([]byte, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	head, err := json.Marshal(stored{
		Stamp: f.stamp, Format: f.layout.format, Space: f.x.space, Rows: f.x.rows, Long: f.x.long,
		Marks: len(f.x.marks), Fault: f.x.fault, Sum: f.x.sum, About: f.profile,
	})
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, len(head)+16*len(f.x.marks)+64), magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head))) //nolint:gosec // a profile is bounded
	b = append(b, head...)
	for _, m := range f.x.marks {
		b = binary.LittleEndian.AppendUint64(b, uint64(m.Row)) //nolint:gosec // not negative
		b = binary.LittleEndian.AppendUint64(b, uint64(m.At))  //nolint:gosec // not negative
	}
	return sealed(b), nil
}

// sealed is an index with its digest after it.
func sealed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

var errDamaged = errors.New("it is damaged")

// decode reads an index of the file that is known by seen; without one for it, ok is false.
func decode(b []byte, seen stamp, format Format) (x index, about Profile, ok bool, err error) {
	if !bytes.HasPrefix(b, []byte(magic)) {
		return x, about, false, errDamaged
	}
	if len(b) < len(magic)+4+sha256.Size {
		return x, about, false, errDamaged
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) {
		return x, about, false, errDamaged
	}
	body = body[len(magic):]
	n := int64(binary.LittleEndian.Uint32(body))
	body = body[4:]
	var s stored
	if n > int64(len(body)) || json.Unmarshal(body[:n], &s) != nil {
		return x, about, false, errDamaged
	}
	body = body[n:]
	if s.Rows < 0 || s.Marks < 0 || s.Marks > maxMarks || len(body) != 16*s.Marks {
		return x, about, false, errDamaged
	}
	if s.Stamp.Size != seen.Size || !s.Stamp.Modified.Equal(seen.Modified) || s.Stamp.Digest != seen.Digest || s.Format != format {
		return x, about, false, nil // of an earlier file of this name
	}
	x = index{space: s.Space, rows: s.Rows, long: s.Long, fault: s.Fault, sum: s.Sum, bytes: seen.Size, done: true}
	for at := (mark{Row: -1, At: -1}); len(body) > 0; body = body[16:] {
		m := mark{Row: int64(binary.LittleEndian.Uint64(body)), At: int64(binary.LittleEndian.Uint64(body[8:]))} //nolint:gosec // checked below
		if m.Row <= at.Row || m.At <= at.At || m.Row >= s.Rows || m.At >= seen.Size {
			return x, about, false, errDamaged
		}
		x.marks = append(x.marks, m)
		at = m
	}
	if (s.Rows > 0) != (len(x.marks) > 0) || len(x.marks) > 0 && x.marks[0].Row != 0 {
		return x, about, false, errDamaged
	}
	return x, s.About, true, nil
}

var errForeign = errors.New("what is there is no index")

// readIndex reads up to n bytes of the index beside the file, none where there is none. What is there and is no index,
// or a link, is errForeign: it belongs to somebody else.
func (f *File) readIndex(n int64) ([]byte, error) {
	info, err := os.Lstat(f.path + extension)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errForeign
	}
	in, err := os.Open(f.path + extension)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, n))
	if err == nil && !bytes.HasPrefix(b, []byte(kin)) {
		err = errForeign
	}
	return b, err
}

// load takes the index beside the file.
func (f *File) load() {
	b, err := f.readIndex(maxStored + 1)
	if errors.Is(err, errForeign) {
		f.keep = nil
		f.note("no index is kept: %s is there and is no index", f.name+extension)
		return
	}
	if err == nil && len(b) > maxStored {
		err = errDamaged
	}
	if err == nil && b != nil {
		var x index
		var about Profile
		var ok bool
		if x, about, ok, err = decode(b, f.stamp, f.layout.format); ok {
			f.x, f.profile = x, about
		}
	}
	if err != nil {
		f.note("the index beside the file cannot be used (%v): the rows are indexed again", err)
	}
}

// save keeps the index beside the file, where nothing else is. Without it everything works, and takes longer the next time.
func (f *File) save() {
	if f.keep == nil {
		return
	}
	b, err := f.encode()
	if err == nil && len(b) > maxStored {
		err = fmt.Errorf("it has more than %d MiB", maxStored>>20)
	}
	if err == nil {
		_, err = f.readIndex(int64(len(magic))) // it may have come meanwhile
	}
	if err == nil {
		err = f.keep(f.path+extension, b)
	}
	if err != nil {
		f.note("the index cannot be kept beside the file: %v", err)
	}
}
