package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zonedeck/model"
)

// Shape says what inputs the rows are read as. The zero Shape takes rows with a url, as the contract
// shows them.
type Shape struct {
	// Fields are those of an input; nil where they are not shown.
	Fields []model.InputField
	// Strict refuses rows with other fields; without it they are noted and sent. A column of a table
	// that no field takes is always noted and not sent.
	Strict bool
	// Free takes rows without a url if Fields are not shown.
	Free bool
	// Map gives columns of a table the name of a field, or "" to leave one out. Columns that it
	// does not name get the field that their header suggests.
	Map map[string]string
	// Names are further columns by which a table is known as one.
	Names []string
}

// known reports whether the fields are shown.
func (s Shape) known() bool { return s.Fields != nil }

func (s Shape) field(name string) (model.InputField, bool) {
	return model.CollectMethod{Fields: s.Fields}.Field(name)
}

// only is the field for a row with a single value: the required one or, if none is required, the url.
func (s Shape) only() (model.InputField, error) {
	if !s.known() {
		return model.InputField{Name: urlField, Type: typeURL}, nil
	}
	required := model.CollectMethod{Fields: s.Fields}.Required()
	if len(required) == 1 {
		f, _ := s.field(required[0])
		return f, nil
	}
	if len(required) > 1 {
		return model.InputField{}, fmt.Errorf("it is one value, and a row needs %s: give CSV, JSON or NDJSON", strings.Join(required, " and "))
	}
	if f, ok := s.field(urlField); ok {
		return f, nil
	}
	if len(s.Fields) == 1 {
		return s.Fields[0], nil
	}
	return model.InputField{}, errors.New("it is one value without the name of its field: give CSV, JSON or NDJSON")
}

const (
	urlField = "url"
	typeURL  = "url"
)

// Column is a column of a table and the field that it fills, "" for none.
type Column struct{ Name, Field string }

// Inputs are the rows of a source.
type Inputs struct {
	// Rows are the good rows, each once.
	Rows []model.JobInput
	// Bad counts rows that cannot be used, Folded rows that repeat another, Blank rows of a table without
	// a value.
	Bad, Folded, Blank int
	Problems           []Problem
	// Columns are those of a table.
	Columns []Column
	// Rejected are the bad rows as they stood in the source, a table's below its header;
	// RejectedKind is the kind of that text, as the extension of a file's name.
	Rejected     []byte
	RejectedKind string
}

// Sample are the first n inputs; all of them for 0.
func Sample(inputs []model.JobInput, n int) []model.JobInput {
	if n <= 0 || n > len(inputs) {
		return inputs
	}
	return inputs[:n]
}

// check gives the fields of a row, by name as JSON texts, as an input. The fault names the
// field that is wrong, "" for the row as a whole.
func (s Shape) check(values map[string]json.RawMessage) (input model.JobInput, notes []string, wrong *fault) {
	if len(values) > maxExtras+1 {
		return input, nil, &fault{text: fmt.Sprintf("it has %d fields; at most %d are sent", len(values), maxExtras+1)}
	}
	if wrong := s.complete(values); wrong != nil {
		return input, nil, wrong
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // the same one is told each time
		raw := values[name]
		f, ok := s.field(name)
		switch {
		case !ok && s.Strict:
			return input, nil, &fault{name, "the data set has no such field; it takes " + fieldNames(s.Fields)}
		case !ok && s.known():
			notes = append(notes, name)
		}
		if name == urlField && f.Type == "" {
			f.Name, f.Type = urlField, typeURL
		}
		value, err := fit(f, raw)
		if err != nil {
			return input, nil, &fault{name, err.Error()}
		}
		if name != urlField {
			if input.Extra == nil {
				input.Extra = make(map[string]string, len(values))
			}
			input.Extra[name] = string(value)
			continue
		}
		_ = json.Unmarshal(value, &input.URL) // it fits, so it is a text
	}
	switch {
	case input.URL != "" || s.known() && len(values) > 0 || s.Free && len(input.Extra) > 0:
		slices.Sort(notes)
		return input, notes, nil
	case s.known() || s.Free:
		return input, nil, &fault{text: "it has no value"}
	default:
		return input, nil, &fault{text: "it has no url; expected an absolute address, like https://example.com/page"}
	}
}

// complete fills in the defaults of fields that are required, and says which has no value.
func (s Shape) complete(values map[string]json.RawMessage) *fault {
	for _, f := range s.Fields {
		raw, given := values[f.Name]
		switch {
		case !f.Required || given && !isEmpty(raw):
		case f.Default == "" || given:
			return &fault{f.Name, "it is required and has no value"}
		default:
			values[f.Name] = json.RawMessage(f.Default)
		}
	}
	return nil
}

// fault is what is wrong with a row, in one field or as a whole.
type fault struct{ field, text string }

// isEmpty reports whether a value is null or an empty text.
func isEmpty(raw json.RawMessage) bool {
	return string(raw) == "null" || string(raw) == `""` || len(bytes.TrimSpace(raw)) == 0
}

