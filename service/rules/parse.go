package rules

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// The bounds of a file: every answer is held against every rule of it.
const (
	maxRules   = 100
	maxSize    = 256 << 10 // bytes of the file
	maxText    = 300       // bytes of a reason
	maxPattern = 1000      // bytes of a pattern
	maxProgram = 1000      // steps of a compiled pattern
	maxList    = 100       // elements of a list
)

// Rule is a rule of a file.
type Rule struct {
	model.UserRule
	// Profiles names those that it is for; empty means all.
	Profiles []string
}

type file struct {
	Rules []entry `toml:"rules"`
}

type entry struct {
	Name     string   `toml:"name"`
	Profiles []string `toml:"profiles"`
	Match    match    `toml:"match"`
	Class    string   `toml:"class"`
	Cause    string   `toml:"cause"`
	Reason   string   `toml:"reason"`
}

type match struct {
	Status      []int             `toml:"status"`
	Domain      []string          `toml:"domain"`
	URL         string            `toml:"url"`
	ContentType []string          `toml:"content_type"`
	Header      map[string]string `toml:"header"`
	MinSize     *int64            `toml:"min_size"`
	MaxSize     *int64            `toml:"max_size"`
	Body        string            `toml:"body"`
}

// Parse reads the text of a file, whose name is for errors. They are *textfile.Error: the
// line, what is wrong there, and what was expected.
func Parse(path string, text []byte) ([]Rule, error) {
	var f file
	doc, err := textfile.Decode(path, text, &f)
	if err != nil {
		return nil, err
	}
	if len(f.Rules) > maxRules {
		return nil, doc.Fault(textfile.At("rules", maxRules), "the file has too many rules", fmt.Sprintf("at most %d", maxRules))
	}
	rules := make([]Rule, 0, len(f.Rules))
	for i, e := range f.Rules {
		r, fault := e.rule()
		if fault == nil && slices.ContainsFunc(rules, func(other Rule) bool { return other.Name == r.Name }) {
			fault = wrong("another name for each rule", "a second rule is named %q", r.Name).in("name")
		}
		if fault != nil {
			return nil, doc.Fault(textfile.At(append([]any{"rules", i}, fault.at...)...), fault.msg, fault.expected)
		}
		r.Place = fmt.Sprintf("%s:%d", filepath.Base(path), doc.Fault(textfile.At("rules", i), "", "").Line)
		rules = append(rules, r)
	}
	return rules, nil
}

// fault is what is wrong with a field of a rule.
type fault struct {
	at            []any
	msg, expected string
}

func wrong(expected, format string, args ...any) *fault {
	return &fault{msg: fmt.Sprintf(format, args...), expected: expected}
}

// in says which field it is.
func (f *fault) in(at ...any) *fault {
	if f != nil {
		f.at = append(at, f.at...)
	}
	return f
}

// The length is checked apart: a counted repetition takes the program's start half a millisecond to compile.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

func (e entry) rule() (Rule, *fault) {
	if len(e.Name) > 64 || !validName.MatchString(e.Name) {
		return Rule{}, wrong("small letters, digits, - and _, at most 64", "%q cannot name a rule", e.Name).in("name")
	}
	if taken := func(n model.RuleNote) bool { return n.Name == e.Name }; e.Name == "breaker" || e.Name == "pace" || slices.ContainsFunc(model.DiagnosisRules(), taken) {
		return Rule{}, wrong("a name of your own", "%q is a rule of the console itself", e.Name).in("name")
	}
	if e.Reason == "" || len(e.Reason) > maxText || e.Reason != model.Line(e.Reason, maxText) {
		return Rule{}, wrong(fmt.Sprintf("one sentence that says what such an answer is, in one line of at most %d bytes", maxText), "the reason is missing, too long or not one line").in("reason")
	}
	r := Rule{Profiles: e.Profiles, UserRule: model.UserRule{Name: e.Name, Class: model.Class(e.Class), Cause: model.Cause(e.Cause), Reason: e.Reason}}
	if fault := e.verdict(&r.UserRule); fault != nil {
		return Rule{}, fault
	}
	var fault *fault
	r.Match, fault = e.Match.condition()
	return r, fault.in("match")
}

