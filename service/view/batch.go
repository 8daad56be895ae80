package view

import (
	"cmp"
	"encoding/json"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/work"
)

// Batch is a batch as it is now (docs/schema/batch.json).
type Batch struct {
	SchemaVersion   Version          `json:"schema_version"`
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	Profile         string           `json:"profile"`
	Zone            string           `json:"zone"`
	Via             string           `json:"via" enum:"api|native"`
	Input           string           `json:"input"`
	State           string           `json:"state" enum:"running|paused|capped|held|done"`
	Reason          string           `json:"reason"`
	Live            bool             `json:"live"`
	Pace            string           `json:"pace"`
	Created         string           `json:"created"`
	Ended           *string          `json:"ended"`
	Total           int64            `json:"total" minimum:"0"`
	Duplicates      int64            `json:"duplicates" minimum:"0"`
	Done            int64            `json:"done" minimum:"0"`
	OK              int64            `json:"ok" minimum:"0"`
	SentAgain       int64            `json:"sent_again" minimum:"0"`
	Retried         int64            `json:"retried" minimum:"0"`
	AnswerLost      int64            `json:"answer_lost" minimum:"0"`
	Dropped         int64            `json:"dropped" minimum:"0"`
	Remaining       int64            `json:"remaining" minimum:"0"`
	Attempts        int64            `json:"attempts" minimum:"0"`
	Bytes           int64            `json:"bytes" minimum:"0"`
	Cost            *float64         `json:"cost" minimum:"0"`
	CostUnconfirmed *float64         `json:"cost_unconfirmed" minimum:"0"` // of Cost
	MaxCost         *float64         `json:"max_cost" minimum:"0"`
	AtOnce          int              `json:"at_once" minimum:"0"` // fetches at once; 0 is what the product allows
	Rate            float64          `json:"rate" minimum:"0"`    // items begun in a second; 0 has no bound
	P50             *float64         `json:"p50_ms" minimum:"0"`
	P95             *float64         `json:"p95_ms" minimum:"0"`
	Classes         map[string]int64 `json:"classes"` // how many items have a result of a class
	Verdicts        []BatchVerdict   `json:"verdicts"`
	Results         *string          `json:"results"` // the file with a line for each item that has a result, where this command wrote it
	Rules           []BatchRule      `json:"rules"`
	Hosts           []BatchHost      `json:"hosts"`
	Database        string           `json:"database"`
	Workers         []BatchWorker    `json:"workers"`
}

// BatchWorker is a worker at a batch that is on a database.
type BatchWorker struct {
	Name         string  `json:"name"`
	Slices       int     `json:"slices" minimum:"0"`
	Slots        int     `json:"slots" minimum:"0"`            // of the zone's limit
	HeartbeatAge float64 `json:"heartbeat_age_ms" minimum:"0"` // since it was last heard of
	Dead         bool    `json:"dead"`
}

// BatchRule is a rule of a batch, and for how many hosts or items it began to hold.
type BatchRule struct {
	Rule  string `json:"rule"`
	Fired int64  `json:"fired" minimum:"0"`
}

// BatchVerdict is how many items of a batch have a class and cause.
type BatchVerdict struct {
	Class string `json:"class" enum:"class"`
	Cause string `json:"cause"`
	Items int64  `json:"items" minimum:"1"`
}

// BatchHost is one of the hosts with most failures.
type BatchHost struct {
	Host   string `json:"host"`
	OK     int64  `json:"ok" minimum:"0"`
	Failed int64  `json:"failed" minimum:"1"`
	Class  string `json:"class" enum:"class"`
}

