package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// Draft is what an operator wants fetched. Its texts may hold variables.
type Draft struct {
	// Request may name its zone alone. Its headers are those of Headers.
	Request model.FetchRequest
	// Headers are lines "Name: value"; blank ones do not count.
	Headers []string
	// Fitting leaves out the options that the zone's product does not have, and what Trimmed does.
	Fitting bool
	// AnyZone checks what does not depend on the zone and the access method alone: a comparison has several.
	AnyZone bool
}

// Keys are the keys that a draft may name.
type Keys interface {
	// Pick returns the key of a name, the profile's for "". Its error says why there is none. While the keys are read
	// it returns the zero key.
	Pick(name string) (model.Key, error)
	// OtherAccount says whose a key of another account is, "" for the profile's own.
	OtherAccount(key string) string
}

// Variables give the values of variables.
type Variables interface {
	// Variable gives a value, or the reference of one that is a secret.
	Variable(name string) (model.Variable, bool)
}

// Known is what a draft is checked by. Without Keys the key is not checked; without Variables {{name}} is a text like any other.
type Known struct {
	Profile model.Profile
	// Password is the reference of the password of zones that the profile does not list.
	Password  string
	Keys      Keys
	Variables Variables
	Now       time.Time
}

// Zone is a zone by its name, with the reference of its password.
func (k Known) Zone(name model.ZoneName) (model.Zone, error) {
	z, err := k.Profile.FindZone(string(name))
	if err == nil && len(k.Profile.Zones) == 0 {
		z.Password = k.Password
	}
	return z, err
}

// Report is what a draft comes to. Problems stop it. Notes are about a field.
type Report struct {
	// Request is as complete as the draft allows.
	Request   model.FetchRequest
	Problems  []model.FieldProblem
	Notes     []ask.Note
	Questions []ask.Question
}

func (rep *Report) stop(field string, err error) {
	if err != nil {
		rep.Problems = append(rep.Problems, model.FieldProblem{Field: field, Err: err})
	}
}

// Check says what keeps a draft from being sent, and what has to be answered before: values of variables (their facts are the
// fields that wait for them), a key of another account, a key that will be refused. It does no I/O.
func Check(k Known, d Draft) Report {
	var rep Report
	waiting := rep.fill(k.Variables, d)
	rep.checkRules(k, d)
	rep.Problems = slices.DeleteFunc(rep.Problems, func(p model.FieldProblem) bool {
		return slices.Contains(waiting, p.Field) && !errors.As(p.Err, new(*variableError))
	})
	if r := rep.Request; r.Body != "" && r.Method == "" {
		rep.Notes = append(rep.Notes, ask.Note{About: "body", Text: "a body needs a method like POST"})
	}
	if k.Keys != nil && !rep.Request.Via.Login() {
		rep.checkKey(k)
	}
	return rep
}

// checkRules finds the zone, and what breaks the rules of a request, at fields without a known problem.
func (rep *Report) checkRules(k Known, d Draft) {
	dl, err := dialect.Find(k.Profile.Dialect)
	if err != nil {
		rep.stop("profile", err)
		return
	}
	r := &rep.Request
	if d.AnyZone {
		sends := dl.Sends()
		sends.Target, sends.Exit = true, true
		rep.stopOnce(slices.DeleteFunc(append(r.Problems(sends), badFields(*r)...), func(p model.FieldProblem) bool {
			return !slices.Contains([]string{"url", "method", "headers", "format", "country", "session", "required"}, p.Field) || p.Field == "url" && r.Options.Query != ""
		}))
		return
	}
	if r.Via == model.ViaAgent {
		r.Zone = model.AgentZone()
	} else {
		r.Zone, err = k.Zone(r.Zone.Name)
		rep.stop("zone", err)
	}
	if d.Fitting {
		r.Options = r.Options.Only(r.Zone.Product)
	}
	*r = dl.Locate(*r)
	rep.stopOnce(problems(k.Profile, dl, *r))
}

// stopOnce adds the problems of fields without a known one.
func (rep *Report) stopOnce(found []model.FieldProblem) {
	known := len(rep.Problems)
	for _, p := range found {
		if !slices.ContainsFunc(rep.Problems[:known], func(o model.FieldProblem) bool { return o.Field == p.Field }) {
			rep.stop(p.Field, p.Err)
		}
	}
}

// UpperBound is what a fetch may cost at most, by the rate of its zone. In the remote browser the body says nothing about the traffic,
// which is what is charged: that is unpriced.
func UpperBound(r model.FetchRequest) (dollars float64, priced bool) {
	if r.Via == model.ViaBrowser || r.Zone.Product == model.ProductBrowser {
		return 0, false
	}
	tries := float64(r.Retries + 1)
	return r.Zone.Rate.Cost(tries, tries*float64(r.BodyLimit))
}

// variableError is what is wrong with a variable of a field, or its value.
type variableError struct{ error }

