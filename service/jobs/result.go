package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// resultHead is how much of a result is looked at before any of it is written, in
// bytes.
const resultHead = 64 << 10

// resultGate lets a result, one row a line, through to w once its beginning looks like one.
type resultGate struct {
	w     io.Writer
	empty bool // a result may have no rows
	later bool // rows came before, so that an error row counts as a row
	open  bool
	// unframed says that only the connection shows where the answer ends, so its last row may be cut off.
	unframed bool
	head     []byte
}

func (g *resultGate) Write(p []byte) (int, error) {
	if g.open {
		return g.w.Write(p)
	}
	n := min(len(p), resultHead-len(g.head))
	if g.head = append(g.head, p[:n]...); len(g.head) < resultHead {
		return n, nil
	}
	if err := g.finish(false); err != nil {
		return n, err
	}
	more, err := g.w.Write(p[n:])
	return n + more, err
}

// finish checks what came so far. whole says that nothing follows.
func (g *resultGate) finish(whole bool) error {
	if g.open {
		return nil
	}
	if g.empty && whole && len(g.head) == 0 {
		g.open = true
		return nil
	}
	if err := checkResult(g.head, whole, g.later, g.unframed); err != nil {
		return err
	}
	g.open = true
	_, err := g.w.Write(g.head)
	g.head = nil
	return err
}

// cut writes what came of an answer that broke off, if it looks like a result.
func (g *resultGate) cut() error {
	err := g.finish(false)
	var none *noResultError
	if errors.As(err, &none) {
		return nil // what broke says more
	}
	return err
}

// noResultError is an answer with status 200 that is no result.
type noResultError struct {
	text    string        // what it is
	outcome model.Outcome // what speaks for that, beside the status
}

func (e *noResultError) Error() string { return "the answer " + e.text }

// fault is the error of the download.
func (e *noResultError) fault(doing string) *exchange.CallError {
	o := e.outcome
	o.Via, o.Job, o.ServiceStatus = model.ViaAPI, model.CallProgress, http.StatusOK
	return &exchange.CallError{Doing: doing, Status: http.StatusOK, Text: e.Error(), Diagnosis: model.Diagnose(o)}
}

// unusable is an answer that the service's API does not give.
func unusable(format string, args ...any) *noResultError {
	e := &noResultError{text: fmt.Sprintf(format, args...)}
	e.outcome = model.Outcome{Broke: model.BreakMalformed, Peer: exchange.PeerService, BrokeText: e.Error()}
	return e
}

// checkResult returns a *noResultError if an answer that begins with head is no result, nor a later
// part of one. The last row of an unframed one may be cut off.
func checkResult(head []byte, whole, later, unframed bool) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	switch {
	case len(text) == 0 && whole:
		return &noResultError{text: "is empty"}
	case len(text) == 0:
		return &noResultError{text: "begins with nothing but blanks"}
	case text[0] == '<':
		return unusable("is a page and not NDJSON: %s", dialect.ErrorText("text/html", text))
	}
	if whole && !later && errorShaped(text) {
		says := dialect.ErrorText("application/json", text)
		return &noResultError{text: "is an error and not a result: " + says, outcome: model.Outcome{ServiceText: says}}
	}
	for n, line := range bytes.SplitAfter(text, []byte("\n")) {
		cut := (!whole || unframed && n > 0) && !bytes.HasSuffix(line, []byte("\n")) // goes on after the head, or went on
		if line = bytes.TrimSpace(line); len(line) > 0 && !cut && !json.Valid(line) {
			return unusable("is not NDJSON: line %d: %s", n+1, dialect.ErrorText("", line))
		}
	}
	return nil
}

// The fields of an answer that says nothing but what went wrong, by the habits of frameworks
// and RFC 9457.
var (
	errorSays     = []string{"error", "error_description", "error_message", "errors"}
	errorMessages = []string{"detail", "message", "msg"} // a record of a page may have these
	errorCodes    = []string{"code", "error_code", "status", "status_code", "success"}
	errorBeside   = []string{"details", "instance", "path", "request_id", "snapshot_id", "timestamp", "title", "trace_id", "type"}
)

// errorShaped reports whether text is one JSON object that says nothing but what went
// wrong. A record may have an error too, beside its input or other fields, and a message
// beside a title or a time.
func errorShaped(text []byte) bool {
	var object map[string]json.RawMessage
	if text[0] != '{' || json.Unmarshal(text, &object) != nil {
		return false
	}
	var says, message, code, beside bool
	for name := range object {
		switch name = strings.ToLower(name); {
		case slices.Contains(errorSays, name):
			says = true
		case slices.Contains(errorMessages, name):
			message = true
		case slices.Contains(errorCodes, name):
			code = true
		case slices.Contains(errorBeside, name):
			beside = true
		default:
			return false
		}
	}
	return says || message && (code || !beside)
}
