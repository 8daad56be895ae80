package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// JobState is where a dataset job stands in the console's ledger. States of
// jobs are not shown by the contract (service.md 3): accepted and what follows
// comes from a dialect, what precedes it is the console's own.
type JobState string

// The states of the ledger.
const (
	JobIntent     JobState = "intent"     // written before anything was sent
	JobSending    JobState = "sending"    // the POST is on its way
	JobMayHave    JobState = "may_have"   // the connection broke after sending: it may have started
	JobRefused    JobState = "refused"    // the service answered and did not start it
	JobNotSent    JobState = "not_sent"   // it is certain that nothing was sent, or a person says that it had not started
	JobAccepted   JobState = "accepted"   // an identifier was received
	JobRunning    JobState = "running"    // the service says it works on it
	JobReady      JobState = "ready"      // results can be downloaded
	JobDownloaded JobState = "downloaded" // a result is on this disk, with its digest and its rows
	JobFailed     JobState = "failed"     // the service says it failed
	JobCanceled   JobState = "canceled"   // cancelled
	JobExpired    JobState = "expired"    // the service no longer has the result, or no longer knows the job
)

// JobStates lists the states in the order in which a job may reach them.
func JobStates() []JobState {
	return []JobState{
		JobIntent, JobSending, JobNotSent, JobRefused, JobMayHave, JobAccepted, JobRunning, JobReady, JobDownloaded, JobFailed, JobCanceled, JobExpired,
	}
}

// Label is the state in words.
func (s JobState) Label() string {
	switch s {
	case JobMayHave:
		return "may have started"
	case JobNotSent:
		return "not sent"
	case JobCanceled:
		return "cancelled"
	default:
		return string(s)
	}
}

// CompareJobs orders a list of jobs: those that may have started need a person and come first, and of others the newest.
func CompareJobs(a, b Job) int {
	waits := map[JobState]int{JobMayHave: -1}
	return cmp.Or(waits[a.State]-waits[b.State], b.Created.Compare(a.Created))
}

// Predicate is the state as what a sentence says of the job: "the job has failed".
func (s JobState) Predicate() string {
	switch s {
	case JobIntent:
		return "is not sent yet"
	case JobSending:
		return "is being sent"
	case JobMayHave:
		return s.Label()
	case JobRefused, JobNotSent, JobCanceled:
		return "was " + s.Label()
	case JobFailed:
		return "has failed"
	case JobExpired:
		return "has expired"
	default:
		return "is " + s.Label()
	}
}

// Started reports whether the service certainly took the job on, and billed it.
func (s JobState) Started() bool {
	switch s {
	case JobAccepted, JobRunning, JobReady, JobDownloaded, JobFailed, JobCanceled, JobExpired:
		return true
	default:
		return false
	}
}

// Final reports whether the state no longer changes by itself.
func (s JobState) Final() bool {
	switch s {
	case JobRefused, JobNotSent, JobReady, JobDownloaded, JobFailed, JobCanceled, JobExpired:
		return true
	default:
		return false
	}
}

// HasResult reports whether the service has a result to download.
func (s JobState) HasResult() bool { return s == JobReady || s == JobDownloaded }

// JobAsked is the part of a job's settings that bounds its records (see JobSettings), the rows of its source that
// were not sent, and where it was sent.
type JobAsked struct {
	Discover string      `json:"discover,omitempty"`
	PerInput int         `json:"per_input,omitempty"`
	Total    int         `json:"total,omitempty"`
	Rejected JobRejected `json:"rejected,omitzero"`
	// At is where it was launched.
	At JobPlace `json:"at,omitzero"`
	// Once is the name that it was launched under; see TriggerRequest.
	Once string `json:"once,omitempty"`
}

// JobRejected are the bad rows of a job's source: how many, and the file that they were kept in.
type JobRejected struct {
	Rows int    `json:"rows"`
	File string `json:"file"`
}

// JobNames are the identifiers that an answer to a trigger gives a job: see the fields of Job.
type JobNames struct{ Snapshot, JobID, SnapshotID string }

