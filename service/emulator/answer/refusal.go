package answer

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
)

// Refusal is a fetch that the service could not do or would not do: the status native
// access shows, and the code and text of the x-brd-* headers (public documentation).
//
//nolint:errname // it is a value first, and an error on its way up only
type Refusal struct {
	// Status is an HTTP status; Code is the service's, such as "client_10000".
	Status    int
	Code, Msg string
	Basis     string
	// Remedy makes the body JSON, as refusals for want of an identity check have it.
	Remedy *Remedy
	// RetryAfter is passed on from a target that asked for patience; often empty.
	RetryAfter string
}

// Error makes a refusal an error, so that it can travel through an [http.RoundTripper].
func (r Refusal) Error() string { return r.Code + ": " + r.Msg }

// Remedy is what a client can do about a refusal (public documentation).
type Remedy struct {
	Action       string
	Alternatives []string
	Docs         string
}

// CodeUsageLimit is the code of a zone that has cost what it may.
const CodeUsageLimit = "client_10100"

const basisUsageLimit = "public documentation: code and page; status: assumption"

// NewRefusal makes one; basis is what it rests on.
func NewRefusal(status int, code, msg, basis string) Refusal {
	return Refusal{Status: status, Code: code, Msg: msg, Basis: basis}
}

// Refuse answers with the refusal's own status, its x-brd-* headers and RFC 9209.
func Refuse(w http.ResponseWriter, r Refusal) {
	if r.Status == http.StatusProxyAuthRequired {
		w.Header().Set("Proxy-Authenticate", `Basic realm="zonedeck emulator"`)
	}
	r.Headers(w.Header())
	if r.Remedy != nil {
		JSON(w, r.Status, r.Basis, map[string]any{"error": map[string]any{
			"code": r.Code, "message": r.Msg, "action": r.Remedy.Action, "alternatives": r.Remedy.Alternatives, "docs": r.Remedy.Docs,
		}})
		return
	}
	Text(w, r.Status, r.Basis, r.Msg+"\n")
}

// proxyStatus is the header of RFC 9209, quoted the way the public service does.
func (r Refusal) proxyStatus() string {
	reason := "http_request_denied"
	switch {
	case r.Code == "target_40001":
		reason = "dns_error"
	case r.Code == "target_40021":
		reason = "connection_timeout"
	case r.Code == "target_40020":
		reason = "connection_refused"
	case r.Status == http.StatusBadGateway:
		reason = "destination_unavailable"
	}
	details := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(HeaderText(r.Code + ": " + r.Msg))
	return fmt.Sprintf(`zonedeck-emulator; received-status=%d; error="%s"; details="%s"`, r.Status, reason, details)
}

// HeaderText keeps a text on one line of visible ASCII: parts of it came from a client.
func HeaderText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// Headers says what went wrong, in every spelling that clients know (public
// documentation: the unlocker's, the proxy's, RFC 9209).
func (r Refusal) Headers(h http.Header) {
	code, msg := HeaderText(r.Code), HeaderText(r.Msg)
	h.Set("x-brd-error", msg)
	h.Set("x-brd-error-code", code)
	h.Set("x-brd-err-code", code)
	h.Set("x-brd-err-msg", msg)
	h.Set("Proxy-Status", r.proxyStatus())
	if r.RetryAfter != "" {
		h.Set("Retry-After", HeaderText(r.RetryAfter))
	}
}

// RefuseInside is a fetch that failed on the service's side: outer 200, the truth in
// the headers, no body (public documentation; both spellings of the code).
//
// A usage limit is the exception: clients see a status of failure there, and a page that
// ends in the refusal's words (public documentation; which status: assumption).
func RefuseInside(w http.ResponseWriter, r Refusal) {
	h := w.Header()
	h.Set("x-brd-status-code", strconv.Itoa(r.Status))
	r.Headers(h)
	if r.Code == CodeUsageLimit {
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set(BasisHeader, basisUsageLimit)
		w.WriteHeader(r.Status)
		_, _ = fmt.Fprintf(w, "<!doctype html><title>%d</title><p>%s", r.Status, html.EscapeString(r.Msg)) // as for texts
		return
	}
	h.Set(BasisHeader, r.basisInside())
	w.WriteHeader(http.StatusOK)
}

// basisInside is what an outer 200 with an inner failure rests on: that form is public
// documentation; an assumption about the code itself is said, too.
func (r Refusal) basisInside() string {
	if strings.HasPrefix(r.Basis, "assumption") {
		return BasisFetchFailed + "; " + r.Basis
	}
	return BasisFetchFailed
}
