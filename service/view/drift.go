package view

import (
	"fmt"
	"time"

	"zonedeck/model"
	"zonedeck/service/drift"
)

// DriftFinding is what is said of a field.
type DriftFinding struct {
	Field    string `json:"field"`
	Kind     string `json:"kind" enum:"coverage|emptied|flat|lost|missing|new|pattern|too few rows|type changed"`
	Drift    bool   `json:"drift" jsonschema:"whether it is drift: all but new and too few rows"`
	Contract bool   `json:"contract" jsonschema:"whether the contract asks for more, and not an earlier run"`
	Text     string `json:"text" jsonschema:"one sentence of evidence"`
	Since    string `json:"since" jsonschema:"the first run of the unbroken row of them with drift of the field; empty where it is none"`
}

// Standing is a collector (docs/schema/drift.json).
type Standing struct {
	Kind     string         `json:"kind" enum:"dataset|target"`
	Name     string         `json:"name"`
	State    string         `json:"state" enum:"drift|empty|few|first|ok" jsonschema:"first: nothing was there to compare with; few: worse than before, in so few rows that it may be chance; empty: no useful row"`
	Judged   bool           `json:"judged" jsonschema:"whether it was held against good runs or a contract"`
	Run      string         `json:"run" jsonschema:"the newest: a job or a fetch"`
	At       string         `json:"at" format:"date-time"`
	Returned int            `json:"returned" minimum:"0" jsonschema:"rows"`
	Useful   int            `json:"useful" minimum:"0" jsonschema:"rows with data; of a fetch 1 if it found a required field"`
	GoodRuns int            `json:"good_runs" minimum:"0" jsonschema:"good runs that it was held against"`
	Contract bool           `json:"contract"`
	Silent   int            `json:"silent" minimum:"0" jsonschema:"the newest runs without a useful row"`
	Class    string         `json:"class" jsonschema:"the class of most of them, or empty"`
	Cause    string         `json:"cause" jsonschema:"the cause of most of them, or empty"`
	Accepted *Accepted      `json:"accepted" jsonschema:"the newest acceptance"`
	Findings []DriftFinding `json:"findings"`
}

