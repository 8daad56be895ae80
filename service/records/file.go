package records

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// layout is where and how rows lie in a file.
type layout struct {
	format Format
	comma  byte
	header []string // of CSV
	beyond string   // begins the names of columns that the header does not have
	from   int64    // where the first row may begin
	size   int64
	// longest is the largest row that is read, in bytes.
	longest int
}

// mark says where a row begins.
type mark struct{ Row, At int64 }

// The bounds of an index. When there are more marks every second one goes, and they are twice as far apart.
const (
	maxMarks   = 1 << 16
	firstSpace = 64 << 10 // bytes between two marks, at least
)

// index is what is known of the rows.
type index struct {
	marks []mark
	space int64
	rows  int64 // so far
	long  int64 // rows over maxRow
	bytes int64 // looked at so far
	done  bool
	// fault says what is wrong with the file as a whole, or is empty.
	fault string
	// sum is the SHA-256 of the file, where it was asked for.
	sum string
}

// File is a result on this disk. Close it.
type File struct {
	path   string
	name   string // of the file, for errors
	f      *os.File
	layout layout
	stamp  stamp

	mu      sync.RWMutex
	x       index
	profile Profile
	notes   []string
	keep    func(path string, b []byte) error
	temp    string
	memory  int // bytes that a sort holds
	want    Identity
	build   chan struct{} // held by the call that builds
}

// Options are where things are kept; all may be empty.
type Options struct {
	// Temp is the folder for lists and for what is sorted: the system's, if it is empty.
	Temp string
	// Keep writes an index in one step; without it none is kept.
	Keep func(path string, b []byte) error
	// Want is what the file must be.
	Want Identity
}

// Identity identifies a file. Empty fields are not compared.
type Identity struct {
	Size   int64  // in bytes
	SHA256 string // in hexadecimal digits
}

// errOther says that the file is not the one that is wanted.
var errOther = errors.New("it is not what was downloaded for this job any more; 'zonedeck jobs rows FILE' reads it as it is")

// errPacked says what to do with a file of compressed rows.
var errPacked = errors.New("unpack it first")

// errChanged says that the file is not the one that was opened.
var errChanged = errors.New("the file has changed since it was opened: open it again")

var errNoFile = errors.New("it is not a file of rows")

// Open opens a result, and uses the index beside it if that belongs to this file. It reads no rows.
func Open(path string, o Options) (*File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe would be waited for
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), errNoFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	out := &File{path: path, name: filepath.Base(path), f: f, keep: o.Keep, temp: o.Temp, memory: sortMemory, want: o.Want, build: make(chan struct{}, 1)}
	if err := out.open(); err != nil {
		_ = f.Close() // what was wrong before says more
		return nil, fmt.Errorf("%s: %w", out.name, err)
	}
	return out, nil
}

func (f *File) open() error {
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNoFile
	}
	if f.stamp, err = stampOf(f.f, info); err != nil {
		return err
	}
	var mark [2]byte
	if _, err := f.f.ReadAt(mark[:], 0); err == nil && (mark == [2]byte{0xff, 0xfe} || mark == [2]byte{0xfe, 0xff}) {
		return errors.New("it is UTF-16; save it as UTF-8")
	}
	if f.want.Size > 0 && f.want.Size != info.Size() {
		return errOther
	}
	if f.layout, err = layoutOf(f.f, info.Size(), f.path); err != nil {
		return err
	}
	f.x.space = firstSpace
	f.load()
	return f.proved()
}

// proved is ErrOther where the file is known not to be the one that is wanted.
func (f *File) proved() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.want.SHA256 != "" && f.x.sum != "" && f.x.sum != f.want.SHA256 {
		return errOther
	}
	return nil
}

