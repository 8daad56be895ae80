package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
)

// ErrNotShown is wrapped by every refusal of something that the contract does
// not show and the dialect therefore does not do.
var ErrNotShown = errors.New("the contract does not show it")

// JobPaths are where a dataset job is asked for, relative to the base URL.
type JobPaths struct {
	Progress string // GET
	Snapshot string // GET
	Cancel   string // POST; "" where it is not known
	Parts    string // GET, how many parts the snapshot has; "" where it has none
	Query    string // of each of them, encoded; "" for none
}

// TriggerPath is the path of POST trigger (service.md 4.2); version is the path's
// version segment (service.md 9), "" for v3. A product has a path of its own.
func (d Dialect) TriggerPath(version, dataset string) string {
	if p, ok := d.product(dataset); ok {
		return p.trigger
	}
	return datasets(version) + "/trigger"
}

// TriggerAuth is the parameter of a trigger with what the service sends along to the job's addresses,
// as public documentation has it.
const TriggerAuth = "auth_header"

// TriggerQuery is how the dataset is named. The contract shows no query
// parameter and no field for it, so the default dialect sends none: there the
// dataset is the console's own label. A dialect that knows error rows asks for them: without
// them nothing says which inputs gave an error.
//
// The settings are parameters, too, as public documentation has them; that of TriggerAuth is a secret,
// and is not among them.
func (d Dialect) TriggerQuery(dataset string, s model.JobSettings) url.Values {
	if _, is := d.product(dataset); is || d.dataset == "" || dataset == "" {
		return nil
	}
	q := url.Values{d.dataset: {dataset}}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	count := func(name string, n int) {
		if n > 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	if s.Discover != "" {
		q.Set("type", "discover_new")
		q.Set("discover_by", s.Discover)
	}
	count("limit_per_input", s.LimitPerInput)
	count("limit_multiple_results", s.LimitTotal)
	set("notify", s.Notify)
	set("endpoint", s.Endpoint)
	set("format", s.Format)
	if s.Plain {
		q.Set("uncompressed_webhook", "true")
	}
	if d.rowCodes {
		q.Set("include_errors", "true")
	}
	return q
}

// JobPaths are the paths of one job. The contract shows none (service.md 2.4, 4):
// a dialect without them answers with an error that wraps ErrNotShown. id must be
// as JobNames gave it, or the error is a *model.RequestError.
func (d Dialect) JobPaths(version, dataset, id string) (JobPaths, error) {
	if d.paths == nil {
		return JobPaths{}, fmt.Errorf("asking for a job's state or result: %w; choose dialect %s", ErrNotShown, strings.Join(names(Dialect.AsksForJobs), " or "))
	}
	if _, ok := word(id); !ok {
		return JobPaths{}, model.BadField("snapshot", "%q cannot stand in a path", clean(id))
	}
	if p, ok := d.product(dataset); ok {
		return p.paths(id), nil
	}
	return d.paths(datasets(version), id), nil
}

func datasets(version string) string {
	if _, ok := word(version); !ok {
		version = "v3"
	}
	return "/datasets/" + version
}

// JobNames finds the identifiers in the answer to a trigger. The contract says
// that "a job ID or snapshot ID" is returned, and not what the field is called, nor what each
// is for. By the first that the dialect lists, a job is asked for its state and its result.
// body is the whole answer, which the caller has bounded. The only element of a list may name the job in the two ways
// that the contract speaks of.
func (d Dialect) JobNames(dataset string, body []byte) (names model.JobNames, ok bool) {
	names, ok = d.jobNames(dataset, body)
	in, _ := RowsInAnswer("", body)
	if ok || !in.Jobs {
		return names, ok
	}
	if in.Field != "" {
		var answer map[string]json.RawMessage
		_ = json.Unmarshal(body, &answer) // it is an object
		body = answer[in.Field]
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) != nil || len(list) != 1 {
		return names, false
	}
	listed, ok := d.jobNames(dataset, list[0])
	if !ok || listed.JobID == "" && listed.SnapshotID == "" {
		return names, false
	}
	return listed, true
}

// jobNames finds the identifiers in an object.
func (d Dialect) jobNames(dataset string, body []byte) (names model.JobNames, ok bool) {
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil {
		return names, false
	}
	named := func(name string) string {
		var id string
		_ = json.Unmarshal(answer[name], &id) // what is no text is no identifier
		id, _ = word(id)
		return id
	}
	fields := d.snapshots
	if p, ok := d.product(dataset); ok {
		fields = []string{p.id}
	}
	names.JobID, names.SnapshotID = named("job_id"), named("snapshot_id")
	for _, name := range fields {
		if names.Snapshot = cmp.Or(names.Snapshot, named(name)); names.Snapshot != "" {
			return names, true
		}
	}
	return names, false
}

// RowsIn says where an answer has its rows: in an array, in a field of an object or, without either, one on a line.
type RowsIn struct {
	Array bool
	Field string
	Jobs  bool // each names a job, or says a state, and nothing else: no rows
}

// rowFields are the fields of an object that public clients find rows in.
var rowFields = []string{"data", "items", "records", "results", "rows"}

// RowsInAnswer reports whether the answer to a trigger, which names no job, begins with rows: an array of objects, an
// object that has one in one of rowFields, or objects one after the other. One object alone is a row if the answer's type
// says that it is NDJSON. The contract shows no answer that is rows.
func RowsInAnswer(contentType string, head []byte) (in RowsIn, ok bool) {
	if listsObjects(head) {
		return RowsIn{Array: true, Jobs: listsJobs(head)}, true
	}
	dec := json.NewDecoder(bytes.NewReader(head))
	if first, _ := dec.Token(); first != json.Delim('{') {
		return in, false
	}
	for dec.More() {
		name, _ := dec.Token()
		field, _ := name.(string)
		value := bytes.TrimLeft(head[dec.InputOffset():], ": \t\r\n")
		if slices.Contains(rowFields, field) && listsObjects(value) && (in.Field == "" || in.Jobs) {
			in.Field, in.Jobs = field, listsJobs(value)
		}
		var whole json.RawMessage
		if dec.Decode(&whole) != nil {
			return in, in.Field != "" // it goes on after the head
		}
	}
	_, _ = dec.Token()
	if next, _ := dec.Token(); next == json.Delim('{') {
		return RowsIn{Jobs: listsJobs(head)}, true
	}
	lines := strings.Contains(contentType, "ndjson") || strings.Contains(contentType, "jsonl")
	return in, in.Field != "" || lines
}

// listsObjects reports whether a text begins with an array whose first element is an object.
func listsObjects(text []byte) bool {
	list, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("["))
	return ok && bytes.HasPrefix(bytes.TrimSpace(list), []byte("{"))
}

