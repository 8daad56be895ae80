package jobs

import (
	"encoding/json"
	"errors"
	"time"
)

const (
	// MaxInputs bounds the inputs of one job.
	MaxInputs = 100_000
	// MaxRunning bounds the unfinished jobs of one dataset when Config says nothing.
	MaxRunning = 1000
	// Retention is how long a snapshot can be fetched (public documentation: 30 days).
	Retention = 30 * 24 * time.Hour
	// MinBatch is the smallest part of a download, in records (public documentation).
	MinBatch = 1000
)

// Errors that callers decide on.
var (
	ErrNoDataset    = errors.New("dataset does not exist")
	ErrNoCollection = errors.New("dataset does not support collection")
	ErrNoDiscovery  = errors.New("dataset has no such discovery")
	ErrNoSnapshot   = errors.New("snapshot does not exist")
	ErrTooMany      = errors.New("too many running jobs")
	ErrNotRunning   = errors.New("snapshot is not running")
	ErrNotReady     = errors.New("snapshot is not ready")
	ErrExpired      = errors.New("snapshot is expired")
	ErrEmpty        = errors.New("snapshot is empty")
	ErrNotComplete  = errors.New("snapshot did not complete")
	ErrNoInput      = errors.New("snapshot input does not exist")
	ErrNoPart       = errors.New("snapshot has no such part")
	ErrClosed       = errors.New("the emulator ends")
)

// FailedError fails a whole job rather than one input. Message is what progress shows from
// then on.
type FailedError struct{ Message string }

func (e *FailedError) Error() string { return "the job fails: " + e.Message }

// Status is a job's state as it is spelt on the wire (public documentation).
type Status string

// The states this engine goes through. The words collecting and digesting are seen on
// the wire too, but no source says what they mean, so they are not used.
const (
	Starting Status = "starting"
	Running  Status = "running"
	Building Status = "building"
	Ready    Status = "ready"
	Failed   Status = "failed"
	Canceled Status = "canceled"
)

// Ended reports whether a job will not change any more.
func (s Status) Ended() bool { return s == Ready || s == Failed || s == Canceled }

// Spec is a job to start; its inputs were checked with [CheckInput].
type Spec struct {
	Dataset string
	// Discover is how records are found (discover_by); empty collects what the inputs
	// name.
	Discover string
	// Inputs are JSON objects.
	Inputs        []json.RawMessage
	IncludeErrors bool
	// LimitPerInput bounds the records of one input, LimitTotal those of the whole
	// job; 0 is unlimited.
	LimitPerInput, LimitTotal int
	// Fields keeps only these fields of each record, with dotted paths into objects;
	// empty keeps all.
	Fields []string
	// Format is the default of a download.
	Format string
	// Hooks are sent at the end of the job.
	Hooks []Hook
	// Via is the path and query that started the job, without secrets, for its log.
	Via string
}

// Kinds of a [Hook] (public documentation).
const (
	Notify   = "notify"   // snapshot id and status, at every end
	Endpoint = "endpoint" // the records, when the job is ready
)

// Hook is a webhook of a job.
type Hook struct {
	Kind string `json:"kind"`
	URL  string `json:"url"`
	// Auth is the Authorization header to send. It is a secret, erased once the hook is
	// handed over.
	Auth   string `json:"auth,omitempty"`
	Format string `json:"format,omitempty"`
	Plain  bool   `json:"plain,omitempty"` // records without gzip
}

// Snapshot is the public state of a job. Counts grow while it runs.
type Snapshot struct {
	ID       string    `json:"-"`
	Dataset  string    `json:"dataset"`
	Discover string    `json:"discover,omitempty"`
	Created  time.Time `json:"created"`
	Ended    time.Time `json:"ended,omitzero"` // zero while it runs
	Status   Status    `json:"status"`
	Error    string    `json:"error,omitempty"`
	Format   string    `json:"format,omitempty"`
	Via      string    `json:"via,omitempty"`
	Inputs   int       `json:"inputs"`
	Done     int       `json:"done"`
	// Succeeded counts the inputs with a record and without an error.
	Succeeded int   `json:"succeeded"`
	Records   int   `json:"records"`
	Errors    int   `json:"errors"`
	Size      int64 `json:"size"` // bytes of the records, one a line
	// IncludeErrors adds a row for each failure to a download.
	IncludeErrors bool `json:"include_errors,omitempty"`
	// Kept is a snapshot that [Engine.Keep] made, of records collected before.
	Kept bool `json:"-"`
}

// Rows counts the rows of a download: the records, and the failures with IncludeErrors.
func (s Snapshot) Rows() int {
	if s.IncludeErrors {
		return s.Records + s.Errors
	}
	return s.Records
}
