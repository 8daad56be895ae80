package dialect

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
)

// The bounds of Retry-After. MaxRetryAfter caps what is read of an answer, and shown. MaxWait caps how long the program
// waits by itself before it asks again, whatever the answer says.
const (
	maxRetryAfter = 24 * time.Hour
	MaxWait       = 5 * time.Minute
)

// Reading is what the headers of an answer say, in terms of the domain.
type Reading struct {
	// TargetStatus is the target's own status as the service reports it, 0 when it
	// does not.
	TargetStatus int
	// Code and Text are the error that the service itself reports; Class and Cause
	// what the dialect knows the code to mean. Empty without an error.
	Code  string
	Text  string
	Class model.Class
	Cause model.Cause
	// Unanswered says that the code means that nothing came from the target.
	Unanswered bool
	// Exit is the exit address as the service reports it, or "".
	Exit string
	// ReadBy names the dialect by which this was read though the profile names none.
	ReadBy string
	// Unread names the dialect that knows headers of the answer, where the profile's
	// own is another one. TargetStatus, Received, Code and Text are then what those
	// headers say, with no meaning given to them.
	Unread string
	// Received is the status that Proxy-Status says was received with an error.
	Received int
	// RetryAfter is what the answer asks the client to wait, capped.
	RetryAfter time.Duration
	// Evidence are the "name: value" lines that this rests on.
	Evidence []string
}

// Failed reports whether the service itself reports an error.
func (r Reading) Failed() bool { return r.Code != "" || r.Text != "" }

// The headers that answers are read from; the x-brd ones are not in the contract.
const (
	headStatus    = "X-Brd-Status-Code"
	headError     = "X-Brd-Error"
	headErrorCode = "X-Brd-Error-Code"
	headErrCode   = "X-Brd-Err-Code"
	headErrMsg    = "X-Brd-Err-Msg"
	headIP        = "X-Brd-Ip"
	headProxy     = "Proxy-Status" // RFC 9209
	headRetry     = "Retry-After"
)

// ReportedBy names the headers in which the service reports the target's status, and an error of its own: what a program that
// reads no dialect looks at.
func ReportedBy() (status string, failure []string) {
	return headStatus, []string{headError, headErrorCode, headErrCode, headErrMsg}
}

// ReadHeader reads the headers of an answer of the service: of the API, of the
// proxy to CONNECT, or of a page that came through it. now turns a date in
// Retry-After into a wait.
func (d Dialect) ReadHeader(h http.Header, now time.Time) Reading {
	r := ReadShown(h, now)
	if d.read != nil {
		d.read(&r, h)
		return r
	}
	for _, other := range All() {
		if other.recognises == nil || !other.recognises(h) {
			continue
		}
		other.read(&r, h)
		if d.open {
			r.ReadBy = other.name
			break
		}
		r.Unread, r.Class, r.Cause, r.Unanswered, r.Exit = other.name, "", "", false, ""
		break
	}
	return r
}

// ReadShown reads what any answer may say, the service's or not: headers that no
// dialect is needed for.
func ReadShown(h http.Header, now time.Time) Reading {
	r := Reading{RetryAfter: RetryAfter(h, now)}
	if r.RetryAfter > 0 {
		r.cite(h, headRetry)
	}
	r.cite(h, headProxy)
	r.cite(h, model.NoteHeader)
	return r
}

// fromBrightData reports whether there are x-brd headers or an error in Proxy-Status.
func fromBrightData(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(http.CanonicalHeaderKey(name), "X-Brd-") {
			return true
		}
	}
	code, text, _ := proxyStatus(h)
	return code != "" || text != ""
}

// readBrightData reads the x-brd headers and Proxy-Status.
func readBrightData(r *Reading, h http.Header) {
	if r.TargetStatus = statusIn(h.Get(headStatus)); r.TargetStatus != 0 {
		r.cite(h, headStatus)
	}
	r.Exit = exit(h.Get(headIP))
	r.readError(h)
	if r.Code != "" {
		m := meaning(r.Code)
		r.Class, r.Cause, r.Unanswered = m.class, m.cause, m.unanswered
	}
}

