package view

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/jobs"
)

// Job is one job (docs/schema/job.json).
type Job struct {
	ID           string        `json:"id"`
	Snapshot     string        `json:"snapshot"`
	Profile      string        `json:"profile"`
	Dataset      string        `json:"dataset"`
	Key          string        `json:"key"`
	State        string        `json:"state"`
	ServiceState string        `json:"service_state"`
	Status       int           `json:"service_status"`
	Detail       string        `json:"detail"`
	Inputs       int           `json:"inputs"`
	Done         *int          `json:"done"`
	Records      *int          `json:"records"`
	Bytes        int64         `json:"bytes"`
	File         string        `json:"file"`
	SHA256       string        `json:"sha256"`
	Format       string        `json:"format"`
	Rows         *JobRows      `json:"rows"`
	Repeats      string        `json:"repeats"`
	Rejected     *RejectedRows `json:"rejected"`
	Created      time.Time     `json:"created"`
	Updated      time.Time     `json:"updated"`
	Steps        []JobStep     `json:"steps"`
	Diagnosis    *JobFault     `json:"diagnosis"`
}

// RejectedRows are the bad rows of a job's source, and the file that they were kept in.
type RejectedRows struct {
	Rows int    `json:"rows"`
	File string `json:"file"`
}

// JobFault is the verdict on the last call about the job that did not succeed.
type JobFault struct {
	Call string `json:"call"`
	Fault

	LastSeen *time.Time `json:"last_seen"`
	GivenUp  bool       `json:"given_up"`
}

func newJobFault(f model.JobFault) *JobFault {
	if !f.Any() {
		return nil
	}
	return &JobFault{Call: string(f.Call), Fault: NewFault(f), LastSeen: stamp(f.Seen), GivenUp: f.GivenUp}
}

// JobRows accounts for the rows of the downloaded result.
type JobRows struct {
	Returned int           `json:"returned"`
	Useful   int           `json:"useful"`
	Empty    int           `json:"empty"`
	Failed   int           `json:"failed"`
	Errors   []JobRowError `json:"errors"`
	Billed   *int          `json:"billed"`
	Lacking  int           `json:"lacking"`
	Cost     *float64      `json:"cost_estimate"`
}

// JobRowError are the rows that failed in one way.
type JobRowError struct {
	Code  string `json:"code"`
	Class string `json:"class"`
	Cause string `json:"cause"`
	Rows  int    `json:"rows"`
	Text  string `json:"text"`
}

func newJobRows(j model.Job) *JobRows {
	r := j.Rows
	if !r.Counted {
		return nil
	}
	out := &JobRows{
		Returned: r.Returned, Useful: r.Useful, Empty: r.Empty, Failed: r.Failed(), Errors: make([]JobRowError, 0, len(r.Errors)), Billed: counted(r.Billed), Lacking: j.Lacking(),
	}
	if r.Priced {
		out.Cost = &r.Cost
	}
	for _, e := range r.Errors {
		out.Errors = append(out.Errors, JobRowError{Code: e.Code, Class: string(e.Class), Cause: string(e.Cause), Rows: e.Rows, Text: e.Text})
	}
	return out
}

// JobStep is a step of the ledger.
type JobStep struct {
	At    time.Time `json:"at"`
	State string    `json:"state"`
	Text  string    `json:"text"`
}

// NewJob is a job.
func NewJob(j model.Job) Job {
	out := Job{
		ID: j.ID, Snapshot: j.Snapshot, Profile: j.Profile, Dataset: j.Dataset, Key: j.KeyName,
		State: string(j.State), ServiceState: j.Wire, Status: j.Status, Detail: j.Detail, Inputs: j.Inputs,
		Done: counted(j.Done), Records: counted(j.ResultRecords()), Bytes: j.Bytes, File: j.File, SHA256: j.SHA256, Format: j.Rows.Format, Rows: newJobRows(j), Repeats: j.Repeats,
		Created: j.Created.UTC(), Updated: j.Updated.UTC(), Steps: make([]JobStep, 0, len(j.Steps)),
		Diagnosis: newJobFault(j.Fault),
	}
	if bad := j.Rejected(); bad.Rows > 0 {
		out.Rejected = &RejectedRows{bad.Rows, bad.File}
	}
	for _, st := range j.Steps {
		out.Steps = append(out.Steps, JobStep{At: st.At.UTC(), State: string(st.State), Text: st.Text})
	}
	return out
}

// JobEvent is one thing that happened to a job (docs/schema/job-event.json).
type JobEvent struct {
	SchemaVersion Version    `json:"schema_version"`
	At            time.Time  `json:"at"`
	Event         string     `json:"event"`
	Error         string     `json:"error"`
	Next          *time.Time `json:"next"`
	Job           Job        `json:"job"`
}

