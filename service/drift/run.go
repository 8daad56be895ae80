package drift

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"zonedeck/model"
	"zonedeck/service/fields"
)

// Kind is what a collector is.
type Kind string

// The kinds of collectors.
const (
	Dataset Kind = "dataset" // jobs of a data set; a run is a downloaded result
	Target  Kind = "target"  // fetches with required fields; a run is one fetch
)

// Form is the format of a run's rows. Fields are only compared with runs of the same form, because a CSV
// file has no types and a page no rows.
type Form string

// The forms.
const (
	FormJSON Form = "json"
	FormCSV  Form = "csv"
	FormPage Form = "page" // the fields are the selectors and paths that the fetch required
)

// Subject names a collector. Only its own runs are compared.
type Subject struct {
	Profile string
	Kind    Kind
	Name    string // the data set, or host and path of a target
}

// State is the outcome of a run.
type State string

// The states of a run. Good, First and Few are the good ones.
const (
	Good    State = "ok"
	First   State = "first" // there was nothing to compare with
	Drift   State = "drift"
	FewRows State = "few"   // a field looks worse in so few rows that it may be chance
	Empty   State = "empty" // no useful row: nothing is known about fields
)

// Compared reports whether later runs are compared with runs of this state. Few counts: without the runs that look
// worse by chance, the others would look better than they are.
func (s State) Compared() bool { return s == Good || s == First || s == FewRows }

// Field is what a run shows of one field.
type Field struct {
	// Path is the field's name. A nested field has its parents' names and dots before it; "[]" is
	// for the elements of a list. For a fetch, it is the required selector or path.
	Path string `json:"path"`
	// Present counts the useful rows with the field, Filled those where it has a value.
	Present int `json:"present"`
	Filled  int `json:"filled"`
	// Types counts the filled values: text, number, boolean, list, object.
	Types map[string]int `json:"types,omitempty"`
	// Distinct counts the different values, maxDistinct for that many or more. Top is an upper
	// bound of the rows with the most frequent one.
	Distinct int `json:"distinct"`
	Top      int `json:"top"`
	// Map says that its members are data, not fields of their own.
	Map bool `json:"map,omitempty"`
	// Pattern is the contract's. Misses counts the filled values that do not match it.
	Pattern string `json:"pattern,omitempty"`
	Misses  int    `json:"misses,omitempty"`
	// Fails is the step of a page's selector that matched nothing, Matches the part before it.
	Matches string `json:"matches,omitempty"`
	Fails   string `json:"fails,omitempty"`
}

// Coverage is the share of the useful rows in which the field is filled, 0 to 1.
func (f Field) Coverage(rows int) float64 {
	if rows <= 0 {
		return 0
	}
	return float64(f.Filled) / float64(rows)
}

// The types of values.
const (
	typeText    = "text"
	typeNumber  = "number"
	typeBoolean = "boolean"
	typeList    = "list"
	typeObject  = "object"
)

// types lists the types of values.
func types() []string { return []string{typeText, typeNumber, typeBoolean, typeList, typeObject} }

// Type is the most frequent type; "" if nothing is filled.
func (f Field) Type() string {
	best := ""
	for _, t := range types() {
		if f.Types[t] > f.Types[best] {
			best = t
		}
	}
	return best
}

// Run is one result or fetch of a collector.
type Run struct {
	Seq int64 // in the store
	Subject
	Ref  string // the job or the fetch
	At   time.Time
	Form Form
	// Returned counts all rows, Useful those with data. Class and Cause are the most frequent ones
	// of the others; empty if there are none.
	Returned, Useful int
	Class            model.Class
	Cause            model.Cause
	// Fields are sorted by path. Beyond says that some were left out: there were more than MaxFields, or a row or
	// path was too long.
	Fields []Field
	Beyond bool
	// Requested are the fields that the fetch of a page required. Store.Earlier sets it; its runs may lack Fields.
	Requested []string
	// State and Findings are the stored verdict.
	State    State
	Findings []Finding
}

// UsefulRows counts the rows with data. A page counts in Useful once it came, because its fields were looked for; here
// it counts only if one of them was found.
func (r Run) UsefulRows() int {
	if r.Form == FormPage && !slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Filled > 0 }) {
		return 0
	}
	return r.Useful
}

// profiled is how many rows the fields were looked for in: the useful ones or, without any, those without an error.
func (r Run) profiled() int {
	n := r.Useful
	for _, f := range r.Fields {
		n = max(n, f.Present)
	}
	return n
}

// Field finds a field by its path.
func (r Run) Field(path string) (Field, bool) {
	i, ok := slices.BinarySearchFunc(r.Fields, path, func(f Field, path string) int { return cmp.Compare(f.Path, path) })
	if !ok {
		return Field{Path: path}, false
	}
	return r.Fields[i], true
}

