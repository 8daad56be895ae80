// Package answer writes the HTTP answers of the emulator: texts, JSON, refusals and streams,
// each with its basis. Every endpoint calls it. It keeps no state.
package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// BodyTimeout is how long a client may take to send a body.
const BodyTimeout = 30 * time.Second

// TextError is an error that is answered as plain text, as the public service does for many.
type TextError struct {
	Status      int
	Basis, Text string
}

func (r *TextError) Error() string { return r.Text }

// Write answers with the refusal.
func (r *TextError) Write(w http.ResponseWriter) {
	if r.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	Text(w, r.Status, r.Basis, r.Text)
}

// InvalidError collects the mistakes in a request; each text names its field.
type InvalidError struct{ Details []string }

// Invalid is an [*InvalidError] of one mistake.
func Invalid(detail string) error { return &InvalidError{Details: []string{detail}} }

func (e *InvalidError) Error() string { return strings.Join(e.Details, "; ") }

// Bounds of the details, because a body can have very many mistakes.
const (
	maxDetails = 100
	maxDetail  = 500
)

// Add formats one mistake, which begins with the name of the field. It keeps the first hundred.
func (e *InvalidError) Add(format string, args ...any) {
	if len(e.Details) >= maxDetails {
		return
	}
	e.Details = append(e.Details, Shortened(fmt.Sprintf(format, args...), maxDetail))
}

// WriteInvalid answers 400 in the shape of the public documentation. If err is not an
// [*InvalidError], its text is the only detail.
func WriteInvalid(w http.ResponseWriter, err error) {
	JSON(w, http.StatusBadRequest, BasisSchema, InvalidBody(err))
}

// InvalidBody is the body of that answer.
func InvalidBody(err error) map[string]any {
	details := []string{err.Error()}
	if bad := (*InvalidError)(nil); errors.As(err, &bad) {
		details = bad.Details
	}
	return map[string]any{"error": "Request validation failed", "error_code": "validation", "details": details}
}

// ReadBody reads a bounded body within BodyTimeout.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(BodyTimeout)); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, err
	}
	return b, rc.SetReadDeadline(time.Time{})
}

// Text answers with plain text, as the public service does for many refusals.
func Text(w http.ResponseWriter, status int, basis, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set(BasisHeader, basis)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // fails only if the client has left
}

// JSON answers with v as JSON.
func JSON(w http.ResponseWriter, status int, basis string, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set(BasisHeader, basis)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // as above
}

// MediaType is the Content-Type of records in a format: json, ndjson, jsonl or csv.
func MediaType(format string) string {
	switch format {
	case "csv":
		return "text/csv; charset=utf-8"
	case "ndjson":
		return "application/x-ndjson"
	case "jsonl":
		return "application/jsonl"
	default:
		return "application/json"
	}
}

// IsJSON reports whether a Content-Type is JSON.
func IsJSON(h http.Header) bool {
	ct, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(ct), "application/json")
}

// Caller returns the address of the client, the zero value if unknown.
func Caller(r *http.Request) netip.Addr {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	return from.Addr().Unmap()
}

// Cut returns the first bytes of a text, at most limit, without splitting a rune. Invalid
// UTF-8 stays as it is.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for back := 0; back < utf8.UTFMax && limit > 0 && !utf8.RuneStart(text[limit]); back++ {
		limit--
	}
	return text[:limit]
}

// Shortened prepares a text for a message: valid UTF-8, cut to limit bytes, with an ellipsis if
// it was longer.
func Shortened(text string, limit int) string {
	if len(text) > limit {
		text = Cut(text, limit) + "…"
	}
	return strings.ToValidUTF8(text, "")
}

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

// NoteHeader names what a loose emulator ignored.
const NoteHeader = "x-emulator-note"

// Bounds of the notes, because a body can have very many unknown fields.
const (
	maxNotes = 20
	maxNoted = 100
)

// UnknownParameters returns the unknown parameters of a query, sorted. A loose service notes
// them instead and returns none.
func UnknownParameters(w http.ResponseWriter, r *http.Request, loose bool, known ...string) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(r.URL.Query())), func(name string) bool { return slices.Contains(known, name) })
	if !loose {
		return names
	}
	for _, name := range names {
		NoteUnknown(w, "query parameter "+name)
	}
	return nil
}

// CheckParameters is UnknownParameters with an [*InvalidError] that names them.
func CheckParameters(w http.ResponseWriter, r *http.Request, loose bool, known ...string) error {
	bad := &InvalidError{}
	for _, name := range UnknownParameters(w, r, loose, known...) {
		bad.Add("query parameter %s is not allowed", name)
	}
	if len(bad.Details) > 0 {
		return bad
	}
	return nil
}

// NoteUnknown notes an unknown field, parameter or header that a loose emulator ignores. It
// notes the first twenty only. Call it before the answer begins.
func NoteUnknown(w http.ResponseWriter, what string) {
	h := w.Header()
	if len(h.Values(NoteHeader)) >= maxNotes {
		return
	}
	h.Add(NoteHeader, strconv.QuoteToASCII(Shortened(what, maxNoted))+" is not known and has no effect")
}

// A basis names the source of an answer: the contract, public documentation, or an assumption.
// The x-emulator-basis header carries it.
const (
	BasisHeader = "x-emulator-basis"

	BasisFetch        = "contract 4.1; body and x-brd-* headers: public documentation"
	BasisFetchFailed  = "public documentation: outer 200, inner status in x-brd-*, empty body"
	BasisUnlocker     = "contract 1, 4.1; unlocking, codes and x-brd-* headers: public documentation"
	BasisCrawlPage    = "contract 1, 4.1; assumption: by /request a crawl zone gives the one page, unlocked; links are followed by the crawl data set's jobs"
	BasisBrowserPage  = "contract 1, 4.1; assumption: by /request a browser zone gives the page as it stands after its scripts ran"
	BasisOtherPage    = "contract 1, 4.1; assumption: by /request a zone of this product gives the page as the target sends it"
	BasisStandIn      = "contract 1, 4.1; assumption: the lab's results stand in for those of the search engine, which is not asked"
	BasisSearch       = "contract 1, 4.1; the parsed result page: public documentation"
	BasisNoProduct    = "assumption: this installation lacks what the product needs"
	BasisAsync        = "public documentation; body of this answer: assumption"
	BasisAsyncGone    = "public documentation; status and text: assumption"
	BasisKeyMissing   = "contract 5.1; text: public documentation"
	BasisKeyExpired   = "contract 2.1, 3; status and text: assumption"
	BasisLevel        = "contract 5.3; text: public documentation"
	BasisZone         = "contract 2.2; status and text: public documentation"
	BasisSchema       = "contract 4.1; status and body: public documentation; details: assumption"
	BasisRefusal      = "assumption: refused by name because this emulator does not do it"
	BasisTrigger      = "contract 4.2; snapshot_id: public documentation"
	BasisDataset      = "public documentation"
	BasisProgress     = "public documentation; inputs, inputs_done, records, errors: addition of this emulator"
	BasisProxy        = "contract 5.2; x-brd-* headers: public documentation"
	BasisProxyRefused = "contract 5.2; status and code: public documentation"
	BasisProxyProduct = "contract 5.2; status and code: assumption"
	BasisControl      = "contract 2.1, 3, 5.3: account settings; this interface: addition of this emulator"
	BasisLoopback     = "assumption: this emulator's own guard against pages of other sites"
	BasisPolicy       = "public documentation: policy codes; which hosts they mean: assumption"
	BasisCA           = "contract 5.2 rule 3; this address: addition of this emulator"
	BasisTarget       = "assumption: the emulator's bounds"
)
