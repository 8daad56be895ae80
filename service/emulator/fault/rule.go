package fault

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"zonedeck/service/emulator/document"
)

// Point is where a rule acts.
type Point string

// The points.
const (
	API     Point = "api"     // a request to the API
	Proxy   Point = "proxy"   // a request or CONNECT to native access
	Target  Point = "target"  // a request that a product sends to a target
	Webhook Point = "webhook" // one delivery of a job's notification or records
	Job     Point = "job"     // one input of a job
)

// Kind is what a rule does.
type Kind string

// The kinds. [Kinds] lists those of each point.
const (
	Latency   Kind = "latency"   // wait, then go on
	Status    Kind = "status"    // answer with a status
	TooFast   Kind = "too_fast"  // answer 429 with Retry-After
	Code      Kind = "error"     // refuse with an error code of the service
	Drop      Kind = "drop"      // close the connection without an answer
	Reset     Kind = "reset"     // reset the connection, at once or within the body
	Hang      Kind = "hang"      // give no answer until the caller leaves, then drop
	Cut       Kind = "cut"       // end the body after some bytes
	Dribble   Kind = "dribble"   // send the body in small chunks with pauses
	Bandwidth Kind = "bandwidth" // send the body at a rate
	Malformed Kind = "malformed" // answer with a status line, then garbage
	Empty     Kind = "empty"     // the answer without its body
	Captcha   Kind = "captcha"   // the target shows a CAPTCHA page, with status 200
	Drift     Kind = "drift"     // the target's class and id names change
	Late      Kind = "late"      // the webhook waits
	Twice     Kind = "twice"     // the webhook is sent more than once
	Never     Kind = "never"     // the webhook is not sent
	Fail      Kind = "fail"      // the job fails
)

// Points lists the points.
func Points() []Point { return []Point{API, Proxy, Target, Webhook, Job} }

// action is a kind at some points.
type action struct {
	points []Point
	kind   Kind
	fields []string // that it has there besides delay
	needs  string   // the field that it requires
	like   string   // what that looks like
}

// actions lists what rules can do. Webhooks and jobs have fewer fields: they have no answer
// to describe.
func actions() []action {
	served := []Point{API, Proxy, Target}
	return []action{
		{[]Point{API, Proxy, Target, Job}, Latency, nil, "delay", `delay = "300ms"`},
		{served, Status, []string{"status", "headers", "body", "accepted"}, "status", "status = 503"},
		{served, TooFast, []string{"retry_after", "headers", "body", "accepted"}, "", ""},
		{served, Code, []string{"code", "message", "status"}, "code", `code = "reject_block"`},
		{served, Drop, []string{"accepted"}, "", ""},
		{served, Reset, []string{"accepted", "after"}, "", ""},
		{served, Hang, []string{"accepted"}, "", ""},
		{served, Cut, []string{"after"}, "after", "after = 1024, in bytes"},
		{served, Dribble, []string{"chunk", "pause"}, "pause", `pause = "50ms"`},
		{served, Bandwidth, []string{"rate"}, "rate", "rate = 1024, in bytes a second"},
		{served, Malformed, []string{"accepted"}, "", ""},
		{served, Empty, nil, "", ""},
		{[]Point{Target}, Captcha, nil, "", ""},
		{[]Point{Target}, Drift, nil, "", ""},
		{[]Point{Webhook}, Late, nil, "delay", `delay = "300ms"`},
		{[]Point{Webhook}, Twice, []string{"copies"}, "", ""},
		{[]Point{Webhook}, Never, nil, "", ""},
		{[]Point{Webhook}, Status, []string{"status"}, "status", "status = 503"},
		{[]Point{Job}, Code, []string{"code", "message"}, "code", `code = "reject_block"`},
		{[]Point{Job}, Fail, []string{"message"}, "", ""},
	}
}

// Kinds lists what a rule at p can do.
func Kinds(p Point) []Kind {
	var out []Kind
	for _, a := range actions() {
		if slices.Contains(a.points, p) {
			out = append(out, a.kind)
		}
	}
	return out
}

// Rule is one fault. [Parse] checks it; a rule made by hand has to keep to its bounds.
type Rule struct {
	// ID names the rule in answers, in the journal and in the control API.
	ID string `json:"id"`
	// Off keeps the rule from acting and counting.
	Off   bool   `json:"off,omitzero"`
	Match Match  `json:",inline"`
	When  When   `json:",inline"`
	Do    Action `json:",inline"`
}