// Accepted is a run that a person called normal.
type Accepted struct {
	Run    string `json:"run"`
	At     string `json:"at" format:"date-time"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

func newStanding(s drift.Standing) Standing {
	out := Standing{
		Kind: string(s.Run.Kind), Name: s.Run.Name, State: string(s.Verdict.State), Judged: s.Verdict.Judged(), Run: s.Run.Ref, At: s.Run.At.UTC().Format(time.RFC3339),
		Returned: s.Run.Returned, Useful: s.Run.UsefulRows(), GoodRuns: s.Verdict.Against, Contract: s.Verdict.Contract,
		Silent: s.Silent, Class: string(s.SilentClass), Cause: string(s.SilentCause), Findings: newDriftFindings(s.Verdict.Findings),
	}
	if a := s.Accepted; a.Seq > 0 {
		out.Accepted = &Accepted{a.Ref, a.At.UTC().Format(time.RFC3339), a.Person, a.Reason}
	}
	return out
}

func newDriftFindings(all []drift.Finding) []DriftFinding {
	return each(all, func(f drift.Finding) DriftFinding {
		return DriftFinding{f.Field, string(f.Word), f.Word.Alarm(), f.Contract, f.Text, f.Since}
	})
}

// DriftLine is a field (docs/schema/drift-show.json).
type DriftLine struct {
	Field    string     `json:"field"`
	Type     string     `json:"type" jsonschema:"of most values; empty where none is filled"`
	Coverage *float64   `json:"coverage" minimum:"0" maximum:"1" jsonschema:"the share of useful rows of the newest run with the field filled; null where it has none, or is a fetch that did not ask for the field"`
	Before   *float64   `json:"before" jsonschema:"that of the good runs it is held against"`
	History  []*float64 `json:"history" jsonschema:"that of the last 60 runs, of a target of those that asked for the field, the oldest first; null where a run says nothing of it"`
	Matches  string     `json:"matches" jsonschema:"of a target, the part of a selector that still matches"`
	Fails    string     `json:"fails" jsonschema:"the step of it that matches nothing; empty where it matches"`
}

// DriftCheck is a collector that was checked (docs/schema/drift-check.json).
type DriftCheck struct {
	Name     string         `json:"name"`
	Kind     string         `json:"kind" enum:"dataset|target"`
	Run      string         `json:"run" jsonschema:"a job, a fetch, or the file"`
	At       string         `json:"at"`
	State    string         `json:"state" enum:"drift|empty|few|first|ok" jsonschema:"first: nothing was there to compare with; few: worse than before, in so few rows that it may be chance; empty: no useful row"`
	Judged   bool           `json:"judged"`
	Stale    bool           `json:"stale" jsonschema:"whether its newest run is older than --max-age"`
	Reason   string         `json:"reason" jsonschema:"why it was not judged, or since when it gives no useful row; or empty"`
	Useful   int            `json:"useful" minimum:"0"`
	Silent   int            `json:"silent" minimum:"0" jsonschema:"the newest runs without a useful row; from 3 on the check fails"`
	GoodRuns int            `json:"good_runs" minimum:"0"`
	Contract bool           `json:"contract"`
	Fields   []string       `json:"fields" jsonschema:"those with drift"`
	Findings []DriftFinding `json:"findings"`
}

// NewDriftCheck is a run that was checked.
func NewDriftCheck(r drift.Run, v drift.Verdict) DriftCheck {
	out := DriftCheck{
		Name: r.Name, Kind: string(r.Kind), Run: r.Ref, State: string(v.State), Judged: v.Judged(), Useful: r.UsefulRows(),
		GoodRuns: v.Against, Contract: v.Contract, Fields: list(drift.Names(drift.Alarms(v.Findings))), Findings: newDriftFindings(v.Findings),
		At: moment(r.At),
	}
	if out.Judged || v.State == drift.Drift {
		out.Judged = true
		return out
	}
	switch v.State {
	case drift.Empty:
		out.Reason = fmt.Sprintf("%s has no useful row", r.Ref)
	case drift.FewRows:
		out.Reason = fmt.Sprintf("%s has too few rows to tell", r.Ref)
	default:
		out.Reason = fmt.Sprintf("%s is %s: there is nothing to compare it with, and no contract", r.Ref, v.First)
	}
	return out
}

// NewStoredDriftCheck is how a collector of the store stands. A newest run that is older than most is not judged; 0 is no
// limit.
func NewStoredDriftCheck(s drift.Standing, now time.Time, most time.Duration) DriftCheck {
	out := NewDriftCheck(s.Run, s.Verdict)
	if s.Incomplete != "" && s.Verdict.State != drift.Drift {
		out.Judged = false
		out.Reason = fmt.Sprintf("the result of %[1]s is incomplete: download it again with 'zonedeck jobs download %[1]s -o FILE --force'", s.Incomplete)
	}
	if out.Stale = s.Stale(now, most); out.Stale && s.Verdict.State != drift.Drift {
		out.Judged = false
		out.Reason = fmt.Sprintf("its newest run, %s, is of %s and older than --max-age", s.Run.Ref, moment(s.Run.At))
	}
	if out.Silent = s.Silent; s.Dead() {
		out.Judged = true
		out.Reason = fmt.Sprintf("no useful row in the last %d runs, since %s: %s", s.Silent, s.Since.UTC().Format(time.DateOnly), model.ClassWord(s.SilentClass, s.SilentCause))
	}
	return out
}

// Dead reports whether the collector no longer gives useful rows.
func (c DriftCheck) Dead() bool { return c.Silent >= drift.SilentRuns }

// Standings are what "drift list --json" prints (docs/schema/drift.json).
type Standings struct {
	SchemaVersion Version    `json:"schema_version"`
	Collectors    []Standing `json:"collectors"`
}

// NewStandings are collectors.
func NewStandings(all []drift.Standing) Standings {
	return Standings{Collectors: each(all, newStanding)}
}

// DriftChecks are what "drift check --json" prints (docs/schema/drift-check.json).
type DriftChecks struct {
	SchemaVersion Version      `json:"schema_version"`
	Collectors    []DriftCheck `json:"collectors"`
}

// DriftDetail is a collector with its fields (docs/schema/drift-show.json).
type DriftDetail struct {
	SchemaVersion Version `json:"schema_version"`
	Standing
	Fields []DriftLine `json:"fields"`
}

// NewDriftDetail is a collector with its fields.
func NewDriftDetail(d drift.Detail) DriftDetail {
	return DriftDetail{Standing: newStanding(d.Standing), Fields: each(d.Lines, func(l drift.Line) DriftLine {
		return DriftLine{l.Field, l.Type, counted(l.Now), counted(l.Before), each(l.History, counted[float64]), l.Matches, l.Fails}
	})}
}
