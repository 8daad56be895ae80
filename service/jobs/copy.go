package jobs

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
)

// pieceSize is how much of a result is handled at once, in bytes.
const pieceSize = 256 << 10

// piece is what was read at once, and how the reading ended.
type piece struct {
	text   []byte
	err    error
	gaveUp bool // looking for the key in it took too long
}

// copyTo copies at most so many bytes; more are an error. While one piece is written the next is
// received. What was received before an error is still written.
func (r *result) copyTo(w io.Writer, most int64, on func(int64)) (int64, error) {
	if on == nil {
		on = func(int64) {}
	}
	stop := make(chan struct{})
	pieces, free := make(chan piece), make(chan []byte, 2)
	for range cap(free) {
		free <- make([]byte, pieceSize)
	}
	go func() {
		defer close(pieces)
		r.receiveAll(pieces, free, stop)
	}()
	done, err := r.writeAll(w, pieces, free, most, on)
	close(stop)
	if err != nil && r.cancel != nil {
		r.cancel()
	}
	for range pieces { // until the reader has ended
	}
	return done, err
}

// receiveAll reads pieces until the end, which is an error of the last one, or until stop is closed.
func (r *result) receiveAll(to chan<- piece, free <-chan []byte, stop <-chan struct{}) {
	for {
		var p piece
		select {
		case buf := <-free:
			n := 0
			for n < len(buf) && p.err == nil {
				var got int
				got, p.err = r.Read(buf[n:])
				n += got
			}
			p.text, p.gaveUp = buf[:n], r.GaveUp
		case <-stop:
			return
		}
		select {
		case to <- p:
		case <-stop:
			return
		}
		if p.err != nil {
			return
		}
	}
}

func (r *result) writeAll(w io.Writer, from <-chan piece, free chan<- []byte, most int64, on func(int64)) (int64, error) {
	var done int64
	for p := range from {
		if _, err := w.Write(p.text); err != nil {
			return 0, err
		}
		if done += int64(len(p.text)); done > most {
			return 0, fmt.Errorf("the results are larger than %d MiB", most>>20)
		}
		on(done)
		switch {
		case p.gaveUp:
			return 0, unusable("is written so that looking for the key in it takes too long")
		case errors.Is(p.err, io.EOF):
			return done, nil
		case p.err != nil:
			return 0, p.err
		}
		free <- p.text[:cap(p.text)]
	}
	return done, nil
}

// syncer syncs a file as it grows, so that a file of gigabytes does not wait for its disk at the end.
type syncer struct {
	upTo    int64 // of the file, is on disk or on its way
	running sync.WaitGroup
}

// syncEvery is how many bytes are written between two syncs of a file.
const syncEvery = 64 << 20

// grew begins to sync a file of that size if it is time. Whoever moves the file into place syncs it
// once more, and reports errors.
func (s *syncer) grew(f *os.File, size int64) {
	if size-s.upTo >= syncEvery {
		s.running.Wait()
		s.upTo = size
		s.running.Go(func() { _ = f.Sync() })
	}
}

// summed is a file that is being written, with its size and digest so far: that of a download, and
// the table that is made of its rows.
type summed struct {
	f    *os.File
	sum  hash.Hash
	size int64
	sync syncer
}

func (s *summed) Write(b []byte) (int, error) {
	var summing sync.WaitGroup
	summing.Go(func() { _, _ = s.sum.Write(b) })
	n, err := s.f.Write(b)
	summing.Wait()
	s.size += int64(n)
	s.sync.grew(s.f, s.size)
	return n, err
}