// fill puts the values of variables into the request, and its headers. What else is wrong with the fields that wait for a
// value is not known yet.
func (rep *Report) fill(variables Variables, d Draft) (waiting []string) {
	r := d.Request
	r.Header = http.Header{"": d.Headers}
	if variables != nil {
		var found []model.FieldProblem
		r, found = r.Resolve(variables.Variable)
		values := d.Values()
		for _, p := range found {
			waiting = append(waiting, p.Field)
			unknown, is := errors.AsType[*model.UnknownVariableError](p.Err)
			if !is {
				rep.stop(p.Field, &variableError{p.Err})
				continue
			}
			i := slices.IndexFunc(values, func(q ask.Question) bool { return q.About == unknown.Name })
			values[i].Text = unknown.Error()
			values[i].Facts = append(values[i].Facts, ask.Fact{Text: p.Field})
		}
		rep.Questions = slices.DeleteFunc(values, func(q ask.Question) bool { return q.Facts == nil })
	}
	var marks string
	if r.URL, marks = model.TrimMarks(r.URL); marks != "" {
		rep.Notes = append(rep.Notes, ask.Note{About: "url", Text: marks + " at its ends was taken off"})
	}
	if d.Fitting {
		r = Trimmed(r)
	}
	var err error
	r.Header, err = readHeaders(r.Header[""])
	rep.stop("headers", err)
	rep.Request = r
	return waiting
}

// Trimmed is a request without blanks and marks around its texts that are one line each.
func Trimmed(r model.FetchRequest) model.FetchRequest {
	return r.MapTexts(func(field, text string) string {
		if slices.Contains([]string{"url", "method", "country", "session", "tool", "args"}, field) {
			text, _ = model.TrimMarks(text)
		}
		return text
	})
}

// Values are the questions for the values of all variables of a draft. Secrets are those that stand in a header which is one by
// its nature, and those that are named like one.
func (d Draft) Values() (all []ask.Question) {
	d.Request.Header = http.Header{"": d.Headers}
	for _, name := range d.Request.Variables() {
		secret := model.SecretName(name) || slices.ContainsFunc(d.Headers, func(line string) bool {
			header, value, _ := strings.Cut(line, ":")
			return model.SecretName(strings.TrimSpace(header)) && slices.Contains(model.Variables(value), name)
		})
		q := ask.Question{Kind: ask.Value, About: name, Want: ask.Reason}
		if secret {
			q.Want = ask.Secret
		}
		all = append(all, q)
	}
	return all
}

// checkKey says what speaks against the key of a request by API.
func (rep *Report) checkKey(k Known) {
	key, err := k.Keys.Pick(rep.Request.Key)
	switch {
	case err != nil:
		rep.stop("key", err)
		return
	case key.Name == "":
		return
	case key.Secret == "":
		rep.stop("key", exchange.OnlyTracked(key.Name))
		return
	}
	question := func(kind ask.Kind, text string) {
		rep.Questions = append(rep.Questions, ask.Question{Kind: kind, About: key.Name, Text: text})
	}
	if owner := k.Keys.OtherAccount(key.Name); owner != "" {
		question(ask.OtherAccount, fmt.Sprintf("key %s is that of %s. Its value would be sent to %s, the service of profile %s", key.Name, owner, k.Profile.BaseURL, k.Profile.Name))
	}
	for _, f := range keystore.CheckUse(key, model.CapUse, false, k.Now) {
		text := f.Text
		if f.Fix != "" {
			text += ": " + f.Fix
		}
		if f.Severity == keystore.SeverityError {
			question(ask.UnfitKey, text)
		} else {
			rep.Notes = append(rep.Notes, ask.Note{About: "key", Text: text})
		}
	}
}

// readHeaders reads lines "Name: value". The result is nil if there are none.
func readHeaders(lines []string) (http.Header, error) {
	var h http.Header
	for i, line := range lines {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		bad := ""
		switch {
		case strings.ContainsAny(line, "\r\n"):
			bad = "the value of a variable holds a line break"
		case !ok || !model.ValidToken(name):
			bad = "write it as Name: value"
		case strings.Contains(value, model.Masked):
			bad = fmt.Sprintf("the journal does not keep the value of %s: type it again, or remove the line", name)
		case !model.ValidHeaderValue(value):
			bad = "control characters cannot be sent"
		}
		if bad != "" {
			return h, fmt.Errorf("line %d: %s", i+1, bad)
		}
		if h == nil {
			h = http.Header{}
		}
		h.Add(name, value)
	}
	return h, nil
}

// Template is the request of a draft with the values of variables put in. Other variables stay: they are columns of the
// rows that it is sent for, see [Fetcher.Prepare]. Its errors are *model.RequestError.
func (d Draft) Template(k Known) (model.FetchRequest, error) {
	r := d.Request
	r.Header = http.Header{"": d.Headers}
	r, found := r.Resolve(k.Variables.Variable)
	var ps []model.FieldProblem
	for _, p := range found {
		if !errors.As(p.Err, new(*model.UnknownVariableError)) {
			ps = append(ps, p)
		}
	}
	add := func(field string, err error) {
		if err != nil {
			ps = append(ps, model.FieldProblem{Field: field, Err: err})
		}
	}
	var err error
	r.Header, err = readHeaders(r.Header[""])
	add("headers", err)
	r.Zone, err = k.Zone(r.Zone.Name)
	add("zone", err)
	dl, err := dialect.Find(k.Profile.Dialect)
	add("profile", err)
	if len(ps) > 0 {
		return r, &model.RequestError{Problems: ps}
	}
	return dl.Locate(r), nil
}
