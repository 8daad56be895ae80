package drift

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"zonedeck/model"
	"zonedeck/service/fields"
)

// TargetName is the collector that fetches of an address belong to: its host and path. A segment of
// the path that is a number stands for any, and the query says nothing.
func TargetName(address string) string {
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
		if s != "" && digits(s) {
			segments[i] = "*"
		}
	}
	name := strings.ToLower(host) + strings.TrimSuffix("/"+strings.Join(segments, "/"), "/")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return model.Line(name, maxPath)
}

// PageRun is the run of a fetch with required fields. body is what it got, of which a sample is made;
// without it there is none.
func PageRun(profile string, r model.FetchResult, body []byte) Run {
	out := Run{Collector: Collector{Profile: profile, Kind: Target, Name: TargetName(r.Request.URL)}, Ref: r.ID, At: r.Started, Form: FormPage, Returned: 1}
	if len(r.Fields) == 0 { // the page did not come: nothing was looked for
		out.Class, out.Cause = r.Diagnosis.Class, r.Diagnosis.Cause
		return out
	}
	out.Useful = 1
	for _, f := range r.Fields {
		one := Field{Path: model.Cut(f.Path, maxPath), Present: 1}
		if f.Found {
			one.Filled, one.Distinct, one.Top = 1, 1, 1
			one.Types = map[string]int{TypeText: 1}
		}
		if _, twice := out.Field(one.Path); !twice && len(out.Fields) < MaxFields {
			out.Fields = append(out.Fields, one)
			slices.SortFunc(out.Fields, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
		}
	}
	if len(body) == 0 {
		return out
	}
	var paths []string
	for _, f := range r.Fields {
		paths = append(paths, f.Path)
	}
	traces, err := fields.Traces(r.ContentType, body, paths[:min(len(paths), maxTraces)])
	if err != nil {
		return out // the fields were found in it, and are in the run
	}
	for _, t := range traces {
		text := strings.Join(t.Outline, "\n")
		if len(t.JSON) > 0 {
			text = string(redact(gjson.ParseBytes(t.JSON), sampleBytes/4))
		}
		out.Sample = append(out.Sample, Sample{Key: model.Cut(t.Path, maxPath), Text: text, Matches: t.Matches, Fails: t.Fails})
		if t.Found {
			last := &out.Sample[len(out.Sample)-1]
			last.Matches, last.Fails = "", ""
		}
	}
	return out
}

// maxTraces is how many required fields of a page leave a sample.
const maxTraces = 20