// digest takes the SHA-256 of the file, if it is wanted and not known.
func (f *File) digest(ctx context.Context) (string, error) {
	f.mu.RLock()
	known := f.x.sum
	f.mu.RUnlock()
	if f.want.SHA256 == "" || known != "" {
		return known, nil
	}
	sum := sha256.New()
	for at := int64(0); at < f.layout.size; at += scanBuffer {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if _, err := io.Copy(sum, io.NewSectionReader(f.f, at, scanBuffer)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Close closes the file. Its lists stay as they are.
func (f *File) Close() error { return f.f.Close() }

// Path is the file's path as it was opened.
func (f *File) Path() string { return f.path }

// Format is how its rows follow one another.
func (f *File) Format() Format { return f.layout.format }

// Size is its size in bytes.
func (f *File) Size() int64 { return f.layout.size }

// State is how far a file is known.
type State struct {
	Rows    int64 // so far
	Bytes   int64 // looked at so far, of Size
	Size    int64
	Indexed bool
	// Notes say what an operator should know: rows that are too long, an array that does not end,
	// an index that was damaged or cannot be kept.
	Notes []string
}

// State is how far the file is known now.
func (f *File) State() State {
	f.mu.RLock()
	defer f.mu.RUnlock()
	s := State{Rows: f.x.rows, Bytes: f.x.bytes, Size: f.layout.size, Indexed: f.x.done, Notes: append([]string(nil), f.notes...)}
	if f.x.fault != "" {
		s.Notes = append(s.Notes, f.x.fault)
	}
	if f.x.long > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("rows larger than %d MiB, which are counted and not read: %d", f.layout.longest>>20, f.x.long))
	}
	return s
}

// note adds a note.
func (f *File) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// layoutOf looks at a file's beginning; its name says how a result is read that could be either.
func layoutOf(r io.ReaderAt, size int64, path string) (layout, error) {
	l := layout{size: size, comma: ',', longest: maxRow}
	head := make([]byte, min(size, 64<<10))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return l, err
	}
	if what := model.Packed(head); what != "" {
		return l, fmt.Errorf("it is %s: %w", what, errPacked)
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		l.from = 3
	}
	text := bytes.TrimLeft(head[l.from:], " \t\r\n")
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	switch {
	case ext == "ndjson" || ext == "jsonl":
		l.format = Lines
	case ext == "csv" || len(text) > 0 && text[0] != '[' && text[0] != '{' && ext != "json":
		return csvLayout(r, l)
	case len(text) > 0 && text[0] == '[':
		l.format = Array
		l.from = int64(len(head)-len(text)) + 1
	default:
		l.format = Values
		if line, _, whole := bytes.Cut(text, []byte("\n")); whole && isObject(bytes.TrimSpace(line)) {
			l.format = Lines
		}
	}
	return l, nil
}

// csvLayout reads the header.
func csvLayout(r io.ReaderAt, l layout) (layout, error) {
	l.format = CSV
	head := make([]byte, min(l.size-l.from, 64<<10))
	if _, err := r.ReadAt(head, l.from); err != nil && !errors.Is(err, io.EOF) {
		return l, err
	}
	if m := rows.SepLine.FindSubmatch(head); m != nil {
		l.from, l.comma = l.from+int64(len(m[0])), m[1][0]
	} else {
		l.comma = commaOf(head)
	}
	if bytes.ContainsRune(head, '\r') && !bytes.ContainsRune(head, '\n') {
		return l, errors.New("its lines end with a carriage return alone: save it with line feeds")
	}
	s := newScanner(r, l, l.from, l.size, nil)
	row, err := s.next()
	if errors.Is(err, io.EOF) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	if s.long {
		return l, fmt.Errorf("its header is larger than %d MiB", l.longest>>20)
	}
	taken := map[string]bool{}
	eachCell(row, l.comma, func(i int, cell []byte) bool {
		name := string(cell)
		for n := i + 1; taken[name]; n++ { // a name that comes twice
			name = fmt.Sprintf("%s %d", cell, n)
		}
		taken[name] = true
		l.header = append(l.header, name)
		return true
	})
	l.from, l.beyond = s.pos(), "column "
	for slices.ContainsFunc(l.header, func(name string) bool { return strings.HasPrefix(name, l.beyond) }) {
		l.beyond = "further " + l.beyond
	}
	return l, nil
}

// Progress is reported now and then while a call works.
type Progress struct {
	Bytes, Size int64
	Rows        int64 // looked at
	Found       int64 // taken, for a selection
}

