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
	Kind   string `json:"kind" enum:"body|error|header|note|service_status|status|timing"`
	Text   string `json:"text"`
	Offset int64  `json:"offset" minimum:"0"`
	Length int64  `json:"length" minimum:"0"`
}

// Field is a required field, and whether it was there.
type Field struct {
	Path  string `json:"path"`
	Found bool   `json:"found"`
	Value string `json:"value"`
}

// Attempt is one try of a fetch.
type Attempt struct {
	N       int     `json:"n" minimum:"1"`
	Class   string  `json:"class" enum:"class"`
	Status  int     `json:"status" minimum:"0"`
	WaitMS  float64 `json:"wait_ms" minimum:"0"`
	TotalMS float64 `json:"total_ms" minimum:"0"`
}

// Timing is in milliseconds; null means that the phase did not happen.
type Timing struct {
	DNS          *float64 `json:"dns" minimum:"0"`
	Connect      *float64 `json:"connect" minimum:"0"`
	ProxyConnect *float64 `json:"proxy_connect" minimum:"0"`
	TLS          *float64 `json:"tls" minimum:"0"`
	FirstByte    *float64 `json:"first_byte" minimum:"0"`
	Transfer     *float64 `json:"transfer" minimum:"0"`
	Total        *float64 `json:"total" minimum:"0"`
}

// Verdict is what every object about a fetch says of its diagnosis.
type Verdict struct {
	SchemaVersion Version `json:"schema_version"`
	OK            bool    `json:"ok"`
	Diagnosis

	Status        int `json:"status" minimum:"0"`
	ServiceStatus int `json:"service_status" minimum:"0"`
}

// Diagnosis is a diagnosis: the class of an outcome, what that rests on, and what to do next.
type Diagnosis struct {
	Class    string     `json:"class" enum:"class"`
	Cause    string     `json:"cause"`
	Summary  string     `json:"summary"`
	Rule     string     `json:"rule"`
	Evidence []Evidence `json:"evidence"`
	Steps    []string   `json:"steps"`
}

// newDiagnosis is a diagnosis.
func newDiagnosis(d model.Diagnosis) Diagnosis {
	return Diagnosis{Class: string(d.Class), Cause: string(d.Cause), Summary: d.Summary, Rule: d.Rule, Evidence: evidence(d), Steps: steps(d)}
}

// Fetch is the object that "request --json" prints (docs/schema/request.json).
type Fetch struct {
	Verdict

	ID          string    `json:"id" jsonschema:"Its identifier in the history, for har and --fetch."`
	Via         string    `json:"via" enum:"via"`
	Zone        string    `json:"zone"`
	URL         string    `json:"url"`
	Key         string    `json:"key,omitempty"`
	KeyReplaces string    `json:"key_replaces,omitempty" jsonschema:"The key that the profile names, where that of ZONEDECK_API_KEY was used in its place."`
	Exit        string    `json:"exit,omitempty"`
	ContentType string    `json:"content_type"`
	Bytes       int64     `json:"bytes" minimum:"0"`
	Cost        *float64  `json:"cost" minimum:"0" jsonschema:"Dollars, by the rate that the profile gives the zone: every attempt that the target answered counts as a request. null when the zone has no rate."`
	SHA256      string    `json:"sha256" pattern:"^([0-9a-f]{64})?$"`
	Cut         bool      `json:"cut"`
	Incomplete  bool      `json:"incomplete"`
	Fields      []Field   `json:"fields,omitempty"`
	Attempts    []Attempt `json:"attempts"`
	TimingMS    Timing    `json:"timing_ms"`
	Pace        string    `json:"pace,omitempty" jsonschema:"How many calls of the zone, or of it to the host, go at once since a refusal, and why. Left out without one."`
	Phases      []Phase   `json:"phases,omitempty" jsonschema:"The steps of the last attempt by agent access or in the remote browser, in their order."`
	Tool        string    `json:"tool,omitempty" jsonschema:"The tool that was called by agent access, if the request named one."`
	Profile     string    `json:"profile" jsonschema:"The profile that it was sent with."`
	Body        *string   `json:"body,omitempty" jsonschema:"The body, if it is UTF-8 and of at most 64 KiB, or could not be kept in a file."`
	BodyBase64  []byte    `json:"body_base64,omitempty" jsonschema:"A body that is not UTF-8 and could not be kept in a file. It was cut when cut is true; bytes and sha256 describe what is here."`
	BodyFile    string    `json:"body_file,omitempty" jsonschema:"The file that holds the body: the one of -o, or one in the cache."`
}

// Phase is one step of an attempt.
type Phase struct {
	Name   string  `json:"name"`
	TookMS float64 `json:"took_ms" minimum:"0"`
}

// NewFetch is a fetch without its body.
func NewFetch(r model.FetchResult) Fetch {
	d := r.Diagnosis
	out := Fetch{
		Verdict: Verdict{
			OK: d.OK(), Diagnosis: newDiagnosis(d), Status: r.Status, ServiceStatus: r.ServiceStatus,
		},
		ID: r.ID, Via: string(r.Request.Via), Zone: string(r.Request.Zone.Name), URL: r.Request.URL, Key: r.KeyName, Exit: r.Exit,
		ContentType: r.ContentType, Bytes: r.Body.Size, SHA256: r.Body.SHA256,
		Cut: r.Body.Cut, Incomplete: r.Body.Incomplete,
		Attempts: each(r.Attempts, func(a model.Attempt) Attempt {
			return Attempt{N: a.N, Class: string(a.Class), Status: a.Status, WaitMS: milliseconds(a.Wait), TotalMS: milliseconds(a.Total)}
		}),
		TimingMS: newTiming(r.Timing), Tool: r.Request.Tool, Pace: r.Pace,
		Phases: each(r.Phases, func(p model.Phase) Phase { return Phase{Name: p.Name, TookMS: milliseconds(p.Duration)} }),
		Fields: each(r.Fields, func(f model.Field) Field { return Field{Path: f.Path, Found: f.Found, Value: f.Value} }),
	}
	if cost, priced := r.Cost(); priced {
		cost = math.Round(cost*1e9) / 1e9
		out.Cost = &cost
	}
	return out
}

func evidence(d model.Diagnosis) []Evidence {
	return each(d.Evidence, func(e model.Evidence) Evidence {
		return Evidence{Kind: e.Kind, Text: e.Text, Offset: e.Offset, Length: e.Length}
	})
}

func steps(d model.Diagnosis) []string {
	return each(d.Steps, func(s model.Step) string { return s.Text })
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