// NewBatch describes a batch.
func NewBatch(s batch.State) Batch {
	t := s.Tally
	out := Batch{
		ID: s.ID, Name: s.Name, Profile: s.Profile, Zone: string(s.Plan.Request.Zone.Name), Via: string(s.Plan.Request.Via), Input: s.Plan.Source,
		State: string(s.State), Reason: s.Reason, Live: s.Live, Pace: s.Pace, Created: Moment(s.Created), Ended: known(Moment(s.Ended), !s.Ended.IsZero()),
		Total: s.Items, Duplicates: s.Duplicates, Done: t.Answered, OK: s.OK(), SentAgain: t.Again, Retried: t.Retried, AnswerLost: t.Unanswered, Dropped: t.Dropped, Remaining: s.Remaining(),
		Attempts: t.Tries, Bytes: t.Bytes, Cost: known(batch.Dollars(s.Spent), s.Plan.Price > 0), CostUnconfirmed: known(batch.Dollars(t.Unconfirmed), s.Plan.Price > 0), MaxCost: known(batch.Dollars(s.Cap), s.Cap > 0),
		AtOnce: s.AtOnce, Rate: s.Rate,
		P50: measured(t.Percentile(0.5)), P95: measured(t.Percentile(0.95)), Classes: map[string]int64{},
	}
	for v, items := range t.Verdicts {
		out.Classes[string(v.Class)] += items
	}
	out.Verdicts = each(s.Verdicts(), func(v store.Verdict) BatchVerdict {
		return BatchVerdict{Class: string(v.Class), Cause: string(v.Cause), Items: t.Verdicts[v]}
	})
	out.Rules = []BatchRule{}
	for i, fired := range s.Fired() {
		out.Rules = append(out.Rules, BatchRule{s.Plan.Rules[i].String(), fired})
	}
	out.Hosts = each(s.WorstHosts(10), func(name string) BatchHost {
		h := t.Hosts[name]
		main, _ := h.Main()
		return BatchHost{Host: name, OK: h.OK, Failed: h.Failures(), Class: string(main.Class)}
	})
	out.Database = s.OnServer
	out.Workers = each(s.Workers, func(w work.Worker) BatchWorker {
		return BatchWorker{Name: w.Process, Slices: w.Items, Slots: s.Slots[w.Process], HeartbeatAge: float64(w.Beat.Microseconds()) / 1000, Dead: w.Dead}
	})
	return out
}

// Batches are the batches of this machine, the newest first.
type Batches struct {
	SchemaVersion Version `json:"schema_version"`
	Batches       []Batch `json:"batches"`
}

// NewBatches describes batches.
func NewBatches(all []batch.State) Batches { return Batches{Batches: each(all, NewBatch)} }

// BatchPlan is a batch that was planned and not begun (docs/schema/batch-plan.json).
type BatchPlan struct {
	SchemaVersion Version        `json:"schema_version"`
	Total         int64          `json:"total" minimum:"0"`
	Duplicates    int64          `json:"duplicates" minimum:"0"`
	Bad           int64          `json:"bad" minimum:"0"`
	Digest        string         `json:"digest"`
	Retries       int            `json:"retries" minimum:"0"`
	CostEstimate  *float64       `json:"cost_estimate" minimum:"0"`
	Terms         []BatchTerm    `json:"terms"`
	First         []BatchRequest `json:"first"`
}

// BatchRequest is what would be sent for a row, without secrets.
type BatchRequest struct {
	Method string `json:"method"`
	URL    string `json:"url"`
}

// BatchTerm is something that would hold for a batch: its limits, cap, rules and required fields.
type BatchTerm struct {
	Name  string `json:"name" enum:"limits|cap|rule|required"`
	Value string `json:"value"`
}

// NewBatchPlan describes a plan.
func NewBatchPlan(r batch.Report) BatchPlan {
	cost, priced := r.MostCost()
	return BatchPlan{
		Total: r.Planned.Items, Duplicates: r.Planned.Duplicates, Bad: r.Bad, Digest: r.Planned.Digest, Retries: r.Plan.Retries, CostEstimate: known(cost, priced),
		Terms: each(r.Terms(), func(term [2]string) BatchTerm { return BatchTerm{term[0], term[1]} }),
		First: each(r.First, func(of model.FetchRequest) BatchRequest {
			return BatchRequest{Method: cmp.Or(of.Method, "GET"), URL: of.URL}
		}),
	}
}

