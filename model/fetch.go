package model

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Via is the access method of a fetch (service.md 1).
type Via string

// The two access methods of the contract; and two more entries, whose products the
// contract names without saying how they are reached: the MCP endpoint of agent access,
// and the remote browser's address for the Chrome DevTools Protocol.
const (
	ViaAPI     Via = "api"
	ViaNative  Via = "native"
	ViaAgent   Via = "agent"
	ViaBrowser Via = "browser"
)

// Vias lists the ways of a fetch, those of the contract first.
func Vias() []Via { return []Via{ViaAPI, ViaNative, ViaAgent, ViaBrowser} }

// ParseVia reads one of Vias.
func ParseVia(s string) (Via, error) {
	if v := Via(s); slices.Contains(Vias(), v) {
		return v, nil
	}
	return "", fmt.Errorf("%q is not one of api, native, agent, browser", Cut(s, 20))
}

// String is the way's word on screens.
func (v Via) String() string {
	switch v {
	case ViaNative:
		return "Native"
	case ViaAgent:
		return "Agent"
	case ViaBrowser:
		return "Browser"
	default:
		return "API"
	}
}

// Login reports whether the way takes the zone's proxy login (service.md 5.2), not a key.
func (v Via) Login() bool { return v == ViaNative || v == ViaBrowser }

// Format is the "format" field of POST /request. The contract shows "raw" only
// (service.md 4.1); other values belong to a dialect.
type Format string

// The formats the console offers.
const (
	FormatRaw  Format = "raw"
	FormatJSON Format = "json" // not shown by the contract
)

// Masked stands for the value of a credential header in what the journal keeps.
const Masked = "••••"

// FetchRequest is one fetch as the operator asked for it. Secrets are not in
// it: the key and the zone's password are taken from their references when the
// request is written.
type FetchRequest struct {
	Zone   Zone
	URL    string // absolute, http or https
	Via    Via
	Format Format
	// Method, Header and Body go to the target; not shown by the contract for API
	// Access, so they need a dialect that knows them. Empty means GET.
	Method string
	Header http.Header
	Body   string
	// Country is a two-letter code or empty; Session a sticky-exit name (Native).
	Country string
	Session string
	// Options are what the zone's product adds.
	Options Options
	// Tool is a tool of agent access and Args its arguments, a JSON object. Without a tool
	// it is the one that fetches a page, with URL. By agent access the service chooses the
	// zone, so that Zone has no name then.
	Tool, Args string
	// Secrets are the references of the variables ({{name}}) that are left in the URL, the
	// headers and the body, by name: their values are put in when the request is written.
	// Without any the texts are what is sent, whatever they look like.
	Secrets map[string]string `json:",omitempty"`
	// Key names the key of the inventory to use; empty means the profile's.
	Key string
	// Required names the fields that a good answer holds: a CSS selector for HTML, a
	// path like "items.0.price" for JSON. Missing ones make it parsing drift.
	Required []string
	// Timeout bounds one attempt, and Retries says how many tries may follow the
	// first. Zero Timeout means the product's own; Retries < 0 means the default.
	Timeout time.Duration
	Retries int
	// BodyLimit is where the body of an attempt is cut, in bytes; 0 is the client's own cap.
	BodyLimit int64 `json:",omitempty"`
	// BodyFile is the absolute name of the file that a body on disk is kept in, and that
	// it replaces; empty means a file in the cache.
	BodyFile string
}

// Timing is where the time of one attempt went. A negative duration means the
// phase did not happen or cannot be seen (DNS for an address, TLS for http).
type Timing struct {
	DNS, Connect, ProxyConnect, TLS, FirstByte, Transfer, Total time.Duration
}

// Phase is a part of an attempt that Timing has no place for: a step of the remote
// browser, or of a conversation with a tool. Phases follow each other.
type Phase struct {
	Name     string
	Duration time.Duration `json:"Took"`
}

// BodyRef says where a body is. A body at or below the threshold is in Bytes,
// a larger one in the file; Size and SHA256 always describe what was received.
type BodyRef struct {
	Bytes  []byte
	File   string
	Size   int64
	SHA256 string // lower-case hex
	// Cut says that the rest of the body is lost: above the size cap, without room on disk,
	// or replaced by asterisks because a search for secrets in it was given up.
	Cut bool
	// Incomplete says that the connection ended before the announced length.
	Incomplete bool
	// Charset is that of a text which is not in UTF-8, as "gbk"; else "".
	Charset string `json:",omitempty"`
}

// Attempt is one try of a fetch.
type Attempt struct {
	N      int
	Class  Class
	Cause  Cause // empty in histories from before it was kept
	Status int   // the target's status, 0 when unknown
	// Unanswered says that the service reports by an error of its own that the target gave nothing: Status is what it
	// reports then, and no answer is billed. false in histories from before it was kept.
	Unanswered bool          `json:",omitempty"`
	Bytes      int64         // of the body; 0 in histories from before it was counted
	Wait       time.Duration // back-off taken before this attempt
	Total      time.Duration
	Sent       int64 // when it was sent, in microseconds since 1970; 0 when unknown
}

