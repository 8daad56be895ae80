package rows

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"zonedeck/model"
)

// Match finds the inputs of a job that gave data. It matches a row to an input by the input that
// the row names, never by position, because rows come in any order. A service sends numbers back as
// texts, leaves out empty fields and adds defaults, so a row belongs to an input if it has all of the
// input's fields with the same texts. A row without an input is matched by its own fields.
type Match struct {
	inputs []model.JobInput
	shapes [][]string       // the sets of field names among the inputs
	at     map[string][]int // places of the inputs with these fields and texts
	state  []inputState
	// Unmatched counts rows that belong to none of the inputs, or name none.
	Unmatched int
}

type inputState byte

const (
	gaveNothing inputState = iota
	gaveError
	gaveData
)

// NewMatch begins with the inputs of a job.
func NewMatch(inputs []model.JobInput) *Match {
	m := &Match{inputs: inputs, at: make(map[string][]int, len(inputs)), state: make([]inputState, len(inputs))}
	shapes := map[string]bool{}
	for i, in := range inputs {
		fields := textsOf(Input(in))
		names := make([]string, 0, len(fields))
		for name := range fields {
			names = append(names, name)
		}
		slices.Sort(names)
		if key := strings.Join(names, "\x00"); !shapes[key] {
			shapes[key] = true
			m.shapes = append(m.shapes, names)
		}
		key := matchKey(names, fields)
		m.at[key] = append(m.at[key], i)
	}
	// An input with more fields is the better match.
	slices.SortStableFunc(m.shapes, func(a, b []string) int { return len(b) - len(a) })
	return m
}

// Row takes one row of the result.
func (m *Match) Row(r Row) {
	places := m.Named(r)
	if len(places) == 0 && len(m.inputs) == 1 && len(r.Input) == 0 {
		places = []int{0} // it can be of no other
	}
	for _, i := range places {
		m.count(i, r)
	}
	if len(places) == 0 {
		m.Unmatched++
	}
}

// Named are the places of the inputs that a row names, by its own input or, where it has none, by its fields.
func (m *Match) Named(r Row) []int {
	var fields map[string]string
	switch {
	case len(r.Input) > 0:
		fields = textsOf(r.Input)
	case r.fields != nil:
		fields = r.fields()
	}
	if fields == nil {
		return nil
	}
	for _, names := range m.shapes {
		if places := m.at[matchKey(names, fields)]; len(places) > 0 {
			return places
		}
	}
	return nil
}

// count counts a row for an input.
func (m *Match) count(i int, r Row) {
	state := gaveNothing
	switch {
	case r.Data:
		state = gaveData
	case r.Error:
		state = gaveError
	}
	m.state[i] = max(m.state[i], state)
}

// Missing are the inputs that gave no data, in their order, and how many of them gave an
// error.
func (m *Match) Missing() (rest []model.JobInput, failed int) {
	for i, in := range m.inputs {
		switch m.state[i] {
		case gaveData:
			continue
		case gaveError:
			failed++
		}
		rest = append(rest, in)
	}
	return rest, failed
}

// textsOf are the fields of a JSON object that say anything, each as text.
func textsOf(object json.RawMessage) map[string]string {
	fields := map[string]string{}
	gjson.ParseBytes(object).ForEach(func(name, value gjson.Result) bool {
		if filled(value) {
			fields[name.Str] = textOf(value)
		}
		return true
	})
	return fields
}

// matchKey is the names with their texts; a field that is not there has no key of an input.
func matchKey(names []string, fields map[string]string) string {
	var b strings.Builder
	for _, name := range names {
		b.Write(jsonText(name))
		if text, ok := fields[name]; ok {
			b.Write(jsonText(text))
		}
	}
	return b.String()
}
