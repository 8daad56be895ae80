package cli

import (
	"time"

	"zonedeck/model"
)

// jobJSON is one job (docs/schema/job.json).
type jobJSON struct {
	SchemaVersion int           `json:"schema_version,omitempty"`
	ID            string        `json:"id"`
	Snapshot      string        `json:"snapshot"`
	Profile       string        `json:"profile"`
	Dataset       string        `json:"dataset"`
	Key           string        `json:"key"`
	State         string        `json:"state"`
	ServiceState  string        `json:"service_state"`
	Status        int           `json:"service_status"`
	Detail        string        `json:"detail"`
	Inputs        int           `json:"inputs"`
	Done          *int          `json:"done"`
	Records       *int          `json:"records"`
	Bytes         int64         `json:"bytes"`
	File          string        `json:"file"`
	SHA256        string        `json:"sha256"`
	Format        string        `json:"format"`
	Rows          *jobRowsJSON  `json:"rows"`
	Repeats       string        `json:"repeats"`
	Rejected      *rejectedJSON `json:"rejected"`
	Created       time.Time     `json:"created"`
	Updated       time.Time     `json:"updated"`
	Steps         []jobStepJSON `json:"steps"`
	Diagnosis     *jobFaultJSON `json:"diagnosis"`
}

// rejectedJSON are the bad rows of a job's source, and the file that they were kept in.
type rejectedJSON struct {
	Rows int    `json:"rows"`
	File string `json:"file"`
}

// jobFaultJSON is the verdict on the last call about the job that did not succeed.
type jobFaultJSON struct {
	Call string `json:"call"`
	faultJSON

	LastSeen *time.Time `json:"last_seen"`
	GivenUp  bool       `json:"given_up"`
}

func newJobFaultJSON(f model.JobFault) *jobFaultJSON {
	if !f.Any() {
		return nil
	}
	out := &jobFaultJSON{Call: string(f.Call), faultJSON: newFaultJSON(f), GivenUp: f.GivenUp}
	if !f.Seen.IsZero() {
		seen := f.Seen.UTC()
		out.LastSeen = &seen
	}
	return out
}

// jobRowsJSON accounts for the rows of the downloaded result.
type jobRowsJSON struct {
	Returned int               `json:"returned"`
	Useful   int               `json:"useful"`
	Empty    int               `json:"empty"`
	Failed   int               `json:"failed"`
	Errors   []jobRowErrorJSON `json:"errors"`
	Billed   *int              `json:"billed"`
	Lacking  int               `json:"lacking"`
	Cost     *float64          `json:"cost_estimate"`
}

type jobRowErrorJSON struct {
	Code  string `json:"code"`
	Class string `json:"class"`
	Cause string `json:"cause"`
	Rows  int    `json:"rows"`
	Text  string `json:"text"`
}

func newJobRowsJSON(j model.Job) *jobRowsJSON {
	r := j.Rows
	if !r.Counted {
		return nil
	}
	out := &jobRowsJSON{
		Returned: r.Returned, Useful: r.Useful, Empty: r.Empty, Failed: r.Failed(), Errors: make([]jobRowErrorJSON, 0, len(r.Errors)), Billed: count(r.Billed), Lacking: j.Lacking(),
	}
	if r.Priced {
		out.Cost = &r.Cost
	}
	for _, e := range r.Errors {
		out.Errors = append(out.Errors, jobRowErrorJSON{Code: e.Code, Class: string(e.Class), Cause: string(e.Cause), Rows: e.Rows, Text: e.Text})
	}
	return out
}

type jobStepJSON struct {
	At    time.Time `json:"at"`
	State string    `json:"state"`
	Text  string    `json:"text"`
}

func newJobJSON(j model.Job) jobJSON {
	out := jobJSON{
		ID: j.ID, Snapshot: j.Snapshot, Profile: j.Profile, Dataset: j.Dataset, Key: j.KeyName,
		State: string(j.State), ServiceState: j.Wire, Status: j.Status, Detail: j.Detail, Inputs: j.Inputs,
		Done: count(j.Done), Records: count(j.ResultRecords()), Bytes: j.Bytes, File: j.File, SHA256: j.SHA256, Format: j.Rows.Format, Rows: newJobRowsJSON(j), Repeats: j.Repeats,
		Created: j.Created.UTC(), Updated: j.Updated.UTC(), Steps: make([]jobStepJSON, 0, len(j.Steps)),
		Diagnosis: newJobFaultJSON(j.Fault),
	}
	if bad := j.Rejected(); bad.Rows > 0 {
		out.Rejected = &rejectedJSON{bad.Rows, bad.File}
	}
	for _, st := range j.Steps {
		out.Steps = append(out.Steps, jobStepJSON{At: st.At.UTC(), State: string(st.State), Text: st.Text})
	}
	return out
}

// count is a progress count, or null if the service did not report one.
func count(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}
