package view

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"zonedeck/model"
)

// Webhook is one webhook (docs/schema/webhook.json).
type Webhook struct {
	ID         string                `json:"id" jsonschema:"The console's own identifier."`
	At         time.Time             `json:"at" jsonschema:"When it came first."`
	Last       time.Time             `json:"last" jsonschema:"When it came last."`
	Times      int                   `json:"times" minimum:"1" jsonschema:"How often it came: the same bytes to the same target under the same sender_id."`
	Target     string                `json:"target" jsonschema:"Path and query that it came to; values of secret parameters are masked."`
	Remote     string                `json:"remote" jsonschema:"The address that it came from."`
	SenderID   string                `json:"sender_id" jsonschema:"What the sender calls it (webhook-id), or empty."`
	Bytes      int64                 `json:"bytes" minimum:"0"`
	SHA256     string                `json:"sha256" pattern:"^[0-9a-f]{64}$"`
	File       string                `json:"file" jsonschema:"Where its bytes lie, as they came."`
	Machine    string                `json:"machine,omitempty" jsonschema:"The machine that has the file, where that is another of those on one database."`
	Verdict    string                `json:"verdict" enum:"pending|rejected|unverified|verified" jsonschema:"pending: not looked at yet; unverified: no check is set up; rejected: a check failed or lacked what it needs, and nobody was told of it."`
	VerifiedBy []string              `json:"verified_by" jsonschema:"The checks that passed."`
	Reason     string                `json:"reason" jsonschema:"What the verdict rests on, in words."`
	Job        string                `json:"job" jsonschema:"The job of the ledger that it is about, or empty."`
	JobState   string                `json:"job_state" jsonschema:"The state of that job in the ledger, which holds what the service said; empty where it is not known."`
	Snapshot   string                `json:"snapshot" jsonschema:"The service's identifier that it names, or empty."`
	Outcome    string                `json:"outcome" jsonschema:"What came of it when it was worked on, in words; what the service said since is the state of the job."`
	Bookmarked bool                  `json:"bookmarked"`
	Headers    []model.WebhookHeader `json:"headers" jsonschema:"As they came; values of secret ones are masked."`
	Repeats    []WebhookRepeat       `json:"repeats" maxItems:"20" jsonschema:"The other ways in which it came: by address and verdict, the newest 20, newest first. times counts all."`
}

// WebhookRepeat is how a webhook came once more: from one address, with one verdict.
type WebhookRepeat struct {
	Last    time.Time            `json:"last" jsonschema:"When it came so last."`
	Times   int                  `json:"times" minimum:"1"`
	Remote  string               `json:"remote" jsonschema:"The address that it came from."`
	Verdict model.WebhookVerdict `json:"verdict" enum:"rejected|unverified|verified"`
	Reason  string               `json:"reason" jsonschema:"What the verdict rests on, in words."`
}

// NewWebhook is a webhook.
func NewWebhook(d model.Webhook) Webhook {
	return Webhook{
		ID: d.ID, At: d.At.UTC(), Last: d.Last.UTC(), Times: d.Times, Target: d.Target, Remote: d.Remote, SenderID: d.SenderID,
		Bytes: d.Size, SHA256: d.SHA256, File: d.File, Machine: d.Machine, Verdict: string(d.Verdict), VerifiedBy: list(d.By), Reason: d.Reason, Job: d.Job, JobState: string(d.JobState),
		Snapshot: d.Snapshot, Outcome: d.Outcome, Bookmarked: d.Bookmarked, Headers: d.Headers,
		Repeats: each(d.Repeats, func(r model.WebhookRepeat) WebhookRepeat { return WebhookRepeat(r) }),
	}
}

// WebhookObject is a webhook by itself (docs/schema/webhook.json), or as it comes
// (docs/schema/webhook-line.json), with what is new.
type WebhookObject struct {
	SchemaVersion Version `json:"schema_version"`
	Event         string  `json:"event,omitempty" enum:"worked|duplicate" jsonschema:"worked: it was verified and its job told; duplicate: it was there already, and came once more."`
	Webhook
}

// Listening is the first line of "webhook listen --json" (docs/schema/webhook-line.json).
type Listening struct {
	SchemaVersion Version `json:"schema_version"`
	URL           string  `json:"url" jsonschema:"Where it listens."`
}

// WebhookReplay is what "webhook replay --json" prints (docs/schema/webhook-replay.json).
type WebhookReplay struct {
	SchemaVersion Version `json:"schema_version"`
	ID            string  `json:"id"`
	To            string  `json:"to"`
	Status        int     `json:"status" jsonschema:"What the receiver answered."`
	Answer        string  `json:"answer" jsonschema:"The beginning of its words."`
	Bytes         int64   `json:"bytes" minimum:"0"`
}

// EncodeWebhooks writes what "webhook list --json" prints, of an inbox that has total webhooks (docs/schema/webhooks.json).
// each hands them over one by one, so that they need not be held.
func EncodeWebhooks(w io.Writer, total int, each func(put func(model.Webhook) error) error) error {
	_, err := fmt.Fprintf(w, `{"schema_version":%d,"total":%d,"webhooks":[`, SchemaVersion, total)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what it writes to
	}
	comma := ""
	err = each(func(d model.Webhook) error {
		var b bytes.Buffer
		if err := Encode(&b, NewWebhook(d)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "%s%s", comma, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		comma = ","
		return err //nolint:wrapcheck // as above
	})
	if err == nil {
		_, err = io.WriteString(w, "]}\n")
	}
	return err
}
