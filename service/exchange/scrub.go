package exchange

import (
	"bytes"
	"math"
	"slices"
)

// scrubber finds secrets in all their spellings. It looks for two kinds of places: for
// needles byte for byte, and for escapes that stand for a byte of a needle. The first
// looks at one pair of bytes in every shortest-1, since a needle covers at least one of
// those; the second at every byte that begins an escape.
type scrubber struct {
	needles     []needle
	shortest    int // of the needles, in bytes
	longest     int
	pairs       [1 << 16 / 64]uint64 // which pairs of bytes are in a needle
	places      map[uint16][]place   // and where
	bytes       [256][]place         // where each byte is
	escapes     []byte               // what begins an escape
	needleBytes [256]bool            // which bytes are in a needle
	ofBroken    [256]bool            // the same, and line breaks
	beyond      bool                 // one that is no ASCII is
	dull        map[byte]*[256]bool  // by the mark: what after it makes no escape of interest
	run         int                  // the longest run of one mark in a spelling
}

// needle is a secret as it is, or in one encoding as a whole.
type needle struct {
	text  string
	fold  bool // letters in either case: hexadecimal, and text is in lower case
	wraps bool // line breaks may be within: base64
}

func (n needle) has(at int, c byte) bool {
	return n.text[at] == c || n.fold && c >= 'A' && c <= 'F' && n.text[at] == c|0x20
}

// in reports whether b is the part of the needle from byte at on.
func (n needle) in(at int, b []byte) bool {
	if !n.fold {
		return n.text[at:at+len(b)] == string(b)
	}
	for i, c := range b {
		if !n.has(at+i, c) {
			return false
		}
	}
	return true
}

// place is a byte of a needle.
type place struct{ needle, at int }

// span is where a secret was found.
type span struct{ from, to int }

// finding is the result of one scan.
type finding struct {
	spans []span
	// sure is how many bytes cannot be part of a secret that ends after them.
	sure int
	// stepsLeft is how many more steps the search may take; below 0 it was given up.
	stepsLeft int
}

// A search may take stepsFree steps, and stepsPerByte more for each byte: many times what a
// page or a JSON text needs. A text that needs more is crafted to be slow, and is masked.
const (
	stepsFree    = 1 << 18
	stepsPerByte = 4
)

// gaveUp reports whether the search took too long: all of the text is then a secret.
func (f finding) gaveUp() bool { return f.stepsLeft < 0 }

// step counts one step and reports whether there may be more.
func (f *finding) step() bool {
	f.stepsLeft--
	return f.stepsLeft >= 0
}

// cover writes asterisks over the part of the spans that b has. It returns how far the
// last of them goes beyond it.
func (f finding) cover(b []byte) (beyond int) {
	for _, s := range f.spans {
		if s.to > len(b) && s.from <= len(b) {
			beyond = max(beyond, s.to-len(b))
		}
		for i := s.from; i < min(s.to, len(b)); i++ {
			b[i] = '*'
		}
	}
	return beyond
}

func (f *finding) add(from, to int) { f.spans = append(f.spans, span{from, to}) }

// all looks for secrets in a text that is there as a whole.
func (s *scrubber) all(b []byte) finding { return s.scan(b, true, stepsFree+stepsPerByte*len(b)) }

// scan looks for secrets in b, and does not change it, in so many steps. Where whole is
// false, more bytes follow.
func (s *scrubber) scan(b []byte, whole bool, steps int) finding {
	f := finding{sure: len(b), stepsLeft: steps}
	if !whole {
		f.sure = max(len(b)-s.longest+1, 0)
	}
	s.literal(b, &f)
	for _, c := range s.escapes {
		s.marks(c, text{b: b, whole: whole}, &f)
	}
	if f.gaveUp() {
		f.spans, f.sure = []span{{0, len(b)}}, len(b)
	}
	return f
}

