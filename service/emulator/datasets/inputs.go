package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// Bounds of the parts of a body. Without them, a body within its bound could need a hundred
// times its size in memory.
const (
	maxInputBytes   = 1 << 20
	maxSettingBytes = 64 << 10
)

// readInputs reads the body in any of its forms: an array of inputs, an object with
// input and settings, or a form with a CSV in the field data (public documentation).
// Errors: an [*inputError], errAttachments.
func (a *API) readInputs(w http.ResponseWriter, r *http.Request, s *settings) ([]json.RawMessage, error) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isForm := kind == "multipart/form-data"
	if !isForm && !answer.IsJSON(r.Header) && !a.conf.Loose {
		return nil, refused("Content-Type", "Must be application/json or multipart/form-data")
	}
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(answer.BodyTimeout)); err != nil {
		return nil, tooLarge()
	}
	body := http.MaxBytesReader(w, r.Body, maxTriggerBytes)
	var inputs []json.RawMessage
	var err error
	if isForm {
		inputs, err = readForm(body, params["boundary"], s)
	} else {
		inputs, err = readJSON(body, s)
	}
	// The rest is read, because a client that still sends would see a reset instead of the
	// answer.
	_, left := io.Copy(io.Discard, body)
	if err != nil {
		return nil, err
	}
	if left != nil {
		return nil, tooLarge()
	}
	return inputs, rc.SetReadDeadline(time.Time{})
}

func tooLarge() error {
	return refused("body", fmt.Sprintf("Could not be read: at most %d bytes within %s", maxTriggerBytes, answer.BodyTimeout))
}

func parseError(format string, args ...any) *inputError {
	return &inputError{Text: fmt.Sprintf(format, args...), Code: "parse_error"}
}

// readJSON reads an array of inputs, or an object with input and settings. It holds only the
// inputs in memory.
func readJSON(r io.Reader, s *settings) (inputs []json.RawMessage, err error) {
	dec := jsontext.NewDecoder(r)
	switch dec.PeekKind() {
	case '[':
		inputs, err = readArray(dec)
	case '{':
		inputs, err = readObject(dec, s)
	case 'n':
		err = dec.SkipValue()
	default:
		err = parseError("Request body is not JSON")
	}
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return inputs, nil
		}
	}
	return nil, jsonError(err)
}

// jsonError is the answer to an error of a decoder; nil stands for a second value behind the
// first.
func jsonError(err error) error { return bodyError(err, parseError("Request body is not JSON")) }

// bodyError is the answer to an error of a body's reader; otherwise is the one for a syntax
// error.
func bodyError(err, otherwise error) error {
	var bad *inputError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &bad):
		return bad
	case errors.As(err, &large), errors.Is(err, os.ErrDeadlineExceeded):
		return tooLarge()
	default:
		return otherwise
	}
}

// readArray reads an array of inputs.
func readArray(dec *jsontext.Decoder) ([]json.RawMessage, error) {
	var inputs []json.RawMessage
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != ']' {
		if len(inputs) == jobs.MaxInputs {
			return nil, tooMany()
		}
		one, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if len(one) > maxInputBytes {
			return nil, refused("input", fmt.Sprintf("Input %d is longer than %d bytes", len(inputs)+1, maxInputBytes))
		}
		inputs = append(inputs, json.RawMessage(one.Clone()))
	}
	_, err := dec.ReadToken()
	return inputs, err
}

func tooMany() error {
	return refused("input", fmt.Sprintf("More than %d inputs", jobs.MaxInputs))
}

// readObject reads an object with input, and settings.
func readObject(dec *jsontext.Decoder, s *settings) (inputs []json.RawMessage, err error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != '}' {
		key, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String()
		if name == "input" {
			if inputs, err = readInputField(dec); err != nil {
				return nil, err
			}
			continue
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		reason := "Unknown field"
		switch v, ok := settingText(raw); {
		case ok && name != "dataset_id":
			reason = s.setField(name, v)
		case s.loose:
			s.ignore(name)
			reason = ""
		}
		if reason == "Unknown field" && inputs == nil {
			reason += `; inputs are an array of objects, by itself or as "input"`
		}
		if reason != "" {
			return nil, refused(shortened(name), reason)
		}
	}
	_, err = dec.ReadToken()
	return inputs, err
}

// readInputField reads the field input; null is an empty list.
func readInputField(dec *jsontext.Decoder) ([]json.RawMessage, error) {
	switch dec.PeekKind() {
	case '[':
		return readArray(dec)
	case 'n':
		return nil, dec.SkipValue()
	}
	if err := dec.SkipValue(); err != nil {
		return nil, err
	}
	return nil, refused("input", "Must be an array")
}

// shortened bounds what an answer repeats of a request.
func shortened(s string) string { return answer.Shortened(s, 100) }

// setField reads a setting of a body, where settings are fields.
func (s *settings) setField(name, v string) (reason string) {
	if reason = s.parameters().set(name, v, s.ignoring()); reason == unknownParameter {
		return "Unknown field"
	}
	return reason
}

// settingText is a setting of a body as a query spells it, with lists joined.
func settingText(raw jsontext.Value) (string, bool) {
	var v any
	if len(raw) > maxSettingBytes || json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case bool, float64:
		return string(raw), true
	case []any:
		var names []string
		for _, one := range v {
			name, ok := one.(string)
			if !ok {
				return "", false
			}
			names = append(names, name)
		}
		return strings.Join(names, "|"), true
	}
	return "", false
}
