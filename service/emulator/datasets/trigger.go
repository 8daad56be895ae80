package datasets

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// serveTrigger is POST /datasets/v3/trigger (service.md 4.2). It answers after the
// job is on disk.
func (a *API) serveTrigger(w http.ResponseWriter, r *http.Request) error {
	basis, dataset := answer.BasisTrigger, ""
	if r.URL.RawQuery == "" { // as the contract shows it
		basis, dataset = basisDefault, jobs.DefaultDataset
	}
	spec, err := a.readSpec(w, r, dataset)
	if err != nil {
		return err
	}
	snap, err := a.conf.Jobs.Trigger(spec)
	if err != nil {
		return fmt.Errorf("starting a job: %w", err)
	}
	return answerJSON(w, basis, map[string]string{"snapshot_id": snap.ID})
}

// serveScrape is POST /datasets/v3/scrape: a trigger that answers with the records if they
// come in time.
func (a *API) serveScrape(w http.ResponseWriter, r *http.Request) error {
	spec, err := a.readSpec(w, r, "")
	if err != nil {
		return err
	}
	if len(spec.Inputs) > maxSyncInputs {
		return refused("input", fmt.Sprintf("At most %d inputs; trigger a job for more", maxSyncInputs))
	}
	snap, err := a.conf.Jobs.Trigger(spec)
	if err != nil {
		return fmt.Errorf("starting a job: %w", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.conf.SyncWait)
	defer cancel()
	if snap, err = a.conf.Jobs.Wait(ctx, snap.ID); err != nil {
		w.Header().Set("Retry-After", retryAfter)
		answer.JSON(w, http.StatusAccepted, basisScrape, map[string]string{
			"snapshot_id": snap.ID, "status": string(snap.Status),
			"message": "Your request is still in progress; follow the snapshot and download it when it is ready",
		})
		return nil
	}
	// Not Download: it would not find the new snapshot within the grace.
	write, err := a.conf.Jobs.Records(snap.ID, spec.Format, jobs.Slice{})
	if err == nil && snap.Rows() == 0 {
		err = jobs.ErrEmpty
	}
	if err != nil {
		return unusable(snap, err)
	}
	a.send(w, snap.ID, spec.Format, false, basisScrape, write)
	return nil
}

// readSpec reads what a call asks for; dataset is the data set of one that names none.
func (a *API) readSpec(w http.ResponseWriter, r *http.Request, dataset string) (jobs.Spec, error) {
	s := settings{spec: jobs.Spec{Format: "json", Dataset: dataset}, loose: a.conf.Loose}
	q := r.URL.Query()
	s.spec.Via = r.URL.Path + "?" + withoutSecrets(q)
	if name, reason := s.parameters().query(q, s.ignoring()); name != "" {
		return s.spec, refused(name, reason)
	}
	if s.spec.Dataset == "" {
		return s.spec, badRequest("dataset missing")
	}
	d, err := jobs.Find(s.spec.Dataset)
	if err != nil {
		return s.spec, errNoDataset()
	}
	if s.spec.Inputs, err = a.readInputs(w, r, &s); err != nil {
		return s.spec, err
	}
	if err := s.finish(d); err != nil {
		return s.spec, err
	}
	if len(s.spec.Inputs) == 0 {
		return s.spec, badRequest("No data to trigger")
	}
	if err := a.check(&s, s.spec.Inputs); err != nil {
		return s.spec, err
	}
	for _, name := range s.ignored {
		answer.NoteUnknown(w, name)
	}
	return s.spec, nil
}

// check checks every input; the error names the first invalid one.
func (a *API) check(s *settings, inputs []json.RawMessage) error {
	fields, err := jobs.InputFields(s.spec.Dataset, s.spec.Discover)
	switch {
	case errors.Is(err, jobs.ErrNoCollection):
		return badRequest("This dataset does not support collection")
	case errors.Is(err, jobs.ErrNoDiscovery):
		return refused("discover_by", "Unknown value for this dataset")
	case err != nil:
		return err
	}
	const maxLine = 1024
	for _, raw := range inputs {
		faults := jobs.CheckInput(fields, raw, a.conf.Loose)
		if a.conf.Loose {
			for _, name := range jobs.UnknownFields(fields, raw) {
				s.ignore("input." + name)
			}
		}
		if len(faults) == 0 {
			continue
		}
		bad := inputErrors(string(raw[:min(len(raw), maxLine)]))
		for _, f := range faults {
			bad.Errors = append(bad.Errors, [2]string{shortened(f.Field), f.Reason})
		}
		return bad
	}
	return nil
}

// settings are the parts of a job besides its inputs, from query, body and form.
type settings struct {
	spec     jobs.Spec
	loose    bool
	kind     string // the parameter type
	notify   string
	endpoint string
	auth     string
	plain    bool
	ignored  []string // unknown names that a loose service accepts
}

const maxIgnored = 20

// parameters are the settings by name. Settings that this emulator does not support are refused
// by name.
func (s *settings) parameters() parameters {
	return parameters{
		"dataset_id": text(&s.spec.Dataset), "include_errors": truth(&s.spec.IncludeErrors),
		"format":          text(&s.spec.Format, oneOf("Must be one of "+strings.Join(jobs.Formats(), ", "), jobs.Formats()...)),
		"limit_per_input": number(&s.spec.LimitPerInput, 1), "limit_multiple_results": number(&s.spec.LimitTotal, 1),
		"type": text(&s.kind, oneOf("Must be discover_new", "discover_new")), "discover_by": text(&s.spec.Discover),
		"custom_output_fields": func(v string) string {
			s.spec.Fields = strings.Split(v, "|")
			return ""
		},
		"notify": func(v string) string {
			if v == "true" || v == "false" {
				return "" // a notice without an address
			}
			return text(&s.notify, wrongWebhook)(v)
		},
		"endpoint": text(&s.endpoint, wrongWebhook), "webhook": text(&s.endpoint, wrongWebhook), "uncompressed_webhook": truth(&s.plain),
		"auth_header": text(&s.auth, wrongAuth), "webhook_header_Authorization": text(&s.auth, wrongAuth),
		"sdk_function": func(string) string { return "" }, // some public clients send it; it has no meaning
	}
}

func (s *settings) ignoring() func(name string) {
	if s.loose {
		return s.ignore
	}
	return nil
}

// ignore notes an unknown name that is accepted.
func (s *settings) ignore(name string) {
	if name = shortened(name); len(s.ignored) < maxIgnored && !slices.Contains(s.ignored, name) {
		s.ignored = append(s.ignored, name)
	}
}

func wrongWebhook(v string) (reason string) {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || len(v) > maxURLBytes {
		return "Must be an absolute http or https address"
	}
	return ""
}

func wrongAuth(v string) (reason string) {
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) || len(v) > maxURLBytes {
		return "Must be a header value"
	}
	return ""
}

