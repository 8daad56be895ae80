package emulator

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// writeTimeout is how long a client may take to read one chunk of an answer.
const writeTimeout = time.Minute

// answerRaw passes the target's body on as it is; the headers that describe the body,
// and Retry-After, come with it.
func answerRaw(w http.ResponseWriter, resp *http.Response) error {
	for _, name := range [...]string{
		"Content-Type", "Content-Encoding", "Content-Language", "Content-Length", "Retry-After", "Location", "Last-Modified", "Etag",
	} {
		if v := resp.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	if resp.Header.Get("Content-Type") == "" {
		w.Header()["Content-Type"] = nil // not guessed on the target's behalf
	}
	if resp.Request.Method == http.MethodHead {
		w.Header().Del("Content-Length") // of a body that does not come
	}
	w.WriteHeader(http.StatusOK)
	out := newPatient(w)
	return copyBody(out, out, resp.Body)
}

// copyBody streams and flushes what it has, so that a slow target's first bytes are
// not held back.
func copyBody(out *patient, dst io.Writer, src io.Reader) error {
	defer out.done()
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
			if err == nil && n < len(buf) {
				if err := out.rc.Flush(); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// patient is a response that gives its client writeTimeout for each chunk. done takes
// the deadline off again, for the next request on the connection.
type patient struct {
	http.ResponseWriter
	rc    *http.ResponseController
	until time.Time
}

func newPatient(w http.ResponseWriter) *patient {
	return &patient{ResponseWriter: w, rc: http.NewResponseController(w)}
}

func (p *patient) Write(b []byte) (int, error) {
	// Not moved for every chunk: half the patience is kept in any case.
	if now := time.Now(); p.until.Sub(now) < writeTimeout/2 {
		p.until = now.Add(writeTimeout)
		if err := p.rc.SetWriteDeadline(p.until); err != nil {
			return 0, err
		}
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController the rest of the response's abilities.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *patient) done() {
	if !p.until.IsZero() {
		_ = p.rc.SetWriteDeadline(time.Time{}) // fails on a dead connection only
	}
}

// answerWrapped is format json: {"status_code", "headers", "body"}, with the body as
// one string that is encoded while it streams (public documentation).
func answerWrapped(w http.ResponseWriter, resp *http.Response) error {
	headers := map[string]string{}
	for name, vs := range resp.Header {
		headers[strings.ToLower(name)] = strings.Join(vs, ", ")
	}
	head, err := json.Marshal(headers)
	if err != nil {
		return err
	}
	status, err := json.Marshal(resp.StatusCode)
	if err != nil {
		return err
	}
	if v := resp.Header.Get("Retry-After"); v != "" {
		w.Header().Set("Retry-After", v)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if _, err := io.WriteString(w, `{"status_code":`+string(status)+`,"headers":`+string(head)+`,"body":"`); err != nil {
		return err
	}
	out := newPatient(w)
	q := &stringEncoder{w: bufio.NewWriterSize(out, 16<<10)}
	if err := copyBody(out, q, resp.Body); err != nil {
		return err
	}
	if err := q.end(); err != nil {
		return err
	}
	_, err = io.WriteString(w, `"}`)
	return err
}

// stringEncoder writes bytes as the inside of a JSON string. What is not UTF-8 becomes
// U+FFFD; a rune may be split over two writes.
type stringEncoder struct {
	w    *bufio.Writer
	tail []byte
}

func (e *stringEncoder) Write(p []byte) (int, error) {
	b := p
	if len(e.tail) > 0 {
		b = append(e.tail, p...)
		e.tail = nil
	}
	for len(b) > 0 {
		if !utf8.FullRune(b) {
			e.tail = append([]byte(nil), b...)
			break
		}
		r, size := utf8.DecodeRune(b)
		if err := e.rune(r); err != nil {
			return 0, err
		}
		b = b[size:]
	}
	return len(p), e.w.Flush()
}

func (e *stringEncoder) rune(r rune) error {
	const hex = "0123456789abcdef"
	var err error
	switch {
	case r == '"' || r == '\\':
		_, err = e.w.Write([]byte{'\\', byte(r)})
	case r == '\n':
		_, err = e.w.WriteString(`\n`)
	case r < 0x20 || r == '\u2028' || r == '\u2029' || r == 0x7f:
		_, err = e.w.Write([]byte{'\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
	default:
		_, err = e.w.WriteRune(r)
	}
	return err
}

func (e *stringEncoder) end() error {
	for range e.tail {
		if err := e.rune(utf8.RuneError); err != nil {
			return err
		}
	}
	e.tail = nil
	return e.w.Flush()
}
