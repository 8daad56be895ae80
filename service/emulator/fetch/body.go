package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/page"
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

const readTimeout = 2 * time.Minute

// shape converts a target's answer to the form of the call. It closes the answer's body, or
// returns it with the new answer.
func (t *task) shape(resp *http.Response) (*http.Response, error) {
	c := &t.call
	if c.form == "" || c.form == formScreenshot || c.form == formHTML {
		return resp, nil
	}
	body, err := whole(resp)
	if err != nil {
		return nil, err
	}
	if c.form == formMarkdown {
		return markdown(resp, body)
	}
	return t.parsed(resp, body)
}

// whole reads a page of at most page.MaxBytes, converts it to UTF-8 and closes the answer.
func whole(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if r, ok := resp.Body.(*released); ok {
		// The context ends a slow target, because a body must not be closed during a read.
		timer := time.AfterFunc(readTimeout, func() { r.cancel(cutOff()) })
		defer timer.Stop()
	}
	inflated(resp)
	b, err := io.ReadAll(io.LimitReader(resp.Body, page.MaxBytes+1))
	switch {
	case errors.Is(err, errBomb), len(b) > page.MaxBytes:
		return nil, answer.NewRefusal(http.StatusBadGateway, "document_load_failed", "the page is too large to be read: at most "+
			strconv.Itoa(page.MaxBytes>>20)+" MiB", answer.BasisTarget)
	case err != nil && resp.Request != nil && resp.Request.Context().Err() != nil:
		return nil, context.Cause(resp.Request.Context())
	case err != nil:
		return nil, cutOff()
	}
	if isText(resp.Header) {
		b = decoded(b, resp.Header.Get("Content-Type"))
	}
	return b, nil
}

func cutOff() answer.Refusal {
	return answer.NewRefusal(http.StatusBadGateway, "net_err_closed", "the target's answer was cut off", answer.BasisUnlocker)
}

// decoded converts text to UTF-8. Valid UTF-8 without a declared charset stays: by the HTML
// standard only its first bytes would count.
func decoded(b []byte, contentType string) []byte {
	if _, _, certain := charset.DetermineEncoding(b, contentType); !certain && utf8.Valid(b) {
		return b
	}
	return page.Decode(b, contentType)
}

func isText(h http.Header) bool {
	ct, _, _ := strings.Cut(strings.ToLower(h.Get("Content-Type")), ";")
	ct = strings.TrimSpace(ct)
	return ct == "" || strings.HasPrefix(ct, "text/") || strings.HasSuffix(ct, "xml") || strings.HasSuffix(ct, "html") ||
		strings.HasSuffix(ct, "json") || strings.HasSuffix(ct, "javascript")
}

// markdown converts HTML, and leaves other text unchanged.
func markdown(resp *http.Response, body []byte) (*http.Response, error) {
	if !page.IsHTML(resp.Header, body) {
		return replaced(resp, body, ""), nil
	}
	md, err := page.Markdown(body, resp.Request.URL.String())
	if err != nil {
		return nil, answer.NewRefusal(http.StatusBadGateway, "document_load_failed", "the page cannot be made into markdown: "+err.Error(), answer.BasisTarget)
	}
	return replaced(resp, []byte(md), "text/markdown; charset=utf-8"), nil
}

// replaced is the answer with another body; an empty type keeps the target's.
func replaced(resp *http.Response, body []byte, contentType string) *http.Response {
	h := resp.Header.Clone()
	for _, name := range [...]string{"Content-Encoding", "Content-Length", "Etag", "Content-Md5", "Digest", "Content-Range", "Accept-Ranges"} {
		h.Del(name) // they describe the old body
	}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	out := *resp
	out.Header, out.ContentLength = h, int64(len(body))
	out.Body = io.NopCloser(bytes.NewReader(body))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	return &out
}

const (
	// maxInflated bounds the size of an inflated body, maxRatio its size in relation to the
	// compressed one: real pages stay below a tenth of that. The ratio counts from freeInflated
	// on.
	maxInflated  = 256 << 20
	maxRatio     = 200
	freeInflated = 1 << 20
)

var errBomb = errors.New("the target's compressed body grows beyond bounds")

// inflated removes a body's Content-Encoding if it is gzip or deflate. Callers that read a body's
// text need it; bodies that are passed on do not.
func inflated(resp *http.Response) {
	encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	switch encoding {
	case "gzip", "x-gzip", "deflate":
	default:
		return
	}
	in := &tallied{r: resp.Body}
	resp.Body = &inflater{encoding: encoding, in: in, Closer: resp.Body}
	resp.ContentLength = -1
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
}

// inflater begins with the first read, and stops a bomb.
type inflater struct {
	io.Closer
	encoding string
	in       *tallied
	out      io.Reader
	n        int64
	err      error
}

func (r *inflater) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.out == nil {
		if r.out, r.err = r.open(); r.err != nil {
			return 0, r.err
		}
	}
	n, err := r.out.Read(p)
	r.n += int64(n)
	if r.n > maxInflated || r.n > freeInflated && r.n > maxRatio*r.in.n {
		n, err = 0, errBomb
	}
	r.err = err
	return n, err
}

func (r *inflater) open() (io.Reader, error) {
	b := bufio.NewReader(r.in)
	if _, err := b.Peek(1); errors.Is(err, io.EOF) {
		return b, nil // no body at all, whatever its header says
	}
	if r.encoding != "deflate" {
		return gzip.NewReader(b)
	}
	// By the standard deflate is zlib; some servers send the bare stream.
	if head, err := b.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

type tallied struct {
	r io.Reader
	n int64
}

func (t *tallied) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n += int64(n)
	return n, err
}
