package view

import (
	"math"

	"zonedeck/model"
)

// Diagnosed is the object that "diagnose --json" prints (docs/schema/diagnose.json): what
// "request --json" says of a diagnosis.
type Diagnosed struct {
	Verdict
	Fields []Field `json:"fields,omitempty"`
}

// Evidence is a part of the answer that a diagnosis rests on.
type Evidence struct {
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// Field is a required field, and whether it was there.
type Field struct {
	Path  string `json:"path"`
	Found bool   `json:"found"`
	Value string `json:"value"`
}

// Attempt is one try of a fetch.
type Attempt struct {
	N       int     `json:"n"`
	Class   string  `json:"class"`
	Status  int     `json:"status"`
	WaitMS  float64 `json:"wait_ms"`
	TotalMS float64 `json:"total_ms"`
}

// Timing is in milliseconds; null means that the phase did not happen.
type Timing struct {
	DNS          *float64 `json:"dns"`
	Connect      *float64 `json:"connect"`
	ProxyConnect *float64 `json:"proxy_connect"`
	TLS          *float64 `json:"tls"`
	FirstByte    *float64 `json:"first_byte"`
	Transfer     *float64 `json:"transfer"`
	Total        *float64 `json:"total"`
}

// Verdict is what every object about a fetch says of its diagnosis.
type Verdict struct {
	SchemaVersion Version `json:"schema_version"`
	OK            bool    `json:"ok"`
	Diagnosis

	Status        int `json:"status"`
	ServiceStatus int `json:"service_status"`
}

// Diagnosis is a diagnosis: the class of an outcome, what that rests on, and what to do next.
type Diagnosis struct {
	Class    string     `json:"class"`
	Cause    string     `json:"cause"`
	Summary  string     `json:"summary"`
	Rule     string     `json:"rule"`
	Evidence []Evidence `json:"evidence"`
	Steps    []string   `json:"steps"`
}

// NewDiagnosis is a diagnosis.
func NewDiagnosis(d model.Diagnosis) Diagnosis {
	return Diagnosis{Class: string(d.Class), Cause: string(d.Cause), Summary: d.Summary, Rule: d.Rule, Evidence: evidence(d), Steps: steps(d)}
}

// Fetch is the object that "request --json" prints (docs/schema/request.json).
type Fetch struct {
	Verdict

	Via         string    `json:"via"`
	Zone        string    `json:"zone"`
	URL         string    `json:"url"`
	Key         string    `json:"key,omitempty"`
	KeyReplaces string    `json:"key_replaces,omitempty"` // the profile's own, where the environment's was used
	Exit        string    `json:"exit,omitempty"`
	ContentType string    `json:"content_type"`
	Bytes       int64     `json:"bytes"`
	Cost        *float64  `json:"cost_estimate"`
	SHA256      string    `json:"sha256"`
	Cut         bool      `json:"cut"`
	Incomplete  bool      `json:"incomplete"`
	Fields      []Field   `json:"fields,omitempty"`
	Attempts    []Attempt `json:"attempts"`
	TimingMS    Timing    `json:"timing_ms"`
	Phases      []Phase   `json:"phases,omitempty"`
	Tool        string    `json:"tool,omitempty"`
	Profile     string    `json:"profile"`
	Body        *string   `json:"body,omitempty"`
	BodyBase64  []byte    `json:"body_base64,omitempty"`
	BodyFile    string    `json:"body_file,omitempty"`
}

// Phase is one step of an attempt.
type Phase struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// NewFetch is a fetch without its body.
func NewFetch(r model.FetchResult) Fetch {
	d := r.Diagnosis
	out := Fetch{
		Verdict: Verdict{
			OK: d.OK(), Diagnosis: NewDiagnosis(d), Status: r.Status, ServiceStatus: r.ServiceStatus,
		},
		Via: string(r.Request.Via), Zone: string(r.Request.Zone.Name), URL: r.Request.URL, Key: r.KeyName, Exit: r.Exit,
		ContentType: r.ContentType, Bytes: r.Body.Size, SHA256: r.Body.SHA256,
		Cut: r.Body.Cut, Incomplete: r.Body.Incomplete,
		Attempts: make([]Attempt, 0, len(r.Attempts)), TimingMS: newTiming(r.Timing), Tool: r.Request.Tool,
	}
	for _, p := range r.Phases {
		out.Phases = append(out.Phases, Phase{Name: p.Name, MS: Milliseconds(p.Took)})
	}
	if cost, priced := r.Cost(); priced {
		cost = math.Round(cost*1e9) / 1e9
		out.Cost = &cost
	}
	for _, f := range r.Fields {
		out.Fields = append(out.Fields, Field{Path: f.Path, Found: f.Found, Value: f.Value})
	}
	for _, a := range r.Attempts {
		out.Attempts = append(out.Attempts, Attempt{
			N: a.N, Class: string(a.Class), Status: a.Status, WaitMS: Milliseconds(a.Wait), TotalMS: Milliseconds(a.Total),
		})
	}
	return out
}

func evidence(d model.Diagnosis) []Evidence {
	out := make([]Evidence, 0, len(d.Evidence))
	for _, e := range d.Evidence {
		out = append(out, Evidence{Kind: e.Kind, Text: e.Text, Offset: e.Offset, Length: e.Length})
	}
	return out
}

func steps(d model.Diagnosis) []string {
	out := make([]string, 0, len(d.Steps))
	for _, s := range d.Steps {
		out = append(out, s.Text)
	}
	return out
}

func newTiming(t model.Timing) Timing {
	return Timing{
		DNS: measured(t.DNS), Connect: measured(t.Connect), ProxyConnect: measured(t.ProxyConnect), TLS: measured(t.TLS),
		FirstByte: measured(t.FirstByte), Transfer: measured(t.Transfer), Total: measured(t.Total),
	}
}

// NewDiagnosed is what is said of a saved answer.
func NewDiagnosed(r model.FetchResult) Diagnosed {
	out := NewFetch(r)
	return Diagnosed{out.Verdict, out.Fields}
}
