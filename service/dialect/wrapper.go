package dialect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Wrapper is what the answer to format "json" says besides the page.
type Wrapper struct {
	StatusCode int
	Header     http.Header
	// Body says that a "body" string was there and has been written.
	Body bool
}

// errNotWrapped says that an answer is not the object that format "json" gives.
var errNotWrapped = errors.New("the answer is not an object with status_code, headers and body")

// The bounds on what a wrapper may hold besides its body.
const (
	wrapperHeaders = 1 << 20 // bytes of any value that is not the body
	wrapperDepth   = 64
	wrapperNames   = 256
)

// Unwrap reads {"status_code":200,"headers":{…},"body":"…"} from r and writes the
// body, unescaped, to w as it comes: an answer of any size passes through in
// constant memory. Fields may come in any order; unknown ones are skipped. On an
// error that wraps ErrNotWrapped something may already have been written.
func Unwrap(r io.Reader, w io.Writer) (Wrapper, error) {
	s := &scanner{r: bufio.NewReaderSize(r, 32<<10)}
	bw := bufio.NewWriterSize(w, 32<<10)
	out, err := s.wrapper(bw)
	if err != nil {
		return out, err
	}
	if out.StatusCode == 0 && !out.Body {
		return out, errNotWrapped
	}
	return out, bw.Flush()
}

// scanner walks one JSON object without holding it.
type scanner struct{ r *bufio.Reader }

func notWrapped(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNotWrapped, fmt.Sprintf(format, args...))
}

func (s *scanner) wrapper(body *bufio.Writer) (Wrapper, error) {
	var out Wrapper
	if err := s.expect('{'); err != nil {
		return out, err
	}
	for n := 0; ; n++ {
		b, err := s.next()
		switch {
		case err != nil:
			return out, err
		case b == '}' && n == 0:
			return out, s.end()
		case b != '"' || n > wrapperNames:
			return out, notWrapped("a field name is missing")
		}
		if err := s.field(&out, body); err != nil {
			return out, err
		}
		b, err = s.next()
		if err != nil {
			return out, err
		}
		switch b {
		case '}':
			return out, s.end()
		case ',':
			if b, err = s.next(); err != nil {
				return out, err
			}
			if b != '"' {
				return out, notWrapped("a field name is missing after a comma")
			}
			_ = s.r.UnreadByte() // a byte was just read
		default:
			return out, notWrapped("%q after a value", b)
		}
	}
}

// field reads one name, whose opening quote has been read, and its value.
func (s *scanner) field(out *Wrapper, body *bufio.Writer) error {
	var name strings.Builder
	if err := s.str(&limited{w: &name, remaining: 256}); err != nil {
		return err
	}
	if err := s.expect(':'); err != nil {
		return err
	}
	if name.String() == "body" {
		if out.Body {
			return notWrapped("two bodies")
		}
		b, err := s.next()
		if err != nil {
			return err
		}
		if b != '"' {
			return notWrapped("the body is not a string")
		}
		out.Body = true
		return s.str(body)
	}
	var raw strings.Builder
	if err := s.value(&limited{w: &raw, remaining: wrapperHeaders}); err != nil {
		return err
	}
	switch name.String() {
	case "status_code":
		var n int
		if json.Unmarshal([]byte(raw.String()), &n) != nil || n < 100 || n > 999 {
			return notWrapped("status_code is not a status")
		}
		out.StatusCode = n
	case "headers":
		h, err := headers([]byte(raw.String()))
		if err != nil {
			return err
		}
		out.Header = h
	default:
		if !json.Valid([]byte(raw.String())) {
			return notWrapped("a value is not JSON")
		}
	}
	return nil
}

// headers reads {"name":"value"} or {"name":["value",…]}.
func headers(raw []byte) (http.Header, error) {
	var named map[string]json.RawMessage
	if err := json.Unmarshal(raw, &named); err != nil {
		return nil, notWrapped("headers is not an object")
	}
	h := http.Header{}
	for name, v := range named {
		var one string
		var many []string
		switch {
		case json.Unmarshal(v, &one) == nil:
			h.Add(name, one)
		case json.Unmarshal(v, &many) == nil:
			for _, s := range many {
				h.Add(name, s)
			}
		default:
			h.Add(name, string(v))
		}
	}
	return h, nil
}

// next gives the next byte that is not white space.
func (s *scanner) next() (byte, error) {
	for {
		b, err := s.r.ReadByte()
		if err != nil {
			return 0, s.short(err)
		}
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, nil
		}
	}
}

// short turns the end of the input into an answer that was not whole.
func (*scanner) short(err error) error {
	if errors.Is(err, io.EOF) {
		return notWrapped("it ends early")
	}
	return err
}

func (s *scanner) expect(want byte) error {
	b, err := s.next()
	if err != nil {
		return err
	}
	if b != want {
		return notWrapped("%q where %q belongs", b, want)
	}
	return nil
}

// end accepts only white space after the object.
func (s *scanner) end() error {
	for {
		b, err := s.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case b != ' ' && b != '\t' && b != '\n' && b != '\r':
			return notWrapped("%q after its end", b)
		}
	}
}