// namesJob are the fields that name a job or say its state.
var namesJob = []string{"collection_id", "created", "id", "job_id", "response_id", "snapshot", "snapshot_id", "state", "status"}

// listsJobs reports whether the objects of an array, or those one after the other, name jobs or say their states, and
// nothing else, as far as the text has them whole.
func listsJobs(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		_, _ = dec.Token()
	}
	n := 0
	for ; dec.More(); n++ {
		var object map[string]json.RawMessage
		if dec.Decode(&object) != nil {
			break
		}
		fields := len(object)
		maps.DeleteFunc(object, func(name string, _ json.RawMessage) bool { return slices.Contains(namesJob, strings.ToLower(name)) })
		if len(object) == fields || !stateAlone(object) {
			return false
		}
	}
	return n > 0
}

// Progress is what the service says of a job. Counts are -1 when it says none.
type Progress struct {
	State   model.JobState
	Wire    string // the service's word, "" when it gave none
	Detail  string
	Inputs  int
	Done    int
	Records int
	// After is what the answer asks to wait before the next question, 0 when it does not.
	After time.Duration
	// AskedBy is the identifier that the service was asked by, where it does not know the one before.
	AskedBy string
}

// ReadProgress reads the answer to a progress call. A word that the dialect does
// not know means the job is still running: more words are seen on the wire than
// are documented.
func (Dialect) ReadProgress(body []byte) (Progress, error) {
	p := Progress{State: model.JobRunning, Inputs: -1, Done: -1, Records: -1}
	var answer struct {
		Status     string `json:"status"`
		Error      string `json:"error_message"`
		Err        string `json:"error"`
		Message    string `json:"message"`
		Inputs     count  `json:"inputs"`
		InputsDone count  `json:"inputs_done"`
		Records    count  `json:"records"`
	}
	answer.Inputs, answer.InputsDone, answer.Records = -1, -1, -1
	if err := json.Unmarshal(body, &answer); err != nil {
		if state, says, ok := sentence(body); ok {
			p.State, p.Wire, p.Detail = state, says, says
			return p, nil
		}
		return p, fmt.Errorf("progress: the answer is not the JSON it should be: %q", clean(string(body)))
	}
	p.Wire = clean(answer.Status)
	for _, s := range []string{answer.Error, answer.Err, answer.Message} {
		if p.Detail == "" {
			p.Detail = clean(s)
		}
	}
	p.Inputs, p.Done, p.Records = int(answer.Inputs), int(answer.InputsDone), int(answer.Records)
	state, text := jobState(p.Wire)
	if p.State = state; text {
		p.Detail = p.Wire
	}
	return p, nil
}

// count is a number that may also come as text; what is no count of something is -1.
type count int

