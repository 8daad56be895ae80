package datasets

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

const (
	maxColumns    = 100
	maxFormFields = 50
	maxFormValue  = 64 << 10

	byteOrderMark = "\ufeff"
)

// readInputs reads the body in any of its forms: an array of inputs, an object with
// input and settings, or a form with a CSV in the field data (public documentation).
// Errors: an [*inputError], errAttachments, errNothing.
func (a *API) readInputs(w http.ResponseWriter, r *http.Request, s *settings) ([]json.RawMessage, error) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "multipart/form-data" {
		rc := http.NewResponseController(w)
		if err := rc.SetReadDeadline(time.Now().Add(answer.BodyTimeout)); err != nil {
			return nil, tooLarge()
		}
		inputs, err := readForm(http.MaxBytesReader(w, r.Body, maxTriggerBytes), params["boundary"], s)
		if err == nil {
			err = rc.SetReadDeadline(time.Time{})
		}
		return inputs, err
	}
	if !answer.IsJSON(r.Header) && !a.conf.Loose {
		return nil, inputErrors("", [2]string{"Content-Type", "Must be application/json or multipart/form-data"})
	}
	body, err := answer.ReadBody(w, r, maxTriggerBytes)
	if err != nil {
		return nil, tooLarge()
	}
	return readJSON(body, s)
}

func tooLarge() error {
	return inputErrors("", [2]string{"body", fmt.Sprintf("Could not be read: at most %d bytes within %s", maxTriggerBytes, answer.BodyTimeout)})
}

func parseError(format string, args ...any) *inputError {
	return &inputError{Text: fmt.Sprintf(format, args...), Code: "parse_error"}
}

// readJSON reads an array of inputs, or an object with input and settings.
func readJSON(b []byte, s *settings) ([]json.RawMessage, error) {
	var inputs []json.RawMessage
	if trimmed := bytes.TrimLeft(b, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		if json.Unmarshal(b, &inputs) != nil {
			return nil, parseError("Request body is not JSON")
		}
		return inputs, nil
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(b, &o) != nil {
		return nil, parseError("Request body is not JSON")
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if name == "input" {
			if json.Unmarshal(o[name], &inputs) != nil {
				return nil, inputErrors("", [2]string{name, "Must be an array"})
			}
			continue
		}
		reason := "Unknown field"
		if v, ok := settingText(o[name]); ok && name != "dataset_id" {
			reason = s.setField(name, v)
		} else if s.loose {
			reason = ""
		}
		if reason != "" {
			return nil, inputErrors("", [2]string{name, reason})
		}
	}
	return inputs, nil
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
	if json.Unmarshal(raw, &v) != nil {
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

// readForm reads the CSV in the field data; other fields are settings.
func readForm(body io.Reader, boundary string, s *settings) ([]json.RawMessage, error) {
	if boundary == "" {
		return nil, errAttachments
	}
	var inputs []json.RawMessage
	found := false
	form := multipart.NewReader(body, boundary)
	for range maxFormFields {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			if !found {
				return nil, errAttachments
			}
			return inputs, nil
		}
		if err != nil {
			return nil, formError(err)
		}
		if part.FormName() == "data" && !found {
			found = true
			if inputs, err = readCSV(part); err != nil {
				return nil, formError(err)
			}
			continue
		}
		v, err := io.ReadAll(io.LimitReader(part, maxFormValue))
		if err != nil {
			return nil, formError(err)
		}
		reason := "Unknown field"
		if part.FormName() != "dataset_id" && part.FormName() != "data" {
			reason = s.setField(part.FormName(), string(v))
		}
		if reason != "" {
			return nil, inputErrors("", [2]string{part.FormName(), reason})
		}
	}
	return nil, inputErrors("", [2]string{"body", fmt.Sprintf("More than %d fields", maxFormFields)})
}

// formError words what a form's reader gave.
func formError(err error) error {
	var bad *inputError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &bad):
		return bad
	case errors.As(err, &large):
		return tooLarge()
	default:
		return errAttachments
	}
}

// readCSV makes an input of every row: the names are those of the first one. Empty
// cells are fields that are not given. The error is an [*inputError] or the reader's.
func readCSV(r io.Reader) ([]json.RawMessage, error) {
	br := bufio.NewReader(r)
	if mark, _ := br.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = br.Discard(len(byteOrderMark)) // is buffered
	}
	in := csv.NewReader(br)
	in.ReuseRecord = true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, csvError(err)
	}
	names, err := columns(head)
	if err != nil {
		return nil, err
	}
	var inputs []json.RawMessage
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return inputs, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		if len(inputs) == jobs.MaxInputs {
			return nil, inputErrors("", [2]string{"input", fmt.Sprintf("More than %d inputs", jobs.MaxInputs)})
		}
		fields := map[string]string{}
		for i, v := range row {
			if v != "" {
				fields[names[i]] = v
			}
		}
		b, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, b)
	}
}

// columns are the names of the first row.
func columns(head []string) ([]string, error) {
	names := slices.Clone(head)
	if len(names) > maxColumns {
		return nil, parseError("The CSV has more than %d columns", maxColumns)
	}
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if names[i] == "" || slices.Contains(names[:i], names[i]) {
			return nil, parseError("Column %d of the CSV has no name of its own", i+1)
		}
	}
	return names, nil
}

func csvError(err error) error {
	if pe := (*csv.ParseError)(nil); errors.As(err, &pe) {
		return parseError("Line %d of the CSV cannot be read: %v", pe.Line, pe.Err)
	}
	return err
}
