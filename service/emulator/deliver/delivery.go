package deliver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors that callers decide on.
var (
	ErrNoDelivery = errors.New("delivery does not exist")
	ErrTooMany    = errors.New("too many deliveries are waiting")
)

// Kinds of a [Message] (public documentation).
const (
	Notify   = "notify"   // snapshot id and status
	Endpoint = "endpoint" // the records
)

// Message is what to send, and where.
type Message struct {
	Snapshot string `json:"snapshot"`
	// Status is the job's, as on the wire.
	Status string `json:"status"`
	Kind   string `json:"kind"`
	// URL may contain a login, which is kept like Auth.
	URL string `json:"url"`
	// Auth is the Authorization header; a secret, kept until the delivery has ended.
	Auth string `json:"auth,omitempty"`
	// Format is json, ndjson, jsonl or csv; Plain sends the records without gzip.
	Format string `json:"format,omitempty"`
	Plain  bool   `json:"plain,omitempty"`
	// Batch is the records of one file, 0 all; Parts the number of files, 0 is 1.
	Batch int `json:"batch,omitempty"`
	Parts int `json:"parts,omitempty"`
	// Name is the files' name without number and extension; empty is the snapshot's
	// id.
	Name string `json:"name,omitempty"`
}

// Status is a delivery's state. Done and failed are public documentation (canceled too, but
// nothing cancels a delivery here); the word for a waiting one is an assumption.
type Status string

// The states of a delivery.
const (
	Waiting Status = "running"
	Done    Status = "done"
	Failed  Status = "failed"
)

func (s Status) ended() bool { return s != Waiting }

// Attempt is one POST.
type Attempt struct {
	At time.Time `json:"at"`
	// Part is the file's number from 1.
	Part int `json:"part"`
	// Status is the receiver's HTTP status, 0 without an answer.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	Millis int64  `json:"ms"`
	// Fault says what a fault of the scenario did to it.
	Fault string `json:"fault,omitempty"`
	// Over is false while it runs. It stays false if the process died meanwhile.
	Over bool `json:"over"`
}

// File is a file that the receiver has acknowledged.
type File struct {
	Name string    `json:"filename"`
	At   time.Time `json:"delivery_ts"`
}

// Delivery is the public state of a delivery. Its message has no secret and its address no
// login.
type Delivery struct {
	ID       string    `json:"id"`
	Message  Message   `json:"message"`
	Created  time.Time `json:"created"`
	Ended    time.Time `json:"ended,omitzero"`
	Status   Status    `json:"status"`
	Files    []File    `json:"files"`
	Attempts []Attempt `json:"attempts"`
	// Next is when a waiting delivery is tried again.
	Next time.Time `json:"next,omitzero"`
}

// Fault is what a scenario does to an attempt; the zero value does nothing.
type Fault struct {
	Late time.Duration // waits before it is sent
	// Copies is how often it is sent once the receiver acknowledges it; 0 is once.
	Copies int
	Never  bool // does not send it, and fails the delivery
	// Status replaces the receiver's answer; nothing is sent.
	Status int
}

func (f Fault) String() string {
	var words []string
	if f.Late > 0 {
		words = append(words, "late by "+f.Late.String())
	}
	if f.Copies > 1 {
		words = append(words, fmt.Sprintf("%d times", f.Copies))
	}
	if f.Never {
		words = append(words, "never")
	}
	if f.Status > 0 {
		words = append(words, fmt.Sprintf("answered %d", f.Status))
	}
	return strings.Join(words, ", ")
}

const idPrefix = "d_"

// idOf is the same for the same webhook of the same job: a job that hands its webhooks over
// again after a crash starts no second delivery.
func idOf(m Message) string {
	sum := sha256.Sum256([]byte(m.Snapshot + "\x00" + m.Kind + "\x00" + m.URL))
	return idPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

func newID() string { return idPrefix + strings.ToLower(rand.Text()[:16]) }
