package sandbox

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Variables are what {{name}} stands for in the form.
type Variables interface {
	// Variable gives a value, or the reference of one that is a secret.
	Variable(name string) (model.Variable, bool)
	// Answer gives a variable a value until the console ends, which is stored nowhere; an empty
	// one takes the answer back.
	Answer(name, value string, secret bool)
}

// texts is a request of the form's texts that may hold variables, its headers as one text.
func (d draft) texts() model.FetchRequest {
	return model.FetchRequest{
		Zone: model.Zone{Name: model.ZoneName(d.Zone)}, URL: d.URL, Method: d.Method, Body: d.Body,
		Country: d.Country, Session: d.Session, Header: map[string][]string{"": {d.Headers}},
		Options: d.Options, Tool: d.Tool, Args: d.Args,
	}
}

// resolve puts the values of variables into a draft. asked are the variables without a
// value; secrets are the references of those that stay.
func (d draft) resolve(vars Variables) (out draft, secrets map[string]string, asked []string, problems []problem) {
	r := d.texts()
	braces := false
	r.MapTexts(func(_, text string) string {
		braces = braces || strings.Contains(text, "{{")
		return text
	})
	if vars == nil || !braces {
		return d, nil, nil, nil
	}
	r, found := r.Resolve(vars.Variable)
	missing := map[field][]string{}
	for _, p := range found {
		f := refusedField(p.Field)
		unknown, is := errors.AsType[*model.UnknownVariableError](p.Err)
		if !is {
			problems = append(problems, problem{Field: f, Severity: stop, Text: p.Err.Error()})
			continue
		}
		missing[f] = append(missing[f], "{{"+unknown.Name+"}}")
		if !slices.Contains(asked, unknown.Name) {
			asked = append(asked, unknown.Name)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(missing)) {
		text := strings.Join(missing[f], ", ") + " without a value yet: sending asks for it"
		problems = append(problems, problem{Field: f, Severity: ask, Text: text})
	}
	if lineCount(r.Header[""][0]) != lineCount(d.Headers) {
		problems = append(problems, problem{Field: fieldHeaders, Severity: stop, Text: "the value of a variable holds a line break"})
	}
	d.Zone, d.URL, d.Method, d.Body = string(r.Zone.Name), r.URL, r.Method, r.Body
	d.Country, d.Session, d.Headers = r.Country, r.Session, r.Header[""][0]
	d.Options, d.Tool, d.Args = r.Options, r.Tool, r.Args
	return d, r.Secrets, asked, problems
}

// resolved is the form's request with the values of its variables, and its problems. What
// else is wrong with a field that waits for a value is not known yet.
func (d draft) resolved(vars Variables, s kit.Session, now time.Time) (r model.FetchRequest, asked []string, problems []problem) {
	d, secrets, asked, own := d.resolve(vars)
	r, problems = d.request(s, now)
	r.Secrets = secrets
	problems = slices.DeleteFunc(problems, func(p problem) bool {
		return slices.ContainsFunc(own, func(o problem) bool { return o.Field == p.Field })
	})
	return r, asked, append(own, problems...)
}

// unvalued names the variables of the form that have no value, or is "".
func (p *formPane) unvalued() string {
	if len(p.unset) == 0 {
		return ""
	}
	return "{{" + strings.Join(p.unset, "}}, {{") + "}} without a value: sending asks for it"
}

// askVariables asks for the values that the form's variables lack, and sends then. It
// returns nil if nothing is to be asked.
func (m *Model) askVariables(again tea.Msg) tea.Cmd {
	names := m.form.unset
	if len(names) == 0 {
		return nil
	}
	secret := secretVariables(m.form.draft())
	var fields []widget.Field
	for _, name := range names {
		fields = append(fields, widget.Field{Name: name, Label: name, Kind: widget.FieldText, Secret: secret[name], Check: widget.Required("type a value")})
	}
	d := widget.NewFormDialog(m.deps.Theme, "Values for this request", widget.NewForm(m.deps.Theme, fields...))
	d.Intro = "Neither the profile nor the environment has them. They are kept until the console ends, and stored nowhere; V changes them."
	d.Submit, d.Width = "send", 64
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		for _, name := range names {
			m.deps.Variables.Answer(name, f.Value(name), secret[name])
		}
		m.form.answers++
		return tea.Sequence(kit.CloseOverlay(d), kit.SendTo(kit.Sandbox, again))
	}
	return kit.OpenOverlay(d)
}

// settable are the form's variables whose values the operator may choose.
func (p *formPane) settable() []string {
	if p.deps.Variables == nil {
		return nil
	}
	return slices.DeleteFunc(p.draft().texts().Variables(), func(name string) bool {
		v, _ := p.deps.Variables.Variable(name)
		return v.Refused != ""
	})
}

// valuesBinding opens the values of the form's variables.
func (m *Model) valuesBinding() kit.Binding {
	b := kit.Binding{
		Keys: []string{"V"}, Label: "values", Command: "values of this request…", Group: "Request", Intent: editValues{}, Hidden: true,
		Help: "Give the variables {{name}} of the form other values, until the console ends.",
	}
	if len(m.form.settable()) == 0 {
		b.Disabled = "the form has no {{name}}"
	}
	return b
}

// Intents of the values of the form's variables: to change them, and that they have changed.
type (
	editValues    struct{}
	valuesChanged struct{}
)

func (editValues) do(m *Model) tea.Cmd { return m.editValues() }
func (valuesChanged) do(m *Model) tea.Cmd { //nolint:unparam // an intent
	m.form.answers++
	return nil
}

func (m *Model) editValues() tea.Cmd {
	names := m.form.settable()
	secret := secretVariables(m.form.draft())
	before := map[string]string{}
	var fields []widget.Field
	for _, name := range names {
		v, known := m.deps.Variables.Variable(name)
		secret[name] = secret[name] || v.Ref != ""
		f := widget.Field{Name: name, Label: name, Kind: widget.FieldText, Secret: secret[name], Value: v.Value, Placeholder: "none yet: sending asks for it"}
		if secret[name] {
			f.Value = ""
			if known {
				f.Placeholder = "set; type another"
			}
		}
		before[name] = f.Value
		fields = append(fields, f)
	}
	d := widget.NewFormDialog(m.deps.Theme, "Values of this request", widget.NewForm(m.deps.Theme, fields...))
	d.Intro = "What you type here goes before the profile and the environment, until the console ends. It is stored nowhere; an emptied value is theirs again."
	d.Submit, d.Width = "keep", 64
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		for _, name := range names {
			if value := f.Value(name); value != before[name] {
				m.deps.Variables.Answer(name, value, secret[name])
			}
		}
		return tea.Sequence(kit.CloseOverlay(d), kit.SendTo(kit.Sandbox, valuesChanged{}))
	}
	return kit.OpenOverlay(d)
}

// secretVariables are the variables that stand in headers which are secrets by their
// nature, and those that are named like one, wherever they stand.
func secretVariables(d draft) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(d.Headers) {
		name, value, _ := strings.Cut(line, ":")
		for _, v := range model.Variables(value) {
			out[v] = out[v] || model.SecretName(strings.TrimSpace(name))
		}
	}
	for _, v := range d.texts().Variables() {
		out[v] = out[v] || model.SecretName(v)
	}
	return out
}
