package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"zonedeck/model"
)

// headResponse is the header with the identifier of a fetch that is collected later, as public documentation has it.
const headResponse = "X-Response-Id"

// collected are the identifiers that an answer may give in place of a page, and how each is used.
var collected = []struct{ field, how string }{
	{"response_id", "GET /unblocker/get_result?response_id=%s collects it, as public documentation has it"},
	{"snapshot_id", "it has become a job, which 'zonedeck jobs adopt %s' adds to the ledger"},
}

// InProgress reads an answer of the API in place of a page, by which the service itself says that it is still at work; the
// zero value is any other answer. The service speaks where nothing of the answer is the target's: no header tells the
// target's status, and the answer is empty, a sentence, or an object with nothing but a state. With 200 it also gives one of
// the collected identifiers, unless the dialect knows that every page comes with the target's status.
func (d Dialect) InProgress(status int, h http.Header, r Reading, body []byte) model.InProgress {
	if status != http.StatusOK && status != http.StatusAccepted || r.TargetStatus != 0 || r.Failed() || isPage(h, body) {
		return model.InProgress{}
	}
	body = bytes.TrimSpace(body)
	var w model.InProgress
	var object map[string]json.RawMessage
	isObject := json.Unmarshal(body, &object) == nil && object != nil
	w.Collect = collect(object, h.Get(headResponse))
	accepted, known := status == http.StatusAccepted, w.Collect != ""
	switch {
	case isObject:
		pending := string(object["pending"]) == "true"
		delete(object, "pending")
		p, _ := d.ReadProgress(body) // it is an object
		waits := pending || slices.Contains(beforeTheEnd, strings.ToLower(p.Wire)) || notReady().MatchString(p.Detail)
		known = stateAlone(object) && p.State == model.JobRunning && (accepted || waits && (known || d.read != nil) || known && p.Wire == "" && object["error"] == nil)
		if w.Says = strings.Trim(p.Wire+": "+p.Detail, ": "); pending {
			w.Says = cmp.Or(w.Says, "pending")
		}
	case len(body) == 0:
		known = accepted || known
	default:
		state, says, is := sentence(body)
		known = accepted && says != "" || is && state == model.JobRunning && (known || d.read != nil)
		w.Says = says
	}
	if !known {
		return model.InProgress{}
	}
	if w.Says == "" && accepted {
		w.Says = "accepted"
	}
	w.Says = cmp.Or(w.Says, "an identifier, and no page")
	return w
}

// collect says how the page is collected by an identifier, which it takes out of the answer; inHeader is one of a response.
func collect(object map[string]json.RawMessage, inHeader string) (how string) {
	for _, c := range collected {
		var id string
		_ = json.Unmarshal(object[c.field], &id) // what is no text is no identifier
		delete(object, c.field)
		if id, ok := word(cmp.Or(id, inHeader)); ok && how == "" {
			how = fmt.Sprintf(c.how, id)
		}
		inHeader = ""
	}
	return how
}

// AtWork is a pattern of the bodies by which the service says with 200 that it is still at work, for a program that reads no
// dialect: an object with an identifier, and nothing besides but a state before the end and a message.
func AtWork() string {
	const text = `\x22\s*:\s*\x22(?:[^\x22\\]|\\.)*\x22`
	var ids []string
	for _, c := range collected {
		ids = append(ids, c.field)
	}
	id := `\x22(?:` + strings.Join(ids, "|") + `)` + text
	field := `(?:` + id + `|\x22message` + text + `|\x22pending\x22\s*:\s*true|\x22status\x22\s*:\s*\x22(?:` + strings.Join(beforeTheEnd, "|") + `)\x22)`
	return `^\s*(\{\s*(?:` + field + `\s*,\s*)*` + id + `\s*(?:,\s*` + field + `\s*)*\})\s*$`
}
