package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
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
// as SnapshotID gave it, or the error is a *model.RequestError.
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

// SnapshotID finds the identifier in the answer to a trigger. The contract says
// that "a job ID or snapshot ID" is returned, and not what the field is called.
// body is the whole answer, which the caller has bounded.
func (d Dialect) SnapshotID(dataset string, body []byte) (string, bool) {
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil {
		return "", false
	}
	names := d.snapshots
	if p, ok := d.product(dataset); ok {
		names = []string{p.id}
	}
	for _, name := range names {
		var id string
		if json.Unmarshal(answer[name], &id) == nil {
			if id, ok := word(id); ok {
				return id, true
			}
		}
	}
	return "", false
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
		Inputs     *int   `json:"inputs"`
		InputsDone *int   `json:"inputs_done"`
		Records    *int   `json:"records"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		// Some of the sentences come as they are.
		if state, text := jobState(clean(string(body))); text {
			p.State, p.Wire, p.Detail = state, clean(string(body)), clean(string(body))
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
	for _, n := range []struct {
		from *int
		to   *int
	}{{answer.Inputs, &p.Inputs}, {answer.InputsDone, &p.Done}, {answer.Records, &p.Records}} {
		if n.from != nil && *n.from >= 0 {
			*n.to = *n.from
		}
	}
	state, text := jobState(p.Wire)
	if p.State = state; text {
		p.Detail = p.Wire
	}
	return p, nil
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