// marks finds needles whose first escape begins with c.
func (s *scrubber) marks(c byte, t text, f *finding) {
	dull, b := s.dull[c], t.b
	for at := 0; !f.gaveUp(); at++ {
		i := bytes.IndexByte(b[at:], c)
		if i < 0 {
			return
		}
		at += i
		if at+1 < len(b) && dull[b[at+1]] {
			continue
		}
		if n := lineBreak(b[at:]); n > 0 && !s.needleBytes['\n'] && !s.needleBytes['\r'] && !s.wraps(b, at, at+n) {
			continue
		}
		of := &s.needleBytes
		if at > 0 && of[b[at-1]] {
			of = &s.ofBroken
		}
		if !s.within(b[at:]) && s.promising(c, b[at+1:], 2*maxLayers, of) {
			s.escaped(t, at, f)
		}
	}
}

// lineBreak is the length of the line break that b begins with, in its usual spellings, or 0.
func lineBreak(b []byte) int {
	switch c := b[0]; {
	case isBreak(c):
		return 1
	case c == '\\' && len(b) > 1 && isBreak(control(b[1])):
		return 2
	case c == '%' && len(b) > 2 && b[1] == '0' && isBreak(byte(hexDigit(b[2]))):
		return 3
	default:
		return 0
	}
}

// wraps reports whether a needle may go on at b[i], after a line break at b[at].
func (s *scrubber) wraps(b []byte, at, i int) bool {
	if at == 0 || !s.needleBytes[b[at-1]] {
		return false
	}
	return i >= len(b) || s.pair(b[at-1], b[i]) || s.begins(b[i]) || isBreak(b[i])
}

// pair reports whether a needle has the two bytes beside each other.
func (s *scrubber) pair(a, b byte) bool {
	pair := uint16(a)<<8 | uint16(b)
	return s.pairs[pair/64]>>(pair%64)&1 != 0
}

// within reports whether b begins with more of the same mark than a needle can have
// at its longest spelling: then a needle that is there begins further on.
func (s *scrubber) within(b []byte) bool {
	if len(b) <= s.run {
		return false
	}
	for _, c := range b[1 : s.run+1] {
		if c != b[0] {
			return false
		}
	}
	return true
}

// literal finds needles byte for byte.
func (s *scrubber) literal(b []byte, f *finding) {
	step := s.shortest - 1
	for i := step - 1; i+1 < len(b); i += step {
		if !s.pair(b[i], b[i+1]) {
			continue
		}
		for _, p := range s.places[uint16(b[i])<<8|uint16(b[i+1])] {
			n := s.needles[p.needle]
			from := i - p.at
			if to := from + len(n.text); from >= 0 && to <= len(b) && n.in(0, b[from:to]) {
				f.add(from, to)
			}
		}
	}
}

// ahead is how many bytes promising looks at.
const ahead = maxName + 3

