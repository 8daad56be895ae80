package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
)

// Kind is how a field of a tool's arguments is filled in.
type Kind string

// The kinds of inputs. Lines is a list of texts, one a line; JSON is anything else.
const (
	KindText    Kind = "text"
	KindNumber  Kind = "number"
	KindInteger Kind = "integer"
	KindSwitch  Kind = "switch"
	KindChoice  Kind = "choice"
	KindLines   Kind = "lines"
	KindJSON    Kind = "json"
)

// Input is one field of a tool's arguments, as its schema describes it. Texts are remote.
type Input struct {
	Name        string
	Kind        Kind
	Required    bool
	Description string
	// Choices are the values there are, in the order of the schema.
	Choices []string
	// Default is the value that the tool takes without one, as Text writes it, or "".
	Default string
}

// The bounds on a schema.
const (
	maxInputs  = 100
	maxChoices = 200
	maxWords   = 300 // bytes of a description
	maxName    = 200
	maxDefault = 4 << 10 // bytes of a default
)

// newTool reads a tool as the endpoint describes it.
func newTool(t *mcp.Tool) Tool {
	out := Tool{Name: t.Name, Title: model.Line(t.Title, maxWords), Description: model.Line(t.Description, 4*maxWords)}
	if a := t.Annotations; a != nil && out.Title == "" {
		out.Title = model.Line(a.Title, maxWords)
	}
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return out
	}
	out.Inputs = inputs(raw)
	return out
}

// property is a schema of one field, as far as a form can use it.
type property struct {
	Type        json.RawMessage   `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Description string            `json:"description"`
	Items       struct {
		Type json.RawMessage `json:"type"`
	} `json:"items"`
}

// inputs reads the JSON schema of a tool's arguments: its properties, the required ones
// first and else in the order of their names, since JSON objects have none. What a form
// cannot offer becomes a field for JSON; what is not a schema has no fields.
func inputs(schema []byte) []Input {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	var out []Input
	for name, raw := range object.Properties {
		if name == "" || model.Line(name, maxName) != name {
			continue
		}
		var p property
		_ = json.Unmarshal(raw, &p) // true, or what cannot be read: a field for JSON
		in := Input{Name: name, Required: slices.Contains(object.Required, name), Description: model.Line(p.Description, maxWords)}
		in.Kind, in.Choices = p.kind()
		in.Default = model.Cut(in.Text(p.Default), maxDefault)
		out = append(out, in)
	}
	slices.SortFunc(out, func(a, b Input) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return slices.Clone(out[:min(len(out), maxInputs)])
}

// kind is how the field is filled in, with its choices.
func (p property) kind() (Kind, []string) {
	var choices []string
	for _, e := range p.Enum {
		var s string
		if json.Unmarshal(e, &s) != nil || s == "" || model.Line(s, maxName) != s || len(choices) == maxChoices {
			choices = nil
			break
		}
		choices = append(choices, s)
	}
	if len(choices) > 0 {
		return KindChoice, choices
	}
	switch types := typesOf(p.Type); {
	case len(p.Enum) > 0:
		return KindJSON, nil
	case slices.Contains(types, "string"):
		return KindText, nil
	case slices.Equal(types, []string{"integer"}):
		return KindInteger, nil
	case slices.Equal(types, []string{"number"}):
		return KindNumber, nil
	case slices.Equal(types, []string{"boolean"}):
		return KindSwitch, nil
	case slices.Equal(types, []string{"array"}) && slices.Equal(typesOf(p.Items.Type), []string{"string"}):
		return KindLines, nil
	default:
		return KindJSON, nil
	}
}

// typesOf reads "string" or ["string","null"], without null.
func typesOf(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	return slices.DeleteFunc(many, func(s string) bool { return s == "null" })
}

// Text is a JSON value as the field's text; "" for none.
func (in Input) Text(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	var list []string
	var truth bool
	switch {
	case in.Kind == KindSwitch && json.Unmarshal(raw, &truth) == nil:
		return strconv.FormatBool(truth)
	case in.Kind == KindLines && json.Unmarshal(raw, &list) == nil && !slices.ContainsFunc(list, func(s string) bool { return s == "" || strings.Contains(s, "\n") }):
		return strings.Join(list, "\n")
	case in.Kind != KindJSON && json.Unmarshal(raw, &s) == nil:
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

// Value is a field's text as a JSON value, nil for an empty one. The error says how to
// write it.
func (in Input) Value(text string) (json.RawMessage, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		if in.Required {
			return nil, fmt.Errorf("%s is required", in.Name)
		}
		return nil, nil
	}
	switch in.Kind {
	case KindInteger:
		if _, err := strconv.ParseInt(trimmed, 10, 64); err != nil || !json.Valid([]byte(trimmed)) {
			return nil, fmt.Errorf("%q is not a whole number", model.Cut(trimmed, 20))
		}
		return json.RawMessage(trimmed), nil
	case KindNumber:
		if !json.Valid([]byte(trimmed)) || strings.Trim(trimmed, "+-.0123456789eE") != "" {
			return nil, fmt.Errorf("%q is not a number", model.Cut(trimmed, 20))
		}
		return json.RawMessage(trimmed), nil
	case KindSwitch:
		if trimmed != "true" && trimmed != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", model.Cut(trimmed, 20))
		}
		return json.RawMessage(trimmed), nil
	case KindChoice:
		if !slices.Contains(in.Choices, trimmed) {
			return nil, fmt.Errorf("%q is not one of the tool's values", model.Cut(trimmed, 20))
		}
		return encoded(trimmed)
	case KindLines:
		var lines []string
		for line := range strings.Lines(trimmed) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		return encoded(lines)
	case KindJSON:
		if !json.Valid([]byte(trimmed)) {
			return nil, fmt.Errorf("%q is not JSON", model.Cut(model.Line(trimmed, 40), 40))
		}
		return json.RawMessage(trimmed), nil
	default:
		return encoded(text)
	}
}

// PageArgs are the arguments of a tool that fetches a page.
func PageArgs(url string) (json.RawMessage, error) { return encoded(map[string]string{"url": url}) }

// encoded is v as JSON, with "&" and "<" as they are.
func encoded(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Args writes the arguments of a tool from its fields' texts; a field without text is left
// out. Names are in the order of the fields. problems are by the field's name; args is then
// what could be written.
func (t Tool) Args(text func(name string) string) (args string, problems map[string]error) {
	var b strings.Builder
	b.WriteByte('{')
	problems = map[string]error{}
	for _, in := range t.Inputs {
		value, err := in.Value(text(in.Name))
		if err != nil {
			problems[in.Name] = err
		}
		if value == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, err := encoded(in.Name)
		if err != nil {
			problems[in.Name] = err
			continue
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.String(), problems
}

// Texts are the texts of a tool's fields for arguments that were written before. left says
// that the arguments hold what no field has, or are not an object.
func (t Tool) Texts(args string) (texts map[string]string, left bool) {
	var given map[string]json.RawMessage
	if args != "" && json.Unmarshal([]byte(args), &given) != nil {
		return nil, true
	}
	texts = map[string]string{}
	for _, in := range t.Inputs {
		if raw, ok := given[in.Name]; ok {
			texts[in.Name] = in.Text(raw)
			delete(given, in.Name)
		}
	}
	return texts, len(given) > 0
}