// finish checks settings that depend on each other, and adds the webhooks.
func (s *settings) finish(d jobs.Dataset) error {
	if (s.kind != "") != (s.spec.Discover != "") {
		return refused("discover_by", "Goes with type=discover_new")
	}
	for _, f := range s.spec.Fields {
		if !d.HasPath(s.spec.Discover, f) {
			return refused("custom_output_fields", fmt.Sprintf("Unknown field %q", f))
		}
	}
	if s.notify != "" {
		s.spec.Webhooks = append(s.spec.Webhooks, jobs.Webhook{Kind: jobs.Notify, URL: s.notify, Auth: s.auth})
	}
	if s.endpoint != "" {
		s.spec.Webhooks = append(s.spec.Webhooks, jobs.Webhook{
			Kind: jobs.Endpoint, URL: s.endpoint, Auth: s.auth, Format: s.spec.Format, Plain: s.plain,
		})
	}
	return nil
}

// withoutSecrets is the query for a job's log. It masks webhooks, and unknown parameters,
// which could be anything.
func withoutSecrets(q url.Values) string {
	kept := url.Values{}
	for name, vs := range q {
		switch name {
		case "dataset_id", "include_errors", "format", "limit_per_input", "limit_multiple_results", "custom_output_fields",
			"type", "discover_by", "uncompressed_webhook":
			kept[name] = vs
		default:
			kept.Set(name, "***")
		}
	}
	return kept.Encode()
}

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
	rows := &rowReader{r: r, remaining: maxRowBytes}
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
		rows.remaining = maxRowBytes
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
	r         io.Reader
	remaining int
}

func (r *rowReader) Read(p []byte) (int, error) {
	if r.remaining <= 0 {
		return 0, parseError("A row of the CSV is longer than %d bytes", maxRowBytes)
	}
	n, err := r.r.Read(p[:min(len(p), r.remaining)])
	r.remaining -= n
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
