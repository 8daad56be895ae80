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

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// Bounds of what a body holds: without them a body of the size that is allowed becomes a
// hundred times that in memory.
const (
	maxInputBytes   = 1 << 20
	maxSettingBytes = 64 << 10
)

// readInputs reads the body in any of its forms: an array of inputs, an object with
// input and settings, or a form with a CSV in the field data (public documentation).
// Errors: an [*inputError], errAttachments, errNothing.
func (a *API) readInputs(w http.ResponseWriter, r *http.Request, s *settings) ([]json.RawMessage, error) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isForm := kind == "multipart/form-data"
	if !isForm && !answer.IsJSON(r.Header) && !a.conf.Loose {
		return nil, inputErrors("", [2]string{"Content-Type", "Must be application/json or multipart/form-data"})
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
	// What is left is read, or a client that still sends would see a reset instead of
	// the answer.
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
	return inputErrors("", [2]string{"body", fmt.Sprintf("Could not be read: at most %d bytes within %s", maxTriggerBytes, answer.BodyTimeout)})
}

func parseError(format string, args ...any) *inputError {
	return &inputError{Text: fmt.Sprintf(format, args...), Code: "parse_error"}
}

// readJSON reads an array of inputs, or an object with input and settings, piece by
// piece: nothing is held but the inputs.
func readJSON(r io.Reader, s *settings) (inputs []json.RawMessage, err error) {
	dec := json.NewDecoder(r)
	first, err := dec.Token()
	switch {
	case err != nil:
	case first == json.Delim('['):
		inputs, err = readArray(dec)
	case first == json.Delim('{'):
		inputs, err = readObject(dec, s)
	case first != nil:
		err = parseError("Request body is not JSON")
	}
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return inputs, nil
		}
	}
	return nil, jsonError(err)
}

// jsonError words what a decoder gave; nil is a second value behind the first.
func jsonError(err error) error { return bodyError(err, parseError("Request body is not JSON")) }

// bodyError words what the reader of a body gave; otherwise is what it is in that form.
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

// readArray reads inputs up to the end of their array.
func readArray(dec *json.Decoder) ([]json.RawMessage, error) {
	var inputs []json.RawMessage
	for dec.More() {
		if len(inputs) == jobs.MaxInputs {
			return nil, tooMany()
		}
		var one json.RawMessage
		if err := dec.Decode(&one); err != nil {
			return nil, err
		}
		if len(one) > maxInputBytes {
			return nil, inputErrors("", [2]string{"input", fmt.Sprintf("Input %d is longer than %d bytes", len(inputs)+1, maxInputBytes)})
		}
		inputs = append(inputs, one)
	}
	_, err := dec.Token()
	return inputs, err
}

func tooMany() error {
	return inputErrors("", [2]string{"input", fmt.Sprintf("More than %d inputs", jobs.MaxInputs)})
}

// readObject reads the fields of an object up to its end: input, and settings.
func readObject(dec *json.Decoder, s *settings) (inputs []json.RawMessage, err error) {
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder takes nothing else there
		if name == "input" {
			if inputs, err = readInputField(dec); err != nil {
				return nil, err
			}
			continue
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
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
			return nil, inputErrors("", [2]string{shortened(name), reason})
		}
	}
	_, err = dec.Token()
	return inputs, err
}

// readInputField reads the field input; null is none.
func readInputField(dec *json.Decoder) ([]json.RawMessage, error) {
	switch first, err := dec.Token(); {
	case err != nil:
		return nil, err
	case first == json.Delim('['):
		return readArray(dec)
	case first != nil:
		return nil, inputErrors("", [2]string{"input", "Must be an array"})
	}
	return nil, nil
}

// shortened bounds a client's own words in an answer.
func shortened(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// setField is set for a body, where settings are fields.
func (s *settings) setField(name, v string) (reason string) {
	if reason = s.set(name, v); reason == unknownParameter {
		return "Unknown field"
	}
	return reason
}

// settingText is a setting in a body as it is spelt in a query; lists of fields are
// joined.
func settingText(raw json.RawMessage) (string, bool) {
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