// readError finds the error: the unlocker's headers, then the proxy's, then
// Proxy-Status, which replaces them in newer answers.
func (r *Reading) readError(h http.Header) {
	for _, name := range []string{headErrorCode, headErrCode} {
		if code, ok := word(strings.TrimSpace(h.Get(name))); ok && r.Code == "" {
			r.Code = code
		}
		r.cite(h, name)
	}
	for _, name := range []string{headError, headErrMsg} {
		if r.Text == "" {
			r.Text = clean(h.Get(name))
		}
		r.cite(h, name)
	}
	code, text, received := proxyStatus(h)
	r.Received = received
	if r.Code == "" {
		r.Code = code
	}
	if r.Text == "" {
		r.Text = text
	}
}

func (r *Reading) cite(h http.Header, name string) {
	if v := h.Get(name); v != "" {
		r.Evidence = append(r.Evidence, strings.ToLower(name)+": "+clean(v))
	}
}

func exit(s string) string {
	s = strings.TrimSpace(s)
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.WithZone("").String()
	}
	s, _ = word(s) // some networks report a name for an exit, not its address
	return s
}

// RetryAfter reads seconds or an HTTP date in Retry-After, up to maxRetryAfter; a moment that is over asks for nothing. A part
// of a second, which HTTP does not know, is waited for, too.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	s := strings.TrimSpace(h.Get(headRetry))
	var d time.Duration
	if n, err := strconv.ParseFloat(s, 64); strings.Trim(s, "0123456789.") == "" && err == nil {
		d = time.Duration(min(n, maxRetryAfter.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(s); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}

// proxyStatus takes code and text out of a Proxy-Status field (RFC 9209): the
// last member that reports an error, its details "code: text" or its error, and the
// status received with it.
func proxyStatus(h http.Header) (code, text string, received int) {
	s := strings.Join(h.Values(headProxy), ", ")
	for _, member := range splitOutside(s[:min(len(s), 8192)], ',') {
		var kind, details string
		status := 0
		for _, p := range splitOutside(member, ';') {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			switch name {
			case "error":
				kind = unquote(value)
			case "details":
				details = unquote(value)
			case "received-status":
				status = statusIn(value)
			}
		}
		if kind == "" && details == "" {
			continue
		}
		code, text, received = "", clean(details), status
		if c, rest, ok := strings.Cut(details, ":"); ok {
			if c, ok := word(strings.TrimSpace(c)); ok {
				code, text = c, clean(rest)
			}
		}
		if text == "" {
			text = clean(kind)
		}
	}
	return code, text, received
}

// statusIn is the status in a header's value, or 0.
func statusIn(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 100 || n > 999 {
		return 0
	}
	return n
}

// splitOutside splits at sep where it stands outside quotes.
func splitOutside(s string, sep byte) []string {
	var out []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// unquote takes the quotes and backslashes off a structured-field string.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

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

// toolStatus is a status in the text of a tool's error, as public clients write it:
// "HTTP 400: …", "status code 429", "(status 502)".
var toolStatus = model.Pattern(`(?i)\b(?:HTTP|status(?: code)?)[ :]+([1-5][0-9]{2})\b`)

// ReadText reads the text of an error that a tool of agent access reported: a status and a
// code of the service in it. The protocol has no place for either, so this is what the text
// says.
func (d Dialect) ReadText(text string) Reading {
	text = clean(text)
	r := Reading{Text: text}
	if m := toolStatus().FindStringSubmatch(text); m != nil {
		r.TargetStatus, _ = strconv.Atoi(m[1]) // three digits
	}
	if !d.readsCodes {
		return r
	}
	for _, piece := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" :;,()\"'", c) }) {
		if code, ok := word(piece); ok && strings.Contains(code, "_") {
			if m := meaning(code); m.class != "" {
				r.Code, r.Class, r.Cause, r.Unanswered = code, m.class, m.cause, m.unanswered
				break
			}
		}
	}
	return r
}
