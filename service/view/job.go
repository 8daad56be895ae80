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
	ID            string        `json:"id"`
	Snapshot      string        `json:"snapshot" jsonschema:"the service's identifier, by which it is asked for the job; empty until it was received"`
	JobID         string        `json:"job_id" jsonschema:"what the service called job_id; empty where it gave none"`
	SnapshotID    string        `json:"snapshot_id" jsonschema:"what the service called snapshot_id; empty where it gave none"`
	Profile       string        `json:"profile"`
	Dataset       string        `json:"dataset"`
	Key           string        `json:"key"`
	State         string        `json:"state" enum:"job state"`
	ServiceState  string        `json:"service_state"`
	ServiceStatus int           `json:"service_status" minimum:"0"`
	Detail        string        `json:"detail"`
	Inputs        int           `json:"inputs" minimum:"0"`
	Done          *int          `json:"done"`
	Records       *int          `json:"records" jsonschema:"the rows with data, as a download counted them, before that as the service says; null where nobody did; error rows are none of them"`
	Bytes         int64         `json:"bytes" minimum:"0"`
	File          string        `json:"file"`
	Machine       string        `json:"machine,omitempty" jsonschema:"The machine that has the file, where that is another of those on one database."`
	SHA256        string        `json:"sha256" jsonschema:"The digest of the downloaded file, in hexadecimal digits; empty without one."`
	Format        string        `json:"format" jsonschema:"How the downloaded file holds its rows: json, ndjson or csv; empty without one, and for one of an older version."`
	Rows          *JobRows      `json:"rows" jsonschema:"What the downloaded result holds: each row is useful, an error (failed) or empty. null until a result was counted."`
	Doubt         string        `json:"doubt" jsonschema:"why the result is none to rely on, though the job went well: its fields drift, or fewer than half of its rows are useful; empty for none"`
	Repeats       string        `json:"repeats" jsonschema:"The job that was launched again by this one, or empty."`
	Rejected      *RejectedRows `json:"rejected" jsonschema:"The bad rows of the source, and the file that they were kept in; null without one."`
	Created       time.Time     `json:"created"`
	Updated       time.Time     `json:"updated"`
	Steps         []JobStep     `json:"steps"`
	Diagnosis     *JobFault     `json:"diagnosis" jsonschema:"The verdict on the last call about the job that did not succeed, or on the job itself; null for none."`
}

// RejectedRows are the bad rows of a job's source, and the file that they were kept in.
type RejectedRows struct {
	Rows int    `json:"rows" minimum:"1"`
	File string `json:"file"`
}

// JobFault is the verdict on the last call about the job that did not succeed.
type JobFault struct {
	Call string `json:"call" enum:"cancel|download|job|progress|trigger"`
	Fault

	LastSeen *time.Time `json:"last_seen" jsonschema:"when the service last answered for the job before that, as far as this ledger knows; null where it never did, or in a ledger of an older version"`
	GivenUp  bool       `json:"given_up" jsonschema:"the job is not over and is not asked for any more because of this: its state is the one that was last seen"`
}

func newJobFault(f model.JobFault) *JobFault {
	if !f.Any() {
		return nil
	}
	return &JobFault{Call: string(f.Call), Fault: NewFault(f), LastSeen: stamp(f.LastAnswer), GivenUp: f.GivenUp}
}

// JobRows accounts for the rows of the downloaded result.
type JobRows struct {
	Returned int           `json:"returned" minimum:"0"`
	Useful   int           `json:"useful" minimum:"0"`
	Empty    int           `json:"empty" minimum:"0"`
	Failed   int           `json:"failed" minimum:"0"`
	Errors   []JobRowError `json:"errors"`
	Billed   *int          `json:"billed" minimum:"0" jsonschema:"rows that the service bills; null where the dialect does not know, and where records are lacking"`
	Lacking  int           `json:"lacking" minimum:"0" jsonschema:"records that the service counted and that did not come; 0 where that is not known"`
	Cost     *float64      `json:"cost" minimum:"0" jsonschema:"what the billed rows cost in dollars, by the rate of the profile's zone; null without a rate"`
	Drift    *JobDrift     `json:"drift" jsonschema:"how the fields differ from those of earlier results; null without drift, or before they were looked at"`
}

// JobDrift is the drift of a result.
type JobDrift struct {
	Text   string `json:"text"`
	Fields int    `json:"fields" minimum:"0" jsonschema:"how many fields drift"`
	Since  string `json:"since" jsonschema:"the last good job; empty without one"`
}

// JobRowError are the rows that failed in one way.
type JobRowError struct {
	Code  string `json:"code" jsonschema:"the service's, empty where a row has none"`
	Class string `json:"class" enum:"failure"`
	Cause string `json:"cause"`
	Rows  int    `json:"rows" minimum:"1"`
	Text  string `json:"text" jsonschema:"what the first of them says"`
}

