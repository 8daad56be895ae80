package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
)

const (
	// maxInflated bounds the size of an inflated body, maxRatio its size in relation to the
	// compressed one: real pages stay below a tenth of that. The ratio counts from freeInflated
	// on.
	maxInflated  = 256 << 20
	maxRatio     = 200
	freeInflated = 1 << 20
)

var errBomb = errors.New("the target's compressed body grows beyond bounds")

// inflated removes a body's Content-Encoding if it is gzip or deflate. Callers that read a body's
// text need it; bodies that are passed on do not.
func inflated(resp *http.Response) {
	encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	switch encoding {
	case "gzip", "x-gzip", "deflate":
	default:
		return
	}
	in := &tallied{r: resp.Body}
	resp.Body = &inflater{encoding: encoding, in: in, Closer: resp.Body}
	resp.ContentLength = -1
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
}

// inflater begins with the first read, and stops a bomb.
type inflater struct {
	io.Closer
	encoding string
	in       *tallied
	out      io.Reader
	n        int64
	err      error
}

func (r *inflater) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.out == nil {
		if r.out, r.err = r.open(); r.err != nil {
			return 0, r.err
		}
	}
	n, err := r.out.Read(p)
	r.n += int64(n)
	if r.n > maxInflated || r.n > freeInflated && r.n > maxRatio*r.in.n {
		n, err = 0, errBomb
	}
	r.err = err
	return n, err
}

func (r *inflater) open() (io.Reader, error) {
	b := bufio.NewReader(r.in)
	if _, err := b.Peek(1); errors.Is(err, io.EOF) {
		return b, nil // no body at all, whatever its header says
	}
	if r.encoding != "deflate" {
		return gzip.NewReader(b)
	}
	// By the standard deflate is zlib; some servers send the bare stream.
	if head, err := b.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

type tallied struct {
	r io.Reader
	n int64
}

func (t *tallied) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n += int64(n)
	return n, err
}
