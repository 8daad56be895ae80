package fetch

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"zonedeck/service/emulator/answer"
)

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
	if bodiless(resp) {
		w.Header().Del("Content-Length") // of a body that does not come
	}
	w.WriteHeader(http.StatusOK)
	out := answer.NewPatient(w)
	return answer.CopyBody(out, out, resp.Body)
}

// bodiless reports whether an answer has no body, whatever its header says (RFC 9110 6.4.1).
func bodiless(resp *http.Response) bool {
	return resp.Request.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
}

// answerWrapped is format json: {"status_code", "headers", "body"}, with the body as
// one string that is encoded while it streams (public documentation). Text becomes
// UTF-8, a picture base64 (assumption: no source shows that combination).
func answerWrapped(w http.ResponseWriter, resp *http.Response, picture bool) error {
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
	out := answer.NewPatient(w)
	if _, err := io.WriteString(out, `{"status_code":`+string(status)+`,"headers":`+string(head)+`,"body":"`); err != nil {
		return err
	}
	if picture {
		enc := base64.NewEncoder(base64.StdEncoding, out)
		if err := errors.Join(answer.CopyBody(out, enc, resp.Body), enc.Close()); err != nil {
			return err
		}
	} else {
		q := &stringEncoder{w: bufio.NewWriterSize(out, 16<<10)}
		if err := answer.CopyBody(out, q, inUTF8(resp)); err != nil {
			return err
		}
		if err := q.end(); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, `"}`)
	return err
}

// inUTF8 is the body as text: inflated, and decoded from the charset that its type or
// its beginning names. What is not text stays as it is.
func inUTF8(resp *http.Response) io.Reader {
	inflated(resp)
	if !isText(resp.Header) {
		return resp.Body
	}
	contentType := strings.ToLower(resp.Header.Get("Content-Type"))
	if strings.Contains(contentType, "charset=utf-8") || !strings.Contains(contentType, "charset=") && !strings.Contains(contentType, "ml") {
		return resp.Body // only HTML and XML name a charset inside
	}
	b := bufio.NewReaderSize(resp.Body, 4096)
	head, _ := b.Peek(1024) // fewer are fine; an error comes again with the read
	enc, name, certain := charset.DetermineEncoding(head, contentType)
	guessed := name == "windows-1252" && !certain && !bytes.Contains(bytes.ToLower(head), []byte("charset"))
	if name == "utf-8" || guessed {
		return b // what does not say otherwise is taken for UTF-8
	}
	return enc.NewDecoder().Reader(b)
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
