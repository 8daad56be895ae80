// Package filter runs what an operator types against a body: jq on JSON, a CSS selector
// on HTML. A filter sees the body and nothing else: no environment, no files, no
// modules, no further input. Input, output, time and memory are bounded.
//
// A Document is safe for concurrent use; its runs happen one after the other.
package filter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"github.com/itchyny/gojq"
)

// The bounds of a filter.
const (
	MaxInput   = 16 << 20 // bytes of a body
	MaxOutput  = 1 << 20  // bytes of a result
	MaxMatches = 10_000
	MaxExpr    = 4 << 10 // bytes of what is typed
	MaxTime    = 3 * time.Second
	maxGrowth  = 256 << 20 // bytes that the heap may grow by during a run
)

// Kind is the language of a filter.
type Kind string

// The languages.
const (
	JQ  Kind = "jq"
	CSS Kind = "CSS"
)

// KindOf is the language for a body, by its content type or, without one, by its
// beginning; "" for a body that neither fits.
func KindOf(contentType string, head []byte) Kind {
	t, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch t = strings.TrimSpace(t); {
	case strings.HasSuffix(t, "json"), strings.HasSuffix(t, "jsonl"):
		return JQ
	case strings.HasSuffix(t, "html"):
		return CSS
	case t != "" && t != "text/plain" && t != "application/octet-stream":
		return ""
	}
	head = bytes.TrimLeft(head, " \t\r\n\ufeff")
	switch {
	case bytes.HasPrefix(head, []byte("{")), bytes.HasPrefix(head, []byte("[")):
		return JQ
	case bytes.HasPrefix(bytes.ToLower(head[:min(len(head), 16)]), []byte("<!doctype html")),
		bytes.HasPrefix(bytes.ToLower(head[:min(len(head), 8)]), []byte("<html")):
		return CSS
	}
	return ""
}

// Document is a body that was read for filters.
type Document struct {
	kind   Kind
	mu     sync.Mutex // gojq writes into its input while it reads numbers
	values []any
	page   *goquery.Document
	shape  shape // of page
	note   string
}

// Result is what a filter gave.
type Result struct {
	Text    []byte // JSON values or HTML elements, each on lines of its own
	Type    string // content type of Text
	Matches int
	// Note says what the result does not cover, or is empty.
	Note string
}

// The reasons why a filter has no result.
var (
	ErrTooLarge = fmt.Errorf("filters read bodies of up to %d MiB", MaxInput>>20)
	ErrTime     = fmt.Errorf("stopped after %s", MaxTime)
	ErrMemory   = fmt.Errorf("stopped: it took more than %d MiB of memory", maxGrowth>>20)
)

// Read takes a body of size bytes for filters of a kind. Of a larger one than MaxInput it
// takes the lines (NDJSON) or the part of the page that fit, and says so in each result's
// note; a single JSON value of that size is ErrTooLarge.
func Read(kind Kind, r io.ReaderAt, size int64) (*Document, error) {
	d := &Document{kind: kind}
	whole := size <= MaxInput
	in := io.NewSectionReader(r, 0, min(size, MaxInput))
	if !whole {
		d.note = fmt.Sprintf("the first %d MiB of the body alone", MaxInput>>20)
	}
	if kind == CSS {
		page, err := goquery.NewDocumentFromReader(in)
		if err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
		d.page, d.shape = page, shapeOf(page)
		return d, nil
	}
	dec := json.NewDecoder(withoutMark(in))
	dec.UseNumber()
	for {
		var v any
		switch err := dec.Decode(&v); {
		case err == nil:
			d.values = append(d.values, v)
		case errors.Is(err, io.EOF):
			return d, nil
		case !whole && len(d.values) > 0:
			return d, nil
		case !whole:
			return nil, ErrTooLarge
		default:
			return nil, fmt.Errorf("the body is not JSON at byte %d: %w", dec.InputOffset(), err)
		}
	}
}

// withoutMark skips a byte order mark.
func withoutMark(r io.ReadSeeker) io.Reader {
	head := make([]byte, 3)
	if _, err := io.ReadFull(r, head); err == nil && string(head) == "\ufeff" {
		return r
	}
	_, _ = r.Seek(0, io.SeekStart) // a section of a file can always seek
	return r
}

// Check says what is wrong with a filter as it is written, or returns nil.
func Check(kind Kind, expr string) error {
	_, err := compile(kind, expr)
	return err
}

type compiled struct {
	code     *gojq.Code
	selector cascadia.Selector
}

func compile(kind Kind, expr string) (c compiled, err error) {
	if len(expr) > MaxExpr {
		return c, fmt.Errorf("a filter has at most %d bytes", MaxExpr)
	}
	if kind == CSS {
		c.selector, err = cascadia.Compile(expr)
		return c, err
	}
	q, err := gojq.Parse(expr)
	if err != nil {
		return c, err
	}
	c.code, err = gojq.Compile(q)
	return c, err
}

// Run runs a filter. An error is about the filter, about a bound, or the end of ctx.
func (d *Document) Run(ctx context.Context, expr string) (Result, error) {
	c, err := compile(d.kind, expr)
	if err != nil {
		return Result{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if d.kind == CSS {
		return d.css(ctx, expr, c.selector)
	}
	return d.jq(ctx, c.code)
}

// more is the note of a result that was cut after n matches.
func (d *Document) more(n int) string {
	cut := fmt.Sprintf("the first %d results alone", n)
	if d.note == "" {
		return cut
	}
	return cut + ", of " + d.note
}

func (d *Document) jq(ctx context.Context, code *gojq.Code) (Result, error) {
	ctx, stop := bounded(ctx)
	defer stop()
	res := Result{Type: "application/json", Note: d.note}
	var out bytes.Buffer
	for _, v := range d.values {
		more, err := d.one(ctx, code, v, &out, &res)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return Result{}, err
		}
		if !more {
			break
		}
	}
	res.Text = out.Bytes()
	return res, nil
}

// one filters one value of the body and reports whether to go on with the next.
func (d *Document) one(ctx context.Context, code *gojq.Code, v any, out *bytes.Buffer, res *Result) (more bool, err error) {
	for it := code.RunWithContext(ctx, v); ; {
		got, ok := it.Next()
		if !ok {
			return true, nil
		}
		if err, failed := got.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return false, nil
			}
			return false, err
		}
		text, err := gojq.Marshal(got)
		if err != nil {
			return false, err
		}
		if res.Matches == MaxMatches || out.Len()+len(text) >= MaxOutput {
			res.Note = d.more(res.Matches)
			return false, nil
		}
		if err := json.Indent(out, text, "", "  "); err != nil {
			return false, err
		}
		out.WriteByte('\n')
		res.Matches++
	}
}

// bounded ends a run after MaxTime, or when the heap has grown too much.
func bounded(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	from := heap()
	go func() {
		defer close(done)
		late := time.NewTimer(MaxTime)
		defer late.Stop()
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-late.C:
				cancel(ErrTime)
			case <-look.C:
				if heap() <= from+maxGrowth {
					continue
				}
				runtime.GC() // what is garbage does not count
				if heap() > from+maxGrowth {
					cancel(ErrMemory)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// heap is the size of the heap's objects in bytes.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
