package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"zonedeck/service/emulator/jobs"
)

const (
	maxFilterDepth = 3
	maxFilterRules = 100
	maxFilterList  = 1000
)

// condition is a filter over records: a comparison of one field, or several conditions
// under "and" or "or". The shape is an assumption.
type condition struct {
	Name     string      `json:"name"`
	Operator string      `json:"operator"`
	Value    any         `json:"value"`
	Filters  []condition `json:"filters"`
}

// check says what is wrong with a filter. left is how many conditions it may still have.
func (c condition) check(d jobs.Dataset, depth int, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("has more than %d conditions", maxFilterRules)
	}
	if c.Operator == "and" || c.Operator == "or" {
		if len(c.Filters) == 0 {
			return fmt.Errorf("operator %q needs filters", c.Operator)
		}
		if depth > maxFilterDepth {
			return fmt.Errorf("is nested deeper than %d", maxFilterDepth)
		}
		for _, f := range c.Filters {
			if err := f.check(d, depth+1, left); err != nil {
				return err
			}
		}
		return nil
	}
	operators := []string{"=", "!=", "<", "<=", ">", ">=", "in", "not_in", "includes", "not_includes", "is_null", "is_not_null"}
	switch {
	case !slices.Contains(operators, c.Operator):
		return fmt.Errorf("operator %.40q is unknown", c.Operator)
	case !d.HasPath("", c.Name) || strings.Contains(c.Name, "."):
		return fmt.Errorf("field %.40q is unknown", c.Name)
	}
	list, isList := c.Value.([]any)
	if strings.HasSuffix(c.Operator, "in") && (!isList || len(list) > maxFilterList) {
		return fmt.Errorf("operator %q needs a list of at most %d", c.Operator, maxFilterList)
	}
	if !strings.Contains(c.Operator, "null") && c.Value == nil {
		return errors.New("a comparison needs a value")
	}
	return nil
}

// matches reports whether a record passes the filter. A null field matches is_null and the
// negative operators.
func (c condition) matches(r map[string]any) bool {
	switch c.Operator {
	case "and":
		return !slices.ContainsFunc(c.Filters, func(f condition) bool { return !f.matches(r) })
	case "or":
		return slices.ContainsFunc(c.Filters, func(f condition) bool { return f.matches(r) })
	}
	v := r[c.Name]
	switch c.Operator {
	case "is_null":
		return v == nil
	case "is_not_null":
		return v != nil
	case "=":
		return v == c.Value
	case "!=":
		return v != c.Value
	case "in", "not_in":
		list, _ := c.Value.([]any)
		return slices.Contains(list, v) == (c.Operator == "in")
	case "includes", "not_includes":
		has, ok := v.(string)
		want, wok := c.Value.(string)
		return (ok && wok && strings.Contains(strings.ToLower(has), strings.ToLower(want))) == (c.Operator == "includes")
	}
	order, ok := compare(v, c.Value)
	if !ok {
		return false
	}
	switch c.Operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func compare(a, b any) (order int, ok bool) {
	if x, isNumber := a.(float64); isNumber {
		y, ok := b.(float64)
		return cmp.Compare(x, y), ok
	}
	x, isText := a.(string)
	y, ok := b.(string)
	return strings.Compare(x, y), isText && ok
}

// scalar reports whether a JSON value can be compared: a list or an object cannot.
func scalar(v any) bool {
	switch v.(type) {
	case nil, string, float64, bool:
		return true
	}
	return false
}

// readCondition reads a filter; the error is an [*inputError].
func readCondition(raw jsontext.Value, d jobs.Dataset, loose bool) (condition, error) {
	var c condition
	if json.Unmarshal(raw, &c, json.RejectUnknownMembers(!loose)) != nil {
		return c, refused("filter", "Must be an object with name, operator and value, or with operator and filters, and nothing else")
	}
	if err := c.check(d, 1, new(maxFilterRules)); err != nil {
		return c, refused("filter", err.Error())
	}
	if !c.scalars() {
		return c, refused("filter", "compares with texts, numbers and truths")
	}
	return c, nil
}

func (c condition) scalars() bool {
	if list, ok := c.Value.([]any); ok {
		return strings.HasSuffix(c.Operator, "in") && !slices.ContainsFunc(list, func(v any) bool { return !scalar(v) })
	}
	return scalar(c.Value) && !slices.ContainsFunc(c.Filters, func(f condition) bool { return !f.scalars() })
}
