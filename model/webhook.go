package model

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// WebhookVerdict says whether a webhook came from whom it says (service.md 6).
type WebhookVerdict string

// The verdicts on a webhook.
const (
	WebhookPending    WebhookVerdict = "pending"    // not looked at yet
	WebhookVerified   WebhookVerdict = "verified"   // it passed every check that is set up
	WebhookUnverified WebhookVerdict = "unverified" // no check is set up
	WebhookRejected   WebhookVerdict = "rejected"   // a check failed, or found nothing to check
)

// WebhookHeader is a header as it was received; the value of a secret one is masked.
type WebhookHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// WebhookRepeat is how a webhook came once more: from one address, with one verdict.
type WebhookRepeat struct {
	// Last is when it came so last, Times how often.
	Last    time.Time      `json:"last"`
	Times   int            `json:"times"`
	Remote  string         `json:"remote"`
	Verdict WebhookVerdict `json:"verdict"`
	Reason  string         `json:"why"` // the inbox holds it under this name
}

// Text says it in words, without the time.
func (r WebhookRepeat) Text() string {
	why := r.Reason // of a verified one it says so
	if r.Verdict != WebhookVerified {
		why = string(r.Verdict) + ": " + why
	}
	return fmt.Sprintf("from %s ×%d, %s", r.Remote, r.Times, why)
}

// WebhookRefusals are webhooks that were refused for one reason, and are not in the inbox.
type WebhookRefusals struct {
	Reason string    `json:"why"`
	Count  int       `json:"count"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last" jsonschema:"When it came so last."`
	// Over says that none was refused for some time.
	Over bool `json:"over"`
}

// Text says it in words, with times as clock writes them.
func (r WebhookRefusals) Text(clock func(time.Time) string) string {
	out := "1 webhook was refused at " + clock(r.First)
	if r.Count > 1 {
		out = fmt.Sprintf("%d webhooks were refused since %s, the last at %s", r.Count, clock(r.First), clock(r.Last))
	}
	if out += ": " + r.Reason; r.Over {
		return out + "; none since then"
	}
	return out
}

// Webhook is one in the inbox. Its body lies in File, byte for byte.
type Webhook struct {
	// ID is the console's own identifier.
	ID string
	// At is when it was received first, Last when it came last, Times how often.
	At, Last time.Time
	Times    int
	// Target is the path and query that were asked for, with secrets masked, and Remote the
	// address of the connection's other end.
	Target, Remote string
	Headers        []WebhookHeader
	// Repeats are the other ways in which it came, the newest first; Times counts all.
	Repeats []WebhookRepeat
	Size    int64
	SHA256  string
	File    string
	// Machine has the body, if that is another than this one: of several with one inbox, each keeps what it receives.
	Machine string
	// SenderID is what the sender calls it (webhook-id), or empty.
	SenderID string
	Verdict  WebhookVerdict
	// By names the checks that passed; Reason says in words what the verdict rests on.
	By     []string
	Reason string
	// Job is the job of the ledger that it is about, Snapshot the service's identifier that it
	// names; empty where there is none.
	Job, Snapshot string
	// Outcome says what came of it when it was worked on. What the service answered to a question stands with the job:
	// JobState is its state in the ledger when the webhook was read, empty where that is not known.
	Outcome    string
	JobState   JobState
	Bookmarked bool
	// Worked is true when everything has been done about it.
	Worked bool
}

// WebhookAsked is the Outcome of a webhook that had the service asked.
const WebhookAsked = "the service is asked for the job's state"

// CameOf is the Outcome, or what is known since the service was asked.
func (d Webhook) CameOf() string {
	if d.Outcome == WebhookAsked && d.JobState.Final() {
		return "by now the job " + d.JobState.Predicate()
	}
	return d.Outcome
}

// WebhookJob is what the ledger knows of the job of a webhook.
type WebhookJob struct {
	Dataset string
	State   JobState
}

// Header is the first value of a header, or "".
func (d Webhook) Header(name string) string {
	for _, h := range d.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// WebhookID is the console's own identifier of the webhook with a number.
func WebhookID(n int64) string { return "hook-" + strconv.FormatInt(n, 10) }

// WebhookNews is what a webhook says of a job. None of it is believed: the service is asked.
type WebhookNews struct {
	ID string // its identifier
	// Token is that of the address it came to (see WebhookToken), or empty.
	Token string
	// Snapshot is the identifier that it names, or empty.
	Snapshot string
	// How says how it was verified, in words; Verified is true if it was.
	How      string
	Verified bool
}

// WebhookWait is how long a webhook is waited for before the service is asked in its place.
const WebhookWait = 30 * time.Minute

// InboxEndpoint stands for an address of the inbox where an operator names one.
const InboxEndpoint = "inbox"

// webhookFolder is the second last element of the inbox's addresses.
const webhookFolder = "zonedeck"

// WebhookAddress is the address of the inbox for one job: base with a path that ends in the token.
func WebhookAddress(base, token string) string {
	return strings.TrimRight(base, "/") + "/" + webhookFolder + "/" + token
}

// WebhookToken is the token of an address that WebhookAddress made, or "". A token is of 16 to 64
// letters and digits.
func WebhookToken(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	parts := strings.Split(strings.TrimRight(u.Path, "/"), "/")
	if len(parts) < 2 || parts[len(parts)-2] != webhookFolder {
		return ""
	}
	token := parts[len(parts)-1]
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	if len(token) < 16 || len(token) > 64 || strings.ContainsFunc(token, odd) {
		return ""
	}
	return token
}
