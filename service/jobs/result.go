package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// resultHead is how much of a result is looked at before any of it is written, in
// bytes.
const resultHead = 64 << 10

// resultGate lets a result through to w once its beginning looks like one.
type resultGate struct {
	w      io.Writer
	format string
	head   []byte
	open   bool
}

func (g *resultGate) Write(p []byte) (int, error) {
	if g.open {
		return g.w.Write(p)
	}
	g.head = append(g.head, p...)
	if len(g.head) < resultHead {
		return len(p), nil
	}
	return len(p), g.finish(false)
}

// finish looks at what came so far. whole says that nothing follows.
func (g *resultGate) finish(whole bool) error {
	if g.open {
		return nil
	}
	if err := checkResult(g.format, g.head, whole); err != nil {
		return &exchange.Error{Broke: model.BreakMalformed, Peer: exchange.PeerService, Sent: true, Err: err}
	}
	g.open = true
	_, err := g.w.Write(g.head)
	g.head = nil
	return err
}

// checkResult says why an answer that begins with head is no result in a format,
// although its status was 200.
func checkResult(format string, head []byte, whole bool) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	switch {
	case len(text) == 0 && whole:
		return errors.New("the answer is empty")
	case len(text) == 0:
		return errors.New("the answer begins with nothing but blanks")
	case text[0] == '<':
		return fmt.Errorf("the answer is a page and not %s: %s", format, dialect.ErrorText("text/html", text))
	}
	if whole && errorShaped(text) {
		return fmt.Errorf("the answer is an error and not a result: %s", dialect.ErrorText("application/json", text))
	}
	switch format {
	case "json":
		if text[0] != '[' && text[0] != '{' || whole && !json.Valid(text) {
			return fmt.Errorf("the answer is not JSON: %s", dialect.ErrorText("", text))
		}
	case "ndjson":
		for n, line := range bytes.SplitAfter(text, []byte("\n")) {
			cut := !whole && !bytes.HasSuffix(line, []byte("\n")) // goes on after the head
			if line = bytes.TrimSpace(line); len(line) > 0 && !cut && !json.Valid(line) {
				return fmt.Errorf("line %d of the answer is not JSON: %s", n+1, dialect.ErrorText("", line))
			}
		}
	}
	return nil
}

// errorShaped reports whether text is one JSON object that says nothing but what went
// wrong. A record may have an error too, beside its input or other fields.
func errorShaped(text []byte) bool {
	var object map[string]json.RawMessage
	if text[0] != '{' || json.Unmarshal(text, &object) != nil {
		return false
	}
	says := false
	for name := range object {
		switch {
		case slices.Contains([]string{"error", "errors", "error_message", "message", "msg"}, name):
			says = true
		case !slices.Contains([]string{"code", "details", "error_code", "request_id", "snapshot_id", "status", "status_code", "success", "type"}, name):
			return false
		}
	}
	return says
}
