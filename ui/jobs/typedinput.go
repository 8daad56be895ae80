package jobs

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// typedField begins the names of the fields of a typed input.
const typedField = "in:"

func isTyped(name string) bool { return strings.HasPrefix(name, typedField) }

// sources are where inputs come from; one is typed where its fields are shown.
func sources(shown bool) []widget.Option {
	out := []widget.Option{{Value: sourcePaste, Label: "pasted"}, {Value: sourceFile, Label: "from a file"}}
	if shown {
		out = append([]widget.Option{{Value: sourceTyped, Label: "one"}}, out...)
	}
	return out
}

// shapeTyped gives the form the fields of an input by a method, if they are shown. Values stay
// where another method has a field of the same name.
func (l *launch) shapeTyped(dataset string, way model.CollectMethod, known bool) {
	shape, fields := "", []model.InputField(nil)
	if known && len(way.Fields) > 0 {
		shape, fields = dataset+" "+way.Label(), way.Fields
	}
	if shape == l.shape {
		return
	}
	l.shape = shape
	specs := make([]widget.Field, 0, len(fields))
	for _, f := range fields {
		spec := typedSpec(f)
		if was := l.form.Value(spec.Name); was != "" {
			spec.Value = was
		}
		specs = append(specs, spec)
	}
	l.form.Splice(fieldSource, isTyped, specs...)
	l.form.SetOptions(fieldSource, sources(shape != ""))
	if shape == "" && l.form.Value(fieldSource) == sourceTyped {
		l.form.SetValue(fieldSource, sourcePaste)
	}
	l.typed = specs
}

// typedSpec is the field of a form for a field of an input.
func typedSpec(f model.InputField) widget.Field {
	kind := text.Clean(f.Type)
	spec := widget.Field{Name: typedField + f.Name, Label: text.Clean(f.Name), Kind: widget.FieldText, Value: plainJSON(f.Default), Placeholder: "optional"}
	help := []string{}
	if said := strings.TrimSuffix(text.Clean(f.Description), "."); said != "" {
		help = append(help, said)
	}
	if kind != "" && kind != "text" && kind != f.Name {
		help = append(help, "type "+kind)
	}
	if f.Required {
		spec.Label += " *"
		spec.Placeholder = "required"
		spec.Check = widget.Required("the data set requires it")
	}
	if example := plainJSON(f.Example); example != "" {
		spec.Placeholder += ", e.g. " + example
	}
	if f.Type == "boolean" {
		spec.Kind = widget.FieldChoice
		spec.Options = []widget.Option{{Value: "", Label: "not said"}, {Value: "true", Label: "yes"}, {Value: "false", Label: "no"}}
	}
	if len(help) > 0 {
		words := strings.Join(help, "; ")
		_, first := utf8.DecodeRuneInString(words)
		spec.Help = strings.ToUpper(words[:first]) + words[first:] + "."
	}
	return spec
}

// plainJSON is a JSON text as it is typed: a string without its quotes.
func plainJSON(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) == nil {
		return text.Clean(s)
	}
	return text.Clean(raw)
}

func (l *launch) hideTyped(hidden bool) {
	for _, f := range l.typed {
		l.form.SetHidden(f.Name, hidden)
	}
}

// typedInput is the input that was typed, as a line of NDJSON: a field that is empty is left out.
func (l *launch) typedInput() string {
	values := map[string]string{}
	for _, f := range l.typed {
		if v := strings.TrimSpace(l.form.Value(f.Name)); v != "" {
			values[strings.TrimPrefix(f.Name, typedField)] = v
		}
	}
	line, _ := json.Marshal(values) // of texts: it cannot fail
	return string(line)
}

// markTyped shows what is wrong with the input that was typed at its fields, and gives the first.
func (l *launch) markTyped(problems []service.Problem) (first service.Problem) {
	if l.form.Value(fieldSource) != sourceTyped {
		return first
	}
	for _, p := range problems {
		if !p.Warning && p.Field != "" {
			l.form.SetError(typedField+p.Field, p.Text)
			first = cmp.Or(first, p)
		}
	}
	return first
}