func newJobRows(j model.Job) *JobRows {
	r := j.Rows
	if !r.Counted {
		return nil
	}
	out := &JobRows{
		Returned: r.Returned, Useful: r.Useful, Empty: r.Empty, Failed: r.Failed(), Billed: counted(r.Billed), Lacking: j.Lacking(), Cost: known(r.Cost, r.Priced),
		Errors: each(r.Errors, func(e model.JobRowErrors) JobRowError {
			return JobRowError{Code: e.Code, Class: string(e.Class), Cause: string(e.Cause), Rows: e.Rows, Text: e.Text}
		}),
	}
	if r.Drift.Text != "" {
		out.Drift = (*JobDrift)(&r.Drift)
	}
	return out
}

// JobStep is a step of the ledger.
type JobStep struct {
	At    time.Time `json:"at"`
	State string    `json:"state" enum:"job state"`
	Text  string    `json:"text"`
}

// NewJob is a job.
func NewJob(j model.Job) Job {
	out := Job{
		ID: j.ID, Snapshot: j.Snapshot, JobID: j.JobID, SnapshotID: j.SnapshotID, Profile: j.Profile, Dataset: j.Dataset, Key: j.KeyName,
		State: string(j.State), ServiceState: j.Wire, ServiceStatus: j.Status, Detail: j.Detail, Inputs: j.Inputs,
		Done: counted(j.Done), Records: counted(j.ResultRecords()), Bytes: j.Bytes, File: j.File, Machine: j.Rows.Machine, SHA256: j.SHA256, Format: j.Rows.Format, Rows: newJobRows(j), Doubt: j.Doubt(), Repeats: j.Repeats,
		Created: j.Created.UTC(), Updated: j.Updated.UTC(), Diagnosis: newJobFault(j.Fault),
		Steps: each(j.Steps, func(st model.JobStep) JobStep {
			return JobStep{At: st.At.UTC(), State: string(st.State), Text: st.Text}
		}),
	}
	if bad := j.Rejected(); bad.Rows > 0 {
		out.Rejected = &RejectedRows{bad.Rows, bad.File}
	}
	return out
}

// JobEvent is one thing that happened to a job (docs/schema/job-event.json).
type JobEvent struct {
	SchemaVersion Version    `json:"schema_version"`
	At            time.Time  `json:"at" jsonschema:"When it was seen here."`
	Event         string     `json:"event" enum:"changed|followed|no_webhook|not_followed|over|unanswered" jsonschema:"followed: the service is asked about it from now on; changed: its state or its counts; unanswered: the last question came to nothing, and there will be another; not_followed: this process does not ask, because its key is rejected or cannot be had, its profile is gone, or the job was given up; another process may ask; over: its state is final; no_webhook: it may have started, and its webhook did not come in time."`
	Error         string     `json:"error" jsonschema:"Why the last question came to nothing, or the job is not followed; empty where neither is so, or nothing is known."`
	Next          *time.Time `json:"next" jsonschema:"When the service is asked next."`
	Job           Job        `json:"job" jsonschema:"The job as in job.json, without schema_version."`
}

// JobPlan is a job that is not launched (docs/schema/job-plan.json).
type JobPlan struct {
	SchemaVersion   Version           `json:"schema_version"`
	Dataset         string            `json:"dataset"`
	Repeats         string            `json:"repeats"`
	Inputs          int               `json:"inputs" minimum:"0"`
	Rows            []json.RawMessage `json:"rows"`
	Bad             int               `json:"bad" minimum:"0"`
	Folded          int               `json:"folded" minimum:"0"`
	Blank           int               `json:"blank" minimum:"0" jsonschema:"rows of a CSV without a value"`
	RecordsEstimate *float64          `json:"records_estimate" minimum:"0"`
	CostEstimate    *float64          `json:"cost_estimate" minimum:"0"`
	Basis           string            `json:"basis"`
	LaunchedBefore  []string          `json:"launched_before"`
	NeedsAgain      bool              `json:"needs_again"`
	InputsUnknown   []string          `json:"inputs_unknown"`
}

// NewJobPlan is what a launch would send.
func NewJobPlan(r jobs.Report) JobPlan {
	before := slices.Clone(r.Before.SameInputs)
	for _, o := range r.Before.Overlapping.Overlaps {
		before = append(before, o.Job)
	}
	slices.SortStableFunc(before, func(a, b model.Job) int { return b.Created.Compare(a.Created) })
	return JobPlan{
		Dataset: r.Request.Dataset, Repeats: r.Request.Repeats, Inputs: len(r.Request.Inputs), Rows: each(r.Request.Inputs, func(in model.JobInput) json.RawMessage { return jobs.InputLine(in) }),
		RecordsEstimate: counted(r.Estimate.Records), CostEstimate: counted(r.Estimate.Dollars),
		Bad: r.Rows.Bad, Folded: r.Rows.Folded, Blank: r.Rows.Blank, Basis: r.Estimate.Basis, LaunchedBefore: jobIDs(before), InputsUnknown: jobIDs(r.Before.Overlapping.Unknown),
		NeedsAgain: slices.ContainsFunc(r.Before.SameInputs, func(j model.Job) bool { return j.ID != r.Request.Repeats }),
	}
}

func jobIDs(list []model.Job) []string { return each(list, func(j model.Job) string { return j.ID }) }

