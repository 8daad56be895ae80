package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// TriggerBody is the body of POST trigger, byte for byte: an array of objects,
// each with its url first (service.md 4.2) and its further fields by name.
func TriggerBody(inputs []model.JobInput) []byte {
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

// appendInput appends one object. Extra holds JSON texts; one that is none is
// sent as a text.
func appendInput(b []byte, in model.JobInput) []byte {
	b = append(b, `{"url":`...)
	b = append(b, jsonText(in.URL)...)
	for _, name := range slices.Sorted(maps.Keys(in.Extra)) {
		if name == "url" {
			continue // there is one already
		}
		b = append(b, ',')
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
	if err := enc.Encode(s); err != nil {
		return []byte(`""`) // a string always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// digest identifies what a job asks for: the same inputs for the same dataset at
// the same place, whatever their order.
func digest(p profile.Profile, r model.TriggerRequest) string {
	rows := make([]string, len(r.Inputs))
	for i, in := range r.Inputs {
		rows[i] = string(appendInput(nil, in))
	}
	slices.Sort(rows)
	h := sha256.New()
	for _, part := range append([]string{p.BaseURL, string(p.Account), r.Dataset}, rows...) {
		h.Write([]byte(part))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}