// BatchReport is what a batch came to (docs/schema/batch-report.json).
type BatchReport struct {
	SchemaVersion  Version      `json:"schema_version"`
	Batch          Batch        `json:"batch"`
	CostPerOK      *float64     `json:"cost_per_ok" minimum:"0"`
	Retries        int64        `json:"retries" minimum:"0"`
	PerSecond      float64      `json:"per_second" minimum:"0"`
	Zones          []BatchZone  `json:"zones"`
	RequiredFields []BatchField `json:"required_fields"`
}

// BatchZone is what came through a zone of a batch.
type BatchZone struct {
	Zone   string  `json:"zone"`
	ByRule int     `json:"by_rule" minimum:"0"`
	Items  int64   `json:"items" minimum:"1"`
	OK     int64   `json:"ok" minimum:"0"`
	Cost   float64 `json:"cost" minimum:"0"`
}

// BatchField is in how many of the pages that came a required field was.
type BatchField struct {
	Field string `json:"field"`
	Found int64  `json:"found" minimum:"0"`
	Pages int64  `json:"pages" minimum:"0"`
}

// NewBatchReport describes what a batch came to.
func NewBatchReport(s batch.Summary) BatchReport {
	cost, priced := s.UsefulCost()
	return BatchReport{
		Batch: NewBatch(s.State), CostPerOK: known(cost, priced), Retries: s.Retries(), PerSecond: s.Speed(),
		Zones:          each(s.Zones, func(z batch.ZoneSum) BatchZone { return BatchZone(z) }),
		RequiredFields: each(s.Fields, func(f batch.FieldSum) BatchField { return BatchField{f.Path, f.Found, f.Pages} }),
	}
}

// AgentBatch is a batch for an agent.
type AgentBatch struct {
	ID              string           `json:"id"`
	Name            string           `json:"name,omitempty"`
	Profile         string           `json:"profile"`
	Zone            string           `json:"zone"`
	State           string           `json:"state"`
	Reason          string           `json:"reason,omitempty"`
	Live            bool             `json:"live" jsonschema:"a process works on it"`
	Total           int64            `json:"total" jsonschema:"without duplicates"`
	Done            int64            `json:"done"`
	OK              int64            `json:"ok"`
	Remaining       int64            `json:"remaining"`
	AnswerLost      int64            `json:"answer_lost" jsonschema:"at most so many items may have been sent without an answer: the operator decides about them"`
	Cost            *float64         `json:"cost,omitempty"`
	CostUnconfirmed *float64         `json:"cost_unconfirmed,omitempty" jsonschema:"the part of cost that may not have been spent: for items without an answer"`
	MaxCost         *float64         `json:"max_cost,omitempty"`
	Verdicts        []BatchVerdict   `json:"verdicts,omitempty"`
	CostLeft        *float64         `json:"cost_left,omitempty" jsonschema:"what is left of the operator's cap"`
	Untrusted       AgentBatchRemote `json:"untrusted"`
}

// AgentBatchRemote is what came of a batch's items.
type AgentBatchRemote struct {
	Note    string             `json:"note"`
	Hosts   []BatchHost        `json:"hosts,omitempty"`
	Results []AgentBatchResult `json:"results,omitempty"`
}

// AgentBatchResult is one item with its result.
type AgentBatchResult struct {
	N       int64  `json:"n"`
	URL     string `json:"url"`
	Class   string `json:"class"`
	Cause   string `json:"cause,omitempty"`
	Status  int    `json:"status"`
	Bytes   int64  `json:"bytes"`
	Summary string `json:"summary,omitempty"`
}

