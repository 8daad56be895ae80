package drift

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"zonedeck/model"
	"zonedeck/service/fields"
)

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