// Match says which calls a rule applies to. Empty fields match everything; "*" stands for
// any text.
type Match struct {
	Point   Point  `json:"point"`
	Zone    string `json:"zone,omitzero"`
	Product string `json:"product,omitzero"`
	Host    string `json:"host,omitzero"`
	Path    string `json:"path,omitzero"`
	Method  string `json:"method,omitzero"`
	Dataset string `json:"dataset,omitzero"`
}

// When says which of the matched calls are hit; all conditions must hold. Each rule counts
// its calls from 1, while it is on and within its time.
type When struct {
	// Nth hits only this call. From and Until bound the calls that are hit; Until is
	// included. Every hits each call whose number, counted from From, is a multiple of it.
	Nth   int64 `json:"nth,omitzero"`
	From  int64 `json:"from,omitzero"`
	Until int64 `json:"until,omitzero"`
	Every int64 `json:"every,omitzero"`
	// Above hits only a call that is one more than so many at once.
	Above int64 `json:"above,omitzero"`
	// Times bounds how often the rule hits.
	Times int64 `json:"times,omitzero"`
	// Probability of a hit, 0 to 1; 0 is always.
	Probability float64 `json:"probability,omitzero"`
	// At is the UTC moment from which the rule acts; In is the same, counted from when it was
	// added. Both are time of the emulator's clock. For is how long it then acts.
	At  time.Time     `json:"at,omitzero"`
	In  time.Duration `json:"in,omitzero,format:units"`
	For time.Duration `json:"for,omitzero,format:units"`
}

// Action is what a rule does. Each kind reads some of the fields.
type Action struct {
	Kind Kind `json:"action"`
	// Delay is waited before anything else, by every kind.
	Delay Delay `json:"-"`
	// Accepted lets the call happen, and loses or replaces only its answer (drop, reset,
	// hang, status, too_fast, malformed).
	Accepted bool `json:"accepted,omitzero"`
	// Status, Header and Body are the answer of a status; Status is also the inner one of
	// an error.
	Status int               `json:"status,omitzero"`
	Header map[string]string `json:"headers,omitempty"`
	Body   string            `json:"body,omitzero"`
	// Code and Message are an error's, for example "reject_block".
	Code    string `json:"code,omitzero"`
	Message string `json:"message,omitzero"`
	// RetryAfter is the wait that too_fast asks for, sent in whole seconds.
	RetryAfter time.Duration `json:"retry_after,omitzero,format:units"`
	// After is how many bytes of the body pass before a cut or a reset.
	After int64 `json:"-"`
	// Chunk (bytes) and Pause are a dribble's; Rate (bytes a second) is a bandwidth's.
	Chunk int64         `json:"chunk,omitzero"`
	Pause time.Duration `json:"-"`
	Rate  int64         `json:"rate,omitzero"`
	// Copies is how often a webhook is sent (twice: 2).
	Copies int64 `json:"copies,omitzero"`
}

// Delay is a distribution of waits. The zero value does not wait.
type Delay struct {
	// Fixed is the wait itself.
	Fixed time.Duration
	// Lower and Upper bound a uniform distribution, where Upper is not 0.
	Lower, Upper time.Duration
	// Median and Sigma are a log-normal distribution, where Median is not 0.
	Median time.Duration
	Sigma  float64
}

// Bounds of rules.
const (
	// MaxDelay is the longest wait that a rule can ask for or draw.
	MaxDelay = 10 * time.Minute
	// MaxRules is how many rules an engine holds.
	MaxRules = 256

	maxTimes   = 1 << 40
	maxBytes   = 1 << 40
	maxPeriod  = 100 * 365 * 24 * time.Hour
	maxSigma   = 10
	maxCopies  = 16
	maxBody    = 1 << 20
	maxText    = 1024
	maxHeaders = 64
)

// Call describes what passes a point, as far as the point knows it.
type Call struct {
	Point                                      Point
	Zone, Product, Host, Path, Method, Dataset string
}

func (m *Match) matches(c *Call) bool {
	return m.Point == c.Point && Glob(m.Zone, c.Zone) && Glob(m.Product, c.Product) && Glob(m.Host, c.Host) &&
		Glob(m.Path, c.Path) && Glob(m.Dataset, c.Dataset) && (m.Method == "" || strings.EqualFold(m.Method, c.Method))
}

