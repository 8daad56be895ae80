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

// Parse reads one rule from a table of a scenario or a body of the control API. Mistakes are
// recorded in the table; the rule is valid only if t.Err is nil.
//
//	[[faults]]
//	id = "slow-shop"
//	point = "target"            # api, proxy, target, webhook, job
//	host = "lab.test"           # also zone, product, path, method; "*" is any text
//	action = "latency"
//	delay = "300ms"             # or {lower = "100ms", upper = "2s"}, or {median = "300ms", sigma = 0.5}
//	from = 10                   # also nth, until, every, times, probability, at, in, for
func Parse(t *document.Table) Rule {
	r := Rule{ID: t.Text("id"), Off: t.Bool("off")}
	t.FailIf(len(r.ID) > maxText || strings.ContainsAny(r.ID, "/?#% \t\r\n"), "id", fmt.Sprintf("%s cannot name a rule", document.Quote(r.ID)), "a word without spaces and slashes")
	r.Match = parseMatch(t)
	r.When = parseWhen(t)
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
		Every: t.Int("every", 1, maxTimes), Times: t.Int("times", 1, maxTimes), Probability: t.Float("probability", 0, 1),
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
