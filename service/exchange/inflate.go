package exchange

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Inflating is bounded: past inflateFree bytes a body may be at most
// inflateRatio times what was received. Pages compress by less than 20.
const (
	inflateRatio = 200
	inflateFree  = 16 << 20
)

// errInflates says that a compressed body grows beyond measure.
var errInflates = errors.New("the compressed body inflates beyond measure")

// inflated is the response's body with a gzip encoding taken off. Other
// encodings, which the console does not ask for, stay as they are.
func inflated(resp *http.Response) io.ReadCloser {
	if !strings.EqualFold(strings.TrimSpace(resp.Header.Get("Content-Encoding")), "gzip") || resp.Body == http.NoBody {
		return resp.Body
	}
	return &inflater{body: resp.Body}
}

type inflater struct {
	body io.ReadCloser
	in   counter
	zr   *gzip.Reader
	out  int64
	err  error
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (z *inflater) Read(p []byte) (int, error) {
	if z.err != nil {
		return 0, z.err
	}
	if z.zr == nil {
		z.in.r = z.body
		br := bufio.NewReader(&z.in)
		if _, err := br.Peek(1); err != nil {
			z.err = err // an empty body says gzip and is still empty
			return 0, err
		}
		if z.zr, z.err = gzip.NewReader(br); z.err != nil {
			return 0, z.err
		}
	}
	n, err := z.zr.Read(p)
	z.out += int64(n)
	if z.out > inflateFree && z.out > inflateRatio*z.in.n {
		err = errInflates
	}
	z.err = err
	return n, err
}

func (z *inflater) Close() error { return z.body.Close() }