// UnmarshalJSON never fails: a count is not what a question for a state is about.
func (c *count) UnmarshalJSON(raw []byte) error {
	*c = -1
	if n, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64); err == nil && n >= 0 && n == math.Trunc(n) && n < 1<<53 {
		*c = count(n)
	}
	return nil
}

// beforeTheEnd are the words of a job that has no result yet, and stateBeside the fields that an answer about its state has.
var (
	beforeTheEnd = []string{"building", "collecting", "in_progress", "pending", "processing", "queued", "running", "scheduled", "starting"}
	stateBeside  = []string{"collection_duration", "dataset_id", "error", "error_message", "inputs", "inputs_done", "message", "progress", "records", "retry_after", "snapshot_id", "status"}
	// notReady is a sentence that says so, such as "Snapshot is not ready yet, try again in 10s".
	notReady = model.Pattern(`(?i)\b(not (yet )?ready|still in progress|(is|still) (being )?(built|building|running|processing|collecting|prepared|generated))\b`)
)

// InPlaceOfRows reads an answer that came with status 200 where rows were asked for, and tells the state of their job instead:
// an object of a state alone, or a sentence as text or JSON text. ok is false for any other answer.
func (d Dialect) InPlaceOfRows(body []byte) (p Progress, ok bool) {
	body = bytes.TrimSpace(body)
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) == nil {
		if !stateAlone(object) {
			return Progress{}, false
		}
		p, err := d.ReadProgress(body)
		return p, err == nil && (p.State != model.JobRunning || slices.Contains(beforeTheEnd, strings.ToLower(p.Wire)) || notReady().MatchString(p.Detail))
	}
	state, says, ok := sentence(body)
	return Progress{State: state, Wire: says, Inputs: -1, Done: -1, Records: -1}, ok
}

// stateAlone reports whether an answer has nothing but what is said of a state.
func stateAlone(object map[string]json.RawMessage) bool {
	for name := range object {
		if !slices.Contains(stateBeside, strings.ToLower(name)) {
			return false
		}
	}
	return true
}

// maxSentence bounds a sentence about a job, in bytes.
const maxSentence = 500

// sentence reads a sentence about the state of a job, which comes as text or as JSON text.
func sentence(body []byte) (state model.JobState, says string, ok bool) {
	body = bytes.TrimSpace(body)
	if len(body) > maxSentence || bytes.ContainsAny(body, "<\n") || json.Unmarshal(body, &says) != nil && json.Valid(body) {
		return "", "", false
	}
	says = clean(cmp.Or(says, string(body)))
	state, known := jobState(says)
	return state, says, known || notReady().MatchString(says)
}

// jobState is the state that a word of the service means. A word that is not known means that the
// job is still running. text says that the word is a sentence that says why it failed.
func jobState(wire string) (state model.JobState, text bool) {
	switch wire {
	case "ready", "done":
		return model.JobReady, false
	case "failed":
		return model.JobFailed, false
	case "canceled", "cancelled":
		return model.JobCanceled, false
	}
	if slices.ContainsFunc(failureWords, func(known string) bool {
		prefix, open := strings.CutSuffix(known, "*")
		return wire == known || open && strings.HasPrefix(wire, prefix)
	}) {
		return model.JobFailed, true
	}
	return model.JobRunning, false
}

// failureWords arrive with HTTP 200 where a state is expected, and end the job; one with a
// trailing "*" is the beginning of one.
var failureWords = []string{
	"Account is suspended", "Account is new, please activate it*", "Input validation failed: *", "No data found in discovery", "Snapshot is empty",
	"Failed to deliver snapshot", "Failed to download response", "Failed to trigger collector",
	"Internal server error", "Something went wrong. Our team is looking into it.",
}

// minPart is the smallest part of a result, in rows (public documentation), and maxParts
// bounds how many of them an answer may claim.
const (
	minPart  = 1000
	maxParts = 4096
)

// PartRows is how many rows a part of a result has, so that a result of that many records
// (below 0: not known) comes in some dozens of parts; 0 where it is not worth a question or
// the dialect knows no parts.
func (d Dialect) PartRows(dataset string, records int) int {
	if _, is := d.product(dataset); is {
		return 0
	}
	switch {
	case d.paths == nil || records >= 0 && records <= minPart:
		return 0
	case records < 0:
		return 10 * minPart
	}
	const parts = 32
	return (records/parts/minPart + 1) * minPart
}

// ResultQuery asks for a result with one row a line; part is counted from 1, and batch the
// rows of a part, or both are 0 for the whole. A product's result is asked for as it is.
func (d Dialect) ResultQuery(dataset string, batch, part int) url.Values {
	if _, is := d.product(dataset); is {
		return nil
	}
	q := url.Values{"format": {"ndjson"}}
	if batch > 0 {
		q.Set("batch_size", strconv.Itoa(batch))
	}
	if part > 0 {
		q.Set("part", strconv.Itoa(part))
	}
	return q
}

