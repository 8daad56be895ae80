package fetch

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"zonedeck/service/emulator/answer"
)

// answerRaw passes the target's body on unchanged, with the headers that describe it, and
// Retry-After.
func answerRaw(w http.ResponseWriter, resp *http.Response) error {
	for _, name := range [...]string{
		"Content-Type", "Content-Encoding", "Content-Language", "Content-Length", "Retry-After", "Location", "Last-Modified", "Etag",
	} {
		if v := resp.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	if resp.Header.Get("Content-Type") == "" {
		w.Header()["Content-Type"] = nil // keeps net/http from guessing it
	}
	if bodiless(resp) {
		w.Header().Del("Content-Length") // the body does not follow
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
	if v := resp.Header.Get("Retry-After"); v != "" {
		w.Header().Set("Retry-After", v)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	out := answer.NewPatient(w)
	if _, err := io.WriteString(out, `{"status_code":`+strconv.Itoa(resp.StatusCode)+`,"headers":`+string(head)+`,"body":"`); err != nil {
		return err
	}
	if picture {
		enc := base64.NewEncoder(base64.StdEncoding, out)
		if err := errors.Join(answer.CopyBody(out, enc, resp.Body), enc.Close()); err != nil {
			return err
		}
	} else {
		q := &stringEncoder{w: out}
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

// inUTF8 is the body as text: inflated, and decoded from the charset that its type or its
// beginning names. It leaves other bodies unchanged.
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
	head, _ := b.Peek(1024) // a shorter body is fine; the next read repeats an error
	enc, name, certain := charset.DetermineEncoding(head, contentType)
	guessed := name == "windows-1252" && !certain && !bytes.Contains(bytes.ToLower(head), []byte("charset"))
	if name == "utf-8" || guessed {
		return b // without a declaration it counts as UTF-8
	}
	return enc.NewDecoder().Reader(b)
}

// stringEncoder writes bytes as the inside of a JSON string. Invalid UTF-8 becomes U+FFFD. A rune
// may be split over two writes.
type stringEncoder struct {
	w    io.Writer
	tail []byte // the beginning of a split rune
	buf  bytes.Buffer
}

func (e *stringEncoder) Write(p []byte) (int, error) {
	text := append(e.tail, p...)
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < whole; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
		}
	}
	e.tail = bytes.Clone(text[whole:])
	return len(p), e.encode(text[:whole])
}

func (e *stringEncoder) encode(text []byte) error {
	e.buf.Reset()
	enc := json.NewEncoder(&e.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(string(text)); err != nil {
		return err
	}
	quoted := e.buf.Bytes()
	_, err := e.w.Write(quoted[1 : len(quoted)-len("\"\n")])
	return err
}

func (e *stringEncoder) end() error { return e.encode(e.tail) }
