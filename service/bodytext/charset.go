package bodytext

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"

	"zonedeck/model"
)

// MaxHead is how much of a body tells its character set, and how much of its text is judged, in bytes.
const MaxHead = 256 << 10

// Charset is how the bytes of a body are read. The zero value is UTF-8, which is text as it stands.
type Charset struct {
	// Name is the character set in lower case, as "gbk"; "" for UTF-8.
	Name string
	// Unreadable says why a body cannot be read as the text that it says it is, as "it is binary data"; "" if it
	// is read, and for pictures and the like, which are no text and do not say so.
	Unreadable string

	enc encoding.Encoding
}

// Detect is how a body is read, by its content type and its first bytes (up to MaxHead). A byte order mark decides, then bytes
// that can only be UTF-8, then the content type, then what the text says of itself (an XML declaration, a meta element).
// Text that says nothing and is no UTF-8 is windows-1252, as in browsers.
func Detect(contentType string, head []byte) Charset {
	kind, params, _ := strings.Cut(strings.ToLower(contentType), ";")
	if kind = strings.TrimSpace(kind); !textual(kind) {
		return Charset{}
	}
	label := ""
	if m := parameter().FindStringSubmatch(params); m != nil {
		label = m[1]
	}
	c := named(kind, label, head)
	if c.Unreadable == "" && binary(c.Text(head[:min(len(head), sniffed)])) {
		c = Charset{}
		if claims(kind, http.DetectContentType(head)) {
			c.Unreadable = "it is binary data"
		}
	}
	return c
}

// textual reports whether a body of this type is text; one without a type may be.
func textual(kind string) bool {
	return kind == "" || strings.HasPrefix(kind, "text/") ||
		slices.ContainsFunc([]string{"json", "xml", "javascript", "ecmascript", "yaml"}, func(s string) bool { return strings.Contains(kind, s) })
}

// claims reports whether bytes that are no text are said to be text: servers often give the type of a page, or text/plain, to a
// picture, a film, a font or a document, and these are recognised.
func claims(kind, sniffed string) bool {
	switch family, _, _ := strings.Cut(sniffed, "/"); {
	case family == "image", family == "audio", family == "video", family == "font", sniffed == "application/pdf":
		return false
	}
	return kind != "" && (kind != "text/plain" || sniffed == "application/octet-stream")
}

// sniffed is how much of a text is looked at for characters that no text has.
const sniffed = 4 << 10

// binary reports whether a text has more control characters than a slip leaves.
func binary(text []byte) bool {
	n := 0
	for _, c := range text {
		if c < ' ' && strings.IndexByte("\t\n\v\f\r\x1b", c) < 0 {
			n++
		}
	}
	return n > 2 && n > len(text)/50
}

// named finds the character set of a text. label is the one of its content type.
func named(kind, label string, head []byte) Charset {
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return m.Charset
		}
	}
	if c := wide(head); c.enc != nil {
		return c
	}
	within := within(kind, head)
	good, bad := countUTF8(head)
	if good >= 4 && bad == 0 || good > 10*bad && utf8Label(label) {
		return Charset{} // by chance hardly any text of another character set is UTF-8
	}
	if good+bad == 0 { // ASCII, unless it is in one of the sets that write everything in it
		switch {
		case sevenBit(label):
			return lookup(label)
		case sevenBit(within):
			return lookup(within)
		case bytes.Contains(head, []byte("\x1b$B")), bytes.Contains(head, []byte("\x1b$@")):
			return lookup("iso-2022-jp")
		}
		return Charset{}
	}
	var c Charset
	for _, l := range []string{label, within, "windows-1252"} {
		if l == "" || utf8Label(l) && bad > 0 {
			continue
		}
		if found := lookup(l); found.Unreadable == "" && !strings.HasPrefix(found.Name, "utf-16") && !strings.HasPrefix(found.Name, "utf-32") {
			return found
		} else if c.Unreadable == "" {
			c = found
		}
		if l == within || within == "" { // nothing else is said
			break
		}
	}
	if bad == 0 {
		return Charset{}
	}
	return c
}

func utf8Label(label string) bool { return label == "utf-8" || label == "utf8" }

func sevenBit(label string) bool {
	return strings.HasPrefix(label, "iso-2022-") || strings.HasPrefix(label, "hz-") || label == "utf-7"
}

