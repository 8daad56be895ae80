package sandbox

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// field names one field of the form.
type field string

// The fields, in the order of the form.
const (
	fieldZone     field = "zone"
	fieldURL      field = "url"
	fieldVia      field = "via"
	fieldFormat   field = "format"
	fieldKey      field = "key"
	fieldMethod   field = "method"
	fieldHeaders  field = "headers"
	fieldBody     field = "body"
	fieldRequired field = "required"
	fieldCountry  field = "country"
	fieldSession  field = "session"
	fieldTimeout  field = "timeout"
	fieldTool     field = "tool"
	fieldArgs     field = "args"
)

// The methods with a special meaning.
const (
	methodGet  = "GET" // the default
	methodHead = "HEAD"
)

// severity is how far a problem prevents sending.
type severity int

const (
	// note does not prevent sending.
	note severity = iota
	// doubt makes the send key ask first: the request can be sent, but its result is
	// predictable.
	doubt
	// stop prevents sending.
	stop
)

// problem is a problem with one field.
type problem struct {
	Field    field
	Severity severity
	Text     string
}

// draft is the unchecked text of the form.
type draft struct {
	Zone, URL, Via, Format, Key string
	Method, Headers, Body       string
	Required                    string // one selector or path per line
	Country, Session, Timeout   string
	Options                     model.Options
	Tool, Args                  string // of agent access
	// Profile is the one that the request was sent with, if it is not the one in use.
	// It is no field: the operator is asked before the request is sent with another.
	Profile string
}

// firstDraft is the initial form: a request that works on the embedded emulator.
func firstDraft() draft {
	return draft{
		Zone: "unlocker_demo", URL: "http://lab.test/ok", Via: string(model.ViaAPI),
		Format: string(model.FormatRaw), Method: methodGet,
	}
}

// realDraft is the initial form on a real account: only the zone is filled in.
func realDraft(s kit.Session) draft {
	d := firstDraft()
	d.Zone, d.URL = "", ""
	if len(s.Zones) > 0 {
		d.Zone = string(s.Zones[0].Name)
	}
	return d
}

// draftOf is the form for r.
func draftOf(r model.FetchRequest) draft {
	d := draft{
		Zone: string(r.Zone.Name), URL: r.URL, Via: string(cmp.Or(r.Via, model.ViaAPI)), Format: string(cmp.Or(r.Format, model.FormatRaw)),
		Key: r.Key, Method: cmp.Or(r.Method, methodGet), Body: r.Body, Country: r.Country, Session: r.Session, Headers: strings.Join(text.HeaderLines(r.Header), "\n"),
		Required: strings.Join(r.Required, "\n"), Options: r.Options, Tool: r.Tool, Args: r.Args,
	}
	if r.Timeout > 0 {
		d.Timeout = r.Timeout.String()
	}
	return d
}

// draftOfShown is the form for the request of the result on screen, with the key that
// was used. The key of another profile is left out: its value must not reach this one's
// service.
func (m *Model) draftOfShown() draft {
	d := draftOf(m.result.res.Request.Template())
	d.Key, d.Profile = model.PlainName(cmp.Or(d.Key, m.result.res.KeyName)), m.result.profile
	if d.Profile != "" {
		d.Key = m.session.Key.Name
	}
	return d
}

// foreign reports whether a profile is known not to be the one in use.
func (m *Model) foreign(profile string) bool {
	return profile != "" && m.session.ProfileName != "" && profile != m.session.ProfileName
}

// extras name what the folded fields hold, in the order of the form.
func (d draft) extras() []string {
	var out []string
	add := func(set bool, words string) {
		if set {
			out = append(out, words)
		}
	}
	add(d.Method != "" && d.Method != methodGet, d.Method)
	add(d.Headers != "", text.Counted(lineCount(d.Headers), "header"))
	add(d.Body != "", "body "+text.Bytes(int64(len(d.Body))))
	add(d.Required != "", text.Counted(lineCount(d.Required), "required field"))
	add(d.Country != "", "country "+d.Country)
	add(d.Session != "", "session "+d.Session)
	add(d.Timeout != "", "timeout "+d.Timeout)
	return out
}