// byteWriter is what a string or a value is copied to.
type byteWriter interface {
	WriteByte(b byte) error
	WriteString(s string) (int, error)
}

// limited refuses what goes beyond its bound.
type limited struct {
	w         *strings.Builder
	remaining int
}

var errTooLong = fmt.Errorf("%w: a name or a header is too long", errNotWrapped)

func (l *limited) WriteByte(b byte) error {
	if l.remaining--; l.remaining < 0 {
		return errTooLong
	}
	return l.w.WriteByte(b)
}

func (l *limited) WriteString(s string) (int, error) {
	if l.remaining -= len(s); l.remaining < 0 {
		return 0, errTooLong
	}
	return l.w.WriteString(s)
}

// value copies one JSON value verbatim; it balances brackets and leaves the
// grammar inside to whoever parses the copy.
func (s *scanner) value(w byteWriter) error {
	depth := 0
	for {
		b, err := s.within(depth)
		if err != nil {
			return err
		}
		if depth == 0 && (b == ',' || b == '}' || b == ']' || b == ':') {
			return notWrapped("a value is missing")
		}
		if err := w.WriteByte(b); err != nil {
			return err
		}
		switch b {
		case '{', '[':
			if depth++; depth > wrapperDepth {
				return notWrapped("it is nested too deep")
			}
			continue
		case '}', ']':
			depth--
		case '"':
			err = s.rawString(w)
		case ',', ':', ' ', '\t', '\n', '\r':
			continue
		default:
			err = s.literal(w)
		}
		if err != nil || depth == 0 {
			return err
		}
	}
}

// within gives the next byte of a value. White space inside a value is kept: it may
// be all that separates two numbers.
func (s *scanner) within(depth int) (byte, error) {
	if depth == 0 {
		return s.next()
	}
	b, err := s.r.ReadByte()
	if err != nil {
		return 0, s.short(err)
	}
	return b, nil
}

// rawString copies a string verbatim up to its closing quote.
func (s *scanner) rawString(w byteWriter) error {
	for {
		b, err := s.r.ReadByte()
		if err != nil {
			return s.short(err)
		}
		if err := w.WriteByte(b); err != nil {
			return err
		}
		switch b {
		case '"':
			return nil
		case '\\':
			if b, err = s.r.ReadByte(); err != nil {
				return s.short(err)
			}
			if err := w.WriteByte(b); err != nil {
				return err
			}
		}
	}
}

// literal copies the rest of a number, true, false or null.
func (s *scanner) literal(w byteWriter) error {
	for {
		b, err := s.r.ReadByte()
		if err != nil {
			return s.short(err)
		}
		switch b {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return s.r.UnreadByte()
		}
		if err := w.WriteByte(b); err != nil {
			return err
		}
	}
}

// str copies a string, whose opening quote has been read, with its escapes undone.
// Escapes that name no character become U+FFFD, as encoding/json does it; bytes
// that are not UTF-8 pass, because a page may be in another encoding.
func (s *scanner) str(w byteWriter) error {
	for {
		b, err := s.r.ReadByte()
		switch {
		case err != nil:
			return s.short(err)
		case b == '"':
			return nil
		case b < 0x20:
			return notWrapped("a control character in a string")
		case b == '\\':
			err = s.escape(w)
		default:
			err = w.WriteByte(b)
		}
		if err != nil {
			return err
		}
	}
}

func (s *scanner) escape(w byteWriter) error {
	b, err := s.r.ReadByte()
	if err != nil {
		return s.short(err)
	}
	switch b {
	case '"', '\\', '/':
		return w.WriteByte(b)
	case 'b':
		return w.WriteByte('\b')
	case 'f':
		return w.WriteByte('\f')
	case 'n':
		return w.WriteByte('\n')
	case 'r':
		return w.WriteByte('\r')
	case 't':
		return w.WriteByte('\t')
	case 'u':
		return s.unicodeEscape(w)
	default:
		return notWrapped("escape \\%c", b)
	}
}

// unicodeEscape reads the four digits, and a second escape where the first is
// half of a pair.
func (s *scanner) unicodeEscape(w byteWriter) error {
	r, err := s.hex4()
	if err != nil {
		return err
	}
	for utf16.IsSurrogate(r) {
		peek, err := s.r.Peek(2)
		if err != nil || peek[0] != '\\' || peek[1] != 'u' {
			r = utf8.RuneError
			break
		}
		_, _ = s.r.Discard(2) // both were peeked
		low, err := s.hex4()
		if err != nil {
			return err
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			r = pair
			break
		}
		if _, err := w.WriteString(string(utf8.RuneError)); err != nil {
			return err
		}
		r = low // it may begin another pair
	}
	_, err = w.WriteString(string(r))
	return err
}

func (s *scanner) hex4() (rune, error) {
	var r rune
	for range 4 {
		b, err := s.r.ReadByte()
		if err != nil {
			return 0, s.short(err)
		}
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, notWrapped("escape without four digits")
		}
		r = r<<4 | rune(b)
	}
	return r, nil
}