// marks are byte order marks, the longer ones first. That of UTF-8 stays in the text, so that its places are those of the bytes.
var marks = []struct {
	bytes string
	Charset
}{
	{"\xef\xbb\xbf", Charset{}},
	{"\xff\xfe\x00\x00", Named("utf-32le")},
	{"\x00\x00\xfe\xff", Named("utf-32be")},
	{"\xff\xfe", Named("utf-16le")},
	{"\xfe\xff", Named("utf-16be")},
}

// wide recognises UTF-16 without a mark, by the zero bytes of the two ASCII characters with which markup and JSON begin.
func wide(head []byte) Charset {
	if len(head) < 4 {
		return Charset{}
	}
	switch a, b, c, d := head[0], head[1], head[2], head[3]; {
	case a != 0 && b == 0 && c != 0 && d == 0 && a < utf8.RuneSelf && c < utf8.RuneSelf:
		return Named("utf-16le")
	case a == 0 && b != 0 && c == 0 && d != 0 && b < utf8.RuneSelf && d < utf8.RuneSelf:
		return Named("utf-16be")
	}
	return Charset{}
}

// countUTF8 counts the characters of more than one byte, and the bytes that are none. The last character may be cut.
func countUTF8(b []byte) (good, bad int) {
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			b = b[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r != utf8.RuneError || n > 1:
			good++
		case utf8.FullRune(b):
			bad++
		}
		b = b[n:]
	}
	return good, bad
}

var (
	parameter = model.Pattern(`(?:^|[;\s])charset\s*=\s*["']?([a-z0-9._:-]{1,40})`)
	declared  = model.Pattern(`^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)
	metas     = model.Pattern(`(?i)<meta\s[^>]{0,400}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})`)
)

// maxDeclared is where a text says what its character set is, in bytes from its beginning.
const maxDeclared = 64 << 10

// within is the character set that a text names itself, in lower case.
func within(kind string, head []byte) string {
	head = head[:min(len(head), maxDeclared)]
	if m := declared().FindSubmatch(head); m != nil {
		return strings.ToLower(string(m[1]))
	}
	if kind == "" || strings.Contains(kind, "html") || kind == "text/plain" {
		if m := metas().FindSubmatch(head); m != nil {
			return strings.ToLower(string(m[1]))
		}
	}
	return ""
}

// lookup finds a character set by the name that a server gives it.
func lookup(label string) Charset {
	enc, name := charset.Lookup(label)
	if enc == nil || name == "replacement" {
		enc, _ = ianaindex.IANA.Encoding(label)
		name = label
	}
	switch {
	case enc == nil:
		return Charset{Unreadable: "the character set " + model.Line(label, 40) + " is not known"}
	case name == "utf-8":
		return Charset{}
	}
	return Charset{Name: name, enc: enc}
}

// Named is the character set that Detect gave that name.
func Named(name string) Charset {
	switch name {
	case "":
		return Charset{}
	case "utf-16le":
		return Charset{Name: name, enc: unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)}
	case "utf-16be":
		return Charset{Name: name, enc: unicode.UTF16(unicode.BigEndian, unicode.UseBOM)}
	case "utf-32le":
		return Charset{Name: name, enc: utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)}
	case "utf-32be":
		return Charset{Name: name, enc: utf32.UTF32(utf32.BigEndian, utf32.UseBOM)}
	}
	return lookup(name)
}

// Text is the text of the first bytes of a body, up to MaxHead bytes; a character that is cut at the end of b is left out.
func (c Charset) Text(b []byte) []byte {
	if c.enc != nil {
		out := make([]byte, 0, min(len(b)*2, MaxHead)+utf8.UTFMax)
		d := c.enc.NewDecoder()
		for len(out) < MaxHead {
			if cap(out)-len(out) < 64 {
				out = slices.Grow(out, len(out)+64)
			}
			dst, src, err := d.Transform(out[len(out):cap(out)], b, false)
			out, b = out[:len(out)+dst], b[src:]
			if err != transform.ErrShortDst { //nolint:errorlint // as the interface says
				break
			}
		}
		b = out
	}
	if len(b) > MaxHead {
		b = b[:MaxHead]
		for i := 1; i < utf8.UTFMax && i < len(b); i++ {
			if last := b[len(b)-i:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	return b
}

// Reader reads a whole body as text.
func (c Charset) Reader(r io.Reader) io.Reader {
	if c.enc == nil {
		return r
	}
	return lenient{transform.NewReader(r, c.enc.NewDecoder())}
}

// lenient leaves out a character that is cut at the end of a body, where the decoder would fail: that of UTF-32 does.
type lenient struct{ io.Reader }

func (l lenient) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if errors.Is(err, transform.ErrShortSrc) {
		err = io.EOF
	}
	return n, err
}
