package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"zonedeck/service/emulator/answer"
)

// fields reads a JSON object field by field and collects what is wrong with it, each
// text with its field's name.
type fields struct {
	raw     map[string]json.RawMessage
	details []string
}

// parseObject takes an object, and an array of exactly one: the public specification of
// deep lookup shows arrays, its examples objects.
func parseObject(b []byte) (*fields, error) {
	trimmed := bytes.TrimLeft(b, " \t\r\n")
	if len(trimmed) > 0 && trimmed[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, fmt.Errorf("body must be a JSON object: %w", err)
		}
		if len(list) != 1 {
			return nil, fmt.Errorf("body must be one object, not %d", len(list))
		}
		b = list[0]
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil || raw == nil {
		return nil, errors.New("body must be a JSON object")
	}
	return &fields{raw: raw}, nil
}

func (f *fields) bad(format string, args ...any) {
	f.details = append(f.details, fmt.Sprintf(format, args...))
}

// take hands a field out; null counts as left out.
func (f *fields) take(name string) (json.RawMessage, bool) {
	v, ok := f.raw[name]
	delete(f.raw, name)
	return v, ok && !bytes.Equal(v, []byte("null"))
}

func (f *fields) text(name string, limit int) string {
	raw, ok := f.take(name)
	if !ok {
		return ""
	}
	var v string
	switch {
	case json.Unmarshal(raw, &v) != nil:
		f.bad("%s must be a string", name)
	case utf8.RuneCountInString(v) > limit:
		f.bad("%s must have at most %d characters", name, limit)
	default:
		return strings.TrimSpace(v)
	}
	return ""
}

func (f *fields) required(name string, limit int) string {
	if _, ok := f.raw[name]; !ok {
		f.bad("%s is required", name)
		return ""
	}
	before := len(f.details)
	v := f.text(name, limit)
	if v == "" && len(f.details) == before {
		f.bad("%s must not be empty", name)
	}
	return v
}

func (f *fields) oneOf(name, otherwise string, values ...string) string {
	v := f.text(name, 64)
	if v == "" {
		return otherwise
	}
	if !slices.Contains(values, v) {
		f.bad("%s must be one of %s", name, strings.Join(values, ", "))
	}
	return v
}

func (f *fields) number(name string, least, most, otherwise int) int {
	raw, ok := f.take(name)
	if !ok {
		return otherwise
	}
	var v float64
	if json.Unmarshal(raw, &v) != nil || v != math.Trunc(v) || v < float64(least) || v > float64(most) {
		f.bad("%s must be a whole number from %d to %d", name, least, most)
		return otherwise
	}
	return int(v)
}

func (f *fields) truth(name string, otherwise bool) bool {
	raw, ok := f.take(name)
	if !ok {
		return otherwise
	}
	v := otherwise
	if json.Unmarshal(raw, &v) != nil {
		f.bad("%s must be true or false", name)
	}
	return v
}

func (f *fields) texts(name string, count, limit int) []string {
	raw, ok := f.take(name)
	if !ok {
		return nil
	}
	var v []string
	if json.Unmarshal(raw, &v) != nil {
		f.bad("%s must be an array of strings", name)
		return nil
	}
	if len(v) > count {
		f.bad("%s must have at most %d entries", name, count)
		return nil
	}
	for _, s := range v {
		if utf8.RuneCountInString(s) > limit || strings.TrimSpace(s) == "" {
			f.bad("every entry of %s must have 1 to %d characters", name, limit)
			return nil
		}
	}
	return v
}

// unknown are the names that nobody took, within some object of the body.
func (f *fields) unknown() []string { return slices.Sorted(maps.Keys(f.raw)) }

// end refuses the fields that are left over, or, where the service is loose, gives their
// names back. The error is an [*invalidError].
func (f *fields) end(loose bool) (ignored []string, err error) {
	ignored = f.unknown()
	if !loose {
		for _, name := range ignored {
			f.bad("%s is not allowed", cutText(name, 100))
		}
		ignored = nil
	}
	if len(f.details) > 0 {
		return nil, &invalidError{f.details}
	}
	return ignored, nil
}

// invalidError is a body that was not understood; each detail names its field.
type invalidError struct{ details []string }

func (e *invalidError) Error() string { return strings.Join(e.details, "; ") }

// Bounds of a request.
const (
	maxBodyBytes = 1 << 20
	// ignoredHeader names the fields that a loose service let pass.
	ignoredHeader = "x-emulator-ignored"
)

// readObject reads a request's body; when it could not, it has answered.
func (s *Service) readObject(w http.ResponseWriter, r *http.Request) (*fields, bool) {
	if !answer.IsJSON(r.Header) && !s.cfg.Loose {
		refuseInvalid(w, &invalidError{[]string{"Content-Type must be application/json"}})
		return nil, false
	}
	b, err := answer.ReadBody(w, r, maxBodyBytes)
	if err != nil {
		refuseInvalid(w, &invalidError{[]string{fmt.Sprintf("body could not be read: at most %d bytes", maxBodyBytes)}})
		return nil, false
	}
	f, err := parseObject(b)
	if err != nil {
		refuseInvalid(w, &invalidError{[]string{err.Error()}})
		return nil, false
	}
	return f, true
}

// refuseInvalid answers 400 in the form that public documentation shows for /request.
func refuseInvalid(w http.ResponseWriter, err error) {
	details := []string{err.Error()}
	if bad := (*invalidError)(nil); errors.As(err, &bad) {
		details = bad.details
	}
	answer.JSON(w, http.StatusBadRequest, basisInvalid, map[string]any{
		"error": "Request validation failed", "error_code": "validation", "details": details,
	})
}

// note tells which fields were let pass.
func note(w http.ResponseWriter, ignored []string) {
	if len(ignored) == 0 {
		return
	}
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, strings.Join(ignored, ", "))
	w.Header().Set(ignoredHeader, cutText(clean, 1024))
}
