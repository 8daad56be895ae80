package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"
)

// BodyTimeout is how long a client may take to send a body.
const BodyTimeout = 30 * time.Second

// InvalidError collects the mistakes in a request; each text names its field.
type InvalidError struct{ Details []string }

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
	details := []string{err.Error()}
	if bad := (*InvalidError)(nil); errors.As(err, &bad) {
		details = bad.Details
	}
	JSON(w, http.StatusBadRequest, BasisSchema, map[string]any{
		"error": "Request validation failed", "error_code": "validation", "details": details,
	})
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
