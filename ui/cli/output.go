package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"
	"unicode/utf8"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// schemaVersion is the version of every JSON object the command line prints;
// docs/schema describes them.
const schemaVersion = 1

// inlineBody is the largest body included in the JSON.
const inlineBody = 64 << 10

// printJSON writes one object and a newline to stdout. It holds no character that a
// terminal would obey.
func (a *app) printJSON(v any) error {
	b, err := encodeJSON(v)
	if err == nil {
		_, err = a.Stdout.Write(b)
	}
	if err != nil {
		return fail(exitState, "write the answer: %w", err)
	}
	return nil
}

// encodeJSON is a value as it is printed, with the end of the line.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return visibleJSON(b.Bytes()), err
}

// textJSON is what a command prints that has no more to say than a text (docs/schema/text.json).
type textJSON struct {
	SchemaVersion int    `json:"schema_version"`
	Text          string `json:"text"`
}

// printText writes a text to stdout, as it is or in an object.
func (a *app) printText(asJSON bool, text string) error {
	if asJSON {
		return a.printJSON(textJSON{schemaVersion, text})
	}
	if _, err := io.WriteString(a.Stdout, text); err != nil {
		return fail(exitState, "write the text: %w", err)
	}
	return nil
}

// done tells what a command did that prints nothing else: on stderr, or as an object.
func (a *app) done(asJSON bool, format string, args ...any) error {
	if asJSON {
		return a.printJSON(textJSON{schemaVersion, fmt.Sprintf(format, args...)})
	}
	a.say("zonedeck: "+format, args...)
	return nil
}