// verdict checks class and cause, and gives the cause that the class has otherwise.
func (e entry) verdict(r *model.UserRule) *fault {
	if !slices.Contains(model.Classes(), r.Class) {
		return wrong("one of "+listed(model.Classes()), "%q is not a class", e.Class).in("class")
	}
	causes := model.UserCauses(r.Class)
	switch {
	case r.Cause == "":
		r.Cause = causes[0]
	case !slices.Contains(causes, r.Cause):
		causes = slices.DeleteFunc(causes, func(c model.Cause) bool { return c == "" })
		if len(causes) == 0 {
			return wrong("no cause", "the class %s has no causes", r.Class).in("cause")
		}
		return wrong("one of "+listed(causes), "%q is not a cause that a rule can give with the class %s", e.Cause, r.Class).in("cause")
	}
	return nil
}

func listed[S ~string](all []S) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

func (m match) condition() (model.Match, *fault) {
	if len(m.Status) == 0 && len(m.Domain) == 0 && m.URL == "" && len(m.ContentType) == 0 && len(m.Header) == 0 && m.MinSize == nil && m.MaxSize == nil && m.Body == "" {
		return model.Match{}, wrong("at least one of body, content_type, domain, header, max_size, min_size, status, url", "the rule matches every answer")
	}
	out := model.Match{Statuses: m.Status, Domains: m.Domain}
	for _, check := range []func(*model.Match) *fault{m.checkLists, m.sizes, m.patterns} {
		if fault := check(&out); fault != nil {
			return model.Match{}, fault
		}
	}
	return out, nil
}

var (
	validDomain = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	validType   = regexp.MustCompile(`^[a-z0-9.+-]+/([a-z0-9.+-]+|\*)$`)
)

func (m match) checkLists(out *model.Match) *fault {
	for name, n := range map[string]int{"status": len(m.Status), "domain": len(m.Domain), "content_type": len(m.ContentType), "header": len(m.Header)} {
		if n > maxList {
			return wrong(fmt.Sprintf("at most %d", maxList), "the list is too long").in(name)
		}
	}
	for i, status := range m.Status {
		if status < 100 || status > 999 {
			return wrong("an HTTP status, such as 200", "%d is not a status", status).in("status", i)
		}
	}
	for i, domain := range m.Domain {
		if !validDomain.MatchString(domain) {
			return wrong("a name in small letters without scheme and path, such as shop.example, which stands for those below it too", "%q is not a domain", domain).in("domain", i)
		}
	}
	for i, kind := range m.ContentType {
		kind = strings.ToLower(kind)
		if !validType.MatchString(kind) {
			return wrong("a type such as text/html or text/*, without parameters", "%q is not a content type", kind).in("content_type", i)
		}
		out.ContentTypes = append(out.ContentTypes, kind)
	}
	return nil
}

func (m match) sizes(out *model.Match) *fault {
	if m.MinSize != nil {
		out.MinSize = *m.MinSize
	}
	if m.MaxSize != nil {
		out.MaxSize, out.Bounded = *m.MaxSize, true
	}
	switch {
	case out.MinSize < 0:
		return wrong("a number of bytes", "a size cannot be %d", out.MinSize).in("min_size")
	case out.Bounded && out.MaxSize < out.MinSize:
		return wrong("a number of bytes that is at least min_size", "a size cannot be at most %d", out.MaxSize).in("max_size")
	}
	return nil
}

func (m match) patterns(out *model.Match) *fault {
	var fault *fault
	if out.URL, fault = pattern(m.URL); fault != nil {
		return fault.in("url")
	}
	if out.Body, fault = pattern(m.Body); fault != nil {
		return fault.in("body")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		if !model.ValidToken(name) {
			return wrong("a header's name, such as Server", "%q cannot name a header", name).in("header", name)
		}
		value, fault := pattern(m.Header[name])
		if fault != nil {
			return fault.in("header", name)
		}
		if value == nil {
			value = regexp.MustCompile("")
		}
		out.Headers = append(out.Headers, model.HeaderMatch{Name: http.CanonicalHeaderKey(name), Value: value})
	}
	return nil
}

// pattern compiles a pattern; nil for none. Matching takes time in proportion to the text
// and to the size of the program, whose bound is checked before it is compiled.
func pattern(text string) (*regexp.Regexp, *fault) {
	const expected = "a regular expression as RE2 has it"
	switch {
	case text == "":
		return nil, nil
	case len(text) > maxPattern:
		return nil, wrong(fmt.Sprintf("at most %d bytes", maxPattern), "the pattern is too long")
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, wrong(expected, "%v", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, wrong(expected, "%v", err)
	}
	if len(program.Inst) > maxProgram {
		return nil, wrong("fewer or smaller repetitions", "the pattern is too large: %d steps, at most %d", len(program.Inst), maxProgram)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, wrong(expected, "%v", err)
	}
	return compiled, nil
}
