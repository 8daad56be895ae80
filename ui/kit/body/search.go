package body

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// maxHits bounds the hits of a search.
const maxHits = 50_000

// common are the bytes that texts are made of, the most frequent first.
const common = " etaoinsrlhdcumpgfyw\"/<>=.-,:bvk01\n23456789;_\t(){}[]'xjqz"

// needle is what is searched for: ASCII case does not count. Its rarest byte is looked
// for, which the processor does for many bytes at once, and what is around it compared.
type needle struct {
	low    []byte // with ASCII letters lowered
	at     int    // place of the rarest byte
	lo, up byte   // that byte in both cases
}

func newNeedle(query string) needle {
	n := needle{low: []byte(query)}
	rarest := -1
	for i, c := range n.low {
		c = lower(c)
		n.low[i] = c
		rank := strings.IndexByte(common, c)
		if rank < 0 {
			rank = len(common)
		}
		if rank > rarest {
			rarest, n.at = rank, i
		}
	}
	n.lo = n.low[n.at]
	if n.up = n.lo; n.lo >= 'a' && n.lo <= 'z' {
		n.up -= 'a' - 'A'
	}
	return n
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// all reports the places of the needle in b that do not overlap, front to back, until
// found returns false.
func (n needle) all(b []byte, found func(at int) bool) {
	next := func(c byte, from int) int {
		if i := bytes.IndexByte(b[min(from, len(b)):], c); i >= 0 {
			return from + i
		}
		return len(b)
	}
	free := 0 // the first byte that is in no hit yet
	lo, up := next(n.lo, n.at), len(b)
	if n.up != n.lo {
		up = next(n.up, n.at)
	}
	for {
		i := min(lo, up)
		if i >= len(b) {
			return
		}
		start := i - n.at
		if start >= free && n.matches(b[start:]) {
			if !found(start) {
				return
			}
			free = start + len(n.low)
		}
		from := max(i+1, free+n.at)
		if lo < from {
			lo = next(n.lo, from)
		}
		if up < from {
			up = next(n.up, from)
		}
	}
}

func (n needle) matches(b []byte) bool {
	if len(b) < len(n.low) {
		return false
	}
	for i, c := range n.low {
		if lower(b[i]) != c {
			return false
		}
	}
	return true
}

// searchBytes finds query (ASCII case does not count) front to back and reports
// offsets in parts; stop is asked between them. more says that there were more
// than maxHits.
func searchBytes(r io.ReaderAt, size int64, query string, stop func() bool, found func(offs []int64)) (more bool, err error) {
	if query == "" {
		return false, nil
	}
	q := newNeedle(query)
	buf := make([]byte, 1<<20+len(query))
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
		window := buf[:kept+n]
		start := base - int64(kept)
		var offs []int64
		at := 0 // the end of the last hit
		q.all(window, func(i int) bool {
			if more = total == maxHits; more {
				return false
			}
			offs = append(offs, start+int64(i))
			total++
			at = i + len(query)
			return true
		})
		if more {
			found(offs)
			return true, nil
		}
		if len(offs) > 0 {
			found(offs)
		}
		base += int64(n)
		// Keep what may be the beginning of a hit across the boundary, but nothing of
		// a hit already reported.
		kept = min(len(query)-1, len(window)-at)
		copy(buf, window[len(window)-kept:])
	}
	return false, nil
}
