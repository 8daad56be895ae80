package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/native"
)

// maxKeptBody bounds the body of a request that can be repeated after a challenge. Longer ones
// are streamed, and a block is only reported.
const maxKeptBody = 64 << 10

// Unlocker is the stage of native access that gets past blocks, for zones of the unlocker.
type Unlocker struct {
	native.Pass
	Fetcher *Fetcher
}

// Transport gets past blocks for plain requests and re-signed ones. The client follows redirects.
// As by API, the x-unblock-* headers and the brd_* parameters of search addresses are for the
// service.
func (u Unlocker) Transport(v *native.Visit, next http.RoundTripper) http.RoundTripper {
	if v.Zone.Product != "unlocker" {
		return next
	}
	return nativeUnlocker{u.Fetcher, v.Zone, v.Exit, v.Flags.Render, next}
}

type nativeUnlocker struct {
	f      *Fetcher
	zone   account.Zone
	exit   exits.Exit
	render bool
	next   http.RoundTripper
}

func (u nativeUnlocker) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Upgrade") != "" {
		return u.next.RoundTrip(req) // the answer is not a page
	}
	c, err := u.read(req)
	if err != nil {
		return nil, answer.NewRefusal(http.StatusBadRequest, "validation", err.Error(), answer.BasisSchema)
	}
	ctx := req.Context()
	t := &task{
		f: u.f, zone: u.zone, call: c, exit: u.exit, next: u.next,
		use: meter.Call{Zone: u.zone.Name, Product: u.zone.Product, Host: c.url.Hostname(), Secure: c.url.Scheme == "https"},
	}
	if c.form == formScreenshot || u.render && c.method == http.MethodGet {
		resp, err := t.rendered(ctx)
		if err != nil {
			return nil, err
		}
		return t.shape(resp)
	}
	if c.expect.empty() && c.form == "" {
		return t.sent(ctx, req) // its body streams
	}
	bodyCtx, cancel := context.WithCancelCause(ctx) // ends when the body is closed
	resp, err := t.sent(bodyCtx, req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	resp.Body = &released{resp.Body, cancel}
	if !c.expect.empty() {
		if resp, err = t.expected(ctx, resp); err != nil {
			return nil, err
		}
	}
	return t.shape(resp)
}

// sent sends the request of a client of native access, and gets past blocks.
func (t *task) sent(ctx context.Context, req *http.Request) (*http.Response, error) {
	out := req.Clone(ctx)
	out.Header, out.URL = t.call.header, t.call.url
	out.Header.Del("Accept-Encoding") // a block has to be read to be recognised
	if err := keepBody(out); err != nil {
		return nil, err
	}
	return unlocker{t}.RoundTrip(out)
}

// read removes the fields for the service from a request.
func (u nativeUnlocker) read(req *http.Request) (call, error) {
	c := call{method: req.Method, url: req.URL, header: req.Header.Clone()}
	p := parser{loose: u.f.conf.Loose, product: u.zone.Product, c: c, Table: document.Fields(nil)}
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		if strings.HasPrefix(name, "X-Unblock-") {
			p.unblock(strings.ToLower(name), req.Header.Get(name))
			p.c.header.Del(name)
		}
	}
	if err := p.Invalid(); err != nil {
		return call{}, err
	}
	err := u.f.complete(u.zone, &p.c)
	return p.c, err
}

// keepBody reads a short body into memory, so that it can be sent again.
func keepBody(req *http.Request) error {
	if req.Body == nil || req.GetBody != nil || req.ContentLength <= 0 || req.ContentLength > maxKeptBody {
		return nil
	}
	b := make([]byte, req.ContentLength)
	if _, err := io.ReadFull(req.Body, b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return answer.NewRefusal(http.StatusBadRequest, "validation", "the request's body is shorter than it says", answer.BasisTarget)
		}
		return err
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	req.Body = io.NopCloser(bytes.NewReader(b))
	return nil
}
