package exchange

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"zonedeck/internal/noerr"
)

// closing notes that it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return errClosing
}

var errClosing = errors.New("closing fails")

func zipped(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(w.Write(make([]byte, size))))
	noerr.Must(t, w.Close())
	return b.Bytes()
}

func answer(encoding string, body io.ReadCloser) *http.Response {
	return &http.Response{Header: http.Header{"Content-Encoding": {encoding}}, Body: body}
}

func TestGzipIsTakenOffAndNothingElse(t *testing.T) {
	small := string(zipped(t, 5))
	for _, c := range []struct{ name, encoding, body, want string }{
		{"gzip", "gzip", small, "\x00\x00\x00\x00\x00"},
		{"written differently", " GZIP ", small, "\x00\x00\x00\x00\x00"},
		{"another encoding", "br", small, small},
		{"none", "", small, small},
		{"gzip that is empty", "gzip", "", ""},
	} {
		body := &closing{Reader: iotest.OneByteReader(strings.NewReader(c.body))}
		r := inflated(answer(c.encoding, body))
		got, err := io.ReadAll(r)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the end %d, %v", c.name, n, err)
		}
		if err := r.Close(); !errors.Is(err, errClosing) || !body.closed {
			t.Errorf("%s: closed %v, %v", c.name, body.closed, err)
		}
	}
	if got := inflated(answer("gzip", http.NoBody)); got != http.NoBody {
		t.Errorf("no body became %T", got)
	}
}

func TestABrokenGzipBodyStaysBroken(t *testing.T) {
	whole := zipped(t, 5)
	broken := errors.New("the line is cut")
	for _, c := range []struct {
		name string
		body io.Reader
		want error
	}{
		{"not gzip", strings.NewReader("plain text, and enough of it"), gzip.ErrHeader},
		{"one byte", strings.NewReader("\x1f"), io.ErrUnexpectedEOF},
		{"half of it", bytes.NewReader(whole[:len(whole)-4]), io.ErrUnexpectedEOF},
		{"nothing comes", iotest.ErrReader(broken), broken},
		{"half comes", io.MultiReader(bytes.NewReader(whole[:12]), iotest.ErrReader(broken)), broken},
	} {
		r := inflated(answer("gzip", io.NopCloser(c.body)))
		if _, err := io.ReadAll(r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: then %d, %v", c.name, n, err)
		}
	}
}

func TestABodyThatInflatesBeyondMeasureIsAnError(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
		want error
	}{
		{"all that is free", inflateFree, nil},
		{"one byte more", inflateFree + 1, errInflates},
	} {
		body := zipped(t, c.size)
		if len(body)*inflateRatio >= c.size {
			t.Fatalf("%d bytes compress to %d only", c.size, len(body))
		}
		r := inflated(answer("gzip", io.NopCloser(bytes.NewReader(body))))
		n, err := io.Copy(io.Discard, r)
		if !errors.Is(err, c.want) || n != int64(c.size) {
			t.Errorf("%s: %d bytes, %v; want %v", c.name, n, err, c.want)
		}
	}
}

func TestALargeBodyThatCompressesLikeAPageComesWhole(t *testing.T) {
	// Stored blocks do not compress.
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(w.Write(make([]byte, inflateFree+1<<20))))
	noerr.Must(t, w.Close())
	n, err := io.Copy(io.Discard, inflated(answer("gzip", io.NopCloser(&b))))
	if err != nil || n != inflateFree+1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
