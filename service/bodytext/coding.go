package bodytext

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Inflating is bounded: past inflateFree bytes a body, or what is between two of its codings,
// may be at most inflateRatio times what was received. Pages compress by less than 20.
const (
	inflateRatio = 200
	inflateFree  = 16 << 20
)

// maxCodings bounds the codings of one body; a page has one.
const maxCodings = 4

// maxKept bounds what is kept of a body of which nothing has been undone yet.
const maxKept = 1 << 20

// maxWindow bounds the memory of one decoder, in bytes; RFC 9659 allows zstd on the web 8 MiB.
const maxWindow = 8 << 20

// ErrInflates ends a compressed body that inflates past the bounds.
var ErrInflates = errors.New("the compressed body inflates beyond measure")

// CodingError ends a body with a content coding that is not known, or that its bytes do not have. What was read before it
// are the bytes as they came, or, if Begun, what could be undone of them.
type CodingError struct {
	Coding string // as the answer names it: "br", "gzip, dcb"
	Begun  bool
}

func (e *CodingError) Error() string {
	if e.Begun {
		return fmt.Sprintf("the compressed body (%s) is damaged or was cut off", e.Coding)
	}
	return fmt.Sprintf("the body is compressed in a way that could not be undone (%s)", e.Coding)
}

// Reader is the body of an answer with its content codings undone: gzip, deflate, br and zstd, alone or one on another. It
// ends with a *CodingError in place of io.EOF where that is not possible.
func Reader(body io.ReadCloser, h http.Header) io.ReadCloser {
	codings := codingsOf(h)
	if len(codings) == 0 || body == http.NoBody {
		return body
	}
	return &inflater{body: body, name: strings.Join(codings, ", "), codings: codings}
}

// codingsOf are the content codings of an answer in the order in which they were applied.
func codingsOf(h http.Header) []string {
	var out []string
	for name := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
			out = append(out, name)
		}
	}
	return out
}

// inflater undoes codings. Until the first byte has been undone it keeps what it has received, so
// that a body that turns out not to be coded as it says is given as it came.
type inflater struct {
	body    io.ReadCloser
	name    string
	codings []string
	in      source
	out     io.Reader // nil before the first read
	zstd    []*zstd.Decoder
	raw     io.Reader // what is given of a body that cannot be undone
	began   bool
	err     error
}

// source counts what is received, and keeps it at first.
type source struct {
	r     io.Reader
	n     int64
	begin *bytes.Buffer
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if s.begin != nil {
		if s.begin.Write(p[:n]); s.begin.Len() > maxKept {
			s.begin = nil
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (z *inflater) Read(p []byte) (int, error) {
	if z.err != nil {
		return 0, z.err
	}
	if z.raw != nil {
		return z.readRaw(p)
	}
	if z.out == nil {
		z.in = source{r: z.body, begin: &bytes.Buffer{}}
		if z.out, z.err = z.decoders(); z.err != nil {
			return z.fail(p, z.err)
		}
	}
	n, err := z.out.Read(p)
	if n > 0 && !z.began {
		z.began, z.in.begin = true, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if n > 0 {
			z.err = z.ending(err)
			return n, z.err
		}
		return z.fail(p, err)
	}
	z.err = err
	return n, err
}

// fail goes on with the bytes as they came, if nothing was undone yet and they are all there.
func (z *inflater) fail(p []byte, err error) (int, error) {
	z.err = z.ending(err)
	var coded *CodingError
	if !errors.As(z.err, &coded) || z.in.begin == nil {
		return 0, z.err
	}
	z.raw, z.err = io.MultiReader(bytes.NewReader(z.in.begin.Bytes()), z.body), nil
	z.in.begin = nil
	return z.readRaw(p)
}

func (z *inflater) readRaw(p []byte) (int, error) {
	n, err := z.raw.Read(p)
	if errors.Is(err, io.EOF) {
		err = &CodingError{Coding: z.name}
	}
	z.err = err
	return n, err
}

// ending is why a body ended: its connection, its bound, that it was cut off, or its coding.
func (z *inflater) ending(err error) error {
	switch {
	case z.in.err != nil:
		return z.in.err
	case errors.Is(err, ErrInflates), errors.Is(err, io.EOF):
		return err
	}
	return &CodingError{Coding: z.name, Begun: z.began}
}

// decoders builds the chain of decoders; the coding that was applied last is undone first.
func (z *inflater) decoders() (io.Reader, error) {
	if len(z.codings) > maxCodings {
		return nil, errUnknownCoding
	}
	first := bufio.NewReader(&z.in)
	if _, err := first.Peek(1); err != nil {
		return nil, err // an empty body is not coded, whatever its header says
	}
	var r io.Reader = first
	for i := len(z.codings) - 1; i >= 0; i-- {
		d, err := z.decoder(z.codings[i], r)
		if err != nil {
			return nil, err
		}
		r = &bounded{r: d, in: &z.in.n}
	}
	return r, nil
}

var errUnknownCoding = errors.New("unknown content coding")

func (z *inflater) decoder(coding string, r io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "br":
		return brotli.NewReader(r), nil
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		z.zstd = append(z.zstd, d)
		return d, nil
	case "deflate": // with zlib's frame, as HTTP has it, or without, as some servers do
		b := bufio.NewReader(r)
		if head, _ := b.Peek(2); len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			return zlib.NewReader(b)
		}
		return flate.NewReader(b), nil
	}
	return nil, errUnknownCoding
}

// Close closes the body.
func (z *inflater) Close() error {
	for _, d := range z.zstd {
		d.Close()
	}
	return z.body.Close()
}

// bounded ends with ErrInflates when it has given too much for what was received.
type bounded struct {
	r   io.Reader
	in  *int64
	out int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.out += int64(n)
	if b.out > inflateFree && b.out > inflateRatio**b.in {
		err = ErrInflates
	}
	return n, err
}