// lineCount counts the lines that are not blank.
func lineCount(s string) int {
	n := 0
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// input is what the form asks for, and what in its texts cannot be read.
func (d draft) input() (fetch.Draft, []problem) {
	r := fetch.Trimmed(model.FetchRequest{
		Zone: model.Zone{Name: model.ZoneName(d.Zone)}, URL: d.URL, Via: model.Via(d.Via), Format: model.Format(d.Format), Method: d.Method, Body: d.Body,
		Country: d.Country, Session: d.Session, Key: d.Key, Retries: -1, Options: d.Options, Tool: d.Tool, Args: d.Args,
	})
	if r.Via != model.ViaAgent {
		r.Tool, r.Args = "", ""
	}
	if r.Via == model.ViaAgent || r.Via == model.ViaBrowser {
		r.Format = model.FormatRaw
	}
	if r.Tool != "" {
		r.URL = ""
	}
	if r.Method == methodGet {
		r.Method = ""
	}
	for line := range strings.Lines(d.Required) { // a comma may be part of a selector
		if line = strings.TrimSpace(line); line != "" {
			r.Required = append(r.Required, line)
		}
	}
	out := fetch.Draft{Request: r, Headers: strings.Split(d.Headers, "\n"), Fitting: true}
	t := strings.TrimSpace(d.Timeout)
	if t == "" {
		return out, nil
	}
	var err error
	if out.Request.Timeout, err = time.ParseDuration(t); err != nil || out.Request.Timeout <= 0 {
		return out, []problem{{fieldTimeout, stop, "write it like 30s or 2m"}}
	}
	return out, nil
}

// check is what a draft comes to, and what is shown at its fields.
func (m *Model) check(d draft) (fetch.Report, []problem) {
	input, out := d.input()
	report := fetch.Check(fetch.Known{Profile: m.deps.Profile.CurrentProfile(), Keys: sessionKeys(m.session), Variables: m.deps.Variables, Now: m.deps.Profile.Now()}, input)
	for _, p := range report.Problems {
		if f := refusedField(p.Field); f != fieldZone || !starting(m.session) { // the zones are not known yet
			out = append(out, problem{f, stop, p.Err.Error()})
		}
	}
	for _, n := range report.Notes {
		out = append(out, problem{refusedField(n.About), note, n.Text})
	}
	waiting := map[field][]string{}
	for _, q := range report.Questions {
		if q.Kind != ask.Value {
			out = append(out, problem{fieldKey, doubt, q.Text})
		}
		for _, f := range q.Facts {
			waiting[refusedField(f.Text)] = append(waiting[refusedField(f.Text)], "{{"+q.About+"}}")
		}
	}
	for _, f := range slices.Sorted(maps.Keys(waiting)) {
		out = append(out, problem{f, doubt, "no value yet for " + strings.Join(waiting[f], ", ") + ": sending asks for it"})
	}
	return report, out
}

// starting reports whether the zones and keys of the profile are not known yet.
func starting(s kit.Session) bool { return !s.Ready && s.Problem == "" }

// sessionKeys are the keys that the form may name.
type sessionKeys kit.Session

// Pick implements fetch.Keys.
func (s sessionKeys) Pick(name string) (model.Key, error) {
	k, known := pickKey(kit.Session(s), name)
	if !known && !starting(kit.Session(s)) {
		return k, errors.New(kit.Session(s).MissingKey(name))
	}
	return k, nil
}

// OtherAccount implements fetch.Keys.
func (s sessionKeys) OtherAccount(key string) string { return s.OtherAccounts[key] }

// pickKey returns the key used for this key field.
func pickKey(s kit.Session, name string) (model.Key, bool) {
	if name == "" || name == s.Key.Name {
		return s.Key, s.Key.Name != ""
	}
	if i := slices.IndexFunc(s.Keys, func(k model.Key) bool { return k.Name == name }); i >= 0 {
		return s.Keys[i], true
	}
	return model.Key{}, false
}

// first is the first problem of that severity.
func first(probs []problem, s severity) (problem, bool) {
	i := slices.IndexFunc(probs, func(p problem) bool { return p.Severity == s })
	if i < 0 {
		return problem{}, false
	}
	return probs[i], true
}
