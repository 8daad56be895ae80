package bodytext

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"zonedeck/internal/noerr"
)

func FuzzGzip(f *testing.F)        { fuzzCoding(f, "gzip") }
func FuzzDeflate(f *testing.F)     { fuzzCoding(f, "deflate") }
func FuzzBareDeflate(f *testing.F) { fuzzCoding(f, "raw") }
func FuzzBrotli(f *testing.F)      { fuzzCoding(f, "br") }
func FuzzZstd(f *testing.F)        { fuzzCoding(f, "zstd") }

func FuzzSingleBytes(f *testing.F) {
	fuzzCharsets(f, "windows-1250", "windows-1251", "windows-1252", "windows-1255", "windows-1256", "windows-874", "iso-8859-2", "iso-8859-6", "iso-8859-8", "iso-8859-15", "koi8-r", "macintosh")
}
func FuzzChinese(f *testing.F)  { fuzzCharsets(f, "gbk", "gb18030", "big5", "hz-gb-2312") }
func FuzzJapanese(f *testing.F) { fuzzCharsets(f, "shift_jis", "euc-jp", "iso-2022-jp") }
func FuzzKorean(f *testing.F)   { fuzzCharsets(f, "euc-kr") }
func FuzzWide(f *testing.F)     { fuzzCharsets(f, "utf-16le", "utf-16be", "utf-32le", "utf-32be") }

// maxFuzzed is the most memory that one decoder may take, with what it has decoded.
const maxFuzzed = 64 << 20

// fuzzCoding holds the decoder of one coding to what is true of all, for bodies that it made and for bodies that it did not.
func fuzzCoding(f *testing.F, coding string) {
	header := headed(strings.Replace(coding, "raw", "deflate", 1))
	undone := func(body []byte) ([]byte, error) {
		return io.ReadAll(Reader(io.NopCloser(bytes.NewReader(body)), header))
	}
	page := strings.Repeat("<p>The page came.</p>", 100)
	for _, text := range []string{"", "x", page, coded(f, page, coding), coded(f, page, coding)[:20]} {
		f.Add([]byte(text), uint(len(text)/2))
	}
	f.Fuzz(func(t *testing.T, body []byte, cut uint) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := undone(body)
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > maxFuzzed+uint64(8*len(text)) {
			t.Errorf("%d bytes of memory for %d bytes", after.TotalAlloc-before.TotalAlloc, len(text))
		}
		if len(text) > inflateFree+inflateRatio*len(body)+1<<10 {
			t.Errorf("%d bytes of %d", len(text), len(body))
		}
		var damaged *CodingError
		if errors.As(err, &damaged) && !damaged.Begun && !bytes.Equal(text, body) {
			t.Errorf("what could not be undone is given as %q", text)
		}
		if err == nil {
			slowly, err := io.ReadAll(Reader(io.NopCloser(iotest.OneByteReader(bytes.NewReader(body))), header))
			if err != nil || !bytes.Equal(slowly, text) {
				t.Errorf("byte by byte it is read as %q, %v", slowly, err)
			}
		}

		whole := []byte(coded(t, string(body), coding))
		if got, err := undone(whole); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%q, coded, is read as %q, %v", body, got, err)
		}
		if len(whole) < 2 { // nothing, of which zstd makes nothing
			return
		}
		cut = 1 + cut%uint(len(whole)-1)
		if got, err := undone(whole[:cut]); err == nil || errors.As(err, &damaged) && damaged.Begun && !bytes.HasPrefix(body, got) {
			t.Errorf("cut after %d of %d bytes, it is read as %q, %v", cut, len(whole), got, err)
		}
	})
}

// fuzzCharsets holds the decoders of some character sets to what is true of all.
func fuzzCharsets(f *testing.F, names ...string) {
	for i, name := range names {
		f.Add(uint(i), []byte("<p>\xb7\xc3\x82\xa0\x1b$B0!\xd8\x00 ~{VP~} caf\xe9"), uint(i))
		f.Add(uint(i), []byte("\ufeff<p>"+name), uint(5))
		f.Add(uint(i), []byte("0"), uint(0)) // half a character of a wide set
	}
	f.Fuzz(func(t *testing.T, i uint, body []byte, cut uint) {
		c := Named(names[i%uint(len(names))])
		text := c.Text(body)
		if len(text) > MaxHead || !utf8.Valid(text) {
			t.Errorf("%s: %q", c.Name, text)
		}
		whole := noerr.Try(io.ReadAll(c.Reader(bytes.NewReader(body)))).Must(t)
		if slowly := noerr.Try(io.ReadAll(c.Reader(iotest.OneByteReader(bytes.NewReader(body))))).Must(t); !bytes.Equal(slowly, whole) {
			t.Errorf("%s: byte by byte it is read as %q, not as %q", c.Name, slowly, whole)
		}
		if !utf8.Valid(whole) || len(whole) > 4*len(body)+utf8.UTFMax || len(whole) <= MaxHead && !bytes.HasPrefix(whole, text) {
			t.Errorf("%s: the whole is read as %q, its beginning as %q", c.Name, whole, text)
		}
		if begun := c.Text(body[:min(uint(len(body)), cut)]); !bytes.HasPrefix(text, begun) {
			t.Errorf("%s: cut, it is read as %q, not as the beginning of %q", c.Name, begun, text)
		}
		if bytes.ContainsAny(whole, "\ufffd\u0080") {
			return // the first is in the wide sets alone; the second is read in Shift_JIS, and never written
		}
		again := noerr.Try(c.enc.NewEncoder().Bytes(whole)).Must(t)
		if got := noerr.Try(io.ReadAll(c.Reader(bytes.NewReader(again)))).Must(t); !bytes.Equal(got, whole) {
			t.Errorf("%s: %q, encoded, is read as %q", c.Name, whole, got)
		}
	})
}
