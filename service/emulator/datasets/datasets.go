// Package datasets is the endpoints of dataset jobs (service.md 2.4, 4.2) and of the
// marketplace over the jobs that package jobs runs, and over the deliveries of package
// deliver. The root mounts it behind the key check. An [API] is safe for concurrent use.
package datasets

import (
	"log/slog"
	"net/http"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/jobs"
)

const (
	// SyncWait is how long a scrape is waited for (public documentation: one minute).
	SyncWait = time.Minute
	// MaxSyncInputs bounds the inputs of a scrape (public documentation).
	MaxSyncInputs = 20

	maxTriggerBytes = 64 << 20
	maxURLBytes     = 8192
	// retryAfter is what a client is told to wait, in seconds (public documentation).
	retryAfter = "10"
)

// Config is what the endpoints stand on.
type Config struct {
	Jobs *jobs.Engine
	// SyncWait is how long a scrape is waited for; 0 is [SyncWait].
	SyncWait time.Duration
	// Loose lets unknown parameters and fields pass, and notes them in x-emulator-note;
	// otherwise they are refused by name.
	Loose bool
	// Account is the customer's id (service.md 2.3).
	Account string
	// Deliver sends webhooks; without it they are refused by name.
	Deliver *deliver.Engine
	Log     *slog.Logger
}

// API is the endpoints.
type API struct{ conf Config }

// New makes the endpoints.
func New(conf Config) *API {
	if conf.SyncWait == 0 {
		conf.SyncWait = SyncWait
	}
	return &API{conf: conf}
}

// Mount gives every endpoint to handle, as a pattern of [http.ServeMux].
func (a *API) Mount(handle func(pattern string, h http.HandlerFunc)) {
	handle("POST /datasets/v3/trigger", a.serveTrigger)
	handle("POST /datasets/v3/scrape", a.serveScrape)
	handle("GET /datasets/v3/progress/{id}", a.takes(a.serveProgress))
	handle("GET /datasets/v3/snapshots", a.serveSnapshots)
	handle("GET /datasets/v3/snapshot/{id}", a.serveSnapshot)
	handle("GET /datasets/v3/snapshot/{id}/parts", a.serveParts)
	handle("GET /datasets/v3/snapshot/{id}/input", a.takes(a.serveInput, "format", "compress"))
	handle("POST /datasets/v3/snapshot/{id}/cancel", a.takes(a.serveCancel))
	handle("POST /datasets/v3/snapshot/{id}/rerun", a.takes(a.serveRerun))
	handle("GET /datasets/v3/log/{id}", a.takes(a.serveLog))
	handle("GET /datasets/v3/scrapers", a.takes(a.serveScrapers, "dataset_id", "domain"))
	if a.conf.Deliver != nil {
		handle("POST /datasets/v3/deliver/{id}", a.takes(a.serveDeliver, "notify"))
		handle("GET /datasets/v3/delivery/{id}", a.takes(a.serveDelivery))
		handle("GET /datasets/v3/deliveries", a.takes(a.serveDeliveries, "snapshot_id"))
	}
	handle("GET /datasets/list", a.takes(a.serveList))
	a.mountMarket(handle)
}

// Bases of this package's answers; see [answer.BasisHeader].
const (
	basisInput    = "public documentation; reasons: assumption"
	basisParts    = "public documentation; a part without batch_size: assumption"
	basisRerun    = "public documentation: the path; answer: assumption"
	basisScrape   = "public documentation; format json where none is asked for, a scrape without records: assumption"
	basisScrapers = "public documentation: the path; shape: assumption"
	basisLog      = "public documentation; user and ip are null, durations in ms: assumption"
	basisList     = "public documentation; shape with_total, order, trigger_type API for every job: assumption"
)

// inputError is an input that the service does not take (public documentation).
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

func refuse(w http.ResponseWriter, name, reason string) {
	answer.JSON(w, http.StatusBadRequest, basisInput, inputErrors("", [2]string{name, reason}))
}

// broken answers for what went wrong inside, and writes it to the log.
func (a *API) broken(w http.ResponseWriter, what string, err error) {
	a.conf.Log.Error(what, "error", err)
	answer.Text(w, http.StatusInternalServerError, answer.BasisDataset, "Internal server error")
}
