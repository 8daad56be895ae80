package answer

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
)

// Refusal is a fetch that the service could not or would not do: the status that native
// access shows, and the code and text of the x-brd-* headers (public documentation).
//
//nolint:errname // mostly a value, and an error only where it passes through an interface
type Refusal struct {
	// Status is an HTTP status, Code the service's error code, like "client_10000".
	Status    int
	Code, Msg string
	Basis     string
	// Remedy makes the body JSON, as in refusals that ask for an identity check.
	Remedy *Remedy
	// RetryAfter is the target's Retry-After, usually empty.
	RetryAfter string
}

// Error lets a refusal pass through an [http.RoundTripper] as an error.
func (r Refusal) Error() string { return r.Code + ": " + r.Msg }

// Remedy is what a client can do about a refusal (public documentation).
type Remedy struct {
	Action       string
	Alternatives []string
	Docs         string
}

// CodeUsageLimit is the code of a zone that has reached its usage limit.
const CodeUsageLimit = "client_10100"

const basisUsageLimit = "public documentation: code and page; status: assumption"

// NewRefusal makes a refusal; basis is one of the constants.
func NewRefusal(status int, code, msg, basis string) Refusal {
	return Refusal{Status: status, Code: code, Msg: msg, Basis: basis}
}

// Refuse answers with the refusal's status, its x-brd-* headers and that of RFC 9209.
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

// proxyStatus is the header of RFC 9209, quoted as by the public service.
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

// HeaderText reduces a text, which may come from a client, to one line of visible ASCII.
func HeaderText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// Headers sets the error headers in every spelling that clients know (public documentation:
// the unlocker's, the proxy's, RFC 9209).
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

// RefuseInside answers a fetch that failed inside the service: with status 200, the error in
// the headers, and no body (public documentation; both spellings of the code).
//
// A usage limit is the exception: its status is an error, with a page that ends in the
// refusal's text (public documentation; which status: assumption).
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

// basisInside is the basis of a 200 around a failure: public documentation, and the refusal's
// basis if that is an assumption.
func (r Refusal) basisInside() string {
	if strings.HasPrefix(r.Basis, "assumption") {
		return BasisFetchFailed + "; " + r.Basis
	}
	return BasisFetchFailed
}