func fieldNames(fields []model.InputField) string {
	if len(fields) == 0 {
		return "none"
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// fit is a value as the field takes it. A type that is not known takes anything.
func fit(f model.InputField, raw json.RawMessage) (json.RawMessage, error) {
	var text string
	isText := json.Unmarshal(raw, &text) == nil
	if string(raw) == "null" {
		if f.Type == typeURL && f.Name == urlField {
			return nil, errors.New("it is null; expected an absolute address")
		}
		return raw, nil
	}
	switch f.Type {
	case typeURL:
		return fitURL(f, raw, text, isText)
	case "number":
		if isText {
			raw = json.RawMessage(strings.TrimSpace(text))
		}
		var n json.Number
		if !json.Valid(raw) || json.Unmarshal(raw, &n) != nil || raw[0] == '"' {
			return nil, fmt.Errorf("%s is not a number", quoteValue(text, raw, isText))
		}
	case "boolean":
		if isText {
			raw = json.RawMessage(strings.ToLower(strings.TrimSpace(text)))
		}
		if string(raw) != "true" && string(raw) != "false" {
			return nil, fmt.Errorf("%s is not true or false", quoteValue(text, raw, isText))
		}
	case "array", "object":
		return fitNested(f.Type, raw, text, isText)
	case "text":
		if !isText && (raw[0] == '[' || raw[0] == '{') {
			return nil, fmt.Errorf("%s is not a text", cut(string(raw), 60))
		}
	}
	return raw, nil
}

// fitURL is an address. A field besides url may be empty.
func fitURL(f model.InputField, raw json.RawMessage, text string, isText bool) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	switch {
	case !isText:
		return nil, fmt.Errorf("it is %s; expected a text", cut(string(raw), 60))
	case text == "" && f.Name != urlField:
		return raw, nil
	case text == "":
		return nil, errors.New("it has no url; expected an absolute address, like https://example.com/page")
	}
	if err := checkURL(text); err != nil {
		return nil, fmt.Errorf("%s: %w", Quote(text), err)
	}
	return jsonText(text), nil
}

// fitNested is an array or an object, which a cell of a table has as its text.
func fitNested(kind string, raw json.RawMessage, text string, isText bool) (json.RawMessage, error) {
	open := byte('[')
	if kind == "object" {
		open = '{'
	}
	if isText {
		raw = json.RawMessage(strings.TrimSpace(text))
	}
	if len(raw) == 0 || raw[0] != open || !json.Valid(raw) {
		return nil, fmt.Errorf("%s is not a JSON %s", quoteValue(text, raw, isText), kind)
	}
	return raw, nil
}

// quoteValue quotes a value for an error.
func quoteValue(text string, raw json.RawMessage, isText bool) string {
	if isText {
		return Quote(text)
	}
	return cut(string(raw), 60)
}

// propose gives each column the field that its header suggests, and then what the operator's
// map says. The error says what keeps the table from being used.
func (s Shape) propose(header []string) ([]Column, error) {
	p := proposal{columns: make([]Column, len(header)), taken: map[string]bool{}}
	for i, name := range header {
		p.columns[i].Name = name
	}
	if err := s.mapped(&p); err != nil {
		return nil, err
	}
	for _, same := range likeness {
		for i, name := range header {
			if _, mapped := s.Map[name]; mapped {
				continue
			}
			for _, f := range s.columnsFor() {
				if same(name, f) {
					p.assign(i, f)
				}
			}
		}
	}
	if !s.known() { // every column is a field of its own name
		for i, name := range header {
			if _, mapped := s.Map[name]; !mapped {
				p.assign(i, name)
			}
		}
	}
	return p.columns, s.lacking(p.columns)
}

// proposal is the columns with the fields that they fill, each field once.
type proposal struct {
	columns []Column
	taken   map[string]bool
}

func (p *proposal) assign(i int, field string) {
	if field != "" && !p.taken[field] && p.columns[i].Field == "" {
		p.columns[i].Field, p.taken[field] = field, true
	}
}

// likeness are the ways in which a header names a field, the surest first.
var likeness = []func(name, field string) bool{
	func(name, field string) bool { return name == field },
	func(name, field string) bool { return plain(name) == plain(field) },
	func(name, field string) bool {
		return field == urlField && slices.Contains([]string{"link", "href", "address", "page", "website", "uri"}, plain(name))
	},
}

// mapped takes what the operator's map says.
func (s Shape) mapped(p *proposal) error {
	names := make([]string, len(p.columns))
	for i, c := range p.columns {
		names[i] = c.Name
		to, ok := s.Map[c.Name]
		if !ok {
			continue
		}
		if _, has := s.field(to); to != "" && !has && s.Strict {
			return fmt.Errorf("column %s cannot fill %q: the data set takes %s", Quote(c.Name), to, fieldNames(s.Fields))
		}
		if p.taken[to] {
			return fmt.Errorf("two columns fill %q", to)
		}
		p.assign(i, to)
	}
	for name := range s.Map {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no column %s; the header has %s", Quote(name), Quote(strings.Join(names, ", ")))
		}
	}
	return nil
}

// columnsFor are the fields that columns are looked for.
func (s Shape) columnsFor() []string {
	if !s.known() {
		return []string{urlField}
	}
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// lacking says which required fields no column fills.
func (s Shape) lacking(columns []Column) error {
	fills := func(name string) bool {
		return slices.ContainsFunc(columns, func(c Column) bool { return c.Field == name })
	}
	var missing []string
	for _, f := range s.Fields {
		if f.Required && f.Default == "" && !fills(f.Name) {
			missing = append(missing, f.Name)
		}
	}
	if !s.known() && !s.Free && !fills(urlField) {
		missing = []string{urlField}
	}
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return &ColumnError{Missing: missing, Header: names}
}

// ColumnError says that no column of a table fills fields that are required; Shape.Map can name
// one for each.
type ColumnError struct {
	Missing []string // fields
	Header  []string // the table's
}

func (e *ColumnError) Error() string {
	return fmt.Sprintf("the header has no %s column: %s", strings.Join(e.Missing, " and no "), Quote(strings.Join(e.Header, ", ")))
}

// plain is a name without what its spellings differ in.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.\"", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}
