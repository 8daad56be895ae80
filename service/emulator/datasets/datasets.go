// Package datasets serves the endpoints of dataset jobs (service.md 2.4, 4.2) and of the
// marketplace. Package jobs runs the jobs, package deliver their deliveries. The root mounts
// it behind the check of keys. An [API] is safe for concurrent use.
package datasets

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/jobs"
)

const (
	// syncWait is how long a scrape waits for its records (public documentation: one minute).
	syncWait = time.Minute
	// maxSyncInputs bounds the inputs of a scrape (public documentation).
	maxSyncInputs = 20

	maxTriggerBytes = 64 << 20
	maxURLBytes     = 8192
	// retryAfter is the wait that an answer asks for, in seconds (public documentation).
	retryAfter = "10"
)

// Config is what the endpoints need.
type Config struct {
	Jobs *jobs.Engine
	// syncWait is how long a scrape waits; 0 is [syncWait].
	SyncWait time.Duration
	// Loose accepts unknown parameters and fields, and notes them in x-emulator-note.
	// Otherwise they are refused by name.
	Loose bool
	// Account is the customer's id (service.md 2.3).
	Account string
	// Deliver sends webhooks.
	Deliver *deliver.Engine
	Log     *slog.Logger
}

// API is the endpoints.
type API struct{ conf Config }

// New makes the endpoints.
func New(conf Config) *API {
	if conf.SyncWait == 0 {
		conf.SyncWait = syncWait
	}
	return &API{conf: conf}
}

// endpoint answers one call. If it returns an error, it has written nothing, and
// [API.fail] answers.
type endpoint func(http.ResponseWriter, *http.Request) error

// Mount passes every endpoint to handle, with its pattern for [http.ServeMux].
func (a *API) Mount(handle func(pattern string, h http.HandlerFunc)) {
	handle("POST /datasets/v3/trigger", a.serve(a.serveTrigger))
	handle("POST /datasets/v3/scrape", a.serve(a.serveScrape))
	handle("GET /datasets/v3/progress/{id}", a.withParameters(a.serveProgress))
	handle("GET /datasets/v3/snapshots", a.serve(a.serveSnapshots))
	handle("GET /datasets/v3/snapshot/{id}", a.serve(a.serveSnapshot))
	handle("GET /datasets/v3/snapshot/{id}/parts", a.serve(a.serveParts))
	handle("GET /datasets/v3/snapshot/{id}/input", a.withParameters(a.serveInput, "format", "compress"))
	handle("POST /datasets/v3/snapshot/{id}/cancel", a.withParameters(a.serveCancel))
	handle("POST /datasets/v3/snapshot/{id}/rerun", a.withParameters(a.serveRerun))
	handle("GET /datasets/v3/log/{id}", a.withParameters(a.serveLog))
	handle("GET /datasets/v3/scrapers", a.withParameters(a.serveScrapers, "dataset_id", "domain"))
	handle("POST /datasets/v3/deliver/{id}", a.withParameters(a.serveDeliver, "notify"))
	handle("GET /datasets/v3/delivery/{id}", a.withParameters(a.serveDelivery))
	handle("GET /datasets/v3/deliveries", a.withParameters(a.serveDeliveries, "snapshot_id"))
	handle("GET /datasets/list", a.withParameters(a.serveList))
	a.mountMarket(handle)
}

func (a *API) serve(do endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(w, r); err != nil {
			a.fail(w, err)
		}
	}
}

// Bases of this package's answers; see [answer.BasisHeader].
const (
	basisInput    = "public documentation; reasons: assumption"
	basisParts    = "public documentation; a part without batch_size: assumption"
	basisRerun    = "public documentation: the path; answer: assumption"
	basisDefault  = "contract 4.2, which names no data set; snapshot_id: public documentation; that the account has a default data set: assumption"
	basisScrape   = "public documentation; format json where none is asked for, a scrape without records: assumption"
	basisScrapers = "public sources; sample_input, linkToScraper and category: this emulator's"
	basisLog      = "public documentation; user and ip are null, durations in ms: assumption"
	basisList     = "public documentation; shape with_total, order, trigger_type API for every job: assumption"
)

// inputError refuses an input (public documentation).
type inputError struct {
	Text   string      `json:"error"`
	Code   string      `json:"code"`
	Line   string      `json:"line,omitempty"`
	Errors [][2]string `json:"errors,omitempty"`
}

func (e *inputError) Error() string { return e.Text }

func inputErrors(line string, errs ...[2]string) *inputError {
	return &inputError{Text: "Invalid input provided", Code: "validation_error", Line: line, Errors: errs}
}

func refused(name, reason string) error { return inputErrors("", [2]string{name, reason}) }

func badRequest(t string) *answer.TextError {
	return &answer.TextError{Status: http.StatusBadRequest, Basis: answer.BasisDataset, Text: t}
}

func notFound(t string) *answer.TextError {
	return &answer.TextError{Status: http.StatusNotFound, Basis: answer.BasisDataset, Text: t}
}

// Refusals that several calls share (public documentation).
func errAttachments() *answer.TextError { return badRequest("Invalid attachments") }
func errNoDataset() *answer.TextError   { return notFound("dataset does not exist") }
func errSmallBatch() *answer.TextError {
	return badRequest(fmt.Sprintf("Batch size should be at least %d", jobs.MinBatch))
}