// JobPlan is a job that is not launched (docs/schema/job-plan.json).
type JobPlan struct {
	SchemaVersion Version           `json:"schema_version"`
	Dataset       string            `json:"dataset"`
	Repeats       string            `json:"repeats"`
	Inputs        int               `json:"inputs"`
	Rows          []json.RawMessage `json:"rows"`
	Bad           int               `json:"bad"`
	Folded        int               `json:"folded"`
	Blank         int               `json:"blank"`
	Records       *float64          `json:"records_estimate"`
	Cost          *float64          `json:"cost_estimate"`
	Basis         string            `json:"basis"`
	Before        []string          `json:"launched_before"`
	Again         bool              `json:"needs_again"`
	Unknown       []string          `json:"inputs_unknown"`
}

// JobPreview is what a job would give, or why that is not known (docs/schema/job-preview.json).
type JobPreview struct {
	SchemaVersion Version                `json:"schema_version"`
	Dataset       string                 `json:"dataset"`
	State         string                 `json:"state"`
	Preview       string                 `json:"preview"`
	Columns       []dialect.LookupColumn `json:"columns"`
	Rows          []json.RawMessage      `json:"rows"`
	Status        int                    `json:"service_status"`
	Error         string                 `json:"error"`
	Diagnosis     *Fault                 `json:"diagnosis"`
}

// RemoteJob is a job as the service lists it (docs/schema/jobs-remote.json).
type RemoteJob struct {
	Snapshot     string `json:"snapshot"`
	Dataset      string `json:"dataset"`
	State        string `json:"state"`
	ServiceState string `json:"service_state"`
	Created      string `json:"created"`
	Records      *int64 `json:"records"`
	ID           string `json:"id"`
}

// Candidate is a job of the service's list (docs/schema/jobs-candidates.json).
type Candidate struct {
	Snapshot string  `json:"snapshot"`
	State    string  `json:"state"`
	Created  string  `json:"created"`
	After    float64 `json:"after_ms"`
	Inputs   *int    `json:"inputs"`
	Against  string  `json:"against"`
}

// RemoteJobs are what "jobs list --remote --json" prints (docs/schema/jobs-remote.json).
type RemoteJobs struct {
	SchemaVersion Version     `json:"schema_version"`
	Jobs          []RemoteJob `json:"jobs"`
}

// NewRemoteJobs are jobs as the service lists them, each with its identifier in the ledger if it
// stands there.
func NewRemoteJobs(all []model.RemoteJob, ledger []model.Job) RemoteJobs {
	out := RemoteJobs{Jobs: make([]RemoteJob, 0, len(all))}
	for _, j := range all {
		one := RemoteJob{Snapshot: j.Snapshot, Dataset: j.Dataset, State: string(j.State), ServiceState: j.Wire}
		if i := slices.IndexFunc(ledger, func(known model.Job) bool { return known.Snapshot == j.Snapshot }); i >= 0 {
			one.ID = ledger[i].ID
		}
		if j.Records >= 0 {
			one.Records = &j.Records
		}
		if !j.Created.IsZero() {
			one.Created = j.Created.UTC().Format(time.RFC3339)
		}
		out.Jobs = append(out.Jobs, one)
	}
	return out
}

// Candidates are what "jobs resolve --json" prints (docs/schema/jobs-candidates.json).
type Candidates struct {
	SchemaVersion Version     `json:"schema_version"`
	Jobs          []Candidate `json:"jobs"`
}

// NewCandidates are the jobs of the service that one of the ledger could be.
func NewCandidates(found []jobs.Candidate) Candidates {
	out := Candidates{Jobs: make([]Candidate, 0, len(found))}
	for _, c := range found {
		out.Jobs = append(out.Jobs, Candidate{
			Snapshot: c.Snapshot, State: string(c.State), Created: c.Created.UTC().Format(time.RFC3339), After: Milliseconds(c.After), Inputs: counted(c.Inputs), Against: c.Against,
		})
	}
	return out
}

// Jobs are what "jobs list --json" prints (docs/schema/jobs.json).
type Jobs struct {
	SchemaVersion Version `json:"schema_version"`
	Total         int     `json:"total"`
	Jobs          []Job   `json:"jobs"`
}

// JobObject is a job by itself (docs/schema/job.json).
type JobObject struct {
	SchemaVersion Version `json:"schema_version"`
	Job
}

// NewJobs are jobs of a ledger that holds total of them.
func NewJobs(found []model.Job, total int) Jobs {
	out := Jobs{Total: total, Jobs: make([]Job, 0, len(found))}
	for _, j := range found {
		out.Jobs = append(out.Jobs, NewJob(j))
	}
	return out
}

// NewJobPreview is a preview that came.
func NewJobPreview(dataset string, p dialect.LookupPreview) JobPreview {
	return JobPreview{
		Dataset: dataset, State: string(model.JobReady), Preview: p.ID, Status: http.StatusOK,
		Columns: list(p.Columns), Rows: list(p.Rows),
	}
}
