package filter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/PuerkitoBio/goquery"
)

// errValues says that a body of an allowed size holds too much.
var errValues = fmt.Errorf("the body would take more than %d MiB of memory", maxHeld>>20)

// New takes a body of size bytes for filters of a kind; reading it ends with life. Of a larger
// one than MaxInput filters get the lines (NDJSON) or the part of the page that fit, and each
// result's note says so; for a single JSON value of that size the error is errTooLarge.
func New(life context.Context, kind Kind, body io.ReaderAt, size int64) *Document {
	return &Document{kind: kind, body: body, size: size, life: life, read: make(chan struct{}), turn: make(chan struct{}, 1)}
}

func (d *Document) load() {
	defer close(d.read)
	in := io.NewSectionReader(d.body, 0, min(d.size, maxInput))
	if d.size > maxInput {
		d.note = fmt.Sprintf("the first %d MiB of the body alone", maxInput>>20)
	}
	if d.kind == CSS {
		d.err = d.loadPage(in)
	} else {
		d.err = d.loadValues(in)
	}
}

func (d *Document) loadPage(in io.Reader) error {
	page, err := goquery.NewDocumentFromReader(&watched{life: d.life, in: in, from: heap()})
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	d.page, d.shape = page, shapeOf(page)
	return nil
}

func (d *Document) loadValues(in io.Reader) error {
	whole := d.size <= maxInput
	counted := &counted{life: d.life, in: withoutMark(in)}
	dec := json.NewDecoder(counted)
	dec.UseNumber()
	for {
		var v any
		switch err := dec.Decode(&v); {
		case err == nil:
			d.values = append(d.values, v)
			counted.size += valueBytes
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errValues) && len(d.values) > 0:
			d.note = fmt.Sprintf("the first %d values of the body alone", len(d.values))
			return nil
		case errors.Is(err, errValues), errors.Is(err, context.Canceled):
			return err
		case !whole && len(d.values) > 0:
			return nil
		case !whole:
			return errTooLarge
		default:
			return fmt.Errorf("the body is not JSON at byte %d: %w", dec.InputOffset(), err)
		}
	}
}

// withoutMark skips a byte order mark.
func withoutMark(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	if head, _ := in.Peek(3); string(head) == "\ufeff" { // an error comes again
		_, _ = in.Discard(3)
	}
	return in
}

// watched ends a page that takes too much memory. What a page takes is known only while it is
// parsed: a parser may copy elements for each paragraph.
type watched struct {
	life context.Context
	in   io.Reader
	from uint64 // the heap before
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.life.Err(); err != nil {
		return 0, err
	}
	if outgrown(w.from, maxHeld) {
		return 0, errValues
	}
	return w.in.Read(p)
}

// What values take at most, in bytes, as Go keeps them: a map with its first entries, a slice, and
// each further value with the growth of what holds it.
const (
	objectBytes = 352
	arrayBytes  = 64
	valueBytes  = 96
)

// counted ends JSON whose values would take too much memory. A decoder reads a whole value
// before it makes anything of it: nothing is seen in the heap until then.
type counted struct {
	life context.Context
	in   io.Reader

	size            int64
	quoted, escaped bool
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.life.Err(); err != nil {
		return 0, err
	}
	n, err := c.in.Read(p)
	for _, b := range p[:n] {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted && b == '\\':
			c.escaped = true
		case b == '"':
			c.quoted = !c.quoted
		case c.quoted:
		case b == '{':
			c.size += objectBytes
		case b == '[':
			c.size += arrayBytes
		case b == ',':
			c.size += valueBytes
		}
	}
	if c.size > maxHeld {
		return 0, errValues
	}
	return n, err
}
