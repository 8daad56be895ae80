package ledger

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/database"
)

// jsonText reads and writes a value as a column of JSON, "" for none.
type jsonText[T any] struct {
	value   *T
	name    string // in errors
	present func(T) bool
}

// Value implements driver.Valuer.
func (j jsonText[T]) Value() (driver.Value, error) {
	if !j.present(*j.value) {
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

// rowsText is the column of a job's row counts.
func rowsText(r *model.JobRows) jsonText[model.JobRows] {
	return jsonText[model.JobRows]{r, "a count of rows", func(r model.JobRows) bool { return r.Counted || r.Problem != "" }}
}

// askedText is the column of what bounds a job's records; nil means unknown.
func askedText(a **model.JobAsked) jsonText[*model.JobAsked] {
	return jsonText[*model.JobAsked]{a, "a job's request", func(a *model.JobAsked) bool { return a != nil }}
}

// faultText is the column of a job's fault.
func faultText(f *model.JobFault) jsonText[model.JobFault] {
	return jsonText[model.JobFault]{f, "a fault", model.JobFault.Any}
}
