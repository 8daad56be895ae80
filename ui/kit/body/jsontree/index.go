package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of an index.
const (
	maxNodes = 2_000_000 // 32 bytes each
	// maxValue bounds one key, text or number, in bytes: the reader holds it whole.
	maxValue = 16 << 20
	// partNodes is after how many nodes the progress is told.
	partNodes = 50_000
)

// node is one value of a body: where it is, not what it is. Nodes are in the order of
// the body, so that the values inside one follow it, up to next.
type node struct {
	key    int64 // offset of the key, or of the value without one
	val    int32 // bytes from key to the value
	next   int32 // the node after everything in this one
	parent int32 // -1 at the top
	count  int32 // values directly inside
	ord    int32 // place in the parent
	depth  uint16
	kind   jsontext.Kind // the first byte of the value: { [ " 0 t f n
	keyed  bool
}

func (n node) open() bool { return n.kind == '{' || n.kind == '[' }

// index is the tree of a body, as far as it was read.
type index struct {
	nodes []node
	tops  int   // values at the top: 1, or more with NDJSON
	read  int64 // bytes read so far
	// open is one more than the deepest container whose end was not read, 0 for none.
	open int32
	done bool
	// fault says where and why reading ended before the body did, or is nil.
	fault *Fault
}

// cut reports whether the end of a container was not read.
func (x *index) cut(i int32) bool { return x.open > 0 && i < x.open && x.open <= x.nodes[i].next }

// Fault is where a body stops being JSON that is shown.
type Fault struct {
	Off int64
	// Line and Column are where Off is, in characters from 1, where the body is not JSON.
	Line, Column int
	Text         string
	// Partial says that what was read is JSON, and why there is no more of it.
	Partial bool
}

const endsEarly = "the body ends in the middle of a value"

