package ledger

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/database"
)

// jsonText is a value as its column has it: JSON, or "" for none.
type jsonText[T any] struct {
	value *T
	name  string // its name in errors
	any   func(T) bool
}

// Value implements driver.Valuer.
func (j jsonText[T]) Value() (driver.Value, error) {
	if !j.any(*j.value) {
		return "", nil
	}
	text, err := json.Marshal(*j.value)
	return string(text), err
}

// Scan implements sql.Scanner.
func (j jsonText[T]) Scan(from any) error {
	var value T
	text, ok := from.(string)
	if !ok || text != "" && json.Unmarshal([]byte(text), &value) != nil {
		return fmt.Errorf("%w: %s cannot be read", database.ErrCorrupt, j.name)
	}
	*j.value = value
	return nil
}

// rowsText is the account of a job's rows.
func rowsText(r *model.JobRows) jsonText[model.JobRows] {
	return jsonText[model.JobRows]{r, "an account of rows", func(r model.JobRows) bool { return r.Counted || r.Problem != "" }}
}

// askedText is what bounds a job's records, or empty if that is not known.
func askedText(a **model.JobAsked) jsonText[*model.JobAsked] {
	return jsonText[*model.JobAsked]{a, "what a job asked for", func(a *model.JobAsked) bool { return a != nil }}
}

// faultText is a job's fault.
func faultText(f *model.JobFault) jsonText[model.JobFault] {
	return jsonText[model.JobFault]{f, "a fault", model.JobFault.Any}
}