// Glob matches text against a pattern in which "*" stands for any text; the empty
// pattern matches everything. Its time is at most the product of both lengths.
func Glob(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	p, t := 0, 0
	star, resume := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// hits decides about the n-th matched call, without probability and Times.
func (w *When) hits(n int64) bool {
	from := max(w.From, 1)
	switch {
	case w.Nth > 0 && n != w.Nth, n < from, w.Until > 0 && n > w.Until:
		return false
	case w.Every > 0:
		return (n-from+1)%w.Every == 0
	}
	return true
}

// active reports whether a rule that was added at a moment acts now.
func (w *When) active(added, now time.Time) bool {
	begin := w.At
	if begin.IsZero() {
		begin = added.Add(w.In)
	}
	return !now.Before(begin) && (w.For == 0 || now.Before(begin.Add(w.For)))
}

// Parse reads one rule from a table of a scenario or a body of the control API. Mistakes are
// recorded in the table; the rule is valid only if t.Err is nil.
//
//	[[faults]]
//	id = "slow-shop"
//	point = "target"            # api, proxy, target, webhook, job
//	host = "lab.test"           # also zone, product, path, method; "*" is any text
//	action = "latency"
//	delay = "300ms"             # or {lower = "100ms", upper = "2s"}, or {median = "300ms", sigma = 0.5}
//	from = 10                   # also nth, until, every, above, times, probability, at, in, for
func Parse(t *document.Table) Rule {
	r := Rule{ID: t.Text("id"), Off: t.Bool("off")}
	t.FailIf(len(r.ID) > maxText || strings.ContainsAny(r.ID, "/?#% \t\r\n"), "id", fmt.Sprintf("%s cannot name a rule", document.Quote(r.ID)), "a word without spaces and slashes")
	r.Match = parseMatch(t)
	r.When = parseWhen(t)
	t.FailIf(r.When.Above > 0 && r.Match.Point != API && r.Match.Point != Proxy, "above", "above counts calls at once, which is known at api and proxy", "point = api or proxy")
	r.Do = parseAction(t, r.Match.Point)
	t.Done()
	return r
}

func words[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = string(v)
	}
	return out
}

func parseMatch(t *document.Table) Match {
	m := Match{
		Point: Point(t.OneOf("point", words(Points())...)), Zone: t.Text("zone"), Product: t.Text("product"),
		Host: strings.ToLower(t.Text("host")), Path: t.Text("path"), Method: t.Text("method"), Dataset: t.Text("dataset"),
	}
	t.FailIf(!t.Has("point"), "", "the fault has no point", "point = one of "+strings.Join(words(Points()), ", "))
	// What a point knows of its calls. A rule about anything else would never hit, and never
	// say why.
	known := strings.Fields(map[Point]string{
		API: "zone product host path method dataset", Proxy: "zone product host path method", Target: "zone product host path method",
		Webhook: "host path", Job: "dataset host path",
	}[m.Point])
	for _, name := range [...]string{"zone", "product", "host", "path", "method", "dataset"} {
		t.FailIf(len(t.Text(name)) > maxText, name, name+" is too long", fmt.Sprintf("at most %d bytes", maxText))
		if t.Has(name) && len(known) > 0 && !slices.Contains(known, name) {
			t.Fail(name, fmt.Sprintf("the point %s does not know the %s of a call", m.Point, name), "one of "+strings.Join(known, ", "))
		}
	}
	return m
}

func parseWhen(t *document.Table) When {
	w := When{
		Nth: t.Int("nth", 1, maxTimes), From: t.Int("from", 1, maxTimes), Until: t.Int("until", 1, maxTimes),
		Every: t.Int("every", 1, maxTimes), Above: t.Int("above", 1, maxTimes), Times: t.Int("times", 1, maxTimes), Probability: t.Float("probability", 0, 1),
		At: t.Time("at"), In: t.Duration("in", maxPeriod), For: t.Duration("for", maxPeriod),
	}
	switch {
	case w.Nth > 0 && (w.From > 0 || w.Until > 0 || w.Every > 0):
		t.Fail("nth", "nth stands with from, until or every", "nth alone: it is one call")
	case w.Until > 0 && w.Until < w.From:
		t.Fail("until", fmt.Sprintf("until is %d and from %d", w.Until, w.From), "until not below from")
	case t.Has("probability") && w.Probability == 0:
		t.Fail("probability", "a probability of 0 never hits", "a number above 0 and up to 1")
	case t.Has("at") && t.Has("in"):
		t.Fail("in", "the fault has both at and in", "one of them")
	}
	return w
}