// JobPreview is what a job would give, or why that is not known (docs/schema/job-preview.json).
type JobPreview struct {
	SchemaVersion Version                `json:"schema_version"`
	Dataset       string                 `json:"dataset"`
	State         string                 `json:"state" enum:"accepted|canceled|failed|may_have|not_sent|ready|refused|running" jsonschema:"what the service has: no preview (not_sent, refused); perhaps one (may_have); one that was not over when it was asked for last (accepted, running), that ended without a sample (failed, canceled), or that is here (ready)"`
	Preview       string                 `json:"preview" jsonschema:"the service's identifier of the preview; empty where none came"`
	Columns       []dialect.LookupColumn `json:"columns"`
	Rows          []json.RawMessage      `json:"rows" jsonschema:"records of a sample, as the service gave them"`
	ServiceStatus int                    `json:"service_status" minimum:"0" jsonschema:"the service's HTTP status of the last answer; 0 without a whole one"`
	Error         string                 `json:"error" jsonschema:"why there is no sample; empty where there is one"`
	Diagnosis     *Fault                 `json:"diagnosis" jsonschema:"The verdict on the call that failed, or on the preview; null for a preview that is here, and for an interruption."`
}

// RemoteJob is a job as the service lists it (docs/schema/jobs-remote.json).
type RemoteJob struct {
	Snapshot     string `json:"snapshot" jsonschema:"the service's identifier"`
	Dataset      string `json:"dataset"`
	State        string `json:"state" enum:"canceled|failed|ready|running" jsonschema:"what the service's word means: ready, failed, canceled or, for every other word, running"`
	ServiceState string `json:"service_state" jsonschema:"the service's word"`
	Created      string `json:"created" jsonschema:"RFC 3339; empty where it is not shown"`
	Records      *int64 `json:"records" jsonschema:"null where it is not shown"`
	ID           string `json:"id" jsonschema:"its identifier in the ledger, empty when it does not stand there"`
}

// Candidate is a job of the service's list (docs/schema/jobs-candidates.json).
type Candidate struct {
	Snapshot string  `json:"snapshot"`
	State    string  `json:"state" enum:"canceled|failed|ready|running" jsonschema:"what the service's word means: ready, failed, canceled or, for every other word, running"`
	Created  string  `json:"created" format:"date-time"`
	After    float64 `json:"after_ms" jsonschema:"how long after the console's POST it began, negative before it; by this machine's clock where it is known how far the service's is from it"`
	Inputs   *int    `json:"inputs" minimum:"0"`
	For      string  `json:"for" jsonschema:"what fits: its number of inputs, and how many of them its rows name; or empty"`
	Against  string  `json:"against" jsonschema:"what does not fit or is not known, or empty"`
}

// RemoteJobs are what "jobs list --remote --json" prints (docs/schema/jobs-remote.json).
type RemoteJobs struct {
	SchemaVersion Version     `json:"schema_version"`
	Jobs          []RemoteJob `json:"jobs"`
}

// NewRemoteJobs are jobs as the service lists them, each with its identifier in the ledger if it stands there.
func NewRemoteJobs(list jobs.Listed) RemoteJobs {
	return RemoteJobs{Jobs: each(list.Jobs, func(j model.RemoteJob) RemoteJob {
		return RemoteJob{
			Snapshot: j.Snapshot, Dataset: j.Dataset, State: string(j.State), ServiceState: j.Wire, Created: moment(j.Created),
			Records: counted(j.Records), ID: list.IDs[j.Snapshot],
		}
	})}
}

// Candidates are what "jobs settle --json" prints (docs/schema/jobs-candidates.json).
type Candidates struct {
	SchemaVersion Version     `json:"schema_version"`
	Jobs          []Candidate `json:"jobs"`
}

// NewCandidates are the jobs of the service that one of the ledger could be.
func NewCandidates(found []jobs.Candidate) Candidates {
	return Candidates{Jobs: each(found, func(c jobs.Candidate) Candidate {
		return Candidate{
			Snapshot: c.Snapshot, State: string(c.State), Created: c.Created.UTC().Format(time.RFC3339), After: milliseconds(c.After), Inputs: counted(c.Inputs), For: c.For, Against: c.Against,
		}
	})}
}

// Jobs are what "jobs list --json" prints (docs/schema/jobs.json).
type Jobs struct {
	SchemaVersion Version `json:"schema_version"`
	Total         int     `json:"total" jsonschema:"How many jobs the ledger has; the list may hold fewer."`
	Jobs          []Job   `json:"jobs"`
}

// JobObject is a job by itself (docs/schema/job.json).
type JobObject struct {
	SchemaVersion Version `json:"schema_version"`
	Job
}

// NewJobs are jobs of a ledger that holds total of them.
func NewJobs(found []model.Job, total int) Jobs {
	return Jobs{Total: total, Jobs: each(found, NewJob)}
}

// NewJobPreview is a preview that came.
func NewJobPreview(dataset string, p dialect.LookupPreview) JobPreview {
	return JobPreview{
		Dataset: dataset, State: string(model.JobReady), Preview: p.ID, ServiceStatus: http.StatusOK,
		Columns: list(p.Columns), Rows: list(p.Rows),
	}
}
