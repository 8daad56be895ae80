package datasets

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
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
	// Read the rest, because a client that still sends would get a reset instead of the answer.
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
	return nil, bodyError(err, parseError("Request body is not JSON")) // err is nil for a second value
}

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

const (
	maxColumns    = 100
	maxFormFields = 50
	maxRowBytes   = 256 << 10

	byteOrderMark = "\ufeff"
)

// readForm reads the CSV in the field data; other fields are settings.
func readForm(body io.Reader, boundary string, s *settings) ([]json.RawMessage, error) {
	if boundary == "" {
		return nil, errAttachments()
	}
	var inputs []json.RawMessage
	found := false
	form := multipart.NewReader(body, boundary)
	for range maxFormFields {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			if !found {
				return nil, errAttachments()
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
		v, err := io.ReadAll(io.LimitReader(part, maxSettingBytes+1))
		if err != nil {
			return nil, formError(err)
		}
		reason := "Unknown field"
		switch {
		case len(v) > maxSettingBytes:
			reason = fmt.Sprintf("Must be at most %d bytes", maxSettingBytes)
		case part.FormName() != "dataset_id" && part.FormName() != "data":
			reason = s.setField(part.FormName(), string(v))
		}
		if reason != "" {
			return nil, refused(shortened(part.FormName()), reason)
		}
	}
	return nil, refused("body", fmt.Sprintf("More than %d fields", maxFormFields))
}

func formError(err error) error { return bodyError(err, errAttachments()) }

// readCSV makes an input of every row; the first row has the names. It leaves out empty
// cells. The error is an [*inputError] or the reader's.
func readCSV(r io.Reader) ([]json.RawMessage, error) {
	rows := &rowReader{r: r, left: maxRowBytes}
	br := bufio.NewReader(rows)
	if mark, _ := br.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = br.Discard(len(byteOrderMark)) // buffered, so it cannot fail
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
		rows.left = maxRowBytes
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return inputs, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		if len(inputs) == jobs.MaxInputs {
			return nil, tooMany()
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

// rowReader fails at a row that is too long: the CSV reader holds a whole row in memory, and
// some 24 bytes for each comma.
type rowReader struct {
	r    io.Reader
	left int
}

func (r *rowReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, parseError("A row of the CSV is longer than %d bytes", maxRowBytes)
	}
	n, err := r.r.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

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