// Names are the job's identifiers at the service.
func (j Job) Names() JobNames { return JobNames{j.Snapshot, j.JobID, j.SnapshotID} }

// Name gives the job its identifiers at the service.
func (j *Job) Name(n JobNames) { j.Snapshot, j.JobID, j.SnapshotID = n.Snapshot, n.JobID, n.SnapshotID }

// Has reports whether id is one of the identifiers.
func (n JobNames) Has(id string) bool { return id == n.Snapshot || id == n.JobID || id == n.SnapshotID }

// Second is the identifier by which the service can be asked when it does not know the first, "" for none.
func (n JobNames) Second() string {
	for _, id := range []string{n.SnapshotID, n.JobID} {
		if id != "" && id != n.Snapshot {
			return id
		}
	}
	return ""
}

// Labelled are the identifiers and what each is called, the one that the service is asked by first.
func (n JobNames) Labelled() [][2]string {
	all := [][2]string{{"snapshot_id", n.SnapshotID}, {"job_id", n.JobID}}
	switch n.Snapshot {
	case n.JobID:
		slices.Reverse(all)
	case n.SnapshotID:
	default:
		all = slices.Insert(all, 0, [2]string{"snapshot", n.Snapshot})
	}
	if n.JobID == "" { // it is the only one, whatever it was called
		all = [][2]string{{"snapshot", n.Snapshot}}
	}
	return slices.DeleteFunc(all, func(one [2]string) bool { return one[1] == "" })
}

// Words are the identifiers as a sentence has them.
func (n JobNames) Words() string {
	var words []string
	for _, one := range n.Labelled() {
		words = append(words, one[0]+" "+one[1])
	}
	return strings.Join(words, ", ")
}

// SaidNotStarted reports whether a person said of a job that may have started that it had not.
func (j Job) SaidNotStarted() bool {
	return j.State == JobNotSent && slices.ContainsFunc(j.Steps, func(s JobStep) bool { return s.State == JobMayHave })
}

// InAnswer reports whether its rows came as the answer to its trigger, in place of an identifier.
func (j Job) InAnswer() bool { return j.Snapshot == "" && j.State.HasResult() }

// ResultRecords are the rows with data of its result: as a download counted them, before that as the
// service says; -1 where nobody did. Error rows are none: Rows has them.
func (j Job) ResultRecords() int {
	if j.Rows.Counted {
		return j.Rows.Useful
	}
	return j.Records
}

// Lacking is how many records the service counted that are not in its result, 0 where that is not known. Of a product
// it never is: what is counted of one need not be its rows.
func (j Job) Lacking() int {
	if !j.Rows.Counted || j.Dataset == string(ProductDiscover) || j.Dataset == string(ProductDeepLookup) {
		return 0
	}
	return max(j.Records-j.Rows.Returned, 0)
}

// EndedWords say why it is not known what a job has cost that ended without a result, "" for any other job: a
// service bills by record, and may have collected some.
func (j Job) EndedWords() string {
	switch j.State {
	case JobFailed, JobCanceled, JobExpired:
		return "not known: what was collected before its end may be billed"
	default:
		return ""
	}
}

// LackingWords say what is lacking, "" for nothing.
func (j Job) LackingWords() string {
	if j.Lacking() == 0 {
		return ""
	}
	return fmt.Sprintf("the service counted %s, but %s came: the answer may have been cut", Counted(j.Records, "record"), Counted(j.Rows.Returned, "row"))
}

// Rejected are the bad rows of its source; the zero value where there were none, or that is not known.
func (j Job) Rejected() JobRejected {
	if j.Request == nil {
		return JobRejected{}
	}
	return j.Request.Rejected
}

// ResultHere reports whether the file of its result is on this machine.
func (j Job) ResultHere() bool { return j.File != "" && j.Rows.Machine == "" }

// FileOn names a file of a machine, "" for this one.
func FileOn(file, machine string) string {
	if machine == "" {
		return file
	}
	return file + " on " + machine
}

