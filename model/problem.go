package model

import (
	"errors"
	"fmt"
	"strings"
)

// FieldProblem says what is wrong with one field of a request.
//
// Field names the form's field: "zone", "url", "via", "key", "format", "method",
// "headers", "body", "country", "session", "password", "required", "dataset",
// "inputs", "dest", "tool", "args", "profile", or an Option's name.
type FieldProblem struct {
	Field string
	Err   error
}

// String is the problem with its field, as an error says it.
func (p FieldProblem) String() string { return p.Field + ": " + p.Err.Error() }

// ErrRequest is wrapped by every RequestError.
var ErrRequest = errors.New("the request cannot be sent as it stands")

// RequestError says why a request cannot be sent as it stands: nothing was sent.
// It holds at least one problem.
type RequestError struct{ Problems []FieldProblem }

// BadField is a RequestError about one field.
func BadField(field, format string, args ...any) *RequestError {
	return &RequestError{Problems: []FieldProblem{{Field: field, Err: fmt.Errorf(format, args...)}}}
}

// Field is the field of the first problem.
func (e *RequestError) Field() string { return e.Problems[0].Field }

// Error names every problem with its field, one a line.
func (e *RequestError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives ErrRequest and the causes.
func (e *RequestError) Unwrap() []error {
	out := []error{ErrRequest}
	for _, p := range e.Problems {
		out = append(out, p.Err)
	}
	return out
}
