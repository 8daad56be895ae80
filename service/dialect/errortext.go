package dialect

import (
	"encoding/json"
	"mime"
	"strings"
)

// ErrorText is the one line worth quoting from the body of a refusal, bounded:
// the text of a text answer, the usual fields of a JSON one. The format of error
// bodies is not shown by the contract (service.md 7), so this is for a person to
// read and decides nothing. body may be cut short.
func ErrorText(contentType string, body []byte) string {
	body = body[:min(len(body), 16<<10)]
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = ""
	}
	if s := strings.TrimSpace(string(body)); strings.HasPrefix(s, "{") {
		if text := jsonError([]byte(s)); text != "" {
			return text
		}
	}
	if kind == "text/html" || strings.HasPrefix(strings.TrimSpace(string(body)), "<") {
		return clean(withoutTags(string(body)))
	}
	return clean(string(body))
}

// jsonError reads {"error":"…","details":…}, {"error":{"code","message"}},
// {"msg":"…"} and {"message":"…"}.
func jsonError(body []byte) string {
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var inner struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(answer["error"], &inner) == nil && inner.Message != "" {
		return clean(strings.TrimPrefix(inner.Code+": "+inner.Message, ": "))
	}
	var parts []string
	for _, name := range []string{"error", "msg", "message", "details", "errors"} {
		raw, ok := answer[name]
		if !ok {
			continue
		}
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		parts = append(parts, s)
	}
	return clean(strings.Join(parts, ": "))
}

// withoutTags is the text of a small HTML page, roughly: for one quoted line.
func withoutTags(s string) string {
	var b strings.Builder
	depth := 0
	for _, r := range s {
		switch r {
		case '<':
			depth = 1
		case '>':
			if depth == 1 {
				depth = 0
				b.WriteByte(' ')
				continue
			}
			b.WriteRune(r)
		default:
			if depth == 0 {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