// unusable refuses a call for the state of its snapshot.
func unusable(snap jobs.Snapshot, err error) error {
	switch {
	case errors.Is(err, jobs.ErrNotReady):
		return badRequest("Snapshot is not ready")
	case errors.Is(err, jobs.ErrNotComplete):
		return &answer.TextError{Status: http.StatusBadRequest, Basis: "assumption: status and text of a snapshot that did not complete", Text: "Snapshot is " + string(snap.Status)}
	}
	return err
}

func answerJSON(w http.ResponseWriter, basis string, v any) error {
	answer.JSON(w, http.StatusOK, basis, v)
	return nil
}

func (a *API) fail(w http.ResponseWriter, err error) {
	if bad, ok := errors.AsType[*inputError](err); ok {
		answer.JSON(w, http.StatusBadRequest, basisInput, bad)
		return
	}
	no, ok := errors.AsType[*answer.TextError](err)
	if !ok {
		no = jobRefusal(err)
	}
	if no == nil {
		a.conf.Log.Error("a call failed", "error", err)
		no = &answer.TextError{Status: http.StatusInternalServerError, Basis: answer.BasisDataset, Text: "Internal server error"}
	}
	if no.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", retryAfter)
	}
	no.Write(w)
}

// jobRefusal is the refusal for an error of the jobs (texts: public documentation), or nil.
func jobRefusal(err error) *answer.TextError {
	switch {
	case errors.Is(err, jobs.ErrTooMany):
		return &answer.TextError{Status: http.StatusTooManyRequests, Basis: answer.BasisDataset, Text: "You have too many running jobs for this dataset"}
	case errors.Is(err, jobs.ErrExpired):
		return badRequest("Snapshot is expired")
	case errors.Is(err, jobs.ErrEmpty):
		return badRequest("Snapshot is empty")
	case errors.Is(err, jobs.ErrNotRunning):
		return badRequest("Snapshot is not running")
	case errors.Is(err, jobs.ErrNoInput):
		return badRequest("Snapshot input does not exist")
	case errors.Is(err, jobs.ErrNoSnapshot):
		return notFound("Snapshot does not exist")
	}
	return nil
}

const unknownParameter = "Unknown parameter"

// parameters read values by name. Each says what is wrong with its value, or "".
type parameters map[string]func(v string) (reason string)

// set reads one value. ignore is told an unknown name; nil refuses it.
func (p parameters) set(name, v string, ignore func(name string)) (reason string) {
	switch read, known := p[name]; {
	case known:
		return read(v)
	case ignore == nil:
		return unknownParameter
	}
	ignore(name)
	return ""
}

// query reads a whole query, in the order of the names, and names the first parameter that
// is wrong.
func (p parameters) query(q url.Values, ignore func(name string)) (name, reason string) {
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if reason := p.set(name, q.Get(name), ignore); reason != "" {
			return name, reason
		}
	}
	return "", ""
}

// ignore notes an unknown parameter of a query if the service is loose.
func (a *API) ignore(w http.ResponseWriter) func(name string) {
	if !a.conf.Loose {
		return nil
	}
	return func(name string) { answer.NoteUnknown(w, "query parameter "+name) }
}

func text(to *string, checks ...func(v string) (reason string)) func(string) string {
	return func(v string) string {
		for _, check := range checks {
			if reason := check(v); reason != "" {
				return reason
			}
		}
		*to = v
		return ""
	}
}

func oneOf(reason string, words ...string) func(string) string {
	return func(v string) string {
		if slices.Contains(words, v) {
			return ""
		}
		return reason
	}
}

func truth(to *bool) func(string) string {
	return func(v string) string {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return "Must be true or false"
		}
		*to = b
		return ""
	}
}

// number keeps a whole number that is not below least.
func number(to *int, least int) func(string) string {
	return func(v string) string {
		n, err := strconv.Atoi(v)
		if err != nil || n < least {
			return fmt.Sprintf("Must be a number above %d", least-1)
		}
		*to = n
		return ""
	}
}

// withParameters checks the query before an endpoint: an unknown parameter is refused, or noted if
// the service is loose.
func (a *API) withParameters(do endpoint, names ...string) http.HandlerFunc {
	return a.serve(func(w http.ResponseWriter, r *http.Request) error {
		if unknown := answer.UnknownParameters(w, r, a.conf.Loose, names...); len(unknown) > 0 {
			return refused(shortened(unknown[0]), unknownParameter)
		}
		return do(w, r)
	})
}

func (a *API) readBody(w http.ResponseWriter, r *http.Request, most int64) (*document.Table, error) {
	body, err := document.Body(w, r, most, a.conf.Loose)
	if err != nil {
		field, reason, _ := strings.Cut(err.Error(), " ")
		return nil, refused(field, sentence(reason))
	}
	t, err := document.JSON(body)
	if err != nil {
		return nil, parseError("Request body is not JSON, or not what is asked for: %s", err)
	}
	return t.Loose(a.conf.Loose), nil
}

// finishBody is called after the last field of a body. It notes unknown fields that a loose
// service accepts.
func finishBody(w http.ResponseWriter, t *document.Table) error {
	t.Done()
	bad := inputErrors("")
	for _, e := range t.Errs()[:min(len(t.Errs()), maxFaults)] {
		reason := sentence(e.Reason())
		if e.Unknown {
			reason = "Unknown field"
		}
		bad.Errors = append(bad.Errors, [2]string{shortened(e.Field), reason})
	}
	if len(bad.Errors) > 0 {
		return bad
	}
	for _, name := range t.Ignored() {
		answer.NoteUnknown(w, name)
	}
	return nil
}

const maxFaults = 100

func sentence(reason string) string { return strings.ToUpper(reason[:1]) + reason[1:] }
