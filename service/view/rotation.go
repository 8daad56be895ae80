package view

import (
	"errors"

	"zonedeck/keystore"
	"zonedeck/service/rotate"
)

// Rotation is what "keys rotate --json" prints (docs/schema/keys-rotate.json).
type Rotation struct {
	SchemaVersion Version        `json:"schema_version"`
	Key           string         `json:"key" jsonschema:"What is rotated: the key's name, or \"password of zone NAME\"."`
	NewKey        string         `json:"new_key" jsonschema:"The new key's name at the service; empty where the account settings were worked by a person, and of a password, which has none."`
	Zone          string         `json:"zone" jsonschema:"The zone whose password is rotated; empty for a key."`
	ChangedBy     string         `json:"changed_by" jsonschema:"The key by which the zone's password is changed; empty for a key."`
	ID            string         `json:"id"`
	Method        string         `json:"method" enum:"added password|new key|refresh"`
	Over          bool           `json:"over"`
	Abandoned     bool           `json:"abandoned"`
	Steps         []RotationStep `json:"steps"`
	Next          string         `json:"next" jsonschema:"What a person has to do before it goes on; empty where nothing is."`
}

// RotationStep is one step of a rotation.
type RotationStep struct {
	Name   string `json:"name"`
	Kind   string `json:"kind" enum:"create|finish|set|test"`
	State  string `json:"state" enum:"done|open"`      // done or open
	By     string `json:"by" enum:"|measured|vouched"` // measured, vouched, or empty while it is open
	Proof  string `json:"proof"`
	Status int    `json:"status" jsonschema:"The service's answer to the call that proved it; 0 where no call was made."`
	At     string `json:"at" jsonschema:"RFC 3339; empty while it is open."`
}

// NewRotation is a rotation; err is what stopped it.
func NewRotation(p keystore.RotationPlan, err error) Rotation {
	out := Rotation{
		Key: p.Key, NewKey: p.NewName, Zone: p.Zone, ChangedBy: p.ChangedBy, ID: p.ID, Method: string(p.Method),
		Over: p.Over(), Abandoned: p.Abandoned, Steps: []RotationStep{},
	}
	for _, s := range p.Steps {
		step := RotationStep{Name: s.Name(), Kind: string(s.Kind.Word()), State: "open", By: string(s.By), Proof: s.Proof(), Status: s.Status}
		if s.Done {
			step.State, step.At = "done", s.At.UTC().Format(stampFormat)
		}
		out.Steps = append(out.Steps, step)
	}
	if stop := (*rotate.StopError)(nil); errors.As(err, &stop) {
		out.Next = stop.Error()
	}
	return out
}

// stampFormat is RFC 3339 with milliseconds.
const stampFormat = "2006-01-02T15:04:05.000Z07:00"

// Password is what "zones password --json" prints (docs/schema/zones-password.json).
type Password struct {
	SchemaVersion Version        `json:"schema_version"`
	Zone          string         `json:"zone"`
	Reference     string         `json:"reference"`
	Key           string         `json:"key"`
	Stops         []string       `json:"stops"`
	GoOn          []string       `json:"go_on"`
	Compared      string         `json:"compared" jsonschema:"What was held against what to tell what stops from what goes on."`
	Refusal       string         `json:"refusal"`
	Rotated       bool           `json:"rotated"`
	OldRefused    bool           `json:"old_refused"`
	ID            string         `json:"id" jsonschema:"Of the record; empty without --rotate."`
	Steps         []RotationStep `json:"steps"`
	Next          string         `json:"next" jsonschema:"What a person has to do before it goes on; empty where nothing is."`
}
