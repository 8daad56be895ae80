package drift

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"zonedeck/model"
	"zonedeck/service/fields"
)

// TargetName is the collector that fetches of an address belong to: its host and path. A segment of
// the path that is a number, or may be a token, stands for any, and the query says nothing.
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

// pageOf is an address without what must not be kept.
func pageOf(address string) string {
	return plain("", model.ReplaceTokens(address, "*"))
}

// plainOfPage is a text of a page's element as plain has it; see fields.Mask.
func plainOfPage(names []string, text string) string {
	if slices.ContainsFunc(names, secret) {
		return model.Masked
	}
	return plain("", text)
}

// PageRun is the run of a fetch with required fields. body is what it got, of which a sample is made;
// without it there is none. The contract's patterns are matched; it may be nil.
func PageRun(profile string, r model.FetchResult, body []byte, c *Contract) Run {
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
			kind, size := reads(f.Value)
			one.count(kind, size, gjson.Result{Type: gjson.String, Str: f.Value}, p.seed)
		}
	}
	out := p.Run(Collector{Profile: profile, Kind: Target, Name: TargetName(r.Request.URL)}, r.ID, r.Started)
	if len(body) == 0 {
		return out
	}
	var paths []string
	for _, f := range r.Fields {
		paths = append(paths, f.Path)
	}
	traces, err := fields.Traces(r.ContentType, body, paths[:min(len(paths), maxTraces)], plainOfPage)
	if err != nil {
		return out // the fields were found in it, and are in the run
	}
	for _, t := range traces {
		text := strings.Join(t.Outline, "\n")
		switch {
		case slices.ContainsFunc(strings.Split(t.Path, "."), secret):
			text = model.Masked
		case len(t.JSON) > 0:
			text = string(redact(gjson.ParseBytes(t.JSON), sampleBytes/4))
		}
		out.Sample = append(out.Sample, Sample{Key: model.Cut(t.Path, maxPath), Page: pageOf(r.Request.URL), Text: text, Matches: t.Matches, Fails: t.Fails})
		if t.Found {
			last := &out.Sample[len(out.Sample)-1]
			last.Matches, last.Fails = "", ""
		}
	}
	return out
}

// amount is a number as a page shows it, with a currency or a unit of one sign.
var amount = regexp.MustCompile(`^(?:\p{Sc}|[A-Z]{3})?\s?([+-]?[0-9][0-9.,']*)\s?(?:\p{Sc}|[A-Z]{3}|%)?$`)

// reads is the type that the text of a page reads as, number or text, and its size: the number, or how many
// characters. Of points and commas the last one is the decimal one, but for a comma before three digits.
func reads(s string) (kind string, size float64) {
	s = strings.TrimSpace(s)
	if m := amount.FindStringSubmatch(s); m != nil {
		whole := strings.ReplaceAll(m[1], "'", "")
		at := strings.LastIndexAny(whole, ".,")
		if at >= 0 && (strings.Count(whole, whole[at:at+1]) > 1 || whole[at] == ',' && len(whole)-at == 4) {
			at = -1
		}
		digits := strings.NewReplacer(".", "", ",", "")
		if at >= 0 {
			whole = digits.Replace(whole[:at]) + "." + whole[at+1:]
		} else {
			whole = digits.Replace(whole)
		}
		if x, err := strconv.ParseFloat(whole, 64); err == nil {
			return TypeNumber, x
		}
	}
	return TypeText, float64(utf8.RuneCountInString(s))
}

// maxTraces is how many required fields of a page leave a sample.
const maxTraces = 20