// Job is one line of the ledger.
type Job struct {
	// ID is the console's own identifier (it exists before the service answers).
	ID string
	// Snapshot is the service's identifier, by which it is asked for the job; empty until it was received.
	Snapshot string
	// JobID and SnapshotID are what the service called job_id and snapshot_id, one of which Snapshot may be; empty where
	// it gave none by that name, and in ledgers of older versions.
	JobID, SnapshotID string

	Profile string
	Dataset string
	KeyName string
	State   JobState
	// Wire is the service's own word for the state, verbatim, or empty.
	Wire string
	// Status is the HTTP status of the trigger's answer, 0 when there was none.
	Status int
	// Detail says why, for refused, failed and may_have.
	Detail string
	// Fault is the last call about the job that did not succeed, until one of its kind
	// does.
	Fault  JobFault
	Inputs int
	// Done and Records are progress counts; -1 means the service did not say.
	Done    int
	Records int
	// Bytes is the size of the downloaded result, File where it is, SHA256 its digest in
	// hexadecimal digits, and Rows what it holds; empty until then.
	Bytes  int64
	File   string
	SHA256 string
	Rows   JobRows
	// Repeats is the job whose inputs this one takes up again, or empty.
	Repeats string
	// Request is what was asked for, nil where that is not known.
	Request *JobAsked
	// WebhookToken is the token of the address of the inbox that the service was given, or empty.
	// WebhookDue is until when its webhook is waited for before the service is asked in its place;
	// zero where nothing is waited for (any more).
	WebhookToken string
	WebhookDue   time.Time

	Created  time.Time // the intent was written
	Accepted time.Time
	Updated  time.Time
	// Steps is the job's history, oldest first.
	Steps []JobStep
}

// JobFault is the verdict on a call about a job that did not succeed, or on the job
// itself. The zero value is none.
type JobFault struct {
	Call      JobCall
	Diagnosis Diagnosis
	At        time.Time // when it was seen; zero in ledgers of older versions
	// LastAnswer is when the service last answered for the job before that, as far as this ledger knows;
	// zero where it never did, and in ledgers of older versions.
	LastAnswer time.Time `json:"Seen,omitzero"`
	// GivenUp says that the job is not asked for any more because of it.
	GivenUp bool `json:",omitempty"`
}

// RetryAt is when the call may be made again by the answer's own word; false where it
// said nothing.
func (f JobFault) RetryAt() (at time.Time, ok bool) {
	if f.Diagnosis.RetryAfter <= 0 || f.At.IsZero() {
		return time.Time{}, false
	}
	return f.At.Add(f.Diagnosis.RetryAfter), true
}

// JobCall says what a call about a job asks for.
type JobCall string

// The calls about a job, those for a preview of one, and the job itself, which the service may report as failed.
const (
	CallPreview  JobCall = "preview"
	CallTrigger  JobCall = "trigger"
	CallProgress JobCall = "progress"
	CallDownload JobCall = "download"
	CallCancel   JobCall = "cancel"
	CallNone     JobCall = "job"
)

// Any reports whether there is a fault.
func (f JobFault) Any() bool { return f.Call != "" }

// JobFailedFault is the verdict on a job that the service reports as failed; says is its
// word and its reason.
func JobFailedFault(says string) JobFault {
	return JobFault{Call: CallNone, Diagnosis: Diagnosis{
		Class: ClassOutside, Cause: CauseServiceError, Rule: "job_failed",
		Summary:  "The service reports that the job failed.",
		Evidence: []Evidence{{Kind: "error", Text: quote("the service says: " + says)}},
		Steps:    []Step{{Action: ActionRetry, Text: "try a few of its URLs by themselves before you launch it again"}},
	}}
}

// JobCanceledFault is the verdict on a job that the service reports as cancelled; says is its word and its
// reason.
func JobCanceledFault(says string) JobFault {
	return JobFault{Call: CallNone, Diagnosis: Diagnosis{
		Class: ClassOutside, Cause: CauseServiceError, Rule: RuleJobCanceled,
		Summary:  "The service reports that the job was cancelled.",
		Evidence: []Evidence{{Kind: "error", Text: quote("the service says: " + says)}},
		Steps:    []Step{{Action: ActionLaunch, Text: "launch it again: what it had collected may then be billed twice"}},
	}}
}

