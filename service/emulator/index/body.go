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
	raw   map[string]json.RawMessage
	wrong answer.InvalidError
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

func (f *fields) bad(format string, args ...any) { f.wrong.Add(format, args...) }

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
	before := len(f.wrong.Details)
	v := f.text(name, limit)
	if v == "" && len(f.wrong.Details) == before {
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
// names back. The error is an [*answer.InvalidError].
func (f *fields) end(loose bool) (ignored []string, err error) {
	ignored = f.unknown()
	if !loose {
		for _, name := range ignored {
			f.bad("%s is not allowed", answer.Cut(name, 100))
		}
		ignored = nil
	}
	if len(f.wrong.Details) > 0 {
		return nil, &f.wrong
	}
	return ignored, nil
}

// maxBodyBytes bounds the body of a request.
const maxBodyBytes = 1 << 20

// readObject reads a request's body; when it could not, it has answered.
func (s *Service) readObject(w http.ResponseWriter, r *http.Request) (*fields, bool) {
	f := &fields{}
	if !answer.IsJSON(r.Header) && !s.cfg.Loose {
		f.bad("Content-Type must be application/json")
		refuseInvalid(w, &f.wrong)
		return nil, false
	}
	b, err := answer.ReadBody(w, r, maxBodyBytes)
	if err != nil {
		f.bad("body could not be read: at most %d bytes within %s", maxBodyBytes, answer.BodyTimeout)
		refuseInvalid(w, &f.wrong)
		return nil, false
	}
	f, err = parseObject(b)
	if err != nil {
		refuseInvalid(w, err)
		return nil, false
	}
	return f, true
}

// finish ends a body of which all fields were taken: it notes what a loose service lets
// pass. When something was wrong, it has answered.
func (s *Service) finish(w http.ResponseWriter, f *fields) bool {
	ignored, err := f.end(s.cfg.Loose)
	if err != nil {
		refuseInvalid(w, err)
		return false
	}
	note(w, ignored)
	return true
}

// readQuery reads a body whose only field is query; when it could not, it has answered.
func (s *Service) readQuery(w http.ResponseWriter, r *http.Request) (query string, ok bool) {
	f, ok := s.readObject(w, r)
	if !ok {
		return "", false
	}
	query = f.required("query", maxQuery)
	return query, s.finish(w, f)
}

// refuseInvalid answers 400 in the form that public documentation shows for /request.
func refuseInvalid(w http.ResponseWriter, err error) {
	details := []string{err.Error()}
	if bad := (*answer.InvalidError)(nil); errors.As(err, &bad) {
		details = bad.Details
	}
	answer.JSON(w, http.StatusBadRequest, basisInvalid, map[string]any{
		"error": "Request validation failed", "error_code": "validation", "details": details,
	})
}

// note tells which fields were let pass.
func note(w http.ResponseWriter, ignored []string) {
	for _, name := range ignored {
		answer.NoteUnknown(w, name)
	}
}

// takes is h behind a look at the query: a parameter that is not among the names is
// refused, or noted where the service is loose.
func (s *Service) takes(h http.HandlerFunc, names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f := &fields{}
		for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
			switch {
			case slices.Contains(names, name):
			case s.cfg.Loose:
				answer.NoteUnknown(w, "query parameter "+name)
			default:
				f.bad("query parameter %s is not allowed", name)
			}
		}
		if len(f.wrong.Details) > 0 {
			refuseInvalid(w, &f.wrong)
			return
		}
		h(w, r)
	}
}
