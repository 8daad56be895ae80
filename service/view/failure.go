package view

import (
	"time"

	"zonedeck/model"
)

// Fault is a verdict on a call that did not succeed. RetryAt is null where the answer did not say when.
type Fault struct {
	Diagnosis

	RetryAfter float64    `json:"retry_after_ms" minimum:"0"`
	RetryAt    *time.Time `json:"retry_at" jsonschema:"when the call may be made again by the answer's own word; null where it said nothing"`
}

// NewFault is a verdict on a call.
func NewFault(f model.JobFault) Fault {
	out := Fault{Diagnosis: newDiagnosis(f.Diagnosis), RetryAfter: milliseconds(f.Diagnosis.RetryAfter)}
	if at, ok := f.RetryAt(); ok {
		out.RetryAt = stamp(at)
	}
	return out
}

// Failure is a failed call of a command that has nothing else to print
// (docs/schema/failure.json).
type Failure struct {
	SchemaVersion Version `json:"schema_version"`
	Doing         string  `json:"doing" jsonschema:"what the call was for"`
	ServiceStatus int     `json:"service_status" minimum:"0" jsonschema:"the service's HTTP status; 0 without a whole answer"`
	Error         string  `json:"error" jsonschema:"what stands on standard error"`
	Diagnosis     Fault   `json:"diagnosis"`
}