// RuleJobCanceled is the rule of JobCanceledFault.
const RuleJobCanceled = "job_canceled"

// TriggerUnseen is the verdict on a trigger whose answer nobody saw, because the process that sent it ended meanwhile.
func TriggerUnseen(at time.Time) JobFault {
	return JobFault{Call: CallTrigger, At: at, Diagnosis: Diagnosis{
		Class: ClassOutside, Cause: CauseUnrecognised, Rule: "trigger_unseen",
		Summary:  "zonedeck ended before it saw an answer.",
		Evidence: []Evidence{{Kind: "note", Text: "the process that sent the request no longer runs, and it recorded no answer"}},
		Steps:    []Step{begunAlready(CallTrigger)},
	}}
}

// NoIdentifier is the verdict on a success that names neither the job nor the preview that the call was to begin.
func NoIdentifier(call JobCall, status int) Diagnosis {
	what := "job"
	if call == CallPreview {
		what = "preview"
	}
	return Diagnosis{
		Class: ClassOutside, Cause: CauseUnrecognised, Rule: "no_identifier",
		Summary:  "The service answered with success and gave no identifier of a " + what + ".",
		Evidence: []Evidence{{Kind: "service_status", Text: statusText(status) + " from the service"}},
		Steps:    []Step{begunAlready(call)},
	}
}

// PreviewEnded is the verdict on a preview that the service reports as failed or cancelled; says is its word and its
// reason.
func PreviewEnded(state JobState, says string) Diagnosis {
	d := Diagnosis{
		Class: ClassOutside, Cause: CauseServiceError, Rule: "preview_failed",
		Summary:  "The service reports that the preview failed.",
		Evidence: []Evidence{{Kind: "error", Text: quote("the service says: " + says)}},
		Steps:    []Step{begunAlready(CallPreview)},
	}
	if state == JobCanceled {
		d.Rule, d.Summary = "preview_canceled", "The service reports that the preview was cancelled."
	}
	return d
}

// JobRows accounts for the rows of a result: each is useful, an error or empty.
type JobRows struct {
	// Format is how the file holds them: json, ndjson or csv; empty in ledgers of older
	// versions.
	Format string `json:",omitempty"`
	// Counted says that the whole result was read; Problem why it was not.
	Counted bool
	Problem string
	// FieldsDue says that what the fields of the rows show is still to be looked at, in the file.
	FieldsDue bool `json:",omitempty"`
	// Drift is what its fields show beside earlier results; the zero value where they show no drift, or were not
	// looked at.
	Drift JobDrift `json:",omitzero"`
	// Machine has the file, if that is another machine than this one with the same ledger.
	Machine string `json:",omitempty"`
	// Returned are all rows, Useful those with data, Empty those with neither data nor an
	// error.
	Returned, Useful, Empty int
	// Errors are the rows with an error and no data, the most frequent code first.
	Errors []JobRowErrors
	// Billed is how many rows the service bills, as far as the dialect knows; -1 where it
	// does not.
	Billed int
	// Cost is what the result says it cost or, where it does not, what the billed rows cost by the
	// rate that the profile had, in dollars; without either it is not Priced.
	Cost   float64
	Priced bool
}

// JobRowErrors are the error rows of one code.
type JobRowErrors struct {
	Code  string // the service's, "" where a row has none
	Class Class
	Cause Cause
	Rows  int
	Text  string // what the first of them says
}

// JobDrift is the drift of a result.
type JobDrift struct {
	Text   string // "5 fields emptied since job-1"; empty for none
	Fields int    // how many fields drift
	Since  string // the last good job; empty without one
}

// In is the drift as a line of the history, with the name of what drifts; empty for none.
func (d JobDrift) In(name string) string {
	if d.Text == "" {
		return ""
	}
	return d.Text + " (" + name + ")"
}

