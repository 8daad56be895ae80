package fetch

import (
	"bytes"
	"context"
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
