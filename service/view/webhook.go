package view

import (
	"time"

	"zonedeck/model"
)

// Webhook is one webhook (docs/schema/webhook.json).
type Webhook struct {
	ID         string             `json:"id"`
	At         time.Time          `json:"at"`
	Last       time.Time          `json:"last"`
	Seen       int                `json:"seen"`
	Target     string             `json:"target"`
	Remote     string             `json:"remote"`
	SenderID   string             `json:"sender_id"`
	Size       int64              `json:"size"`
	SHA256     string             `json:"sha256"`
	File       string             `json:"file"`
	Verdict    string             `json:"verdict"`
	VerifiedBy []string           `json:"verified_by"`
	Why        string             `json:"why"`
	Job        string             `json:"job"`
	JobState   string             `json:"job_state"`
	Snapshot   string             `json:"snapshot"`
	Outcome    string             `json:"outcome"`
	Bookmarked bool               `json:"bookmarked"`
	Headers    []model.HookHeader `json:"headers"`
	Repeats    []model.HookRepeat `json:"repeats"`
}

// NewWebhook is a webhook.
func NewWebhook(d model.Delivery) Webhook {
	out := Webhook{
		ID: d.ID, At: d.At.UTC(), Last: d.Last.UTC(), Seen: d.Seen, Target: d.Target, Remote: d.Remote, SenderID: d.SenderID,
		Size: d.Size, SHA256: d.SHA256, File: d.File, Verdict: string(d.Verdict), VerifiedBy: d.By, Why: d.Why, Job: d.Job, JobState: string(d.JobState),
		Snapshot: d.Snapshot, Outcome: d.Outcome, Bookmarked: d.Bookmarked, Headers: d.Headers,
		Repeats: d.Repeats,
	}
	if out.VerifiedBy == nil {
		out.VerifiedBy = []string{}
	}
	if out.Repeats == nil {
		out.Repeats = []model.HookRepeat{}
	}
	return out
}

// WebhookObject is a webhook by itself (docs/schema/webhook.json), or as it comes
// (docs/schema/webhook-line.json), with what is new.
type WebhookObject struct {
	SchemaVersion Version `json:"schema_version"`
	Event         string  `json:"event,omitempty"`
	Webhook
}

// Listening is the first line of "webhook listen --json" (docs/schema/webhook-line.json).
type Listening struct {
	SchemaVersion Version `json:"schema_version"`
	URL           string  `json:"url"`
}

// WebhookReplay is what "webhook replay --json" prints (docs/schema/webhook-replay.json).
type WebhookReplay struct {
	SchemaVersion Version `json:"schema_version"`
	ID            string  `json:"id"`
	To            string  `json:"to"`
	Status        int     `json:"status"`
	Answer        string  `json:"answer"`
	Bytes         int64   `json:"bytes"`
}
