package body

import (
	"bytes"
	"errors"
	"io"
)

// maxHits bounds the hits of a search.
const maxHits = 50_000

// foldASCII lowers ASCII letters in place; other bytes stay, so offsets do too.
func foldASCII(b []byte) {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
}

// searchBytes finds query (ASCII case does not count) front to back and reports
// offsets in parts; stop is asked between them. more says that there were more
// than maxHits.
func searchBytes(r io.ReaderAt, size int64, query string, stop func() bool, found func(offs []int64)) (more bool, err error) {
	q := []byte(query)
	foldASCII(q)
	if len(q) == 0 {
		return false, nil
	}
	buf := make([]byte, 1<<20+len(q))
	kept, total := 0, 0
	for base := int64(0); base < size; {
		if stop() {
			return false, nil
		}
		n, err := r.ReadAt(buf[kept:min(int64(len(buf)), int64(kept)+size-base)], base)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if n == 0 {
			return false, nil
		}
		foldASCII(buf[kept : kept+n])
		window := buf[:kept+n]
		start := base - int64(kept)
		var offs []int64
		at := 0
		for {
			i := bytes.Index(window[at:], q)
			if i < 0 {
				break
			}
			if total == maxHits {
				found(offs)
				return true, nil
			}
			offs = append(offs, start+int64(at+i))
			total++
			at += i + len(q)
		}
		if len(offs) > 0 {
			found(offs)
		}
		base += int64(n)
		// Keep what may be the beginning of a hit across the boundary, but nothing of
		// a hit already reported.
		kept = min(len(q)-1, len(window)-at)
		copy(buf, window[len(window)-kept:])
	}
	return false, nil
}
