package model

import "time"

// HistoryKind is what an entry of the timeline is about.
type HistoryKind string

// The kinds of the timeline.
const (
	HistoryFetch      HistoryKind = "fetch"
	HistoryComparison HistoryKind = "twin"
	HistoryProbe      HistoryKind = "probe"
	HistoryJob        HistoryKind = "job"
	HistoryKey        HistoryKind = "key"
	HistoryAgent      HistoryKind = "agent" // a call of an agent: what it asked for and what came of it
	HistoryWebhook    HistoryKind = "webhook"
	HistoryBatch      HistoryKind = "batch"
)

// Word is the kind as people read and filter it; what is stored keeps the older word of a comparison.
func (k HistoryKind) Word() string {
	if k == HistoryComparison {
		return "comparison"
	}
	return string(k)
}

// HistoryKindOf is the kind of a word.
func HistoryKindOf(word string) HistoryKind {
	if word == HistoryComparison.Word() {
		return HistoryComparison
	}
	return HistoryKind(word)
}

// SourceAgent marks what an agent did, by the console's MCP server.
const SourceAgent = "agent"

// SourceRotation marks the calls that rotations and rehearsals of them make by themselves.
const SourceRotation = "rotation"

// Sources are the marks that an entry may have.
func Sources() []string { return []string{SourceAgent, SourceRotation} }

// HistoryEntry is one entry of the timeline. It holds no secret.
type HistoryEntry struct {
	ID      int64
	At      time.Time
	Kind    HistoryKind
	Profile string
	Zone    string
	URL     string
	Via     Via
	Key     string
	Class   Class // of a fetch or a probe
	Cause   Cause
	// Status is the target's; of a rotation's proof that did not come so far, the service's or the proxy's own.
	Status int
	Bytes  int64
	Total  time.Duration
	// Cost is an estimate in dollars by the rates of zones, of a fetch or of all calls of a
	// test of logins; it counts only when Priced.
	Cost   float64
	Priced bool
	// Ref is the identifier of what it is about: a fetch, a comparison, a job, a key.
	Ref string
	// Text is one line that says what happened.
	Text string
	// Source is who did it: "" for the operator, or one of Sources.
	Source string
}

// Outcome is what came of it, as ClassWord has it; empty where there is nothing to say.
func (a HistoryEntry) Outcome() string {
	if a.Class == "" && a.Cause == "" {
		return ""
	}
	return ClassWord(a.Class, a.Cause)
}

// Billed reports whether it is what a zone is billed for: a fetch or a test of logins, through a zone.
func (a HistoryEntry) Billed() bool {
	return a.Kind == HistoryProbe || a.Kind == HistoryFetch && !throughNoZone(a.Zone, a.Via)
}

// CostWords are its cost by the rates of zones, NoZone of a fetch through none, and empty of what has no cost.
func (a HistoryEntry) CostWords() string {
	switch {
	case a.Billed():
		return CostWords(a.Cost, a.Priced)
	case a.Kind == HistoryFetch:
		return NoZone
	default:
		return ""
	}
}

// HistoryFilter narrows the timeline. The zero value is everything.
type HistoryFilter struct {
	Words   []string
	Kind    HistoryKind
	Class   Class
	Zone    string
	Key     string
	Profile string
	Source  string
	Without string // the source whose entries are left out
	Since   time.Time
	Limit   int // at most this many; 0 means 200
	PerZone int // only this many of the newest fetches of each zone that have a verdict; 0 means all
	// Clauses are further conditions in the language of the store, with their arguments.
	Clauses []string
	Args    [][]any
	Before  int64 // only entries with a smaller ID, for paging; 0 means from the newest
}