// paths are the fields that the fetch of a page required.
func (r Run) paths() []string {
	if r.Requested != nil {
		return r.Requested
	}
	out := make([]string, 0, len(r.Fields))
	for _, f := range r.Fields {
		out = append(out, f.Path)
	}
	return out
}

// requested reports whether the fetch of a page required a field.
func (r Run) requested(path string) bool { return slices.Contains(r.paths(), path) }

// Change is what a Finding says about its field.
type Change string

// The words for drift, as other monitors use them. New and TooFew are not drift.
const (
	Lost        Change = "lost"         // in no row any more
	Missing     Change = "missing"      // absent from more rows
	Emptied     Change = "emptied"      // present, but filled nowhere
	Coverage    Change = "coverage"     // filled in fewer rows
	Flat        Change = "flat"         // the same value in every row
	TypeChanged Change = "type changed" // other types of values
	New         Change = "new"          // in no good run before
	OffPattern  Change = "pattern"      // not matching the contract's
	TooFew      Change = "too few rows" // worse than before, perhaps by chance
)

// Alarm reports whether the word means drift.
func (w Change) Alarm() bool { return w != New && w != TooFew }

// Finding is one sentence about a field, with what it is based on.
type Finding struct {
	Field string `json:"field"`
	Word  Change `json:"word"`
	// Contract says that the run falls short of the contract, not of earlier runs.
	Contract bool   `json:"contract,omitempty"`
	Text     string `json:"text"`
	// Runs is how many of the newest runs together showed it; 0 if the run was not compared.
	Runs int `json:"runs,omitempty"`
	// Since is the first of the consecutive runs with drift of the field.
	Since string `json:"since,omitempty"`
}

// Alarms returns the findings that are drift.
func Alarms(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !f.Word.Alarm() })
}

// Names returns the fields of findings, each once, in order.
func Names(all []Finding) []string {
	var out []string
	for _, f := range all {
		if !slices.Contains(out, f.Field) {
			out = append(out, f.Field)
		}
	}
	return out
}

// targetName is the name of the target for an address: its host and path. A path segment that is a
// number, or may be a token, becomes "*"; the query is dropped.
func targetName(address string) string {
	rest := address
	if _, after, ok := strings.Cut(address, "://"); ok {
		rest = after
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		host = host[at+1:]
	}
	if h, port, ok := strings.Cut(host, ":"); ok && (port == "80" || port == "443") {
		host = h
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if s != "" && digits(s) || model.MayBeToken(s) {
			segments[i] = "*"
		}
	}
	name := strings.ToLower(host) + strings.TrimSuffix("/"+strings.Join(segments, "/"), "/")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return model.Line(name, maxPath)
}

// pageRun makes the run of a fetch with required fields. It looks in body, which may be empty, for the failing step of
// each selector that matched nothing. It matches the contract's patterns; c may be nil.
func pageRun(profile string, r model.FetchResult, body []byte, c *Contract) Run {
	p := NewProfiler(c)
	p.run.Form, p.run.Returned = FormPage, 1
	if len(r.Fields) > 0 { // otherwise the page did not come: nothing was looked for
		p.run.Useful = 1
	} else {
		p.Blame(r.Diagnosis.Class, r.Diagnosis.Cause)
	}
	for _, f := range r.Fields {
		one := p.field(model.Cut(f.Path, maxPath))
		if one == nil || one.Present > 0 {
			continue
		}
		one.Present = 1
		if f.Found {
			one.count(reads(f.Value), gjson.Result{Type: gjson.String, Str: f.Value}, p.seed)
		}
	}
	p.trace(r, body)
	return p.Run(Subject{Profile: profile, Kind: Target, Name: targetName(r.Request.URL)}, r.ID, r.Started)
}

// trace notes the failing step of the selectors that were not found.
func (p *Profiler) trace(r model.FetchResult, body []byte) {
	if len(body) == 0 {
		return
	}
	var paths []string
	for _, f := range r.Fields {
		if !f.Found && len(paths) < maxTraces {
			paths = append(paths, f.Path)
		}
	}
	traces, err := fields.Traces(r.ContentType, body, paths)
	if err != nil {
		return // the run has what was found
	}
	for _, t := range traces {
		if c := p.fields[model.Cut(t.Path, maxPath)]; c != nil {
			c.Matches, c.Fails = t.Matches, t.Fails
		}
	}
}

// amount is a number as a page shows it, with a currency or a percent sign.
var amount = model.Pattern(`^(?:\p{Sc}|[A-Z]{3})?\s?([+-]?[0-9][0-9.,']*)\s?(?:\p{Sc}|[A-Z]{3}|%)?$`)

// reads is the type of a page's text: number or text.
func reads(s string) string {
	if amount().MatchString(strings.TrimSpace(s)) {
		return typeNumber
	}
	return typeText
}

// maxTraces is how many selectors of a page are traced.
const maxTraces = 20
