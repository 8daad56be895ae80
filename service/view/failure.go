package view

import (
	"time"

	"zonedeck/model"
)

// Fault is a verdict on a call that did not succeed. RetryAt is null where the answer did not say when.
type Fault struct {
	Diagnosis

	RetryAfter float64    `json:"retry_after_ms"`
	RetryAt    *time.Time `json:"retry_at"`
}

// NewFault is a verdict on a call.
func NewFault(f model.JobFault) Fault {
	out := Fault{Diagnosis: NewDiagnosis(f.Diagnosis), RetryAfter: Milliseconds(f.Diagnosis.RetryAfter)}
	if at, ok := f.RetryAt(); ok {
		out.RetryAt = stamp(at)
	}
	return out
}

// Failure is a failed call of a command that has nothing else to print
// (docs/schema/failure.json).
type Failure struct {
	SchemaVersion Version `json:"schema_version"`
	Doing         string  `json:"doing"`
	Status        int     `json:"service_status"`
	Error         string  `json:"error"`
	Diagnosis     Fault   `json:"diagnosis"`
}