// NewAgentBatch is a batch with some of its results.
func NewAgentBatch(s batch.State, results []batch.Result) AgentBatch {
	b := NewBatch(s)
	return AgentBatch{
		ID: b.ID, Name: b.Name, Profile: b.Profile, Zone: b.Zone, State: s.Condition(), Reason: s.Obstacle(), Live: b.Live, Total: s.Wanted(), Done: b.Done,
		OK: b.OK, Remaining: b.Remaining, AnswerLost: b.AnswerLost, Cost: b.Cost, CostUnconfirmed: b.CostUnconfirmed, MaxCost: b.MaxCost, Verdicts: b.Verdicts,
		Untrusted: AgentBatchRemote{Note: Untrusted, Hosts: b.Hosts, Results: each(results, func(r batch.Result) AgentBatchResult {
			return AgentBatchResult{N: r.N + 1, URL: r.URL, Class: r.Class, Cause: r.Cause, Status: r.Status, Bytes: r.Bytes, Summary: r.Summary}
		})},
	}
}

// BatchResult is one item with its result, as a line of NDJSON.
type BatchResult struct {
	N    int64 `json:"n"`    // from 1
	Line int   `json:"line"` // of the input, from 1
	batch.Result
	BodyFile *string                    `json:"body_file"` // absolute, where its body was unpacked
	Row      map[string]json.RawMessage `json:"row"`       // its columns
}

// BatchDuplicate is an item that asks for the same as an earlier one, as a line of NDJSON.
type BatchDuplicate struct {
	N           int64                      `json:"n"`
	Line        int                        `json:"line"`
	DuplicateOf int64                      `json:"duplicate_of"` // the number of the earlier one
	Row         map[string]json.RawMessage `json:"row"`
}

// NewBatchLine describes the result of an item, or a duplicate. bodyFile is where its body was unpacked, or "".
func NewBatchLine(a batch.Answer, bodyFile string) any {
	if a.DuplicateOf > 0 {
		return BatchDuplicate{a.N + 1, a.Line, a.DuplicateOf, a.Values}
	}
	return BatchResult{a.N + 1, a.Line, a.Result, known(bodyFile, bodyFile != ""), a.Values}
}

// BatchProbe is what a probe found (docs/schema/batch-probe.json).
type BatchProbe struct {
	SchemaVersion Version      `json:"schema_version"`
	URL           string       `json:"url"`
	Zone          string       `json:"zone"`
	Via           string       `json:"via" enum:"api|native"`
	Safe          int          `json:"safe" minimum:"0"`
	Wall          *int         `json:"wall" minimum:"1"`
	WallBy        string       `json:"wall_by"`
	Text          string       `json:"text"`
	Reason        string       `json:"reason" jsonschema:"why it ended before its time; empty where it did not"`
	Sent          int          `json:"sent" minimum:"0"`
	Cost          *float64     `json:"cost" minimum:"0"`
	Levels        []ProbeLevel `json:"levels"`
}

// ProbeLevel is what came of so many fetches at once.
type ProbeLevel struct {
	AtOnce           int      `json:"at_once" minimum:"1"`
	OK               int      `json:"ok" minimum:"0"`
	Refused          int      `json:"refused" minimum:"0"`
	RefusedByService int      `json:"refused_by_service" minimum:"0"`
	TimeoutOrCaptcha int      `json:"timeout_or_captcha" minimum:"0"`
	Failed           int      `json:"failed" minimum:"0"`
	PerSecond        float64  `json:"per_second" minimum:"0"`
	P95              *float64 `json:"p95_ms" minimum:"0"`
}

// NewBatchProbe describes what a probe found.
func NewBatchProbe(p batch.Probed) BatchProbe {
	of := p.Plan.Request
	return BatchProbe{
		URL: of.URL, Zone: string(of.Zone.Name), Via: string(of.Via), Safe: p.Safe, Wall: known(p.Wall, p.Wall > 0), WallBy: p.WallBy,
		Text: p.Words(), Reason: p.Stopped, Sent: p.Sent, Cost: known(p.Cost, p.Priced),
		Levels: each(p.Levels, func(l batch.ProbedLevel) ProbeLevel {
			return ProbeLevel{
				AtOnce: l.AtOnce, OK: l.Good, Refused: l.Refused, RefusedByService: l.ByService, TimeoutOrCaptcha: l.Fruitless, Failed: l.Failed,
				PerSecond: l.PerSecond(), P95: measured(l.P95),
			}
		}),
	}
}
