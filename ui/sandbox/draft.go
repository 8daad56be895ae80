package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/fields"
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
	// ask makes the send key ask first: the request can be sent, but its result is
	// predictable.
	ask
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

// request returns the form's request and its problems, field by field. Even with
// problems the request is as complete as the fields allow, for the preview.
func (d draft) request(s kit.Session, now time.Time) (model.FetchRequest, []problem) {
	r := model.FetchRequest{
		URL: strings.TrimSpace(d.URL), Via: model.Via(d.Via), Format: model.Format(d.Format),
		Body: d.Body, Country: strings.TrimSpace(d.Country), Session: strings.TrimSpace(d.Session),
		Key: d.Key, Retries: -1,
	}
	var probs []problem
	add := func(f field, sev severity, text string) {
		probs = append(probs, problem{Field: f, Severity: sev, Text: text})
	}
	var err error
	if r.Via == model.ViaAgent {
		r.Zone, r.Tool, r.Args, r.Format = model.AgentZone(), strings.TrimSpace(d.Tool), strings.TrimSpace(d.Args), model.FormatRaw
	} else if r.Zone, err = findZone(s, d.Zone); err != nil {
		add(fieldZone, stop, err.Error())
	}
	r.Options = d.Options.Only(r.Zone.Product)
	if r.Via == model.ViaBrowser {
		r.Format = model.FormatRaw
	}
	if r.Tool != "" {
		r.URL = ""
	}
	if m := strings.TrimSpace(d.Method); m != methodGet {
		r.Method = m
	}
	if r.Header, err = parseHeaders(d.Headers); err != nil {
		add(fieldHeaders, stop, err.Error())
	}
	if r.Body != "" && r.Method == "" {
		add(fieldBody, note, "a body needs a method like POST")
	}
	if r.Required, err = parseRequired(d.Required); err != nil {
		add(fieldRequired, stop, err.Error())
	}
	if t := strings.TrimSpace(d.Timeout); t != "" {
		if r.Timeout, err = time.ParseDuration(t); err != nil || r.Timeout <= 0 {
			add(fieldTimeout, stop, "write it like 30s or 2m")
		}
	}
	if r.Via == model.ViaNative && r.Zone.Name != "" && !r.Zone.Product.NativeAccess() {
		add(fieldVia, stop, r.Zone.Product.Label()+" has no native access (contract 5.2): use API")
	}
	r = s.Profile.Can.Locate(r)
	probs = append(probs, ruleProblems(s, r, probs)...)
	if r.Via.Login() {
		return r, probs
	}
	return r, append(probs, keyProblems(s, r.Key, now)...)
}

// ruleProblems are what the rules of a request find, at fields that have no known
// problem yet.
func ruleProblems(s kit.Session, r model.FetchRequest, known []problem) []problem {
	var out []problem
	for _, p := range r.Problems(s.Profile.Can.Sends()) {
		f := refusedField(p.Field)
		waits := f == fieldZone && starting(s) // the zones are not known yet
		if waits || slices.ContainsFunc(known, func(k problem) bool { return k.Field == f && k.Severity == stop }) {
			continue
		}
		out = append(out, problem{Field: f, Severity: stop, Text: p.Err.Error()})
	}
	return out
}

// starting reports whether the zones and keys of the profile are not known yet.
func starting(s kit.Session) bool { return !s.Ready && s.Problem == "" }

func findZone(s kit.Session, name string) (model.Zone, error) {
	for _, z := range s.Zones {
		if string(z.Name) == name {
			return z, nil
		}
	}
	zone, err := model.ParseZoneName(name)
	switch {
	case name == "":
		return model.Zone{}, errors.New("choose a zone")
	case err != nil:
		return model.Zone{}, err
	case starting(s), len(s.Zones) == 0: // a profile without zones accepts any name
		return model.Zone{Name: zone}, nil
	default:
		return model.Zone{Name: zone}, fmt.Errorf("zone %s is not in profile %s", name, s.ProfileName)
	}
}

// keyProblems checks the key that API Access would use.
func keyProblems(s kit.Session, name string, now time.Time) []problem {
	k, known := pickKey(s, name)
	switch {
	case !known && starting(s):
		return nil
	case !known:
		return []problem{{fieldKey, stop, s.MissingKey(name)}}
	case k.Secret == "":
		return []problem{{fieldKey, stop, "the console only tracks " + k.Name + ": give it a secret reference in Keys"}}
	}
	var out []problem
	if of := s.Elsewhere[k.Name]; of != "" {
		out = append(out, problem{fieldKey, ask, fmt.Sprintf("key %s is that of %s. Its value would be sent to %s, the service of profile %s", k.Name, of, s.Profile.BaseURL, s.ProfileName)})
	}
	for _, f := range keystore.CheckUse(k, model.CapUse, false, now) {
		sev := note
		if f.Severity == keystore.SeverityError {
			sev = ask
		}
		text := f.Text
		if f.Fix != "" {
			text += ": " + f.Fix
		}
		out = append(out, problem{fieldKey, sev, text})
	}
	return out
}

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

// parseHeaders parses "Name: value" lines. The result is nil if there are none.
func parseHeaders(s string) (map[string][]string, error) {
	var h map[string][]string
	for i, line := range strings.Split(s, "\n") {
		n := i + 1
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !model.ValidToken(name) {
			return h, fmt.Errorf("line %d: write it as Name: value", n)
		}
		if strings.Contains(value, model.Masked) {
			return h, fmt.Errorf("line %d: the journal does not keep the value of %s: type it again, or remove the line", n, name)
		}
		if !model.ValidHeaderValue(value) {
			return h, fmt.Errorf("line %d: control characters cannot be sent", n)
		}
		if h == nil {
			h = make(map[string][]string)
		}
		h[name] = append(h[name], value)
	}
	return h, nil
}

// parseRequired parses the required fields, one per line: a comma may be part of a
// selector. The result is nil if there are none.
func parseRequired(s string) ([]string, error) {
	var out []string
	for i, line := range strings.Split(s, "\n") {
		n := i + 1
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if fields.Validate(line) != nil {
			return out, fmt.Errorf("line %d: write a CSS selector (.price) for HTML or a path (items.0.price) for JSON", n)
		}
		out = append(out, line)
	}
	return out, nil
}

// first is the first problem of that severity.
func first(probs []problem, s severity) (problem, bool) {
	i := slices.IndexFunc(probs, func(p problem) bool { return p.Severity == s })
	if i < 0 {
		return problem{}, false
	}
	return probs[i], true
}
