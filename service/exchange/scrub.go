package exchange

import (
	"bytes"
	"math"
	"slices"
)

// scrubber finds secrets in all their spellings. It searches twice: for needles byte for
// byte, and for escapes that stand for a byte of a needle. The first search looks at one
// pair of bytes in every shortest-1, because every needle covers at least one such pair.
// The second looks at every byte that begins an escape.
type scrubber struct {
	needles     []needle
	shortest    int // length of the shortest needle, in bytes
	longest     int
	pairs       [1 << 16 / 64]uint64 // the set of byte pairs in needles
	places      map[uint16][]place   // where each pair is
	bytes       [256][]place         // where each byte is
	escapes     []byte               // the bytes that begin an escape, and line breaks
	needleBytes [256]bool            // the set of bytes in needles
	ofBroken    [256]bool            // needleBytes and line breaks
	beyond      bool                 // a needle has a byte that is not ASCII
	dull        map[byte]*[256]bool  // by mark: the next bytes that rule out an escape of interest
	run         int                  // an upper bound on a run of one mark in a spelling
}

// needle is a secret as it is, or all of it in one encoding.
type needle struct {
	text  string
	fold  bool // hexadecimal: text is in lower case, and matches either case
	wraps bool // base64: may be interrupted by line breaks
}

func (n needle) has(at int, c byte) bool {
	return n.text[at] == c || n.fold && c >= 'A' && c <= 'F' && n.text[at] == c|0x20
}

// in reports whether the needle continues with b at byte at.
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

// place is the position of a byte in a needle.
type place struct{ needle, at int }

// span is where a secret was found.
type span struct{ from, to int }

// finding is the result of one scan.
type finding struct {
	spans []span
	// sure is how many leading bytes cannot be part of a secret that ends in bytes still to come.
	sure int
	// stepsLeft is how many more steps the search may take. Below 0 it gave up.
	stepsLeft int
}

// A search may take stepsFree steps, and stepsPerByte more for each byte: many times what a
// page or a JSON text needs. A text that needs more is crafted to be slow and is masked.
const (
	stepsFree    = 1 << 18
	stepsPerByte = 4
)

// gaveUp reports whether the search took too long. The whole text then counts as a secret.
func (f finding) gaveUp() bool { return f.stepsLeft < 0 }

// step counts one step and reports whether the search may go on.
func (f *finding) step() bool {
	f.stepsLeft--
	return f.stepsLeft >= 0
}

// cover overwrites the spans in b with asterisks. It returns how many bytes the furthest
// span reaches beyond b.
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

// scanText looks for secrets in a complete text.
func (s *scrubber) scanText(b []byte) finding { return s.scan(b, true, stepsFree+stepsPerByte*len(b)) }

// scan looks for secrets in b without changing it, in at most so many steps. If whole is
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

// lineBreak is the length of a line break at the start of b, in one of its usual spellings, or 0.
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

// wraps reports whether a needle may continue at b[i], after a line break at b[at].
func (s *scrubber) wraps(b []byte, at, i int) bool {
	if at == 0 || !s.needleBytes[b[at-1]] {
		return false
	}
	return i >= len(b) || s.pair(b[at-1], b[i]) || s.begins(b[i]) || isBreak(b[i])
}

// pair reports whether b follows a in some needle.
func (s *scrubber) pair(a, b byte) bool {
	pair := uint16(a)<<8 | uint16(b)
	return s.pairs[pair/64]>>(pair%64)&1 != 0
}

// within reports whether b begins with a longer run of one mark than any spelling of a
// needle has. A needle in that run can only begin further on.
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

// promising is a quick check: may the escape that begins with c and continues in rest stand
// for a byte in of? Near the end of the text, and whenever it cannot tell, it says yes.
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

// stands reports whether the value v of an escape matters: it is in of, or it begins
// another promising escape, which continues in rest.
func (s *scrubber) stands(v int, rest []byte, layers int, of *[256]bool) bool {
	return v >= 0 && (of[v] || v < 0x80 && s.begins(byte(v)) && s.promising(byte(v), rest, layers-1, of))
}

// begins reports whether c may begin an escape that matters for these needles.
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
	case s.begins(next): // the expected mark may be escaped
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

// escaped finds needles whose first escape is at b[at]. The part of the needle before it
// stands in the text byte for byte.
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

// goesOn looks for the rest of a needle that began at from. Its byte k must be at i.
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

// follows reports whether out, the text of an escape, is in the needle at byte at.
func (n needle) follows(at int, out string) bool {
	return len(out) <= len(n.text)-at && n.in(at, []byte(out))
}

// walk matches the rest of one needle.
type walk struct {
	t    text
	n    needle
	f    *finding
	ends map[span]int // results of either, by k and i
}

// on returns where the needle ends if its byte k is at i, or 0 if it does not match.
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

// afterBreaks adds the readings of what follows each line break among readings.
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

// either tries several readings at i and returns the furthest end.
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

// scrubber returns nil if there are no needles.
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

// skip computes dull and run, by which a search skips bytes.
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

// cases returns the bytes that match the needle's byte at.
func (n needle) cases(at int) []byte {
	c := n.text[at]
	if n.fold && c >= 'a' && c <= 'f' {
		return []byte{c, c - 0x20}
	}
	return []byte{c}
}