// promising tells quickly that an escape, which c begins and rest goes on with, stands
// for no byte of a needle. Near the end of b, and where it cannot tell, it says yes.
func (s *scrubber) promising(c byte, rest []byte, layers int, of *[256]bool) bool {
	if layers == 0 {
		return false
	}
	if len(rest) < ahead {
		return true
	}
	next := rest[0]
	switch c {
	case '%':
		return s.stands(hexValue(rest[:2]), rest[2:], layers, of)
	case '\\':
		switch {
		case next == 'u':
			v := hexValue(rest[1:5])
			return v >= 0x80 && s.beyond || v < 0x80 && s.stands(v, rest[5:], layers, of)
		case next == 'x':
			return s.stands(hexValue(rest[1:3]), rest[3:], layers, of)
		case isLetter(next):
			return s.stands(int(control(next)), rest[1:], layers, of)
		case next == '\\':
			return s.needleBytes['\\'] || s.promising(c, bytes.TrimLeft(rest, `\`), layers, of)
		default:
			return s.stands(int(next), rest[1:], layers, of) || s.begins(next) && s.promising(next, rest[1:], layers-1, of)
		}
	case '&':
		return s.promisingEntity(rest, layers, of)
	case '"':
		return next == '"' || s.begins(next)
	default:
		return true
	}
}

// stands tells whether v, which an escape stands for, is of interest: as a byte of a
// needle, or because it begins another escape, which rest goes on with.
func (s *scrubber) stands(v int, rest []byte, layers int, of *[256]bool) bool {
	return v >= 0 && (of[v] || v < 0x80 && s.begins(byte(v)) && s.promising(byte(v), rest, layers-1, of))
}

// begins reports whether c may begin an escape that matters here.
func (s *scrubber) begins(c byte) bool {
	return begins(c) && (c != '"' && c != '+' || s.needleBytes[doubled(c)])
}

// promisingEntity is promising for what follows "&".
func (s *scrubber) promisingEntity(rest []byte, layers int, of *[256]bool) bool {
	if rest[0] == '#' {
		v, n := numeric(rest[1:])
		if v < 0 || v >= 0x80 {
			return v >= 0 && s.beyond
		}
		if rest = rest[1+n:]; s.begins(rest[0]) && begins(byte(v)) { // the semicolon may be escaped
			return true
		}
		return s.stands(v, bytes.TrimPrefix(rest, []byte(";")), layers, of)
	}
	n := 0
	for n < maxName && isName(rest[n]) {
		n++
	}
	name, next := rest[:n], rest[n]
	switch {
	case s.begins(next): // the mark that is expected here may be escaped
		return next != '&' || isName(rest[n+1]) || rest[n+1] == '#' || s.begins(rest[n+1])
	case n == 0:
		return false
	case string(name) == "amp" && next == ';':
		return s.stands('&', rest[n+1:], layers, of)
	case string(name) == "nbsp" && next == ';':
		return s.beyond
	default:
		return next == ';' || shortName(name) != ""
	}
}

// escaped finds needles whose first escape is at b[at]: what precedes it in the
// needle is there byte for byte.
func (s *scrubber) escaped(t text, at int, f *finding) {
	var buf [8]reading
	readings := t.read(buf[:0], at, maxLayers)
	if t.short {
		f.sure = min(f.sure, max(at-s.longest+1, 0))
	}
	for _, r := range readings {
		if isBreak(r.out[0]) && at > 0 {
			for _, p := range s.bytes[t.b[at-1]] {
				n, k := s.needles[p.needle], p.at+1
				if f.step() && n.wraps && k < len(n.text) && n.ends(k, t.b[:at]) {
					f.goesOn(walk{t: t, n: n, f: f}, at-k, k, at)
				}
			}
		}
		if r.end == at+1 && r.out[0] == t.b[at] {
			continue // the byte itself
		}
		for _, p := range s.bytes[r.out[0]] {
			n, k := s.needles[p.needle], p.at
			if f.step() && n.ends(k, t.b[:at]) && n.follows(k, r.out) {
				f.goesOn(walk{t: t, n: n, f: f}, at-k, k+len(r.out), r.end)
			}
		}
	}
}

// goesOn looks for the rest of the needle that begins at from: its byte k has to be at i.
func (f *finding) goesOn(w walk, from, k, i int) {
	if end := w.on(k, i); end > 0 {
		f.add(from, end)
	}
	if w.t.short {
		f.sure = min(f.sure, from)
	}
}

// ends reports whether b ends with the first k bytes of the needle.
func (n needle) ends(k int, b []byte) bool { return k <= len(b) && n.in(0, b[len(b)-k:]) }

// follows reports whether what an escape stands for is in the needle from byte at on.
func (n needle) follows(at int, out string) bool {
	return len(out) <= len(n.text)-at && n.in(at, []byte(out))
}

// walk matches the rest of one needle.
type walk struct {
	t    text
	n    needle
	f    *finding
	ends map[span]int // where it ends from there, once there was a choice
}

// on returns where the needle ends whose byte k has to be at i, or 0.
func (w *walk) on(k, i int) int {
	for k < len(w.n.text) {
		if !w.f.step() {
			return 0
		}
		var buf [8]reading
		readings := w.t.read(buf[:0], i, maxLayers)
		if w.n.wraps {
			readings = w.afterBreaks(readings)
		}
		readings = slices.DeleteFunc(readings, func(r reading) bool { return !w.n.follows(k, r.out) })
		if len(readings) == 0 {
			return 0
		}
		if len(readings) > 1 {
			return w.either(k, i, readings)
		}
		k, i = k+len(readings[0].out), readings[0].end
	}
	return i
}

// afterBreaks adds the ways to read what follows the line breaks among readings.
func (w *walk) afterBreaks(readings []reading) []reading {
	seen := 0
	for range maxBreaks {
		for n := len(readings); seen < n; seen++ {
			if r := readings[seen]; isBreak(r.out[0]) {
				readings = w.t.read(readings, r.end, maxLayers)
			}
		}
	}
	return readings
}

// either tries several readings of what is at i, and takes the one that goes furthest.
func (w *walk) either(k, i int, readings []reading) int {
	if end, known := w.ends[span{k, i}]; known {
		return end
	}
	if w.ends == nil {
		w.ends = map[span]int{}
	}
	furthest := 0
	for _, r := range readings {
		furthest = max(furthest, w.on(k+len(r.out), r.end))
	}
	w.ends[span{k, i}] = furthest
	return furthest
}

// compiler collects the needles of a scrubber.
type compiler struct{ needles []needle }

func (c *compiler) add(n needle) {
	if len(n.text) >= minMasked && !slices.Contains(c.needles, n) {
		c.needles = append(c.needles, n)
	}
}

// scrubber is nil where there is nothing to look for.
func (c *compiler) scrubber() *scrubber {
	if len(c.needles) == 0 {
		return nil
	}
	s := &scrubber{needles: c.needles, shortest: math.MaxInt, places: map[uint16][]place{}}
	for i, n := range s.needles {
		s.shortest, s.longest = min(s.shortest, len(n.text)), max(s.longest, len(n.text))
		for at := range len(n.text) {
			for _, a := range n.cases(at) {
				s.bytes[a] = append(s.bytes[a], place{i, at})
				s.needleBytes[a] = true
				s.beyond = s.beyond || a >= 0x80
				if at+1 == len(n.text) {
					continue
				}
				for _, b := range n.cases(at + 1) {
					pair := uint16(a)<<8 | uint16(b)
					s.pairs[pair/64] |= 1 << (pair % 64)
					s.places[pair] = append(s.places[pair], place{i, at})
				}
			}
		}
	}
	s.ofBroken = s.needleBytes
	s.ofBroken['\n'], s.ofBroken['\r'] = true, true
	s.escapes = []byte{'\n', '\r', '\\', '%', '&'}
	for _, c := range []byte{'"', '+'} {
		if s.needleBytes[doubled(c)] {
			s.escapes = append(s.escapes, c)
		}
	}
	s.skip()
	return s
}

// skip works out what can be passed over quickly.
func (s *scrubber) skip() {
	s.dull = map[byte]*[256]bool{}
	for _, c := range s.escapes {
		s.dull[c] = new([256]bool)
	}
	for i := range 256 {
		c := byte(i)
		plain := !s.begins(c) && !s.needleBytes[c]
		s.dull['\\'][i] = isLetter(c) && c != 'u' && c != 'x' && !s.ofBroken[control(c)] || !isLetter(c) && plain
		s.dull['%'][i] = hexDigit(c) < 0
		s.dull['&'][i] = c != '#' && !isLetter(c) && !s.begins(c)
	}
	for _, n := range s.needles {
		run := 0
		for i := range len(n.text) {
			if run++; i > 0 && n.text[i] != n.text[i-1] || !begins(n.text[i]) {
				run = 1
			}
			s.run = max(s.run, (run+1)<<maxLayers)
		}
	}
}

// cases are the bytes that a needle may have at a place.
func (n needle) cases(at int) []byte {
	c := n.text[at]
	if n.fold && c >= 'a' && c <= 'f' {
		return []byte{c, c - 0x20}
	}
	return []byte{c}
}