func parseAction(t *document.Table, p Point) Action {
	a := Action{
		Kind: Kind(t.Text("action")), Delay: parseDelay(t), Accepted: t.Bool("accepted"),
		Status: int(t.Int("status", 200, 599)), Header: t.Map("headers"), Body: t.Text("body"),
		Code: t.Text("code"), Message: t.Text("message"), RetryAfter: t.Duration("retry_after", maxPeriod),
		After: t.Int("after", 0, maxBytes), Chunk: t.Int("chunk", 1, maxBytes), Pause: t.Duration("pause", MaxDelay),
		Rate: t.Int("rate", 1, maxBytes), Copies: t.Int("copies", 2, maxCopies),
	}
	checkHeader(t, a.Header)
	t.FailIf(len(a.Body) > maxBody, "body", "the body is too long", fmt.Sprintf("at most %d bytes", maxBody))
	if p == "" {
		return a // the actions depend on the point
	}
	all := actions()
	i := slices.IndexFunc(all, func(row action) bool { return row.kind == a.Kind && slices.Contains(row.points, p) })
	if i < 0 {
		t.Fail("action", fmt.Sprintf("%s is not an action of the %s", document.Quote(string(a.Kind)), p), "one of "+strings.Join(words(Kinds(p)), ", "))
		return a
	}
	for _, name := range [...]string{
		"accepted", "status", "headers", "body", "code", "message", "retry_after", "after", "chunk", "pause", "rate", "copies",
	} {
		if t.Has(name) && !slices.Contains(all[i].fields, name) {
			t.Fail(name, fmt.Sprintf("%s is not a field of the action %s at the point %s", name, a.Kind, p), fieldsInWords(all[i].fields))
		}
	}
	if needs := all[i].needs; needs != "" && !t.Has(needs) {
		t.Fail("", fmt.Sprintf("the action %s has no %s", a.Kind, needs), all[i].like)
	}
	for name, v := range map[string]string{"code": a.Code, "message": a.Message} {
		t.FailIf(len(v) > maxText || !httpguts.ValidHeaderFieldValue(v), name, name+" cannot stand in a header", fmt.Sprintf("one line of at most %d bytes", maxText))
	}
	switch {
	case a.Kind == Code && a.Status == 0 && p != Job:
		a.Status = http.StatusBadGateway
	case a.Kind == Dribble:
		a.Chunk = max(a.Chunk, 1)
	case a.Kind == Twice:
		a.Copies = max(a.Copies, 2)
	}
	return a
}

func fieldsInWords(fields []string) string {
	if len(fields) == 0 {
		return "delay alone"
	}
	return "delay, " + strings.Join(fields, ", ")
}

func checkHeader(t *document.Table, h map[string]string) {
	t.FailIf(len(h) > maxHeaders, "headers", "there are too many headers", fmt.Sprintf("at most %d", maxHeaders))
	for name, v := range h {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v) || len(v) > maxText {
			t.Fail("headers", fmt.Sprintf("%s is not a header", document.Quote(name)), "a name and one line of text")
		}
	}
}

// parseDelay reads a wait, or a table that describes a distribution of waits.
func parseDelay(t *document.Table) Delay {
	in := t.SubTable("delay")
	if in == nil {
		return Delay{Fixed: t.Duration("delay", MaxDelay)}
	}
	d := Delay{
		Lower: in.Duration("lower", MaxDelay), Upper: in.Duration("upper", MaxDelay),
		Median: in.Duration("median", MaxDelay), Sigma: in.Float("sigma", 0, maxSigma),
	}
	uniform, lognormal := in.Has("lower") || in.Has("upper"), in.Has("median") || in.Has("sigma")
	switch {
	case uniform == lognormal:
		in.Fail("", "the delay is not a distribution", "lower and upper, or median and sigma")
	case uniform && (d.Upper <= 0 || d.Upper < d.Lower):
		in.Fail("upper", "upper is not above lower", `like lower = "100ms", upper = "2s"`)
	case lognormal && (d.Median <= 0 || d.Sigma <= 0):
		in.Fail("", "a log-normal delay needs median and sigma", `like median = "300ms", sigma = 0.5`)
	}
	in.Done()
	return d
}

// written is a rule as Parse reads it: without zeros, except those that its action needs.
type written struct {
	Rule  Rule           `json:",inline"`
	Delay any            `json:"delay,omitzero"`
	After *int64         `json:"after,omitzero"`
	Pause *time.Duration `json:"pause,omitzero,format:units"`
}

func (r Rule) written() written {
	w, a := written{Rule: r}, r.Do
	if a.Kind == Latency || a.Kind == Late || a.Delay != (Delay{}) {
		w.Delay = a.Delay.written()
	}
	if a.Kind == Cut || a.After != 0 {
		w.After = &a.After
	}
	if a.Kind == Dribble {
		w.Pause = &a.Pause
	}
	return w
}

func (d Delay) written() any {
	switch {
	case d.Upper != 0:
		return map[string]string{"lower": d.Lower.String(), "upper": d.Upper.String()}
	case d.Median != 0:
		return map[string]any{"median": d.Median.String(), "sigma": d.Sigma}
	default:
		return d.Fixed.String()
	}
}
