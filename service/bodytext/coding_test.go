package bodytext

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"zonedeck/internal/noerr"
)

// coded applies codings in their order; "raw" is deflate without zlib's frame.
func coded(tb testing.TB, body string, codings ...string) string {
	tb.Helper()
	for _, coding := range codings {
		var b bytes.Buffer
		var w io.WriteCloser
		switch coding {
		case "gzip", "x-gzip":
			w = gzip.NewWriter(&b)
		case "deflate":
			w = zlib.NewWriter(&b)
		case "raw":
			w = noerr.Try(flate.NewWriter(&b, -1)).Must(tb)
		case "br":
			w = brotli.NewWriter(&b)
		case "zstd":
			w = noerr.Try(zstd.NewWriter(&b)).Must(tb)
		}
		noerr.Must(tb, noerr.From(io.WriteString(w, body)))
		noerr.Must(tb, w.Close())
		body = b.String()
	}
	return body
}

func headed(codings ...string) http.Header { return http.Header{"Content-Encoding": codings} }

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

func TestCodingsAreUndone(t *testing.T) {
	page := strings.Repeat("<p>The page came.</p>", 1000)
	for _, c := range []struct {
		name, body string
		header     http.Header
		want       string
	}{
		{"gzip", coded(t, page, "gzip"), headed("gzip"), page},
		{"written differently", coded(t, page, "gzip"), headed(" GZIP "), page},
		{"x-gzip", coded(t, page, "gzip"), headed("x-gzip"), page},
		{"deflate", coded(t, page, "deflate"), headed("deflate"), page},
		{"deflate without a frame", coded(t, page, "raw"), headed("deflate"), page},
		{"br", coded(t, page, "br"), headed("br"), page},
		{"zstd", coded(t, page, "zstd"), headed("zstd"), page},
		{"one on another", coded(t, page, "br", "gzip"), headed("br, gzip"), page},
		{"in two headers", coded(t, page, "deflate", "zstd", "br"), headed("deflate", "zstd,br"), page},
		{"identity", page, headed("identity"), page},
		{"none", page, nil, page},
		{"an empty body", "", headed("gzip"), ""},
	} {
		body := &closing{Reader: iotest.HalfReader(strings.NewReader(c.body))}
		r := Reader(body, c.header)
		got, err := io.ReadAll(r)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the end %d, %v", c.name, n, err)
		}
		if err := r.Close(); !errors.Is(err, errClosing) || !body.closed {
			t.Errorf("%s: closed %v, %v", c.name, body.closed, err)
		}
	}
	if got := Reader(http.NoBody, headed("gzip")); got != http.NoBody {
		t.Errorf("no body became %T", got)
	}
}

// What cannot be undone is given as it came, and said.
func TestABodyThatIsNotCodedAsItSaysIsGivenAsItCame(t *testing.T) {
	page := "<p>The page came.</p>"
	for _, c := range []struct{ name, header, body, coding string }{
		{"an unknown coding", "dcb", page, "dcb"},
		{"one on an unknown one", "compress, gzip", coded(t, page, "gzip"), "compress, gzip"},
		{"too many", "br, br, br, br, br", page, "br, br, br, br, br"},
		{"text as gzip", "gzip", page, "gzip"},
		{"text as deflate", "deflate", page, "deflate"},
		{"text as br", "br", page, "br"},
		{"text as zstd", "zstd", page, "zstd"},
		{"one byte of gzip", "gzip", "\x1f", "gzip"},
	} {
		got, err := io.ReadAll(Reader(io.NopCloser(iotest.OneByteReader(strings.NewReader(c.body))), headed(c.header)))
		var coded *CodingError
		if !errors.As(err, &coded) || coded.Coding != c.coding || coded.Begun || string(got) != c.body {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func TestADamagedBodyIsNoWholeOne(t *testing.T) {
	page := strings.Repeat("The page came, and more of it than fits into a window. ", 5000)
	broken := errors.New("the line is cut")
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		whole := coded(t, page, coding)
		if got, err := io.ReadAll(Reader(io.NopCloser(strings.NewReader(whole[:len(whole)-2])), headed(coding))); err == nil || !strings.HasPrefix(page, string(got)) {
			t.Errorf("%s, cut: %d bytes, %v", coding, len(got), err)
		}
		cut := io.MultiReader(strings.NewReader(whole[:len(whole)/2]), iotest.ErrReader(broken))
		if _, err := io.ReadAll(Reader(io.NopCloser(cut), headed(coding))); !errors.Is(err, broken) {
			t.Errorf("%s, the connection broke: %v", coding, err)
		}
	}
	flipped := []byte(coded(t, page, "gzip"))
	flipped[len(flipped)-6] ^= 1 // in its checksum
	var damaged *CodingError
	if got, err := io.ReadAll(Reader(io.NopCloser(bytes.NewReader(flipped)), headed("gzip"))); !errors.As(err, &damaged) || !damaged.Begun || string(got) != page {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestABodyThatInflatesBeyondMeasureIsAnError(t *testing.T) {
	for _, codings := range [][]string{{"gzip"}, {"deflate"}, {"br"}, {"zstd"}, {"gzip", "gzip"}, {"br", "zstd"}} {
		for size, want := range map[int]error{inflateFree: nil, inflateFree + 1: ErrInflates} {
			body := coded(t, strings.Repeat("\x00", size), codings...)
			if len(body)*inflateRatio >= size {
				t.Fatalf("%q: %d bytes compress to %d only", codings, size, len(body))
			}
			n, err := io.Copy(io.Discard, Reader(io.NopCloser(strings.NewReader(body)), headed(codings...)))
			if !errors.Is(err, want) || want == nil && n != int64(size) {
				t.Errorf("%q: %d of %d bytes, %v; want %v", codings, n, size, err, want)
			}
		}
	}
}

func TestALargeBodyThatCompressesLikeAPageComesWhole(t *testing.T) {
	// Stored blocks do not compress.
	var b bytes.Buffer
	w := noerr.Try(gzip.NewWriterLevel(&b, gzip.NoCompression)).Must(t)
	noerr.Must(t, noerr.From(w.Write(make([]byte, inflateFree+1<<20))))
	noerr.Must(t, w.Close())
	if n, err := io.Copy(io.Discard, Reader(io.NopCloser(&b), headed("gzip"))); n != inflateFree+1<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func FuzzReader(f *testing.F) {
	for _, coding := range []string{"gzip", "deflate", "raw", "br", "zstd"} {
		f.Add([]byte(coded(f, "<p>The page came.</p>", coding)), strings.Replace(coding, "raw", "deflate", 1))
	}
	f.Add([]byte(coded(f, "x", "br", "gzip")), "br, gzip")
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		whole := coded(f, strings.Repeat("<p>The page came.</p>", 100), coding)
		f.Add([]byte(whole[:len(whole)/2]), coding)                  // cut
		f.Add([]byte(whole+whole), coding)                           // two in a row
		f.Add([]byte(coded(f, whole, "gzip")), coding+", gzip")      // one in another
		f.Add([]byte(strings.Repeat("\x00", 50)+whole), "x-"+coding) // of something else
	}
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		got, err := io.ReadAll(Reader(io.NopCloser(bytes.NewReader(body)), headed(header)))
		var coded *CodingError
		if errors.As(err, &coded) && !coded.Begun && !bytes.Equal(got, body) {
			t.Errorf("%d bytes of %d are given", len(got), len(body))
		}
		if len(got) > inflateFree+inflateRatio*len(body) {
			t.Errorf("%d bytes of %d", len(got), len(body))
		}
	})
}
