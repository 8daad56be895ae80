package jobs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// record is a row read from a page. A field that was not found in its place is nil.
type record map[string]any

// object is a JSON object with its fields in order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON keeps the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		v, err := encodeValue(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encodeValue does not escape < and &: the bodies of pages are full of them.
func encodeValue(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encode writes the fields of the record in their order. paths choose among them
// (custom_output_fields); without paths it writes all.
func (r record) encode(fields []Field, paths []string) (json.RawMessage, error) {
	whole := make(object, 0, len(fields))
	for _, f := range fields {
		whole = append(whole, member{f.Name, r[f.Name]})
	}
	if len(paths) > 0 {
		whole = choose(whole, paths)
	}
	return encodeValue(whole)
}

// choose keeps the paths of an object, in the order of the object. The public service does
// not show how it shapes a dotted path; here the nesting stays.
func choose(o object, paths []string) object {
	var out object
	for _, m := range o {
		var below []string
		chosen := false
		for _, p := range paths {
			name, rest, dotted := strings.Cut(p, ".")
			if name != m.name {
				continue
			}
			chosen = true
			if !dotted {
				below = nil
				break
			}
			below = append(below, rest)
		}
		if !chosen {
			continue
		}
		if inner, ok := m.value.(object); ok && len(below) > 0 {
			m.value = choose(inner, below)
		}
		out = append(out, m)
	}
	return out
}

func hasPath(fields []Field, path string) bool {
	name, rest, dotted := strings.Cut(path, ".")
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return false
	}
	return !dotted || hasPath(fields[i].Fields, rest)
}
