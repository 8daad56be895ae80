package drift

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// The bounds of the rows that are kept of a run.
const (
	sampleRows  = 6
	sampleBytes = 8 << 10 // of one row
	sampleText  = 300     // bytes of a text in it
	sampleKey   = 500     // bytes of what its input says
	sampleDeep  = 6
	sampleList  = 5 // elements of a list
)

// sampling keeps the rows with the smallest digests of their key, or of their inputs. Two runs with the same
// ones keep the same rows that way, so that they can be laid side by side.
type sampling struct {
	key  string  // the contract's, or empty
	kept []drawn // by their digest
}

type drawn struct {
	digest uint64
	Sample
}

// row offers a row.
func (s *sampling) row(r rows.Row) {
	key, named := valueAt(r, s.key)
	if named {
		key = s.key + " = " + key
	} else {
		key = string(r.Input)
	}
	if key == "" {
		r.Each(func(name string, value gjson.Result) bool {
			if name == "url" {
				key = value.String()
			}
			return key == ""
		})
	}
	digest := keyOf(key)
	at, known := slices.BinarySearchFunc(s.kept, digest, func(d drawn, digest uint64) int {
		switch {
		case d.digest < digest:
			return -1
		case d.digest > digest:
			return 1
		default:
			return 0
		}
	})
	if known || at >= sampleRows {
		return // of several rows of one input the first stands for it
	}
	switch {
	case named && secret(s.key):
		key = s.key + " = " + model.Masked
	case !named && rows.Valid([]byte(key)):
		key = string(redact(gjson.Parse(key), sampleKey))
	default:
		key = plain("", key)
	}
	s.kept = slices.Insert(s.kept, at, drawn{digest, Sample{Key: model.Cut(key, sampleKey), Text: redactRow(r)}})
	s.kept = s.kept[:min(len(s.kept), sampleRows)]
}

// valueAt is what a row has at a path of Field; false where that is nothing, or no single value.
func valueAt(r rows.Row, path string) (text string, ok bool) {
	var look func(prefix string, each func(func(name string, value gjson.Result) bool))
	look = func(prefix string, each func(func(name string, value gjson.Result) bool)) {
		each(func(name string, value gjson.Result) bool {
			at := prefix + segment(name)
			switch {
			case at == path:
				text = value.String()
				ok = text != "" && !value.IsObject() && !value.IsArray()
				return false
			case value.IsObject() && strings.HasPrefix(path, at+"."):
				look(at+".", func(on func(name string, value gjson.Result) bool) {
					value.ForEach(func(name, value gjson.Result) bool { return on(name.Str, value) })
				})
				return false
			}
			return true
		})
	}
	if path != "" {
		look("", r.Each)
	}
	return text, ok
}

func (s *sampling) list() []Sample {
	out := make([]Sample, 0, len(s.kept))
	for _, d := range s.kept {
		out = append(out, d.Sample)
	}
	return out
}

// redactRow is a row as JSON of at most sampleBytes: texts are cut, and what has a secret's name or
// looks like one is masked.
func redactRow(r rows.Row) string {
	w := redactor{most: sampleBytes}
	w.b.WriteByte('{')
	first := true
	r.Each(func(name string, value gjson.Result) bool {
		if w.full() {
			return false
		}
		w.member(&first, name)
		if r.Flat {
			value = typed(value.Str)
		}
		w.value(name, value, 1)
		return true
	})
	w.b.WriteByte('}')
	return w.b.String()
}

// redact is a value as JSON of about size bytes.
func redact(v gjson.Result, size int) []byte {
	w := redactor{most: size}
	w.value("", v, 0)
	return w.b.Bytes()
}

type redactor struct {
	b    bytes.Buffer
	most int // bytes after which nothing more is begun
}

func (w *redactor) full() bool { return w.b.Len() >= w.most }

func (w *redactor) text(s string) {
	enc := json.NewEncoder(&w.b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)           // a text can always be written
	w.b.Truncate(w.b.Len() - 1) // the line break
}

func (w *redactor) member(first *bool, name string) {
	if !*first {
		w.b.WriteByte(',')
	}
	*first = false
	w.text(model.Cut(strings.ToValidUTF8(name, "�"), maxPath))
	w.b.WriteByte(':')
}

func (w *redactor) value(name string, v gjson.Result, depth int) {
	switch {
	case secret(name) && v.Type != gjson.Null:
		w.text(model.Masked)
	case v.Type == gjson.String:
		w.text(plain(name, v.Str))
	case v.IsArray() || v.IsObject():
		w.nested(v, depth)
	case v.Type == gjson.Null:
		w.b.WriteString("null")
	default:
		raw := v.Raw
		if len(raw) > 40 || !json.Valid([]byte(raw)) {
			raw = "null"
		}
		w.b.WriteString(raw)
	}
}

func (w *redactor) nested(v gjson.Result, depth int) {
	if depth >= sampleDeep {
		w.text("…")
		return
	}
	first, n := true, 0
	if v.IsArray() {
		w.b.WriteByte('[')
		v.ForEach(func(_, element gjson.Result) bool {
			if n++; n > sampleList || w.full() {
				return false
			}
			if !first {
				w.b.WriteByte(',')
			}
			first = false
			w.value("", element, depth+1)
			return true
		})
		w.b.WriteByte(']')
		return
	}
	w.b.WriteByte('{')
	v.ForEach(func(name, member gjson.Result) bool {
		if w.full() {
			return false
		}
		w.member(&first, name.Str)
		w.value(name.Str, member, depth+1)
		return true
	})
	w.b.WriteByte('}')
}