type evidenceJSON struct {
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

type fieldJSON struct {
	Path  string `json:"path"`
	Found bool   `json:"found"`
	Value string `json:"value"`
}

type attemptJSON struct {
	N       int     `json:"n"`
	Class   string  `json:"class"`
	Status  int     `json:"status"`
	WaitMS  float64 `json:"wait_ms"`
	TotalMS float64 `json:"total_ms"`
}

// timingJSON is in milliseconds; null means that the phase did not happen.
type timingJSON struct {
	DNS          *float64 `json:"dns"`
	Connect      *float64 `json:"connect"`
	ProxyConnect *float64 `json:"proxy_connect"`
	TLS          *float64 `json:"tls"`
	FirstByte    *float64 `json:"first_byte"`
	Transfer     *float64 `json:"transfer"`
	Total        *float64 `json:"total"`
}

// verdictJSON is what every object about a fetch says of its diagnosis.
type verdictJSON struct {
	SchemaVersion int  `json:"schema_version"`
	OK            bool `json:"ok"`
	whyJSON

	Status        int `json:"status"`
	ServiceStatus int `json:"service_status"`
}

// whyJSON is a diagnosis: the class of an outcome, what that rests on, and what to do next.
type whyJSON struct {
	Class    string         `json:"class"`
	Cause    string         `json:"cause"`
	Summary  string         `json:"summary"`
	Rule     string         `json:"rule"`
	Evidence []evidenceJSON `json:"evidence"`
	Steps    []string       `json:"steps"`
}

func newWhyJSON(d model.Diagnosis) whyJSON {
	return whyJSON{Class: string(d.Class), Cause: string(d.Cause), Summary: d.Summary, Rule: d.Rule, Evidence: evidence(d), Steps: steps(d)}
}

// fetchJSON is the object that "request --json" prints (docs/schema/request.json).
type fetchJSON struct {
	verdictJSON

	Via         string        `json:"via"`
	Zone        string        `json:"zone"`
	URL         string        `json:"url"`
	Key         string        `json:"key,omitempty"`
	KeyReplaces string        `json:"key_replaces,omitempty"` // the profile's own, where the environment's was used
	Exit        string        `json:"exit,omitempty"`
	ContentType string        `json:"content_type"`
	Bytes       int64         `json:"bytes"`
	Cost        *float64      `json:"cost_estimate"`
	SHA256      string        `json:"sha256"`
	Cut         bool          `json:"cut"`
	Incomplete  bool          `json:"incomplete"`
	Fields      []fieldJSON   `json:"fields,omitempty"`
	Attempts    []attemptJSON `json:"attempts"`
	TimingMS    timingJSON    `json:"timing_ms"`
	Phases      []phaseJSON   `json:"phases,omitempty"`
	Tool        string        `json:"tool,omitempty"`
	Profile     string        `json:"profile"`
	Body        *string       `json:"body,omitempty"`
	BodyBase64  []byte        `json:"body_base64,omitempty"`
	BodyFile    string        `json:"body_file,omitempty"`
}

// phaseJSON is one step of an attempt.
type phaseJSON struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

func newFetchJSON(r model.FetchResult) fetchJSON {
	d := r.Diagnosis
	out := fetchJSON{
		verdictJSON: verdictJSON{
			SchemaVersion: schemaVersion, OK: d.OK(), whyJSON: newWhyJSON(d), Status: r.Status, ServiceStatus: r.ServiceStatus,
		},
		Via: string(r.Request.Via), Zone: string(r.Request.Zone.Name), URL: r.Request.URL, Key: r.KeyName, Exit: r.Exit,
		ContentType: r.ContentType, Bytes: r.Body.Size, SHA256: r.Body.SHA256,
		Cut: r.Body.Cut, Incomplete: r.Body.Incomplete,
		Attempts: make([]attemptJSON, 0, len(r.Attempts)), TimingMS: newTimingJSON(r.Timing), Tool: r.Request.Tool,
	}
	for _, p := range r.Phases {
		out.Phases = append(out.Phases, phaseJSON{Name: p.Name, MS: millis(p.Took)})
	}
	if cost, priced := r.Cost(); priced {
		cost = math.Round(cost*1e9) / 1e9
		out.Cost = &cost
	}
	for _, f := range r.Fields {
		out.Fields = append(out.Fields, fieldJSON{Path: f.Path, Found: f.Found, Value: f.Value})
	}
	for _, a := range r.Attempts {
		out.Attempts = append(out.Attempts, attemptJSON{
			N: a.N, Class: string(a.Class), Status: a.Status, WaitMS: millis(a.Wait), TotalMS: millis(a.Total),
		})
	}
	return out
}

func evidence(d model.Diagnosis) []evidenceJSON {
	out := make([]evidenceJSON, 0, len(d.Evidence))
	for _, e := range d.Evidence {
		out = append(out, evidenceJSON{Kind: e.Kind, Text: e.Text, Offset: e.Offset, Length: e.Length})
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

func newTimingJSON(t model.Timing) timingJSON {
	return timingJSON{
		DNS: phase(t.DNS), Connect: phase(t.Connect), ProxyConnect: phase(t.ProxyConnect), TLS: phase(t.TLS),
		FirstByte: phase(t.FirstByte), Transfer: phase(t.Transfer), Total: phase(t.Total),
	}
}

func phase(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	ms := millis(d)
	return &ms
}

// millis is a duration in milliseconds, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// attachBody adds a body to the JSON: inline if it is UTF-8 of at most 64 KiB, else
// as a file name. A body in memory is then written to dir; where that fails, it is
// included all the same, because it may have been paid for.
func (f *fetchJSON) attachBody(b model.BodyRef, dir string) {
	text := utf8.Valid(b.Bytes)
	f.BodyFile = b.File
	if name := filepath.Join(dir, b.SHA256); b.File == "" && (!text || len(b.Bytes) > inlineBody) && textfile.Write(name, b.Bytes) == nil {
		f.BodyFile = name
	}
	switch body := string(b.Bytes); {
	case f.BodyFile != "":
	case text:
		f.Body = &body
	default:
		f.BodyBase64 = b.Bytes
	}
}
