package rows

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"zonedeck/model"
)

// Asked is what the inputs of a job hold: a row with nothing else has no data. The zero value has no inputs.
// It is safe for concurrent use.
type Asked struct {
	values  map[[2]string]bool // names and texts of the inputs' fields
	longest int                // fields of the input that has most of them
}

// NewAsked gathers the fields of a job's inputs.
func NewAsked(inputs []model.JobInput) Asked {
	a := Asked{values: map[[2]string]bool{}}
	for _, in := range inputs {
		fields := textsOf(Input(in))
		a.longest = max(a.longest, len(fields))
		for name, text := range fields {
			a.values[[2]string{name, text}] = true
		}
	}
	return a
}

// Judge is the row, without Data if each value of it was asked for under its name.
func (a Asked) Judge(r Row) Row {
	if !r.Data || len(a.values) == 0 || r.each == nil {
		return r
	}
	r.Data = false
	r.Each(func(name string, value gjson.Result) bool {
		r.Data = filled(value) && !a.values[[2]string{name, textOf(value)}]
		return !r.Data
	})
	return r
}

// textOf is a value as text.
func textOf(value gjson.Result) string {
	if value.IsArray() || value.IsObject() {
		return nested(json.RawMessage(value.Raw))
	}
	return value.String()
}