// Worthless reports whether a counted result has rows, and none with data.
func (r JobRows) Worthless() bool { return r.Counted && r.Useful == 0 && r.Returned > 0 }

// Worst is what a worthless result is called: as most of its errors are, or empty. It is empty for any other result.
func (r JobRows) Worst() (Class, Cause) {
	switch {
	case !r.Worthless():
		return "", ""
	case len(r.Errors) > 0:
		return r.Errors[0].Class, r.Errors[0].Cause
	default:
		return ClassOutside, CauseEmptyBody
	}
}

// Doubt says why the result of a job that went well is none to rely on: it drifts, or fewer than half of its rows have
// data. It is empty for any other job.
func (j Job) Doubt() string {
	r := j.Rows
	switch {
	case !j.State.HasResult():
		return ""
	case j.State == JobReady && j.Records == 0:
		return "ready, no records"
	case r.Drift.Text != "":
		return "drift: " + r.Drift.Text
	case r.Worthless():
		return "no useful row"
	case r.Counted && r.Returned == 0:
		return "no rows"
	case r.Counted && 2*r.Useful < r.Returned:
		return fmt.Sprintf("%d of %d rows useful", r.Useful, r.Returned)
	}
	return ""
}

// Account are the counts of a counted result in words, how many rows came first.
func (r JobRows) Account() []string {
	out := []string{Counted(r.Returned, "row"), fmt.Sprintf("%d useful", r.Useful)}
	if n := r.Failed(); n > 0 {
		out = append(out, Counted(n, "error"))
	}
	if r.Empty > 0 {
		out = append(out, fmt.Sprintf("%d empty", r.Empty))
	}
	if r.Billed >= 0 {
		out = append(out, fmt.Sprintf("%d billed (%s)", r.Billed, CostWords(r.Cost, r.Priced)))
	}
	return out
}

// Failed is how many rows are errors.
func (r JobRows) Failed() int {
	n := 0
	for _, e := range r.Errors {
		n += e.Rows
	}
	return n
}

// JobStep is one entry of a job's history.
type JobStep struct {
	At    time.Time
	State JobState
	Text  string
}

// JobInput is one object of the trigger's body (service.md 4.2).
type JobInput struct {
	// URL is the field url; "" for an input without one.
	URL string
	// Extra holds further fields of the row by name, each value as JSON text
	// (`"de"`, `20`); the contract shows "url" only.
	Extra map[string]string
	// Row is the line or record number in the source, from 1.
	Row int
}

// Addresses are the absolute http and https addresses among the input's fields, the url first.
func (in JobInput) Addresses() []string {
	var out []string
	if in.URL != "" {
		out = append(out, in.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Extra)) {
		var v any
		if json.Unmarshal([]byte(in.Extra[name]), &v) != nil {
			v = in.Extra[name] // it is sent as a text
		}
		out = append(out, addressesIn(v)...)
	}
	return out
}

// addressesIn are the addresses in a value of JSON.
func addressesIn(v any) (out []string) {
	switch v := v.(type) {
	case string:
		if _, err := ParseTarget(v); err == nil {
			out = append(out, v)
		}
	case []any:
		for _, each := range v {
			out = append(out, addressesIn(each)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, addressesIn(v[name])...)
		}
	}
	return out
}

// TriggerRequest is one POST /datasets/v3/trigger as the operator asked for it. The ledger
// keeps it as JSON: a field that was released keeps its name, and none holds a secret.
type TriggerRequest struct {
	Dataset string
	Inputs  []JobInput
	Key     string // name of the key; empty means the profile's
	// Settings are what is asked for besides the inputs.
	Settings JobSettings
	// OpenEnded says that an input may give any number of records: see CollectMethod.
	OpenEnded bool `json:"Many,omitempty"`
	// MaxCost refuses the job if the upper end of its estimate is more dollars, or is not known; 0
	// leaves that to the profile, whose cap holds in any case.
	MaxCost float64 `json:",omitempty"`
	// Repeats is the job of the ledger that is launched again, or empty.
	Repeats string
	// Rejected are the bad rows of the source, which the ledger names with the job.
	Rejected JobRejected `json:"-"`
	// Once is a name under which the profile launches one job, whatever its inputs, for good: the launch is refused if a job
	// has it that was not certainly kept from starting. Empty is none.
	Once string `json:"-"`
	// Guard, if set, refuses the launch of what was launched before.
	Guard *LaunchGuard `json:"-"`
}

