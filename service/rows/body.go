package rows

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"zonedeck/model"
)

// Body is the body of POST trigger, byte for byte: an array of objects,
// each with its url first (service.md 4.2), if it has one, and its further fields by name.
func Body(inputs []model.JobInput) []byte {
	b := make([]byte, 0, 64*len(inputs)+2)
	b = append(b, '[')
	for i, in := range inputs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInput(b, in)
	}
	return append(b, ']')
}

// Input is one object of the body.
func Input(in model.JobInput) []byte { return appendInput(nil, in) }

// appendInput appends one object. Extra holds JSON texts; an invalid one
// is sent as a string.
func appendInput(b []byte, in model.JobInput) []byte {
	b = append(b, '{')
	if in.URL != "" {
		b = append(b, `"url":`...)
		b = append(b, jsonText(in.URL)...)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Extra)) {
		if name == "url" {
			continue // it is in URL
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, jsonText(name)...)
		b = append(b, ':')
		if value := in.Extra[name]; json.Valid([]byte(value)) {
			b = append(b, value...)
		} else {
			b = append(b, jsonText(value)...)
		}
	}
	return append(b, '}')
}

// jsonText is a text as JSON, with <, > and & as they are: addresses are full of
// them, and the preview shows what is sent.
func jsonText(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
