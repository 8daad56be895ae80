package records

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
)

// The bounds of a sort.
const (
	sortMemory = 32 << 20 // bytes of keys in memory
	maxKey     = 1 << 10  // bytes of a text that are compared; the rest does not count
)

// sorter sorts items by their keys as bytes, in temporary files once there are many. Equal keys stay
// in the order in which they came.
type sorter struct {
	dir   string
	arena []byte
	items []item
	run   *os.File // the runs one after the other
	path  string
	ends  []int64
	limit int
}

// item is a key and what belongs to it, in the arena.
type item struct{ at, key, size uint32 }

func (f *File) newSorter() *sorter { return &sorter{dir: f.temp, limit: f.memory} }

func (s *sorter) add(key, load []byte) error {
	if len(s.arena)+len(key)+len(load)+12*len(s.items) > s.limit {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.items = append(s.items, item{uint32(len(s.arena)), uint32(len(key)), uint32(len(key) + len(load))}) //nolint:gosec // bounded by limit
	s.arena = append(append(s.arena, key...), load...)
	return nil
}

func (s *sorter) key(i item) []byte { return s.arena[i.at : i.at+i.key] }

func (s *sorter) sort() {
	slices.SortStableFunc(s.items, func(a, b item) int { return bytes.Compare(s.key(a), s.key(b)) })
}

// spill writes what is in memory as a run.
func (s *sorter) spill() error {
	if s.run == nil {
		var err error
		if s.run, s.path, err = tempFile(s.dir); err != nil {
			return err
		}
	}
	s.sort()
	start := int64(0)
	if n := len(s.ends); n > 0 {
		start = s.ends[n-1]
	}
	w := bufio.NewWriterSize(s.run, 256<<10)
	for _, i := range s.items {
		var head [4]byte
		binary.LittleEndian.PutUint16(head[:], uint16(i.key))         //nolint:gosec // at most maxKey and a few
		binary.LittleEndian.PutUint16(head[2:], uint16(i.size-i.key)) //nolint:gosec // an entry
		_, _ = w.Write(head[:])                                       // Flush tells
		_, _ = w.Write(s.arena[i.at : i.at+i.size])
		start += int64(4 + i.size)
	}
	s.ends = append(s.ends, start)
	s.items, s.arena = s.items[:0], s.arena[:0]
	return w.Flush()
}

// eachSorted gives the items in order. It is called once.
func (s *sorter) eachSorted(ctx context.Context, on func(key, load []byte) error) error {
	if s.run == nil {
		s.sort()
		for n, i := range s.items {
			if n%4096 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if err := on(s.key(i), s.arena[i.at+i.key:i.at+i.size]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.items) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.arena, s.items = nil, nil
	m := merge{}
	from := int64(0)
	for n, end := range s.ends {
		r := &run{n: n, r: bufio.NewReaderSize(io.NewSectionReader(s.run, from, end-from), 64<<10)}
		if err := r.next(); err != nil {
			return err
		}
		m = append(m, r)
		from = end
	}
	heap.Init(&m)
	for n := 0; len(m) > 0; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := on(m[0].key, m[0].load); err != nil {
			return err
		}
		switch err := m[0].next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&m)
		case err != nil:
			return err
		default:
			heap.Fix(&m, 0)
		}
	}
	return nil
}

func (s *sorter) close() {
	if s.run != nil {
		_ = s.run.Close() // nothing in it is needed
		if s.path != "" {
			_ = os.Remove(s.path)
		}
	}
}

// run is a sorted part on disk.
type run struct {
	n         int
	r         *bufio.Reader
	buf       []byte
	key, load []byte
}

func (r *run) next() error {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return err
	}
	key, load := int(binary.LittleEndian.Uint16(head[:])), int(binary.LittleEndian.Uint16(head[2:]))
	if cap(r.buf) < key+load {
		r.buf = make([]byte, key+load)
	}
	r.buf = r.buf[:key+load]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		return err
	}
	r.key, r.load = r.buf[:key], r.buf[key:]
	return nil
}

// merge is the runs by their next key.
type merge []*run

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, j int) bool {
	return cmp.Or(bytes.Compare(m[i].key, m[j].key), cmp.Compare(m[i].n, m[j].n)) < 0
}
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*run)) } //nolint:forcetypeassert // container/heap
func (m *merge) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}

// sortKey orders values: numbers, texts by their bytes, true and false, lists and objects; what is
// missing, null or an empty cell comes last, downwards too.
func sortKey(b []byte, v value, down bool) []byte {
	b = b[:0]
	switch v.kind {
	case Missing, Null:
		return append(b, 9)
	case Number:
		n, ok := numberOf(v.raw)
		if !ok {
			b = append(append(b, 2), v.raw[:min(len(v.raw), maxKey)]...)
			break
		}
		b = numberKey(append(b, 1), n, v.raw)
	case Text:
		text := v.text()
		b = append(append(b, 2), text[:min(len(text), maxKey)]...)
		b = append(b, 0)
	default:
		b = append(append(b, byte(v.kind)), v.raw[:min(len(v.raw), maxKey)]...)
	}
	if down {
		for i := range b {
			b[i] = ^b[i]
		}
		b[0] -= 248 // what is missing stays last
	}
	return b
}
