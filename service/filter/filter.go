// Package filter runs what an operator types against a body: jq on JSON, a CSS selector
// on HTML. A filter sees the body and nothing else: no environment, no files, no
// modules, no further input. Input, output and time are bounded, and so is memory between two
// steps of a filter; a step that doubles what is there, such as tojson of a value that holds
// itself many times, is not.
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
	maxInput   = 16 << 20 // bytes of a body
	maxOutput  = 1 << 20  // bytes of a result
	maxMatches = 10_000
	maxExpr    = 4 << 10 // bytes of what is typed
	maxTime    = 3 * time.Second
	maxGrowth  = 256 << 20 // bytes that the heap may grow by during a run
	maxHeld    = 512 << 20 // bytes that a body may take once it is read
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
	case t != "" && !strings.HasSuffix(t, "html") && t != "text/plain" && t != "application/octet-stream":
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
	if strings.HasSuffix(t, "html") {
		return CSS
	}
	return ""
}

// Document is a body for filters. It is read once, when a filter first needs it.
type Document struct {
	kind   Kind
	body   io.ReaderAt
	size   int64
	life   context.Context // of the reading
	begin  sync.Once
	read   chan struct{} // closed when everything below is there
	turn   chan struct{} // gojq writes into its input while it reads numbers: one run at a time
	values []any
	page   *goquery.Document
	shape  shape // of page
	note   string
	err    error // of reading
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
	errTooLarge = fmt.Errorf("filters read bodies of up to %d MiB", maxInput>>20)
	ErrTime     = fmt.Errorf("stopped after %s", maxTime)
	ErrMemory   = fmt.Errorf("stopped: it took more than %d MiB of memory", maxGrowth>>20)
)

var errUnfinished = errors.New("the expression is not finished")

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
	if len(expr) > maxExpr {
		return c, fmt.Errorf("a filter has at most %d bytes", maxExpr)
	}
	if kind == CSS {
		c.selector, err = cascadia.Compile(expr)
		return c, err
	}
	q, err := gojq.Parse(expr)
	if err != nil && err.Error() == "unexpected EOF" { // gojq has no value for it
		return c, errUnfinished
	}
	if err != nil {
		return c, err
	}
	guards, err := gojq.Parse(guards())
	if err != nil {
		return c, err
	}
	q.FuncDefs = append(guards.FuncDefs, q.FuncDefs...)
	c.code, err = gojq.Compile(q, gojq.WithFunction("_short", 1, 1, short))
	return c, err
}

// Run runs a filter. An error is about the filter, about a bound, about reading the body, or the
// end of ctx, which leaves the body to the next run.
func (d *Document) Run(ctx context.Context, expr string) (Result, error) {
	c, err := compile(d.kind, expr)
	if err != nil {
		return Result{}, err
	}
	d.begin.Do(func() { go d.load() })
	select {
	case <-d.read:
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	if d.err != nil {
		return Result{}, d.err
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if d.kind == CSS {
		return d.css(ctx, expr, c.selector)
	}
	return d.jq(ctx, c.code)
}

// cutNote is the note of a result that was cut after n matches.
func (d *Document) cutNote(n int) string {
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
		more, err := d.filterValue(ctx, code, v, &out, &res)
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

// filterValue filters one value of the body and reports whether to go on with the next.
func (d *Document) filterValue(ctx context.Context, code *gojq.Code, v any, out *bytes.Buffer, res *Result) (more bool, err error) {
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
		if res.Matches == maxMatches || out.Len()+len(text) >= maxOutput {
			res.Note = d.cutNote(res.Matches)
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
		late := time.NewTimer(maxTime)
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
				if outgrown(from, maxGrowth) {
					cancel(ErrMemory)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// outgrown reports whether the heap has grown by more than so many bytes.
func outgrown(from, by uint64) bool {
	if heap() <= from+by {
		return false
	}
	runtime.GC() // what is garbage does not count
	return heap() > from+by
}

// heap is the size of the heap's objects in bytes.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// maxChars bounds a text, in bytes, for the functions of jq that make a value of each character
// in one step: no bound of memory ends a step.
const maxChars = 1 << 20

// guarded are those functions, with their parameters.
var guarded = []struct{ name, params string }{
	{"explode", ""},
	{"split", "$s"},
	{"split", "$re; $flags"},
	{"indices", "$s"},
	{"index", "$s"},
	{"rindex", "$s"},
	{"match", "$re"},
	{"match", "$re; $flags"},
	{"capture", "$re"},
	{"capture", "$re; $flags"},
	{"scan", "$re"},
	{"scan", "$re; $flags"},
	{"splits", "$re"},
	{"splits", "$re; $flags"},
	{"sub", "$re; to"},
	{"sub", "$re; to; $flags"},
	{"gsub", "$re; to"},
	{"gsub", "$re; to; $flags"},
}

// guards are definitions that look at the text before the function that they are named as.
func guards() string {
	var b strings.Builder
	for i, g := range guarded {
		params := ""
		if g.params != "" {
			params = "(" + g.params + ")"
		}
		fmt.Fprintf(&b, "def _inner%d%s: %s%s; def %s%s: _short(%q) | _inner%d%s; ", i, params, g.name, params, g.name, params, g.name, i, params)
	}
	return b.String() + "."
}

// short is the guard: it passes on what it gets.
func short(v any, args []any) any {
	if s, ok := v.(string); ok && len(s) > maxChars {
		return fmt.Errorf("%v takes a text of at most %d MiB", args[0], maxChars>>20)
	}
	return v
}
