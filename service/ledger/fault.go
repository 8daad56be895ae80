package ledger

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/database"
)

// rowsText is the account of a job's rows as the column has it: JSON, or "" for none.
type rowsText struct{ rows *model.JobRows }

// Value implements driver.Valuer.
func (r rowsText) Value() (driver.Value, error) {
	if !r.rows.Counted && r.rows.Problem == "" {
		return "", nil
	}
	text, err := json.Marshal(r.rows)
	return string(text), err
}

// Scan implements sql.Scanner.
func (r rowsText) Scan(from any) error {
	text, ok := from.(string)
	if ok && text == "" {
		*r.rows = model.JobRows{}
		return nil
	}
	if !ok || json.Unmarshal([]byte(text), r.rows) != nil {
		return fmt.Errorf("%w: an account of rows that cannot be read", database.ErrCorrupt)
	}
	return nil
}

// askedText is what bounds a job's records as the column has it: JSON, or "" where that is not
// known.
type askedText struct{ asked **model.JobAsked }

// Value implements driver.Valuer.
func (a askedText) Value() (driver.Value, error) {
	if *a.asked == nil {
		return "", nil
	}
	text, err := json.Marshal(*a.asked)
	return string(text), err
}

// Scan implements sql.Scanner.
func (a askedText) Scan(from any) error {
	text, ok := from.(string)
	*a.asked = nil
	if ok && text == "" {
		return nil
	}
	if !ok || json.Unmarshal([]byte(text), a.asked) != nil {
		return fmt.Errorf("%w: what a job asked for cannot be read", database.ErrCorrupt)
	}
	return nil
}

// faultText is a job's fault as the column has it: JSON, or "" for none.
type faultText struct{ fault *model.JobFault }

// Value implements driver.Valuer.
func (f faultText) Value() (driver.Value, error) {
	if !f.fault.Any() {
		return "", nil
	}
	text, err := json.Marshal(f.fault)
	return string(text), err
}

// Scan implements sql.Scanner.
func (f faultText) Scan(from any) error {
	text, ok := from.(string)
	if ok && text == "" {
		*f.fault = model.JobFault{}
		return nil
	}
	if !ok || json.Unmarshal([]byte(text), f.fault) != nil {
		return fmt.Errorf("%w: a fault that cannot be read", database.ErrCorrupt)
	}
	return nil
}
