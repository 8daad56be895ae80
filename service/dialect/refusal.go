package dialect

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// RefusesTrigger reports whether an answer to a trigger is certainly the service's own
// refusal, so that no job was started: a 403 or 429 (service.md 7) or a 401 (service.md
// 3; the status is what HTTP says), or an answer whose shape the dialect knows. A page
// is never one, and neither is anything else that a gateway may have sent after it had
// passed the request on. by names the dialect that knows the shape where the profile
// names none.
func (d Dialect) RefusesTrigger(status int, h http.Header, body []byte) (certain bool, by string) {
	if status < 400 || status > 499 || isPage(h, body) {
		return false, ""
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests:
		return true, ""
	case d.refuses != nil:
		return d.refuses(status, body), ""
	case !d.open:
		return false, ""
	}
	for _, other := range All() {
		if other.refuses != nil && other.refuses(status, body) {
			return true, other.name
		}
	}
	return false, ""
}

// isPage reports whether an answer is HTML, which the API does not write.
func isPage(h http.Header, body []byte) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml") || strings.HasPrefix(strings.TrimSpace(string(body)), "<")
}

// refusalTexts are the publicly documented texts by which a trigger is refused; one
// with a trailing "*" is the beginning of one.
var refusalTexts = map[int][]string{
	http.StatusBadRequest: {
		"No data to trigger", "Should be at least *", "dataset missing", "Invalid attachments", "This dataset is not allowed for API",
		"This dataset is not ready yet", "This dataset does not support collection",
	},
	http.StatusPaymentRequired: {"Your current balance *"},
	http.StatusNotFound:        {"dataset does not exist", "Collector not found"},
}

// refusalCodes are the publicly documented codes of a request that is not valid.
var refusalCodes = []string{"validation_error", "parse_error", "validation"}

func brightDataRefuses(status int, body []byte) bool {
	text := strings.TrimSpace(string(body))
	var answer struct {
		Error     string `json:"error"`
		Code      string `json:"code"`
		ErrorCode string `json:"error_code"`
	}
	if json.Unmarshal(body, &answer) == nil {
		if status == http.StatusBadRequest && (slices.Contains(refusalCodes, answer.Code) || slices.Contains(refusalCodes, answer.ErrorCode)) {
			return true
		}
		text = answer.Error
	}
	return slices.ContainsFunc(refusalTexts[status], func(known string) bool {
		prefix, open := strings.CutSuffix(known, "*")
		return text == known || open && strings.HasPrefix(text, prefix)
	})
}
