package datasets

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"slices"
	"strings"

	"zonedeck/service/emulator/jobs"
)

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

// formError is the answer to an error of a form's reader.
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
