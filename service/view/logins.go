package view

import (
	"time"

	"zonedeck/model"
)

// Logins is what "compare --logins --json" prints (docs/schema/compare-logins.json).
type Logins struct {
	SchemaVersion Version        `json:"schema_version"`
	Profile       string         `json:"profile"`
	Started       string         `json:"started"`
	Target        string         `json:"target"`
	Repeat        int            `json:"repeat" minimum:"1"`
	Zones         []LoginsRow    `json:"zones"`
	Baseline      *string        `json:"baseline"`
	Changes       []LoginsChange `json:"changes"`
	Worse         bool           `json:"worse"`
}

// LoginsRow is one zone.
type LoginsRow struct {
	Zone          string   `json:"zone"`
	Product       string   `json:"product"`
	Problem       string   `json:"problem"`
	Class         string   `json:"class"`
	Cause         string   `json:"cause"`
	Code          string   `json:"code"`
	Summary       string   `json:"summary"`
	ConnectStatus int      `json:"connect_status" minimum:"0"`
	ConnectMS     *float64 `json:"connect_ms" minimum:"0"`
	MedianMS      *float64 `json:"median_ms" minimum:"0"`
	TLS           string   `json:"tls" enum:"|trusted|unchecked|untrusted"`
	Root          string   `json:"root"`
	Countries     []string `json:"countries"`
	Runs          int      `json:"runs" minimum:"0"`
	OK            int      `json:"ok" minimum:"0"`
	KnownExits    int      `json:"known_exits" minimum:"0"`
	UniqueExits   int      `json:"unique_exits" minimum:"0"`
}

// LoginsChange is a difference from the baseline.
type LoginsChange struct {
	Zone string `json:"zone"`
	Kind string `json:"kind" enum:"better|changed|gone|new|worse"`
	Text string `json:"text"`
}

// NewLogins is a comparison of logins; base is the baseline that it was held against, or nil.
func NewLogins(m model.Baseline, base *model.Baseline, changes []model.BaselineChange) Logins {
	out := Logins{
		Profile: m.Profile, Started: m.Started.UTC().Format(time.RFC3339), Target: m.Target, Repeat: m.Calls,
		Worse: model.Worse(changes),
		Zones: each(m.Rows, func(r model.LoginRow) LoginsRow {
			return LoginsRow{
				Zone: string(r.Zone), Product: string(r.Product), Problem: r.Problem, Class: string(r.Class), Cause: string(r.Cause), Code: r.Code,
				Summary: r.Summary, ConnectStatus: r.ConnectStatus, ConnectMS: measured(r.Connect), MedianMS: measured(r.Median), TLS: string(r.Trust),
				Root: r.Root, Countries: list(r.Countries), Runs: r.Made, OK: r.OK, KnownExits: r.Known, UniqueExits: r.Unique,
			}
		}),
		Changes: each(changes, func(c model.BaselineChange) LoginsChange { return LoginsChange{string(c.Zone), string(c.Kind), c.Text} }),
	}
	if base != nil {
		started := base.Started.UTC().Format(time.RFC3339)
		out.Baseline = &started
	}
	return out
}