// Index finds the rows, unless they are known, and keeps the index beside the file. Rows that were found
// can be read meanwhile. If there are several calls, one works and the others wait. ErrOther says that the
// file is not the one that is wanted.
func (f *File) Index(ctx context.Context, on func(Progress)) error {
	select {
	case f.build <- struct{}{}:
		defer func() { <-f.build }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.RLock()
	indexed, proof := f.x.done, f.x.sum != "" || f.want.SHA256 == ""
	f.mu.RUnlock()
	if indexed && proof {
		return f.proved()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type digest struct {
		sum string
		err error
	}
	digested := make(chan digest, 1) // read beside the rows, on another processor
	go func() {
		sum, err := f.digest(ctx)
		digested <- digest{sum, err}
	}()
	var err error
	if !indexed {
		if err = f.find(ctx, on); err != nil {
			cancel()
		}
	}
	d := <-digested
	if err = cmp.Or(err, d.err); err != nil {
		return err
	}
	f.mu.Lock()
	f.x.sum = d.sum
	f.mu.Unlock()
	f.save()
	return f.proved()
}

// find builds the index.
func (f *File) find(ctx context.Context, on func(Progress)) error {
	x := index{space: firstSpace}
	s := newScanner(f.f, f.layout, f.layout.from, f.layout.size, nil)
	next := int64(0) // where to say how far it is
	publish := func() {
		f.mu.Lock()
		f.x = x
		f.mu.Unlock()
		if on != nil {
			on(Progress{Bytes: x.bytes, Size: f.layout.size, Rows: x.rows})
		}
	}
	for {
		_, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if n := len(x.marks); n == 0 || s.at-x.marks[n-1].At >= x.space {
			x.add(mark{Row: x.rows, At: s.at})
		}
		x.rows++
		if s.long {
			x.long++
		}
		if s.cut {
			x.fault = "the file ends in the middle of its last row"
		}
		if s.at >= next {
			if err := ctx.Err(); err != nil {
				return err
			}
			x.bytes = s.at
			publish()
			next = s.at + min(max(s.at, 64<<10), 8<<20) // the first rows are there at once
		}
	}
	if f.layout.format == Array && x.fault == "" {
		x.fault = arrayFault(s)
	}
	x.bytes, x.done = f.layout.size, true
	if err := f.checkUnchanged(); err != nil {
		return err
	}
	publish()
	return nil
}

// add adds a mark. The marks that readers have are not changed.
func (x *index) add(m mark) {
	if len(x.marks) == maxMarks {
		half := make([]mark, 0, maxMarks)
		for i := 0; i < len(x.marks); i += 2 {
			half = append(half, x.marks[i])
		}
		x.marks = half
		x.space *= 2
		if m.At-half[len(half)-1].At < x.space {
			return
		}
	}
	x.marks = append(x.marks, m)
}

// arrayFault says what is wrong at the end of an array, or "".
func arrayFault(s *scanner) string {
	if !s.over {
		return "the file ends before its array does"
	}
	rest := make([]byte, 4<<10)
	n, _ := s.r.ReadAt(rest, s.pos()+1) // fewer bytes at the end of the file
	if len(bytes.TrimSpace(rest[:n])) > 0 {
		return "what comes after the end of the array is not shown"
	}
	return ""
}

// checkUnchanged says with ErrChanged that the file is not what it was.
func (f *File) checkUnchanged() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if info.Size() != f.stamp.Size || !info.ModTime().Equal(f.stamp.Modified) {
		return fmt.Errorf("%s: %w", f.name, errChanged)
	}
	return nil
}

// at is a scanner whose next row is the given one.
func (f *File) at(row int64) (*scanner, error) {
	f.mu.RLock()
	marks, rows := f.x.marks, f.x.rows
	f.mu.RUnlock()
	if row < 0 || row >= rows {
		return nil, io.EOF
	}
	i := sort.Search(len(marks), func(i int) bool { return marks[i].Row > row }) - 1
	s := newScanner(f.f, f.layout, marks[i].At, f.layout.size, make([]byte, 128<<10))
	for n := marks[i].Row; n < row; n++ {
		if _, err := s.next(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// parts are where the file is cut for several readers: each begins at a row.
func (f *File) parts(bytes int64) []part {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var out []part
	for _, m := range f.x.marks {
		if n := len(out); n == 0 || m.At-out[n-1].from >= bytes {
			out = append(out, part{row: m.Row, from: m.At})
		}
	}
	for i := range out {
		out[i].to = f.layout.size
		if i+1 < len(out) {
			out[i].to = out[i+1].from
		}
	}
	return out
}

type part struct{ row, from, to int64 }

// stamp is by what a file is known again.
type stamp struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Digest   string    `json:"digest"` // of its first and last 64 KiB
}