// LaunchGuard refuses a launch if another job asks for the same inputs, or repeats the same job,
// and may be billed. Nothing can be launched between the look and the launch.
type LaunchGuard struct {
	// Within is how long ago that job was begun; one of which it is not known whether it started,
	// or that is running, counts whatever its age.
	Within time.Duration
	// Known are jobs that do not count: the operator was told of them.
	Known []string
}

// JobsProgress is how far a set of jobs is together. The set is the jobs in flight at the time the
// service first says how far one of them is; it stays until all of them have ended, and jobs that
// come later are the next set. So it does not fall while it is shown. The zero value has no jobs;
// one goroutine uses it.
type JobsProgress struct {
	set      map[string]Job // with those of it that have ended
	later    map[string]Job // in flight, and not of the set
	percent  int            // percent of the set's inputs, at most what was reached; valid once told
	reported bool
}

// Update takes what a job is now; on says that the service is asked about it. A job that is no longer
// asked about before its end leaves the set.
func (p *JobsProgress) Update(j Job, on bool) {
	if p.set == nil {
		p.set, p.later = map[string]Job{}, map[string]Job{}
	}
	_, in := p.set[j.ID]
	delete(p.later, j.ID)
	switch {
	case in && (on || j.State.Final()):
		p.set[j.ID] = j
	case in:
		delete(p.set, j.ID)
	case !on || j.State.Final():
	case p.reported:
		p.later[j.ID] = j
	default:
		p.set[j.ID] = j
	}
	if p.over() {
		*p = JobsProgress{set: p.later, later: map[string]Job{}}
	}
	p.add()
}

// over reports whether no job of the set is in flight.
func (p *JobsProgress) over() bool {
	for _, j := range p.set {
		if !j.State.Final() {
			return false
		}
	}
	return true
}

// add adds up the set. A job that has ended is done, and one of which the service does not say how
// far it is has done nothing yet.
func (p *JobsProgress) add() {
	done, inputs := 0, 0
	for _, j := range p.set {
		switch {
		case j.Inputs <= 0:
			continue
		case j.State.Final():
			done, p.reported = done+j.Inputs, true
		case j.Done >= 0:
			done, p.reported = done+min(j.Done, j.Inputs), true
		}
		inputs += j.Inputs
	}
	if inputs > 0 {
		p.percent = max(p.percent, done*100/inputs)
	}
}

// Any reports whether a job of the set is in flight.
func (p *JobsProgress) Any() bool { return len(p.set) > 0 }

// Percent is how far the set is, of its inputs; -1 where the service says it of none.
func (p *JobsProgress) Percent() int {
	if !p.reported {
		return -1
	}
	return p.percent
}

// RecordColumn is one column of a table of records.
type RecordColumn struct {
	Name string
	// Type is what the values looked like: "text", "number", "bool", "object",
	// "list", "null", or "mixed".
	Type string
	// Filled is how many of the table's rows have a value that is not empty.
	Filled int
}

// RecordTable is the first records of a job's result. Cells are remote text:
// sanitise them before they reach a terminal.
type RecordTable struct {
	Columns []RecordColumn
	// Rows hold one cell per column; a missing value is "".
	Rows [][]string
	// Total is the number of records in the result, or -1 when only the beginning
	// was read.
	Total int
}

// FillRate is the share of the table's rows in which column i has a value, from
// 0 to 1; 0 for an empty table or a column that is not there.
func (t RecordTable) FillRate(i int) float64 {
	if i < 0 || i >= len(t.Columns) || len(t.Rows) == 0 {
		return 0
	}
	return float64(t.Columns[i].Filled) / float64(len(t.Rows))
}
