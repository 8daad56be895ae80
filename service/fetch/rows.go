package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// Input is where the rows of a list come from.
type Input struct {
	Source io.Reader
	Name   string   // of the file, for people
	Path   string   // of the file, from wherever it is read; "" for standard input
	Kind   string   // as rows.Read has it
	Column string   // the one with the addresses
	Given  []string // the variables of the template that have values: no column may have the name of one
}

// NewInput is an input by the name of its file, whose ending says its kind where that is ""; "-" is standard input.
func NewInput(source io.Reader, name, kind, column string) Input {
	if name == "-" {
		name = "standard input"
	}
	return Input{Source: source, Name: name, Kind: cmp.Or(kind, strings.TrimPrefix(filepath.Ext(name), ".")), Column: column}
}

// RowURL is the address that the row has.
const RowURL = "{{url}}"

// UsualBody is where a body is cut if nothing else is said, in bytes: it bounds what a try may cost, and memory.
const UsualBody = 10_000_000

// ColumnsOf are the variables of a template that rows give values.
func ColumnsOf(r model.FetchRequest) []string {
	return slices.DeleteFunc(r.Variables(), func(name string) bool { return r.Secrets[name] != "" })
}

// Given are the variables of a draft that have values before the rows are read, which make template of it.
func (d Draft) Given(template model.FetchRequest) []string {
	d.Request.Header = http.Header{"": d.Headers}
	columns := ColumnsOf(template)
	return slices.DeleteFunc(d.Request.Variables(), func(name string) bool { return slices.Contains(columns, name) })
}

// Column gives the columns of a row: a text as it is, another value as JSON.
func Column(values map[string]json.RawMessage) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		raw, ok := values[name]
		var text string
		if ok && len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			return text, true
		}
		return string(raw), ok && string(raw) != "null"
	}
}

// Digest is the same for requests that ask for the same.
func Digest(r model.FetchRequest) [sha256.Size]byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // it is texts and numbers
	}
	return sha256.Sum256(text)
}

// RowTaker takes the rows of an input.
type RowTaker interface {
	// Take takes a row with its request. Its error ends the reading.
	Take(row rows.Record, r model.FetchRequest) error
	// Reject takes one that cannot be used.
	Reject(p rows.Problem)
}

// ReadRows gives every row of an input to a taker, whatever their number. notes are remarks on all of it. Errors are the
// taker's and the context's, those of Request but for what is wrong with single rows, and a
// *model.RequestError: the input cannot be read, or variables of the template are a column of no row.
func (p *Prepared) ReadRows(ctx context.Context, in Input, to RowTaker) (notes []rows.Problem, err error) {
	reader := &rowReader{ctx: ctx, prepared: p, to: to, input: in, lacking: ColumnsOf(p.template)}
	notes, err = rows.Stream(in.Source, in.Kind, in.Column, slices.Clone(reader.lacking), reader)
	switch {
	case reader.fault != nil:
		return notes, reader.fault
	case err != nil:
		return notes, model.BadField("input", "%s: %w; nothing was sent", model.Line(in.Name, 200), err)
	case reader.columns != nil && len(reader.lacking) > 0:
		return notes, reader.noColumn()
	}
	return notes, nil
}

// rowReader makes requests of the rows of an input.
type rowReader struct {
	ctx      context.Context //nolint:containedctx // of the one call that it serves
	prepared *Prepared
	to       RowTaker
	input    Input
	fault    error // not of the input
	// lacking are columns of the template that no row had so far, and columns those of the first row.
	lacking, columns []string
}

func (r *rowReader) Reject(p rows.Problem) { r.to.Reject(p) }

func (r *rowReader) Take(row rows.Record) error {
	if r.ctx.Err() != nil {
		r.fault = context.Cause(r.ctx)
		return r.fault
	}
	for _, name := range r.input.Given {
		if row.Values[name] != nil { // which of the two is meant is not known
			r.fault = model.BadField("input", "{{%s}} has a value already, from --var, the profile or the environment, and %s has a column of this name: rename one of them; nothing was sent", name, model.Line(r.input.Name, 200))
			return r.fault
		}
	}
	r.lacking = slices.DeleteFunc(r.lacking, func(name string) bool { return row.Values[name] != nil })
	if r.columns == nil {
		r.columns = slices.Sorted(maps.Keys(row.Values))
	}
	request, err := r.prepared.Request(r.ctx, Column(row.Values))
	if fault, is := errors.AsType[*model.RequestError](err); is {
		r.to.Reject(rows.Problem{Row: row.Number, Line: row.Line, Text: oneLine(fault)})
		return nil
	}
	if err == nil {
		err = r.to.Take(row, request)
	}
	r.fault = err
	return err
}

// noColumn says which variables of the template are columns of no row.
func (r *rowReader) noColumn() error {
	problems := make([]model.FieldProblem, len(r.lacking))
	for i, name := range r.lacking {
		hint := ""
		if name == "url" {
			hint = ": name the one that holds the addresses"
		}
		problems[i] = model.FieldProblem{Field: r.prepared.template.VariableField(name), Err: fmt.Errorf(
			"{{%s}} has no value: it is no variable, and %s has no such column, but %s%s; nothing was sent",
			name, model.Line(r.input.Name, 200), model.Line(strings.Join(r.columns, ", "), 300), hint)}
	}
	return &model.RequestError{Problems: problems}
}
