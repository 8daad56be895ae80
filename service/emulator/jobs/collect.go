package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/page"
)

const (
	maxPageBytes = 4 << 20
	// maxInputBytes and maxInputRecords bound the records of one input. Those collected
	// before the bound are kept.
	maxInputBytes   = 32 << 20
	maxInputRecords = 10_000
)

// Codes of error rows. dead_page is public documentation; the others are assumptions.
const (
	codeDeadPage    = "dead_page"
	codeFailed      = "crawl_failed"
	codeNoRecords   = "no_records"
	codeNoDiscovery = "no_discovery"

	noDiscovery = "No data found in discovery"
)

// visit is one input being collected. It belongs to one goroutine.
type visit struct {
	job    *job
	in     map[string]json.RawMessage
	fields []Field
	limit  int
	bytes  int
	out    *line
	err    error // of encoding; ends the job
}

// collect works on one input. An error means that the job cannot go on, or that ctx ended.
func (j *job) collect(ctx context.Context, p pending) (line, error) {
	l := line{I: p.i}
	d, err := Find(j.spec.Dataset)
	if err != nil {
		return l, err
	}
	v := &visit{job: j, fields: d.Columns(j.spec.Discover), limit: maxInputRecords, out: &l}
	if j.spec.LimitPerInput > 0 {
		v.limit = min(v.limit, j.spec.LimitPerInput)
	}
	if err := json.Unmarshal(p.in, &v.in); err != nil {
		return l, err
	}
	collect := d.collect
	if how, err := d.discovery(j.spec.Discover); err == nil {
		collect = how.collect
	}
	var failed *FailedError
	if fault := j.engine.conf.Fault; fault != nil {
		err = fault(ctx, j.spec.Dataset, cmp.Or(v.text("url"), v.text("category_url")))
	}
	if err == nil {
		err = collect(ctx, v)
	}
	switch {
	case ctx.Err() != nil:
		return l, context.Cause(ctx)
	case errors.As(err, &failed):
		return l, err
	case v.err != nil:
		return l, v.err
	case err != nil:
		v.failed(p.in, err)
	case len(l.Records) == 0 && len(l.Errors) == 0:
		v.failed(p.in, &FetchError{codeNoRecords, "No data found on the page"})
	}
	return l, nil
}

// text is a field of the input, "" when it has none.
func (v *visit) text(name string) string {
	var s string
	_ = json.Unmarshal(v.in[name], &s) // CheckInput refused anything else
	return s
}

// number is a field of the input, or the default where it is missing.
func (v *visit) number(name string, missing int) int {
	if raw, ok := v.in[name]; ok {
		if n, err := strconv.Atoi(unquoted(raw)); err == nil {
			return n
		}
	}
	return missing
}

// page fetches a page that has what was asked for; any other is an error.
func (v *visit) page(ctx context.Context, url string) (Page, error) {
	p, err := v.get(ctx, url)
	if err == nil {
		err = pageError(p)
	}
	return p, err
}

// get fetches a page of any status. All jobs together fetch pagesAtOnce at a time.
func (v *visit) get(ctx context.Context, url string) (Page, error) {
	e := v.job.engine
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return Page{}, context.Cause(ctx)
	}
	if err := clock.Pause(ctx, e.conf.PageDelay); err != nil {
		return Page{}, err
	}
	p, err := e.conf.Fetch(ctx, Request{URL: url, Dataset: v.job.spec.Dataset, Limit: maxPageBytes})
	if err != nil {
		return Page{}, err
	}
	p.Body = page.Decode(p.Body, p.ContentType)
	return p, nil
}

// record adds a record. It reports whether more are wanted.
func (v *visit) record(r record) bool {
	if !v.wantsMore() {
		return false
	}
	if v.job.spec.Discover != "" {
		r[discoveryField] = v.input()
	}
	b, err := r.encode(v.fields, v.job.spec.Fields)
	if err != nil {
		v.err = err
		return false
	}
	v.bytes += len(b)
	v.out.Records = append(v.out.Records, b)
	return v.wantsMore()
}

// input is the input as a record shows it.
func (v *visit) input() object {
	fields, _ := InputFields(v.job.spec.Dataset, v.job.spec.Discover) // as when the job was started
	var o object
	for _, f := range fields {
		if raw, ok := v.in[f.Name]; ok {
			o = append(o, member{f.Name, raw})
		}
	}
	return o
}

func (v *visit) wantsMore() bool {
	return v.err == nil && len(v.out.Records) < v.limit && v.bytes < maxInputBytes
}

// failed adds an error row; in is the input, or the page of a crawl.
func (v *visit) failed(in json.RawMessage, err error) {
	f := failure{Error: err.Error(), Code: codeFailed, Input: in}
	if fe := (*FetchError)(nil); errors.As(err, &fe) {
		f.Code = fe.Code
	}
	v.bytes += len(f.Error) + len(in)
	v.out.Errors = append(v.out.Errors, f)
}

// failedPage adds an error row for a page that the input did not name itself.
func (v *visit) failedPage(url string, err error) {
	b, merr := json.Marshal(map[string]string{"url": url})
	if merr != nil {
		v.err = merr
		return
	}
	v.failed(b, err)
}

func (v *visit) now() time.Time { return v.job.engine.conf.Now().UTC() }

// pageError is why a page does not have what was asked for; nil when it does.
func pageError(p Page) error {
	switch {
	case p.Status == http.StatusNotFound || p.Status == http.StatusGone:
		return &FetchError{codeDeadPage, "Page not found (" + strconv.Itoa(p.Status) + ")"}
	case p.Status < 200 || p.Status > 299:
		return &FetchError{"http_status", "The page answered " + strconv.Itoa(p.Status)}
	case len(bytes.TrimSpace(p.Body)) == 0:
		return &FetchError{"empty_page", "The page has no content"}
	}
	b := page.Detect(p.Status, http.Header{"Content-Type": {p.ContentType}}, p.Body)
	switch b.Kind {
	case page.NotBlocked:
		return nil
	case page.Captcha:
		return &FetchError{"captcha", "The page is a CAPTCHA"}
	default:
		return &FetchError{"blocked", "The page is a block, not what was asked for"}
	}
}
