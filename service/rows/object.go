package rows

import (
	"bytes"
	"encoding/json"
)

// repeatedField is the first field that a JSON object has twice, of which a reader takes one without
// a word; "" for none. raw is known to be JSON.
func repeatedField(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return ""
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		name, ok := tok.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return ""
		}
		if seen[name] {
			return name
		}
		seen[name] = true
	}
	return ""
}
