package files

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"

	"zonedeck/keystore/textfile"
)

const (
	placesAtOnce = 1 << 16 // places that a sorter holds
	placeSize    = 8 + 8 + 4 + 4
)

// sorter sorts any number of places. What it cannot hold goes to a temporary file, in runs that are sorted.
type sorter struct {
	path   string // the temporary file is next to it
	limit  int
	places []place
	spill  *textfile.Temp
	runs   []int64 // where they end in the file
}

func newSorter(path string) *sorter { return &sorter{path: path, limit: placesAtOnce} }

func (s *sorter) add(p place) error {
	if len(s.places) >= s.limit {
		if err := s.spillRun(); err != nil {
			return err
		}
	}
	s.places = append(s.places, p)
	return nil
}

func (s *sorter) spillRun() (err error) {
	if s.spill == nil {
		if err := textfile.SweepFor(s.path); err != nil {
			return err
		}
		if s.spill, err = textfile.NewTemp(s.path); err != nil {
			return err
		}
	}
	slices.SortFunc(s.places, place.compare)
	out := bufio.NewWriter(s.spill)
	var raw [placeSize]byte
	for _, p := range s.places {
		b := binary.LittleEndian.AppendUint64(raw[:0], uint64(p.n))
		b = binary.LittleEndian.AppendUint64(b, uint64(p.offset))
		b = binary.LittleEndian.AppendUint32(b, p.log)
		_, _ = out.Write(binary.LittleEndian.AppendUint32(b, p.size)) // Flush has the error, too
	}
	end := int64(len(s.places)) * placeSize
	if len(s.runs) > 0 {
		end += s.runs[len(s.runs)-1]
	}
	s.runs, s.places = append(s.runs, end), s.places[:0]
	return out.Flush()
}

// each visits the places in their order.
func (s *sorter) each(visit func(place) error) error {
	if s.spill == nil {
		slices.SortFunc(s.places, place.compare)
		for _, p := range s.places {
			if err := visit(p); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.spillRun(); err != nil {
		return err
	}
	f, err := os.Open(s.spill.Name())
	if err != nil {
		return err
	}
	defer f.Close()
	return s.merge(f, visit)
}

// run is a sorted run that is being read; head is its next place.
type run struct {
	head place
	rest *bufio.Reader
}

func (r *run) next() error {
	var raw [placeSize]byte
	if _, err := io.ReadFull(r.rest, raw[:]); err != nil {
		return err
	}
	r.head = place{
		n: int64(binary.LittleEndian.Uint64(raw[:])), offset: int64(binary.LittleEndian.Uint64(raw[8:])),
		log: binary.LittleEndian.Uint32(raw[16:]), size: binary.LittleEndian.Uint32(raw[20:]),
	}
	return nil
}

// merge visits the places of all runs. It keeps the runs in the order of their heads.
func (s *sorter) merge(f io.ReaderAt, visit func(place) error) error {
	var runs []*run
	insert := func(r *run) error {
		err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		at, _ := slices.BinarySearchFunc(runs, r.head, func(other *run, head place) int { return other.head.compare(head) })
		runs = slices.Insert(runs, at, r)
		return err
	}
	begin := int64(0)
	for _, end := range s.runs {
		if err := insert(&run{rest: bufio.NewReader(io.NewSectionReader(f, begin, end-begin))}); err != nil {
			return err
		}
		begin = end
	}
	for len(runs) > 0 {
		first := runs[0]
		if err := visit(first.head); err != nil {
			return err
		}
		runs = slices.Delete(runs, 0, 1)
		if err := insert(first); err != nil {
			return err
		}
	}
	return nil
}

func (s *sorter) close() error {
	if s.spill == nil {
		return nil
	}
	return s.spill.Discard()
}