// build reads a body of size bytes front to back. It reports its progress between parts,
// and ends when stop says so.
func build(r io.ReaderAt, size int64, stop func() bool, part func(read int64)) (index, error) {
	src := &source{r: io.NewSectionReader(r, 0, size)}
	skipped, err := src.skipMark()
	if err != nil {
		return index{}, err
	}
	dec := jsontext.NewDecoder(src, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	src.read = func() int64 { return dec.InputOffset() }
	b := builder{dec: dec, base: skipped, at: -1}
	for len(b.x.nodes) < maxNodes {
		if len(b.x.nodes)%partNodes == 0 {
			if stop() {
				return index{}, nil
			}
			part(b.base + dec.InputOffset())
		}
		more, err := b.step()
		if err != nil {
			x, err := b.end(err)
			if f := x.fault; f != nil && !f.Partial {
				f.locate(r, size, stop)
			}
			return x, err
		}
		if !more {
			return b.end(nil)
		}
	}
	b.x.fault = &Fault{Off: b.base + dec.InputOffset(), Partial: true, Text: fmt.Sprintf("the tree holds the first %d values", maxNodes)}
	return b.end(nil)
}

// builder makes the index.
type builder struct {
	dec  *jsontext.Decoder
	base int64 // bytes before the JSON
	x    index
	at   int32 // the container that is open, -1 for none
	key  int64 // offset of the key read last
	have bool  // a key was read, its value was not
}

// step reads one key, value or end of a container; more is false at the end of the body.
func (b *builder) step() (more bool, err error) {
	switch kind := b.dec.PeekKind(); kind {
	case '{', '[':
		if _, err := b.dec.ReadToken(); err != nil {
			return false, err
		}
		b.at = b.add(kind, b.base+b.dec.InputOffset()-1)
	case '}', ']':
		if _, err := b.dec.ReadToken(); err != nil {
			return false, err
		}
		b.x.nodes[b.at].next = b.len()
		b.at = b.x.nodes[b.at].parent
	default:
		raw, err := b.dec.ReadValue()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		from := b.base + b.dec.InputOffset() - int64(len(raw))
		if b.at >= 0 && b.x.nodes[b.at].kind == '{' && !b.have {
			b.key, b.have = from, true
			return true, nil
		}
		b.add(kind, from)
	}
	return true, nil
}

func (b *builder) len() int32 { return int32(len(b.x.nodes)) } //nolint:gosec // at most maxNodes

// add adds a value that begins at off.
func (b *builder) add(kind jsontext.Kind, off int64) int32 {
	n := node{key: off, parent: b.at, kind: kind, next: b.len() + 1}
	if b.have {
		n.key, n.val, n.keyed, b.have = b.key, int32(min(off-b.key, 1<<30)), true, false //nolint:gosec // bounded
	}
	if b.at >= 0 {
		p := &b.x.nodes[b.at]
		n.ord, n.depth = p.count, p.depth+1
		p.count++
	} else {
		n.ord = int32(b.x.tops) //nolint:gosec // at most maxNodes
		b.x.tops++
	}
	b.x.nodes = append(b.x.nodes, n)
	return b.len() - 1
}

// end closes what is open and says why reading ended.
func (b *builder) end(err error) (index, error) {
	b.x.open = b.at + 1
	for i := b.at; i >= 0; i = b.x.nodes[i].parent {
		b.x.nodes[i].next = b.len()
	}
	b.x.read, b.x.done = b.base+b.dec.InputOffset(), true
	var bad *jsontext.SyntacticError
	switch {
	case err == nil:
	case errors.Is(err, errValue):
		b.x.fault = &Fault{Off: b.x.read, Partial: true, Text: fmt.Sprintf("a text or number of more than %d MiB is not shown", maxValue>>20)}
	case errors.As(err, &bad):
		b.x.fault = faultOf(bad, b.base)
	case errors.Is(err, io.ErrUnexpectedEOF):
		b.x.fault = &Fault{Off: b.x.read, Partial: true, Text: endsEarly}
	default:
		return index{}, err
	}
	return b.x, nil
}

func faultOf(bad *jsontext.SyntacticError, base int64) *Fault {
	f := &Fault{Off: base + bad.ByteOffset, Text: "not JSON"}
	if bad.Err != nil {
		f.Text = bad.Err.Error()
	}
	if errors.Is(bad.Err, io.ErrUnexpectedEOF) {
		f.Text, f.Partial = endsEarly, true
	}
	return f
}

// locate finds the line and column of a fault, and whether a comma too many is why.
func (f *Fault) locate(r io.ReaderAt, size int64, stop func() bool) {
	f.Line, f.Column = 1, 1
	part := make([]byte, maxPart)
	for at := int64(0); at < f.Off && !stop(); {
		n, err := r.ReadAt(part[:min(maxPart, f.Off-at)], at)
		if i := bytes.LastIndexByte(part[:n], '\n'); i >= 0 {
			f.Line += bytes.Count(part[:n], []byte{'\n'})
			f.Column = 1 + characters(part[i+1:n])
		} else {
			f.Column += characters(part[:n])
		}
		if at += int64(n); err != nil || n == 0 {
			break
		}
	}
	n, _ := r.ReadAt(part[:min(maxPart, size-f.Off)], f.Off) // what cannot be read explains nothing
	if rest, comma := bytes.CutPrefix(part[:n], []byte{','}); comma {
		if rest = bytes.TrimLeft(rest, " \t\r\n"); len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
			f.Text = "a comma before " + string(rest[:1])
		}
	}
}

// maxPart is how much is read at once, in bytes.
const maxPart = 64 << 10

// characters counts the characters that begin in a part of a text.
func characters(part []byte) int {
	n := 0
	for _, c := range part {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

// source feeds the decoder and bounds how much of one value it takes into memory.
type source struct {
	r    io.Reader
	fed  int64
	read func() int64 // bytes that the decoder is done with
}

var errValue = errors.New("a value is too large")

func (s *source) Read(p []byte) (int, error) {
	if s.read != nil && s.fed-s.read() > maxValue {
		return 0, errValue
	}
	n, err := s.r.Read(p)
	s.fed += int64(n)
	return n, err
}

// skipMark skips a byte order mark and returns its length.
func (s *source) skipMark() (int64, error) {
	head := make([]byte, 3)
	n, err := io.ReadFull(s.r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	if string(head[:n]) == "\ufeff" {
		return int64(n), nil
	}
	s.r = io.MultiReader(bytes.NewReader(head[:n]), s.r)
	return 0, nil
}
