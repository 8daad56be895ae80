package dialect

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Absence is what the answer to a call about a job says of the job itself.
type Absence int

const (
	// NotGone says nothing of the job.
	NotGone Absence = iota
	// GoneUnknown says that the service knows no such job: it may have forgotten it, and it may be
	// asked for another account.
	GoneUnknown
	// GoneExpired says that the service had it, and no longer has its result.
	GoneExpired
)

// unknownSnapshots are the texts of a 404 about a job that the service does not know, by public
// documentation.
var unknownSnapshots = []string{"Snapshot does not exist", "Snapshot not found"}

// JobGone reads the answer to a call about a job. Only the service's own words count: a page, or a 404
// in other words, may come from a gateway or from another address. The contract shows no such answer.
func (d Dialect) JobGone(dataset string, status int, h http.Header, body []byte) Absence {
	if d.paths == nil || isPage(h, body) {
		return NotGone
	}
	text, said := strings.TrimSpace(string(body)), false
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil {
		text, said = strings.TrimSpace(answer.Error), answer.Error != ""
	}
	_, product := d.product(dataset)
	switch {
	case status == http.StatusGone, status >= 400 && status < 500 && strings.Contains(text, "Snapshot is expired"):
		return GoneExpired
	case status != http.StatusNotFound:
		return NotGone
	case product && said && strings.HasSuffix(strings.ToLower(text), " not found"):
		return GoneUnknown // an assumption: public sources show the status and not the words
	case !product && slices.Contains(unknownSnapshots, text):
		return GoneUnknown
	default:
		return NotGone
	}
}
