package index

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"zonedeck/service/emulator/answer"
	strict "zonedeck/service/emulator/document"
)

// fields reads the fields of a body within their bounds.
type fields struct{ *strict.Table }

// parseObject reads an object, or an array of one: the public specification of deep lookup shows
// arrays, its examples objects.
func (s *Service) parseObject(b []byte) (fields, error) {
	list, err := strict.JSONList(b)
	switch {
	case err != nil:
		return fields{}, err
	case len(list) != 1:
		return fields{}, fmt.Errorf("body must be one object, not %d", len(list))
	}
	return fields{list[0].Loose(s.cfg.Loose)}, nil
}

func (f fields) text(name string, limit int) string {
	v := f.Text(name)
	if utf8.RuneCountInString(v) > limit {
		f.Refuse(name, "must have at most %d characters", limit)
		return ""
	}
	return strings.TrimSpace(v)
}

func (f fields) required(name string, limit int) string {
	f.Require(name)
	v := f.text(name, limit)
	if f.Fine(name) && v == "" {
		f.Refuse(name, "must not be empty")
	}
	return v
}

func (f fields) oneOf(name, otherwise string, values ...string) string {
	if f.Raw(name) == nil || f.Text(name) == "" {
		return otherwise
	}
	return f.OneOf(name, values...)
}

func (f fields) number(name string, least, most, otherwise int) int {
	if !f.Has(name) {
		return otherwise
	}
	return int(f.Int(name, int64(least), int64(most)))
}

func (f fields) texts(name string, count, limit int) []string {
	v := f.List(name)
	if len(v) > count {
		f.Refuse(name, "must have at most %d entries", count)
	}
	for i, s := range v {
		if utf8.RuneCountInString(s) > limit || strings.TrimSpace(s) == "" {
			f.Refuse(name, "must have entries of 1 to %d characters: [%d] has not", limit, i)
			return nil
		}
	}
	return v
}

const maxBodyBytes = 1 << 20

func (s *Service) readObject(w http.ResponseWriter, r *http.Request) (fields, error) {
	b, err := strict.Body(w, r, maxBodyBytes, s.cfg.Loose)
	if err != nil {
		return fields{}, err
	}
	return s.parseObject(b)
}

// finish is called after the last field of a body. It notes the fields that a loose service
// ignores.
func (f fields) finish(w http.ResponseWriter) error {
	f.Done()
	if err := f.Invalid(); err != nil {
		return err
	}
	for _, name := range f.Ignored() {
		answer.NoteUnknown(w, name)
	}
	return nil
}

// readQuery reads a body whose only field is query, and opens the index.
func (s *Service) readQuery(w http.ResponseWriter, r *http.Request) (query string, c *corpus, err error) {
	f, err := s.readObject(w, r)
	if err != nil {
		return "", nil, err
	}
	query = f.required("query", maxQuery)
	if err := f.finish(w); err != nil {
		return "", nil, err
	}
	c, err = s.corpus()
	return query, c, err
}