// Field is one required field of an answer, as it was found or not.
type Field struct {
	Path  string // as FetchRequest.Required spells it
	Found bool
	// Value is the beginning of what was found (remote bytes), at most 256 bytes.
	Value string
}

// MissingFields lists the paths that were not found, in order.
func MissingFields(found []Field) []string {
	var missing []string
	for _, f := range found {
		if !f.Found {
			missing = append(missing, f.Path)
		}
	}
	return missing
}

// FetchResult is what came of a fetch. There is always a Diagnosis; a failed
// fetch is a result, not a Go error.
type FetchResult struct {
	ID      string // identifier in the journal
	Request FetchRequest
	KeyName string // the key that was used (API)
	// Proves is the step that a rotation made it for, as in "the rotation of etl-main, step test profile acme";
	// empty for one that was asked for.
	Proves  string `json:",omitempty"`
	Started time.Time
	// Status is the target's status as far as it is known, ServiceStatus the
	// service's own (the HTTP status of the API, or of the CONNECT answer).
	Status        int
	ServiceStatus int
	Header        http.Header // the answer's headers as received
	ProxyHeader   http.Header // headers of the CONNECT answer (Native)
	ContentType   string
	Body          BodyRef
	Fields        []Field
	Exit          string  // exit address as the service reports it, or ""
	Timing        Timing  // of the last attempt
	Phases        []Phase // of the last attempt, by agent access and in the remote browser
	Chain         Chain   // of the last attempt's handshake
	Attempts      []Attempt
	Diagnosis     Diagnosis
	// Pace says how many calls of the zone, or of it to the host, go at once since a refusal, and why; empty without one.
	Pace string `json:",omitempty"`
}

// AsProof is the result as it reads in the history: that an old value is refused is what a rotation wanted
// to see. It is no failure, of the key or of the zone, and there is nothing to do about it.
func (r FetchResult) AsProof() FetchResult {
	if !isOldValue(r.KeyName) || r.Diagnosis.Cause != CauseKeyRejected {
		return r
	}
	r.Diagnosis = r.Diagnosis.wanted("The old value is refused, as the proof of its rotation expects.")
	r.Attempts = slices.Clone(r.Attempts)
	for i, a := range r.Attempts {
		if a.Cause == CauseKeyRejected {
			r.Attempts[i].Class, r.Attempts[i].Cause = "", CauseWanted
		}
	}
	return r
}

// Summary is what a fetch is about, in one line: its address, or the tool and its arguments.
func (r FetchRequest) Summary() string {
	switch {
	case r.Via != ViaAgent || r.Tool == "":
		return r.URL
	case r.Args == "" || r.Args == "{}":
		return r.Tool
	default:
		return Line(r.Tool+" "+r.Args, 300)
	}
}

// AgentZone stands for the zone of a fetch by agent access, which the service chooses.
func AgentZone() Zone { return Zone{Product: ProductAgent} }

// WirePreview is the request as it will be written, byte for byte but for the
// secrets, which are masked.
type WirePreview struct {
	Lines []string
	// Problem says why it cannot be sent as it stands, or is empty.
	Problem string
}

// SameFetch reports whether two requests ask the same of the target, by whatever zone, access
// method and key.
func (r FetchRequest) SameFetch(o FetchRequest) bool {
	method := func(r FetchRequest) string { return cmp.Or(strings.ToUpper(r.Method), "GET") }
	return r.URL == o.URL && method(r) == method(o) && r.Body == o.Body && r.Country == o.Country && r.Options == o.Options &&
		maps.EqualFunc(r.Header, o.Header, slices.Equal[[]string])
}

// ObservedUse is what the comparison's runs by a zone and an access method showed of its use, in
// one line: how many at once and with which pause, whether they held, and what they cost.
// Without a pause between them, as many were in flight at a time as their times show, and no
// run shows more. It is false without a run.
func (t Grid) ObservedUse(zone ZoneName, via Via) (string, bool) {
	for _, c := range t.Cells {
		if c.Zone.Name != zone || c.Via != via || len(c.Runs) == 0 {
			continue
		}
		fast, together := 0, c.Together()
		for _, r := range c.Runs {
			if r.Class == ClassTooFast {
				fast++
			}
		}
		cost := "unpriced"
		if dollars, priced := c.Cost(); priced {
			cost = Dollars(dollars) + " per 1000"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d of %d ok", c.OK(), len(c.Runs))
		switch {
		case fast > 0:
			fmt.Fprintf(&b, ", %d too fast; %d at once without a pause was too much, and the right pause is unknown", fast, together)
		case len(c.Runs) == 1:
			b.WriteString("; more than one, at once or in a row, was not tried")
		case c.OK() == len(c.Runs):
			fmt.Fprintf(&b, "; %d at once worked without a pause; more was not tried", together)
		default:
			fmt.Fprintf(&b, ", %d at once without a pause, none too fast; more was not tried", together)
		}
		return b.String() + "; " + cost, true
	}
	return "", false
}
