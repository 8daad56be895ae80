package filter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/itchyny/gojq"
)

// Condition is a jq expression that rows are held against. It is safe for concurrent use.
type Condition struct {
	expr string
	code *gojq.Code
}

// NewCondition reads an expression; the error says what is wrong with it.
func NewCondition(expr string) (*Condition, error) {
	c, err := compile(JQ, expr)
	if err != nil {
		return nil, err
	}
	return &Condition{expr: expr, code: c.code}, nil
}

// String is the expression.
func (c *Condition) String() string { return c.expr }

// Run calls each with a test, which reports whether a row, a JSON text, fulfils the condition: the expression
// gives anything for it that is neither false nor null. The bounds of a filter's run hold for all rows of
// a call together; beyond them the error is ErrTime or ErrMemory. An error of test that is not the run's is about the row.
func (c *Condition) Run(ctx context.Context, each func(test func(row []byte) (bool, error)) error) error {
	ctx, stop := bounded(ctx)
	defer stop()
	err := each(func(row []byte) (bool, error) {
		return c.matches(ctx, row)
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (c *Condition) matches(ctx context.Context, row []byte) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	dec := json.NewDecoder(bytes.NewReader(row))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return false, fmt.Errorf("it is not JSON: %w", err)
	}
	for it := c.code.RunWithContext(ctx, v); ; {
		got, ok := it.Next()
		if !ok {
			return false, nil
		}
		if err, failed := got.(error); failed {
			return false, err
		}
		if got != nil && got != false {
			return true, nil
		}
	}
}
