package drift

import (
	"cmp"
	"net/url"
	"regexp"
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
	Target  Kind = "target"  // fetches with required fields; a run is one of them
)

// Form is how the rows of a run came. Fields are only compared with runs of the same form, because a CSV
// file has no types and a page no rows.
type Form string

// The forms.
const (
	FormJSON Form = "json"
	FormCSV  Form = "csv"
	FormPage Form = "page" // the fields are the selectors and paths that the fetch required
)

// Subject names what runs are compared within.
type Subject struct {
	Profile string
	Kind    Kind
	Name    string // the data set, or host and path of a target
}

// State is the outcome of a run.
type State string

// The states of a run. Good, First and Few are the good ones.
const (
	Good  State = "ok"
	First State = "first" // nothing was there to compare with
	Drift State = "drift"
	Few   State = "few"   // a field looks worse in so few rows that it may be chance
	Empty State = "empty" // no useful row: nothing can be said of fields
)

// Compared reports whether later runs are compared with runs of this state. Few is one of them: without runs that look
// worse by chance, the others would look better than they are.
func (s State) Compared() bool { return s == Good || s == First || s == Few }

// Field is what a run shows of one field.
type Field struct {
	// Path is the field's name, that of a nested one after its parents' and a dot; "[]" stands
	// for the elements of a list. For a fetch it is the selector or path as it was required.
	Path string `json:"path"`
	// Present is in how many useful rows it is, Filled in how many of them it has a value.
	Present int `json:"present"`
	Filled  int `json:"filled"`
	// Types counts the filled values: text, number, boolean, list, object.
	Types map[string]int `json:"types,omitempty"`
	// Distinct is how many different values there are, MaxDistinct for that many or more. Top is
	// how many rows may hold the most frequent one at most.
	Distinct int `json:"distinct"`
	Top      int `json:"top"`
	// Map says that its members are data, and are not fields of their own.
	Map bool `json:"map,omitempty"`
	// Pattern is the contract's, which Misses of the filled texts do not match.
	Pattern string `json:"pattern,omitempty"`
	Misses  int    `json:"misses,omitempty"`
	// Fails is the step of a page's selector that matched nothing, Matches the part before it that did.
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
	// Returned are all rows, Useful those with data. Class and Cause are the most frequent ones of
	// the others; empty without any.
	Returned, Useful int
	Class            model.Class
	Cause            model.Cause
	// Fields are sorted by their paths. Beyond says that there were more than MaxFields, or rows of which not all
	// was looked at.
	Fields []Field
	Beyond bool
	// Requested are the fields that the fetch of a page required, where a store says so of a run without its Fields.
	Requested []string
	// State and Findings are the verdict that the run got when it was stored.
	State    State
	Findings []Finding
}

// UsefulRows is how many rows had something of use. Of a page Useful counts that it came, because its fields were looked
// for in it; it is of use where one of them was found.
func (r Run) UsefulRows() int {
	if r.Form == FormPage && !slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Filled > 0 }) {
		return 0
	}
	return r.Useful
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

// Word is what a Finding says of its field.
type Word string

// The words for drift, as they are known from other monitors. New is no fault.
const (
	Lost        Word = "lost"         // in no row any more
	Missing     Word = "missing"      // absent from more rows
	Emptied     Word = "emptied"      // there, and nowhere filled
	Coverage    Word = "coverage"     // filled in fewer rows
	Flat        Word = "flat"         // the same value in every row
	TypeChanged Word = "type changed" // other types of values
	New         Word = "new"          // in no good run before
	OffPattern  Word = "pattern"      // not as the contract's pattern
	TooFew      Word = "too few rows" // worse than before, and that may be chance
)

// Alarm reports whether the word means drift.
func (w Word) Alarm() bool { return w != New && w != TooFew }

// Finding is one sentence about a field, with what it is based on.
type Finding struct {
	Field string `json:"field"`
	Word  Word   `json:"word"`
	// Contract says that the run is worse than the contract asks for, not than earlier runs.
	Contract bool   `json:"contract,omitempty"`
	Text     string `json:"text"`
	// Runs is in how many runs it was found, the newest ones together; 0 where the run was not compared.
	Runs int `json:"runs,omitempty"`
	// Since is the first run of the unbroken row of them with drift of the field.
	Since string `json:"since,omitempty"`
}

// Alarms are the findings that are drift.
func Alarms(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !f.Word.Alarm() })
}

// Names are the fields of findings, each once, in their order.
func Names(all []Finding) []string {
	var out []string
	for _, f := range all {
		if !slices.Contains(out, f.Field) {
			out = append(out, f.Field)
		}
	}
	return out
}

// targetName is the collector that fetches of an address belong to: its host and path. A segment of
// the path that is a number, or may be a token, stands for any, and the query says nothing.
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

// pageRun is the run of a fetch with required fields. In body, which may be empty, the step that fails is looked for of
// each selector that matched nothing. The contract's patterns are matched; it may be nil.
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

// trace notes which step of a selector fails, of the fields that were not found.
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
		return // what was found in it is in the run
	}
	for _, t := range traces {
		if c := p.fields[model.Cut(t.Path, maxPath)]; c != nil {
			c.Matches, c.Fails = t.Matches, t.Fails
		}
	}
}

// amount is a number as a page shows it, with a currency or a unit of one sign.
var amount = regexp.MustCompile(`^(?:\p{Sc}|[A-Z]{3})?\s?([+-]?[0-9][0-9.,']*)\s?(?:\p{Sc}|[A-Z]{3}|%)?$`)

// reads is the type that the text of a page reads as, number or text.
func reads(s string) string {
	if amount.MatchString(strings.TrimSpace(s)) {
		return typeNumber
	}
	return typeText
}

// maxTraces bounds the selectors of a page whose failing step is looked for.
const maxTraces = 20