// PartCount reads how many parts a result has; ok is false where the answer does not say.
func (Dialect) PartCount(body []byte) (n int, ok bool) {
	var says struct {
		Parts int `json:"parts"`
	}
	if json.Unmarshal(body, &says) != nil || says.Parts < 1 || says.Parts > maxParts {
		return 0, false
	}
	return says.Parts, true
}

// Cadence is how a job is asked for until it is over.
type Cadence struct {
	// First is the wait after the first question, Last the longest one.
	First, Last time.Duration
	// New is how long after its acceptance a job may be unknown to the service.
	New time.Duration
	// Unknown is how long the service has to say of a job that it accepted that it knows no such job
	// before that is believed, and how long a 404 in other words is taken for a passing one.
	Unknown time.Duration
	// Patience is how long every question may fail before someone who waits is told.
	Patience time.Duration
	// Limit is how long after its acceptance a job is asked for; from then on only when the
	// operator wants it.
	Limit time.Duration
}

// Cadence is how often a job is asked for. The contract shows no figures; public
// documentation says that a new job may be unknown for some 20 s and that polling too often
// is itself "too fast" (service.md 7). local is the emulator, which takes no harm.
func (Dialect) Cadence(local bool) Cadence {
	c := Cadence{First: 2 * time.Second, Last: 30 * time.Second, New: 30 * time.Second, Unknown: 3 * time.Minute, Patience: 4 * time.Minute, Limit: 24 * time.Hour}
	if local {
		c.First, c.Last, c.Unknown, c.Patience = 300*time.Millisecond, 2*time.Second, 5*time.Second, 15*time.Second
	}
	return c
}

// Wait is how long to wait after an answer, before jitter. age is the job's since it was
// accepted; done of total inputs are through, -1 where the service does not say. Others that
// are asked for at the same time stretch the wait: many jobs together are not to be asked
// for more often than eight.
func (c Cadence) Wait(age time.Duration, done, total, jobs int) time.Duration {
	wait := min(max(age/2, c.First), c.Last)
	if done > 0 && total > done { // ask about when it will be over
		rest := time.Duration(float64(age) * float64(total-done) / float64(done))
		wait = min(wait, max(rest/2, c.First))
	}
	return wait * time.Duration(max(jobs, togetherAtMost)) / togetherAtMost
}

const togetherAtMost = 8

// Absence is what the answer to a call about a job says of the job itself.
type Absence int

const (
	// NotGone says nothing of the job.
	NotGone Absence = iota
	// GoneUnknown says that the service knows no such job: it may have forgotten it, and it may be
	// asked for another account.
	GoneUnknown
	// GoneExpired says that the service had it, and no longer has its result.
	GoneExpired
)

// unknownSnapshots are the texts of a 404 about a job that the service does not know, by public
// documentation.
var unknownSnapshots = []string{"Snapshot does not exist", "Snapshot not found"}

// JobGone reads the answer to a call about a job. Only the service's own words count: a page, or a 404
// in other words, may come from a gateway or from another address. The contract shows no such answer.
func (d Dialect) JobGone(dataset string, status int, h http.Header, body []byte) Absence {
	if d.paths == nil || isPage(h, body) {
		return NotGone
	}
	text, said := strings.TrimSpace(string(body)), false
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil {
		text, said = strings.TrimSpace(answer.Error), answer.Error != ""
	}
	_, product := d.product(dataset)
	switch {
	case status == http.StatusGone, status >= 400 && status < 500 && strings.Contains(text, "Snapshot is expired"):
		return GoneExpired
	case status != http.StatusNotFound:
		return NotGone
	case product && said && strings.HasSuffix(strings.ToLower(text), " not found"):
		return GoneUnknown // an assumption: public sources show the status and not the words
	case !product && slices.Contains(unknownSnapshots, text):
		return GoneUnknown
	default:
		return NotGone
	}
}

// RowError is the class of an error row by the code that the service put into it; outside,
// and not recognised, where no meaning is known.
func (d Dialect) RowError(code string) (model.Class, model.Cause) {
	if d.rowCodes {
		if code == "dead_page" { // the page answered 404
			return model.ClassOutside, model.CauseTargetError
		}
		if m := meaning(code); m.class != "" {
			return m.class, m.cause
		}
	}
	return model.ClassOutside, model.CauseUnrecognised
}

// BilledRows is how many rows of a result are billed, -1 where the dialect does not know.
// Public documentation: rows with an error are not billed.
func (d Dialect) BilledRows(dataset string, r model.JobRows) int {
	if !d.rowCodes || !r.Counted || !d.BillsRecords(dataset) {
		return -1
	}
	return r.Returned - r.Failed()
}
